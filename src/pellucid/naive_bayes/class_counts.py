"""Sums over the rows of each class, and the probabilities of categories that follow from them."""

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.errors import DataError
from pellucid.numerics.class_moments import loops
from pellucid.numerics.row_blocks import Rows

LOWEST = -1e8  # stands for the logarithm of 0
SMALLEST_ALPHA = 1e-10  # without `force_alpha`
MOST = 1e200  # larger counts are replaced by this, so that products with logarithms are finite


def class_sums(X: Any, y: np.ndarray, w: np.ndarray, K: int, cells: Any = None) -> np.ndarray:
    """Sum of w x over the rows of each class: (K, p), dense or sparse X."""
    if not isinstance(X, np.ndarray):
        X = X if cells is None else cells(X)
        total = np.zeros((K, X.shape[1]))
        indices, indptr = (part.astype(np.int32, copy=False) for part in (X.indices, X.indptr))
        loops.sum_sparse_by_class(X.data, indices, indptr, y, w, total)
        return total
    rows = Rows(X)

    def partial(block: slice) -> np.ndarray:
        part = X[block] if cells is None else cells(X[block])
        sums = np.zeros((K, X.shape[1]))
        loops.sum_by_class(np.ascontiguousarray(part), y[block], w[block], sums, np.zeros(K))
        return sums

    return parallel.reduce(partial, np.ndarray.__iadd__, rows.blocks)


def check_size(sums: np.ndarray, schema: Any) -> None:
    """Raise an error for columns whose sum overflows."""
    with np.errstate(over="ignore"):
        total = sums.sum(axis=0)
    for j in np.flatnonzero(~(total <= np.finfo(float).max / 1024)):
        raise DataError(
            f"The sum of the counts in column {schema.terms[j]!r} exceeds the largest float64. Divide "
            "the column by a power of ten."
        )


def count_levels(
    codes: np.ndarray, y: np.ndarray, w: np.ndarray, K: int, levels: int
) -> np.ndarray:
    """Weight of each level in each class: (K, levels); codes below 0 are missing."""
    total = parallel.reduce(
        lambda rows: _level_weights(codes[rows], y[rows], w[rows], K, levels),
        np.add,
        parallel.row_blocks(len(y), 1),
    )
    return total.reshape(K, levels)


def _level_weights(
    codes: np.ndarray, y: np.ndarray, w: np.ndarray, K: int, levels: int
) -> np.ndarray:
    known = codes >= 0
    cell = y[known].astype(np.int64) * levels + codes[known]
    return np.bincount(cell, w[known], minlength=K * levels).astype(float)


def match_levels(counts: np.ndarray, old: tuple[Any, ...], new: tuple[Any, ...]) -> np.ndarray:
    """Counts (K, levels) in the order of the new levels; 0 for levels that are new."""
    if old == new:
        return counts
    before = {level: k for k, level in enumerate(old)}
    source = np.array([before.get(level, -1) for level in new], dtype=np.int64)
    out = np.zeros((len(counts), len(new)))
    out[:, source >= 0] = counts[:, source[source >= 0]]
    return out


def level_probabilities(counts: np.ndarray, alpha: float) -> np.ndarray:
    """(N + alpha) / (sum N + alpha L) of each class; equal probabilities where no row is known."""
    total = counts.sum(axis=1, keepdims=True) + alpha * counts.shape[1]
    equal = np.full_like(counts, 1 / counts.shape[1])
    return np.divide(counts + alpha, total, out=equal, where=total > 0)


def level_likelihood(logs: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Logarithms (n, K) of the probabilities of coded levels, 0 for codes that are no level."""
    table = np.vstack([np.maximum(logs, LOWEST).T, np.zeros(len(logs))])
    last = len(table) - 1
    return table[np.where((codes < 0) | (codes >= last), last, codes)]
