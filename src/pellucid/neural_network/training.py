"""Training: mini-batches, steps, epochs, early stopping, and what to do when it diverges.

Invariant: the order of rows and the dropped values depend on (seed, epoch) alone, BLAS runs on one
thread, and the gradient of a batch is added up over parts that depend on the shapes alone; so bits
do not depend on threads.
What is returned is always finite: after a divergence, the parameters before the epoch in which the
loss was least.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.errors import ParameterError
from pellucid.neural_network.layers import ACTIVATIONS, Dense
from pellucid.neural_network.network import Network, Workspace
from pellucid.neural_network.training_options import Plan
from pellucid.neural_network.training_state import LARGEST, Progress, Walk
from pellucid.numerics.optimise import lbfgs
from pellucid.records import Recorder, Solution, Status

TOO_LARGE = 1e20  # parameters beyond it are as good as infinite
SMALLEST_RATE = 1e-6
# Multiplications (some milliseconds of them) worth a thread, and rows that make a product fast.
PART_WORK, PART_ROWS, MOST_PARTS = 3e7, 64, 8


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
        if not weights.all():  # weight 0 means absent
            keep = np.flatnonzero(weights)
            Y, weights, at = Y[keep], weights[keep], keep if at is None else at[keep]
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
                    loss = progress.losses[-1] if progress.losses else self._loss()
                score = None if self.judge is None else self._judged(self.judge)
                progress.note(loss, score, before, self.network.parameters, plan.tol)
                recorder.add(
                    iteration=begun + epoch, objective=loss, validation_score=score,
                    learning_rate=walk.rate, state={"parameters": self.network.parameters},
                )  # fmt: skip
                status = status or self._verdict(walk, progress)
            status = status or self._risen(walk, progress) or Status(
                "max_iter",
                f"Stochastic Optimizer: Maximum iterations ({plan.epochs}) reached and the "
                "optimization hasn't converged yet.",
                f"Increase {plan.named('epochs')}, or {plan.named('rate')} if the loss falls slowly.",
            )  # fmt: skip
            self._keep(progress, status)
        return Solution((walk, progress), status, recorder.history(), epoch)

    def _keep(self, progress: Progress, status: Status) -> None:
        """Leave the parameters worth keeping in the network: the best by the rows held back, those
        before the epoch of the least loss if training diverged, else the last.
        """
        parameters, best, score = self.network.parameters, progress.best, progress.best_score
        if status.code == "diverged":
            parameters[...] = progress.calm
            if self.judge is not None and self._judged(self.judge) >= score:
                best = None
        if best is not None:
            parameters[...] = best
        if status.code == "diverged":
            progress.final = self._loss()

    def _kept(self, when: str) -> str:
        """What `_keep` will do after a divergence, in words."""
        best = when if self.judge is None else "with the best score on the rows held back"
        return f"The parameters {best} are kept."

    def _judged(self, judge: Callable[[Network], float]) -> float:
        """The score on rows held back; beyond all bounds it is the worst there is."""
        score = judge(self.network)
        return score if np.isfinite(score) else -LARGEST

    def _loss(self) -> float:
        """The loss as it is now; the largest float where it is not finite."""
        value = self.network.gradient(self.X, self.Y, self.weights, self.at)[0]
        W = self.network.parameters[: self.network.n_weights]
        mass = float(self.weights.mean()) * self.batch
        value += 0.5 * self.plan.alpha / mass * float(W @ W)
        return value if np.isfinite(value) else LARGEST

    def _risen(self, walk: Walk, progress: Progress) -> Status | None:
        """A status that names step and layer, if the loss ended far above that of the first epoch."""
        if not progress.risen(self.plan.tol):
            return None
        assert progress.calm is not None
        first, last = progress.losses[0], progress.losses[-1]
        least = progress.losses.index(progress.best_loss)
        step = walk.step - (len(progress.losses) - least) * -(-self.n // self.batch) + 1
        sizes = [np.abs(W).max(initial=0.0) for W in self.network.views(progress.calm)[0]]
        grown = [np.abs(W).max(initial=0.0) for W in self.network.coefs]
        layer = int(np.argmax(np.array(grown) / np.maximum(sizes, 1e-300)))
        return Status(
            "diverged",
            f"Training diverged: the loss rose from {first:.3g} in the first epoch to {last:.3g} in "
            f"epoch {len(progress.losses)}; it was least, {progress.best_loss:.3g}, in epoch "
            f"{least + 1}. From step {step} on, the weights of layer {layer + 1} grew most, from "
            f"{sizes[layer]:.3g} to {grown[layer]:.3g}. {self._kept(f'before step {step}')}",
            self.plan.slower(),
        )

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
        risen = self._risen(walk, progress)
        if risen or self.judge is None:
            said = f"The loss did not improve by tol for {plan.patience} epochs."
            return risen or Status("converged", said)
        said = f"The validation score did not improve by tol for {plan.patience} epochs."
        return Status("early_stopped", said)

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
            f"Training diverged in step {step} (epoch {epoch}): {where} grew beyond all bounds. "
            + self._kept(
                "of the start"
                if self.plan.solver == "lbfgs"
                else "before the epoch of the least loss"
            ),
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
