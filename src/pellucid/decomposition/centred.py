"""A table minus its weighted mean, block by block: Gram matrix, triangle, products.

Invariant: a shift near the mean is subtracted before anything is squared, what it misses of the
mean is taken off exactly afterwards, and blocks depend on the shape alone.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.numerics.linalg import block_qr
from pellucid.numerics.row_blocks import Rows

# Rows, evenly spread over the table, whose mean is the shift.
SAMPLE = 2048
# Numbers outside this range may have lost squares to overflow or underflow.
RANGE = (2.0**-400, 2.0**400)


class OutOfRange(Exception):
    """The numbers are too large or too small to be squared: scale the table and start again."""


@dataclass(frozen=True)
class Facts:
    """Means of the columns, right to the last digits, and the ranges of their numbers."""

    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @property
    def near_zero(self) -> bool:
        """Whether the means are likely to lie within a standard deviation of 0."""
        return bool((6.0 * np.abs(self.mean) <= self.high - self.low).all())


class Centred(Rows):
    """Rows sqrt(w_i) (x_i - mean), dense or CSR, never stored as a whole.

    `mean` is right after `gram`, `triangle` or `learn_mean`; facts that are `known` save work. With
    `checked`, methods raise `OutOfRange` when squares may have been lost.
    """

    def __init__(
        self,
        X: Any,
        weights: np.ndarray,
        known: Facts | None = None,
        checked: bool = False,
    ) -> None:
        super().__init__(X)
        self.known, self.checked = known, checked
        self.roots = None if (weights == 1.0).all() else np.sqrt(weights)
        self.total = float(weights.sum())
        if known is None:
            self.shift = self.dense(slice(0, self.n, max(self.n // SAMPLE, 1))).mean(axis=0)
        else:
            self.shift = known.mean
        # Means within the spread cost no digit that matters: then blocks need no copy.
        self.plain = known is not None and self.roots is None and known.near_zero
        if self.plain:
            self.shift = np.zeros(self.p)
        self.mean = self.shift
        self.slip = np.zeros(self.p)  # mean - shift, kept apart: it may be below the last bit

    def block(self, rows: slice) -> np.ndarray:
        """sqrt(w) (x - shift) for some rows; not to be changed, it may be the table itself."""
        if self.plain:
            return self.dense(rows)
        block = self.dense(rows) - self.shift
        if self.roots is not None:
            block *= self.roots[rows, None]
        return block

    def root(self, rows: slice) -> np.ndarray:
        """sqrt(w) for some rows."""
        return np.ones(rows.stop - rows.start) if self.roots is None else self.roots[rows]

    def whole(self) -> np.ndarray:
        """All rows, centred: a dense copy of the table."""
        self.learn_mean()
        rows = slice(0, self.n)
        out = self.block(rows) - np.outer(self.root(rows), self.slip)
        self._check_range(out)
        return out

    def _check_range(self, values: np.ndarray, power: int = 1) -> None:
        """Refuse values (powers of the cells) that overflowed, or are so small that squares vanish."""
        low, high = RANGE
        largest = max(values.max(initial=0.0), -values.min(initial=0.0))
        if self.checked and not low**power < largest < high**power:
            raise OutOfRange

    def _set_slip(self, sums: np.ndarray) -> None:
        self.slip = sums / self.total
        self.mean = self.shift + self.slip

    def learn_mean(self) -> None:
        """Find the mean alone."""
        self._set_slip(parallel.reduce(lambda r: self.root(r) @ self.block(r), np.add, self.blocks))

    def gram(self) -> np.ndarray:
        """Sums of squares and products of the centred columns, (p, p)."""
        gram, sums = parallel.reduce(self._gram_part, _add_parts, self.blocks)
        if self.plain and self.known is not None:
            sums = self.known.mean * self.total
        self._set_slip(sums)
        if (self.total * self.slip**2 > 0.5 * np.diagonal(gram)).any():
            # The sample was not like the table: once more, from nearer.
            self.shift, self.plain = self.mean, False
            gram, sums = parallel.reduce(self._gram_part, _add_parts, self.blocks)
            self._set_slip(sums)
        self._check_range(gram, 2)
        return gram - self.total * np.outer(self.slip, self.slip)

    def _gram_part(self, rows: slice) -> tuple[np.ndarray, np.ndarray]:
        block = self.block(rows)
        if self.plain and self.known is not None:
            return block.T @ block, np.zeros(0)
        return block.T @ block, self.root(rows) @ block

    def triangle(self) -> np.ndarray:
        """R (at most p rows) with R'R = `gram()`, without squaring: QR by blocks.

        A first column sqrt(w) takes the rest of the mean out of the others.
        """
        step = max(parallel.block_rows(self.p), 4 * (self.p + 1))
        blocks = [slice(i, min(i + step, self.n)) for i in range(0, self.n, step)]
        R = block_qr(lambda r: np.column_stack([self.root(r), self.block(r)]), blocks)
        self._check_range(R[:, 1:])
        self._set_slip(R[0, 1:] / R[0, 0] * self.total)
        return R[1:, 1:]

    def times_gram(self, V: np.ndarray) -> np.ndarray:
        """gram() @ V for V (p,) or (p, m), from the rows themselves; the mean must be known."""

        def sparse_part(rows: slice) -> np.ndarray:
            X, w = self.X[rows], self.root(rows) ** 2
            Y = ((X @ V - self.mean @ V).T * w).T
            return X.T @ Y - np.multiply.outer(self.mean, Y.sum(axis=0))

        def dense_part(rows: slice) -> np.ndarray:
            block = self.block(rows) - np.outer(self.root(rows), self.slip)
            return block.T @ (block @ V)

        return parallel.reduce(sparse_part if self.sparse else dense_part, np.add, self.blocks)

    def squares(self) -> float:
        """Sum of squares of the centred cells; the mean must be known."""

        def sparse_part(rows: slice) -> float:
            X = self.X[rows]
            return float(np.asarray(X.multiply(X).sum(axis=1)).ravel() @ self.root(rows) ** 2)

        def dense_part(rows: slice) -> float:
            return float(np.square(self.block(rows)).sum())

        part, about = (sparse_part, self.mean) if self.sparse else (dense_part, self.slip)
        total = parallel.reduce(part, lambda a, b: a + b, self.blocks)
        self._check_range(np.array([total]), 2)
        return max(total - self.total * float(about @ about), 0.0)


def _add_parts(a: tuple[np.ndarray, ...], b: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    for total, part in zip(a, b):
        total += part
    return a
