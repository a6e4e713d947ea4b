"""Rows of a table by their places: a canonical order without a copy of the table.

Invariant: whatever is computed goes over the rows in the order of `places`, block by block, so that
shuffled rows and weights in place of copies give the same bits.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.data.canonical import canonical, ordered


class Placed:
    """The rows `places` (int32) of a dense table (n, p)."""

    def __init__(self, table: np.ndarray, places: np.ndarray) -> None:
        self.table, self.places = table, places
        self.shape = (len(places), table.shape[1])

    @property
    def blocks(self) -> list[slice]:
        """Smaller ones than those of a table, because each is a copy."""
        return parallel.row_blocks(self.shape[0], 8 * self.shape[1])

    def __getitem__(self, rows: Any) -> Any:
        """A block of rows as an array, by a slice; some rows that stay where they are, by numbers."""
        places = self.places[rows]
        return self.table[places] if isinstance(rows, slice) else Placed(self.table, places)

    def __matmul__(self, b: np.ndarray) -> np.ndarray:
        out = np.empty((len(self.places), *b.shape[1:]))
        for rows in self.blocks:
            out[rows] = self[rows] @ b
        return out


def in_place(problem: Problem) -> Problem:
    """The problem on its canonical rows; those of a dense table stay where they are."""
    if not isinstance(problem.X, np.ndarray) or problem.n > np.iinfo(np.int32).max:
        return canonical(problem)
    first, weights = ordered(problem)
    X = Placed(np.ascontiguousarray(problem.X), first.astype(np.int32))
    return replace(problem, X=X, y=problem.y[first], weights=weights, position=None)
