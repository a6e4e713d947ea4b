"""What coordinate descent needs of a table: q = X'y / N, X'(y - Xb) / N and X_W'X_W / N.

X are the centred columns with rows multiplied by sqrt(w), and N is the sum of weights.

Invariant: the three classes (all products at once, plain columns, centred columns) have the same
methods, so the descent does not depend on the layout.
"""

from typing import Any, Protocol

import numpy as np

from pellucid import parallel
from pellucid.linear_model._ridge.solver import Ridge, Wide
from pellucid.numerics.double_double import loops
from pellucid.numerics.row_blocks import as_dense

# Columns up to which all products are formed at once, if there are enough rows.
GRAM_COLUMNS = 2048
SMALL = 128  # columns whose products cost little
# Cells of a sparse table up to which it is worked on as a dense one.
DENSE_CELLS = 2**22


class Products(Protocol):
    """One table with several targets."""

    mean: np.ndarray
    mean_y: np.ndarray
    q: np.ndarray  # (p, k)
    yy: np.ndarray  # (k,): y'y / N

    def gradient(self, k: int, b: np.ndarray, active: np.ndarray) -> np.ndarray: ...

    def block(self, active: np.ndarray) -> np.ndarray: ...


def make_products(task: Ridge, few: bool | None = None) -> Products:
    """The products that suit the shape of the table: all of them if the columns are `few`."""
    n, p = task.design.X.n, task.design.X.p
    if few_columns(n, p) if few is None else few:
        return AllProducts(task)
    sparse = task.design.X.sparse and n * p > DENSE_CELLS
    near = not (task.design.X.sparse or task.design.shift.any())
    return PlainColumns(task) if sparse or near else CentredColumns(task)


def few_columns(n: int, p: int) -> bool:
    """Whether the products of all columns cost less than they save."""
    return p <= GRAM_COLUMNS and p <= 4 * n


def many_rows(n: int, p: int) -> bool:
    """The same for one elastic net that keeps most columns: products then pay only with many rows."""
    return p <= SMALL or (few_columns(n, p) and n > (2 if p <= 3 * SMALL else 4) * p)


class AllProducts:
    """X'X formed once, as G - drift drift'; the rows are not read again."""

    def __init__(self, task: Ridge, gram: np.ndarray | None = None) -> None:
        design, G = task.design, task.products() if gram is None else gram
        c, p = int(design.constant), design.X.p
        self.total = float(G[0, 0]) if c else float(design.weights.sum())
        root = np.sqrt(self.total)
        drift = G[0, 1:] / root if c else np.zeros(len(G))
        squares = np.diagonal(G)[c:] - drift**2
        self.mean, self.mean_y = design.shift + drift[:p] / root, design.start + drift[p:] / root
        # A column that is constant up to rounding has no effect.
        constant = squares[:p] <= design.noise(self.total) ** 2
        if constant.any():
            G, place = G.copy(), c + np.flatnonzero(constant)
            G[place] = G[:, place] = 0.0
            drift[:p][constant] = 0.0
        self.G, self.drift = G[c : c + p, c : c + p], drift[:p].copy()
        self.q = (G[c : c + p, c + p :] - np.outer(self.drift, drift[p:])) / self.total
        self.yy = np.maximum(squares[p:], 0.0) / self.total

    def gradient(self, k: int, b: np.ndarray, active: np.ndarray) -> np.ndarray:
        few = 4 * len(active) < len(b)
        Gb = b[active] @ self.G[active] if few else b @ self.G
        return self.q[:, k] - (Gb - (b @ self.drift) * self.drift) / self.total

    def rows(self, active: np.ndarray) -> np.ndarray:
        return (self.G[active] - np.outer(self.drift[active], self.drift)) / self.total

    def block(self, active: np.ndarray) -> np.ndarray:
        own = self.drift[active]
        return (self.G[np.ix_(active, active)] - np.outer(own, own)) / self.total


class Columns:
    """Products of columns are made when a column becomes active, and kept."""

    y: np.ndarray
    q: np.ndarray

    def __init__(self, p: int) -> None:
        self.place = np.full(p, -1)
        self.kept = 0
        self.order = np.empty(0, dtype=np.intp)  # the columns that are kept
        self.A = np.empty((0, 0))  # (kept, n)
        self.G = np.empty((0, 0))

    def columns(self, active: np.ndarray) -> np.ndarray:
        """Centred, weighted columns, divided by sqrt(N)."""
        raise NotImplementedError

    def products_with(self, r: np.ndarray) -> np.ndarray:
        """X'r / sqrt(N) for all columns."""
        raise NotImplementedError

    def _keep(self, active: np.ndarray) -> np.ndarray:
        """The places of these columns among those that are kept."""
        new = active[self.place[active] < 0]
        if len(new):
            fresh, k = self.columns(new), self.kept + len(new)
            if k > len(self.A):  # with room for more
                more = np.empty((min(2 * k, len(self.place)), len(fresh)))
                if self.kept:
                    more[: self.kept] = self.A[: self.kept]
                self.A = more
            self.A[self.kept : k] = fresh.T
            self.place[new] = np.arange(self.kept, k)
            self.order = np.append(self.order, new)
            self.kept = k
        return self.place[active]

    def gradient(self, k: int, b: np.ndarray, active: np.ndarray) -> np.ndarray:
        if not len(active):
            return self.q[:, k].copy()
        places = self._keep(active)
        full = np.zeros(self.kept)
        full[places] = b[active]
        return self.products_with(self.y[:, k] - full @ self.A[: self.kept])

    def kept_columns(self, active: np.ndarray) -> np.ndarray:
        """Centred, weighted columns (k, n), divided by sqrt(N)."""
        places = self._keep(active)
        return self.A[places]

    def all_kept(self, active: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """All columns that are kept, these included, without a copy, and which they are."""
        self._keep(active)
        return self.A[: self.kept], self.order

    def block(self, active: np.ndarray) -> np.ndarray:
        places, known = self._keep(active), len(self.G)
        if known < self.kept:
            A, G = self.A[: self.kept], np.empty((self.kept, self.kept))
            G[:known, :known] = self.G
            G[:, known:] = A @ A[known:].T
            G[known:, :known] = G[:known, known:].T
            self.G = G
        return np.ascontiguousarray(self.G[np.ix_(places, places)])


class CentredColumns(Columns):
    """A centred, weighted copy of a table with columns far from 0."""

    def __init__(self, task: Ridge) -> None:
        super().__init__(task.design.X.p)
        wide = Wide(task)
        root = np.sqrt(task.design.weights.sum())
        self.mean, self.mean_y = wide.mean, wide.mean_y
        self.X, self.y = wide.A / root, wide.y / root  # `wide.A` may be the user's own table
        self.q, self.yy = self.X.T @ self.y, np.square(self.y).sum(axis=0)

    def columns(self, active: np.ndarray) -> np.ndarray:
        return self.X[:, active]

    def products_with(self, r: np.ndarray) -> np.ndarray:
        return r @ self.X


class PlainColumns(Columns):
    """The table as it is, dense or sparse: means are subtracted from the products."""

    def __init__(self, task: Ridge) -> None:
        design = task.design
        super().__init__(design.X.p)
        self.X: Any = design.X.X.tocsc() if design.X.sparse else design.X.X
        total = float(design.weights.sum())
        share = design.weights / total
        self.root = np.sqrt(share)
        c = float(design.constant)
        self.mean_y = c * (share @ design.Y)
        self.y = (design.Y - self.mean_y) * self.root[:, None]
        weighted = self.root[:, None] * self.y
        sums = self._sums(np.column_stack([share, weighted]).T)  # one pass for all
        self.mean = c * sums[0]
        self.q = (sums[1:] - np.outer(weighted.sum(axis=0), self.mean)).T
        self.yy = np.square(self.y).sum(axis=0)

    def columns(self, active: np.ndarray) -> np.ndarray:
        own = self.X[:, active]
        dense = as_dense(own)
        return (dense - self.mean[active]) * self.root[:, None]

    def products_with(self, r: np.ndarray) -> np.ndarray:
        weighted = self.root * r
        return self._sums(weighted[None])[0] - self.mean * weighted.sum()

    def _sums(self, weighted: np.ndarray) -> np.ndarray:
        """(k, p): the rows, added up with each of k weights."""
        if not isinstance(self.X, np.ndarray):
            return np.asarray(self.X.T @ weighted.T).T
        n, p = self.X.shape

        def partial(rows: slice) -> np.ndarray:
            if len(weighted) == 1:  # BLAS is quicker
                return (weighted[0, rows] @ self.X[rows])[None]
            total = np.zeros((len(weighted), p))
            loops.row_sums(self.X[rows], np.ascontiguousarray(weighted[:, rows]), total)
            return total

        return parallel.reduce(partial, np.ndarray.__iadd__, parallel.row_blocks(n, p))
