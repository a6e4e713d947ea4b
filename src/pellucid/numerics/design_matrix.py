"""The rows that least squares is made of, [1, X - shift, Y - start] sqrt(w), and their products.

Invariant: products are sums over fixed blocks or panels, so threads change no bit.
"""

import math
from dataclasses import dataclass
from itertools import combinations_with_replacement, pairwise
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.numerics.double_double import loops
from pellucid.numerics.linalg import EPS, block_qr
from pellucid.numerics.row_blocks import FIRST, Rows
from pellucid.parallel.shard import shard

NEAR = 4.0  # offset of a column, in units of its spread, that costs products no digit
FEW_EDGES = 3
COPIED = 2**14  # cells up to which rows are copied beside the targets, for one product
PANELS = 4  # of columns, from which a large matrix of products is made


@dataclass(frozen=True)
class Design:
    """[1, X - shift, Y - start] with rows multiplied by sqrt(w): what Gram and QR are made of."""

    X: Rows
    Y: np.ndarray
    weights: np.ndarray
    constant: bool
    shift: np.ndarray
    start: np.ndarray

    def block(self, rows: slice) -> np.ndarray:
        p, c = self.X.p, int(self.constant)
        X, Y, w = self.X.dense(rows), self.Y[rows], self.weights[rows]
        A = np.empty((len(X), c + p + Y.shape[1]))
        A[:, :c] = 1.0
        np.subtract(X, self.shift, out=A[:, c : c + p])
        np.subtract(Y, self.start, out=A[:, c + p :])
        if w.min(initial=1.0) != 1.0 or w.max(initial=1.0) != 1.0:
            A *= np.sqrt(w)[:, None]
        return A

    def columns(self) -> np.ndarray:
        """(X - shift) sqrt(w), C-contiguous; X itself where that is the same."""
        X = self.X.dense(slice(None))
        X = X - self.shift if self.shift.any() else X
        return X if np.all(self.weights == 1.0) else X * np.sqrt(self.weights)[:, None]

    def gram(self) -> np.ndarray:
        """Products of all columns; those of two targets may be left out, as 0."""
        plain = not (
            self.X.sparse or self.shift.any() or parallel.any_row((self.weights != 1.0).any())
        )
        with np.errstate(over="ignore", invalid="ignore"):  # found and mended afterwards
            if plain and self.X.n * self.X.p > COPIED:
                return self._plain_gram()
            return parallel.reduce(self._block_gram, np.ndarray.__iadd__, self.X.blocks)

    def _block_gram(self, rows: slice) -> np.ndarray:
        A = self.block(rows)
        return A.T @ A  # NumPy sees one array twice and calls syrk

    def gram_along(self, V: np.ndarray, drift: np.ndarray) -> np.ndarray:
        """That of (X - shift - drift) V."""
        targets = np.zeros((self.Y.shape[1], V.shape[1]))
        sides = np.concatenate([-(drift @ V)[None, :][: int(self.constant)], V, targets])

        def partial(rows: slice) -> np.ndarray:
            A = self.block(rows) @ sides
            return A.T @ A

        return parallel.reduce(partial, np.ndarray.__iadd__, self.X.blocks)

    def _plain_gram(self) -> np.ndarray:
        """The same where nothing is to be done to the rows of X: they are not copied."""
        c, p = int(self.constant), self.X.p
        G = np.empty((c + p + self.Y.shape[1],) * 2)
        inner = G[c : c + p, c : c + p]
        if p > min(parallel.block_rows(p), self.X.n) and shard() is None:
            products_by_columns(self.X.X, inner)
            edge = self._edge(slice(None))
            cross, corner = edge @ self.X.X, _edge_products(edge, c)
        else:
            sums, corner = parallel.reduce(
                lambda rows: _by_rows(self.X.dense(rows), self._edge(rows), c),
                lambda a, b: (a[0].__iadd__(b[0]), a[1] + b[1]),
                self.X.blocks,
            )  # fmt: skip
            inner[:], cross = sums[:p], sums[p:]
        G[:c, c : c + p], G[c + p :, c : c + p] = cross[:c], cross[c:]
        G[c : c + p, :c], G[c : c + p, c + p :] = cross[:c].T, cross[c:].T
        G[:c, :c], G[:c, c + p :] = corner[:c, :c], corner[:c, c:]
        G[c + p :, :c], G[c + p :, c + p :] = corner[c:, :c], corner[c:, c:]
        return G

    def _edge(self, rows: slice) -> np.ndarray:
        """The columns beside X, as rows: the constant, and the targets."""
        c, Y = int(self.constant), self.Y[rows]
        many = c + Y.shape[1] > FEW_EDGES  # then they stay as they lie
        edge = np.empty((c + Y.shape[1], len(Y)), order="F" if many else "C")
        edge[:c] = 1.0
        np.subtract(Y.T, self.start[:, None], out=edge[c:])
        return edge

    def triangle(self) -> np.ndarray:
        return block_qr(self.block, self.X.blocks)

    def noise(self, total: float) -> np.ndarray:
        """Length of a column that is constant up to the rounding of its entries."""
        return 4 * EPS * math.sqrt(total) * np.abs(self.shift)


def make_design(X: Rows, Y: np.ndarray, weights: np.ndarray, constant: bool) -> Design:
    """Columns far from 0 are shifted by the mean of the first rows: near enough to their mean.

    Near 0 products lose nothing by the offset, which is taken off them in the end.
    """
    if not constant:
        return Design(X, Y, weights, False, np.zeros(X.p), np.zeros(Y.shape[1]))
    return Design(X, Y, weights, True, *parallel.of_first_rows(lambda: _first_means(X, Y, weights)))


def _first_means(X: Rows, Y: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Shifts of the columns of X and of Y."""
    rows = slice(0, min(X.blocks[0].stop, FIRST))
    if X.sparse:
        return _first_sparse_means(X.X[rows], Y[rows], weights[rows])
    shift, start = np.zeros(X.p), np.zeros(Y.shape[1])
    loops.first_means(X.dense(rows), Y[rows], weights[rows], NEAR, shift, start)
    return shift, start


def _first_sparse_means(X: Any, Y: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same for CSR, which does not become dense."""
    total, even = float(w.sum()), np.full(len(w), 1 / len(w))
    share = w / total if total else even
    with np.errstate(over="ignore", invalid="ignore"):
        squares = type(X)((np.square(X.data), X.indices, X.indptr), shape=X.shape)
        mean, middle = X.T @ share, X.T @ even
        shift = np.where(mean**2 <= NEAR**2 * (squares.T @ even - middle**2), 0.0, mean)
    return shift, share @ Y


def _by_rows(X: np.ndarray, edge: np.ndarray, c: int) -> tuple[np.ndarray, np.ndarray]:
    """[X, edge']'X and `_edge_products`."""
    p = X.shape[1]
    sums = np.zeros((p + len(edge), p))
    if len(edge) > FEW_EDGES:
        np.matmul(edge, X, out=sums[p:])
    else:  # BLAS reads the rows once for each edge
        loops.row_sums(X, np.ascontiguousarray(edge), sums[p:])
    np.matmul(X.T, X, out=sums[:p])
    return sums, _edge_products(edge, c)


def _edge_products(edge: np.ndarray, c: int) -> np.ndarray:
    """edge edge'; of many targets only the diagonal: products of two targets are never read."""
    if len(edge) <= FEW_EDGES:
        return edge @ edge.T
    products = np.diag(np.einsum("ij,ij->i", edge, edge))
    products[:c] = edge[:c] @ edge.T
    products[:, :c] = products[:c].T
    return products


def products_by_columns(X: np.ndarray, G: np.ndarray) -> None:
    """G = X'X for many columns: every task makes a part of it, so that nothing is held twice."""
    ends = np.linspace(0, X.shape[1], PANELS + 1).astype(int)
    panels = [slice(begin, end) for begin, end in pairwise(ends)]

    def part(pair: tuple[slice, slice]) -> None:
        a, b = pair
        np.matmul(X[:, a].T, X[:, b], out=G[a, b])  # NumPy sees one array twice and calls syrk
        if a != b:
            G[b, a] = G[a, b].T

    parallel.map(part, list(combinations_with_replacement(panels, 2)))
