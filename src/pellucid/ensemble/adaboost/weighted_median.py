"""The weighted median of base estimators, and the share of its path that is due to each."""

import numpy as np

from pellucid import parallel

BLOCK = 2**11  # rows that are sorted together


def weighted(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Index of the first value of each row, ascending, at which half of the weight is reached.

    >>> weighted(np.array([[10.0, 30.0, 20.0, 40.0]]), np.array([0.4, 0.6, 0.2, 0.8]))
    array([1])
    """

    def of_block(first: int) -> np.ndarray:
        part = values[first : first + BLOCK]
        order = np.argsort(part, axis=1, kind="stable")
        reached = np.cumsum(weights[order], axis=1)
        half = (reached >= 0.5 * reached[:, -1:]).argmax(axis=1)
        return order[np.arange(len(part)), half]

    return np.concatenate(parallel.map(of_block, range(0, max(len(values), 1), BLOCK)))


def shares(start: np.ndarray, end: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(n, T): the share of the path from start (T,) to end (n, T) on which each value is the median.

    All values move evenly, value_t(s) = start_t + s (end_t - start_t), s from 0 to 1. The median
    moves with one of them at a time and changes to another only where two are equal, so
    median(end) - median(start) = sum_t share_t (end_t - start_t).
    """
    out = np.zeros(end.shape)
    for row, goal in zip(out, end):
        with np.errstate(all="ignore"):
            speed = goal - start
            meetings = (start[None, :] - start[:, None]) / (speed[:, None] - speed[None, :])
        inside = np.unique(meetings[(meetings > 0.0) & (meetings < 1.0)])
        times = np.concatenate(([0.0], inside, [1.0]))
        middle = 0.5 * (times[1:] + times[:-1])
        median = weighted(start + middle[:, None] * speed, weights)
        np.add.at(row, median, np.diff(times))
    return out
