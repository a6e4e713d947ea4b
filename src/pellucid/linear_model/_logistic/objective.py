"""The objective of logistic regression, summed over fixed blocks of rows.

    F(B) = sum_i w_i loss(y_i, X_i B') + alpha / 2 sum_kl M_kl b_k . b_l

Class 0 is the reference (score 0); B is (q, p + 1) for the classes 1..q, the intercept in the last
column and unpenalised. For two classes M = 1. For more, M = 1 - 1/K on the diagonal and -1/K off it.
This is the penalty of scikit-learn's symmetric coefficients, and B holds their differences from
class 0. Both forms have the same optimum, but F is not flat in any direction of B.

Invariant: sums run in the order of the blocks, so that the number of threads changes no bit.
"""

import functools
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.linear_model._logistic import _classes, _loops, _small, _sparse
from pellucid.linear_model.scaled_columns import ShiftedRows
from pellucid.numerics.linalg import block_qr, cholesky_factor, singular_solver
from pellucid.numerics.optimise import Solve
from pellucid.numerics.row_blocks import Rows, as_dense
from pellucid.numerics.simd import fastest

# Number of cells up to which one compiled loop is faster than BLAS.
SMALL = 2**14
# Curvature in float32 is accurate enough for Newton's method, unless columns are nearly dependent.
SINGLE_WORK = 2**22
SINGLE_CONDITION = 1e2
STRIP = 2048  # rows whose curvature is summed at a time
SPARSE_CLASSES = 3  # scores per row of a CSR table up to which the same holds
FEW_CLASSES = 8  # scores per row up to which one compiled loop is faster than two calls of BLAS


@dataclass(frozen=True)
class Likelihood(ShiftedRows):
    """Problem of q + 1 classes; `shift` is subtracted from the columns when a block is read."""

    X: Rows
    y: np.ndarray
    weights: np.ndarray
    n_classes: int
    alpha: np.ndarray  # (p,), one per column, because columns may have been scaled
    intercept: bool
    shift: np.ndarray | None = None
    # Last point x, its value, gradient, smallest and largest probability; for small tables all, P.
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
        """Overridden, because blocks of a CSR table are kept; rows may be row numbers, too."""
        view = self.views.get((rows.start, rows.stop)) if isinstance(rows, slice) else None
        return super().block(rows) if view is None else view[0]

    @functools.cached_property
    def passes(self) -> list[slice]:
        """Blocks for products with vectors: (stored) cells and scores fit a cache."""
        if self.X.sparse and self.shift is None:
            width = self.X.X.nnz // max(self.X.n_here, 1)
        else:
            width = self.X.p
        width += 2 * self.q if self.q > FEW_CLASSES else 0
        return parallel.row_blocks(self.X.n_here, width)

    @functools.cached_property
    def views(self) -> dict[tuple[int, int], tuple[Any, Any]]:
        """The blocks of a CSR table and their transposes, which take longer to make than to use."""
        if not self.X.sparse or self.shift is not None or self.cells is not None:
            return {}
        X, found = self.X.X, {}
        for rows in self.passes:
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

    @functools.cached_property
    def cells(self) -> tuple[np.ndarray, ...] | None:
        """The arrays of a CSR table of few classes, whose rows compiled loops read; else None."""
        X = self.X.X
        if not self.X.sparse or self.shift is not None or self.q > SPARSE_CLASSES:
            return None
        return X.data, X.indices.astype(np.int32, copy=False), X.indptr.astype(np.int64)

    def _rows_of(self, rows: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        assert self.cells is not None
        data, indices, starts = self.cells
        return data, indices, starts[rows.start : rows.stop + 1]

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
            view = self.views.get((rows.start, rows.stop))
            G[:, :-1] = ((block.T if view is None else view[1]) @ R).T
        G[:, -1] = R.sum(axis=0) if self.intercept else 0.0
        return G.ravel()

    def evaluate(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """F and its gradient; those of the last array x are cached."""
        if self.last.get("x") is x:
            return self.last["value"], self.last["gradient"]
        if self.small:
            value, g, *extremes = self._small_sums(x)
        else:
            value, g, *extremes = self._block_sums(x)
            B, _ = self.unpack(x)
            penalty_gradient = self.alpha * (self.metric @ B)
            value += 0.5 * float(np.vdot(penalty_gradient, B))
            g.reshape(self.q, -1)[:, :-1] += penalty_gradient
        self.last.update(x=x, value=value, gradient=g, ends=extremes)
        return value, g

    def probabilities(self, x: np.ndarray, rows: slice) -> np.ndarray:
        """Probabilities of the classes 1..q; only those of a small table are cached."""
        if not self.small:
            return self._part(rows, x)[2]
        self.evaluate(x)
        return self.last["P"][rows]

    @functools.cached_property
    def small(self) -> bool:
        """Whether one compiled loop is fastest."""
        return not self.X.sparse and self.X.n * (self.X.p + 1) * self.q <= SMALL

    @functools.cached_property
    def whole(self) -> np.ndarray:
        """The small table, minus the shift."""
        return np.ascontiguousarray(self.block(slice(None)))

    def _small_sums(self, x: np.ndarray) -> tuple[float, np.ndarray, float, float]:
        """F, its gradient, and the smallest and largest probability."""
        P, G = np.empty((self.X.n, self.q)), np.empty((self.q, self.X.p + 1))
        B = x.reshape(self.q, -1)
        value = _small.gradient(
            self.whole, self.y, self.weights, self.intercept, B, self.alpha, self.metric, P, G
        )
        self.last["P"] = P
        return value, G.ravel(), float(P.min()), float(P.max())

    def _block_sums(self, x: np.ndarray) -> tuple[float, np.ndarray, float, float]:
        """The loss, its gradient, and the smallest and largest probability."""

        def partial(rows: slice) -> tuple[float, np.ndarray, float, float]:
            loss, g, P = self._part(rows, x)
            return loss, g, float(P.min()), float(P.max())

        def combine(a: tuple, b: tuple) -> tuple:
            return a[0] + b[0], a[1] + b[1], min(a[2], b[2]), max(a[3], b[3])

        return parallel.reduce(partial, combine, self.passes)

    def _part(self, rows: slice, x: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Loss, gradient and probabilities of some rows."""
        y, w = self.y[rows], self.weights[rows]
        if self.cells is not None:
            P, S = np.empty((len(y), self.q)), np.zeros((self.X.p + 1, self.q))
            B = np.ascontiguousarray(x.reshape(self.q, -1).T)
            loss = _sparse.visit(*self._rows_of(rows), y, w, B, P, S)
            return loss, self._by_classes(S), P
        block = self.block(rows)
        if not isinstance(block, np.ndarray) or self.q > FEW_CLASSES:
            P = self.scores(block, x)
            R = np.empty_like(P)
            return _loops.class_losses(P, y, w, True, R), self._gradient(rows, block, R), P
        P, G = np.empty((len(y), self.q)), np.empty((self.q, self.X.p + 1))
        loss = fastest(_classes).visit(block, y, w, x.reshape(self.q, -1), P, G)
        if not self.intercept:
            G[:, -1] = 0.0
        return loss, G.ravel(), P

    def _by_classes(self, S: np.ndarray) -> np.ndarray:
        """A gradient (p + 1, q) of compiled loops as a flat vector, class by class."""
        if not self.intercept:
            S[-1] = 0.0
        return S.T.ravel()

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

    def regular_curvature(self, x: np.ndarray, single: bool = False) -> np.ndarray:
        """The same, with 1 on the diagonal for intercepts that are not fitted: it can be factored."""
        H = self.curvature(x, single)
        if not self.intercept:
            unused = np.arange(self.X.p, self.size, self.X.p + 1)
            H[unused, unused] = 1.0
        return H

    def _block_curvature(self, rows: slice, x: np.ndarray, dtype: type) -> np.ndarray:
        """The sums of a block, a few rows at a time, so that the scaled rows stay in the cache."""
        q, width = self.q, self.X.p + 1
        H, weigh = np.zeros((q, q, width, width)), fastest(_classes).weigh
        rounded = -(-width // 8) * 8  # BLAS is faster with a multiple of 8
        scaled = np.zeros((min(STRIP, rows.stop - rows.start), rounded), dtype=dtype)
        for start in range(rows.start, rows.stop, STRIP):
            part = slice(start, min(start + STRIP, rows.stop))
            block, w = self.block(part), self.weights[part]
            P = self._part(part, x)[2]
            block = as_dense(block)
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
        """Empty arrays for second derivatives (q, p + 1, q, p + 1) and for the sums behind them."""
        width, pairs = self.X.p + 1, self.q * (self.q + 1) // 2
        H = np.empty((self.q, width, self.q, width))
        return H, np.empty((pairs + 2, width * (width + 1) // 2))

    def _curvature_at_zero(self) -> np.ndarray:
        """At 0 all classes are equally likely, so one Gram matrix serves all pairs of classes."""

        def partial(rows: slice) -> np.ndarray:
            table = self._weighted(rows)
            return table.T @ table

        gram = parallel.reduce(partial, np.ndarray.__iadd__, self.X.blocks)
        share = 1.0 / self.n_classes
        pairs = share * (np.eye(self.q) - share)
        return self._penalised(pairs[:, :, None, None] * gram)

    def _weighted(self, rows: slice) -> np.ndarray:
        """The block with the intercept's column, times the square roots of the weights."""
        return self.table(rows) * np.sqrt(self.weights[rows])[:, None]

    def triangle(self) -> np.ndarray:
        """R (., p + 1), where R'R is the Gram matrix of the table with the intercept's column.

        By QR, which is more accurate than a factor of the Gram matrix.
        """
        return block_qr(self._weighted, self.X.blocks)

    def _penalised(self, H: np.ndarray) -> np.ndarray:
        """(q, q, p, p) second derivatives of the loss -> those of F as one matrix."""
        diagonal = np.arange(self.X.p)
        H[:, :, diagonal, diagonal] += self.metric[:, :, None] * self.alpha
        return H.transpose(0, 2, 1, 3).reshape(self.size, self.size)

    def factor(self, x: np.ndarray) -> Solve:
        """g -> H^-1 g at x; directions along which F is flat get no step."""
        single = self.X.n * self.size * (self.X.p + 1) >= SINGLE_WORK
        single = single and not self.last.get("dependent", False)
        for precision in (True, False) if single else (False,):
            H = self.regular_curvature(x, precision)
            factor = cholesky_factor(H)
            if factor is not None and (not precision or factor.condition < SINGLE_CONDITION):
                return factor.solve
            self.last["dependent"] = True
        return singular_solver(H)[0]

    def curvature_product(self, x: np.ndarray) -> Solve:
        """v -> H v at x, without forming H."""
        probabilities = parallel.map(lambda rows: self.probabilities(x, rows), self.passes)

        def product(v: np.ndarray) -> np.ndarray:
            V = None if self.cells is None else np.ascontiguousarray(v.reshape(self.q, -1).T)

            def partial(task: tuple[slice, np.ndarray]) -> np.ndarray:
                rows, P = task
                if V is not None:
                    S = np.zeros((self.X.p + 1, self.q))
                    _sparse.bend(*self._rows_of(rows), self.weights[rows], P, V, S)
                    return self._by_classes(S)
                block = self.block(rows)
                S = self.scores(block, v)
                _loops.bend(S, P, self.weights[rows])
                return self._gradient(rows, block, S)

            tasks: Any = list(zip(self.passes, probabilities))
            g = parallel.reduce(partial, np.ndarray.__iadd__, tasks)
            g.reshape(self.q, -1)[:, :-1] += self.alpha * (self.metric @ self.unpack(v)[0])
            return g

        return product

    def separated(self, x: np.ndarray) -> bool:
        """Whether, at x, every row's own class has strictly the highest score."""
        parts = parallel.map(
            lambda rows: _loops.all_right(self.scores(self.block(rows), x), self.y[rows], True),
            self.passes,
        )
        return parallel.all_rows(all(parts))
