"""Parts of the neighbour search, alone: lists by query, cells that overflow, sentences of a replay."""

import numpy as np
import pytest

from pellucid.neighbors import _loops, neighbor_search, overflow
from pellucid.neighbors.k_steps import _sentence


def test_lists_behind_a_short_one_are_sorted():
    near = np.array([5.0, 3.0, 1.0, 2.0, 9.0, 4.0])
    rows = np.arange(6, dtype=np.int32)
    _loops.sort_parts(near, rows, np.array([0, 1, 1, 4, 6]))
    assert near.tolist() == [5.0, 1.0, 2.0, 3.0, 4.0, 9.0]
    assert rows.tolist() == [0, 2, 3, 1, 5, 4]


def test_cells_that_overflow_keep_their_order():
    cells = np.array([[1.0, 1.2, 1.9, 2.0, 3.9, 4.0]]) * 2.0**1000
    found = overflow.scaled(cells, -60)[0]
    assert np.isfinite(found).all() and (np.diff(found) > 0).all()


def test_one_neighbour_decides_alone():
    assert _sentence({"neighbors": 1}, {}).startswith("The nearest row alone decides")
    assert _sentence({"neighbors": 3}, {}).startswith("The 3 nearest rows decide")


@pytest.mark.parametrize("shape", [(513, 1), (700, 16), (5000, 5)])
def test_every_node_of_a_tree_is_halved_across_its_widest_column(shape):
    X = np.random.default_rng(0).normal(size=shape)
    X[:, 0] = np.round(X[:, 0])  # ties go to the lower row
    tree = neighbor_search.build_tree(X, 1)
    order, boxes = tree["order"], tree["boxes"]
    assert (np.sort(order) == np.arange(len(X))).all()
    for level in range(tree["depth"] + 1):
        starts = neighbor_search.tree_starts(len(X), level)
        for j in range(2**level):
            node, rows = 2**level + j, order[starts[j] : starts[j + 1]]
            assert (boxes[node] == [X[rows].min(axis=0), X[rows].max(axis=0)]).all()
            assert tree["least"][node] == rows.min()
            if level < tree["depth"]:
                middle = neighbor_search.tree_starts(len(X), level + 1)[2 * j + 1] - starts[j]
                x = X[rows, np.argmax(boxes[node, 1] - boxes[node, 0])]
                keys = list(zip(x.tolist(), rows.tolist()))
                assert max(keys[:middle]) < min(keys[middle:])


@pytest.mark.parametrize("columns", [1, 4, 7, 70])
def test_panels_hold_the_rows_side_by_side(columns):
    rng = np.random.default_rng(0)
    X, order = rng.normal(size=(203, columns)), rng.permutation(203)
    starts = np.append(np.arange(0, 203, 64), 203)
    panels = neighbor_search.packed(X, starts, order)
    assert (neighbor_search.unpacked(panels, starts) == X[order]).all()
