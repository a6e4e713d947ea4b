"""One view of a dense or CSR table by blocks of rows, so that algorithms need no twin methods.

Invariant: blocks depend on the shape alone; a dense block is C-contiguous float64.
"""

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.numerics import _loops
from pellucid.numerics.simd import fastest

loops = fastest(_loops)

FIRST = 1024  # rows that are looked at before all others
LARGEST_PENALTY = 1e250  # beyond this strength a coefficient is 0 anyway


def as_dense(X: Any) -> np.ndarray:
    """A dense or CSR table as an array, without a copy if it is one."""
    return X if isinstance(X, np.ndarray) else X.toarray()


def largest_cell(X: Any) -> float:
    """max |x| over the cells of a dense or CSR table; 0 if it has none."""
    cells = X if isinstance(X, np.ndarray) else X.data
    return float(max(cells.max(initial=0.0), -cells.min(initial=0.0)))


def divided(X: Any, power: int) -> Any:
    """X / 2**power, exactly, dense or CSR; X itself if power is 0."""
    if power == 0:
        return X
    if isinstance(X, np.ndarray):
        return np.ldexp(X, -power)
    return type(X)((np.ldexp(X.data, -power), X.indices, X.indptr), shape=X.shape)


def squared_lengths(X: Any) -> np.ndarray:
    """Sum of the squared cells of each row, dense or CSR."""
    if isinstance(X, np.ndarray):
        return np.einsum("ij,ij->i", X, X)
    return np.asarray(X.multiply(X).sum(axis=1), dtype=float).ravel()


def inner_products(X: Any, Z: Any) -> np.ndarray:
    """Products of all pairs of rows (n, m); sparse tables are multiplied without becoming dense."""
    return as_dense(X @ Z.T)


class Rows:
    """The rows of a table `X` ((n, p) float64 ndarray, or SciPy CSR) in fixed blocks.

    n : rows of all processes that share the table; n_here : those of `X`.
    """

    def __init__(self, X: Any):
        self.X = X
        self.n_here, self.p = X.shape
        self.n = parallel.total_rows(self.n_here)
        self.sparse = not isinstance(X, np.ndarray)
        self.blocks = parallel.row_blocks(self.n_here, self.p)

    def dense(self, rows: slice) -> np.ndarray:
        """The block as a C-contiguous array; a view if the table is one already."""
        block = self.X[rows]
        return block.toarray(order="C") if self.sparse else np.ascontiguousarray(block)

    def scaled(self, exponents: np.ndarray) -> "Rows":
        """The table with column j multiplied by 2**exponents[j]: exact."""
        if not exponents.any():
            return self
        if self.sparse:
            X = self.X.copy()
            X.data = np.ldexp(X.data, exponents[X.indices])
            return Rows(X)
        return Rows(np.ldexp(self.X, exponents))

    def largest(self) -> np.ndarray:
        """max |x| of each column."""
        if self.sparse:
            sizes = np.zeros(self.p)
            np.maximum.at(sizes, self.X.indices, np.abs(self.X.data))
            return sizes

        def partial(rows: slice) -> np.ndarray:
            block = self.X[rows]
            return np.maximum(block.max(axis=0), -block.min(axis=0))

        return parallel.reduce(partial, np.maximum, self.blocks)


def ordinary(table: Rows, limit: int) -> bool:
    """True only if every column's largest |x| surely lies between 2**-limit and 2**limit."""
    if table.sparse or not table.p:
        return False
    block = table.X[:FIRST]
    first = parallel.of_first_rows(lambda: np.maximum(block.max(axis=0), -block.min(axis=0)))

    least, top = 2.0**-limit, 2.0**limit
    return bool(first.min() > least) and top > parallel.reduce(
        lambda rows: loops.largest(table.dense(rows)), max, table.blocks
    )


def lifted(x: np.ndarray, powers: np.ndarray) -> np.ndarray:
    """x * 2**powers; `np.ldexp` takes ten times as long, and is for powers that are no float."""
    if not powers.any():
        return x
    if np.abs(powers).max() > 1000:
        return np.ldexp(x, powers)
    return x * np.ldexp(1.0, powers)


def exponents(x: np.ndarray) -> np.ndarray:
    """The e for which 2**-e x lies in [1/2, 1); 0 where x is 0."""
    return np.frexp(x)[1]


def scaled_penalty(strength: Any, exponents: Any) -> np.ndarray:
    """strength * 2**exponents, for columns that were scaled by powers of two; never infinite."""
    with np.errstate(over="ignore"):
        return np.minimum(np.ldexp(strength, exponents), LARGEST_PENALTY)
