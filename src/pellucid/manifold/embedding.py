"""The embedding: gradient descent on the divergence between affinities of rows and of points.

1. Points start at random, at the leading principal components, or at the user's positions.
2. Forces: neighbours attract, all points repel (all pairs, or groups of points by a tree).
3. A step with momentum; the step size of a coordinate grows while its direction stays the same.
4. For the first 250 steps attraction is exaggerated, so that groups find each other. If the rows
   have no groups, this draws all points together, which ends this phase but not the descent.

Invariant: `gradient` is the derivative of the divergence; the forces on each point are added up in a
fixed order, so bits do not depend on threads.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.manifold import _loops
from pellucid.records import Recorder, Solution, Status

EXPLORATION = 250
CHECK = 50
LEAST_GAIN = 0.01
# Points within this distance have almost no gradient, because they have not spread out yet.
SMALLEST_SPREAD = 1e-2
BLOCK_POINTS = 256
WORSE = 1.05  # times the divergence of coinciding points: such an embedding is useless


@dataclass(frozen=True)
class Settings:
    """Parameters of the descent."""

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
        self.negative_entropy = float(data @ np.log(data))
        # The divergence if all points coincide.
        self.coinciding = self.negative_entropy + float(np.log(self.n * (self.n - 1.0)))
        self.blocks = [
            slice(i, min(i + BLOCK_POINTS, self.n)) for i in range(0, self.n, BLOCK_POINTS)
        ]
        if not isinstance(P, np.ndarray):
            self.parts = (P.indptr.astype(np.int32), P.indices.astype(np.int32), P.data)

    def gradient(
        self, Y: np.ndarray, exaggeration: float = 1.0, measure: bool = True
    ) -> tuple[float, np.ndarray]:
        """The divergence (NaN unless `measure`) and its gradient, with attraction exaggerated."""
        attract, repel = np.empty_like(Y), np.empty_like(Y)
        if isinstance(self.P, np.ndarray):
            one = self._exact(Y, measure, attract, repel)
        else:
            one = self._grouped(Y, measure, attract, repel)
        sums = np.array(parallel.each(one, self.blocks))
        Z, cross = float(np.add.reduce(sums[:, 0])), float(np.add.reduce(sums[:, 1]))
        factor = 2.0 * (self.dof + 1.0) / self.dof
        gradient = factor * (exaggeration * attract - repel / Z)
        return self.negative_entropy - cross + float(np.log(Z)) if measure else np.nan, gradient

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
class State:
    """Points, their last step, and the gain (step size factor) of every coordinate."""

    Y: np.ndarray
    step: np.ndarray
    gains: np.ndarray

    @classmethod
    def begin(cls, Y: np.ndarray) -> "State":
        return cls(Y.copy(), np.zeros_like(Y), np.ones_like(Y))

    def move(self, gradient: np.ndarray, momentum: float, rate: float) -> None:
        """One step; gains grow while a coordinate keeps its direction."""
        same = self.step * gradient < 0.0
        self.gains = np.maximum(np.where(same, self.gains + 0.2, self.gains * 0.8), LEAST_GAIN)
        self.step = momentum * self.step - rate * self.gains * gradient
        self.Y = self.Y + self.step


def embed(P: Any, start: np.ndarray, settings: Settings) -> Solution:
    """Descend from `start`; x = (points, divergence)."""
    divergence, flag = Divergence(P, start.shape[1], settings.angle), parallel.StopFlag()
    recorder, state = Recorder("t-SNE", settings.max_iter), State.begin(start)
    best, at, last, explored = np.inf, 0, start, EXPLORATION
    status, k = Status("ok", f"All {settings.max_iter} steps were made."), 0
    checked = divergence.gradient(start)[0] if recorder.watched else np.nan
    for k in range(1, settings.max_iter + 1):
        flag.check()
        early = k <= explored
        if k == explored + 1:
            state, best, at = State.begin(state.Y), np.inf, k
        measure = k % CHECK == 0 or k == settings.max_iter
        value, gradient = divergence.gradient(
            state.Y, settings.exaggeration if early else 1.0, measure
        )
        norm = float(np.linalg.norm(gradient)) if measure else 0.0
        if measure and not np.isfinite(value + norm):
            state.Y, status = last, _diverged(k)
            break
        if measure:
            last = state.Y
            checked = value
            recorder.add(
                iteration=k, objective=value, gradient_norm=norm, event={"exaggerated": early},
                state={"points": state.Y, "divergence": value}, sentence=_sentence,
            )  # fmt: skip
            if value < best:
                best, at = value, k
            if early and norm <= settings.min_grad_norm:
                explored = k
            elif norm <= settings.min_grad_norm and np.ptp(state.Y, axis=0).max() > SMALLEST_SPREAD:
                status = Status("converged", "The norm of the gradient is at most min_grad_norm.")
                break
            if not early and k - at > settings.patience:
                idle = f"The divergence did not decrease in {settings.patience} steps."
                status = Status("converged", idle)
                break
        if not measure:
            shown = {"points": state.Y, "divergence": checked}
            recorder.step(k, shown, {"exaggerated": early, "measured": checked}, _sentence)
        state.move(gradient, 0.5 if early else 0.8, settings.learning_rate)
    if not np.isfinite(state.Y).all():
        state.Y, status = last, _diverged(k)
    value = divergence.gradient(state.Y)[0]
    recorder.add(
        iteration=k, objective=value, gradient_norm=None, event={"exaggerated": False},
        state={"points": state.Y, "divergence": value}, sentence=_sentence,
    )  # fmt: skip
    if status.code != "diverged" and value > WORSE * divergence.coinciding + 0.01:
        status = _useless(value, divergence.coinciding, k >= explored + CHECK)
    return Solution((state.Y, value), status, recorder.history(), k)


def _sentence(event: Mapping[str, Any], numbers: dict[str, float]) -> str:
    from pellucid.draw import number

    text = f"Step {int(numbers['iteration'])}"
    text += ", while attraction is exaggerated" if event["exaggerated"] else ""
    if "objective" in numbers:
        text += f": the divergence is {number(numbers['objective'], 4)}"
    elif np.isfinite(event["measured"]):
        text += f": the divergence was {number(event['measured'], 4)} when last measured"
    return text + "."


def _diverged(k: int) -> Status:
    return Status(
        "diverged",
        f"The points diverged before step {k}; those of the last check are kept.",
        "Lower learning_rate or early_exaggeration.",
    )


def _useless(value: float, coinciding: float, descended: bool) -> Status:
    """The status of an embedding that is worse than coinciding points."""
    message = (
        f"The final divergence, {value:.3g}, is higher than if all points coincided, {coinciding:.3g}: "
        "neighbors in the embedding need not be neighbors in the table."
    )
    if descended:
        return Status("diverged", message, "Lower learning_rate.")
    return Status(
        "max_iter", message, "Increase max_iter: attraction was exaggerated until the end."
    )


def components(X: np.ndarray, d: int) -> np.ndarray:
    """Scores of the d leading principal components of centred rows, scaled so that the first has
    standard deviation 1e-4.
    """
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
