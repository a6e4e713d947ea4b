"""The objective of logistic regression, summed over fixed blocks of rows.

    F(B) = sum_i w_i loss(y_i, X_i B') + alpha / 2 sum_kl M_kl b_k . b_l

Class 0 is the reference (score 0); B is (q, p + 1) for the classes 1..q, the intercept in the last
column and unpenalised. For two classes M = 1. For more, M = 1 - 1/K on the diagonal and -1/K off it:
that is the penalty of scikit-learn's symmetric coefficients, of which B is the difference from
class 0, so both have the same optimum, and B has no direction along which F is flat.

Invariant: one visit of a block gives loss, gradient and curvature; sums run in block order.
"""

import functools
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.linear_model._logistic import _classes, _loops, _small
from pellucid.numerics.linalg import EPS, block_qr, cholesky_factor
from pellucid.numerics.optimise import Solve
from pellucid.numerics.row_blocks import Rows
from pellucid.numerics.simd import fastest

# Cells of a table up to which one compiled visit is faster than BLAS.
SMALL = 2**14
# Float32 curvature is enough to steer Newton's method, unless columns are nearly dependent.
SINGLE_WORK = 2**22
SINGLE_CONDITION = 1e2
STRIP = 2048  # rows whose curvature is summed at a time
FEW_CLASSES = 8  # up to so many scores a row, one compiled visit is faster than two of BLAS


@dataclass(frozen=True)
class Likelihood:
    """Problem of q + 1 classes; `shift` is taken off the columns when a block is visited."""

    X: Rows
    y: np.ndarray
    weights: np.ndarray
    n_classes: int
    alpha: np.ndarray  # (p,), one per column because columns may have been scaled
    intercept: bool
    shift: np.ndarray | None = None
    # x, value, gradient, the least and largest probability; of a small table all of them, P
    last: dict[str, Any] = field(init=False, default_factory=dict)

    @property
    def q(self) -> int:
        return self.n_classes - 1

    @property
    def size(self) -> int:
        return self.q * (self.X.p + 1)

    @functools.cached_property
    def metric(self) -> np.ndarray:
        """M of the penalty."""
        if self.q == 1:
            return np.ones((1, 1))
        return np.eye(self.q) - 1.0 / self.n_classes

    def block(self, rows: Any) -> Any:
        """Rows (a slice, or numbers) of the table; CSR stays CSR where nothing is taken off."""
        if self.shift is not None:
            return self.X.dense(rows) - self.shift
        known = self.views.get((rows.start, rows.stop)) if isinstance(rows, slice) else None
        return self.X.X[rows] if known is None else known[0]

    @functools.cached_property
    def views(self) -> dict[tuple[int, int], tuple[Any, Any]]:
        """The blocks of a CSR table, and their transposes: making them takes longer than using them."""
        if not self.X.sparse or self.shift is not None:
            return {}
        X, found = self.X.X, {}
        for rows in self.X.blocks:
            first, last = X.indptr[rows.start], X.indptr[rows.stop]
            inside = slice(first, last)
            parts = (
                X.data[inside],
                X.indices[inside],
                X.indptr[rows.start : rows.stop + 1] - first,
            )
            block = type(X)(parts, shape=(rows.stop - rows.start, X.shape[1]))
            found[rows.start, rows.stop] = block, block.T
        return found

    def table(self, rows: slice) -> np.ndarray:
        """The block, dense, and the column of the intercept (0 without one)."""
        block = self.block(rows)
        table = np.empty((block.shape[0], self.X.p + 1))
        table[:, :-1] = block if isinstance(block, np.ndarray) else block.toarray()
        table[:, -1] = float(self.intercept)
        return table

    def unpack(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        B = x.reshape(self.q, -1)
        return B[:, :-1], B[:, -1]

    def scores(self, block: Any, x: np.ndarray) -> np.ndarray:
        B, b = self.unpack(x)
        Z = block @ B.T
        Z += b
        return Z

    def _gradient(self, rows: slice, block: Any, R: np.ndarray) -> np.ndarray:
        G = np.empty((self.q, self.X.p + 1))
        if isinstance(block, np.ndarray):
            G[:, :-1] = R.T @ block
        else:
            known = self.views.get((rows.start, rows.stop))
            G[:, :-1] = ((block.T if known is None else known[1]) @ R).T
        G[:, -1] = R.sum(axis=0) if self.intercept else 0.0
        return G.ravel()

    def evaluate(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """F and its gradient; asked for the same array again, it remembers."""
        if self.last.get("x") is x:
            return self.last["value"], self.last["gradient"]
        if self.small:
            value, g, *ends = self._small_sums(x)
        else:
            value, g, *ends = self._block_sums(x)
            B, _ = self.unpack(x)
            pull = self.alpha * (self.metric @ B)
            value += 0.5 * float(np.vdot(pull, B))
            g.reshape(self.q, -1)[:, :-1] += pull
        self.last.update(x=x, value=value, gradient=g, ends=ends)
        return value, g

    def chances(self, x: np.ndarray, rows: slice) -> np.ndarray:
        """Probabilities of the classes 1..q; those of a large table are found when asked for."""
        if not self.small:
            return self._part(self.block(rows), rows, x)[2]
        self.evaluate(x)
        return self.last["P"][rows]

    @functools.cached_property
    def small(self) -> bool:
        """One visit by a compiled loop serves best."""
        return not self.X.sparse and self.X.n * (self.X.p + 1) * self.q <= SMALL

    @functools.cached_property
    def whole(self) -> np.ndarray:
        """The small table, what is to be taken off taken off."""
        return np.ascontiguousarray(self.block(slice(None)))

    def _small_sums(self, x: np.ndarray) -> tuple[float, np.ndarray, float, float]:
        """F and its gradient, the least and largest probability."""
        P, G = np.empty((self.X.n, self.q)), np.empty((self.q, self.X.p + 1))
        B = x.reshape(self.q, -1)
        value = _small.gradient(
            self.whole, self.y, self.weights, self.intercept, B, self.alpha, self.metric, P, G
        )
        self.last["P"] = P
        return value, G.ravel(), float(P.min()), float(P.max())

    def _block_sums(self, x: np.ndarray) -> tuple[float, np.ndarray, float, float]:
        """Loss and its gradient, the least and largest probability."""

        def partial(rows: slice) -> tuple[float, np.ndarray, float, float]:
            loss, g, P = self._part(self.block(rows), rows, x)
            return loss, g, float(P.min()), float(P.max())

        def combine(a: tuple, b: tuple) -> tuple:
            return a[0] + b[0], a[1] + b[1], min(a[2], b[2]), max(a[3], b[3])

        return parallel.reduce(partial, combine, self.X.blocks)

    def _part(self, block: Any, rows: slice, x: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Loss, gradient and probabilities of some rows."""
        y, w = self.y[rows], self.weights[rows]
        if not isinstance(block, np.ndarray) or self.q > FEW_CLASSES:
            P = self.scores(block, x)
            R = np.empty_like(P)
            return _loops.class_losses(P, y, w, True, R), self._gradient(rows, block, R), P
        P, G = np.empty((len(y), self.q)), np.empty((self.q, self.X.p + 1))
        loss = fastest(_classes).visit(block, y, w, x.reshape(self.q, -1), P, G)
        if not self.intercept:
            G[:, -1] = 0.0
        return loss, G.ravel(), P

    def curvature(self, x: np.ndarray, single: bool = False) -> np.ndarray:
        """The matrix of second derivatives, (size, size)."""
        if self.small:
            self.evaluate(x)
            return self._small_curvature()
        if not x.any():
            return self._curvature_at_zero()
        dtype = np.float32 if single else np.float64
        H = parallel.reduce(
            lambda rows: self._block_curvature(rows, x, dtype), np.ndarray.__iadd__, self.X.blocks
        )
        for k in range(self.q):
            for l in range(k):
                H[k, l] *= -1.0
                H[l, k] = H[k, l]
        return self._penalised(H)

    def _block_curvature(self, rows: slice, x: np.ndarray, dtype: type) -> np.ndarray:
        """The sums of a block, a few rows at a time: what they are scaled to stays in the cache."""
        q, width = self.q, self.X.p + 1
        H, weigh = np.zeros((q, q, width, width)), fastest(_classes).weigh
        rounded = -(-width // 8) * 8  # a width BLAS likes
        scaled = np.zeros((min(STRIP, rows.stop - rows.start), rounded), dtype=dtype)
        for start in range(rows.start, rows.stop, STRIP):
            part = slice(start, min(start + STRIP, rows.stop))
            block, w = self.block(part), self.weights[part]
            P = self._part(block, part, x)[2]
            block = block if isinstance(block, np.ndarray) else block.toarray()
            A = scaled[: len(w)]
            for k in range(q):
                for l in range(k + 1):
                    weigh(block, w, P, k, l, self.intercept, A)
                    H[k, l] += (A.T @ A)[:width, :width]
        return H

    def _small_curvature(self) -> np.ndarray:
        H, work = self.small_work()
        _small.curvature(
            self.whole, self.weights, self.last["P"], self.intercept, self.alpha, self.metric, H,
            work[:2], work[2:],
        )  # fmt: skip
        return H.reshape(self.size, self.size)

    def small_work(self) -> tuple[np.ndarray, np.ndarray]:
        """Room for second derivatives (q, p + 1, q, p + 1), and for the sums they are made of."""
        width, pairs = self.X.p + 1, self.q * (self.q + 1) // 2
        H = np.empty((self.q, width, self.q, width))
        return H, np.empty((pairs + 2, width * (width + 1) // 2))

    def _curvature_at_zero(self) -> np.ndarray:
        """Where all classes are equally likely, one Gram matrix serves all pairs."""

        def partial(rows: slice) -> np.ndarray:
            table = self._weighted(rows)
            return table.T @ table

        gram = parallel.reduce(partial, np.ndarray.__iadd__, self.X.blocks)
        share = 1.0 / self.n_classes
        pairs = share * (np.eye(self.q) - share)
        return self._penalised(pairs[:, :, None, None] * gram)

    def _weighted(self, rows: slice) -> np.ndarray:
        """The block and the intercept's column, times the roots of the weights."""
        return self.table(rows) * np.sqrt(self.weights[rows])[:, None]

    def triangle(self) -> np.ndarray:
        """R (., p + 1) with R'R the Gram of the table and the intercept's column, to all digits."""
        return block_qr(self._weighted, self.X.blocks)

    def _penalised(self, H: np.ndarray) -> np.ndarray:
        """(q, q, p, p) second derivatives of the loss -> those of F as one matrix."""
        diagonal = np.arange(self.X.p)
        H[:, :, diagonal, diagonal] += self.metric[:, :, None] * self.alpha
        return H.transpose(0, 2, 1, 3).reshape(self.size, self.size)

    def factor(self, x: np.ndarray) -> Solve:
        """g -> H^-1 g at x; directions along which F is flat are left alone."""
        single = self.X.n * self.size * (self.X.p + 1) >= SINGLE_WORK
        single = single and not self.last.get("dependent", False)
        for precision in (True, False) if single else (False,):
            H = self.curvature(x, precision)
            if not self.intercept:
                edge = np.arange(self.X.p, self.size, self.X.p + 1)
                H[edge, edge] = 1.0
            factor = cholesky_factor(H)
            if factor is not None and (not precision or factor.condition < SINGLE_CONDITION):
                return factor.solve
            self.last["dependent"] = True
        return flat_solver(H)[0]

    def bend(self, x: np.ndarray) -> Solve:
        """v -> H v at x, without H."""
        chances = parallel.map(lambda rows: self.chances(x, rows), self.X.blocks)

        def product(v: np.ndarray) -> np.ndarray:
            def partial(task: tuple[slice, np.ndarray]) -> np.ndarray:
                rows, P = task
                block = self.block(rows)
                S = self.scores(block, v)
                S -= (P * S).sum(axis=1, keepdims=True)
                S *= P
                S *= self.weights[rows, None]
                return self._gradient(rows, block, S)

            tasks: Any = list(zip(self.X.blocks, chances))
            g = parallel.reduce(partial, np.ndarray.__iadd__, tasks)
            g.reshape(self.q, -1)[:, :-1] += self.alpha * (self.metric @ self.unpack(v)[0])
            return g

        return product

    def separated(self, x: np.ndarray) -> bool:
        """Whether the scores at x put every row strictly into its own class."""
        parts = parallel.map(
            lambda rows: _loops.all_right(self.scores(self.block(rows), x), self.y[rows], True),
            self.X.blocks,
        )
        return all(parts)


def never_falls(H: np.ndarray) -> bool:
    """Whether H has no direction of negative curvature beyond rounding."""
    if np.diagonal(H).min(initial=0.0) < 0:
        return False
    scale = np.sqrt(np.diagonal(H))
    scale = 1.0 / np.where(scale > 0, scale, 1.0)
    values = np.linalg.eigvalsh(H * scale * scale[:, None])
    return bool(values[0] >= -len(H) * EPS * values[-1])


def flat_solver(H: np.ndarray, least: float = EPS) -> tuple[Solve, np.ndarray]:
    """Least-squares solver of a singular H, and the directions (columns) that H maps to 0.

    Their curvature is up to len(H) times `least` of the largest.
    """
    root, null = flat_root(H, least)
    return lambda g: root @ (root.T @ g), null


def flat_root(H: np.ndarray, least: float = EPS) -> tuple[np.ndarray, np.ndarray]:
    """A root of the inverse of a singular H (root @ root.T), and what H maps to 0."""
    diagonal = np.sqrt(np.maximum(np.diagonal(H), 0.0))
    scale = 1.0 / np.where(diagonal > 0, diagonal, 1.0)
    values, vectors = np.linalg.eigh(H * scale * scale[:, None])
    kept = values > len(H) * least * values.max(initial=0.0)
    basis = vectors[:, kept] * scale[:, None]
    return basis / np.sqrt(values[kept]), vectors[:, ~kept] * scale[:, None]
