"""The compiled visits of a CSR table against the formulas, on dense arrays."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from pellucid.linear_model._logistic import _sparse


@pytest.mark.parametrize("q", [1, 2, 3])
@pytest.mark.parametrize("scale", [0.3, 40.0])
def test_visit_and_bend(q, scale):
    rng = np.random.default_rng(q)
    n, p = 300, 40
    X = rng.normal(size=(n, p)) * (rng.random((n, p)) < 0.15)
    X[5] = 0.0  # a row without cells
    y, w = rng.integers(0, q + 1, n).astype(np.int32), np.where(rng.random(n) < 0.5, 1.0, 2.5)
    B, V = scale * rng.normal(size=(p + 1, q)), rng.normal(size=(p + 1, q))
    table = csr_array(X)
    cells = table.data, table.indices.astype(np.int32), table.indptr.astype(np.int64)
    A = np.column_stack([X, np.ones(n)])
    Z = np.column_stack([np.zeros(n), A @ B])
    Z -= Z.max(axis=1, keepdims=True)
    P = np.exp(Z) / np.exp(Z).sum(axis=1, keepdims=True)
    loss = float(w @ (np.log(np.exp(Z).sum(axis=1)) - Z[np.arange(n), y]))
    R = w[:, None] * (P - np.eye(q + 1)[y])[:, 1:]
    found, G = np.empty((n, q)), np.ones((p + 1, q))
    assert _sparse.visit(*cells, y, w, B, found, G) == pytest.approx(loss, rel=1e-12)
    np.testing.assert_allclose(found, P[:, 1:], rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(G - 1, A.T @ R, rtol=1e-9, atol=1e-11)
    S = A @ V
    bent = w[:, None] * found * (S - (found * S).sum(axis=1, keepdims=True))
    H = np.zeros((p + 1, q))
    _sparse.bend(*cells, w, found, V, H)
    np.testing.assert_allclose(H, A.T @ bent, rtol=1e-9, atol=1e-11)
    with pytest.raises(ValueError, match="classes"):
        _sparse.bend(*cells, w, np.empty((n, 4)), np.empty((p + 1, 4)), np.empty((p + 1, 4)))
