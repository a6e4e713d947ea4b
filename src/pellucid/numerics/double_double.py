"""Sums with about 32 digits, over the blocks of a table.

Invariant: a number is the unevaluated sum of two doubles (high, low), |low| <= ulp(high) / 2; the
two builds of the loops give equal bits, so the choice between them is only a matter of speed.
"""

import numpy as np

from pellucid import parallel
from pellucid.numerics import _loops
from pellucid.numerics.row_blocks import Rows
from pellucid.numerics.simd import fastest

loops = fastest(_loops)


class Vector:
    """A mutable array of double-doubles."""

    def __init__(self, size: int):
        self.high = np.zeros(size)
        self.low = np.zeros(size)

    def add(self, x: np.ndarray) -> None:
        loops.add(self.high, self.low, np.ascontiguousarray(x))

    def merge(self, other: "Vector") -> "Vector":
        loops.merge(self.high, self.low, other.high, other.low)
        return self


def residual_gradient(X: Rows, y: np.ndarray, weights: np.ndarray, b: Vector) -> Vector:
    """Sums over rows of w r x (p entries), w r and w r^2, where r = y - x . b[:p] - b[p]."""
    return residual_gradients(X, y[:, None], weights, [b])[0]


def residual_gradients(
    X: Rows, Y: np.ndarray, weights: np.ndarray, starts: list[Vector]
) -> list[Vector]:
    """That of each column of Y (n, k), in one pass over the rows."""

    def partial(rows: slice) -> list[Vector]:
        block, w, sums = X.dense(rows), weights[rows], [Vector(X.p + 2) for _ in starts]
        for y, b, g in zip(Y[rows].T, starts, sums):
            loops.residual_gradient(block, y, w, b.high, b.low, g.high, g.low)
        return sums

    def merge(a: list[Vector], b: list[Vector]) -> list[Vector]:
        return [left.merge(right) for left, right in zip(a, b)]

    return parallel.reduce(partial, merge, X.blocks)


def residuals(X: Rows, y: np.ndarray, b: Vector) -> np.ndarray:
    """y - x . b[:p] - b[p] of each row, rounded in the end alone."""
    out = np.empty(X.n_here)
    parallel.map(
        lambda rows: loops.residuals(X.dense(rows), y[rows], b.high, b.low, out[rows]), X.blocks
    )
    return out


def inverse_gram_diagonal(X: Rows, weights: np.ndarray, constant: bool) -> np.ndarray | None:
    """diag((A' W A)^-1) for A = X, or [X, 1]; None if A does not have full rank to 30 digits.

    Costs n p^2 double-double steps: for small tables, where ill conditioning would cost the digits.
    """
    p = X.p + constant

    def partial(rows: slice) -> tuple[np.ndarray, np.ndarray]:
        block, total = X.dense(rows), (np.zeros((p, p)), np.zeros((p, p)))
        if constant:
            block = np.column_stack([block, np.ones(len(block))])
        loops.gram(block, weights[rows], *total)
        return total

    def combine(a: tuple[np.ndarray, ...], b: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
        loops.merge(*(part.ravel() for part in (*a, *b)))
        return a

    high, low = parallel.reduce(partial, combine, X.blocks)
    if not loops.cholesky(high, low):
        return None
    diagonal = np.empty(p)
    loops.inverse_diagonal(high, low, diagonal)
    return diagonal
