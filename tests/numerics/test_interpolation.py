"""Wide least squares: digits, singular values, spanning columns, and where the way ends."""

import mpmath
import numpy as np
import pytest

from pellucid import parallel
from pellucid.numerics import min_norm
from pellucid.numerics.design_matrix import make_design
from pellucid.numerics.least_squares import least_squares
from pellucid.numerics.row_blocks import Rows


def precise(X, y, constant):
    """The shortest b with X b + b0 = y, and b0, from 60 digits."""
    with mpmath.workdps(60):
        n, A = len(X), mpmath.matrix(X.tolist())
        K, right = mpmath.zeros(n + constant), mpmath.matrix([*y.tolist(), *[0] * constant])
        K[:n, :n] = A * A.T
        for i in range(n if constant else 0):
            K[i, n] = K[n, i] = 1
        s = mpmath.lu_solve(K, right)
        return np.array([float(v) for v in A.T * s[:n]]), float(s[n]) if constant else 0.0


def table(n, p, offset=0.0, smallest=1.0, seed=0):
    """Singular values from 1 down to `smallest`."""
    U, _, V = np.linalg.svd(np.random.default_rng(seed).normal(size=(n, p)), full_matrices=False)
    return (U * np.geomspace(1, smallest, n)) @ V + offset


def dual(X, y=None, w=None, constant=True):
    w = np.ones(len(X)) if w is None else w
    y = np.arange(float(len(X))) ** 2 if y is None else y
    return min_norm.make_dual(make_design(Rows(X), y[:, None], w, constant))


@pytest.mark.parametrize(
    ("X", "constant"),
    [
        (table(15, 40), True),
        (table(15, 40), False),
        (table(15, 15), True),
        (table(15, 15), False),
        (table(15, 40, offset=1e6), True),
        (table(15, 40, smallest=1e-4), True),
        (table(15, 18, smallest=1e-5), False),
        (table(15, 40) * np.ldexp(1.0, 40 * (np.arange(40) % 2)), True),
    ],
    ids=["plain", "no 1", "square", "square, no 1", "far", "rough", "rougher", "sizes"],
)
def test_every_digit_is_right(X, constant):
    y = np.random.default_rng(1).normal(size=len(X)) + 5
    b, b0 = precise(X, y, constant)
    assert dual(X, y, constant=constant) is not None
    found = least_squares(X, y[:, None], np.ones(len(X)), constant)
    np.testing.assert_allclose(found.coef[0], b, rtol=4e-16, atol=0)
    np.testing.assert_allclose(found.intercept[0], b0, rtol=4e-16, atol=0)
    assert found.residual_ss.tolist() == [0.0] and found.rank == len(X) - constant
    total = np.sum((y - y.mean() * constant) ** 2)
    np.testing.assert_allclose(np.ldexp(found.total_ss[0], 2 * found.exponent[0]), total)


@pytest.mark.parametrize("smallest", [0.1, 1e-4])
@pytest.mark.parametrize("constant", [True, False])
def test_singular_values(smallest, constant):
    rng = np.random.default_rng(3)
    X, w = table(30, 2500, smallest=smallest), rng.uniform(0.5, 2, 30)
    found = least_squares(X, rng.normal(size=(30, 2)), w, constant)
    A = (X - w @ X / w.sum() * constant) * np.sqrt(w)[:, None]
    exact = np.linalg.svd(A, compute_uv=False)[: 30 - constant]
    np.testing.assert_allclose(found.singular, exact, rtol=1e-11)
    assert (dual(X, w=w, constant=constant).factor.condition > 100) == (smallest < 0.01)
    assert found.condition == pytest.approx(exact[0] / exact[-1], rel=1e-9)


def test_the_spanning_columns_are_independent():
    X = table(12, 40)
    assert min_norm.spanning_columns(dual(X)).tolist() == list(range(11))
    X[:, 3], X[:, 4], X[:, 5] = 0.0, X[:, 1], X[:, 0] - 2 * X[:, 2]
    chosen = min_norm.spanning_columns(dual(X))
    assert len(set(chosen.tolist())) == 11 and 3 not in chosen
    centred = X[:, chosen] - X[:, chosen].mean(axis=0)
    assert np.linalg.cond(centred[1:]) < 1e4
    found = least_squares(X, np.arange(12.0)[:, None], np.ones(12))
    assert sorted([*chosen, *found.aliased]) == list(range(40))


def test_dependent_rows_are_left_to_others():
    X, y = table(12, 40), np.arange(12.0)[:, None] ** 2
    X[7], y[7] = X[6], y[6]
    assert dual(X) is None
    assert least_squares(X, y, np.ones(12)).rank == 10
    assert dual(table(12, 40, smallest=1e-7)) is None  # nearly
    assert dual(np.ldexp(table(12, 40), -310)) is None
    with np.errstate(over="ignore", invalid="ignore"):
        assert dual(np.ldexp(table(12, 40), 600)) is None


@pytest.mark.parametrize("value", [0.0, 0.1, 1e8 / 3])
def test_constant_columns_get_zero(value):
    X, y = table(12, 40), np.arange(12.0) ** 2
    X[:, 2] = value
    assert dual(X) is not None
    found, rest = (least_squares(A, y[:, None], np.ones(12)) for A in (X, np.delete(X, 2, 1)))
    assert found.coef[0, 2] == 0.0 and 2 in found.aliased
    np.testing.assert_allclose(np.delete(found.coef[0], 2), rest.coef[0], rtol=1e-15)


def test_rows_that_stand_for_several_keep_their_variances():
    X, y = table(6, 9, seed=4), np.arange(6.0)[:, None] ** 2
    alone, twice = (least_squares(X, y, np.full(6, w)) for w in (1.0, 2.0))
    np.testing.assert_allclose(alone.coef, twice.coef, rtol=1e-10)
    assert np.isnan(alone.unit_error[-1]) and np.isfinite(twice.unit_error[-1])


def test_equal_bits_for_any_number_of_threads():
    rng = np.random.default_rng(5)
    y, results = rng.normal(size=(270, 2)), set()
    tables = [rng.normal(size=(270, 500)), table(270, 1100, smallest=1e-3)]
    try:
        for threads in (1, 2, 4):
            parallel.set_threads(threads)
            found = [least_squares(X, y, np.ones(270)) for X in tables]
            results.add(b"".join(f.coef.tobytes() + f.singular.tobytes() for f in found))
    finally:
        parallel.set_threads(None)
    assert len(results) == 1


def test_a_target_that_does_not_vary():
    found = least_squares(table(5, 9), np.full((5, 1), 3.0), np.ones(5))
    assert found.coef.tolist() == [[0.0] * 9] and found.intercept.tolist() == [3.0]
