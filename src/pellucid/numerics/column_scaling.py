"""Centres and units of columns, for the models that can standardise them (`standardize=True`).

Invariant: nothing overflows while a column's own deviation is a float64, and the rounding of a
constant column does not count as deviation. Only measured numbers have a unit of their own: levels,
flags of missing cells and counts of words keep theirs (`Schema.measured`), otherwise the rarest of them
would weigh most.
"""

from typing import Any

import numpy as np

CONSTANT = 8 * np.finfo(float).eps  # deviations below this share of the mean are rounding
SMALLEST = np.finfo(float).tiny  # deviations that can be divided by


def deviations(X: Any, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weighted means and standard deviations of the columns; 1 where there is no deviation."""
    share = weights / weights.max()
    share = share / share.sum()
    dense = isinstance(X, np.ndarray)
    if not dense and not X.nnz:
        return np.zeros(X.shape[1]), np.ones(X.shape[1])
    power = np.frexp(_sizes(X))[1]
    if dense:
        Z = np.ldexp(X, -power)
        mean = share @ Z
        variance = share @ (Z - mean) ** 2
    else:
        cells, own = np.ldexp(X.data, -power[X.indices]), np.repeat(share, np.diff(X.indptr))
        mean = np.bincount(X.indices, own * cells, X.shape[1])
        apart = np.bincount(X.indices, own * (cells - mean[X.indices]) ** 2, X.shape[1])
        full = np.bincount(X.indices, minlength=X.shape[1]) == X.shape[0]
        absent = np.where(full, 0.0, 1.0 - np.bincount(X.indices, own, X.shape[1]))
        variance = apart + mean**2 * absent
    spread = np.sqrt(np.maximum(variance, 0.0))
    usable = (spread > CONSTANT * np.abs(mean)) & (np.ldexp(spread, power) > SMALLEST)
    return np.ldexp(mean, power), np.where(usable, np.ldexp(spread, power), 1.0)


def units(X: Any, weights: np.ndarray, schema: Any) -> tuple[np.ndarray, np.ndarray]:
    """Means of all encoded columns, and what each is divided by: 1 unless it is a measured number."""
    mean, spread = deviations(X, weights)
    return mean, np.where(schema.measured, spread, 1.0)


def can_be_centred(X: Any, schema: Any) -> np.ndarray:
    """The encoded columns whose mean may be taken away: of a sparse table the measured numbers that
    are seldom 0. For example, the 0 of a year has no meaning, and gradient steps would need long to
    compensate for it.
    """
    if isinstance(X, np.ndarray):
        return np.ones(X.shape[1], dtype=bool)
    return schema.measured & (2 * np.bincount(X.indices, minlength=X.shape[1]) >= X.shape[0])


def rescaled(X: Any, shift: np.ndarray, scale: np.ndarray) -> Any:
    """(X - shift) / scale; a column of a sparse table that has a shift is full afterwards."""
    if isinstance(X, np.ndarray):
        return (X - shift) / scale
    full = np.flatnonzero(shift)
    rest = X.multiply(np.where(shift == 0, 1.0 / scale, 0.0)).tocsr()
    if not len(full):
        return rest
    rest.eliminate_zeros()
    cells = (X[:, full].toarray() - shift[full]) / scale[full]
    ends = np.arange(len(cells) + 1, dtype=X.indptr.dtype) * len(full)
    places = np.tile(full, len(cells)).astype(X.indices.dtype)
    return (rest + type(rest)((cells.ravel(), places, ends), shape=X.shape)).tocsr()


def _sizes(X: Any) -> np.ndarray:
    """The largest size of a cell in each column."""
    if isinstance(X, np.ndarray):
        return np.maximum(X.max(axis=0), -X.min(axis=0))
    sizes = np.zeros(X.shape[1])
    np.maximum.at(sizes, X.indices, np.abs(X.data))
    return sizes
