"""The two ways to keep a node's rows in order, and the packed walk, give one answer."""

from dataclasses import replace

import numpy as np
import pytest

from pellucid.ensemble import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from pellucid.tree import grower, prediction
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
