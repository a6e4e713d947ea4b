"""The objective of generalised linear models, summed over fixed blocks of rows.

    F(b, b0) = sum_i w_i d(y_i, mu(eta_i)) / 2 + sum_j alpha_j b_j^2 / 2,
    eta_i = x_i . b + b0 + offset_i

Invariant: F is infinite outside the family's range of means, so that no solver stays there; sums run
in block order.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.linear_model._glm import _poisson
from pellucid.linear_model._logistic.objective import SINGLE_CONDITION, SINGLE_WORK
from pellucid.linear_model.scaled_columns import ShiftedRows
from pellucid.numerics.linalg import block_qr, cholesky_factor, is_semidefinite, singular_solver
from pellucid.numerics.objectives.families import GLMLoss
from pellucid.numerics.optimise import Solve
from pellucid.numerics.row_blocks import Rows, as_dense
from pellucid.numerics.simd import fastest
from pellucid.parallel.memory import is_limited

loops = fastest(_poisson)

SMALLEST = 2.0**-1022  # positive double with all its digits
CACHED = 2**17  # cells of a table that stay in the cache until its product is formed


class Curve:
    """Value, gradient and curvature of the loss of each row, for any family and link."""

    def __init__(self, loss: GLMLoss) -> None:
        self.loss = loss
        name = loss.family.name
        self.low = -np.inf if name == "normal" else 0.0
        self.high = 1.0 if name == "binomial" else np.inf

    def visit(self, y: np.ndarray, eta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values and gradients; infinite and 0 where the mean is impossible."""
        mu = self.loss.link.inverse(eta)
        inside = (mu > self.low) & (mu < self.high)
        if not inside.all():
            return np.full_like(eta, np.inf), np.zeros_like(eta)
        family = self.loss.family
        gradient = (mu - y) / family.variance(mu) * self.loss.link.derivative(eta)
        return family.half_deviance(y, mu), gradient

    def curvature(self, y: np.ndarray, eta: np.ndarray, expected: bool = False) -> np.ndarray:
        """Second derivatives, or their expectation, which is never negative."""
        return self.loss.expected(y, eta) if expected else self.loss.curvature(y, eta)


class PoissonCurve(Curve):
    """Poisson with the log link: everything follows from one exponential."""

    def visit(self, y: np.ndarray, eta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        gradient = np.exp(eta)
        gradient -= y
        own = _logarithms(y)  # times 0 where y is 0
        own -= eta
        own *= y
        own += gradient
        return own, gradient

    def curvature(self, y: np.ndarray, eta: np.ndarray, expected: bool = False) -> np.ndarray:
        return np.exp(eta)


def make_curve(loss: GLMLoss) -> Curve:
    plain = (loss.family.name, loss.link.name) == ("poisson", "log")
    return PoissonCurve(loss) if plain else Curve(loss)


@dataclass(frozen=True)
class GLMObjective(ShiftedRows):
    """x is (p + 1,), the intercept last; `shift` is taken off the columns of a visited block."""

    X: Rows
    y: np.ndarray
    weights: np.ndarray
    offset: np.ndarray | None
    curve: Curve
    alpha: np.ndarray
    intercept: bool
    shift: np.ndarray | None = None
    # What the last evaluation found; a copy made by `replace` begins without it.
    last: dict[str, Any] = field(init=False, default_factory=dict)

    def scores(self, rows: slice, block: Any, x: np.ndarray) -> np.ndarray:
        eta = block @ x[:-1] + x[-1]
        return eta if self.offset is None else eta + self.offset[rows]

    def _dense(self, rows: slice) -> np.ndarray:
        return np.ascontiguousarray(as_dense(self.block(rows)))

    def evaluate(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """F and its gradient; the result for the last array is kept."""
        if self.last.get("x") is x:
            return self.last["value"], self.last["gradient"]
        eta = np.empty(self.X.n_here)
        fused = isinstance(self.curve, PoissonCurve) and not self.X.sparse and self.X.p > 0
        visit = self._fused if fused else self._visit
        if fused and not is_limited():
            self._logs()
        loss, g = parallel.reduce(lambda rows: visit(rows, x, eta), _both, self.X.blocks)
        g[-1] *= self.intercept
        penalty = self.alpha * x[:-1]
        with np.errstate(all="ignore"):
            value = loss + 0.5 * float(penalty @ x[:-1])
            g[:-1] += penalty
        self.last.update(x=x, value=value, gradient=g, eta=eta)
        return value, g

    def loss_of_constant(self, b0: float) -> float:
        """The loss of a constant linear predictor; X is not read."""

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
            value, gradient = self.curve.visit(self.y[rows], eta[rows])
            weighted = self.weights[rows] * gradient
            g[:-1], g[-1] = block.T @ weighted, weighted.sum()
            return float(self.weights[rows] @ value), g

    def _fused(self, rows: slice, x: np.ndarray, eta: np.ndarray) -> tuple[float, np.ndarray]:
        """The same in one compiled loop."""
        offset = self.y[:0] if self.offset is None else self.offset[rows]
        g = np.empty(self.X.p + 1)
        block = np.ascontiguousarray(self.block(rows))
        y, w = self.y[rows], self.weights[rows]
        logs = _logarithms(y) if is_limited() else self._logs()[rows]
        return loops.visit(block, y, logs, w, offset, x, eta[rows], g), g

    def _logs(self) -> np.ndarray:
        """log y, kept from visit to visit."""
        if "logs" not in self.last:
            self.last["logs"] = _logarithms(self.y)
        return self.last["logs"]

    def curvature(self, x: np.ndarray, expected: bool = False, single: bool = False) -> np.ndarray:
        """Second derivatives of F (p + 1, p + 1), or their expectation; `single` computes in float32."""
        self.evaluate(x)
        eta, width = self.last["eta"], self.X.p + 1
        dtype = np.float32 if single else np.float64

        def partial(rows: slice) -> np.ndarray:
            """A few rows at a time, so that the scaled rows stay in the cache."""
            H, room = np.zeros((width, width)), -(-width // 8) * 8  # a width BLAS likes
            step = min(max(CACHED // room, 256), rows.stop - rows.start)
            scaled = np.zeros((step, room), dtype=dtype)
            for first in range(rows.start, rows.stop, step):
                part = slice(first, min(first + step, rows.stop))
                A = scaled[: part.stop - first]
                with np.errstate(all="ignore"):
                    curvature = self.curve.curvature(self.y[part], eta[part], expected)
                    curvature = self.weights[part] * curvature
                    convex = bool((curvature >= 0).all())
                    root = np.sqrt(curvature) if convex else np.ones_like(curvature)
                    loops.weigh(self._dense(part), root, self.intercept, A)
                    product = A.T @ A if convex else A.T @ (A * curvature[:, None])
                H += product[:width, :width]
            return H

        H = parallel.reduce(partial, np.ndarray.__iadd__, self.X.blocks)
        H[np.arange(self.X.p), np.arange(self.X.p)] += self.alpha
        return H

    def triangle(self, x: np.ndarray) -> np.ndarray:
        """R (p + 1, p + 1) with R'R the expected curvature without penalty, to all digits."""
        self.evaluate(x)
        return block_qr(self._weighted, self.X.blocks)

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
        curvature = self.curve.curvature(self.y[rows], self.last["eta"][rows], expected=True)
        table = np.empty((rows.stop - rows.start, self.X.p + 1))
        loops.weigh(
            self._dense(rows), np.sqrt(self.weights[rows] * curvature), self.intercept, table
        )
        return table

    def factor(self, x: np.ndarray) -> Solve:
        """g -> H^-1 g at x; nothing moves along directions in which F is flat.

        Where H is not positive, its expectation replaces it (Fisher scoring).
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
            if not single and (expected or is_semidefinite(H)):
                break
        return singular_solver(H)[0]


def _logarithms(y: np.ndarray) -> np.ndarray:
    """log y, finite where y is 0."""
    return np.log(np.maximum(y, SMALLEST))


def _both(a: tuple, b: tuple) -> tuple:
    return a[0] + b[0], a[1] + b[1]
