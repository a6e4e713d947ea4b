"""What training remembers: the optimiser from step to step, the losses from epoch to epoch.

Invariant: the parameters before the epoch of the least loss are there until the end, so that nothing
is lost by steps that were too large.
"""

from dataclasses import dataclass, field

import numpy as np

from pellucid.neural_network import _loops
from pellucid.neural_network.network import Network
from pellucid.neural_network.training_options import Plan

LARGEST = float(np.finfo(float).max)
FAR = 1.0  # times the first epoch's loss: what ends so far above it has not converged


@dataclass
class Walk:
    """What the optimiser remembers from step to step: `first`, `second` per parameter."""

    first: np.ndarray
    second: np.ndarray
    rate: float
    step: int = 0
    seen: int = 0  # rows

    @classmethod
    def begin(cls, network: Network, plan: Plan) -> "Walk":
        return cls(np.zeros_like(network.parameters), np.zeros_like(network.parameters), plan.rate)

    def move(self, network: Network, g: np.ndarray, decay: float, plan: Plan) -> None:
        """One step along the gradient; `decay` is the penalty's share of it (no intercepts)."""
        self.step += 1
        rate = self.rate
        if plan.solver == "adam":
            rate *= float(np.sqrt(1 - plan.beta2**self.step) / (1 - plan.beta1**self.step))
        cut = network.n_weights
        for part, own in ((slice(0, cut), decay), (slice(cut, None), 0.0)):
            x, slope, m = network.parameters[part], g[part], self.first[part]
            if plan.solver == "adam":
                second = self.second[part]
                _loops.adam(x, slope, m, second, own, rate, plan.beta1, plan.beta2, plan.epsilon)
            elif plan.solver == "sgd":
                _loops.momentum(x, slope, m, own, rate, plan.momentum, plan.nesterov)
            else:
                _loops.momentum(x, slope, m, own, rate, 0.0, False)


@dataclass
class Progress:
    """Losses, scores, and the parameters of the best of them."""

    losses: list[float] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    best_loss: float = np.inf
    best_score: float = -np.inf
    best: np.ndarray | None = None  # after the epoch of the best score
    calm: np.ndarray | None = None  # before the epoch of the least loss
    waited: int = 0
    final: float | None = (
        None  # loss of the parameters that are kept, if not those of the last epoch
    )

    def note(
        self, loss: float, score: float | None, before: np.ndarray, after: np.ndarray, tol: float
    ) -> None:
        """One more epoch: its loss, its score on rows held back, the parameters before and after."""
        self.losses.append(loss)
        idle = loss > self.best_loss - tol if score is None else score < self.best_score + tol
        self.waited = self.waited + 1 if idle else 0
        if self.calm is None or loss < self.best_loss:
            self.best_loss, self.calm = loss, before
        if score is None:
            return
        self.scores.append(score)
        if score > self.best_score:
            self.best_score, self.best = score, after.copy()

    @property
    def loss(self) -> float:
        """The loss of the parameters that are kept."""
        return self.losses[-1] if self.final is None else self.final

    def risen(self, tol: float) -> bool:
        """The loss ended far above that of the first epoch, and not by one bad epoch alone."""
        first, last = self.losses[0], self.losses[-1]
        lasting = float(np.median(self.losses[-self.waited :]))
        return min(last, lasting) - first > FAR * abs(first) + 10.0 * tol
