"""Some rows of a table in some order, gathered only as far as somebody asks for them.

Binning and sorting look at a table once, column by column: a reordered copy of it would be the
largest array of the whole fit. Invariant: `np.asarray(rows)` is `table[order]`.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from pellucid.data import Problem
from pellucid.data.canonical import merged


class Rows:
    """The rows `order` (int64) of a table (n, d) of float64."""

    def __init__(self, table: np.ndarray, order: np.ndarray) -> None:
        self.table, self.order = table, order
        self.shape = (len(order), table.shape[1])

    def __len__(self) -> int:
        return len(self.order)

    def __getitem__(self, key: Any) -> Any:
        """A column `[:, j]`, or the `Rows` of some of these rows."""
        if isinstance(key, tuple):
            every, j = key
            assert every == slice(None)
            return self.table[:, j][self.order]
        return Rows(self.table, self.order[key])

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return np.asfortranarray(self.table[self.order]).astype(dtype or np.float64, copy=False)


def in_canonical_order(problem: Problem, position: bool = True) -> Problem:
    """The problem on canonical rows whose X is `Rows` of the table as it stands; without `position`
    if nobody asks where the user's rows are."""
    first, weights, at = merged(problem)
    return replace(
        problem,
        X=Rows(problem.X, first),
        y=problem.y[first],
        weights=weights,
        offset=None if problem.offset is None else problem.offset[first],
        position=at if position else None,
    )
