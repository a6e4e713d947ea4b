"""Facts of columns: exact weighted sums beside missing cells, means of sums that overflow."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array

from pellucid.data import _loops, prepare
from pellucid.linear_model import LinearRegression


def test_sums_of_present_cells_are_those_of_fractions():
    """Weights and cells of 53 bits: the rounding of each product is added as well."""
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(200, 2)), rng.random(200)
    X[rng.random(X.shape) < 0.3] = np.nan
    total, weight = np.zeros((2, 2)), np.zeros((2, 2))
    low, high = np.full(2, np.inf), np.full(2, -np.inf)
    _loops.present_facts(X, w, total, weight, low, high)
    for j in range(2):
        there = ~np.isnan(X[:, j])
        cells = [
            (Fraction(a), Fraction(b)) for a, b in zip(w[there].tolist(), X[there, j].tolist())
        ]
        exact = sum(a * b for a, b in cells)
        assert abs(Fraction(total[0, j]) + Fraction(total[1, j]) - exact) < Fraction(1, 2**96)
        exact = sum(a for a, _ in cells)
        assert abs(Fraction(weight[0, j]) + Fraction(weight[1, j]) - exact) < Fraction(1, 2**96)


@pytest.mark.parametrize("cell", [np.inf, -np.inf, 3.0])
def test_infinite_cells_are_noticed_while_gaps_are_filled(cell):
    X, out = np.array([[1.0, np.nan], [np.nan, cell]]), np.empty((2, 3))
    kinds = np.array([0, 1], dtype=np.intc), np.array([2, -1], dtype=np.intc)
    found = _loops.impute(X, np.array([7.0, 8.0]), *kinds, out)
    np.testing.assert_array_equal(out, [[1.0, 8.0, 0.0], [7.0, cell, 1.0]])
    assert found == 0 if np.isfinite(cell) else np.isnan(found)


def test_means_of_sparse_columns_whose_sums_overflow():
    X = csr_array(np.array([[1.6e308, 1.0], [1.7e308, 2.0], [1.7e308, 6.0]]))
    schema = prepare(X, np.arange(3.0), None, None, None, LinearRegression()._input_spec())[
        0
    ].schema
    np.testing.assert_allclose(schema.mean, [1.65e308, 3.0])
