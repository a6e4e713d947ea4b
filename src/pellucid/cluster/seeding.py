"""Starting centres: greedy k-means++, random rows, or the user's own.

Invariant: rows are drawn with probability proportional to weight, so a row of weight 2 and two
identical rows give the same start.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from pellucid.cluster import shared_seeding
from pellucid.cluster.row_distances import RowTable
from pellucid.errors import DataError
from pellucid.parallel.shard import shard


def plus_plus(table: RowTable, weights: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """Indices of k rows by greedy k-means++.

    1. Draw the first row with probability proportional to weight.
    2. Draw 2 + log(k) candidates with probability proportional to weight times the squared distance
       to the nearest seed.
    3. Keep the candidate that leaves the smallest weighted sum of these distances; repeat from 2.

    When every row coincides with a seed, the remaining seeds repeat the first one.
    """
    n_trials = 2 + int(np.log(k))
    seeds = np.empty(k, dtype=np.int64)
    seeds[0] = _draw(np.cumsum(weights), rng.random(1))[0]  # 1
    # The distances to every candidate would be the largest arrays of a fit: only sums are kept, and
    # the distances to the chosen one are computed again.
    closest, no_labels = np.full(table.n, np.inf), np.zeros(table.n, dtype=np.int32)
    for c in range(1, k):
        nearest = table.own_distances(dense(table.rows(seeds[c - 1 : c])), no_labels)
        closest = np.minimum(closest, nearest, out=nearest)
        cumulative = weights * closest
        np.cumsum(cumulative, out=cumulative)
        if not cumulative[-1] > 0.0:
            seeds[c:] = seeds[0]
            break
        candidates = _draw(cumulative, rng.random(n_trials))  # 2
        potentials = table.trials(dense(table.rows(candidates)), weights, closest)
        seeds[c] = candidates[np.argmin(potentials)]  # 3
    return seeds


def _draw(cumulative: np.ndarray, uniform: np.ndarray) -> np.ndarray:
    """Rows drawn with probability proportional to the increments of `cumulative`; never one without."""
    rows = np.searchsorted(cumulative, uniform * cumulative[-1], side="right")
    last = np.searchsorted(cumulative, cumulative[-1])  # the last row with a positive increment
    return np.minimum(rows, last)


def random_rows(
    table: RowTable, weights: np.ndarray, k: int, rng: np.random.Generator
) -> np.ndarray:
    """Indices of k different rows, drawn by weight; rows are repeated if there are fewer than k."""
    if table.n <= k:
        return np.arange(k) % table.n
    return rng.choice(table.n, size=k, replace=False, p=weights / weights.sum())


def dense(rows: Any) -> np.ndarray:
    """Rows as a C-contiguous float64 array."""
    rows = rows.toarray() if hasattr(rows, "toarray") else rows
    return np.ascontiguousarray(rows, dtype=np.float64)


METHODS: dict[str, Callable[..., np.ndarray]] = {"k-means++": plus_plus, "random": random_rows}


def start(
    init: Any, table: RowTable, weights: np.ndarray, k: int, rng: np.random.Generator,
    hashes: np.ndarray | None = None,
) -> np.ndarray:  # fmt: skip
    """Starting centres (k, d); `init` is a name of METHODS, a function or an array.

    `hashes`: of the rows of this process, if others share the table.
    """
    here = shard()
    if isinstance(init, str) and here is not None and hashes is not None:
        return shared_seeding.plus_plus(here, table, hashes, weights, k, rng)
    if isinstance(init, str):
        return dense(table.rows(METHODS[init](table, weights, k, rng)))
    if callable(init):
        state = np.random.RandomState(rng.integers(2**32, dtype=np.uint32))
        init = init(table.rows(slice(None)), k, random_state=state)
    return checked(init, k, table.d)


def checked(centres: Any, k: int, d: int) -> np.ndarray:
    """A copy of the user's centres, after checks of their shape and values."""
    try:
        C = np.array(dense(centres))
    except (TypeError, ValueError) as error:
        raise DataError(f"The initial centers must be numbers: {error}.") from None
    if C.ndim != 2 or C.shape[0] != k:
        raise DataError(
            f"The shape of the initial centers {C.shape} does not match the number of clusters {k}."
        )
    if C.shape[1] != d:
        raise DataError(
            f"The shape of the initial centers {C.shape} does not match the number of features of "
            f"the data {d}."
        )
    if not np.isfinite(C).all():
        row, column = np.argwhere(~np.isfinite(C))[0]
        raise DataError(
            f"The initial centers contain NaN or infinity (center {row}, column {column})."
        )
    return C
