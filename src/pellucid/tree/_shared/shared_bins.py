"""Thresholds of bins from rows that several processes share: the weighted quantiles of all of them.

Invariant: values are compared and weights are added as integers, so thresholds do not depend on who
holds which rows.
"""

from dataclasses import dataclass

import numpy as np

from pellucid import parallel
from pellucid.data.row_view import RowView

WEIGHT_BITS = 60  # of the sum of the weights as integers
LAST = np.iinfo(np.int64).max


@dataclass(frozen=True)
class _Column:
    """Values of this process in ascending order as integers, and sums of weights up to each."""

    keys: np.ndarray
    sums: np.ndarray

    def weight_up_to(self, keys: np.ndarray) -> np.ndarray:
        return self.sums[np.searchsorted(self.keys, keys, side="right")]

    def next_after(self, keys: np.ndarray) -> np.ndarray:
        return np.append(self.keys, LAST)[np.searchsorted(self.keys, keys, side="right")]


def shared_neighbours(
    X: np.ndarray | RowView, columns: np.ndarray, weights: np.ndarray, max_bins: int
) -> dict[int, tuple[np.ndarray, np.ndarray]]:
    """For each of the columns the values below and above its thresholds, at most max_bins - 1."""
    counts = _as_integers(weights)
    found = {int(j): _sorted(X[:, j], counts) for j in columns}
    few = parallel.everywhere(
        {j: _few(np.unique(column.keys), max_bins) for j, column in found.items()},
        lambda a, b: {j: _both(a[j], b[j], max_bins) for j in a},
    )
    out = {}
    for j, column in found.items():
        distinct = few[j]
        low, high = (
            _quantiles(column, max_bins) if distinct is None else (distinct[:-1], distinct[1:])
        )
        out[j] = _values(low), _values(high)
    return out


def _as_integers(weights: np.ndarray) -> np.ndarray:
    """Weights as integers; exact if they are counts."""
    total = float(parallel.sum_rows(weights))
    whole = parallel.all_rows((weights == np.floor(weights)).all())
    power = 0 if whole and total < 2.0**WEIGHT_BITS else WEIGHT_BITS - int(np.frexp(total)[1])
    return np.rint(np.ldexp(weights, power)).astype(np.int64)


def _sorted(column: np.ndarray, weights: np.ndarray) -> _Column:
    used = (weights > 0) & ~np.isnan(column)
    keys, weights = _keys(column[used]), weights[used]
    order = np.argsort(keys, kind="stable")
    return _Column(keys[order], np.concatenate(([0], np.cumsum(weights[order]))))


def _keys(values: np.ndarray) -> np.ndarray:
    """Integers in the order of the values."""
    bits = (values + 0.0).view(np.int64)  # -0.0 becomes 0.0
    return bits ^ ((bits >> 63) & LAST)


def _values(keys: np.ndarray) -> np.ndarray:
    return (keys ^ ((keys >> 63) & LAST)).view(np.float64)


def _few(distinct: np.ndarray, most: int) -> np.ndarray | None:
    return distinct if len(distinct) <= most else None


def _both(a: np.ndarray | None, b: np.ndarray | None, most: int) -> np.ndarray | None:
    return None if a is None or b is None else _few(np.union1d(a, b), most)


def _quantiles(column: _Column, max_bins: int) -> tuple[np.ndarray, np.ndarray]:
    """Values at which the weight first reaches k / max_bins of all, by bisection, and the next ones."""
    total = int(parallel.added(column.sums[-1:])[0])
    goals = np.ceil(total * (np.arange(1, max_bins) / max_bins)).astype(np.int64)
    ends = (
        np.array([-column.keys[0], column.keys[-1]]) if len(column.keys) else -np.array([LAST] * 2)
    )
    first, last = parallel.largest(ends)
    low, high = np.full(len(goals), -first), np.full(len(goals), last)
    while (low < high).any():
        middle = (low & high) + ((low ^ high) >> 1)  # does not overflow
        reached = parallel.added(column.weight_up_to(middle)) >= goals
        low, high = np.where(reached, low, middle + 1), np.where(reached, middle, high)
    chosen = np.unique(low)
    following = -parallel.largest(-column.next_after(chosen))
    return chosen[following < LAST], following[following < LAST]
