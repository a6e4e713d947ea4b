"""Loops that are built twice: each build against plain NumPy, and bit for bit against the first."""

import numpy as np
import pytest

from pellucid.linear_model._glm import _poisson
from pellucid.linear_model._lasso import _coordinate
from pellucid.linear_model._logistic import _classes
from pellucid.numerics.simd import builds


@pytest.mark.parametrize("loops", builds(_poisson), ids=lambda module: module.__name__)
@pytest.mark.parametrize("shifted", [False, True])
@pytest.mark.parametrize(("n", "p"), [(1, 1), (5, 3), (131, 7), (300, 10)])
def test_a_visit_of_counts(loops, shifted, n, p):
    rng = np.random.default_rng(n + p)
    X, b, w = rng.normal(size=(n, p)), rng.normal(size=p + 1) / 2, rng.random(n) + 0.5
    y, offset = rng.poisson(2.0, n).astype(float), rng.normal(size=n)[: n * shifted]

    def visited(module):
        eta, g = np.empty(n), np.empty(p + 1)
        return module.visit(X, y, logs, w, offset, b, eta, g), eta, g

    logs = np.log(np.maximum(y, 1e-300))
    loss, eta, g = visited(loops)
    score = X @ b[:-1] + b[-1] + (offset if shifted else 0.0)
    mu = np.exp(score)
    np.testing.assert_allclose(eta, score, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(g[:-1], X.T @ (w * (mu - y)), rtol=1e-11, atol=1e-10)
    np.testing.assert_allclose(g[-1], w @ (mu - y), rtol=1e-11, atol=1e-10)
    assert loss == pytest.approx(w @ (y * (logs - score) - y + mu), rel=1e-11)
    for one, other in zip(visited(_poisson), (loss, eta, g), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("loops", builds(_poisson), ids=lambda module: module.__name__)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("intercept", [False, True])
def test_rows_scaled_for_curvature(loops, dtype, intercept):
    rng = np.random.default_rng(0)
    X, root = rng.normal(size=(37, 5)), rng.random(37)
    A = np.full((37, 8), 7.0, dtype=dtype)
    loops.weigh(X, root, intercept, A)
    expected = np.column_stack([X, np.full(37, float(intercept))]) * root[:, None]
    np.testing.assert_array_equal(A[:, :6], expected.astype(dtype))
    assert (A[:, 6:] == 7.0).all()


def chances_by_hand(Z):
    """Probabilities of classes 0..q and their logarithms, class 0 of score 0."""
    Z = np.column_stack([np.zeros(len(Z)), Z])
    Z -= Z.max(axis=1, keepdims=True)
    logs = Z - np.log(np.exp(Z).sum(axis=1, keepdims=True))
    return np.exp(logs), logs


@pytest.mark.parametrize("loops", builds(_classes), ids=lambda module: module.__name__)
@pytest.mark.parametrize(
    # With very many classes, the product of the losses of some rows would overflow.
    ("n", "p", "q"),
    [(1, 1, 1), (5, 3, 2), (64, 4, 4), (131, 7, 5), (300, 10, 3), (130, 1, 1700)],
)
@pytest.mark.parametrize("size", [0.0, 1.0, 40.0])
def test_a_visit_of_classes(loops, n, p, q, size):
    rng = np.random.default_rng(n + p + q)
    X, B = rng.normal(size=(n, p)), rng.normal(size=(q, p + 1)) * size
    y = rng.integers(0, q + 1, n).astype(np.int32)
    w = np.where(rng.random(n) < (0.5 if q < 100 else 1.0), 1.0, rng.random(n) + 0.5)

    def visited(module):
        P, G = np.empty((n, q)), np.empty((q, p + 1))
        return module.visit(X, y, w, B, P, G), P, G

    loss, P, G = visited(loops)
    chance, logs = chances_by_hand(X @ B[:, :-1].T + B[:, -1])
    slopes = w[:, None] * (chance - (y[:, None] == np.arange(q + 1)))[:, 1:]
    np.testing.assert_allclose(P, chance[:, 1:], rtol=1e-11, atol=1e-300)
    np.testing.assert_allclose(G[:, :-1], slopes.T @ X, rtol=1e-10, atol=1e-11)
    np.testing.assert_allclose(G[:, -1], slopes.sum(axis=0), rtol=1e-10, atol=1e-11)
    assert loss == pytest.approx(-w @ logs[np.arange(n), y], rel=1e-12)
    for one, other in zip(visited(_classes), (loss, P, G), strict=True):
        np.testing.assert_array_equal(one, other)
    X = np.repeat(X, 2, axis=0)[::2]  # rows that lie apart
    for one, other in zip(visited(loops), (loss, P, G), strict=True):
        np.testing.assert_array_equal(one, other)
    with pytest.raises(ValueError, match="contiguous"):
        loops.visit(np.ones((4, 8))[:, ::2], y, w, B, P, G)


@pytest.mark.parametrize("loops", builds(_classes), ids=lambda module: module.__name__)
def test_rows_beyond_doubt_and_beyond_numbers(loops):
    """Tiny losses keep their digits, tiny chances become 0; what is not a number stays so."""
    y, w = np.array([1, 0, 1, 0], dtype=np.int32), np.ones(4)
    P, G = np.empty((4, 1)), np.empty((1, 2))
    X = np.array([[50.0], [-50.0], [-800.0], [800.0]])
    loss = loops.visit(X, y, w, np.array([[1.0, 0.0]]), P, G)
    np.testing.assert_allclose(P[:, 0], [1.0, np.exp(-50.0), 0.0, 1.0], rtol=3e-16)
    assert loss == 1600.0
    np.testing.assert_allclose(G[0, 0], 1600.0, rtol=1e-15)
    assert loops.visit(X[:2], y[:2], w[:2], np.array([[1.0, 0.0]]), P[:2], G) == pytest.approx(
        2 * np.exp(-50.0), rel=1e-15
    )
    for slope in (np.nan, np.inf):
        assert np.isnan(loops.visit(X, y, w, np.array([[slope, 0.0]]), P, G))


@pytest.mark.parametrize("loops", builds(_classes), ids=lambda module: module.__name__)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_curvature_of_a_pair_of_classes(loops, dtype):
    rng = np.random.default_rng(8)
    X, w, P = rng.normal(size=(9, 5)), rng.random(9), rng.dirichlet(np.ones(3), 9)[:, :2].copy()
    for k, l, c in [(0, 0, P[:, 0] * (1 - P[:, 0])), (1, 0, P[:, 1] * P[:, 0])]:
        for intercept in (True, False):
            out, plain = np.full((2, 9, 8), 7.0, dtype=dtype)
            loops.weigh(X, w, P, k, l, intercept, out)
            _classes.weigh(X, w, P, k, l, intercept, plain)
            wanted = np.column_stack([X, np.full(9, float(intercept))]) * np.sqrt(w * c)[:, None]
            np.testing.assert_allclose(out[:, :6], wanted, rtol=4 * np.finfo(dtype).eps)
            assert (out[:, 6:] == 7.0).all()
            np.testing.assert_array_equal(out, plain)


@pytest.mark.parametrize("loops", builds(_coordinate), ids=lambda module: module.__name__)
@pytest.mark.parametrize("positive", [False, True])
def test_descent_along_coordinates(loops, positive):
    rng = np.random.default_rng(3)
    A = rng.normal(size=(40, 11))
    Q, q = A.T @ A, A.T @ rng.normal(size=40) * 5
    l1, l2 = np.full(11, 3.0), np.full(11, 0.5)

    def found(module):
        b, Qb = np.zeros(11), np.zeros(11)
        return module.descend(Q, q, b, Qb, l1, l2, positive, 1e-13, 2000), b, Qb

    epochs, b, Qb = found(loops)
    slope = q - Q @ b - l2 * b  # within l1 of 0 where b is 0, l1 with the sign of b elsewhere
    assert 1 < epochs < 2000
    np.testing.assert_allclose(slope[b != 0], l1[b != 0] * np.sign(b[b != 0]), atol=1e-9)
    assert ((slope if positive else np.abs(slope))[b == 0] <= 3 + 1e-9).all()
    assert (b >= 0).all() or not positive
    np.testing.assert_allclose(Qb, Q @ b, rtol=1e-10, atol=1e-10)
    for one, other in zip(found(_coordinate), (epochs, b, Qb), strict=True):
        np.testing.assert_array_equal(one, other)
