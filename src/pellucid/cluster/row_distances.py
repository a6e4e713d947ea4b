"""Distances between the rows of k-means, dense or CSR, and centres, block by block.

Invariant: blocks depend on the shape alone, and every label is the one that plain distances give
(see `_loops`), whichever shortcut found it; so results are bitwise equal for any number of threads.
"""

from collections.abc import Callable
from operator import add
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.cluster import _lanes, _layouts, _loops
from pellucid.data.row_view import RowView
from pellucid.errors import DataError
from pellucid.numerics.row_blocks import largest_cell, squared_lengths

# Rows multiplied with the centres at once, so that the products stay in the cache.
CHUNK = 512
# Columns times centres above which products by BLAS are faster than the SIMD loops; smaller on
# processors without fused multiply-add, where those loops compute distances.
PRODUCTS_FROM = 65536 if _lanes.use_wide(True) else 4096
# Above this number of centres, the distance to the own centre is computed before those to all others.
TIGHTEN_FROM = 16
# Values above 2**400, or all below 2**-400, are scaled before they are squared.
SAFE_POWER = 400


def pack(C: np.ndarray) -> np.ndarray:
    """Centres in panels of four, (P, d, 4), padded with +inf."""
    panels = np.empty((-(-len(C) // 4), C.shape[1], 4))
    _layouts.layout(C, panels)
    return panels


def many_products(k: int, d: int) -> bool:
    """Whether BLAS computes the products with k centres of d columns."""
    return k * d >= PRODUCTS_FROM


def exponent(*arrays: Any) -> int:
    """Power of two to divide by so that no square overflows or vanishes; usually 0."""
    power = int(np.frexp(max(0.0, *map(largest_cell, arrays)))[1])
    return power if abs(power) > SAFE_POWER else 0


def _short_indices(X: Any) -> Any:
    """CSR with the int32 indices that the loops read."""
    if X.indices.dtype == np.int32 and X.indptr.dtype == np.int32:
        return X
    if X.nnz > np.iinfo(np.int32).max:
        raise DataError(f"X has {X.nnz} entries; sparse tables may have at most 2**31 - 1.")
    indices, indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return type(X)((X.data, indices, indptr), shape=X.shape)


class RowTable:
    """Rows (n, d) whose nearest of k centres is wanted.

    Products of rows and centres give the labels; distances are computed only for rows whose label
    rounding errors could change. With few columns and centres SIMD loops form the products,
    otherwise, and for CSR rows, a matrix product does. A `RowView` of a dense table is read in place.
    """

    def __init__(self, X: Any, k: int) -> None:
        self.sparse = not isinstance(X, np.ndarray | RowView)
        self.X, self.k = (_short_indices(X) if self.sparse else X), k
        self.n, self.d = X.shape
        self.by_products = self.sparse or many_products(k, self.d)
        rows = max(parallel.block_rows(self.d), 4 * k, -(-self.n // 64))
        self.blocks = [slice(i, min(i + rows, self.n)) for i in range(0, max(self.n, 1), rows)]
        self.origin = np.zeros(self.d)
        self.norms = np.zeros(0)
        if self.by_products:
            if not self.sparse:
                sums = self.each(lambda block: X[block].sum(axis=0))
                self.origin = np.sum(sums, axis=0) / max(self.n, 1)
            self.norms = np.concatenate(self.each(self._block_norms))

    def variance(self, weights: np.ndarray) -> float:
        """Mean of the weighted variances of the columns."""
        total = parallel.everywhere(weights.sum(), add)
        if self.sparse:
            mean = np.asarray(self.X.T @ weights).ravel() / total
            squares = float(weights @ self.norms) / total
            return max(squares - float(mean @ mean), 0.0) / self.d
        shift = parallel.of_first_rows(lambda: self.rows(np.zeros(1, dtype=np.int64))[0])

        def moments(block: slice) -> np.ndarray:
            rows = self.X[block]  # of a view: a copy
            rows = np.subtract(rows, shift, out=rows if isinstance(self.X, RowView) else None)
            first = weights[block] @ rows
            return np.append(first, np.einsum("ij,ij->i", rows, rows) @ weights[block])

        sums = parallel.everywhere(np.sum(self.each(moments), axis=0), np.add) / total
        return max(sums[-1] - float(sums[:-1] @ sums[:-1]), 0.0) / self.d

    def _block_norms(self, block: slice) -> np.ndarray:
        return squared_lengths(self._shifted(self.X[block]))

    def _shifted(self, rows: Any) -> Any:
        return rows if self.sparse else rows - self.origin

    def rows(self, wanted: Any) -> Any:
        """Rows by their numbers or as a slice, in the form of the table."""
        if isinstance(self.X, RowView):
            return self.X.table[self.X.places[wanted]]
        return self.X[wanted]

    def loop_rows(self, block: slice) -> _layouts.Rows:
        """The rows of a block, in the form that the compiled loops read."""
        if isinstance(self.X, RowView):
            return _layouts.Rows(self.X.table, self.X.places[block], None, None, None, None)
        if not self.sparse:
            rows = self.X[block].astype(np.float64, copy=False)
            return _layouts.Rows(rows, None, None, None, None, None)
        indptr = self.X.indptr[block.start : block.stop + 1]
        scratch = np.zeros((4, self.d))
        return _layouts.Rows(None, None, indptr, self.X.indices, self.X.data, scratch)

    def run(self, one: _loops.Pass, block: slice, C: np.ndarray, stop: parallel.StopFlag) -> None:
        """Run one pass over a block with the centres C."""
        if not self.by_products:
            one.run(self.k > TIGHTEN_FROM, stop.array)
            return
        uncertain = np.empty(block.stop - block.start, dtype=np.int64)
        uncertain = uncertain[: one.unsettled(uncertain)]
        shifted = np.ascontiguousarray((C - self.origin).T)
        centre_norms = np.einsum("ij,ij->j", shifted, shifted)
        radius = float(np.sqrt(centre_norms.max()))
        norms = self.norms[block]
        for start in range(0, len(uncertain), CHUNK):
            if stop.is_set():
                return
            chunk = uncertain[start : start + CHUNK]
            contiguous = chunk[-1] - chunk[0] < len(chunk)  # then a view, not a copy
            first = block.start + int(chunk[0])
            wanted = slice(first, first + len(chunk)) if contiguous else chunk + block.start
            with np.errstate(over="ignore", invalid="ignore"):  # these rows get plain distances
                products = np.ascontiguousarray(self._shifted(self.rows(wanted)) @ shifted)
            one.screen(chunk, products, norms, centre_norms, radius)

    def label(self, C: np.ndarray) -> np.ndarray:
        """Index of the nearest centre of every row, int32."""
        return self.label_and_check(C)[0]

    def label_and_check(self, C: np.ndarray) -> tuple[np.ndarray, bool]:
        """The labels, and whether all rows are known to be finite (only the SIMD products check)."""
        labels = np.full(self.n, -1, dtype=np.int32)
        centres, zeros, stop = _layouts.Centres(C), np.zeros(self.k), parallel.StopFlag()

        def one_block(block: slice) -> bool:
            unknown = np.full(block.stop - block.start, np.nan)
            one = _loops.Pass(
                self.loop_rows(block), unknown, centres, zeros, zeros, zeros,
                labels[block], unknown, unknown, None, None,
            )  # fmt: skip
            self.run(one, block, C, stop)
            return one.finite

        finite = all(self.each(one_block))
        stop.check()
        return labels, finite and not self.by_products

    def each(self, function: Callable[[slice], Any]) -> list[Any]:
        """The results of `function` for every block, in order."""
        return parallel.each(function, self.blocks)

    def own_distances(self, C: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Squared distance of every row to the centre of its label."""
        out = np.empty(self.n)

        def one_block(block: slice) -> None:
            if self.sparse:
                for chunk, table in self._sparse_distances(block, C):
                    out[chunk] = np.take_along_axis(table, labels[chunk, None], axis=1)[:, 0]
            else:
                _loops.own_distances(self.loop_rows(block), C, labels[block], out[block])

        self.each(one_block)
        return out

    def distances(self, C: np.ndarray) -> np.ndarray:
        """Squared distances of all rows to all centres, (n, k)."""
        out = np.empty((self.n, len(C)))
        panels = pack(C)

        def one_block(block: slice) -> None:
            if self.sparse:
                for chunk, table in self._sparse_distances(block, C):
                    out[chunk] = table
            else:
                _loops.distances(self.X[block], panels, out[block])

        self.each(one_block)
        return out

    def trials(
        self, candidates: np.ndarray, weights: np.ndarray, closest: np.ndarray
    ) -> np.ndarray:
        """Weighted sums of the squared distances to the nearest seed, with each candidate added."""
        panels = pack(candidates)

        def one_block(block: slice) -> np.ndarray:
            if self.sparse:
                out = np.empty((len(candidates), block.stop - block.start))
                for chunk, table in self._sparse_distances(block, candidates):
                    inside = slice(chunk.start - block.start, chunk.stop - block.start)
                    out[:, inside] = np.minimum(table.T, closest[chunk])
                return out @ weights[block]
            potential = np.zeros((2, len(candidates)))
            rows = self.loop_rows(block)
            _loops.trials(rows, weights[block], panels, closest[block], potential)
            return potential.sum(axis=0)

        return parallel.everywhere(np.sum(self.each(one_block), axis=0), np.add)

    def _sparse_distances(self, block: slice, C: np.ndarray) -> Any:
        """Squared distances of CSR rows from products, in chunks; 0 if within rounding error."""
        norms = np.einsum("ij,ij->i", C, C)
        error = (self.d + 8) * np.finfo(float).eps
        for start in range(block.start, block.stop, CHUNK):
            chunk = slice(start, min(start + CHUNK, block.stop))
            sizes = self.norms[chunk, None] + norms
            table = sizes - 2.0 * np.asarray(self.X[chunk] @ C.T)
            yield chunk, np.where(table > error * sizes, table, 0.0)
