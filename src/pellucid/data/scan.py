"""One pass over the numbers of a table: finite or not, means, ranges, missing counts.

Infinite values are always an error that names row and column.
"""

import numpy as np

from pellucid import parallel
from pellucid.data import _loops
from pellucid.data.containers import Intake, RawColumn
from pellucid.errors import DataError


def check_finite(values: np.ndarray, table: Intake, allow_nan: bool) -> None:
    """Raise unless all values are finite (or NaN, if allowed)."""
    if np.isfinite(values).all() or (allow_nan and not np.isinf(values).any()):
        return
    if values.ndim == 2:
        bad = np.isinf(values) if allow_nan else ~np.isfinite(values)
        row, j = (int(v[0]) for v in np.nonzero(bad))
        name = table.names[j] if table.names is not None else f"x{j}"
        raise _not_finite(values[row, j], row, name)
    raise DataError(
        "Input X contains NaN or infinity in its sparse data: infinite values cannot be used, and "
        "missing values need a dense table."
    )


def mean_of(values: np.ndarray, weights: np.ndarray) -> float:
    """Weighted mean; shares before the sum, so that it cannot overflow."""
    return float(np.clip((weights / weights.sum()) @ values, values.min(), values.max()))


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


def column_facts(table: Intake, weights: np.ndarray) -> tuple[np.ndarray, ...]:
    """Weighted mean, minimum, maximum and missing weight of each column of a dense table."""
    assert table.dense is not None
    X = np.ascontiguousarray(table.dense, dtype=np.float64)
    blocks = parallel.row_blocks(*X.shape)
    with np.errstate(all="ignore"):
        total, low, high = parallel.reduce(lambda b: _facts(X[b], weights[b]), _merge, blocks)
    if np.isinf(low).any() or np.isinf(high).any() or (np.isnan(total).any() and np.isnan(X).any()):
        check_finite(X, table, allow_nan=True)
        return _facts_with_missing(X, weights)
    share = weights.sum()
    if not np.isfinite(total).all():  # cells near the largest float: their sum overflows
        total, share = (weights / share) @ X, 1.0
    mean = np.clip(total / share, low, high)  # constant columns have their constant exactly
    return mean, low, high, np.zeros(X.shape[1])


def _facts(block: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, ...]:
    p = block.shape[1]
    total, low, high = np.zeros(p), np.full(p, np.inf), np.full(p, -np.inf)
    _loops.column_facts(block, weights, total, low, high)
    return total, low, high


def _merge(a: tuple[np.ndarray, ...], b: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    return a[0] + b[0], np.minimum(a[1], b[1]), np.maximum(a[2], b[2])


def _facts_with_missing(X: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, ...]:
    d = X.shape[1]
    mean, low, high, n_missing = np.zeros(d), np.ones(d), np.zeros(d), np.zeros(d)
    for j in range(d):
        column = X[:, j].astype(float)
        missing = np.isnan(column)
        n_missing[j] = weights[missing].sum()
        shown, w = column[~missing], weights[~missing]
        if shown.size:
            mean[j] = mean_of(shown, w)
            low[j], high[j] = shown.min(), shown.max()
    return mean, low, high, n_missing
