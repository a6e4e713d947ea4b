"""The objective of generalised linear models, summed over fixed blocks of rows.

    F(b, b0) = sum_i w_i d(y_i, mu(eta_i)) / 2 + sum_j alpha_j b_j^2 / 2,
    eta_i = x_i . b + b0 + offset_i

Invariant: outside the family's range of means F is infinite, so that no solver stays there; sums
run in block order.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.linear_model._glm import _poisson
from pellucid.linear_model._logistic.objective import (
    SINGLE_CONDITION,
    SINGLE_WORK,
    flat_solver,
    never_falls,
)
from pellucid.numerics.linalg import block_qr, cholesky_factor
from pellucid.numerics.objectives.families import GLMLoss
from pellucid.numerics.optimise import Solve
from pellucid.numerics.row_blocks import Rows
from pellucid.numerics.simd import fastest

loops = fastest(_poisson)

CACHED = 2**17  # cells of a table that stay in the cache between its making and its product


class Curve:
    """Value, slope and bend of the loss of each row, for any family and link."""

    def __init__(self, loss: GLMLoss) -> None:
        self.loss = loss
        name = loss.family.name
        self.low = -np.inf if name == "normal" else 0.0
        self.high = 1.0 if name == "binomial" else np.inf

    def visit(self, y: np.ndarray, eta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values and slopes; infinite and 0 where the mean is impossible."""
        mu = self.loss.link.inverse(eta)
        inside = (mu > self.low) & (mu < self.high)
        if not inside.all():
            return np.full_like(eta, np.inf), np.zeros_like(eta)
        family = self.loss.family
        slope = (mu - y) / family.variance(mu) * self.loss.link.slope(eta)
        return family.half_deviance(y, mu), slope

    def bend(self, y: np.ndarray, eta: np.ndarray, expected: bool = False) -> np.ndarray:
        """Second derivatives, or their expectation, which is never negative."""
        return self.loss.expected(y, eta) if expected else self.loss.curvature(y, eta)


class PoissonCurve(Curve):
    """Poisson with the log link, of which everything is one exponential."""

    def visit(self, y: np.ndarray, eta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        slope = np.exp(eta)
        slope -= y
        own = np.log(np.maximum(y, 1e-300))  # times 0 where y is 0
        own -= eta
        own *= y
        own += slope
        return own, slope

    def bend(self, y: np.ndarray, eta: np.ndarray, expected: bool = False) -> np.ndarray:
        return np.exp(eta)


def make_curve(loss: GLMLoss) -> Curve:
    plain = (loss.family.name, loss.link.name) == ("poisson", "log")
    return PoissonCurve(loss) if plain else Curve(loss)


@dataclass(frozen=True)
class GLMObjective:
    """x is (p + 1,), the intercept last; `shift` is taken off the columns of a visited block."""

    X: Rows
    y: np.ndarray
    weights: np.ndarray
    offset: np.ndarray | None
    curve: Curve
    alpha: np.ndarray
    intercept: bool
    shift: np.ndarray | None = None
    last: dict[str, Any] = field(init=False, default_factory=dict)

    def block(self, rows: slice) -> Any:
        return self.X.X[rows] if self.shift is None else self.X.dense(rows) - self.shift

    def scores(self, rows: slice, block: Any, x: np.ndarray) -> np.ndarray:
        eta = block @ x[:-1] + x[-1]
        return eta if self.offset is None else eta + self.offset[rows]

    def _dense(self, rows: slice) -> np.ndarray:
        block = self.block(rows)
        return np.ascontiguousarray(block if isinstance(block, np.ndarray) else block.toarray())

    def evaluate(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """F and its gradient; asked for the same array again, it remembers."""
        if self.last.get("x") is x:
            return self.last["value"], self.last["gradient"]
        eta = np.empty(self.X.n)
        fused = isinstance(self.curve, PoissonCurve) and not self.X.sparse and self.X.p > 0
        visit = self._fused if fused else self._visit
        loss, g = parallel.reduce(lambda rows: visit(rows, x, eta), _both, self.X.blocks)
        g[-1] *= self.intercept
        penalty = self.alpha * x[:-1]
        with np.errstate(all="ignore"):
            value = loss + 0.5 * float(penalty @ x[:-1])
            g[:-1] += penalty
        self.last.update(x=x, value=value, gradient=g, eta=eta)
        return value, g

    def loss_of_constant(self, b0: float) -> float:
        """The loss where no column counts: X is not visited."""

        def partial(rows: slice) -> float:
            eta = np.full(rows.stop - rows.start, b0)
            eta = eta if self.offset is None else eta + self.offset[rows]
            with np.errstate(all="ignore"):
                return float(self.weights[rows] @ self.curve.visit(self.y[rows], eta)[0])

        return parallel.reduce(partial, float.__add__, self.X.blocks)

    def _visit(self, rows: slice, x: np.ndarray, eta: np.ndarray) -> tuple[float, np.ndarray]:
        """Loss and gradient of a block; eta is written."""
        block, g = self.block(rows), np.empty(self.X.p + 1)
        with np.errstate(all="ignore"):
            eta[rows] = self.scores(rows, block, x)
            value, slope = self.curve.visit(self.y[rows], eta[rows])
            pull = self.weights[rows] * slope
            g[:-1], g[-1] = block.T @ pull, pull.sum()
            return float(self.weights[rows] @ value), g

    def _fused(self, rows: slice, x: np.ndarray, eta: np.ndarray) -> tuple[float, np.ndarray]:
        """The same in one compiled visit."""
        offset = self.y[:0] if self.offset is None else self.offset[rows]
        g = np.empty(self.X.p + 1)
        block = np.ascontiguousarray(self.block(rows))
        return loops.visit(block, self.y[rows], self.weights[rows], offset, x, eta[rows], g), g

    def curvature(self, x: np.ndarray, expected: bool = False, single: bool = False) -> np.ndarray:
        """Second derivatives of F (p + 1, p + 1), or their expectation; products with 7 digits."""
        self.evaluate(x)
        eta, width = self.last["eta"], self.X.p + 1
        dtype = np.float32 if single else np.float64

        def partial(rows: slice) -> np.ndarray:
            """A few rows at a time: what they are scaled to stays in the cache."""
            H, room = np.zeros((width, width)), -(-width // 8) * 8  # a width BLAS likes
            step = min(max(CACHED // room, 256), rows.stop - rows.start)
            scaled = np.zeros((step, room), dtype=dtype)
            for first in range(rows.start, rows.stop, step):
                part = slice(first, min(first + step, rows.stop))
                A = scaled[: part.stop - first]
                with np.errstate(all="ignore"):
                    bend = self.weights[part] * self.curve.bend(self.y[part], eta[part], expected)
                    convex = bool((bend >= 0).all())
                    root = np.sqrt(bend) if convex else np.ones_like(bend)
                    loops.weigh(self._dense(part), root, self.intercept, A)
                    product = A.T @ A if convex else A.T @ (A * bend[:, None])
                H += product[:width, :width]
            return H

        H = parallel.reduce(partial, np.ndarray.__iadd__, self.X.blocks)
        H[np.arange(self.X.p), np.arange(self.X.p)] += self.alpha
        return H

    def triangle(self, x: np.ndarray) -> np.ndarray:
        """R (p + 1, p + 1) with R'R the expected curvature without penalty, to all digits."""
        self.evaluate(x)
        return block_qr(self._weighted, self.X.blocks)

    def table(self, rows: slice) -> np.ndarray:
        """The block and the column of the intercept (0 without one)."""
        block = self.block(rows)
        table = np.empty((block.shape[0], self.X.p + 1))
        table[:, :-1] = block if isinstance(block, np.ndarray) else block.toarray()
        table[:, -1] = float(self.intercept)
        return table

    def table_triangle(self, counted: np.ndarray | None = None) -> np.ndarray:
        """R with R'R the Gram of `table`, or of its counted rows, whatever their weights."""

        def part(rows: slice) -> np.ndarray:
            return self.table(rows) if counted is None else self.table(rows) * counted[rows, None]

        return block_qr(part, self.X.blocks)

    def gram_along(self, x: np.ndarray, V: np.ndarray) -> np.ndarray:
        """V' R' R V, summed over products of V with the rows."""
        self.evaluate(x)

        def partial(rows: slice) -> np.ndarray:
            A = self._weighted(rows) @ V
            return A.T @ A

        return parallel.reduce(partial, np.ndarray.__iadd__, self.X.blocks)

    def _weighted(self, rows: slice) -> np.ndarray:
        """The block and the constant times the roots of the expected curvature where x was last."""
        bend = self.curve.bend(self.y[rows], self.last["eta"][rows], expected=True)
        table = np.empty((rows.stop - rows.start, self.X.p + 1))
        loops.weigh(self._dense(rows), np.sqrt(self.weights[rows] * bend), self.intercept, table)
        return table

    def factor(self, x: np.ndarray) -> Solve:
        """g -> H^-1 g at x; directions along which F is flat are left alone.

        Where H falls in some direction, its expectation takes its place (Fisher's scoring).
        """
        large = self.X.n * (self.X.p + 1) ** 2 >= SINGLE_WORK
        for expected, single in ((False, large), (False, False), (True, False))[1 - large :]:
            H = self.curvature(x, expected, single)
            if not self.intercept:
                H[-1, -1] = 1.0
            if not np.isfinite(H).all():
                if single:
                    continue
                return lambda g: g
            factor = cholesky_factor(H)
            if factor is not None and (not single or factor.condition < SINGLE_CONDITION):
                return factor.solve
            if not single and (expected or never_falls(H)):
                break
        return flat_solver(H)[0]


def _both(a: tuple, b: tuple) -> tuple:
    return a[0] + b[0], a[1] + b[1]
