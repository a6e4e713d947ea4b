"""Out-of-bag importances against a computation by hand, and what they are good for."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.metrics import balanced_accuracy_score

import pellucid
from pellucid import parallel
from pellucid.data import prepare
from pellucid.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from pellucid.ensemble.bootstrap_samples import Sampler, keys_of
from pellucid.errors import ModelFileError, ParameterError
from pellucid.linear_model import LogisticRegression


def frame(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "b": rng.choice(list("pqr"), n),
            "noise": rng.normal(size=n),
        }
    )
    return X, (X.a + 2.0 * (X.b == "q") + 0.3 * rng.normal(size=n)).to_numpy()


def by_hand(model, problem, columns_of, classes):
    """Rise of each learner's loss, written plainly: rows it did not see, one column shuffled."""
    sampler = Sampler(problem, None, model.max_features if columns_of else 1.0, True, False)
    seed = parallel.seed_sequence(model.random_state)
    spread = None
    rises = np.zeros((model.n_estimators, problem.schema.n_columns))
    for t in range(model.n_estimators):
        bag = sampler.bag(int(keys_of(seed, t, t + 1)[0]))
        rows = np.flatnonzero(bag.weights == 0)
        y = problem.y[rows]
        spread = 1.0 if classes else np.var(y)
        own = columns_of(t) if columns_of else np.arange(problem.schema.n_columns)
        learner = model.estimators_[t]

        def loss(X, own=own, y=y, learner=learner, spread=spread):
            answer = (learner._proba if classes else learner._predict)(np.asfortranarray(X[:, own]))
            if not classes:
                return np.mean((answer - y) ** 2) / spread
            return np.mean(learner.classes_[answer.argmax(axis=1)] != y)

        X = problem.X[rows]
        for j in np.unique(own):
            shuffled = X.copy()
            order = parallel.stream(seed, "importance", t, int(j)).permutation(len(rows))
            shuffled[:, j] = X[order, j]
            rises[t, j] = loss(shuffled) - loss(X)
    return rises


@pytest.mark.parametrize("classes", [True, False])
@pytest.mark.parametrize("kind", ["forest", "bagging"])
def test_importances_by_hand(kind, classes):
    X, y = frame()
    y = np.digitize(y, [0.5, 1.5]) if classes else y
    if kind == "forest":
        Model, more = (RandomForestClassifier if classes else RandomForestRegressor), {}
    else:
        Model = BaggingClassifier if classes else BaggingRegressor
        more = {"max_features": 2}
    model = Model(n_estimators=6, oob_importances=True, random_state=3, **more).fit(X, y)
    problem = prepare(X, y, None, None, None, model._input_spec())[0].gathered()
    columns_of = None if kind == "forest" else lambda t: model.estimators_features_[t]
    rises = by_hand(model, problem, columns_of, classes)
    np.testing.assert_allclose(model.oob_importances_, rises.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(model.oob_importances_std_, rises.std(axis=0), atol=1e-12)
    assert model.oob_importances_.argmin() == 2


def test_noise_with_many_values_is_worth_nothing():
    """Impurity gives a column of noise its share; rows out of the bag do not."""
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.integers(0, 2, 600), rng.normal(size=(600, 2))]).astype(float)
    y = np.where(rng.random(600) < 0.8, X[:, 0], 1 - X[:, 0])
    model = RandomForestClassifier(60, oob_importances=True, random_state=0, max_features=None)
    model.fit(X, y)
    assert model.feature_importances_[1:].sum() > 0.4
    assert model.oob_importances_[0] > 0.15
    assert (np.abs(model.oob_importances_[1:]) < 0.05).all()


def test_copies_and_weights_are_one_thing():
    X, y = frame(80)
    k = np.random.default_rng(2).integers(1, 4, 80)
    many = X.loc[X.index.repeat(k)].reset_index(drop=True)
    settings = {"n_estimators": 8, "oob_importances": True, "random_state": 0}
    one = RandomForestRegressor(**settings).fit(X, y, sample_weight=k)
    other = RandomForestRegressor(**settings).fit(many, np.repeat(y, k))
    np.testing.assert_array_equal(one.oob_importances_, other.oob_importances_)


def test_threads_do_not_matter_and_files_keep_them(tmp_path):
    X, y = frame()
    models = [
        RandomForestRegressor(8, oob_importances=True, random_state=0, n_jobs=j).fit(X, y)
        for j in (1, 2)
    ]
    np.testing.assert_array_equal(models[0].oob_importances_, models[1].oob_importances_)
    models[0].save(tmp_path / "forest")
    again = pellucid.load(tmp_path / "forest")
    np.testing.assert_array_equal(again.oob_importances_, models[0].oob_importances_)
    again.oob_importances_ = np.zeros(2)
    again.save(tmp_path / "forged")
    with pytest.raises(ModelFileError):
        pellucid.load(tmp_path / "forged")


def test_any_learner_and_sparse_rows():
    rng = np.random.default_rng(4)
    X = np.where(rng.random((300, 5)) < 0.5, 0.0, rng.normal(size=(300, 5)))
    y = (X[:, 1] > 0.1).astype(int)
    settings = {"n_estimators": 5, "oob_importances": True, "random_state": 0}
    dense = BaggingClassifier(LogisticRegression(), **settings).fit(X, y)
    thin = BaggingClassifier(LogisticRegression(), **settings).fit(sparse.csr_matrix(X), y)
    assert dense.oob_importances_.argmax() == thin.oob_importances_.argmax() == 1
    np.testing.assert_allclose(dense.oob_importances_, thin.oob_importances_, atol=0.02)


def test_all_columns_of_a_category_move_together():
    X, y = frame()
    y = (y > np.median(y)).astype(int)
    model = BaggingClassifier(LogisticRegression(), 5, oob_importances=True, random_state=0)
    model.fit(X, y)
    assert model.oob_importances_.shape == (3,)
    assert model.oob_importances_[1] > 0.05 > abs(model.oob_importances_[2])


def test_a_score_of_ones_own():
    X, y = frame()
    y = np.where(y > 2, "high", "low")
    model = RandomForestClassifier(20, oob_score=balanced_accuracy_score, random_state=0).fit(X, y)
    said = model.classes_[model.oob_decision_function_.argmax(axis=1)]
    assert model.oob_score_ == pytest.approx(balanced_accuracy_score(y, said))


def test_without_drawing_there_is_no_judge():
    X, y = frame()
    for Model in (RandomForestRegressor, BaggingRegressor):
        with pytest.raises(ParameterError, match="bootstrap=True"):
            Model(bootstrap=False, oob_importances=True).fit(X, y)


def test_scores_by_a_function_count_weights_as_copies(rng):
    X = rng.normal(size=(40, 2))
    y, w = X[:, 0] + rng.normal(size=40), rng.integers(1, 4, 40)

    def closeness(y, predicted):
        return -float(np.mean(np.abs(y - predicted)))

    model = RandomForestRegressor(400, oob_score=closeness, random_state=0)
    weighted = model.fit(X, y, sample_weight=w).oob_score_
    copies = rng.permutation(np.repeat(np.arange(40), w))
    assert weighted == model.fit(X[copies], y[copies]).oob_score_
    missed = np.abs(y - model.fit(X, y, sample_weight=w).oob_prediction_)
    assert weighted == pytest.approx(-np.average(missed, weights=w), rel=1e-12)


@pytest.mark.parametrize("more", [
    {}, {"class_weight": "balanced_subsample"}, {"class_weight": "balanced", "min_samples_leaf": 3},
    {"max_samples": 0.5, "max_depth": 2}, {"ccp_alpha": 0.01},
])  # fmt: skip
@pytest.mark.parametrize("weighted", [False, True])
def test_after_a_warm_start_all_trees_are_judged(more, weighted):
    X, y = frame(120)
    y, w = np.digitize(y, [0.5, 1.5]), np.arange(120) % 3 / 2 if weighted else None
    settings = {"oob_score": True, "oob_importances": True, "random_state": 0} | more
    whole = RandomForestClassifier(24, **settings).fit(X, y, sample_weight=w)
    grown = RandomForestClassifier(20, warm_start=True, **settings).fit(X, y, sample_weight=w)
    grown.set_params(n_estimators=24).fit(X, y, sample_weight=w)
    with pytest.warns(UserWarning, match="does not fit new trees"):
        again = grown.fit(X, y, sample_weight=w)
    assert again.oob_score_ == whole.oob_score_
    np.testing.assert_array_equal(again.oob_decision_function_, whole.oob_decision_function_)
    np.testing.assert_array_equal(again.oob_importances_, whole.oob_importances_)


def test_earlier_trees_are_judged_by_their_own_bags_or_not_at_all():
    X, y = frame(120)
    for seed, rows in ((None, X), (0, X[::-1].reset_index(drop=True))):
        model = RandomForestRegressor(20, oob_score=True, warm_start=True, random_state=seed)
        model.fit(X, y).set_params(n_estimators=21)
        with pytest.raises(ParameterError, match="int random_state"):
            model.fit(rows, y)
    for judged in ({"oob_score": True}, {"oob_importances": True}):
        with pytest.raises(ParameterError, match="warm_start=False"):
            BaggingRegressor(warm_start=True, **judged).fit(X, y)


def test_a_score_of_ones_own_sees_labels():
    X, y = frame()
    y = np.where(y > 2, "high", "low")

    def found(y, predicted):
        assert {"high", "low"} == {*y.tolist(), *predicted.tolist()}
        return np.mean(predicted[y == "high"] == "high")

    model = RandomForestClassifier(20, oob_score=found, random_state=0).fit(X, y)
    said = model.classes_[model.oob_decision_function_.argmax(axis=1)]
    assert model.oob_score_ == pytest.approx(np.mean(said[y == "high"] == "high"))
