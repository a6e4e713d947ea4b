"""Training: mini-batches, steps, epochs, early stopping, and divergence.

Invariant: the order of rows and the dropped values depend on (seed, epoch) alone, BLAS runs on one
thread, and the gradient of a batch is added up over parts that depend on the shapes alone; so bits
do not depend on threads.
The returned parameters are always finite: after a divergence, they are those before the epoch with
the smallest loss.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.errors import ParameterError
from pellucid.neural_network.layers import ACTIVATIONS, Dense
from pellucid.neural_network.network import Network, Workspace
from pellucid.neural_network.training_options import TrainingOptions
from pellucid.neural_network.training_state import LARGEST, OptimizerState, Progress
from pellucid.numerics.optimise import lbfgs
from pellucid.records import Recorder, Solution, Status, converting

TOO_LARGE = 1e20  # parameters beyond this count as infinite
SMALLEST_RATE = 1e-6
# Smallest number of multiplications (a few milliseconds) and of rows for each thread.
PART_WORK, PART_ROWS, MOST_PARTS = 3e7, 64, 8


class Trainer:
    """Trains a network on rows X, targets Y (n, outputs) and weights; the network is changed.

    `at`: the rows of X that Y and the weights belong to; all rows by default.
    `validate(network)`: a score on the validation rows, for early stopping; higher is better.
    """

    def __init__(
        self, network: Network, X: Any, Y: np.ndarray, weights: np.ndarray,
        options: TrainingOptions, validate: Callable[[Network], float] | None = None,
        at: np.ndarray | None = None,
    ) -> None:  # fmt: skip
        network.check()
        if not weights.all():  # rows of weight 0 are ignored
            keep = np.flatnonzero(weights)
            Y, weights, at = Y[keep], weights[keep], keep if at is None else at[keep]
        self.network, self.options, self.validate = network, options, validate
        self.X, self.Y, self.weights, self.at = X, Y, weights, at
        self.n = len(Y)
        self.batch = self.n if options.solver == "gd" else min(options.batch, self.n)
        # The gradient of a batch larger than a block is computed block by block, on several threads.
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
        """Raise an error for solvers and batches that do not support dropout."""
        if self.options.solver == "lbfgs":
            raise ParameterError(
                "The 'dropout' parameter must be 0 for solver='lbfgs', which needs the same loss in "
                "every step. Use 'adam' or 'sgd'."
            )
        if self.large:
            most = self.network.blocks(self.n)[0].stop
            raise ParameterError(
                f"The 'dropout' parameter must be 0 for batches of more than {most} rows. Got "
                f"{self.batch}: use solver 'adam' or 'sgd' with a smaller {self.options.named('batch')}."
            )

    def run(self, seed: Any, state: OptimizerState | None = None, passes: int = 0) -> Solution:
        """Train until the loss stops improving; x = (OptimizerState, Progress).

        `state` and `passes`: the optimizer and the number of epochs of earlier training.
        """
        if self.options.solver == "lbfgs":
            return self._lbfgs()
        options, progress = self.options, Progress()
        with converting(self._by_layer):
            recorder = Recorder("network", options.epochs)
        recorder.step(passes, {"x": self.network.parameters}, {"epoch": passes}, "The start.")
        state = state or OptimizerState.begin(self.network, options)
        status: Status | None = None
        epoch = 0
        with parallel.one_blas_thread(), np.errstate(all="ignore"):
            while status is None and epoch < options.epochs:
                epoch += 1
                before = self.network.parameters.copy()
                loss, status = self._epoch(state, seed, passes + epoch)
                if status is not None:  # diverged
                    self.network.parameters[...] = before
                    loss = progress.losses[-1] if progress.losses else self._loss()
                score = None if self.validate is None else self._validation_score(self.validate)
                progress.add(loss, score, before, self.network.parameters, options.tol)
                recorder.add(
                    iteration=passes + epoch, objective=loss, validation_score=score,
                    learning_rate=state.rate, state={"x": self.network.parameters},
                )  # fmt: skip
                status = status or self._stop(state, progress)
            status = status or self._loss_increased(state, progress) or Status(
                "max_iter",
                f"Stochastic Optimizer: Maximum iterations ({options.epochs}) reached and the "
                "optimization hasn't converged yet.",
                f"Increase {options.named('epochs')}, or {options.named('rate')} if the loss "
                "falls slowly.",
            )  # fmt: skip
            self._set_final(progress, status)
        return Solution((state, progress), status, recorder.history(), epoch)

    def _by_layer(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """Weights and intercepts of the layers, from the vector of all parameters."""
        coefs, intercepts = self.network.views(state["x"].astype(self.network.dtype))
        return {"coefs_": coefs, "intercepts_": intercepts}

    def _set_final(self, progress: Progress, status: Status) -> None:
        """Set the final parameters: those with the best validation score; those before the epoch with
        the smallest loss, if training diverged; otherwise the last ones.
        """
        parameters, best, score = self.network.parameters, progress.best, progress.best_score
        if status.code == "diverged":
            parameters[...] = progress.before_best
            if self.validate is not None and self._validation_score(self.validate) >= score:
                best = None
        if best is not None:
            parameters[...] = best
        if status.code == "diverged":
            progress.final = self._loss()

    def _kept(self, which: str) -> str:
        """Which parameters `_set_final` keeps after a divergence, for messages."""
        kept = which if self.validate is None else "with the best validation score"
        return f"The parameters {kept} are kept."

    def _validation_score(self, validate: Callable[[Network], float]) -> float:
        """The score on the validation rows; the lowest float if it is not finite."""
        score = validate(self.network)
        return score if np.isfinite(score) else -LARGEST

    def _loss(self) -> float:
        """The current loss; the largest float if it is not finite."""
        value = self.network.gradient(self.X, self.Y, self.weights, self.at)[0]
        W = self.network.parameters[: self.network.n_weights]
        mass = float(self.weights.mean()) * self.batch
        value += 0.5 * self.options.alpha / mass * float(W @ W)
        return value if np.isfinite(value) else LARGEST

    def _loss_increased(self, state: OptimizerState, progress: Progress) -> Status | None:
        """A status with step and layer, if the loss is far above that of the first epoch."""
        if not progress.loss_increased(self.options.tol):
            return None
        assert progress.before_best is not None
        first, last = progress.losses[0], progress.losses[-1]
        best = progress.losses.index(progress.best_loss)
        step = state.step - (len(progress.losses) - best) * -(-self.n // self.batch) + 1
        sizes = [np.abs(W).max(initial=0.0) for W in self.network.views(progress.before_best)[0]]
        grown = [np.abs(W).max(initial=0.0) for W in self.network.coefs]
        layer = int(np.argmax(np.array(grown) / np.maximum(sizes, 1e-300)))
        return Status(
            "diverged",
            f"Training diverged: the loss rose from {first:.3g} in the first epoch to {last:.3g} in "
            f"epoch {len(progress.losses)}; the smallest was {progress.best_loss:.3g} in epoch "
            f"{best + 1}. From step {step} on, the weights of layer {layer + 1} grew most, from "
            f"{sizes[layer]:.3g} to {grown[layer]:.3g}. {self._kept(f'before step {step}')}",
            self.options.advice(),
        )

    def _stop(self, state: OptimizerState, progress: Progress) -> Status | None:
        """A status if training stops after this epoch; also updates the step size by schedule."""
        options = self.options
        if options.schedule == "invscaling" and options.solver != "adam":
            state.rate = options.rate / (state.seen + 1) ** options.power
        if progress.idle_epochs <= options.patience:
            return None
        if (
            options.schedule == "adaptive"
            and options.solver != "adam"
            and state.rate > SMALLEST_RATE
        ):
            state.rate, progress.idle_epochs = state.rate / 5.0, 0
            return None
        increased = self._loss_increased(state, progress)
        if increased:
            return increased
        if self.validate is None:
            message = f"The loss did not improve by tol for {options.patience} epochs."
            return Status("converged", message)
        message = f"The validation score did not improve by tol for {options.patience} epochs."
        return Status("early_stopped", message)

    # One epoch ----------------------------------------------------------------------------------

    def _epoch(self, state: OptimizerState, seed: Any, epoch: int) -> tuple[float, Status | None]:
        """One pass over the rows: the mean loss, and a status if training diverged."""
        rng = parallel.stream(seed, "epoch", epoch)
        shuffled = self.options.shuffle and self.batch < self.n
        order = np.arange(self.n, dtype=np.min_scalar_type(-self.n))
        if shuffled:
            rng.shuffle(order)
        total, flag = 0.0, parallel.StopFlag()
        for start in range(0, self.n, self.batch):
            flag.check()
            rows = order[start : start + self.batch]
            value, mass = self._gradient(rows, rng)
            decay = self.options.alpha / mass
            W = self.network.parameters[: self.network.n_weights]
            value += 0.5 * decay * float(W @ W)
            if not np.isfinite(value):
                return value, self._diverged(state.step + 1, epoch, rows)
            total += value * len(rows)
            state.move(self.network, self.spaces[0].gradient, decay, self.options)
        state.seen += self.n
        if not float(np.abs(self.network.parameters).max()) < TOO_LARGE:
            return total, self._diverged(state.step, epoch, rows)
        return total / self.n, None

    def _gradient(self, rows: np.ndarray, rng: np.random.Generator) -> tuple[float, float]:
        """Mean loss and sum of weights of a batch; its gradient is in the first workspace."""
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
        """The positions of some rows in X."""
        return rows if self.at is None else self.at[rows]

    def _rows(self, rows: np.ndarray, out: np.ndarray) -> Any:
        if not isinstance(self.X, np.ndarray):
            return self.X[rows].astype(self.network.dtype, copy=False)
        if self.X.dtype != self.network.dtype:
            return self.network.rows_of(self.X, rows)
        return np.take(self.X, rows, axis=0, out=out[: len(rows)], mode="clip")

    def _diverged(self, step: int, epoch: int, rows: np.ndarray) -> Status:
        """The status of a divergence, with the first layer that is not finite."""
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
            f"Training diverged in step {step} (epoch {epoch}): {where} became too large or not finite. "
            + self._kept(
                "of the start"
                if self.options.solver == "lbfgs"
                else "before the epoch with the smallest loss"
            ),
            self.options.advice(),
        )

    # L-BFGS -------------------------------------------------------------------------------------

    def _lbfgs(self) -> Solution:
        network, options, calls = self.network, self.options, 0
        mass, cut = float(self.weights.sum()), network.n_weights
        start = network.parameters.copy()

        def evaluate(x: np.ndarray) -> tuple[float, np.ndarray]:
            nonlocal calls
            calls += 1
            network.parameters[...] = x
            value, g = network.gradient(self.X, self.Y, self.weights, self.at)
            g = g.astype(float)
            g[:cut] += options.alpha / mass * x[:cut]
            return value + 0.5 * options.alpha / mass * float(x[:cut] @ x[:cut]), g

        def max_fun_reached(point: Any) -> Status | None:
            if calls < options.max_fun:
                return None
            return Status("max_fun", f"The loss was evaluated {calls} times.", "Increase max_fun.")

        with np.errstate(all="ignore"):
            limits = {"tol": options.tol, "max_iter": options.epochs}
            with converting(self._by_layer):
                found = lbfgs(evaluate, start.astype(float), stop=max_fun_reached, **limits)  # type: ignore[arg-type]
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
    """Number of parts of a batch, one per thread: a power of two that depends on the shapes alone."""
    most = min(batch // PART_ROWS, int(batch * weights // PART_WORK), MOST_PARTS)
    return 1 << (max(most, 1).bit_length() - 1)


def _mask(rng: np.random.Generator, m: int, layer: Dense, dtype: Any) -> np.ndarray:
    keep = 1.0 - layer.dropout
    return (rng.random((m, layer.units)) < keep).astype(dtype) / dtype.type(keep)
