"""The embedding: gradient descent on the divergence between affinities of rows and of points.

1. Points start at random, at the leading principal components, or where the user says.
2. Forces: neighbours attract, all points repel (all pairs, or groups of them by a tree).
3. A step with momentum, in each coordinate longer while its direction stays the same.
4. For the first 250 steps attraction is exaggerated, so that groups find each other; where the rows
   have no groups it draws all points together, which ends this phase, not the descent.

Invariant: `gradient` is the derivative of the divergence; every point's forces are added up in an
order of their own, so bits do not depend on threads.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.manifold import _loops
from pellucid.records import Recorder, Solution, Status

EXPLORATION = 250
CHECK = 50
LEAST_GAIN = 0.01
# Points nearer than this have no slope because they have no places yet, not because they are right.
TOGETHER = 1e-2
ROWS = 256  # of a block of points
WORSE = 1.05  # times the divergence of points at one place: worse than no picture


@dataclass(frozen=True)
class Plan:
    """What the user asked for."""

    learning_rate: float
    exaggeration: float
    max_iter: int
    patience: int
    min_grad_norm: float
    angle: float


class Divergence:
    """Kullback-Leibler divergence of points from affinities P, dense or CSR."""

    def __init__(self, P: Any, d: int, angle: float) -> None:
        self.P, self.angle, self.dof = P, angle, float(max(d - 1, 1))
        self.n = P.shape[0]
        data = P.ravel() if isinstance(P, np.ndarray) else P.data
        data = data[data > 0]
        self.own = float(data @ np.log(data))
        # The divergence of points that all are at one place.
        self.together = self.own + float(np.log(self.n * (self.n - 1.0)))
        self.blocks = [slice(i, min(i + ROWS, self.n)) for i in range(0, self.n, ROWS)]
        if not isinstance(P, np.ndarray):
            self.parts = (P.indptr.astype(np.int32), P.indices.astype(np.int32), P.data)

    def gradient(
        self, Y: np.ndarray, exaggeration: float = 1.0, measure: bool = True
    ) -> tuple[float, np.ndarray]:
        """The divergence (NaN unless `measure`) and its slope, with attraction exaggerated."""
        attract, repel = np.empty_like(Y), np.empty_like(Y)
        if isinstance(self.P, np.ndarray):
            one = self._exact(Y, measure, attract, repel)
        else:
            one = self._grouped(Y, measure, attract, repel)
        sums = np.array(self._each(one))
        Z, cross = float(np.add.reduce(sums[:, 0])), float(np.add.reduce(sums[:, 1]))
        factor = 2.0 * (self.dof + 1.0) / self.dof
        slope = factor * (exaggeration * attract - repel / Z)
        return self.own - cross + float(np.log(Z)) if measure else np.nan, slope

    def _each(self, one: Any) -> list[tuple[float, float]]:
        if len(self.blocks) == 1:
            return [one(self.blocks[0])]
        return parallel.map(one, self.blocks)

    def _exact(self, Y: np.ndarray, measure: bool, attract: np.ndarray, repel: np.ndarray) -> Any:
        def one(b: slice) -> tuple[float, float]:
            return _loops.exact_forces(
                Y, self.P, b.start, b.stop, self.dof, measure, attract, repel
            )

        return one

    def _grouped(self, Y: np.ndarray, measure: bool, attract: np.ndarray, repel: np.ndarray) -> Any:
        tree = _loops.Tree(Y)

        def one(b: slice) -> tuple[float, float]:
            z = tree.repulsion(b.start, b.stop, self.dof, self.angle, repel)
            cross = _loops.attraction(Y, *self.parts, b.start, b.stop, self.dof, measure, attract)
            return z, cross

        return one


@dataclass
class Walk:
    """Points, their last step, and a gain for every coordinate."""

    Y: np.ndarray
    step: np.ndarray
    gains: np.ndarray

    @classmethod
    def begin(cls, Y: np.ndarray) -> "Walk":
        return cls(Y.copy(), np.zeros_like(Y), np.ones_like(Y))

    def move(self, slope: np.ndarray, momentum: float, rate: float) -> None:
        """One step; gains grow while a coordinate keeps its direction."""
        same = self.step * slope < 0.0
        self.gains = np.maximum(np.where(same, self.gains + 0.2, self.gains * 0.8), LEAST_GAIN)
        self.step = momentum * self.step - rate * self.gains * slope
        self.Y = self.Y + self.step


def embed(P: Any, start: np.ndarray, plan: Plan) -> Solution:
    """Descend from `start`; x = (points, divergence)."""
    divergence, flag = Divergence(P, start.shape[1], plan.angle), parallel.StopFlag()
    recorder, walk = Recorder("t-SNE", plan.max_iter), Walk.begin(start)
    best, at, last, explored = np.inf, 0, start, EXPLORATION
    status, k = Status("ok", f"All {plan.max_iter} steps were made, as asked."), 0
    for k in range(1, plan.max_iter + 1):
        flag.check()
        early = k <= explored
        if k == explored + 1:
            walk, best, at = Walk.begin(walk.Y), np.inf, k
        measure = k % CHECK == 0 or k == plan.max_iter
        value, slope = divergence.gradient(walk.Y, plan.exaggeration if early else 1.0, measure)
        norm = float(np.linalg.norm(slope)) if measure else 0.0
        if measure and not np.isfinite(value + norm):
            walk.Y, status = last, _diverged(k)
            break
        if measure:
            last = walk.Y
            recorder.add(iteration=k, objective=value, gradient_norm=norm, state={"points": walk.Y})
            if value < best:
                best, at = value, k
            if early and norm <= plan.min_grad_norm:
                explored = k
            elif norm <= plan.min_grad_norm and np.ptp(walk.Y, axis=0).max() > TOGETHER:
                status = Status("converged", "The slope is at most min_grad_norm.")
                break
            if not early and k - at > plan.patience:
                status = Status("converged", f"{plan.patience} steps brought no improvement.")
                break
        walk.move(slope, 0.5 if early else 0.8, plan.learning_rate)
    if not np.isfinite(walk.Y).all():
        walk.Y, status = last, _diverged(k)
    value = divergence.gradient(walk.Y)[0]
    recorder.add(iteration=k, objective=value, gradient_norm=None)
    if status.code != "diverged" and value > WORSE * divergence.together + 0.01:
        status = _useless(value, divergence.together, k >= explored + CHECK)
    return Solution((walk.Y, value), status, recorder.history(), k)


def _diverged(k: int) -> Status:
    return Status(
        "diverged",
        f"The points flew apart before step {k}; those of the last check are kept.",
        "Lower learning_rate or early_exaggeration.",
    )


def _useless(value: float, together: float, descended: bool) -> Status:
    """Points that are farther from the rows' neighbourhoods than no picture at all."""
    said = (
        f"The divergence at the end, {value:.3g}, is above that of points which all are at one place, "
        f"{together:.3g}: neighbours in the picture need not be neighbours in the table."
    )
    if descended:
        return Status("diverged", said, "Lower learning_rate.")
    return Status("max_iter", said, "Raise max_iter: attraction was exaggerated until the end.")


def components(X: np.ndarray, d: int) -> np.ndarray:
    """Scores of the d leading principal components of centred rows, the first with deviation 1e-4."""
    n, p = X.shape
    if p <= n:
        axes = np.linalg.eigh(X.T @ X)[1][:, ::-1][:, :d].T
    else:
        axes = np.linalg.svd(X, full_matrices=False)[2][:d]
    largest = np.abs(axes).argmax(axis=1)
    axes = axes * np.where(axes[np.arange(len(axes)), largest] < 0, -1.0, 1.0)[:, None]
    scores = np.zeros((n, d))
    scores[:, : len(axes)] = X @ axes.T
    spread = float(scores[:, 0].std())
    return scores / spread * 1e-4 if spread > 0 else scores
