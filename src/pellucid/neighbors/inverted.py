"""Nearest rows of a sparse table by an inverted index: for each column, the rows that have it.

A query meets only the cells of its own columns, so that texts are compared by the words they share.
"""

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.neighbors import _loops, _sparse
from pellucid.numerics.row_blocks import squared_lengths

KINDS = ("squared", "manhattan")  # compiled distances whose sums need the shared columns only


def search(
    kind: str, table: Any, Q: Any, near: np.ndarray, rows: np.ndarray, blocks: list[slice],
    jobs: int | None,
) -> None:  # fmt: skip
    """Fill the lists `near` and `rows`, nearest first, for sparse or dense Q; `kind`: see `KINDS`."""
    stop, table, queries = parallel.StopFlag(), _sorted(table), _sorted(Q)
    sizes = squared_lengths(table) if kind == "squared" else np.asarray(abs(table).sum(axis=1))
    parts = (*_arrays(table), *_arrays(table.tocsc()), 0.5 * sizes.ravel())
    # A product has at most as many terms as the longest row, and each is rounded twice.
    error = (int(np.diff(table.indptr).max(initial=0)) + 8) * 2.0**-51

    def task(block: slice) -> None:
        own, memory = _arrays(queries[block]), np.empty(table.shape[0])
        lists = (memory, near[block], rows[block], stop.array)
        _sparse.search(*parts, *own, error, kind == "manhattan", *lists)

    parallel.map(task, blocks, jobs)
    stop.check()
    _loops.sort(near, rows)


def _sorted(X: Any) -> Any:
    """CSR with the columns of each row in order, each at most once."""
    from scipy.sparse import csr_array

    X = csr_array(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _arrays(X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The arrays of a CSR or CSC table as compiled loops take them: never empty."""
    if X.nnz == 0:
        return np.zeros(1), np.zeros(1, np.int32), X.indptr.astype(np.int64)
    data = np.ascontiguousarray(X.data, dtype=np.float64)
    return data, X.indices.astype(np.int32, copy=False), X.indptr.astype(np.int64)
