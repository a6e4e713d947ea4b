"""The two ways to keep a node's rows in order, and the packed walk, give one answer."""

from dataclasses import replace

import numpy as np
import pytest

from pellucid.ensemble import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from pellucid.tree import grower, prediction
from pellucid.tree import presort as presorting
from pellucid.tree.presort import presort
from pellucid.tree.stopping import Limits


def _table(seed, n=900, d=8):
    """Numbers without ties, few values, missing cells, levels, and one constant column."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    X[:, 1] = rng.integers(0, 9, n)
    X[:, 2] = np.where(rng.random(n) < 0.2, np.nan, X[:, 2])
    X[:, 3] = rng.integers(0, 5, n)
    X[:, 4] = 1.0
    X[:, 5] = np.round(X[:, 5], 1)
    n_levels = np.zeros(d, np.int32)
    n_levels[3] = 5
    signal = X[:, 0] + (X[:, 1] > 4) + (X[:, 3] == 2) + np.nan_to_num(X[:, 2]) + X[:, 6]
    return presort(X, (n_levels > 0).astype(np.uint8), n_levels), signal + rng.normal(size=n)


def _forced(monkeypatch, members):
    original = grower._rows

    def rows(table, w, limits, consume, n_jobs):
        wanted = 1 if members else table.d
        return original(table, w, replace(limits, max_features=wanted), consume, n_jobs)

    monkeypatch.setattr(grower, "_rows", rows)


@pytest.mark.parametrize("branch", [64, 2**14])
@pytest.mark.parametrize("weights", ["none", "counts", "numbers"])
@pytest.mark.parametrize("criterion", ["gini", "entropy", "error", "squared_error"])
def test_lists_and_members_grow_one_tree(monkeypatch, criterion, weights, branch):
    table, signal = _table(3, n=4000)  # more rows than a branch copies
    n = table.n
    rng = np.random.default_rng(5)
    w = {
        "none": None,
        "counts": rng.integers(0, 4, n).astype(float),
        "numbers": rng.random(n),
    }[weights]
    n_classes = 0 if criterion == "squared_error" else 3
    y = signal if n_classes == 0 else np.digitize(signal, [0.0, 1.0]).astype(np.int32)
    monkeypatch.setattr(grower, "BRANCH_ROWS", branch)
    grown = []
    for members in (False, True):
        with monkeypatch.context() as patch:
            _forced(patch, members)
            limits = Limits(max_features=3)
            grown.append(grower.grow(table, y, w, criterion, limits, n_classes, key=11))
    lists, members = grown
    assert lists.n_nodes > 100
    np.testing.assert_array_equal(lists.feature, members.feature)
    np.testing.assert_array_equal(lists.threshold, members.threshold)
    np.testing.assert_array_equal(lists.sets, members.sets)
    np.testing.assert_array_equal(lists.missing_left, members.missing_left)
    np.testing.assert_allclose(lists.value, members.value, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("max_features", [4, 6])
@pytest.mark.parametrize("n_classes", [2, 4, 5])
def test_columns_that_are_weighed_together_grow_the_tree_of_lists(
    monkeypatch, n_classes, max_features
):
    """Four columns are weighed at a time; words of class weights hold four classes."""
    table, signal = _table(7, n=4000)
    cuts = np.quantile(signal, np.linspace(0, 1, n_classes + 1)[1:-1])
    y = np.digitize(signal, cuts).astype(np.int32)
    grown = []
    for members in (False, True):
        with monkeypatch.context() as patch:
            _forced(patch, members)
            limits = Limits(max_features=max_features, min_samples_leaf=3)
            grown.append(grower.grow(table, y, None, "gini", limits, n_classes, key=5))
    lists, members = grown
    assert lists.n_nodes > 100
    np.testing.assert_array_equal(lists.feature, members.feature)
    np.testing.assert_array_equal(lists.threshold, members.threshold)
    np.testing.assert_array_equal(lists.value, members.value)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_packed_trees_add_up_as_single_ones(missing, seed):
    table, signal = _table(seed, n=1300)
    X = table.X.copy(order="F")
    if not missing:
        X[:, 2] = np.nan_to_num(X[:, 2])
    X[::7, 3] = 9.0  # a level that no tree knows
    y = np.digitize(signal, [0.0, 1.0]).astype(np.int32)
    trees = [
        grower.grow(table, y, None, "gini", Limits(max_features=3), 3, key=k) for k in range(5)
    ]
    values = [tree.value for tree in trees]
    expected = np.zeros((len(X), 3))
    for tree in trees:
        expected += prediction.values(tree, X)
    np.testing.assert_array_equal(prediction.sums(trees, values, X), expected)


def test_groups_of_packed_trees(monkeypatch):
    assert prediction._groups([5]) == [(0, 1)]
    monkeypatch.setattr(prediction, "PACKED_NODES", 10)
    groups = prediction._groups([4, 4, 4, 30, 1, 1])
    assert [k for first, last in groups for k in range(first, last)] == list(range(6))
    assert len(groups) > 2


@pytest.mark.parametrize(
    "cls", [RandomForestClassifier, ExtraTreesClassifier, RandomForestRegressor]
)
def test_forest_on_many_columns_is_equal_for_any_threads(cls):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 40))
    y = (X[:, :3].sum(axis=1) > 0).astype(int)
    fits = [
        cls(6, max_features=4, random_state=1, n_jobs=jobs).fit(X, y).predict(X) for jobs in (1, 3)
    ]
    np.testing.assert_array_equal(*fits)
    assert np.mean((fits[0] > 0.5) == y) > 0.95


def _mostly_zeros(rng, n=500, d=60):
    """Columns whose common value is the smallest, the largest, in the middle, or missing."""
    X = np.where(rng.random((n, d)) < 0.95, 0.0, rng.normal(size=(n, d)))
    X[:, :20] = np.abs(X[:, :20])
    X[:, 20:30] = -np.abs(X[:, 20:30])
    X[rng.random(n) < 0.9, 30] = np.nan
    X[rng.random(n) < 0.03, 31] = np.nan
    X[:, 32] = 0.0
    X[:, 33] = rng.normal(size=n)
    X[:, 34] = np.round(X[:, 33])
    levels = np.zeros(d, np.int32)
    levels[35], X[:, 35] = 4, np.where(rng.random(n) < 0.9, 2.0, rng.integers(0, 4, n))
    signal = X[:, 1] + X[:, 25] + X[:, 33] + (X[:, 35] == 3) + rng.normal(size=n)
    return X, (levels > 0).astype(np.uint8), levels, signal


@pytest.mark.parametrize("weights", ["none", "counts", "numbers"])
@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error"])
def test_rare_values_are_looked_up_as_all_places_are(monkeypatch, criterion, weights, rng):
    for k in range(5):
        X, kinds, levels, signal = _mostly_zeros(rng)
        n, n_classes = len(X), 0 if criterion == "squared_error" else 2 + k % 4
        w = {"none": None, "counts": rng.integers(0, 3, n) * 1.0, "numbers": rng.random(n)}[weights]
        cuts = np.quantile(signal, np.linspace(0, 1, n_classes + 1)[1:-1])
        y = np.digitize(signal, cuts).astype(np.int32) if n_classes else signal
        grown = []
        for large in (1, 2**30):
            monkeypatch.setattr(presorting, "LARGE", large)
            table = presort(X, kinds, levels).placed()
            assert (table.common is None) == (large > 1)
            grown.append(
                grower.grow(table, y, w, criterion, Limits(max_features=3), n_classes, key=k)
            )
        for name in ("feature", "threshold", "sets", "missing_left", "value"):
            np.testing.assert_array_equal(*(getattr(tree, name) for tree in grown))
        assert grown[0].n_nodes > 20


def test_the_longest_run_is_the_common_value(rng):
    for _ in range(200):
        x = rng.integers(0, 4, rng.integers(1, 12)).astype(float)
        x[rng.random(len(x)) < 0.1] = np.nan
        order, run = np.empty(len(x), np.int32), np.empty(2, np.int32)
        presorting.sort_column(x, order)
        presorting.longest_run(x, order, run)
        _, counts = np.unique(x[~np.isnan(x)], return_counts=True)
        expected = counts.max(initial=1 if np.isnan(x).any() else 0)
        assert run[1] - run[0] == expected
        assert len(np.unique(x[order[run[0] : run[1]]])) == 1
