"""Scores of rows: against exact sums, alone and among others, with cells that are not finite."""

import math

import numpy as np
import pytest

from pellucid import parallel
from pellucid.numerics import _scores, simd
from pellucid.numerics.linear_scores import linear_scores

BUILDS = {"plain": _scores, "fastest": simd.fastest(_scores)}


def table(n, p, dtype=np.float64):
    rng = np.random.default_rng(10 * n + p)
    return rng.normal(size=(n, p)).astype(dtype), rng.normal(size=p)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("p", [0, 1, 3, 7, 8, 9, 16, 37])
def test_scores_are_exact_sums_but_for_rounding(p, dtype):
    X, b = table(11, p, dtype)
    found = {name: np.empty(11) for name in BUILDS}
    for name, build in BUILDS.items():
        build.row_scores(X, b, 0.25, found[name])
    exact = [math.fsum([*(row * b).tolist(), 0.25]) for row in X.astype(float)]
    np.testing.assert_allclose(found["plain"], exact, rtol=1e-13, atol=1e-14)
    assert found["plain"].tobytes() == found["fastest"].tobytes()


@pytest.mark.parametrize("shape", [(5, 11), (40_003, 11)])
def test_a_row_has_the_same_bits_alone_and_for_any_number_of_threads(shape):
    X, b = table(*shape)
    whole = linear_scores(X, b, 0.5)
    for i in (0, 3, 4, len(X) - 1):
        assert linear_scores(X[i : i + 1], b, 0.5)[0] == whole[i]
    try:
        for n in (1, 2, 4):
            parallel.set_threads(n)
            assert linear_scores(X, b, 0.5).tobytes() == whole.tobytes()
    finally:
        parallel.set_threads(None)
    assert linear_scores(np.asfortranarray(X), b, 0.5).tobytes() == whole.tobytes()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("j", range(11))
def test_a_cell_that_is_not_finite_shows_where_the_coefficient_is_0(j, bad):
    X = table(6, 11)[0]
    X[2, j] = bad
    found = np.isfinite(linear_scores(X, np.zeros(11), 1.0))
    np.testing.assert_array_equal(found, np.arange(6) != 2)
