"""The double-double loops against their twin in fractions, and the two builds against each other."""

from fractions import Fraction

import numpy as np
import pytest

from pellucid.numerics import _loops, double_double
from pellucid.numerics.row_blocks import Rows
from pellucid.numerics.simd import builds

BUILDS = builds(_loops)


def fractions(x):
    return [Fraction(float(value)) for value in x]


def exact_gradient(X, y, w, b):
    p = X.shape[1]
    total = [Fraction(0)] * (p + 2)
    for x, target, weight in zip(X, fractions(y), fractions(w)):
        x = fractions(x)
        r = target - b[p] - sum(x[j] * b[j] for j in range(p))
        for j in range(p):
            total[j] += weight * r * x[j]
        total[p] += weight * r
        total[p + 1] += weight * r * r
    return total


@pytest.mark.parametrize("loops", BUILDS)
@pytest.mark.parametrize("p", [1, 7, 8, 13, 24])
def test_residual_gradient_has_thirty_digits(loops, p):
    rng = np.random.default_rng(p)
    X, y = rng.normal(size=(40, p)) + 1e6, rng.normal(size=(40, 3))[:, 1]
    w = np.arange(40) % 5 / 4  # four rows go together, unless one of them has no weight
    high = rng.normal(size=p + 2)
    low = high * rng.uniform(-1, 1, p + 2) * 2.0**-53
    gh, gl = np.zeros(p + 2), np.zeros(p + 2)
    loops.residual_gradient(X, y, w, high, low, gh, gl)
    b = [h + l for h, l in zip(fractions(high), fractions(low))]
    exact = exact_gradient(X, y, w, b)
    size = 1e6 * float(np.abs(high[:p]).sum() + 1) * w.sum()
    for j, scale in enumerate([1e6] * p + [1.0, 1e6]):
        error = abs(Fraction(float(gh[j])) + Fraction(float(gl[j])) - exact[j])
        assert float(error) <= 1e-29 * size * scale


@pytest.mark.parametrize("p", [1, 7, 8, 13, 24])
def test_four_rows_together_have_the_bits_of_single_rows(p):
    rng = np.random.default_rng(p)
    X, y, w = rng.normal(size=(4, p)), rng.normal(size=4), rng.uniform(0.5, 2, 4)
    high, low = rng.normal(size=p + 2), rng.normal(size=p + 2) * 1e-18
    apart = np.insert(X, range(4), X, axis=0), np.repeat(y, 2), np.ravel([np.zeros(4), w], "F")
    found = []
    for loops in BUILDS:
        for rows in ((X, y, w), apart):
            gh, gl = np.zeros(p + 2), np.zeros(p + 2)
            loops.residual_gradient(*rows, high, low, gh, gl)
            found.append(gh.tobytes() + gl.tobytes())
    assert len(set(found)) == 1


@pytest.mark.parametrize("loops", BUILDS)
@pytest.mark.parametrize("p", [1, 7, 8, 13, 24])
def test_residuals_are_rounded_once(loops, p):
    rng = np.random.default_rng(p)
    X, high = rng.normal(size=(20, p)) + 1e6, rng.normal(size=p + 2)
    low = high * rng.uniform(-1, 1, p + 2) * 2.0**-53
    b = [h + l for h, l in zip(fractions(high), fractions(low))]
    near = [sum(x * c for x, c in zip(fractions(row), b)) + b[p] for row in X]
    y = np.array([float(v) for v in near])  # so that the leading digits cancel
    out = np.empty(20)
    loops.residuals(X, y, high, low, out)
    exact = np.array([float(Fraction(float(t)) - v) for t, v in zip(y, near)])
    np.testing.assert_allclose(out, exact, rtol=1e-12, atol=1e-30)


@pytest.mark.parametrize("loops", BUILDS)
@pytest.mark.parametrize(("n", "p"), [(1, 1), (3, 5), (4, 8), (11, 7), (64, 19)])
def test_row_sums_add_to_what_is_there(loops, n, p):
    rng = np.random.default_rng(n)
    X, E, start = rng.normal(size=(n, p)), rng.normal(size=(3, n)), rng.normal(size=(3, p))
    out = start.copy()
    loops.row_sums(X, E, out)
    np.testing.assert_allclose(out, start + E @ X, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("loops", BUILDS)
def test_the_largest_cell(loops):
    X = np.random.default_rng(0).normal(size=(13, 7))
    assert loops.largest(X) == np.abs(X).max() and loops.largest(X[:0]) == 0.0
    X[4, 3] = -1e300
    assert loops.largest(X) == 1e300
    assert loops.largest(np.array([[-0.0, 5e-324, -5e-324]])) == 5e-324


@pytest.mark.parametrize("loops", BUILDS)
@pytest.mark.parametrize("p", [0, 1, 7, 8, 19])
def test_row_squares(loops, p):
    rng = np.random.default_rng(p)
    Z, centre, W = rng.normal(size=(9, p + 3)), rng.normal(size=p), rng.normal(size=(4, p))
    out = np.empty((9, 4))
    loops.row_squares(Z[:, :p], centre, W, out)
    np.testing.assert_allclose(out, (Z[:, :p] - centre) ** 2 @ W.T, rtol=1e-13, atol=1e-13)


def test_both_builds_give_equal_bits():
    if len(BUILDS) == 1:
        pytest.skip("this processor has no AVX2")
    rng = np.random.default_rng(0)
    X, y, w = rng.normal(size=(300, 19)), rng.normal(size=300), rng.uniform(size=300)
    b, c = rng.normal(size=21), rng.normal(size=21) * 1e-17
    results = []
    for loops in BUILDS:
        gh, gl = np.zeros(21), np.zeros(21)
        loops.residual_gradient(X, y, w, b, c, gh, gl)
        Gh, Gl = np.zeros((19, 19)), np.zeros((19, 19))
        loops.gram(X, w, Gh, Gl)
        out = np.empty(19)
        assert loops.cholesky(Gh, Gl)
        loops.inverse_diagonal(Gh, Gl, out)
        sums, apart = np.zeros((2, 19)), np.empty(300)
        loops.row_sums(X, np.stack([y, w]), sums)
        loops.residuals(X, y, b, c, apart)
        squares = np.empty((300, 2))
        loops.row_squares(X, b[:19], np.stack([b[:19], c[:19]]), squares)
        results.append(b"".join(a.tobytes() for a in (gh, gl, Gh, Gl, out, sums, apart, squares)))
    assert results[0] == results[1]


@pytest.mark.parametrize("loops", BUILDS)
def test_cholesky_and_inverse_of_the_hilbert_matrix(loops):
    p = 8  # condition 1.5e10; the inverse consists of integers
    exact = [[Fraction(1, i + j + 1) for j in range(p)] for i in range(p)]
    high = np.array([[float(v) for v in row] for row in exact])
    low = np.array([[float(v - Fraction(float(v))) for v in row] for row in exact])
    out = np.empty(p)
    assert loops.cholesky(high, low)
    loops.inverse_diagonal(high, low, out)
    np.testing.assert_allclose(out, np.diag(_inverse(exact)), rtol=1e-15)
    assert not loops.cholesky(np.array([[1.0, 0], [2.0, 1.0]]), np.zeros((2, 2)))


def _inverse(A):
    p = len(A)
    M = [[*row, *(Fraction(int(i == j)) for j in range(p))] for i, row in enumerate(A)]
    for j in range(p):
        M[j] = [v / M[j][j] for v in M[j]]
        for i in range(p):
            if i != j:
                M[i] = [a - M[i][j] * b for a, b in zip(M[i], M[j])]
    return np.array([[float(v) for v in row[p:]] for row in M])


def test_inverse_gram_diagonal_of_a_singular_table_is_none():
    X = np.column_stack([np.arange(6.0), np.arange(6.0)])
    assert double_double.inverse_gram_diagonal(Rows(X), np.ones(6), False) is None
    X = np.arange(6.0)[:, None]
    found = double_double.inverse_gram_diagonal(Rows(X), np.ones(6), True)
    np.testing.assert_allclose(found, [1 / 17.5, 1 / 6 + 2.5**2 / 17.5], rtol=1e-15)
