"""The elastic net on more columns than rows: descent by residuals, and the support by way of the rows.

    S S' + D is (k, k), but (S S' + D)^-1 = D^-1 - D^-1 S (I + S' D^-1 S)^-1 S' D^-1

for k columns S (k, n) and ridge penalties D > 0: what must be factored is (n, n).
"""

from typing import Any

import numpy as np

from pellucid.linear_model._lasso import _coordinate
from pellucid.numerics.linalg import cholesky_factor
from pellucid.numerics.simd import fastest

descend_columns = fastest(_coordinate).descend_columns

EPOCHS = 10  # between two solutions of the support
ROUNDS = 3  # solutions of the support, after columns have left it


def improve(
    products: Any, k: int, active: np.ndarray, b: np.ndarray, l1: np.ndarray, l2: np.ndarray,
    positive: bool, tol: float, room: int, settled: bool,
) -> tuple[np.ndarray, int]:  # fmt: skip
    """Better coefficients of the active columns, and the number of epochs.

    1. Coordinate descent on the columns. 2. Given the signs, the rest is linear: solve it, unless the
       set is not `settled`, because more columns will follow.
    """
    A, y = products.kept_columns(active), np.ascontiguousarray(products.y[:, k])
    squares, r = np.einsum("ij,ij->i", A, A), y - b @ A
    made = descend_columns(A, squares, r, b, l1, l2, positive, tol, room)  # 1
    for _ in range(ROUNDS if settled else 0):  # 2
        support = np.flatnonzero(b)
        if not len(support):
            break
        own, old = A[support], b[support]
        new = solve_signed(own, y, np.sign(old) * l1[support], l2[support])
        if new is None:
            break
        crossed = np.sign(new) != np.sign(old)
        new[crossed] = 0.0
        given = (own, y, l1[support], l2[support])
        if crossed.any() and not _objective(new, *given) < _objective(old, *given):
            break
        b[support] = new
        if not crossed.any():
            break
    return b, made


def solve_signed(
    S: np.ndarray, y: np.ndarray, pull: np.ndarray, l2: np.ndarray
) -> np.ndarray | None:
    """x with (S S' + l2) x = S y - pull, refined once; None if that cannot be factored."""
    k, n = S.shape
    right = S @ y - pull
    if k <= n:
        factor = cholesky_factor(S @ S.T + np.diag(l2))
        if factor is None:
            return None
        solve = factor.solve
    else:
        T = S / np.sqrt(l2)[:, None]
        factor = cholesky_factor(np.eye(n) + T.T @ T)
        if factor is None:
            return None

        def solve(g: np.ndarray) -> np.ndarray:
            h = g / l2
            return h - (S @ factor.solve(h @ S)) / l2

    x = solve(right)
    return x + solve(right - S @ (x @ S) - l2 * x)


def _objective(
    b: np.ndarray, A: np.ndarray, y: np.ndarray, l1: np.ndarray, l2: np.ndarray
) -> float:
    r = y - b @ A
    return 0.5 * float(r @ r) + float(l1 @ np.abs(b)) + 0.5 * float(l2 @ b**2)
