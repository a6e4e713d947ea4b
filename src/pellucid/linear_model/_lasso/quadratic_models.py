"""The quadratic model of a proximal Newton step, in two forms with the same methods.

    m(d) = g.d + d'Hd / 2 + sum_i l1_i |b_i + d_i|      over the entries i of a working set

`ByProducts` forms H; a sweep of coordinate descent costs the square of the working set. `ByRows`
never forms H, because H = A'VA + ridge with the columns A of the working set and the curvature V of
the rows; a sweep costs the cells of A, which is far less for rare levels, words and wide tables.

Invariant: both have the same minimum; the choice between them depends on sizes alone.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.linear_model._lasso import _prox

SWEEPS = (25, 1000)  # by rows, between two jumps
JUMP = 1e6  # operations that a jump takes at least
CELL = 4  # cost of a cell of A relative to an entry of H: it is read twice, out of order
MOST_CELLS = 2**24  # of a dense table that is written out column by column


@dataclass(frozen=True)
class Entries:
    """Gradient g, l1 and b of the working set."""

    g: np.ndarray
    l1: np.ndarray
    b: np.ndarray


class QuadraticModel:
    """A model to be minimised; `d` is the present point of the search."""

    entries: Entries
    d: np.ndarray
    curves: np.ndarray  # the diagonal of H
    sweeps: int  # of coordinate descent between two jumps

    @property
    def reach(self) -> float:
        """The most by which one entry alone can lower the model."""
        g = self.entries.g
        return float(np.max(g * g / np.maximum(self.curves, 1e-300), initial=0.0))

    def value(self, d: np.ndarray) -> float:
        own, curvature = self.entries, 0.5 * float(d @ self.product(d))
        return float(own.g @ d) + curvature + float(own.l1 @ np.abs(own.b + d))

    def product(self, d: np.ndarray) -> np.ndarray:
        """Hd."""
        raise NotImplementedError

    def sweep(self, tol: float, most: int) -> int:
        """Sweep over all entries until none lowers the model by more than tol; the number of sweeps."""
        raise NotImplementedError

    def gradient(self) -> np.ndarray:
        """g + Hd at the present point."""
        raise NotImplementedError

    def move(self, d: np.ndarray) -> None:
        raise NotImplementedError

    def curvature(self, used: np.ndarray) -> np.ndarray:
        """H of some entries."""
        raise NotImplementedError


class ByProducts(QuadraticModel):
    """With the matrix H, whose diagonal the ridge is added to."""

    sweeps = 25

    def __init__(self, entries: Entries, H: np.ndarray) -> None:
        self.entries, self.H, self.curves = entries, H, np.diagonal(H)
        self.d, self.Hd = np.zeros(len(H)), np.zeros(len(H))

    def product(self, d: np.ndarray) -> np.ndarray:
        return self.H @ d

    def sweep(self, tol: float, most: int) -> int:
        own = self.entries
        return parallel.interruptible(
            _prox.quadratic_lasso, self.H, own.g, own.l1, own.b, self.d, self.Hd, tol, most
        )

    def gradient(self) -> np.ndarray:
        return self.entries.g + self.H @ self.d

    def move(self, d: np.ndarray) -> None:
        self.d = d
        self.Hd = self.H @ d

    def curvature(self, used: np.ndarray) -> np.ndarray:
        return self.H[np.ix_(used, used)]


@dataclass(frozen=True)
class Columns:
    """Columns one after the other: the cells of column j are those from starts[j] to starts[j + 1].

    The last column is that of ones.
    """

    cells: np.ndarray
    rows: np.ndarray
    starts: np.ndarray
    table: Any  # the same as a matrix (n, p + 1)

    @classmethod
    def of(cls, block: Any) -> "Columns":
        """All columns of a dense or CSR table, and one of ones."""
        from scipy.sparse import csc_array, hstack

        n, p = block.shape
        if isinstance(block, np.ndarray):
            table = np.ones((n, p + 1), order="F")
            table[:, :p] = block
            rows = np.tile(np.arange(n, dtype=np.int32), p + 1)
            starts = np.arange(0, n * (p + 1) + 1, n, dtype=np.int32)
            return cls(table.reshape(-1, order="F"), rows, starts, table)
        table = csc_array(hstack([block, csc_array(np.ones((n, 1)))], format="csc"))
        rows, starts = table.indices.astype(np.int32), table.indptr.astype(np.int32)
        return cls(table.data, rows, starts, table)

    def size(self, columns: np.ndarray) -> int:
        """Cells of some columns."""
        return int((self.starts[columns + 1] - self.starts[columns]).sum())


@dataclass(frozen=True)
class RowCurvature:
    """Curvature of row r by its scores of classes k and l: factors[r, k] (1[k = l] - shares[r, l])."""

    factors: np.ndarray
    shares: np.ndarray

    def diagonal(self, columns: Columns) -> np.ndarray:
        """(q, p + 1): the second derivative of the loss by each coefficient."""
        table, own = columns.table, self.factors * (1.0 - self.shares)
        squares = table * table if isinstance(table, np.ndarray) else table.multiply(table)
        return np.asarray(squares.T @ own).T


class ByRows(QuadraticModel):
    """Without H: the changes of the scores are updated with every move."""

    def __init__(
        self, entries: Entries, columns: Columns, rows: RowCurvature, column: np.ndarray,
        cls: np.ndarray, ridge: np.ndarray, curves: np.ndarray,
    ) -> None:  # fmt: skip
        self.entries, self.columns, self.rows = entries, columns, rows
        self.column, self.cls = column.astype(np.intp), cls.astype(np.intp)
        self.ridge, self.curves = ridge, curves
        # As many as cost the same as the factorisation of a jump.
        jump = JUMP + np.count_nonzero(entries.b) ** 3 / 24
        self.sweeps = int(np.clip(jump / (CELL * columns.size(column)), *SWEEPS))
        self.move(np.zeros(len(column)))

    def product(self, d: np.ndarray) -> np.ndarray:
        return self._product(d, *self._scores(d))

    def sweep(self, tol: float, most: int) -> int:
        own, columns, rows = self.entries, self.columns, self.rows
        return parallel.interruptible(
            _prox.quadratic_lasso_by_rows, columns.cells, columns.rows, columns.starts, self.column,
            self.cls, rows.factors, rows.shares, self.curves, self.ridge, own.g, own.l1, own.b,
            self.d, self.Z, self.means, tol, most,
        )  # fmt: skip

    def gradient(self) -> np.ndarray:
        return self.entries.g + self._product(self.d, self.Z, self.means)

    def move(self, d: np.ndarray) -> None:
        self.d = d
        self.Z, self.means = self._scores(d)

    def curvature(self, used: np.ndarray) -> np.ndarray:
        H = np.empty((len(used), len(used)))
        where = [np.flatnonzero(self.cls[used] == k) for k in range(self.rows.factors.shape[1])]
        parts = [self.columns.table[:, self.column[used[own]]] for own in where]
        factors, shares = self.rows.factors, self.rows.shares
        for k, own in enumerate(where):
            for l, other in enumerate(where[: k + 1]):
                curvature = factors[:, k] * ((1.0 if k == l else 0.0) - shares[:, l])
                H[np.ix_(own, other)] = block = _products(parts[k], curvature, parts[l])
                H[np.ix_(other, own)] = block.T
        H[np.diag_indices(len(H))] += self.ridge[used]
        return H

    def _scores(self, d: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        whole = np.zeros((self.columns.table.shape[1], self.rows.factors.shape[1]))
        whole[self.column, self.cls] = d
        Z = np.ascontiguousarray(self.columns.table @ whole)
        return Z, np.einsum("rk,rk->r", self.rows.shares, Z)

    def _product(self, d: np.ndarray, Z: np.ndarray, means: np.ndarray) -> np.ndarray:
        gradient = self.columns.table.T @ (self.rows.factors * (Z - means[:, None]))
        return np.asarray(gradient)[self.column, self.cls] + self.ridge * d


def _products(A: Any, weights: np.ndarray, B: Any) -> np.ndarray:
    """A' diag(weights) B."""
    if isinstance(A, np.ndarray):
        return A.T @ (weights[:, None] * B)
    return (A.T @ B.multiply(weights[:, None])).toarray()
