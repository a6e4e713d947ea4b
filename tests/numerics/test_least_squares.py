"""Digits, rank, scales, weights and threads of least squares."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from pellucid import parallel
from pellucid.numerics import linalg
from pellucid.numerics.constrained import nonnegative_least_squares
from pellucid.numerics.least_squares import least_squares
from tests.oracles import shared


def fit(X, y, w=None, constant=True):
    X = np.ascontiguousarray(X, dtype=float)
    Y = np.asarray(y, dtype=float).reshape(len(X), -1)
    return least_squares(X, Y, np.ones(len(X)) if w is None else np.asarray(w, float), constant)


@pytest.mark.parametrize("name", shared.NIST_NAMES)
def test_nist_digits_are_those_of_the_data(name):
    data = shared.nist(name)
    found = fit(data.design(), data.y, constant=data.intercept)
    c = [found.intercept[0]] if data.intercept else []
    assert data.digits(np.append(c, found.coef[0])) >= (7.5 if name == "Filip" else 13)
    error = found.unit_error
    error = np.append(error[-1:], error[:-1]) if data.intercept else error[:-1]
    noise = np.sqrt(found.residual_ss[0] / (len(data.y) - len(error)))
    error = np.ldexp(error * noise, found.exponent[0])
    exact = np.array([float(value) for value in data.exact_std_error])
    limit = 10 ** (-7.5 if name == "Filip" else -12.9)
    # Exact fits have standard error 0: there the measure is relative to the coefficient.
    size = np.where(exact > 0, exact, np.abs(data.estimate))
    limit = 1e-12 if np.all(exact == 0) else limit
    assert np.max(np.abs(error - exact) / size) <= limit
    assert abs(1 - found.residual_ss[0] / found.total_ss[0] - data.r_squared) <= 2e-12


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e8, 1e10])
def test_an_offset_loses_nothing(offset):
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(500, 4)) * 2**10) / 2**10  # so that X + offset is exact
    y = X @ [1.0, -2.0, 3.0, 0.5] + rng.normal(size=500)
    base, moved = fit(X, y), fit(X + offset, y)
    np.testing.assert_allclose(moved.coef, base.coef, rtol=1e-14)
    np.testing.assert_allclose(moved.residual_ss, base.residual_ss, rtol=1e-13)
    np.testing.assert_allclose(moved.unit_error[:4], base.unit_error[:4], rtol=1e-13)


@pytest.mark.parametrize("power", [-900, -300, -60, 60, 300, 900])
@pytest.mark.parametrize("constant", [True, False])
def test_powers_of_two_change_no_bit(power, constant):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(300, 5)) + 3, rng.normal(size=300)
    base = fit(X, y, constant=constant)
    powers = np.array([power, 0, -power // 2, 7, power])
    moved = fit(np.ldexp(X, powers), np.ldexp(y, 40), constant=constant)
    assert np.ldexp(base.coef, 40 - powers).tobytes() == moved.coef.tobytes()
    assert np.ldexp(base.intercept, 40).tobytes() == moved.intercept.tobytes()


def test_equal_bits_for_any_number_of_threads():
    rng = np.random.default_rng(2)
    X, Y = rng.normal(size=(30_000, 30)), rng.normal(size=(30_000, 2))
    X[:, 7] = X[:, 8] * 1e-9 + X[:, 9]  # QR too
    results = []
    for threads in [1, 2, 4]:
        parallel.set_threads(threads)
        for table in (X, X[:, 8:]):
            found = fit(table, Y)
            results.append(found.coef.tobytes() + found.unit_error.tobytes())
    parallel.set_threads(None)
    assert len(set(results)) == 2


def test_weights_mean_repetition():
    rng = np.random.default_rng(3)
    X, y, w = rng.normal(size=(60, 3)), rng.normal(size=60), rng.integers(0, 4, 60)
    weighted, repeated = fit(X, y, w), fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    for name in ("coef", "intercept", "residual_ss", "total_ss", "unit_error"):
        np.testing.assert_allclose(
            getattr(weighted, name), getattr(repeated, name), rtol=1e-13, err_msg=name
        )


@pytest.mark.parametrize("constant", [True, False])
@pytest.mark.parametrize("shape", [(40, 6), (5, 12)])
def test_rank_deficient_gives_the_shortest_solution(constant, shape):
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=shape), rng.normal(size=shape[0])
    X[:, 3] = 2 * X[:, 0] - X[:, 1]
    found = fit(X, y, constant=constant)
    centred = X - X.mean(axis=0) if constant else X
    target = y - y.mean() if constant else y
    shortest = np.linalg.pinv(centred, rcond=1e-12) @ target
    np.testing.assert_allclose(found.coef[0], shortest, rtol=1e-10, atol=1e-12)
    assert found.rank == np.linalg.matrix_rank(centred) == X.shape[1] - len(found.aliased)
    residual_ss = np.ldexp(found.residual_ss[0], 2 * found.exponent[0])
    np.testing.assert_allclose(residual_ss, np.sum((target - centred @ shortest) ** 2), atol=1e-12)


def test_only_coefficients_that_are_not_unique_lack_a_variance():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(50, 5)), rng.normal(size=50)
    X[:, 3] = X[:, 1]
    found = fit(X, y)
    assert np.isnan(found.unit_error[:5]).tolist() == [False, True, False, True, False]
    reduced = fit(X[:, [0, 1, 2, 4]], y)
    np.testing.assert_allclose(found.unit_error[[0, 2, 4]], reduced.unit_error[[0, 2, 3]])
    np.testing.assert_allclose(found.coef[0][1], reduced.coef[0][1] / 2)


def test_constant_columns_beside_an_intercept_get_zero():
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(3000, 3)), rng.normal(size=3000)
    X[:, 1] = 0.1
    found = fit(X, y)
    assert found.coef[0][1] == 0 and found.aliased.tolist() == [1] and found.rank == 2
    np.testing.assert_allclose(found.coef[0][[0, 2]], fit(X[:, [0, 2]], y).coef[0], rtol=1e-14)
    assert fit(X, y, constant=False).rank == 3
    flat = fit(np.full((9, 2), 7.0), np.arange(9.0))
    assert flat.coef.tolist() == [[0, 0]] and flat.intercept.tolist() == [4] and flat.rank == 0


def test_truth_by_construction_and_several_targets():
    rng = np.random.default_rng(7)
    X = rng.integers(-9, 9, size=(80, 4)).astype(float)
    B = rng.integers(-5, 5, size=(4, 3)).astype(float)
    found = fit(X, X @ B + [1.0, 0.0, -2.0])
    np.testing.assert_allclose(found.coef, B.T, rtol=1e-16, atol=1e-30)
    np.testing.assert_allclose(found.intercept, [1, 0, -2], atol=1e-15)
    np.testing.assert_allclose(found.residual_ss, 0, atol=1e-25)
    centred = X - X.mean(axis=0)
    np.testing.assert_allclose(found.singular, np.linalg.svd(centred, compute_uv=False))


def test_sparse_equals_dense():
    sparse = pytest.importorskip("scipy.sparse")
    rng = np.random.default_rng(8)
    X, y = rng.normal(size=(200, 6)) * (rng.uniform(size=(200, 6)) < 0.3), rng.normal(size=200)
    found = least_squares(sparse.csr_array(X), y[:, None], np.ones(200))
    np.testing.assert_array_equal(found.coef, fit(X, y).coef)
    big = least_squares(sparse.csr_array(X * 2.0**600), y[:, None], np.ones(200))
    np.testing.assert_array_equal(big.coef, fit(X, y).coef * 2.0**-600)


def test_a_column_that_wakes_up_late_and_huge():
    X = np.zeros((100_000, 3))
    X[:, 0] = np.arange(100_000) % 7
    X[-5:, 1] = 1e200 * np.arange(5)
    X[-9:, 2] = 1e-200 * np.arange(9) ** 2
    found = fit(X, X @ [1.0, 1e-200, 3e200])
    np.testing.assert_allclose(found.coef[0], [1, 1e-200, 3e200], rtol=1e-12)


@pytest.mark.parametrize("shape", [(30, 7), (7, 7), (5, 1)])
def test_a_rotation_is_the_orthonormal_factor(shape):
    A = np.random.default_rng(3).normal(size=shape[::-1]).T
    V = linalg.Rotation(A)
    Q, T = V.times(np.eye(shape[1])), V.triangle()
    np.testing.assert_allclose(Q @ T, A, atol=1e-13)
    np.testing.assert_allclose(Q.T @ Q, np.eye(shape[1]), atol=1e-14)
    np.testing.assert_array_equal(T, np.triu(T))
    np.testing.assert_allclose(V.projected(A), T, atol=1e-13)


def test_of_full_rank_no_direction_is_left():
    X = np.random.default_rng(0).normal(size=(20, 3))
    assert fit(X, X[:, 0] ** 2).null.shape == (3, 0)
    wide = fit(np.random.default_rng(1).normal(size=(4, 9)), np.arange(4.0))
    assert wide.unit_error.shape == (10,) and np.isnan(wide.unit_error).all()


def test_variances_of_nearly_collinear_columns_around_zero():
    """Columns of mean 0, so that it is not their offset but their condition that costs digits."""
    rng = np.random.default_rng(4)
    X = rng.integers(-512, 512, size=(20, 3)) / 64
    X = np.vstack([X, -X])
    X[:, 2] = (
        X[:, 0] + X[:, 1] + np.tile(rng.choice([-1, 1], 20), 2) * np.repeat([1, -1], 20) / 2**16
    )
    found = fit(X, rng.normal(size=40))
    rows = [[Fraction(float(v)) for v in row] for row in X]
    with mpmath.workdps(50):
        gram = mpmath.matrix(3, 3)
        for a in range(3):
            for b in range(3):
                total = sum(row[a] * row[b] for row in rows)
                gram[a, b] = mpmath.mpf(total.numerator) / total.denominator
        inverse = gram**-1
        exact = [float(mpmath.sqrt(inverse[j, j])) for j in range(3)]
    np.testing.assert_allclose(found.unit_error[:3], exact, rtol=1e-14)


def test_without_positive_coefficients_the_mean_is_left():
    X = np.random.default_rng(0).random((30, 2))
    y = 5.0 - X @ [1.0, 2.0]
    coef, intercept = nonnegative_least_squares(X, y[:, None], np.ones(30), True)
    assert (coef == 0).all()
    np.testing.assert_allclose(intercept, [y.mean()], rtol=1e-14)
