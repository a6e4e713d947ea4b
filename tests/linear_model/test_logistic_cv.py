"""LogisticRegressionCV: folds, paths, the choice, peers, weights, threads."""

import numpy as np
import pytest
import sklearn.linear_model as theirs
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.model_selection import KFold, StratifiedKFold

from pellucid.errors import DataError, ParameterError
from pellucid.linear_model import LogisticRegression, LogisticRegressionCV
from pellucid.linear_model._logistic.path import stratified_folds


def standardised(load):
    X, y = load(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


DATA = {2: standardised(load_breast_cancer), 3: standardised(load_wine)}


class _Problem:
    """What folds ask of a problem."""

    position, counts = None, True

    def __init__(self, y, weights=None):
        self.y, self.n = y.astype(np.int32), len(y)
        self.weights = np.ones(len(y)) if weights is None else weights


@pytest.mark.parametrize("k", [2, 5, 7])
def test_folds_are_scikit_learns(k):
    y = np.random.default_rng(k).choice(3, 57, p=[0.5, 0.3, 0.2])
    ours = stratified_folds(k, _Problem(y), {})
    for fold, (train, test) in zip(ours, StratifiedKFold(k).split(y, y), strict=True):
        np.testing.assert_array_equal(np.flatnonzero(fold.train), train)
        np.testing.assert_array_equal(np.flatnonzero(fold.test), test)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("scoring", ["neg_log_loss", "balanced_accuracy"])
def test_equal_to_the_peer(K, scoring):
    X, y = DATA[K]
    given = {"Cs": [0.01, 0.3, 10.0], "scoring": scoring, "cv": 4}
    ours = LogisticRegressionCV(**given).fit(X, y)
    peer = theirs.LogisticRegressionCV(
        **given, tol=1e-9, max_iter=10_000, l1_ratios=(0,), use_legacy_attributes=False
    ).fit(X, y)
    np.testing.assert_allclose(ours.scores_, peer.scores_, atol=1e-6)
    assert ours.C_ == peer.C_ and ours.l1_ratio_ == peer.l1_ratio_
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-4)
    np.testing.assert_allclose(ours.coefs_paths_, peer.coefs_paths_, atol=2e-3)
    assert ours.n_iter_.shape == peer.n_iter_.shape
    assert ours.score(X, y) == pytest.approx(peer.score(X, y), abs=1e-6)
    assert isinstance(ours.C_, float) and ours.Cs_.tolist() == [0.01, 0.3, 10.0]


@pytest.mark.parametrize("K", [2, 3])
def test_elastic_net_paths_are_separate_fits(K):
    X, y = DATA[K]
    model = LogisticRegressionCV(Cs=[1.0, 0.05], l1_ratios=[0.0, 0.5, 1.0], cv=KFold(3)).fit(X, y)
    train, _ = list(KFold(3).split(X))[1]
    if K == 3:  # the middle third of wine: classes are in order, one training part lacks some
        y = y.copy()
    alone = LogisticRegression(C=0.05, l1_ratio=0.5).fit(X[train], y[train])
    path = model.coefs_paths_[1, 1, 1]
    if len(alone.classes_) == K:
        np.testing.assert_allclose(path[:, :-1], alone.coef_, atol=1e-7)
    assert (model.coefs_paths_[:, 2, 1, :, :-1] == 0).any()
    best = np.unravel_index(model.scores_.mean(axis=0).T.argmax(), (2, 3))
    assert model.Cs_[best[0]] == model.C_ and model.l1_ratio_ == model.l1_ratios_[best[1]]


def test_the_refit_is_the_plain_model():
    X, y = DATA[3]
    model = LogisticRegressionCV(Cs=4).fit(X, y)
    plain = LogisticRegression(C=model.C_).fit(X, y)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
    np.testing.assert_allclose(model.Cs_, np.logspace(-4, 4, 4))


def test_without_refit_folds_are_averaged():
    X, y = DATA[2]
    given = {"Cs": [0.1, 1.0, 10.0], "cv": 3, "scoring": "neg_log_loss", "refit": False}
    model = LogisticRegressionCV(**given).fit(X, y)
    peer = theirs.LogisticRegressionCV(
        **given, tol=1e-9, max_iter=10_000, l1_ratios=(0,), use_legacy_attributes=False
    ).fit(X, y)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-4)
    assert pytest.approx(peer.C_) == model.C_


@pytest.mark.parametrize("l1_ratios", [(0.0,), (1.0,)])
def test_equal_bits_for_any_number_of_threads(l1_ratios):
    X, y = DATA[2]
    bits = set()
    for jobs in (1, 2, 4):
        model = LogisticRegressionCV(Cs=3, l1_ratios=l1_ratios, n_jobs=jobs).fit(X, y)
        bits.add(model.coefs_paths_.tobytes() + model.scores_.tobytes() + model.coef_.tobytes())
    assert len(bits) == 1


def test_weights_are_repetition():
    X, y = DATA[2]
    w = np.random.default_rng(0).integers(0, 4, len(y))
    one = LogisticRegressionCV(Cs=3).fit(X, y, sample_weight=w)
    many = LogisticRegressionCV(Cs=3).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    np.testing.assert_allclose(one.scores_, many.scores_, rtol=1e-9)
    np.testing.assert_allclose(one.coef_, many.coef_, rtol=1e-9, atol=1e-12)


def test_a_class_that_a_training_part_lacks():
    X, y = DATA[3]
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    model = LogisticRegressionCV(Cs=[1.0], cv=KFold(3), scoring="neg_log_loss").fit(X, y)
    assert np.isfinite(model.scores_).all() and np.isfinite(model.coefs_paths_).all()
    assert model.scores_.min() < -10  # rows of a class that was never seen
    assert model.score(X, y) > -0.1


def test_a_scorer_of_ones_own():
    X, y = DATA[2]

    def share(estimator, X, y):
        return float(np.mean(estimator.predict(X) == y))

    ours = LogisticRegressionCV(Cs=3, scoring=share).fit(X, y)
    named = LogisticRegressionCV(Cs=3, scoring="accuracy").fit(X, y)
    np.testing.assert_allclose(ours.scores_, named.scores_)
    assert ours.score(X, y) == named.score(X, y)


def test_bad_grids_are_named():
    X, y = DATA[2]
    bad = [
        ({"Cs": [1.0, -1.0]}, "Cs"), ({"Cs": []}, "Cs"), ({"l1_ratios": [2.0]}, "l1_ratios"),
        ({"l1_ratios": None}, "l1_ratios"), ({"scoring": "happiness"}, "happiness"),
        ({"dual": True}, "dual"), ({"use_legacy_attributes": True}, "use_legacy"),
        ({"l1_ratios": [1.0], "solver": "newton"}, "L1"), ({"cv": 1}, "cv"),
    ]  # fmt: skip
    for options, word in bad:
        with pytest.raises(ParameterError, match=word):
            LogisticRegressionCV(**options).fit(X, y)
    with pytest.raises(DataError, match="smaller cv"):
        LogisticRegressionCV(cv=400).fit(X, y)
    assert not hasattr(LogisticRegressionCV, "sparsify")
    quiet = {"random_state": 3, "verbose": 1, "intercept_scaling": 5.0, "Cs": 2}
    np.testing.assert_array_equal(
        LogisticRegressionCV(**quiet).fit(X, y).coef_, LogisticRegressionCV(Cs=2).fit(X, y).coef_
    )


@pytest.mark.parametrize("K", [2, 3])
def test_coefficients_along_the_path_are_those_of_single_fits(K):
    """Columns far from 0 and of other units, too: the table is prepared once for all penalties."""
    rng = np.random.default_rng(K)
    X = rng.normal(size=(200, 4)) * [1.0, 1e-3, 1e4, 1.0] + [0.0, 0.0, 0.0, 500.0]
    y = (X[:, 0] + rng.normal(size=200) > 0).astype(int) + (rng.random(200) < 0.3) * (K - 2)
    halves = [(np.arange(100), np.arange(100, 200)), (np.arange(100, 200), np.arange(100))]
    model = LogisticRegressionCV(Cs=[0.01, 1.0, 100.0], cv=halves).fit(X, y)
    for i, (rows, _) in enumerate(halves):
        for j, C in enumerate([0.01, 1.0, 100.0]):
            one = LogisticRegression(C=C).fit(X[rows], y[rows])
            found = np.column_stack([one.coef_, one.intercept_])
            np.testing.assert_allclose(model.coefs_paths_[i, 0, j], found, rtol=1e-5, atol=1e-9)


def test_accuracy_is_the_default_score():
    X, y = DATA[3]
    model = LogisticRegressionCV(Cs=3).fit(X, y)
    named = LogisticRegressionCV(Cs=3, scoring="accuracy").fit(X, y)
    np.testing.assert_array_equal(model.scores_, named.scores_)
    assert model.score(X, y) == np.mean(model.predict(X) == y)
