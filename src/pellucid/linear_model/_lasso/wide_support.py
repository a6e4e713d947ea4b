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

EPOCHS = 10  # of a set that more columns will join
PER_EPOCH = 13  # columns or rows, whatever is less, whose equations take as long as an epoch
# Change of the fit, as a share of the target, that ends the first descent of a settled set, and later
# ones, when hardly a column enters or leaves.
ROUGH, FINEST = 1e-5, 1e-16
ROUNDS = 3  # solutions of the support, after columns have left it


class RowGram:
    """I + S' D^-1 S for the support S: when few columns enter or leave, only these are multiplied."""

    def __init__(self, p: int) -> None:
        self.settled = False  # whether a set was
        self.inside, self.G = np.zeros(p, dtype=bool), np.zeros((0, 0))

    def of(self, products: Any, support: np.ndarray, S: np.ndarray, l2: np.ndarray) -> np.ndarray:
        """For the columns S of the support; `l2` are the penalties of all columns."""
        now = np.zeros(len(self.inside), dtype=bool)
        now[support] = True
        entered, left = np.flatnonzero(now & ~self.inside), np.flatnonzero(self.inside & ~now)
        if 4 * (len(entered) + len(left)) > len(support):
            self.G = _row_products(S, l2[support])
            self.G.flat[:: len(self.G) + 1] += 1.0
        else:
            for some, sign in ((entered, 1.0), (left, -1.0)):
                if len(some):
                    self.G += sign * _row_products(products.kept_columns(some), l2[some])
        self.inside = now
        return self.G


def _row_products(S: np.ndarray, l2: np.ndarray) -> np.ndarray:
    """S' D^-1 S."""
    if l2.min() == l2.max():
        return S.T @ S / l2[0]
    T = S / np.sqrt(l2)[:, None]
    return T.T @ T


def improve(
    products: Any, k: int, active: np.ndarray, b: np.ndarray, l1: np.ndarray, l2: np.ndarray,
    positive: bool, tol: float, room: int, gram: RowGram,
) -> int:  # fmt: skip
    """Improve the coefficients b of the active columns; the number of epochs. All arrays are of all
    columns.

    1. Coordinate descent on the columns. 2. If that takes long: given the signs, the rest is linear.
       Solve it, unless the set is not settled, because more columns will follow.
    """
    settled = bool(2 * np.count_nonzero(b) > len(active))
    A, ids = products.all_kept(active)  # those that are no longer active cost little
    x, y = b[ids], np.ascontiguousarray(products.y[:, k])
    squares, r = np.einsum("ij,ij->i", A, A), y - x @ A
    most, size = EPOCHS, float(np.sqrt(products.yy[k]))
    if settled:
        few, many = sorted(A.shape)
        most = max(EPOCHS, few * (few + many) // (PER_EPOCH * many))
        tol = (ROUGH, FINEST)[gram.settled] * size
        gram.settled = True
    most = min(room, most)
    made = descend_columns(A, squares, r, x, l1[ids], l2[ids], positive, tol, most)  # 1
    b[ids] = x
    for _ in range(ROUNDS if settled and made == most else 0):  # 2
        support = np.flatnonzero(b)
        if not len(support) or not _to_the_minimum(products, k, support, b, l1, l2, gram):
            break
    return made


def _to_the_minimum(
    products: Any, k: int, support: np.ndarray, b: np.ndarray, l1: np.ndarray, l2: np.ndarray,
    gram: RowGram,
) -> bool:  # fmt: skip
    """Solve for the support of b; whether a coefficient changed its sign, which is 0 now."""
    S, y, old = products.kept_columns(support), products.y[:, k], b[support]
    G = gram.of(products, support, S, l2) if len(S) > len(y) else None
    new = solve_signed(S, y, np.sign(old) * l1[support], l2[support], G)
    if new is None:
        return False
    crossed = np.sign(new) != np.sign(old)
    new[crossed] = 0.0
    given = (S, y, l1[support], l2[support])
    if crossed.any() and not _objective(new, *given) < _objective(old, *given):
        return False
    b[support] = new
    return bool(crossed.any())


def solve_signed(
    S: np.ndarray, y: np.ndarray, pull: np.ndarray, l2: np.ndarray, G: np.ndarray | None
) -> np.ndarray | None:
    """x with (S S' + l2) x = S y - pull, refined once; None if that cannot be factored.

    With more columns than rows, `G` is that of `RowGram`.
    """
    right = S @ y - pull
    factor = cholesky_factor(S @ S.T + np.diag(l2) if G is None else G)
    if factor is None:
        return None

    def solve(g: np.ndarray) -> np.ndarray:
        if G is None:
            return factor.solve(g)
        h = g / l2
        return h - (S @ factor.solve(h @ S)) / l2

    x = solve(right)
    return x + solve(right - S @ (x @ S) - l2 * x)


def _objective(
    b: np.ndarray, A: np.ndarray, y: np.ndarray, l1: np.ndarray, l2: np.ndarray
) -> float:
    r = y - b @ A
    return 0.5 * float(r @ r) + float(l1 @ np.abs(b)) + 0.5 * float(l2 @ b**2)
