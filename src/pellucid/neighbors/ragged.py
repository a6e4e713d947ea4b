"""Lists of neighbours of unequal length, one after the other.

Invariant: `distances` and `rows` have sum(counts) entries; those of query i follow those of query i - 1,
nearest first, equally near ones by row.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from pellucid.neighbors import _loops, _within


@dataclass(frozen=True)
class Lists:
    """Numbers of neighbours of m queries (m,), their distances and rows."""

    counts: np.ndarray
    distances: np.ndarray
    rows: np.ndarray

    @property
    def owners(self) -> np.ndarray:
        """The query of each entry."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    @property
    def starts(self) -> np.ndarray:
        """Where the entries of each query begin, and the end of the last."""
        return np.concatenate([[0], np.cumsum(self.counts)])

    def within(self, distances: np.ndarray, radius: float) -> "Lists":
        """Only entries within the radius, with these distances."""
        return Lists(self.counts, distances, self.rows).keep(distances <= radius)

    def keep(self, mask: np.ndarray) -> "Lists":
        """Only the entries where the mask is True."""
        if mask.all():
            return self
        counts = np.bincount(self.owners[mask], minlength=len(self.counts))
        return Lists(counts, self.distances[mask], self.rows[mask])

    def each(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """(distances, rows) of each query."""
        starts = self.starts.tolist()
        return [(self.distances[a:b], self.rows[a:b]) for a, b in pairwise(starts)]


def grouped(found: _within.Found, m: int) -> Lists:
    """What the compiled loops found for m queries, query by query and sorted."""
    size = len(found)
    owners, near = np.empty(size, dtype=np.int32), np.empty(size)
    rows = np.empty(size, dtype=np.int32)
    found.arrays(owners, near, rows)
    if (np.diff(owners) < 0).any():
        order = np.argsort(owners, kind="stable")
        near, rows = near[order], rows[order]
    lists = Lists(np.bincount(owners, minlength=m), near, rows)
    _loops.sort_parts(near, rows, lists.starts)
    return lists


def joined(parts: list[Lists]) -> Lists:
    """Lists of blocks of queries, one block after the other."""
    names = ("counts", "distances", "rows")
    counts, distances, rows = (np.concatenate([getattr(p, name) for p in parts]) for name in names)
    return Lists(counts, distances, rows.astype(np.int64))


def merged(parts: list[tuple[np.ndarray, Lists]]) -> Lists:
    """Lists of groups of queries, (queries, lists) each, in the order of the queries."""
    each = {int(i): one for queries, lists in parts for i, one in zip(queries, lists.each())}
    return of_each([each[i] for i in range(len(each))])


def of_each(each: list[tuple[np.ndarray, np.ndarray]]) -> Lists:
    """Lists from the (distances, rows) of each query."""
    counts = np.array([len(near) for near, _ in each])
    return Lists(counts, *(np.concatenate(part) for part in zip(*each)))


def of_table(table: np.ndarray, radius: float) -> Lists:
    """Finite entries of a table of distances (queries, rows) within the radius."""
    owners, rows = np.nonzero(table <= min(radius, np.finfo(float).max))
    near = table[owners, rows]
    order = np.lexsort((rows, near, owners))
    return Lists(np.bincount(owners, minlength=len(table)), near[order], rows[order])


def split(lists: Lists, names: Any) -> tuple[np.ndarray, np.ndarray]:
    """Object arrays of distances and of names[rows], as `radius_neighbors` returns them."""
    distances, rows = (np.empty(len(lists.counts), dtype=object) for _ in range(2))
    for i, (near, places) in enumerate(lists.each()):
        distances[i], rows[i] = near, names[places]
    return distances, rows
