"""The state of training: the optimizer from step to step, the losses from epoch to epoch.

Invariant: the parameters before the epoch with the smallest loss are kept until the end, so that
steps that are too large do not lose them.
"""

from dataclasses import dataclass, field

import numpy as np

from pellucid.neural_network import _loops
from pellucid.neural_network.network import Network
from pellucid.neural_network.training_options import TrainingOptions

LARGEST = float(np.finfo(float).max)
LARGE_INCREASE = 1.0  # relative to the loss of the first epoch: training has diverged


@dataclass
class OptimizerState:
    """First and second moments of the gradient by parameter, step size, numbers of steps and rows."""

    first: np.ndarray
    second: np.ndarray
    rate: float
    step: int = 0
    seen: int = 0  # number of rows visited

    @classmethod
    def begin(cls, network: Network, options: TrainingOptions) -> "OptimizerState":
        return cls(
            np.zeros_like(network.parameters), np.zeros_like(network.parameters), options.rate
        )

    def move(self, network: Network, g: np.ndarray, decay: float, options: TrainingOptions) -> None:
        """One step along the gradient; `decay` is the strength of the penalty on the weights."""
        self.step += 1
        rate = self.rate
        if options.solver == "adam":
            rate *= float(np.sqrt(1 - options.beta2**self.step) / (1 - options.beta1**self.step))
        cut = network.n_weights
        for part, own in ((slice(0, cut), decay), (slice(cut, None), 0.0)):
            x, gradient, m = network.parameters[part], g[part], self.first[part]
            if options.solver == "adam":
                second = self.second[part]
                _loops.adam(
                    x, gradient, m, second, own, rate, options.beta1, options.beta2, options.epsilon
                )
            elif options.solver == "sgd":
                _loops.momentum(x, gradient, m, own, rate, options.momentum, options.nesterov)
            else:
                _loops.momentum(x, gradient, m, own, rate, 0.0, False)


@dataclass
class Progress:
    """Losses and validation scores by epoch, and the parameters of the best epochs."""

    losses: list[float] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    best_loss: float = np.inf
    best_score: float = -np.inf
    best: np.ndarray | None = None  # parameters after the epoch with the best score
    before_best: np.ndarray | None = None  # parameters before the epoch with the smallest loss
    idle_epochs: int = 0  # epochs without improvement
    final: float | None = None  # loss of the final parameters, if not those of the last epoch

    def add(
        self, loss: float, score: float | None, before: np.ndarray, after: np.ndarray, tol: float
    ) -> None:
        """Add an epoch: its loss, its validation score, the parameters before and after it."""
        self.losses.append(loss)
        idle = loss > self.best_loss - tol if score is None else score < self.best_score + tol
        self.idle_epochs = self.idle_epochs + 1 if idle else 0
        if self.before_best is None or loss < self.best_loss:
            self.best_loss, self.before_best = loss, before
        if score is None:
            return
        self.scores.append(score)
        if score > self.best_score:
            self.best_score, self.best = score, after.copy()

    @property
    def loss(self) -> float:
        """The loss of the final parameters."""
        return self.losses[-1] if self.final is None else self.final

    def loss_increased(self, tol: float) -> bool:
        """Whether the last losses, not just the very last, are far above that of the first epoch."""
        first, last = self.losses[0], self.losses[-1]
        recent = float(np.median(self.losses[-self.idle_epochs :]))
        return min(last, recent) - first > LARGE_INCREASE * abs(first) + 10.0 * tol
