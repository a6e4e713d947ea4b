"""Sets of levels as lists: few of many levels leave, so a tree's sets stay near n log n words."""

import dataclasses
import math

import numpy as np
import pytest

import pellucid
from pellucid.errors import DataError
from pellucid.tree import DecisionTreeClassifier, DecisionTreeRegressor, export_text, prediction
from tests.tree import naive


def _cells(codes):
    return np.array([f"v{k}" for k in codes], dtype=object)[:, None]


@pytest.fixture(scope="module")
def tree():
    rng = np.random.default_rng(0)
    X = _cells(rng.integers(0, 2500, 4000))
    X[::50] = None
    return DecisionTreeRegressor().fit(X, rng.normal(size=4000)), X


def test_lists_and_bits_send_rows_alike(tree):
    model, X = tree
    nodes, codes = model.tree_, model._encoded(X)
    assert (nodes.set_start >= 0).any() and (nodes.set_start < -1).sum() > 500
    leaf = model.apply(X)
    counts = np.bincount(leaf, minlength=nodes.n_nodes)
    np.testing.assert_array_equal(counts[nodes.feature < 0], nodes.n_samples[nodes.feature < 0])
    strange = np.array([[np.nan], [2499.0], [1e9], [0.0], [31.0], [32.0]])
    rows = np.asfortranarray(np.vstack((codes[::40], strange)))
    expected = [naive.apply(nodes, x) for x in rows]
    np.testing.assert_array_equal(prediction.apply(nodes, rows), expected)  # one by one
    many = np.asfortranarray(np.tile(rows, (60, 1)))
    np.testing.assert_array_equal(prediction.apply(nodes, many), expected * 60)
    sums = prediction.sums([nodes], [nodes.value], many)
    np.testing.assert_array_equal(sums, nodes.value[expected * 60])


def test_levels_that_a_node_has_not_seen_go_where_missing_ones_go(tree):
    nodes = tree[0].tree_
    depths = nodes.depths()
    for i in np.flatnonzero((nodes.set_start < -1) & (depths > 6))[:50]:
        left = nodes.levels_left(i)
        others = len(left) if nodes.missing_left[i] else nodes.n_levels[0] - len(left)
        assert others > 0.9 * nodes.n_levels[0]


def test_lists_are_saved_pruned_and_shown(tree, tmp_path):
    model, X = tree
    model.save(tmp_path / "tree.pellucid")
    again = pellucid.load(tmp_path / "tree.pellucid")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert export_text(again, max_depth=1000).count("in {") == 2 * model.tree_.has_set.sum()
    small = DecisionTreeRegressor(ccp_alpha=1e-3).fit(X, model.predict(X))
    assert 1 < small.get_n_leaves() < model.get_n_leaves()


@pytest.mark.parametrize("change", ["start", "length"])
def test_forged_lists_are_refused(tree, change):
    nodes = tree[0].tree_
    i = int(np.argmax(nodes.set_start < -1))
    start, sets = nodes.set_start.copy(), nodes.sets.copy()
    if change == "start":
        start[i] = -2 - len(sets)
    else:
        sets[-2 - start[i]] = len(sets)
    with pytest.raises(DataError, match="sets of levels"):
        dataclasses.replace(nodes, set_start=start, sets=sets)


def test_a_level_for_every_row_takes_words_near_n_log_n():
    n = 20_000
    X, y = _cells(np.arange(n)), np.arange(n) * 7919 % n % 2
    nodes = DecisionTreeClassifier().fit(X, y).tree_
    assert nodes.n_leaves == 2  # two classes: one set says it all
    noise = np.random.default_rng(1).normal(size=n)
    nodes = DecisionTreeRegressor().fit(X, noise).tree_
    assert nodes.n_leaves == n
    assert len(nodes.sets) < n * math.log2(n)  # bits alone: 625 n
