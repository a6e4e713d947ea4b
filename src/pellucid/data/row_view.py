"""`RowView`: rows of a table in another order, without a copy of the table.

Fits that put rows into canonical order would otherwise hold a second table, often their largest array.
Invariant: row i of the view is row `places[i]` of the table.
"""

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.parallel.external import take


class RowView:
    """The rows `places` (int32) of a table (n, p), a dense array or CSR."""

    def __init__(self, table: Any, places: np.ndarray) -> None:
        self.table, self.places = table, places
        self.shape = (len(places), table.shape[1])

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, key: Any) -> Any:
        """A column `[:, j]` or a slice of rows as an array; rows by their numbers as a view."""
        if isinstance(key, tuple):
            every, j = key
            assert every == slice(None)
            return take(self.table[:, j], self.places)
        places = self.places[key]
        return self.table[places] if isinstance(key, slice) else RowView(self.table, places)

    def __matmul__(self, b: np.ndarray) -> np.ndarray:
        out = np.empty((len(self), *b.shape[1:]))
        for rows in blocks_of(self):
            out[rows] = self[rows] @ b
        return out


def blocks_of(X: Any) -> list[slice]:
    """Slices of rows that fit into the cache; those of a view are smaller, because each is copied."""
    n, p = X.shape
    return parallel.row_blocks(n, 8 * p if isinstance(X, RowView) else p)
