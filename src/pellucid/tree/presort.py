"""Rows of every column in ascending order: computed once, used by every tree on the same table.

Layout: X (n, d) float64 in any order, levels as codes 0..L-1, missing NaN; order (d, n) int32,
equal values by row, missing rows last.
A table may stand for some of the rows of X in an order of its own: then `rows` lists them, the order
holds them alone, and "by row" means in that order.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from pellucid import parallel
from pellucid.tree._presort import longest_run, places_of, sort_column
from pellucid.tree.binned import Binned, bin_columns

LARGE = 2**20  # cells of a table whose places are not in the cache


@dataclass(frozen=True)
class Presorted:
    """A table of codes with the order of its columns."""

    X: np.ndarray
    kinds: np.ndarray  # uint8, 1: levels
    n_levels: np.ndarray  # int32, 0 for numbers
    order: np.ndarray  # int32 (d, n)
    repeated: np.ndarray  # uint8, 1: some value occurs twice
    missing: np.ndarray  # uint8, 1: some value is missing
    places: np.ndarray | None = None  # int32 (n, d), where each value stands in `order`
    common: np.ndarray | None = None  # int32 (d, 2), the longest run of one value; of large tables
    binned: Binned | None = None  # instead of any order
    rows: np.ndarray | None = None  # int32, of X in the table's order; None: all as they stand
    spare: list = field(default_factory=list)  # scratch that trees with members hand on

    @property
    def n(self) -> int:
        return self.X.shape[0]

    @property
    def d(self) -> int:
        return self.X.shape[1]

    def select(self, columns: np.ndarray) -> "Presorted":
        """The table on some of its columns."""
        return Presorted(
            X=np.asfortranarray(self.X[:, columns]),
            kinds=self.kinds[columns],
            n_levels=self.n_levels[columns],
            order=self.order[columns],
            repeated=self.repeated[columns],
            missing=self.missing[columns],
            places=None if self.places is None else np.ascontiguousarray(self.places[:, columns]),
            rows=self.rows,
        )

    def members(self, w: np.ndarray | None) -> np.ndarray:
        """The rows (int32) that have weight, None: all of them."""
        if self.rows is None:
            rows = np.arange(self.n) if w is None else np.flatnonzero(w)
            return rows.astype(np.int32)
        return self.rows.copy() if w is None else self.rows[w[self.rows] > 0]

    def placed(self, n_jobs: int | None = None) -> "Presorted":
        """The table with the places of its rows."""
        if self.places is not None:
            return self
        places = np.empty((self.n, self.d), dtype=np.int32)
        jobs = n_jobs if self.n * self.d >= 2**16 else 1
        common = np.empty((self.d, 2), dtype=np.int32) if places.size >= LARGE else None

        def place(f: int) -> None:
            places_of(self.X[:, f], self.order[f], places[:, f])
            if common is not None:
                longest_run(self.X[:, f], self.order[f], common[f])

        parallel.map(place, range(self.d), n_jobs=jobs)
        return replace(self, places=places, common=common)


def presort(
    X: np.ndarray,
    kinds: np.ndarray,
    n_levels: np.ndarray,
    n_jobs: int | None = None,
    rows: np.ndarray | None = None,
) -> Presorted:
    """Sort every column; O(n) per column, columns in parallel. `rows` (int32): of a table that is to
    be used in another order without a copy of it."""
    X = np.asarray(X, dtype=np.float64)
    n, d = X.shape if rows is None else (len(rows), X.shape[1])
    order = np.empty((d, n), np.int32)
    jobs = n_jobs if n * d >= 2**16 else 1

    def sort(f: int) -> tuple[int, bool]:
        if rows is None:
            return sort_column(np.ascontiguousarray(X[:, f]), order[f])
        facts = sort_column(X[:, f].take(rows), order[f])
        order[f] = rows.take(order[f])
        return facts

    facts = parallel.map(sort, range(d), n_jobs=jobs)
    return Presorted(
        X=X,
        kinds=np.ascontiguousarray(kinds, dtype=np.uint8),
        n_levels=np.ascontiguousarray(n_levels, dtype=np.int32),
        order=order,
        repeated=np.array([repeated for _, repeated in facts], dtype=np.uint8),
        missing=np.array([missing > 0 for missing, _ in facts], dtype=np.uint8),
        rows=rows,
    )


def binned_table(
    X: np.ndarray, kinds: np.ndarray, n_levels: np.ndarray, weights: np.ndarray
) -> Presorted:
    """A table whose columns of numbers are cut into bins; nothing is sorted for good."""
    X = np.asarray(X, dtype=np.float64)
    d = X.shape[1]
    return Presorted(
        X=X,
        kinds=np.ascontiguousarray(kinds, dtype=np.uint8),
        n_levels=np.ascontiguousarray(n_levels, dtype=np.int32),
        order=np.empty((d, 0), dtype=np.int32),
        repeated=np.zeros(d, dtype=np.uint8),
        missing=np.zeros(d, dtype=np.uint8),
        binned=bin_columns(X, kinds, weights),
    )
