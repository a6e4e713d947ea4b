"""Sums of cells by class that leave out missing ones."""

import numpy as np

from pellucid.numerics import _groups


def test_weights_of_present_cells_are_summed(rng):
    X, y, w = rng.normal(size=(30, 2)), rng.integers(0, 3, 30).astype(np.intc), rng.random(30)
    X[::4, 1] = np.nan
    sums, total = np.zeros((3, 2)), np.zeros((3, 2))
    _groups.sum_present(X, y, w, sums, total)
    own = [(y == k)[:, None] & ~np.isnan(X) for k in range(3)]
    np.testing.assert_allclose(total, [(w[:, None] * there).sum(axis=0) for there in own])
    np.testing.assert_allclose(
        sums, [np.where(there, w[:, None] * X, 0).sum(axis=0) for there in own]
    )
