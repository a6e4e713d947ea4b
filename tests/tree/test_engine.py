"""Sorting, scales, peers and threads: properties of the engine on whole tables."""

import numpy as np
import pytest

from pellucid import parallel
from pellucid.errors import DataError
from pellucid.tree import grower, prediction
from pellucid.tree._presort import sort_column
from pellucid.tree.grower import grow
from pellucid.tree.nodes import Nodes
from pellucid.tree.presort import presort
from pellucid.tree.stopping import Limits
from tests.tree import naive

HUGE = np.finfo(float).max
TINY = 5e-324


def numbers(X):
    """A presorted table of number columns."""
    X = np.asfortranarray(X, dtype=float)
    d = X.shape[1]
    return presort(X, np.zeros(d, np.uint8), np.zeros(d, np.int32))


def same(a, b):
    for name in Nodes.__dataclass_fields__:
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


def columns_to_sort(rng):
    yield rng.normal(size=3000)
    yield rng.integers(-5, 5, 3000) * 0.5
    yield 2.0**53 + rng.permutation(3000)
    yield rng.normal(size=3000) * 1e-310
    yield rng.normal(size=30) * 10.0 ** rng.integers(-300, 300, 30)
    yield np.array([0.0, -0.0, TINY, -TINY, HUGE, -HUGE, 0.0, -0.0] * 5)
    yield np.where(rng.random(500) < 0.3, np.nan, rng.normal(size=500))
    yield np.full(40, np.nan)
    yield np.array([3.0])


def test_columns_are_sorted_stably_with_missing_last(rng):
    for x in columns_to_sort(rng):
        order = np.empty(len(x), np.int32)
        missing, repeated = sort_column(x, order)
        np.testing.assert_array_equal(order, np.argsort(x + 0.0, kind="stable"))
        present = x[~np.isnan(x)]
        assert missing == np.isnan(x).sum()
        assert repeated == (len(np.unique(present)) < len(present))


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_equal_to_scikit_learn_node_by_node(criterion, rng):
    from sklearn.tree import DecisionTreeClassifier

    X = rng.normal(size=(800, 6)).astype(np.float32).astype(float)
    y = (X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=800) > 0).astype(np.int32)
    y += (X[:, 3] > 1).astype(np.int32)
    # With broken weights the peer's entropy of a pure node is 3e-16, and it divides it.
    w = rng.random(800) + 0.1 if criterion == "gini" else np.ones(800)
    # Smaller leaves would bring ties: two columns that cut off the same few rows.
    ours = grow(numbers(X), y, w, criterion, Limits(min_samples_leaf=20), 3)
    peer = DecisionTreeClassifier(criterion=criterion, min_samples_leaf=20).fit(X, y, w).tree_
    assert ours.n_nodes > 30
    np.testing.assert_array_equal(ours.left, peer.children_left)
    np.testing.assert_array_equal(ours.right, peer.children_right)
    inner = ours.feature >= 0
    np.testing.assert_array_equal(ours.feature, peer.feature)
    np.testing.assert_array_equal(ours.threshold[inner], peer.threshold[inner])
    np.testing.assert_allclose(ours.value, peer.value[:, 0], atol=1e-12)
    np.testing.assert_allclose(ours.impurity, peer.impurity, atol=1e-12)
    np.testing.assert_allclose(ours.weight, peer.weighted_n_node_samples)
    np.testing.assert_array_equal(
        prediction.apply(ours, np.asfortranarray(X)), peer.apply(X.astype("f4"))
    )


def test_regression_equal_to_scikit_learn(rng):
    from sklearn.tree import DecisionTreeRegressor

    X = rng.normal(size=(600, 4)).astype(np.float32).astype(float)
    y = X[:, 0] ** 2 + X[:, 1] + 0.1 * rng.normal(size=600) + 50
    ours = grow(numbers(X), y, None, "squared_error", Limits(min_samples_leaf=4))
    peer = DecisionTreeRegressor(min_samples_leaf=4).fit(X, y).tree_
    np.testing.assert_array_equal(ours.left, peer.children_left)
    np.testing.assert_array_equal(ours.feature, peer.feature)
    np.testing.assert_allclose(ours.value[:, 0], peer.value[:, 0, 0], rtol=1e-12)
    np.testing.assert_allclose(ours.impurity, peer.impurity, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("scale", [2.0**-1000, 1e-300, 2.0**-60, 2.0**60, 1e300, 2.0**1000])
def test_scale_of_a_column_changes_thresholds_only(scale, rng):
    X = rng.normal(size=(300, 3))
    y = rng.integers(0, 3, 300).astype(np.int32)
    plain = grow(numbers(X), y, None, "gini", Limits(), 3)
    scaled = grow(numbers(X * scale), y, None, "gini", Limits(), 3)
    np.testing.assert_array_equal(plain.feature, scaled.feature)
    np.testing.assert_array_equal(plain.value, scaled.value)
    moved = np.asfortranarray(X * scale)
    np.testing.assert_array_equal(
        prediction.apply(plain, np.asfortranarray(X)), prediction.apply(scaled, moved)
    )


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1.0, 1e160, 1e300])
def test_scale_of_a_numerical_target(scale, rng):
    X, y = rng.normal(size=(200, 3)), rng.normal(size=200)
    plain = grow(numbers(X), y, None, "squared_error", Limits(max_depth=4))
    scaled = grow(numbers(X), y * scale, None, "squared_error", Limits(max_depth=4))
    np.testing.assert_array_equal(plain.feature, scaled.feature)
    np.testing.assert_array_equal(plain.threshold, scaled.threshold)
    np.testing.assert_allclose(scaled.value / scale, plain.value, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(plain.decrease, scaled.decrease, rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (1.0, np.nextafter(1.0, 2)), (2.0**24, 2.0**24 + 1), (2.0**53, 2.0**53 + 2), (0.0, TINY),
        (TINY, 2 * TINY), (-TINY, 0.0), (-HUGE, HUGE), (np.nextafter(HUGE, 0), HUGE),
        (-HUGE, np.nextafter(-HUGE, 0)), (1e300, 1.1e300), (20_240_101.0, 20_240_102.0),
    ],
)  # fmt: skip
def test_threshold_lies_between_neighbours(low, high):
    X = np.array([[low], [high]])
    nodes = grow(numbers(X), np.array([0, 1], np.int32), None, "gini", Limits(), 2)
    assert low <= nodes.threshold[0] < high
    np.testing.assert_array_equal(prediction.apply(nodes, np.asfortranarray(X)), [1, 2])


def test_value_equal_to_a_threshold_goes_left():
    X = np.array([[1.0], [2.0], [4.0]])
    nodes = grow(numbers(X), np.array([0, 0, 1], np.int32), None, "gini", Limits(), 2)
    assert nodes.threshold[0] == 3.0
    new = np.asfortranarray([[3.0], [np.nextafter(3.0, 4)]])
    np.testing.assert_array_equal(prediction.apply(nodes, new), [1, 2])


def test_weights_are_repetition(rng):
    X = rng.integers(0, 6, (200, 4)).astype(float)
    X[rng.random((200, 4)) < 0.1] = np.nan
    y = rng.integers(0, 3, 200).astype(np.int32)
    w = rng.integers(0, 4, 200).astype(float)
    repeated = np.repeat(np.arange(200), w.astype(int))
    for criterion in ("gini", "entropy", "error"):
        limits = Limits(min_samples_leaf=3, min_samples_split=9, min_impurity_decrease=0.001)
        weighted = grow(numbers(X), y, w, criterion, limits, 3)
        same(weighted, grow(numbers(X[repeated]), y[repeated], None, criterion, limits, 3))


@pytest.mark.parametrize("sentinel", [1e6, -1e6])
def test_missing_is_no_worse_than_a_sentinel(sentinel, rng):
    """A missing value on a learned side gives at least the split that a sentinel would give."""
    X = rng.normal(size=(300, 3))
    X[rng.random((300, 3)) < 0.2] = np.nan
    y = rng.integers(0, 3, 300).astype(np.int32)
    ours = grow(numbers(X), y, None, "gini", Limits(max_depth=1), 3)
    filled = np.where(np.isnan(X), sentinel, X)
    other = grow(numbers(filled), y, None, "gini", Limits(max_depth=1), 3)
    assert ours.decrease[0] >= other.decrease[0] - 1e-12


def test_missing_on_one_side_only_equals_a_sentinel(rng):
    """Where class 1 is all that is missing, missing cells go with large numbers."""
    x = rng.permutation(100).astype(float)
    y = (x > 60).astype(np.int32)
    x[x > 80] = np.nan
    ours = grow(numbers(x[:, None]), y, None, "gini", Limits(), 2)
    other = grow(numbers(np.where(np.isnan(x), 1e9, x)[:, None]), y, None, "gini", Limits(), 2)
    assert ours.missing_left[0] == 0 and ours.threshold[0] == other.threshold[0] == 60.5


@pytest.mark.parametrize("max_features", [2, 6])
def test_equal_bits_for_any_number_of_threads(max_features, rng, monkeypatch):
    monkeypatch.setattr(grower, "BRANCH_ROWS", 500)
    X = rng.normal(size=(6000, 6))
    X[:, 5] = rng.integers(0, 20, 6000)
    X[rng.random((6000, 6)) < 0.02] = np.nan
    kinds, n_levels = np.array([0, 0, 0, 0, 0, 1], np.uint8), np.array([0] * 5 + [20], np.int32)
    y = (np.nan_to_num(X[:, 0] * X[:, 1]) > 0).astype(np.int32) + rng.integers(0, 2, 6000)
    w = rng.random(6000)
    limits = Limits(max_features=max_features)
    trees = []
    for threads in (1, 2, 4):
        parallel.set_threads(threads)
        try:
            table = presort(np.asfortranarray(X), kinds, n_levels)
            trees.append(grow(table, y.astype(np.int32), w, "gini", limits, 3, key=11))
        finally:
            parallel.set_threads(None)
    same(trees[0], trees[1])
    same(trees[0], trees[2])
    monkeypatch.setattr(grower, "BRANCH_ROWS", 10**9)  # no trunk at all
    same(trees[0], grow(table, y.astype(np.int32), w, "gini", limits, 3, key=11))


def test_random_splits_are_the_same_with_and_without_a_trunk(rng, monkeypatch):
    """Class weights that a search keeps for a node's columns must never be those of another node."""
    X = rng.normal(size=(6000, 6))
    y = (X[:, 0] * X[:, 1] + rng.normal(size=6000) > 0).astype(np.int32)
    trees = []
    for rows in (500, 10**9):
        monkeypatch.setattr(grower, "BRANCH_ROWS", rows)
        trees.append(grow(numbers(X), y, None, "gini", Limits(drawn_splits=True), 2, key=11))
    same(*trees)


def test_order_of_the_array_and_consumed_lists_change_nothing(rng, monkeypatch):
    """Row after row or column after column, lists copied or used up: one tree."""
    monkeypatch.setattr(grower, "BRANCH_ROWS", 300)
    X = rng.normal(size=(2500, 5))
    X[:, 3] = rng.integers(0, 9, 2500)
    X[:, 4] = rng.integers(0, 12, 2500)
    X[rng.random((2500, 5)) < 0.05] = np.nan
    kinds, n_levels = np.array([0, 0, 0, 0, 1], np.uint8), np.array([0] * 4 + [12], np.int32)
    y = (np.nan_to_num(X[:, 0] + X[:, 3]) > 4).astype(np.int32) + rng.integers(0, 2, 2500)
    y = y.astype(np.int32)
    for depth in (1, 4, 2**31 - 1):
        limits = Limits(max_depth=depth)
        whole = grow(presort(np.asfortranarray(X), kinds, n_levels), y, None, "gini", limits, 3)
        for table in (np.asfortranarray(X), np.ascontiguousarray(X)):
            own = presort(table, kinds, n_levels)
            same(whole, grow(own, y, None, "gini", limits, 3, consume=True))
            same(whole, grow(presort(table, kinds, n_levels), y, None, "gini", limits, 3))
            for rows in (X, np.asfortranarray(X), X[::-1]):
                expected = [naive.apply(whole, x) for x in rows[:200]]
                np.testing.assert_array_equal(prediction.apply(whole, rows)[:200], expected)


@pytest.mark.parametrize("n", [1, 7, 8, 9, 300])
def test_shallow_trees_take_every_row_to_its_leaf(n, rng):
    X = rng.normal(size=(400, 4))
    X[rng.random((400, 4)) < 0.2] = np.nan
    y = rng.integers(0, 3, 400).astype(np.int32)
    for depth in (1, 3, 12, 13):
        nodes = grow(numbers(X), y, None, "gini", Limits(max_depth=depth), 3)
        new = np.where(rng.random((n, 4)) < 0.3, np.nan, rng.normal(size=(n, 4)))
        expected = [naive.apply(nodes, x) for x in new]
        np.testing.assert_array_equal(prediction.apply(nodes, new), expected)
        np.testing.assert_array_equal(prediction.apply(nodes, np.asfortranarray(new)), expected)


def test_random_columns_depend_on_the_key_and_all_are_drawn(rng):
    X, y = rng.normal(size=(300, 8)), rng.integers(0, 2, 300).astype(np.int32)
    table = numbers(X)
    roots = [
        grow(table, y, None, "gini", Limits(max_depth=1, max_features=1), 2, key=key).feature[0]
        for key in range(400)
    ]
    counts = np.bincount(roots, minlength=8)
    assert (counts > 25).all()  # 50 expected of each
    X[:, 1:] = 0.0  # constant columns are passed over
    nodes = grow(numbers(X), y, None, "gini", Limits(max_depth=1, max_features=1), 2, key=3)
    assert nodes.feature[0] == 0


@pytest.mark.parametrize("limits", [{"max_features": 3}, {"drawn_splits": True}])
def test_equal_columns_are_drawn_where_a_tree_draws(limits, rng):
    """Else the first columns would divide the small nodes of every tree of a forest."""
    y = rng.integers(0, 2, 40).astype(np.int32)
    X = np.repeat(y[:, None].astype(float), 6, axis=1)  # every column tells the classes apart
    roots = [
        grow(numbers(X), y, None, "gini", Limits(**limits), 2, key=key).feature[0]
        for key in range(600)
    ]
    assert (np.bincount(roots, minlength=6) > 60).all()  # 100 expected of each
    assert grow(numbers(X), y, None, "gini", Limits(), 2, key=5).feature[0] == 0


def test_stop_flag_ends_the_growing(rng, monkeypatch):
    made = []

    class Set(parallel.StopFlag):
        def __init__(self):
            super().__init__()
            self.set()
            made.append(self)

    monkeypatch.setattr(parallel, "StopFlag", Set)
    with pytest.raises(KeyboardInterrupt):
        grow(numbers(rng.normal(size=(500, 3))), rng.integers(0, 2, 500).astype(np.int32), None,
             "gini", Limits(), 2)  # fmt: skip
    assert made


@pytest.mark.parametrize("d", [3, 150])
def test_many_rows_arrive_where_single_rows_do(d, rng):
    """Narrow tables are walked in copied blocks, wide ones in place, single rows one by one."""
    X = np.asfortranarray(rng.normal(size=(3000, d)))
    X[:, 1] = rng.integers(0, 40, 3000)
    X[rng.random((3000, d)) < 0.05] = np.nan
    kinds, n_levels = np.zeros(d, np.uint8), np.zeros(d, np.int32)
    kinds[1], n_levels[1] = 1, 40
    y = rng.integers(0, 3, 3000).astype(np.int32)
    limits = Limits(max_features=2, min_samples_leaf=3)
    nodes = grow(presort(X, kinds, n_levels), y, None, "gini", limits, 3, key=5)
    assert len(np.unique(nodes.feature)) > min(d, 70) and (nodes.set_start >= 0).any()
    leaf = prediction.apply(nodes, X)
    for i in range(0, 3000, 97):
        assert leaf[i] == naive.apply(nodes, X[i])
        assert leaf[i] == prediction.apply(nodes, np.asfortranarray(X[i : i + 1]))[0]
    assert leaf[2999] == naive.apply(nodes, X[2999])


def test_path_contributions_add_up(rng):
    X = rng.normal(size=(200, 4))
    X[rng.random((200, 4)) < 0.1] = np.nan
    y = rng.integers(0, 3, 200).astype(np.int32)
    nodes = grow(numbers(X), y, None, "gini", Limits(max_depth=6), 3)
    new = np.asfortranarray(X)
    base, parts = prediction.path([nodes], [nodes.value], np.ones(1), new)
    total = base + parts.sum(axis=1)
    np.testing.assert_allclose(total, prediction.values(nodes, new), atol=1e-14)


def good_nodes():
    X = np.asfortranarray([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [2.0, 2.0], [3.0, 1.0]])
    table = presort(X, np.array([0, 1], np.uint8), np.array([0, 3], np.int32))
    y = np.array([0, 1, 0, 1, 1], np.int32)
    nodes = grow(table, y, None, "gini", Limits(), 2)
    assert nodes.n_nodes >= 5 and (nodes.set_start >= 0).any()
    return {name: getattr(nodes, name) for name in Nodes.__dataclass_fields__}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("left", 0), ("left", 99), ("left", -7), ("right", 1), ("feature", 9), ("feature", -1),
        ("set_start", 50), ("set_start", -1), ("threshold", None), ("value", None),
    ],
)  # fmt: skip
def test_damaged_arrays_are_refused(field, value):
    arrays = good_nodes()
    Nodes(**arrays)
    if value is None:
        arrays[field] = arrays[field][1:]
    else:
        where = np.argmax(arrays["set_start"] >= 0) if field == "set_start" else 0
        arrays[field] = arrays[field].copy()
        arrays[field][where] = value
    with pytest.raises(DataError):
        Nodes(**arrays)
