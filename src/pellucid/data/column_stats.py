"""One pass over the numbers of a table: finite or not, means, ranges, missing counts.

Infinite values are always an error that names row and column.
"""

import numpy as np

from pellucid import parallel
from pellucid.data import _loops
from pellucid.data.intake import RawTable
from pellucid.data.raw_column import RawColumn
from pellucid.errors import DataError


def check_finite(values: np.ndarray, table: RawTable, allow_nan: bool) -> None:
    """Raise unless all values (of a dense table, or the entries of a CSR) are finite or NaN."""
    if np.isfinite(values).all() or (allow_nan and not np.isinf(values).any()):
        return
    if values.ndim == 2:
        bad = np.isinf(values) if allow_nan else ~np.isfinite(values)
        row, j = (int(v[0]) for v in np.nonzero(bad))
        name = table.names[j] if table.names is not None else f"x{j}"
        raise _not_finite(values[row, j], row, name)
    entry = int(np.flatnonzero(~np.isfinite(values))[0])
    row = int(np.searchsorted(table.sparse.indptr, entry, side="right")) - 1
    raise DataError(
        f"Input X contains NaN or infinity in its sparse data: row {row}, column "
        f"{table.name(int(table.sparse.indices[entry]))!r} ({values[entry]}). Infinite values cannot "
        "be used, and missing values need a dense table."
    )


def check_column(column: RawColumn) -> np.ndarray:
    """The column's numbers, if none is infinite."""
    infinite = np.isinf(column.values)
    if infinite.any():
        row = int(np.flatnonzero(infinite)[0])
        raise _not_finite(column.values[row], row, column.name)
    return column.values


def _not_finite(value: float, row: int, name: str) -> DataError:
    word = "NaN" if np.isnan(value) else "infinity"
    return DataError(
        f"Input X contains {word}: row {row}, column {name!r} ({value}). "
        "Infinite values cannot be used: correct the cell or make it missing (NaN)."
    )


def column_facts(table: RawTable, weights: np.ndarray) -> tuple[np.ndarray, ...]:
    """Weighted mean, minimum, maximum and missing weight of each column of a dense table."""
    assert table.dense is not None
    X = np.ascontiguousarray(table.dense, dtype=np.float64)
    blocks = parallel.row_blocks(*X.shape)
    with np.errstate(all="ignore"):
        total, low, high = parallel.reduce(lambda b: _facts(X[b], weights[b]), _merge, blocks)
    mean = total / parallel.sum_rows(weights)
    if not np.isfinite(total).all():
        if np.isinf(low).any() or np.isinf(high).any() or parallel.any_row(np.isnan(X).any()):
            check_finite(X, table, allow_nan=True)
            return _facts_with_missing(X, weights)
        # Cells near the largest float: their sum overflows.
        mean = np.where(np.isfinite(mean), mean, low / 2 + high / 2)
    # Constant columns have their constant exactly.
    return np.minimum(np.maximum(mean, low), high), low, high, np.zeros(X.shape[1])


def _facts(block: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, ...]:
    p = block.shape[1]
    total, low, high = np.zeros(p), np.full(p, np.inf), np.full(p, -np.inf)
    _loops.column_facts(block, weights, total, low, high)
    return total, low, high


def _merge(a: tuple[np.ndarray, ...], b: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    return a[0] + b[0], np.minimum(a[1], b[1]), np.maximum(a[2], b[2])


def _facts_with_missing(X: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, ...]:
    """Facts of the present cells; 0, 1, 0 for a column without any. Rows in any order, same bits."""
    p = X.shape[1]

    def partial(rows: slice) -> tuple[np.ndarray, ...]:
        sums = np.zeros((2, p)), np.zeros((2, p))
        low, high = np.full(p, np.inf), np.full(p, -np.inf)
        with np.errstate(all="ignore"):
            _loops.present_facts(X[rows], weights[rows], *sums, low, high)
        return *sums, low, high

    total, weight, low, high = parallel.reduce(
        partial, _merge_present, parallel.row_blocks(*X.shape)
    )
    n_missing = np.maximum(parallel.sum_rows(weights) - (weight[0] + weight[1]), 0.0)
    n_missing[~parallel.everywhere(np.isnan(X).any(axis=0), np.logical_or)] = 0.0
    empty = low > high
    with np.errstate(all="ignore"):
        mean = (total[0] + total[1]) / (weight[0] + weight[1])
        mean = np.where(np.isfinite(mean), mean, low / 2 + high / 2)
    mean, low, high = (np.where(empty, v, x) for v, x in ((0, mean), (1, low), (0, high)))
    return np.where(empty, 0.0, np.clip(mean, low, np.maximum(low, high))), low, high, n_missing


def _merge_present(a: tuple[np.ndarray, ...], b: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    sums = [_double_sum(a[k], b[k]) for k in (0, 1)]
    return *sums, np.minimum(a[2], b[2]), np.maximum(a[3], b[3])


def _double_sum(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Sum of two double-doubles (2, p)."""
    with np.errstate(all="ignore"):
        total = a[0] + b[0]
        part = total - a[0]
        error = (a[0] - (total - part)) + (b[0] - part)
        return np.stack([total, a[1] + b[1] + error])


def sparse_facts(table: RawTable, weights: np.ndarray) -> tuple[np.ndarray, ...]:
    """Mean, minimum and maximum of the columns of a CSR matrix, its zeros included."""
    X = table.sparse
    n, p = X.shape
    facts = np.tile([0.0, 0.0, np.inf, -np.inf], (p, 1))
    data = np.ascontiguousarray(X.data, dtype=np.float64)
    kind = np.int32 if X.indices.dtype == X.indptr.dtype == np.int32 else np.int64
    indices, indptr = (np.ascontiguousarray(v, dtype=kind) for v in (X.indices, X.indptr))
    with np.errstate(over="ignore"):
        _loops.sparse_facts(data, indices, indptr, weights, facts)
        mean = facts[:, 0] / weights.sum()
    filled = facts[:, 1] < n  # other columns have zeros that are not stored
    low = np.where(filled, np.minimum(facts[:, 2], 0.0), facts[:, 2])
    high = np.where(filled, np.maximum(facts[:, 3], 0.0), facts[:, 3])
    if not np.isfinite(mean).all():
        check_finite(X.data, table, allow_nan=False)
        mean = np.where(np.isfinite(mean), mean, low / 2 + high / 2)
    return mean.clip(low, high), low, high, np.zeros(p)
