"""Wide rows: the smallest scores of single precision choose which distances are computed."""

import numpy as np
import pytest

from pellucid.neighbors import NearestNeighbors


@pytest.mark.parametrize("columns", [63, 64, 511, 513])
@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_wide_rows_are_found_as_by_all_distances(columns, shift):
    """Panels of 8 and of 64 rows, the last one incomplete; rows that agree but for the last digits,
    and equal rows, which stand in the order of the table."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1203, columns)) + shift
    X[200:400] = X[0] + 1e-9 * rng.normal(size=(200, columns))
    X[1100:1120] = X[5]
    Q = np.concatenate([X[:30], X[1110:1112], rng.normal(size=(40, columns)) + shift])
    near, rows = NearestNeighbors(n_neighbors=25).fit(X).kneighbors(Q)
    squares = np.zeros((len(Q), len(X)))
    for f in range(columns):  # as each distance is rounded
        squares += (Q[:, f : f + 1] - X[:, f]) ** 2
    right = np.lexsort((np.broadcast_to(np.arange(len(X)), squares.shape), squares), axis=1)[:, :25]
    np.testing.assert_array_equal(rows, right)
    np.testing.assert_array_equal(near, np.sqrt(np.take_along_axis(squares, right, axis=1)))
