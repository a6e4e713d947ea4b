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
    found = [_sorted(X[:, j], counts) for j in columns]
    few = parallel.everywhere(
        [_few(_distinct(column.keys), max_bins) for column in found],
        lambda a, b: [_both(one, other, max_bins) for one, other in zip(a, b)],
    )
    many = iter(_quantiles([c for c, distinct in zip(found, few) if distinct is None], max_bins))
    out = {}
    for j, distinct in zip(columns.tolist(), few):
        low, high = next(many) if distinct is None else (distinct[:-1], distinct[1:])
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
    if len(keys) and (weights == weights[0]).all():
        keys.sort()
        return _Column(keys, weights[0] * np.arange(len(keys) + 1))
    order = np.argsort(keys, kind="stable")
    return _Column(keys[order], np.concatenate(([0], np.cumsum(weights[order]))))


def _distinct(keys: np.ndarray) -> np.ndarray:
    """The different ones of sorted keys."""
    return keys[np.append(True, keys[1:] != keys[:-1])] if len(keys) else keys


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


def _quantiles(columns: list[_Column], max_bins: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """For each column the values at which the weight first reaches k / max_bins of all, and those after.

    A pass tells for seven pivots of every interval whether the weight is reached there. The intervals
    of all columns shrink to an eighth in a pass, so that there are at most 22.
    """
    if not columns:
        return []
    totals = parallel.added(np.array([column.sums[-1] for column in columns]))
    goals = np.ceil(totals[:, None] * (np.arange(1, max_bins) / max_bins)).astype(np.int64)
    ends = [(-c.keys[0], c.keys[-1]) if len(c.keys) else (-LAST, -LAST) for c in columns]
    first, last = parallel.largest(np.array(ends)).T
    low, high = (np.repeat(end[:, None], goals.shape[1], axis=1) for end in (-first, last))
    while (low < high).any():
        pivots = _pivots(low, high)
        weights = [c.weight_up_to(own) for c, own in zip(columns, pivots)]
        reached = parallel.added(np.array(weights)) >= goals[:, None]
        open_ = low < high
        above = np.where(reached, pivots, high[:, None]).min(axis=1)
        below = np.where(reached, low[:, None], pivots + 1).max(axis=1)
        low, high = np.where(open_, below, low), np.where(open_, above, high)
    after = np.array([c.next_after(own) for c, own in zip(columns, low)])
    return [_ends(*own) for own in zip(low, -parallel.largest(-after))]


def _pivots(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Seven keys that cut every interval into eight, (columns, 7, goals); below `high` if it is open."""
    cuts = {0: low, 8: high}
    for step in (4, 2, 1):
        for k in range(step, 8, 2 * step):
            a, b = cuts[k - step], cuts[k + step]
            cuts[k] = (a & b) + ((a ^ b) >> 1)  # the middle, which does not overflow
    return np.stack([cuts[k] for k in range(1, 8)], axis=1)


def _ends(chosen: np.ndarray, following: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each chosen key that has a following one, and that one, once."""
    chosen, place = np.unique(chosen, return_index=True)
    kept = following[place] < LAST
    return chosen[kept], following[place][kept]
