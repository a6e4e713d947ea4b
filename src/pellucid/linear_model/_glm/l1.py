"""Generalised linear models with an L1 penalty, by proximal Newton.

    sum_i w_i d(y_i, mu_i) / 2 + sum_j [ l1_j |b_j| + l2_j b_j^2 / 2 ]

Invariant: the objective is that of the original columns, however they are scaled; zeros are exact.
"""

import functools
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.linear_model._glm.objective import GLMObjective
from pellucid.linear_model._glm.solver import Task, start
from pellucid.linear_model._lasso.proximal_newton import SparseTask, proximal_newton
from pellucid.numerics.linalg import cholesky_factor
from pellucid.numerics.objectives.families import GLMLoss
from pellucid.numerics.row_blocks import as_dense, scaled_penalty
from pellucid.records import Recorder, Solution

ACCURACY = 1e-11  # share of the largest gradient at the start that may remain


class SparseGLM(SparseTask):
    """A GLM as `proximal_newton` sees it: coefficients (1, p + 1), linear predictors as `seen`.

    Losses of rows need not be convex, so the quadratic model is made from products.
    """

    def __init__(self, objective: GLMObjective, l1: np.ndarray) -> None:
        self.objective, self.l1, self.l2 = objective, l1, objective.alpha
        self.X, self.intercept, self.shift = objective.X, objective.intercept, objective.shift

    def penalty(self, B: np.ndarray) -> float:
        b = np.abs(B[0, :-1])
        return float(self.l1 @ b + 0.5 * (self.l2 * b) @ b)

    def evaluate(self, B: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        x = B[0].copy()
        value, g = self.objective.evaluate(x)
        penalty = self.l2 * x[:-1]
        with np.errstate(invalid="ignore"):
            loss, g = value - 0.5 * float(penalty @ x[:-1]), g.copy()
            g[:-1] -= penalty
        return loss, g[None], self.objective.last["eta"]

    @functools.cached_property
    def largest_curvature(self) -> np.ndarray:
        """The expected curvature of each coefficient where all rows have one mean."""
        objective = self.objective

        def partial(rows: slice) -> np.ndarray:
            block, y = objective.block(rows), objective.y[rows]
            curvature = objective.curve.curvature(y, np.full_like(y, self._middle), expected=True)
            squares = block * block if isinstance(block, np.ndarray) else block.multiply(block)
            weighted = objective.weights[rows] * curvature
            return np.append(squares.T @ weighted, weighted.sum() * objective.intercept)

        with np.errstate(all="ignore"):
            return parallel.reduce(partial, np.ndarray.__iadd__, self.X.blocks)

    @functools.cached_property
    def _middle(self) -> float:
        y, w = self.objective.y, self.objective.weights
        return float(self.objective.curve.loss.link.link(np.array(w @ y / w.sum())))

    def curvature(self, seen: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        """Second derivatives of the loss, or their expectation where they are not convex."""
        H, curve, y = self._gram(seen, chosen), self.objective.curve, self.objective.y
        with np.errstate(all="ignore"):
            convex = all(
                (curve.curvature(y[rows], seen[rows]) >= 0).all() for rows in self.X.blocks
            )
        if not convex:
            ridge = np.append(self.l2, 0.0)[chosen]
            ready = H + np.diag(ridge + 1e-10 * np.abs(np.diagonal(H)))
            if cholesky_factor(ready) is None:
                return self._gram(seen, chosen, expected=True)
        return H

    def _gram(self, eta: np.ndarray, chosen: np.ndarray, expected: bool = False) -> np.ndarray:
        objective, p = self.objective, self.X.p
        columns = chosen[chosen < p]
        whole = len(columns) == p

        def partial(rows: slice) -> np.ndarray:
            block: Any = objective.block(rows)
            block = block if whole else block[:, columns]
            table = np.empty((rows.stop - rows.start, len(chosen)))
            table[:, : len(columns)] = as_dense(block)
            table[:, len(columns) :] = float(objective.intercept)
            with np.errstate(all="ignore"):
                curvature = objective.curve.curvature(objective.y[rows], eta[rows], expected)
                return table.T @ (table * (objective.weights[rows] * curvature)[:, None])

        H = parallel.reduce(partial, np.ndarray.__iadd__, self.X.blocks)
        return (H + H.T) / 2


def solve_sparse(
    task: Task, loss: GLMLoss, l1: float, max_iter: int, x0: np.ndarray | None
) -> Solution:
    """x in the units of the task; `l1` is the strength of |b| on the original scale."""
    sparse = SparseGLM(task.objective, scaled_penalty(l1, task.units))
    spread = np.append(np.maximum(task.spread, 1e-300), 1.0)
    first = start(task, loss)
    gradient = np.abs(sparse.evaluate(first[None])[1])[0]
    scale = max(float(np.max(gradient / spread)), 1e-300)
    x = first
    if x0 is not None:
        given = task.scaled(x0)
        x = given if np.isfinite(task.objective.evaluate(given)[0]) else first
    recorder = Recorder("proximal Newton", max_iter)
    B, status, done = proximal_newton(sparse, x[None], max_iter, recorder, spread, ACCURACY, scale)
    return Solution(B[0], status, recorder.history(), done)
