"""AdaBoost.R2: one step by hand, the algorithm written plainly, learners that end it."""

import numpy as np
import pytest
import sklearn.ensemble as theirs
from sklearn.neighbors import KNeighborsRegressor

from pellucid.ensemble import AdaBoostRegressor
from pellucid.ensemble.adaboost import weighted_median
from pellucid.ensemble.adaboost.regressor import LOSSES
from pellucid.errors import ParameterError
from pellucid.linear_model import LinearRegression
from pellucid.tree import DecisionTreeClassifier, DecisionTreeRegressor


class _Fixed:
    """A learner that predicts 1, 2, 2, 2 for x = 1, 2, 3, 4 whatever the weights."""

    def get_params(self, deep=True):
        return {}

    def set_params(self, **_):
        return self

    def __sklearn_tags__(self):
        return DecisionTreeRegressor().__sklearn_tags__()

    def __sklearn_clone__(self):
        return _Fixed()

    def fit(self, X, y, sample_weight=None):
        self.weights = sample_weight / sample_weight.sum()
        self.x = np.asarray(X)[:, 0]
        return self

    def predict(self, X):
        return np.minimum(np.asarray(X)[:, 0], 2.0)


def test_a_step_by_hand():
    X, y = np.array([[1.0], [2.0], [3.0], [4.0]]), np.array([1.0, 2.0, 3.0, 4.0])
    model = AdaBoostRegressor(_Fixed(), n_estimators=2).fit(X, y)
    assert model.estimator_errors_[0] == pytest.approx(0.375)
    assert model.estimator_weights_[0] == pytest.approx(0.5108256238, abs=1e-10)
    second = model.estimators_[1]
    found = second.weights[np.argsort(second.x)]
    expected = [0.2017080185, 0.2017080185, 0.2604039322, 0.3361800308]
    np.testing.assert_allclose(found, expected, atol=1e-10)


@pytest.mark.parametrize("loss", ["linear", "square", "exponential"])
@pytest.mark.parametrize("rate", [1.0, 0.5])
def test_the_algorithm_written_plainly(loss, rate):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 3))
    y = X[:, 0] ** 2 + X[:, 1] + 0.2 * rng.normal(size=120)
    model = AdaBoostRegressor(n_estimators=8, loss=loss, learning_rate=rate).fit(X, y)
    w, found, a = np.full(120, 1 / 120), [], []
    for t in range(8):
        tree = DecisionTreeRegressor(max_depth=3).fit(X, y, sample_weight=w)
        miss = np.abs(tree.predict(X) - y)
        losses = LOSSES[loss](miss / miss.max())
        error = (w * losses).sum()
        assert error == pytest.approx(model.estimator_errors_[t], rel=1e-9)
        beta = error / (1 - error)
        found.append(tree.predict(X))
        a.append(rate * np.log(1 / beta))
        w = w * beta ** (rate * (1 - losses))
        w /= w.sum()
    values, a = np.array(found).T, np.array(a)
    order = values.argsort(axis=1, kind="stable")
    half = (np.cumsum(a[order], axis=1) >= 0.5 * a.sum()).argmax(axis=1)
    expected = np.take_along_axis(values, order, 1)[np.arange(120), half]
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-9)
    np.testing.assert_array_equal(list(model.staged_predict(X))[-1], model.predict(X))
    assert list(model.staged_score(X, y))[-1] == pytest.approx(model.score(X, y))


def test_weighted_median():
    values, weights = np.array([[10.0, 30.0, 20.0, 40.0]]), np.array([0.4, 0.6, 0.2, 0.8])
    assert values[0, weighted_median.weighted(values, weights)[0]] == 30.0


def test_shares_carry_the_median_all_the_way():
    rng = np.random.default_rng(0)
    start, end, a = rng.normal(size=7), rng.normal(size=(40, 7)), rng.random(7)
    way = (
        end[np.arange(40), weighted_median.weighted(end, a)]
        - start[weighted_median.weighted(start[None], a)]
    )
    shares = weighted_median.shares(start, end, a)
    np.testing.assert_allclose((shares * (end - start)).sum(axis=1), way, atol=1e-12)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)


def test_a_perfect_learner_ends_it():
    X, y = np.arange(6.0)[:, None], np.arange(6.0)
    model = AdaBoostRegressor(DecisionTreeRegressor(), n_estimators=10).fit(X, y)
    assert len(model.estimators_) == 1
    assert model.estimator_weights_.tolist() == [1.0] + [0.0] * 9
    np.testing.assert_array_equal(model.predict(X), y)


def test_a_perfect_learner_after_others_decides_alone():
    late = 0
    for seed in range(40):
        X = np.random.default_rng(seed).integers(0, 4, (30, 2)).astype(float)
        y = X[:, 0] * X[:, 1]
        model = AdaBoostRegressor(DecisionTreeRegressor(max_depth=4), n_estimators=30).fit(X, y)
        if model.estimator_errors_[len(model.estimators_) - 1] == 0:
            late += len(model.estimators_) > 1
            assert np.allclose(model.predict(X), y, rtol=0, atol=1e-14)
            assert "decides alone" in model.status_.message
    assert late > 5


def test_a_learner_that_misses_too_much_ends_it():
    """Most rows at the largest miss: the mean loss is at least one half."""
    X = np.arange(8.0)[:, None]
    y = np.array([0.0, 1.0] * 4)
    leaf = DecisionTreeRegressor(max_depth=1, min_samples_leaf=4)
    model = AdaBoostRegressor(leaf, n_estimators=10).fit(X, y)
    assert len(model.estimators_) == 1
    assert model.estimator_errors_[0] >= 0.5


def test_as_good_as_scikit_learn():
    """Held-out R2 against the one that draws its rows."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(1500, 6))
    y = X[:, 0] * X[:, 1] + np.abs(X[:, 2]) + X[:, 3] + 0.3 * rng.normal(size=1500)
    ours = AdaBoostRegressor().fit(X[:1000], y[:1000]).score(X[1000:], y[1000:])
    peer = theirs.AdaBoostRegressor(random_state=0).fit(X[:1000], y[:1000])
    assert ours > peer.score(X[1000:], y[1000:]) - 0.05


def test_a_learner_without_weights_gets_drawn_rows():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 2))
    y = X[:, 0]
    fits = [
        AdaBoostRegressor(KNeighborsRegressor(3), n_estimators=4, random_state=s).fit(X, y)
        for s in (0, 0, 1)
    ]
    np.testing.assert_array_equal(fits[0].predict(X), fits[1].predict(X))
    assert not np.array_equal(fits[0].predict(X), fits[2].predict(X))
    with pytest.raises(ParameterError, match="needs a decision tree"):
        fits[0].explain(X)


def test_a_classifier_is_refused():
    with pytest.raises(ParameterError, match="needs a regressor"):
        AdaBoostRegressor(DecisionTreeClassifier()).fit([[1.0], [2.0]], [1.0, 2.0])


def test_a_learner_that_misses_last_bits_alone_is_perfect():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 3))
    for learner, y in (
        (DecisionTreeRegressor(), np.exp(X[:, 0])),
        (LinearRegression(), 3.0 + X @ [1.0, -2.0, 0.1]),
    ):
        model = AdaBoostRegressor(learner, n_estimators=5, random_state=0).fit(X, y)
        assert len(model.estimators_) == 1
        assert model.estimator_weights_[0] == 1.0 and model.estimator_errors_[0] == 0.0
