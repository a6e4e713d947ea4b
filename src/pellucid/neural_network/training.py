"""Training: mini-batches, steps, epochs, early stopping, and what to do when it diverges.

Invariant: the order of rows and the dropped values depend on (seed, epoch) alone, BLAS runs on one
thread, and the gradient of a batch is added up over parts that depend on the shapes alone; so bits
do not depend on threads.
What is returned is always finite: after a divergence, the parameters before that epoch.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.errors import ParameterError, shown
from pellucid.neural_network import _loops
from pellucid.neural_network.layers import ACTIVATIONS, Dense
from pellucid.neural_network.network import Network, Workspace
from pellucid.neural_network.options import CHECKS, MLP_NAMES
from pellucid.numerics.optimise import lbfgs
from pellucid.records import Recorder, Solution, Status

LARGEST = float(np.finfo(float).max)
TOO_LARGE = 1e20  # parameters beyond it are as good as infinite
SMALLEST_RATE = 1e-6
FAR = 1.0  # times the first epoch's loss: what ends so far above it has not converged
# Multiplications (some milliseconds of them) worth a thread, and rows that make a product fast.
PART_WORK, PART_ROWS, MOST_PARTS = 3e7, 64, 8


@dataclass(frozen=True)
class Plan:
    """What the user asked for. `solver`: "gd" (all rows, plain steps), "sgd", "adam", "lbfgs".

    `by_hand`: it was asked of `Network.train`, not of an MLP; messages use the names of either.
    """

    solver: str = "adam"
    alpha: float = 0.0
    batch: int = 200
    schedule: str = "constant"
    rate: float = 0.001
    power: float = 0.5
    epochs: int = 200
    shuffle: bool = True
    tol: float = 1e-4
    momentum: float = 0.9
    nesterov: bool = True
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    patience: float = 10
    max_fun: int = 15000
    by_hand: bool = False

    def named(self, option: str) -> str:
        """What the user calls an option."""
        return option if self.by_hand else MLP_NAMES[option]

    def slower(self) -> str:
        """What to try after a divergence."""
        scale = "tandardise the columns (and a regression's target)."
        return f"S{scale}" if self.solver == "lbfgs" else f"Lower {self.named('rate')}, or s{scale}"

    @classmethod
    def of(cls, options: dict[str, Any]) -> "Plan":
        """A plan by names, for networks built by hand; wrong names and values are refused."""
        unknown = sorted(set(options) - set(CHECKS))
        if unknown:
            raise ParameterError(
                f"Network.train has no option {unknown[0]!r}. Its options are {list(CHECKS)}."
            )
        for name, value in options.items():
            if not CHECKS[name].accepts(value):
                raise ParameterError(
                    f"The {name!r} option of Network.train must be {CHECKS[name]}. Got {shown(value)} "
                    "instead."
                )
        return cls(**options, by_hand=True)


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
    """Losses, scores and the best of them."""

    losses: list[float] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    best_loss: float = np.inf
    best_score: float = -np.inf
    best: np.ndarray | None = None
    waited: int = 0

    def note(self, loss: float, score: float | None, parameters: np.ndarray, tol: float) -> None:
        self.losses.append(loss)
        if score is None:
            self.waited = self.waited + 1 if loss > self.best_loss - tol else 0
            self.best_loss = min(self.best_loss, loss)
            return
        self.scores.append(score)
        self.waited = self.waited + 1 if score < self.best_score + tol else 0
        if score > self.best_score:
            self.best_score, self.best = score, parameters.copy()

    def risen(self, plan: Plan) -> Status | None:
        """A status if the loss ended far above that of the first epoch, not by one bad epoch alone."""
        first, last, least = self.losses[0], self.losses[-1], int(np.argmin(self.losses))
        lasting = float(np.median(self.losses[-self.waited :]))
        if not min(last, lasting) - first > FAR * abs(first) + 10.0 * plan.tol:
            return None
        return Status(
            "diverged",
            f"Training diverged: the loss rose from {first:.3g} in the first epoch to {last:.3g} in "
            f"epoch {len(self.losses)}; it was least, {self.losses[least]:.3g}, in epoch {least + 1}.",
            plan.slower(),
        )


class Trainer:
    """Trains a network on rows X, targets Y (n, outputs) and weights; the network is changed.

    `at`: the rows of X that Y and the weights belong to; by default all of them.
    `judge(network)`: a score on rows held back, the higher the better, for early stopping.
    """

    def __init__(
        self, network: Network, X: Any, Y: np.ndarray, weights: np.ndarray, plan: Plan,
        judge: Callable[[Network], float] | None = None, at: np.ndarray | None = None,
    ) -> None:  # fmt: skip
        network.check()
        self.network, self.plan, self.judge = network, plan, judge
        self.X, self.Y, self.weights, self.at = X, Y, weights, at
        self.n = len(Y)
        whole = plan.solver == "gd"
        self.batch = self.n if whole else min(plan.batch, self.n)
        # A batch larger than a block is added up block by block, on several threads.
        self.large = self.batch > network.blocks(self.n)[0].stop
        if any(layer.dropout for layer in network.layers[:-1]):
            self._check_dropout()
        self.parts = 1 if self.large else _parts(self.batch, network.n_weights)
        rows = 0 if self.large else -(-self.batch // self.parts)
        self.spaces = [Workspace(network, rows) for _ in range(self.parts)]
        dense = isinstance(X, np.ndarray)
        shape = (self.parts, rows, X.shape[1]) if dense else (self.parts, 0, 0)
        self.X_parts = np.empty(shape, network.dtype)

    def _check_dropout(self) -> None:
        """Refuse to leave values out where no step does so."""
        if self.plan.solver == "lbfgs":
            raise ParameterError(
                "The 'dropout' parameter must be 0 for solver='lbfgs', whose loss may not change from "
                "step to step. Use 'adam' or 'sgd'."
            )
        if self.large:
            most = self.network.blocks(self.n)[0].stop
            raise ParameterError(
                f"The 'dropout' parameter must be 0 for batches of more than {most} rows. Got "
                f"{self.batch}: use solver 'adam' or 'sgd' with a smaller {self.plan.named('batch')}."
            )

    def run(self, seed: Any, walk: Walk | None = None, begun: int = 0) -> Solution:
        """Epochs until nothing improves; x = (Walk, Progress)."""
        if self.plan.solver == "lbfgs":
            return self._lbfgs()
        plan, recorder, progress = self.plan, Recorder("network", self.plan.epochs), Progress()
        walk = walk or Walk.begin(self.network, plan)
        status: Status | None = None
        epoch = 0
        with parallel.one_blas_thread(), np.errstate(all="ignore"):
            while status is None and epoch < plan.epochs:
                epoch += 1
                before = self.network.parameters.copy()
                loss, status = self._epoch(walk, seed, begun + epoch)
                if status is not None:  # diverged
                    self.network.parameters[...] = before
                    loss = progress.losses[-1] if progress.losses else self._start_loss()
                score = None if self.judge is None else self._judged(self.judge)
                progress.note(loss, score, self.network.parameters, plan.tol)
                recorder.add(
                    iteration=begun + epoch, objective=loss, validation_score=score,
                    learning_rate=walk.rate, state={"parameters": self.network.parameters},
                )  # fmt: skip
                status = status or self._verdict(walk, progress)
        if progress.best is not None:
            self.network.parameters[...] = progress.best
        status = status or Status(
            "max_iter",
            f"Stochastic Optimizer: Maximum iterations ({plan.epochs}) reached and the optimization "
            "hasn't converged yet.",
            f"Increase {plan.named('epochs')}, or {plan.named('rate')} if the loss falls slowly.",
        )
        return Solution((walk, progress), status, recorder.history(), epoch)

    def _judged(self, judge: Callable[[Network], float]) -> float:
        """The score on rows held back; beyond all bounds it is the worst there is."""
        score = judge(self.network)
        return score if np.isfinite(score) else -LARGEST

    def _start_loss(self) -> float:
        """The loss before any step; the largest float where it is not finite."""
        value = self.network.gradient(self.X, self.Y, self.weights, self.at)[0]
        return value if np.isfinite(value) else LARGEST

    def _verdict(self, walk: Walk, progress: Progress) -> Status | None:
        """Whether to stop after this epoch; lowers the rate of the schedules that do so."""
        plan = self.plan
        if plan.schedule == "invscaling" and plan.solver != "adam":
            walk.rate = plan.rate / (walk.seen + 1) ** plan.power
        if progress.waited <= plan.patience:
            return None
        if plan.schedule == "adaptive" and plan.solver != "adam" and walk.rate > SMALLEST_RATE:
            walk.rate, progress.waited = walk.rate / 5.0, 0
            return None
        if self.judge is not None:
            said = f"The validation score did not improve by tol for {plan.patience} epochs."
            return Status("early_stopped", said)
        return progress.risen(plan) or Status(
            "converged", f"The loss did not improve by tol for {plan.patience} epochs."
        )

    # One epoch ----------------------------------------------------------------------------------

    def _epoch(self, walk: Walk, seed: Any, epoch: int) -> tuple[float, Status | None]:
        """All rows once: mean loss, and a status if it diverged."""
        rng = parallel.stream(seed, "epoch", epoch)
        mixed = self.plan.shuffle and self.batch < self.n
        order = np.arange(self.n, dtype=np.min_scalar_type(-self.n))
        if mixed:
            rng.shuffle(order)
        total, flag = 0.0, parallel.StopFlag()
        for start in range(0, self.n, self.batch):
            flag.check()
            rows = order[start : start + self.batch]
            value, mass = self._gradient(rows, rng)
            decay = self.plan.alpha / mass
            W = self.network.parameters[: self.network.n_weights]
            value += 0.5 * decay * float(W @ W)
            if not np.isfinite(value):
                return value, self._diverged(walk.step + 1, epoch, rows)
            total += value * len(rows)
            walk.move(self.network, self.spaces[0].gradient, decay, self.plan)
        walk.seen += self.n
        if not float(np.abs(self.network.parameters).max()) < TOO_LARGE:
            return total, self._diverged(walk.step, epoch, rows)
        return total / self.n, None

    def _gradient(self, rows: np.ndarray, rng: np.random.Generator) -> tuple[float, float]:
        """Mean loss of a batch, its gradient in the first workspace, and its sum of weights."""
        w = self.weights[rows]
        mass = float(w.sum())
        if self.large:
            value, g = self.network.gradient(self.X, self.Y[rows], w, self._places(rows))
            self.spaces[0].gradient[...] = g
            return value, mass
        share = (w / mass).astype(self.network.dtype, copy=False)
        masks = [
            None if not layer.dropout else _mask(rng, len(rows), layer, self.network.dtype)
            for layer in self.network.layers[:-1]
        ]
        some = any(mask is not None for mask in masks)
        size = self.spaces[0].values[0].shape[0]

        def one(k: int) -> float:
            part = slice(k * size, (k + 1) * size)
            own = [None if mask is None else mask[part] for mask in masks] if some else ()
            X = self._rows(self._places(rows[part]), self.X_parts[k])
            Y = self.Y[rows[part]].astype(self.network.dtype, copy=False)
            return self.network.backward(X, Y, share[part], self.spaces[k], own)

        used = -(-len(rows) // size)
        value = sum(parallel.map(one, range(used))) if used > 1 else one(0)
        for space in self.spaces[1:used]:
            self.spaces[0].gradient += space.gradient
        return value, mass

    def _places(self, rows: np.ndarray) -> np.ndarray:
        """Where some of the rows stand in X."""
        return rows if self.at is None else self.at[rows]

    def _rows(self, rows: np.ndarray, out: np.ndarray) -> Any:
        if not isinstance(self.X, np.ndarray):
            return self.X[rows].astype(self.network.dtype, copy=False)
        if self.X.dtype != self.network.dtype:
            return self.network.rows_of(self.X, rows)
        return np.take(self.X, rows, axis=0, out=out[: len(rows)], mode="clip")

    def _diverged(self, step: int, epoch: int, rows: np.ndarray) -> Status:
        """Name the first layer whose values are no longer finite."""
        network, A = self.network, self.network.rows_of(self.X, self._places(rows))
        where = "the loss"
        for i, (layer, W, b) in enumerate(
            zip(network.layers, network.coefs, network.intercepts), 1
        ):
            if not np.abs(W).max(initial=0.0) < TOO_LARGE:
                where = f"the weights of layer {i}"
                break
            A = np.ascontiguousarray(A @ W)
            ACTIVATIONS.get(layer.activation, ACTIVATIONS["identity"]).apply(A, b)
            if not np.isfinite(A).all():
                where = f"the values of layer {i}"
                break
        return Status(
            "diverged",
            f"Training diverged in step {step} (epoch {epoch}): {where} grew beyond all bounds. The "
            "parameters before this epoch are kept.",
            self.plan.slower(),
        )

    # All rows at once ---------------------------------------------------------------------------

    def _lbfgs(self) -> Solution:
        network, plan, calls = self.network, self.plan, 0
        mass, cut = float(self.weights.sum()), network.n_weights
        start = network.parameters.copy()

        def evaluate(x: np.ndarray) -> tuple[float, np.ndarray]:
            nonlocal calls
            calls += 1
            network.parameters[...] = x
            value, g = network.gradient(self.X, self.Y, self.weights, self.at)
            g = g.astype(float)
            g[:cut] += plan.alpha / mass * x[:cut]
            return value + 0.5 * plan.alpha / mass * float(x[:cut] @ x[:cut]), g

        def enough(point: Any) -> Status | None:
            if calls < plan.max_fun:
                return None
            return Status("max_fun", f"The loss was evaluated {calls} times.", "Increase max_fun.")

        with np.errstate(all="ignore"):
            limits = {"tol": plan.tol, "max_iter": plan.epochs}
            found = lbfgs(evaluate, start.astype(float), stop=enough, **limits)  # type: ignore[arg-type]
            status = found.status
            finite = bool(np.isfinite(found.x).all()) and status.code != "diverged"
            network.parameters[...] = found.x if finite else start
            if not finite:
                status = self._diverged(calls, 1, np.arange(self.n))
        found.history["objective"] = np.nan_to_num(found.history["objective"], nan=LARGEST)
        losses = [float(v) for v in found.history["objective"]]
        progress = Progress(losses=losses, best_loss=min(losses, default=LARGEST))
        return Solution((None, progress), status, found.history, max(found.n_iter, 1))


def _parts(batch: int, weights: int) -> int:
    """Parts of a batch, for threads: a power of two that depends on the shapes alone."""
    most = min(batch // PART_ROWS, int(batch * weights // PART_WORK), MOST_PARTS)
    return 1 << (max(most, 1).bit_length() - 1)


def _mask(rng: np.random.Generator, m: int, layer: Dense, dtype: Any) -> np.ndarray:
    keep = 1.0 - layer.dropout
    return (rng.random((m, layer.units)) < keep).astype(dtype) / dtype.type(keep)
