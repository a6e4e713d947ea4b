"""Parts of the neighbour search, alone: lists by query, cells that overflow, sentences of a replay."""

import numpy as np

from pellucid.neighbors import _loops, overflow
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
