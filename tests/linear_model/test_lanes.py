"""Loops that are built twice: each build against plain NumPy, and bit for bit against the first."""

import numpy as np
import pytest

from pellucid.linear_model import _coordinate, _poisson
from pellucid.numerics.lanes import builds


@pytest.mark.parametrize("loops", builds(_poisson), ids=lambda module: module.__name__)
@pytest.mark.parametrize("shifted", [False, True])
@pytest.mark.parametrize(("n", "p"), [(1, 1), (5, 3), (131, 7), (300, 10)])
def test_a_visit_of_counts(loops, shifted, n, p):
    rng = np.random.default_rng(n + p)
    X, b, w = rng.normal(size=(n, p)), rng.normal(size=p + 1) / 2, rng.random(n) + 0.5
    y, offset = rng.poisson(2.0, n).astype(float), rng.normal(size=n)[: n * shifted]

    def visited(module):
        eta, g = np.empty(n), np.empty(p + 1)
        return module.visit(X, y, w, offset, b, eta, g), eta, g

    loss, eta, g = visited(loops)
    score = X @ b[:-1] + b[-1] + (offset if shifted else 0.0)
    mu, logs = np.exp(score), np.log(np.where(y > 0, y, 1.0))
    np.testing.assert_allclose(eta, score, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(g[:-1], X.T @ (w * (mu - y)), rtol=1e-11, atol=1e-10)
    np.testing.assert_allclose(g[-1], w @ (mu - y), rtol=1e-11, atol=1e-10)
    assert loss == pytest.approx(w @ (y * (logs - score) - y + mu), rel=1e-11)
    for one, other in zip(visited(_poisson), (loss, eta, g), strict=True):
        np.testing.assert_array_equal(one, other)


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
