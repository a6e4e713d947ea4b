"""AdaBoost: one step by hand, scikit-learn's ensembles, perfect and useless learners."""

from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
import sklearn.ensemble as theirs
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_wine
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier as PeerNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier as PeerTree

from pellucid.data import InputSpec, datasets, prepare
from pellucid.ensemble import AdaBoostClassifier
from pellucid.ensemble.adaboost import stump_filter
from pellucid.neighbors import KNeighborsClassifier
from pellucid.tree import DecisionTreeClassifier, _stumps
from pellucid.tree.criteria import CLASS_CRITERIA, IMPURITIES


def test_first_step_by_hand():
    """Three of ten wrong: error 0.3, weight log(7 / 3); their share grows to one half."""
    X = np.arange(10.0)[:, None]
    y = np.array([1, 0, 0, 0, 0, 0, 1, 1, 1, 1])
    y[[1, 2]] = 1
    stump = DecisionTreeClassifier(max_depth=1).fit(X, y)
    wrong = stump.predict(X) != y
    assert wrong.sum() == 3
    model = AdaBoostClassifier(n_estimators=1).fit(X, y)
    assert model.estimator_errors_[0] == pytest.approx(0.3)
    assert model.estimator_weights_[0] == pytest.approx(0.8472978604, abs=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("rate", [1.0, 0.5])
def test_equal_to_scikit_learn(n_classes, rate):
    """On numbers that single precision holds, which is what its trees see."""
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(400, 5)).astype(np.float32).astype(float)
    score = X[:, 0] + 0.5 * X[:, 1] ** 2 + rng.normal(size=400)
    y = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    ours = AdaBoostClassifier(n_estimators=10, learning_rate=rate).fit(X, y)
    peer = theirs.AdaBoostClassifier(n_estimators=10, learning_rate=rate, random_state=0).fit(X, y)
    assert np.allclose(ours.estimator_errors_, peer.estimator_errors_, rtol=1e-9)
    assert np.allclose(ours.estimator_weights_, peer.estimator_weights_, rtol=1e-9)
    assert np.allclose(ours.decision_function(X), peer.decision_function(X), rtol=1e-9, atol=1e-12)
    assert np.allclose(ours.predict_proba(X), peer.predict_proba(X), rtol=1e-9, atol=1e-12)


class _Spoken(ClassifierMixin, BaseEstimator):
    """Says class 0 for x < 7, whatever it is taught; notes the weights in the order of x."""

    notes: ClassVar[list] = []

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        self.notes.append(sample_weight[np.argsort(np.asarray(X)[:, 0])])
        return self

    def predict(self, X):
        return (np.asarray(X)[:, 0] >= 7).astype(int)


def test_weights_after_a_step_by_hand():
    """Ten equal weights, three wrong: 1/14 each where it was right, 1/6 where it was wrong."""
    X, y = np.arange(10.0)[:, None], np.array([1, 1, 1, 0, 0, 0, 0, 1, 1, 1])
    _Spoken.notes.clear()
    model = AdaBoostClassifier(_Spoken(), n_estimators=2).fit(X, y)
    assert model.estimator_errors_[0] == pytest.approx(0.3)
    assert model.estimator_weights_[0] == pytest.approx(0.8472978604, abs=1e-9)
    np.testing.assert_allclose(_Spoken.notes[0], 0.1)
    np.testing.assert_allclose(
        _Spoken.notes[1], np.where(np.arange(10) < 3, 1 / 6, 1 / 14), rtol=1e-12
    )


def penguins(seed):
    """Complete rows by species, and a split of 83 test rows."""
    table = datasets.load("penguins").table
    frame = pd.DataFrame(table.to_pydict()).drop(columns="year").dropna()
    frame = frame.sort_values("species", kind="stable").reset_index(drop=True)
    test = np.random.RandomState(seed).choice(np.arange(333), 83, replace=False)
    return frame, np.setdiff1d(np.arange(333), test), test


@pytest.mark.parametrize(
    ("criterion", "depth", "errors", "right"),
    [
        ("gini", 1, (0.052, 0.11181, 0.14416), 82),
        ("entropy", 1, (0.052, 0.11181, 0.20008), 82),
        ("gini", 3, (0.008,), 82),
        ("entropy", 3, (0.016, 0.00203, 0.00204), 79),
    ],
)
def test_penguins_step_by_step(criterion, depth, errors, right):
    """Adelie or not, without the island, 30 trees: errors of the first steps, and of 83 test rows."""
    frame, train, test = penguins(123)
    y, X = (frame.species == "Adelie").to_numpy(), frame.drop(columns=["species", "island"])
    tree = DecisionTreeClassifier(max_depth=depth, criterion=criterion)
    model = AdaBoostClassifier(tree, n_estimators=30).fit(X.iloc[train], y[train])
    np.testing.assert_allclose(model.estimator_errors_[: len(errors)], errors, atol=6e-6)
    if depth == 1:
        assert model.estimator_weights_[0] == pytest.approx(2.9031107837, abs=1e-9)
    assert (model.predict(X.iloc[test]) == y[test]).sum() == right


def test_penguins_with_fifty_stumps():
    frame, train, test = penguins(1)
    X = pd.get_dummies(frame.drop(columns="species"), drop_first=True).astype(float)
    y = (frame.species == "Adelie").to_numpy()
    model = AdaBoostClassifier(n_estimators=50).fit(X.iloc[train], y[train])
    assert (model.predict(X.iloc[test]) == y[test]).sum() == 82


def test_a_learner_worse_than_chance_is_dropped_and_ends_it():
    """The second learner gets more than half of the weight wrong; the first one decides."""
    X, y = np.arange(10.0)[:, None], np.array([1, 1, 1, 0, 0, 0, 0, 1, 1, 1])
    model = AdaBoostClassifier(_Spoken(), n_estimators=9, learning_rate=3.0).fit(X, y)
    assert len(model.estimators_) == 1
    assert (model.estimator_weights_[1:] == 0).all() and (model.estimator_errors_[1:] == 1).all()
    np.testing.assert_array_equal(model.predict(X), (X[:, 0] >= 7).astype(int))


def test_a_perfect_learner_decides_alone():
    X, y = np.arange(6.0)[:, None], [0, 0, 0, 1, 1, 1]
    model = AdaBoostClassifier().fit(X, y)
    assert len(model.estimators_) == 1 and model.estimator_weights_[0] == 1.0
    assert model.score(X, y) == 1.0
    assert np.isfinite(model.predict_proba(X)).all()


def test_a_perfect_learner_after_others_decides_alone():
    """Its weight log((1 - 0) / 0) is infinite: those before it must not outvote it."""
    late = 0
    for seed in range(40):
        X = np.random.default_rng(seed).normal(size=(40, 2))
        y = (X[:, 0] * X[:, 1] > 0).astype(int)
        model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), n_estimators=10).fit(X, y)
        if model.estimator_errors_[len(model.estimators_) - 1] == 0:
            late += len(model.estimators_) > 1
            assert model.score(X, y) == 1.0
            assert list(model.staged_score(X, y))[-1] == 1.0
            assert "decides alone" in model.status_.message
    assert late > 5


@pytest.mark.parametrize("K", range(2, 15))
def test_a_useless_first_learner_is_kept_and_finite(K):
    """At chance, whatever 1/K is in floating point; ties go to the lowest class."""
    X, y = np.ones((3 * K, 1)), np.repeat(np.arange(K), 3)
    model = AdaBoostClassifier(n_estimators=5).fit(X, y)
    assert len(model.estimators_) == 1
    assert np.isfinite(model.predict_proba(X)).all()
    assert (model.predict(X) == 0).all()
    assert model.status_.ok and "no better than random guessing" in model.status_.message


def test_a_first_learner_worse_than_chance_is_said():
    X = np.arange(20.0)[:, None]
    y = (X[:, 0] >= 10).astype(int)
    with pytest.warns(UserWarning, match="worse than random guessing"):
        model = AdaBoostClassifier(_Contrary(), n_estimators=5).fit(X, y)
    assert model.status_.code == "worse_than_chance" and not model.status_.ok
    assert len(model.estimators_) == 1


class _Contrary(ClassifierMixin, BaseEstimator):
    """Says the contrary of what is right."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return (np.asarray(X)[:, 0] < 10).astype(int)


def test_weights_do_not_vanish_in_many_rounds():
    X = np.random.default_rng(0).normal(size=(300, 4))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=300).fit(X, y)
    assert np.isfinite(model.estimator_weights_).all()
    assert model.score(X, y) > 0.95
    scores = list(model.staged_score(X, y))
    assert len(scores) == len(model.estimators_) and scores[-1] == model.score(X, y)


def test_other_learners_and_explanations():
    X, y = load_wine(return_X_y=True)
    assert AdaBoostClassifier(GaussianNB(), n_estimators=5).fit(X, y).score(X, y) > 0.95
    model = AdaBoostClassifier(n_estimators=20).fit(X, y)
    assert model.explain(X).gap() < 1e-10
    assert model.feature_importances_.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("criterion", ["gini", "entropy", "error"])
@pytest.mark.parametrize("classes", [2, 3])
def test_columns_left_out_change_no_stump(criterion, classes, monkeypatch):
    """Ties, copies of columns, levels, gaps: the filter keeps whatever could win."""
    rng = np.random.default_rng(classes)
    X = pd.DataFrame(rng.normal(size=(3000, 8)).round(1), columns=list("abcdefgh"))
    X["e"] = X["b"]
    X["f"] = rng.choice(list("uvw"), 3000)
    X.loc[::7, "g"] = np.nan
    score = X.a + X.b**2 + (X.f == "u") + rng.normal(size=3000)
    y = np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))
    stump = DecisionTreeClassifier(max_depth=1, criterion=criterion)
    found = []
    for limit in (10, 10**9):
        monkeypatch.setattr(stump_filter, "MANY_ROWS", limit)
        model = AdaBoostClassifier(stump, n_estimators=12).fit(X, y)
        trees = [tree.tree_ for tree in model.estimators_]
        found.append([(t.feature.tolist(), t.threshold.tolist(), t.value.tolist()) for t in trees])
    assert found[0] == found[1]


def test_the_filter_leaves_few_columns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5000, 10))
    y = (X[:, 3] + 0.5 * rng.normal(size=5000) > 0).astype(np.int32)
    problem, _ = prepare(X, y, None, None, None, InputSpec("it", layout="codes", target="classes"))
    bounds = stump_filter.Filter(problem, "gini").bounds(np.full(5000, 1 / 5000))
    assert bounds.kept.tolist() == [3]


@pytest.mark.parametrize("criterion", ["gini", "entropy", "error"])
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("digits", [1, 12])
def test_stumps_of_buckets_are_those_of_the_engine(criterion, classes, digits, monkeypatch):
    """Ties within and between columns, huge and tiny numbers, every array of every tree."""
    rng = np.random.default_rng(classes)
    X = rng.normal(size=(1500, 6)).round(digits)
    X[:, 4], X[:, 5] = X[:, 1], 7.0
    score = X[:, 0] + X[:, 1] ** 2 + rng.normal(size=1500)
    y = np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))
    X *= np.array([1e-300, 1, 1e300, 1e-5, 1, 1])
    stump = DecisionTreeClassifier(max_depth=1, criterion=criterion)
    found = []
    for limit in (10, 10**9):
        monkeypatch.setattr(stump_filter, "MANY_ROWS", limit)
        found.append(AdaBoostClassifier(stump, n_estimators=20).fit(X, y))
    assert len(found[0].estimators_) == len(found[1].estimators_) > 5
    for one, other in zip(found[0].estimators_, found[1].estimators_, strict=True):
        for name in ("feature", "threshold", "left", "right", "missing_left", "n_samples"):
            assert getattr(one.tree_, name).tolist() == getattr(other.tree_, name).tolist(), name
        for name in ("value", "impurity", "decrease", "weight"):
            assert_allclose(
                getattr(one.tree_, name), getattr(other.tree_, name), rtol=1e-9, atol=1e-12
            )
        assert vars(one).keys() == vars(other).keys()


@pytest.mark.parametrize("criterion", ["gini", "entropy", "error"])
@pytest.mark.parametrize("K", [2, 3])
def test_bounds_of_buckets_enclose_the_best_split(criterion, K):
    rng = np.random.default_rng(K)
    n, buckets = 300, 7
    x, w = np.sort(rng.normal(size=n)), rng.exponential(size=n)
    y = (K * rng.uniform(size=n)).astype(np.uint16)
    y[x > 0.5] = 0
    C = np.cumsum(w[:, None] * np.eye(K)[y], axis=0)
    left, right = C[:-1], C[-1] - C[:-1]

    def cost(c):
        total = c.sum(axis=1)
        bits = IMPURITIES[criterion](c / total[:, None])
        return total * bits * (np.log(2) if criterion == "entropy" else 1.0)

    every = cost(left) + cost(right)
    bucket = (np.arange(n) * buckets // n).astype(np.uint16)
    ends = np.flatnonzero(np.diff(bucket))
    found = np.empty(2)
    cells, sums = bucket + np.uint16(buckets) * y, np.empty(K * buckets)
    _stumps.bucket_bounds(cells, w, K, CLASS_CRITERIA[criterion], sums, found)
    assert found[0] == pytest.approx(every[ends].min(), rel=1e-12)
    assert 0.8 * every.min() <= found[1] <= every.min() * (1 + 1e-12)


@pytest.mark.parametrize("kind", ["ours", "theirs", "pipeline"])
def test_learners_without_weights_get_drawn_rows(kind):
    """By weight, as many as there are: weighted rows count as copies, and the seed says which."""
    learner = {
        "ours": KNeighborsClassifier(3),
        "theirs": PeerNeighbors(3),
        "pipeline": make_pipeline(StandardScaler(), PeerTree(max_depth=1, random_state=0)),
    }[kind]
    X, y = load_wine(return_X_y=True)
    w = np.random.default_rng(0).integers(1, 3, len(y))
    fits = [
        AdaBoostClassifier(learner, n_estimators=6, random_state=s).fit(X, y, w) for s in (0, 0, 1)
    ]
    assert np.array_equal(fits[0].predict_proba(X), fits[1].predict_proba(X))
    assert not np.array_equal(fits[0].predict_proba(X), fits[2].predict_proba(X))
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(len(y)), w))
    again = AdaBoostClassifier(learner, n_estimators=6, random_state=0).fit(X[rows], y[rows])
    assert np.array_equal(again.predict_proba(X), fits[0].predict_proba(X))
    alone = clone(learner).fit(X, y).score(X, y)
    assert fits[0].score(X, y) > (alone if kind == "pipeline" else alone - 0.1)
