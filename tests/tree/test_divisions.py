"""The grown tree against every possible division, at every node, on many small random tables."""

import numpy as np
import pytest

from pellucid.tree import predict
from pellucid.tree.criteria import CLASS_CRITERIA, impurity
from pellucid.tree.grower import grow
from pellucid.tree.presort import presort
from pellucid.tree.splitter import Limits
from tests.sizes import cases
from tests.tree import naive

CRITERIA = [*(name for name in CLASS_CRITERIA if name != "log_loss"), "squared_error"]


def random_table(rng, n, d):
    """Numbers with many ties, levels, missing cells."""
    kinds = (rng.random(d) < 0.4).astype(np.uint8)
    n_levels = np.where(kinds, rng.integers(2, 6, d), 0).astype(np.int32)
    X = np.empty((n, d), order="F")
    for f in range(d):
        X[:, f] = rng.integers(0, n_levels[f] or rng.choice([2, 4, 30]), n)
        if not kinds[f]:
            X[:, f] = X[:, f] * rng.choice([1.0, -0.37, 1e-5]) + rng.choice([0.0, 2.5])
        if rng.random() < 0.4:
            X[rng.random(n) < 0.25, f] = np.nan
    return X, kinds, n_levels


def random_target(rng, n, criterion):
    if criterion == "squared_error":
        return rng.choice([rng.normal(size=n), rng.integers(0, 3, n) * 10.0]), 0
    k = int(rng.integers(2, 5))
    return rng.integers(0, k, n).astype(np.int32), k


def random_weights(rng, n):
    kind = rng.integers(3)
    if kind == 0:
        return np.ones(n)
    if kind == 1:
        w = rng.integers(0, 4, n).astype(float)
        return w if w.sum() > 0 else np.ones(n)
    return rng.random(n) + 0.01


def check_tree(nodes, X, y, w, kinds, criterion, k, min_rows, min_weight):
    """At every node: the rows, the value, the division are what the definition says."""
    used = w > 0
    X, y, w = X[used], y[used], w[used]
    indices, indptr = predict.paths(nodes, np.asfortranarray(X))
    inside = np.zeros((len(X), nodes.n_nodes), dtype=bool)
    inside[np.repeat(np.arange(len(X)), np.diff(indptr)), indices] = True
    for node in range(nodes.n_nodes):
        rows = inside[:, node]
        check_node(nodes, node, rows, X, y, w, kinds, criterion, k, min_rows, min_weight)


def check_node(nodes, node, m, X, y, w, kinds, criterion, k, min_rows, min_weight):
    parent = naive.cost(criterion, y[m], w[m], k)
    np.testing.assert_allclose(nodes.weight[node], w[m].sum(), rtol=1e-12)
    np.testing.assert_allclose(
        nodes.impurity[node] * w[m].sum(), parent, rtol=1e-9, atol=1e-12 * w.sum()
    )
    found = list(naive.divisions(X[m], y[m], w[m], kinds, criterion, k, min_rows, min_weight))
    pure = len(np.unique(y[m])) == 1
    if nodes.feature[node] < 0:
        assert pure or not found
        return
    assert not pure
    expected = naive.best(found, parent)
    f = nodes.feature[node]
    assert f == expected.column
    left = np.array([naive.goes_left(nodes, node, x) for x in X[m]])
    both = naive.cost(criterion, y[m][left], w[m][left], k)
    both += naive.cost(criterion, y[m][~left], w[m][~left], k)
    assert both <= expected.cost + 2e-12 * parent
    np.testing.assert_allclose(
        nodes.decrease[node] * nodes.impurity[0] * nodes.weight[0], parent - both,
        atol=1e-9 * parent,
    )  # fmt: skip
    if not kinds[f]:
        assert nodes.threshold[node] == expected.threshold
        np.testing.assert_array_equal(left, expected.left)
    missing = np.isnan(X[m, f])
    if missing.any():
        assert left[missing].all() if nodes.missing_left[node] else not left[missing].any()
    else:
        assert nodes.missing_left[node] == (w[m][left].sum() > w[m][~left].sum())
    if kinds[f]:
        assert left[np.argmin(np.where(missing, np.inf, X[m, f]))]


@pytest.mark.parametrize("criterion", CRITERIA)
def test_every_node_has_the_best_division(criterion, rng):
    for _ in cases(60, 2000):
        n, d = int(rng.integers(2, 16)), int(rng.integers(1, 5))
        X, kinds, n_levels = random_table(rng, n, d)
        y, k = random_target(rng, n, criterion)
        w = random_weights(rng, n)
        leaf = int(rng.choice([1, 1, 2, 3]))
        counts = bool((w == np.floor(w)).all())
        nodes = grow(presort(X, kinds, n_levels), y, w, criterion, Limits(min_samples_leaf=leaf), k)
        rows, weight = (1, leaf) if counts else (leaf, 0.0)
        check_tree(nodes, X, y, w, kinds, criterion, k, rows, weight)
        for i in range(n):
            assert predict.apply(nodes, X)[i] == naive.apply(nodes, X[i])


WEIGHTS = {
    "unit": lambda rng, n: np.ones(n),
    "packed": lambda rng, n: rng.integers(1, 4, n).astype(float),
    "packed, above 16 bits": lambda rng, n: rng.integers(200, 256, n).astype(float),
    "integer": lambda rng, n: rng.integers(1, 5000, n).astype(float),
    "broken": lambda rng, n: rng.random(n) + 0.01,
}


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("criterion", CRITERIA)
def test_long_nodes_have_the_best_division(criterion, weights, rng):
    """Nodes of several blocks, in which most blocks are skipped; up to seven classes."""
    for k in (2, 4, 7):
        n = int(rng.integers(150, 320))
        X = np.asfortranarray(np.c_[rng.normal(size=n), rng.integers(0, 60, n)])
        X[rng.random((n, 2)) < 0.05] = np.nan
        score = np.nan_to_num(X[:, 0]) + 0.05 * np.nan_to_num(X[:, 1]) + 0.5 * rng.normal(size=n)
        numbers = criterion == "squared_error"
        cuts = np.quantile(score, np.arange(1, k) / k)
        y = score if numbers else np.searchsorted(cuts, score).astype(np.int32)
        w = WEIGHTS[weights](rng, n)
        kinds, n_levels = np.zeros(2, np.uint8), np.zeros(2, np.int32)
        limits = Limits(max_depth=1, min_samples_leaf=int(rng.choice([1, 30])))
        classes = 0 if numbers else k
        nodes = grow(presort(X, kinds, n_levels), y, w, criterion, limits, classes)
        counts = bool((w == np.floor(w)).all())
        leaf = limits.min_samples_leaf
        allowed = (1, leaf) if counts else (leaf, 0.0)
        check_node(nodes, 0, np.ones(n, bool), X, y, w, kinds, criterion, classes, *allowed)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_many_levels_of_two_classes_or_numbers(criterion, rng):
    for _ in range(8):
        n = 40
        X = np.asfortranarray(rng.integers(0, 9, (n, 1)).astype(float))
        X[rng.random(n) < 0.1] = np.nan
        kinds, n_levels = np.ones(1, np.uint8), np.array([9], np.int32)
        numbers = criterion == "squared_error"
        y = rng.normal(size=n) if numbers else rng.integers(0, 2, n).astype(np.int32)
        k, w = (0 if numbers else 2), rng.random(n)
        nodes = grow(presort(X, kinds, n_levels), y, w, criterion, Limits(max_depth=1), k)
        left = predict.apply(nodes, X) == 1
        both = naive.cost(criterion, y[left], w[left], k)
        both += naive.cost(criterion, y[~left], w[~left], k)
        found = naive.divisions(X, y, w, kinds, criterion, k)
        assert both == pytest.approx(min(division.cost for division in found), rel=1e-9)


@pytest.mark.parametrize("criterion", ["gini", "entropy", "error"])
def test_many_levels_of_many_classes_follow_the_principal_component(criterion, rng):
    n, k, levels = 2000, 5, 40
    shares = rng.dirichlet(np.ones(k), levels)
    codes = np.r_[np.arange(levels), rng.integers(0, levels, n - levels)]
    y = np.array([rng.choice(k, p=shares[c]) for c in codes], dtype=np.int32)
    X = np.asfortranarray(codes[:, None].astype(float))
    table = presort(X, np.ones(1, np.uint8), np.array([levels], np.int32))
    nodes = grow(table, y, None, criterion, Limits(max_depth=1), k)
    sums = np.zeros((levels, k))
    np.add.at(sums, (codes, y), 1.0)
    expected = naive.principal_best(
        sums, sums.sum(axis=1), lambda c: impurity(criterion, c) * c.sum()
    )
    ours = (nodes.impurity * nodes.weight)[1:].sum()
    assert ours == pytest.approx(expected, rel=1e-12)


def test_limits_hold(rng):
    X, kinds, n_levels = random_table(rng, 400, 4)
    y = rng.integers(0, 3, 400).astype(np.int32)
    w = rng.integers(1, 4, 400).astype(float)
    table = presort(X, kinds, n_levels)
    full = grow(table, y, w, "gini", Limits(), 3)
    assert grow(table, y, w, "gini", Limits(max_depth=3), 3).depth == 3
    inner = grow(table, y, w, "gini", Limits(min_samples_split=40), 3)
    assert inner.n_samples[inner.feature >= 0].min() >= 40
    leaves = grow(table, y, w, "gini", Limits(min_samples_leaf=15), 3)
    assert leaves.n_samples[leaves.feature < 0].min() >= 15
    leaves = grow(table, y, w, "gini", Limits(min_weight_leaf=20.5), 3)
    assert leaves.weight[leaves.feature < 0].min() >= 20.5
    saved = grow(table, y, w, "gini", Limits(min_impurity_decrease=0.004), 3)
    root = full.impurity[0]
    assert saved.decrease[saved.feature >= 0].min() * root >= 0.004 * (1 - 1e-9)
    assert 1 < saved.n_nodes < full.n_nodes


def test_best_first_takes_the_nodes_that_save_most(rng):
    X, kinds, n_levels = random_table(rng, 300, 4)
    y = rng.integers(0, 3, 300).astype(np.int32)
    table = presort(X, kinds, n_levels)
    full = grow(table, y, None, "gini", Limits(), 3)
    for leaves in (1, 2, 7, 20, full.n_leaves, full.n_leaves + 5):
        nodes = grow(table, y, None, "gini", Limits(max_leaf_nodes=leaves), 3)
        open_, chosen = [0], []
        while open_ and len(chosen) < leaves - 1:  # by the definition, on the full tree
            node = max(open_, key=lambda i: (full.decrease[i], -i))
            open_.remove(node)
            if full.feature[node] >= 0:
                chosen.append(node)
                open_ += [full.left[node], full.right[node]]
        assert nodes.n_leaves == min(leaves, full.n_leaves)
        assert sorted(nodes.decrease[nodes.feature >= 0]) == sorted(full.decrease[chosen])


@pytest.mark.parametrize("criterion", CRITERIA)
def test_two_halves_are_found_wherever_they_meet(criterion):
    """Also where blocks of rows meet, and where every block is pure."""
    n = 200
    X = np.asfortranarray(np.arange(float(n))[:, None])
    table = presort(X, np.zeros(1, np.uint8), np.zeros(1, np.int32))
    numbers = criterion == "squared_error"
    for cut in range(1, n):
        y = (X[:, 0] >= cut).astype(float if numbers else np.int32)
        nodes = grow(table, y, None, criterion, Limits(), 0 if numbers else 2)
        assert nodes.n_nodes == 3 and nodes.threshold[0] == cut - 0.5


@pytest.mark.parametrize("criterion", CRITERIA)
def test_rounding_does_not_break_ties(criterion, rng):
    """Rows read from either end look the same: two thresholds are tied, the lower one is taken."""
    numbers = criterion == "squared_error"
    ties = 0
    for _ in range(60):
        half = rng.integers(0, 3, int(rng.integers(4, 60)))
        y = np.r_[half, half[::-1]].astype(float if numbers else np.int32)
        n = len(y)
        X = np.asfortranarray(np.arange(float(n))[:, None])
        table = presort(X, np.zeros(1, np.uint8), np.zeros(1, np.int32))
        w = np.full(n, rng.choice([0.1, 1 / 3, 0.7]))
        nodes = grow(table, y, w, criterion, Limits(max_depth=1), 0 if numbers else 3)
        if nodes.feature[0] >= 0:
            assert nodes.threshold[0] <= n / 2
            ties += nodes.threshold[0] < (n - 1) / 2
    assert ties > 20
