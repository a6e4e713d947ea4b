"""Votes of rows that tie at the largest distance that counts.

If more rows are as far as the k-th nearest one than the k votes can include, all of them share the votes
that are left. Any choice among them would have to depend on the order of the rows or favour a class.
"""

from collections.abc import Callable

import numpy as np

from pellucid.neighbors.ragged import Lists, joined
from pellucid.neighbors.votes import RadiusVotes

ENTRIES = 2**22  # neighbours of tied queries in memory at a time
WIDER = 8  # times as many neighbours are searched where all of them tie

Nearest = Callable[[np.ndarray, int], tuple[np.ndarray, np.ndarray]]


def tied_rows(
    nearest: Nearest, queries: np.ndarray, last: np.ndarray, k: int, most: int
) -> tuple[np.ndarray, Lists]:
    """All rows up to the distance `last` of some queries, more than k; and the queries in that order.

    nearest(queries, k) gives distances and positions of the k nearest rows; there are `most` rows.
    """
    done, parts = [], []
    while len(queries):
        k = min(WIDER * k, most)
        step, left = max(1, ENTRIES // k), []
        for start in range(0, len(queries), step):
            own, end = queries[start : start + step], last[start : start + step]
            distances, positions = nearest(own, k)
            whole = (distances[:, -1] > end) | (k == most)
            inside = (distances <= end[:, None]) & whole[:, None]
            counts = inside.sum(axis=1)[whole]
            parts.append(Lists(counts, distances[inside], positions[inside]))
            done.append(own[whole])
            left.append(start + np.flatnonzero(~whole))
        queries, last = queries[np.concatenate(left)], last[np.concatenate(left)]
    return np.concatenate(done), joined(parts)


def shared(lists: Lists, weights: np.ndarray, tied: np.ndarray) -> RadiusVotes:
    """The shares of the listed rows, nearest first.

    weights (m, k) are those of the k votes; `tied`: of which of them the last distances are equal. They
    are shared by all rows that follow the others in a list.
    """
    total = weights.sum(axis=1)
    n_nearer = (~tied).sum(axis=1)
    with np.errstate(all="ignore"):  # what is not finite is refused by the caller
        each = (weights * tied).sum(axis=1) / (lists.counts - n_nearer)
    owners, place = (
        lists.owners,
        np.arange(len(lists.rows)) - np.repeat(lists.starts[:-1], lists.counts),
    )
    own = weights[owners, np.minimum(place, weights.shape[1] - 1)]
    own = np.where(place < n_nearer[owners], own, each[owners])
    return RadiusVotes(lists, own / total[owners])
