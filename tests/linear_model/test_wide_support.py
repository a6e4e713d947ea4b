"""The elastic net on more columns than rows: the compiled descent and the equations of the support."""

import numpy as np

from pellucid.linear_model import ElasticNet
from pellucid.linear_model._lasso import _coordinate, wide_support
from pellucid.numerics.simd import builds


def test_descent_by_columns_is_the_descent_by_products():
    rng = np.random.default_rng(0)
    A, y = rng.normal(size=(30, 12)), rng.normal(size=12)
    l1, l2 = rng.uniform(0.1, 1, 30), rng.uniform(0.1, 1, 30)
    Q, q = A @ A.T, A @ y
    for positive in (False, True):
        b, Qb = np.zeros(30), np.zeros(30)
        _coordinate.descend(Q, q, b, Qb, l1, l2, positive, 0.0, 4)
        for build in builds(_coordinate):
            c, r = np.zeros(30), y.copy()
            squares = np.einsum("ij,ij->i", A, A)
            assert build.descend_columns(A, squares, r, c, l1, l2, positive, 0.0, 4) == 4
            np.testing.assert_allclose(c, b, atol=1e-12)
            np.testing.assert_allclose(r, y - c @ A, atol=1e-12)


def test_support_by_rows_and_by_columns():
    rng = np.random.default_rng(1)
    for k in (5, 40):
        S, y, pull = rng.normal(size=(k, 20)), rng.normal(size=20), rng.normal(size=k)
        l2 = rng.uniform(0.5, 2, k)
        G = np.eye(20) + (S.T / l2) @ S if k > 20 else None
        x = wide_support.solve_signed(S, y, pull, l2, G)
        np.testing.assert_allclose((S @ S.T + np.diag(l2)) @ x, S @ y - pull, atol=1e-11)


def test_the_optimality_conditions_hold_for_many_more_columns_than_rows():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 2500))
    y = X[:, :8] @ rng.normal(size=8) * 5 + rng.normal(size=60)
    model = ElasticNet(alpha=0.5, l1_ratio=0.3).fit(X, y)
    b = model.coef_
    assert np.count_nonzero(b) > 60  # the equations of the support are those of the rows
    centred = X - X.mean(axis=0)
    g = centred.T @ (y - model.predict(X)) / 60 - 0.35 * b
    used = b != 0
    np.testing.assert_allclose(g[used], 0.15 * np.sign(b[used]), atol=1e-9)
    assert (np.abs(g[~used]) <= 0.15 + 1e-9).all()
