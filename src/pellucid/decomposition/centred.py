"""A table minus its weighted mean, block by block: Gram matrix, triangle, products.

Invariant: a shift near the mean is subtracted before anything is squared, the difference between
shift and mean is corrected exactly afterwards, and blocks depend on the shape alone.
"""

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Schema
from pellucid.numerics.linalg import block_qr
from pellucid.numerics.row_blocks import Rows

# Number of rows, evenly spread over the table, whose mean is the shift.
SAMPLE = 2048
# The squares of values outside this range may overflow or underflow.
RANGE = (2.0**-400, 2.0**400)


class OutOfRange(Exception):
    """Squares may have overflowed or underflowed: scale the table and start again."""


class Centred(Rows):
    """Rows sqrt(w_i) (x_i - mean), dense or CSR, never stored as a whole.

    `mean` is exact after `gram`, `triangle` or `compute_mean`; a schema with the `known` means and
    ranges of the columns saves work.
    With `checked`, methods raise `OutOfRange` when squares may have overflowed or underflowed.
    """

    def __init__(
        self, X: Any, weights: np.ndarray, known: Schema | None = None, checked: bool = False
    ) -> None:
        super().__init__(X)
        self.known, self.checked = known, checked
        self.roots = None if parallel.all_rows((weights == 1.0).all()) else np.sqrt(weights)
        self.total = float(parallel.sum_rows(weights))
        if known is None:
            step = max(self.n_here // SAMPLE, 1)
            self.shift = parallel.of_first_rows(
                lambda: self.dense(slice(0, None, step)).mean(axis=0)
            )
        else:
            self.shift = known.mean
        # Means that probably lie within a standard deviation of 0 cost no digits: no copy is needed.
        self.plain = False
        if known is not None and self.roots is None:
            self.plain = bool((6.0 * np.abs(known.mean) <= known.high - known.low).all())
        if self.plain:
            self.shift = np.zeros(self.p)
        self.mean = self.shift
        # mean - shift, which may be below the last bit of the mean.
        self.correction = np.zeros(self.p)

    def block(self, rows: slice) -> np.ndarray:
        """sqrt(w) (x - shift) for some rows. Read only: it may be a view of the table."""
        if self.plain:
            return self.dense(rows)
        block = self.dense(rows) - self.shift
        if self.roots is not None:
            block *= self.roots[rows, None]
        return block

    def root(self, rows: slice) -> np.ndarray:
        """sqrt(w) for some rows."""
        return np.ones(rows.stop - rows.start) if self.roots is None else self.roots[rows]

    def centred_copy(self) -> np.ndarray:
        """All rows, centred, as a dense array."""
        self.compute_mean()
        rows = slice(0, self.n_here)
        out = self.block(rows) - np.outer(self.root(rows), self.correction)
        self._check_range(out)
        return out

    def _check_range(self, values: np.ndarray, power: int = 1) -> None:
        """Raise `OutOfRange` if values (powers of the cells) overflowed, or their squares may vanish."""
        low, high = RANGE
        largest = max(values.max(initial=0.0), -values.min(initial=0.0))
        if self.checked and not low**power < largest < high**power:
            raise OutOfRange

    def _set_mean(self, sums: np.ndarray) -> None:
        self.correction = sums / self.total
        self.mean = self.shift + self.correction

    def compute_mean(self) -> None:
        """Compute the mean alone."""
        self._set_mean(parallel.reduce(lambda r: self.root(r) @ self.block(r), np.add, self.blocks))

    def gram(self) -> np.ndarray:
        """Sums of squares and products of the centred columns, (p, p)."""
        gram, sums = parallel.reduce(self._gram_part, _add_parts, self.blocks)
        if self.plain and self.known is not None:
            sums = self.known.mean * self.total
        self._set_mean(sums)
        if (self.total * self.correction**2 > 0.5 * np.diagonal(gram)).any():
            # The sampled rows were not representative: repeat with the mean as shift.
            self.shift, self.plain = self.mean, False
            gram, sums = parallel.reduce(self._gram_part, _add_parts, self.blocks)
            self._set_mean(sums)
        self._check_range(gram, 2)
        return gram - self.total * np.outer(self.correction, self.correction)

    def _gram_part(self, rows: slice) -> tuple[np.ndarray, np.ndarray]:
        block = self.block(rows)
        if self.plain and self.known is not None:
            return block.T @ block, np.zeros(0)
        return block.T @ block, self.root(rows) @ block

    def triangle(self) -> np.ndarray:
        """R (at most p rows) with R'R = `gram()`, without squaring: QR by blocks.

        A first column sqrt(w) makes the other columns orthogonal to the constant, which centres them.
        """
        step = max(parallel.block_rows(self.p), 2 ** (4 * self.p + 3).bit_length())
        blocks = [slice(i, min(i + step, self.n_here)) for i in range(0, self.n_here, step)]
        R = block_qr(lambda r: np.column_stack([self.root(r), self.block(r)]), blocks)
        self._check_range(R[:, 1:])
        self._set_mean(R[0, 1:] / R[0, 0] * self.total)
        return R[1:, 1:]

    def times_gram(self, V: np.ndarray) -> np.ndarray:
        """gram() @ V for V (p,) or (p, m), from the rows themselves; requires the mean."""

        def sparse_part(rows: slice) -> np.ndarray:
            X, w = self.X[rows], self.root(rows) ** 2
            Y = ((X @ V - self.mean @ V).T * w).T
            return X.T @ Y - np.multiply.outer(self.mean, Y.sum(axis=0))

        def dense_part(rows: slice) -> np.ndarray:
            block = self.block(rows) - np.outer(self.root(rows), self.correction)
            return block.T @ (block @ V)

        return parallel.reduce(sparse_part if self.sparse else dense_part, np.add, self.blocks)

    def squares(self) -> float:
        """Sum of squares of the centred cells; requires the mean."""

        def sparse_part(rows: slice) -> float:
            X = self.X[rows]
            return float(np.asarray(X.multiply(X).sum(axis=1)).ravel() @ self.root(rows) ** 2)

        def dense_part(rows: slice) -> float:
            return float(np.square(self.block(rows)).sum())

        part, about = (sparse_part, self.mean) if self.sparse else (dense_part, self.correction)
        total = parallel.reduce(part, lambda a, b: a + b, self.blocks)
        self._check_range(np.array([total]), 2)
        return max(total - self.total * float(about @ about), 0.0)


def _add_parts(a: tuple[np.ndarray, ...], b: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    for total, part in zip(a, b):
        total += part
    return a
