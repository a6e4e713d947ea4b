"""The grown tree against every possible split, at every node, on many small random tables."""

import numpy as np
import pytest

from pellucid.plain import CART
from pellucid.tree import DecisionTreeRegressor, grower, prediction
from pellucid.tree.binned import bin_columns
from pellucid.tree.criteria import CLASS_CRITERIA, NUMBER_CRITERIA
from pellucid.tree.grower import grow
from pellucid.tree.histogram_bins import learn_bins
from pellucid.tree.presort import binned_table, presort
from pellucid.tree.stopping import Limits
from tests.plain.curved_tables import same_tree
from tests.sizes import cases
from tests.tree import naive
from tests.tree.node_costs import impurity, number_cost

CRITERIA = [*(name for name in CLASS_CRITERIA if name != "log_loss"), *NUMBER_CRITERIA]


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


def random_target(rng, n, criterion, targets=1):
    if targets > 1:
        return np.stack([random_target(rng, n, criterion)[0] for _ in range(targets)], axis=1), 0
    if criterion in NUMBER_CRITERIA:
        y = rng.choice([rng.normal(size=n), rng.integers(0, 3, n) * 10.0])
        if criterion in ("poisson", "gamma"):
            y = np.abs(y) + (criterion == "gamma") * 0.1
            y[0] += 1.0
        return y, 0
    k = int(rng.choice([2, 3, 4, 40]))  # of many classes a node has few
    return rng.integers(0, k, n).astype(np.int32), k


def positive(criterion, y):
    """The target as the criterion takes it: deviances need positive numbers."""
    return np.exp(y) if criterion in ("poisson", "gamma") else y


def random_weights(rng, n):
    kind = rng.integers(3)
    if kind == 0:
        return np.ones(n)
    if kind == 1:
        w = rng.integers(0, 4, n).astype(float)
        return w if w.sum() > 0 else np.ones(n)
    return rng.random(n) + 0.01


def check_tree(nodes, X, y, w, kinds, criterion, k, min_rows, min_weight):
    """At every node: the rows, the value, the split are what the definition says."""
    used = w > 0
    X, y, w = X[used], y[used], w[used]
    indices, indptr = prediction.paths(nodes, np.asfortranarray(X))
    inside = np.zeros((len(X), nodes.n_nodes), dtype=bool)
    inside[np.repeat(np.arange(len(X)), np.diff(indptr)), indices] = True
    for node in range(nodes.n_nodes):
        rows = inside[:, node]
        check_node(nodes, node, rows, X, y, w, kinds, criterion, k, min_rows, min_weight)


def check_node(nodes, node, m, X, y, w, kinds, criterion, k, min_rows, min_weight):
    y, w, X = y[m], w[m], X[m]
    weight = w.sum()
    parent = naive.cost(criterion, y, w, k)
    assert close(nodes.weight[node], weight, 1e-12 * weight)
    assert close(nodes.impurity[node] * weight, parent, 1e-9 * parent + 1e-12 * weight)
    if (y == y[0]).all():
        assert nodes.feature[node] < 0
        return
    found = naive.splits(X, y, w, kinds, criterion, k, min_rows, min_weight)
    if nodes.feature[node] < 0:
        assert not found
        return
    expected = naive.best(found, parent)
    f = nodes.feature[node]
    assert f == expected.column
    left = np.array([naive.goes_left(nodes, node, x) for x in X])
    both = naive.cost(criterion, y[left], w[left], k)
    both += naive.cost(criterion, y[~left], w[~left], k)
    assert both <= expected.cost + 2e-12 * parent + 1e-15 * weight
    saved = nodes.decrease[node] * nodes.impurity[0] * nodes.weight[0]
    assert close(saved, parent - both, 1e-9 * parent + 1e-15 * weight)
    if not kinds[f]:
        assert nodes.threshold[node] == expected.threshold
        assert (left == expected.left).all()
    missing = np.isnan(X[:, f])
    if missing.any():
        assert left[missing].all() if nodes.missing_left[node] else not left[missing].any()
    else:
        assert nodes.missing_left[node] == (w[left].sum() > w[~left].sum())
    if kinds[f]:
        assert left[np.argmin(np.where(missing, np.inf, X[:, f]))]


def close(a, b, atol):
    return abs(a - b) <= atol


@pytest.mark.parametrize("criterion", ["gini", "entropy", "error", "squared_error"])
def test_equal_to_the_plain_construction(criterion, rng):
    """Whole trees on tables of numbers with many ties, with and without weights."""
    for _ in cases(60, 600):
        n, d, leaf = int(rng.integers(2, 25)), int(rng.integers(1, 4)), int(rng.choice([1, 1, 3]))
        X = np.asfortranarray(rng.integers(0, rng.choice([2, 5, 30]), (n, d)) * 0.5)
        y, k = random_target(rng, n, criterion)
        w = rng.choice([np.ones(n), rng.random(n) + 0.01])
        if k:
            y[:2] = 0, 1
            y, k = np.unique(y, return_inverse=True)[1].astype(np.int32), len(np.unique(y))
        table = presort(X, np.zeros(d, np.uint8), np.zeros(d, np.int32))
        nodes = grow(table, y, w, criterion, Limits(min_samples_leaf=leaf), k)
        same_tree(CART(criterion, min_samples_leaf=leaf).fit(X, y, w), nodes)


@pytest.mark.parametrize(
    "criterion, targets",
    [*((name, 1) for name in CRITERIA), ("squared_error", 3), ("poisson", 2), ("gamma", 2)],
)
def test_every_node_has_the_best_split(criterion, targets, rng):
    """200 tables in CI, 2000 before a release; the histogram splitter on a tenth of them, where its
    tree must be the same: its thresholds are mid-points too if values are few."""
    for number in cases(200, 2000):
        n, d = int(rng.integers(2, 13)), int(rng.integers(1, 4))
        X, kinds, n_levels = random_table(rng, n, d)
        y, k = random_target(rng, n, criterion, targets)
        w = random_weights(rng, n)
        limits = Limits(min_samples_leaf=int(rng.choice([1, 1, 2, 3])))
        counts = bool((w == np.floor(w)).all())
        nodes = grow(presort(X, kinds, n_levels), y, w, criterion, limits, k)
        leaf = limits.min_samples_leaf
        rows, weight = (1, leaf) if counts else (leaf, 0.0)
        check_tree(nodes, X, y, w, kinds, criterion, k, rows, weight)
        expected = [naive.apply(nodes, x) for x in X]
        np.testing.assert_array_equal(prediction.apply(nodes, X), expected)
        if criterion != "absolute_error":
            binned = binned_table(X, kinds, n_levels, w)
            same_splits(nodes, grow(binned, y, w, criterion, limits, k))
        if number % 10 == 0:
            members = grow(presort(X, kinds, n_levels).placed(), y, w, criterion, limits, k)
            same_splits(nodes, members)


def same_splits(a, b):
    """Equal up to the rounding of sums in another order."""
    for name in ("feature", "threshold", "left", "right", "missing_left", "sets", "n_samples"):
        assert np.array_equal(getattr(a, name), getattr(b, name)), name
    assert np.abs(a.value - b.value).max() <= 1e-12 * np.abs(b.value).max()


@pytest.mark.parametrize("criterion", [c for c in CRITERIA if c != "absolute_error"])
def test_histograms_split_few_values_as_the_exact_sweep(criterion, rng, monkeypatch):
    """Branches, trunk and drawn columns; up to 255 values in a column, levels, missing cells."""
    monkeypatch.setattr(grower, "BRANCH_ROWS", 400)
    n = 1500
    X = np.asfortranarray(
        np.c_[
            rng.integers(0, 250, n) * 0.37,
            rng.integers(0, 9, n),
            rng.integers(0, 12, n),
            rng.normal(size=255)[rng.integers(0, 255, n)],
        ]
    )
    X[rng.random((n, 4)) < 0.04] = np.nan
    kinds, n_levels = np.array([0, 0, 1, 0], np.uint8), np.array([0, 0, 12, 0], np.int32)
    score = np.nan_to_num(0.01 * X[:, 0] + (X[:, 1] > 3) + X[:, 3]) + rng.normal(size=n)
    numbers = criterion in NUMBER_CRITERIA
    y = positive(criterion, score) if numbers else np.digitize(score, [0, 2]).astype(np.int32)
    for w in (None, rng.integers(1, 4, n) * 1.0):
        for limits in (Limits(min_samples_leaf=8), Limits(min_samples_leaf=8, max_features=2)):
            k = 0 if numbers else 3
            exact = grow(presort(X, kinds, n_levels), y, w, criterion, limits, k, key=5)
            weights = np.ones(n) if w is None else w
            binned = grow(
                binned_table(X, kinds, n_levels, weights), y, w, criterion, limits, k, key=5
            )
            assert exact.n_nodes > 60
            same_splits(exact, binned)


def test_bins_are_those_of_boosting(rng):
    """Two ways to the same cuts: sorting and searching, or one pass over the sorted rows."""
    n = 3000
    X = np.asfortranarray(
        np.c_[
            rng.normal(size=n),
            rng.integers(0, 255, n),
            rng.integers(0, 900, n),
            np.where(rng.random(n) < 0.3, 7.0, rng.normal(size=n)),
            np.ones(n),
        ]
    )
    X[rng.random((n, 5)) < 0.1] = np.nan
    kinds, n_levels = np.zeros(5, np.uint8), np.zeros(5, np.int32)
    for w in (np.ones(n), rng.random(n)):
        ours = bin_columns(X, kinds, w)
        theirs = learn_bins(X, kinds, n_levels, w, 255)
        for f in range(5):
            edges = theirs.thresholds[f]
            expected = np.searchsorted(edges, X[:, f], side="left")
            expected[np.isnan(X[:, f])] = len(edges) + 1
            assert ours.n_bins[f] == len(edges) + 1
            np.testing.assert_array_equal(ours.bins[f], expected)
            for b in range(len(edges) + 1):
                inside = X[expected == b, f]
                assert (ours.low[f, b], ours.high[f, b]) == (inside.min(), inside.max())


def test_histograms_of_many_values(rng):
    """No more than 254 thresholds per column, all between two values; nearly as good a tree."""
    n = 6000
    X = rng.normal(size=(n, 3))
    y = (X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n) > 0).astype(np.int32)
    kinds, n_levels = np.zeros(3, np.uint8), np.zeros(3, np.int32)
    table = binned_table(X, kinds, n_levels, np.ones(n))
    top = Limits(max_depth=1)
    edges = set()
    for column in range(200):
        fresh = (X[:, 0] > np.sort(X[:, 0])[20 + 29 * column]).astype(np.int32)
        edges.add(grow(table, fresh, None, "gini", top, 2).threshold[0])
    assert 100 < len(edges) <= 254 and not np.isin(list(edges), X[:, 0]).any()
    shallow = Limits(max_depth=4)
    ours = grow(table, y, None, "gini", shallow, 2)
    exact = grow(presort(X, kinds, n_levels), y, None, "gini", shallow, 2)
    assert exact.decrease[0] >= ours.decrease[0] > 0.99 * exact.decrease[0]


WEIGHTS = {
    "unit": lambda rng, n: np.ones(n),
    "packed": lambda rng, n: rng.integers(1, 4, n).astype(float),
    "packed, above 16 bits": lambda rng, n: rng.integers(200, 256, n).astype(float),
    "integer": lambda rng, n: rng.integers(1, 5000, n).astype(float),
    "broken": lambda rng, n: rng.random(n) + 0.01,
}


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("criterion", CRITERIA)
def test_long_nodes_have_the_best_split(criterion, weights, rng):
    """Nodes of several blocks, in which most blocks are skipped; up to seven classes."""
    for k in (2, 4, 7):
        n = int(rng.integers(150, 320))
        X = np.asfortranarray(np.c_[rng.normal(size=n), rng.integers(0, 60, n)])
        X[rng.random((n, 2)) < 0.05] = np.nan
        score = np.nan_to_num(X[:, 0]) + 0.05 * np.nan_to_num(X[:, 1]) + 0.5 * rng.normal(size=n)
        numbers = criterion in NUMBER_CRITERIA
        cuts = np.quantile(score, np.arange(1, k) / k)
        y = positive(criterion, score) if numbers else np.searchsorted(cuts, score)
        y = y if numbers else y.astype(np.int32)
        w = WEIGHTS[weights](rng, n)
        kinds, n_levels = np.zeros(2, np.uint8), np.zeros(2, np.int32)
        limits = Limits(max_depth=1, min_samples_leaf=int(rng.choice([1, 30])))
        classes = 0 if numbers else k
        nodes = grow(presort(X, kinds, n_levels), y, w, criterion, limits, classes)
        counts = bool((w == np.floor(w)).all())
        leaf = limits.min_samples_leaf
        allowed = (1, leaf) if counts else (leaf, 0.0)
        check_node(nodes, 0, np.ones(n, bool), X, y, w, kinds, criterion, classes, *allowed)


@pytest.mark.parametrize("criterion", [c for c in CRITERIA if c != "absolute_error"])
def test_many_levels_of_two_classes_or_numbers(criterion, rng):
    for _ in range(8):
        n = 40
        X = np.asfortranarray(rng.integers(0, 9, (n, 1)).astype(float))
        X[rng.random(n) < 0.1] = np.nan
        kinds, n_levels = np.ones(1, np.uint8), np.array([9], np.int32)
        numbers = criterion in NUMBER_CRITERIA
        y = positive(criterion, rng.normal(size=n)) if numbers else rng.integers(0, 2, n)
        y = y if numbers else y.astype(np.int32)
        k, w = (0 if numbers else 2), rng.random(n)
        nodes = grow(presort(X, kinds, n_levels), y, w, criterion, Limits(max_depth=1), k)
        left = prediction.apply(nodes, X) == 1
        both = naive.cost(criterion, y[left], w[left], k)
        both += naive.cost(criterion, y[~left], w[~left], k)
        found = naive.splits(X, y, w, kinds, criterion, k)
        assert both == pytest.approx(min(split.cost for split in found), rel=1e-9)


def test_many_levels_of_absolute_errors_follow_their_medians(rng):
    for _ in range(6):
        n, levels = 60, 14
        codes = np.r_[np.arange(levels), rng.integers(0, levels, n - levels)]
        y, w = rng.normal(size=n) + rng.normal(size=levels)[codes], rng.random(n) + 0.1
        table = presort(codes[:, None] * 1.0, np.ones(1, np.uint8), np.array([levels], np.int32))
        nodes = grow(table, y, w, "absolute_error", Limits(max_depth=1))
        of_level = [naive.weighted_median(y[codes == k], w[codes == k]) for k in range(levels)]
        costs = []
        for k in np.argsort(of_level)[:-1]:
            left = np.array(of_level)[codes] <= of_level[k]
            sides = [number_cost("absolute_error", y[part], w[part]) for part in (left, ~left)]
            costs.append(sum(sides))
        ours = (nodes.impurity * nodes.weight)[1:].sum()
        assert ours == pytest.approx(min(costs), rel=1e-12)


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
    numbers = criterion in NUMBER_CRITERIA
    for cut in range(1, n):
        y = (X[:, 0] >= cut).astype(float if numbers else np.int32)
        y = positive(criterion, y)
        nodes = grow(table, y, None, criterion, Limits(), 0 if numbers else 2)
        assert nodes.n_nodes == 3 and nodes.threshold[0] == cut - 0.5


@pytest.mark.parametrize("criterion", CRITERIA)
def test_rounding_does_not_break_ties(criterion, rng):
    """Rows read from either end look the same: two thresholds are tied, the lower one is taken."""
    numbers = criterion in NUMBER_CRITERIA
    ties = 0
    for _ in range(60):
        half = rng.integers(0, 3, int(rng.integers(4, 60)))
        y = positive(criterion, np.r_[half, half[::-1]].astype(float if numbers else np.int32))
        n = len(y)
        X = np.asfortranarray(np.arange(float(n))[:, None])
        table = presort(X, np.zeros(1, np.uint8), np.zeros(1, np.int32))
        w = np.full(n, rng.choice([0.1, 1 / 3, 0.7]))
        nodes = grow(table, y, w, criterion, Limits(max_depth=1), 0 if numbers else 3)
        if nodes.feature[0] >= 0:
            assert nodes.threshold[0] <= n / 2
            ties += nodes.threshold[0] < (n - 1) / 2
    assert ties > 20


@pytest.mark.parametrize("criterion", ["gamma", "poisson", "squared_error"])
def test_rounding_breaks_no_tie_of_targets_that_hardly_differ(criterion):
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 8))
        x = rng.permutation(n) * 1.0
        y = 1 + 1e-4 * rng.random(n)
        tree = DecisionTreeRegressor(criterion=criterion, max_depth=1).fit(np.c_[x, -x], y).tree_
        assert tree.feature[0] == 0
