"""`Network`: dense layers, their parameters in one vector, and the gradient of a loss.

Layout of the parameters: the matrices W (inputs, units) of all layers in C order, then the vectors
b of all layers. `coefs` and `intercepts` are views into it.

Invariant: `gradient` is the derivative of the loss with respect to every parameter, tested against
finite differences and against a plain loop over rows and units.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np

from pellucid import parallel
from pellucid.errors import NotFittedError, ParameterError, shown
from pellucid.neural_network import network_checks
from pellucid.neural_network.layers import ACTIVATIONS, LOSSES, Dense
from pellucid.parameters import Choice, Integer, check
from pellucid.records import Solution, SummaryTable, fitting

# Blocks of rows are sized as if the widest layer had at least this many units, to fit the cache.
MIN_WIDTH = 16


class Workspace:
    """Reused arrays: values of every layer, derivatives of the loss in them, and the gradient."""

    def __init__(self, network: "Network", rows: int) -> None:
        units = network.units[1:]
        self.values = [np.empty((rows, k), network.dtype) for k in units]
        self.deltas = [np.empty((rows, k), network.dtype) for k in units]
        self.gradient = np.empty(network.n_parameters, network.dtype)
        self.coefs, self.intercepts = network.views(self.gradient)


class Network:
    """A sequence of dense layers, and a loss.

    Parameters
    ----------
    inputs : number of input columns.
    layers : `Dense` layers; more can be added with `add`.
    loss : {"squared", "log", "cross_entropy", "poisson"}, default="squared"
        Loss of a row: sum (y - z)**2 / 2, the log loss summed over the outputs, the cross entropy, or
        half the Poisson deviance. The activation of the last layer must be the one of the loss:
        "identity", "logistic", "softmax" or "exp".
    dtype : precision of the parameters, float64 or float32

    Examples
    --------
    >>> from pellucid.neural_network import Dense, Network
    >>> network = Network(13).add(Dense(8, "relu")).add(Dense(1, "identity"))
    >>> network.n_parameters
    121
    >>> print(network.summary())
    Network
    inputs      13
    parameters  121
    loss        squared
    <BLANKLINE>
    layer    weights  activation  parameters
    -------  -------  ----------  ----------
    dense 1  13 x 8   relu               112
    dense 2  8 x 1    identity             9
    """

    def __init__(
        self, inputs: int, layers: Sequence[Dense] = (), loss: str = "squared", dtype: Any = float
    ) -> None:
        rules = {"loss": Choice(*LOSSES), "inputs": Integer(1)}
        check("Network", {"loss": loss, "inputs": inputs}, rules)
        self.inputs, self.loss, self.dtype = int(inputs), loss, network_checks.precision(dtype)
        self.layers: list[Dense] = [_layer(one) for one in layers]
        self._lay_out()

    def _lay_out(self) -> None:
        """Allocate a vector of parameters, all 0, and the views into it."""
        self.parameters = np.zeros(self.n_parameters, self.dtype)
        self.coefs, self.intercepts = self.views(self.parameters)
        # The penalty applies to all parameters but the intercepts.
        self.n_weights = self.n_parameters - sum(self.units[1:])

    def add(self, layer: Dense) -> Self:
        """Add a layer at the end; the other layers keep their parameters, the new ones are 0."""
        old = [*self.coefs, *self.intercepts]
        self.layers.append(_layer(layer))
        self._lay_out()
        half = len(old) // 2
        for new, kept in zip([*self.coefs[:half], *self.intercepts[:half]], old):
            new[...] = kept
        return self

    @property
    def units(self) -> list[int]:
        """Number of inputs, then the number of units of each layer."""
        return [self.inputs, *(layer.units for layer in self.layers)]

    @property
    def n_parameters(self) -> int:
        units = self.units
        return sum((a + 1) * b for a, b in pairwise(units))

    def views(self, vector: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Views into a parameter vector: weight matrices and intercepts of the layers."""
        units, coefs, intercepts, at = self.units, [], [], 0
        for a, b in pairwise(units):
            coefs.append(vector[at : at + a * b].reshape(a, b))
            at += a * b
        for b in units[1:]:
            intercepts.append(vector[at : at + b])
            at += b
        return coefs, intercepts

    def check(self) -> None:
        """Raise an error if the last layer does not match the loss, or has dropout."""
        wanted = LOSSES[self.loss].output
        if not self.layers or self.layers[-1].activation != wanted:
            found = self.layers[-1].activation if self.layers else "no layer"
            raise ParameterError(
                f"With loss {self.loss!r} the last layer must have activation {wanted!r}, not "
                f"{found!r}."
            )
        if self.layers[-1].dropout:
            raise ParameterError(
                "The 'dropout' parameter of the last layer must be 0: its values are the outputs. "
                f"Got {shown(self.layers[-1].dropout)} instead."
            )
        for number, layer in enumerate(self.layers[:-1], 1):
            if layer.activation not in ACTIVATIONS:
                raise ParameterError(
                    f"Layer {number} has activation {layer.activation!r}, which only the last layer "
                    "can have."
                )

    def draw(self, rng: np.random.Generator) -> Self:
        """Draw random parameters: uniform, with Glorot's bounds for each layer."""
        hidden = self.layers[0].activation if len(self.layers) > 1 else "identity"
        factor = 2.0 if hidden == "logistic" else 6.0
        for W, b in zip(self.coefs, self.intercepts):
            bound = np.sqrt(factor / sum(W.shape))
            W[...] = rng.uniform(-bound, bound, W.shape)
            b[...] = rng.uniform(-bound, bound, b.shape)
        return self

    def summary(self) -> SummaryTable:
        """The layers, with their shapes and numbers of parameters."""
        rows = [
            [f"dense {i}", f"{W.shape[0]} x {W.shape[1]}", layer.activation, W.size + b.size]
            for i, (layer, W, b) in enumerate(zip(self.layers, self.coefs, self.intercepts), 1)
        ]
        facts = {"inputs": self.inputs, "parameters": self.n_parameters, "loss": self.loss}
        columns = ("layer", "weights", "activation", "parameters")
        return SummaryTable("Network", facts, columns, rows)  # type: ignore[arg-type]

    # Predicting ---------------------------------------------------------------------------------

    def scores(self, X: Any) -> np.ndarray:
        """Values of the last layer before its activation, float64.

        A row with NaN or infinity has NaN scores, which activations would otherwise hide.
        """
        blocks, used = self.blocks(X.shape[0]), list[list[np.ndarray]]()
        out = np.empty((X.shape[0], self.units[-1]))

        def one(rows: slice) -> None:
            # Few, large operations: threads wait for each other at each of them.
            try:
                spaces = used.pop()
            except IndexError:  # all in use by other threads
                rows_at_once = min(blocks[0].stop, X.shape[0])
                spaces = [np.empty((rows_at_once, k), self.dtype) for k in self.units[1:-1]]
            A = self.rows_of(X, rows)
            for layer, W, b, space in zip(self.layers, self.coefs, self.intercepts, spaces):
                Z = space[: rows.stop - rows.start]
                _product(A, W, Z)
                ACTIVATIONS[layer.activation].apply(Z, b)
                A = Z
            np.add(A @ self.coefs[-1], self.intercepts[-1], out=out[rows])
            out[rows][_not_finite(X[rows])] = np.nan
            used.append(spaces)

        with np.errstate(over="ignore", invalid="ignore"):
            parallel.map(one, blocks)
        return out

    def answers(self, X: Any) -> np.ndarray:
        """Outputs of the last layer; X is not checked."""
        with np.errstate(over="ignore"):
            return LOSSES[self.loss].answer(self.scores(X))

    def predict(self, X: Any) -> np.ndarray:
        """Outputs of the last layer; an error if all parameters are 0, as before training."""
        self.check()
        if not self.parameters.any():
            raise NotFittedError(
                "This Network has no parameters yet: all are 0. Call 'train' or 'draw' first, or "
                "fill 'coefs' and 'intercepts'."
            )
        return self.answers(network_checks.checked_inputs(self, X))

    def rows_of(self, X: Any, rows: Any) -> Any:
        """Some rows of X, in the precision of the network."""
        with np.errstate(over="ignore"):
            return X[rows].astype(self.dtype, copy=False)

    def blocks(self, n: int) -> list[slice]:
        """Blocks of rows, which depend on n and the layers alone."""
        return parallel.row_blocks(n, max(max(self.units), MIN_WIDTH))

    # Training -----------------------------------------------------------------------------------

    def train(
        self, X: Any, Y: Any, sample_weight: Any = None, random_state: Any = None, **options: Any
    ) -> Solution:
        """Train the parameters, starting from their current values.

        If all parameters are 0, hidden layers could not learn, so random ones are drawn first. Y has
        a column for each output; `options` are the fields of `TrainingOptions`: solver, rate, epochs,
        batch, alpha, ... Rows of weight 0 are ignored. The result has `status`, `history` and
        `n_iter`; if training diverges, `status` reports it, and the parameters stay finite.
        """
        from pellucid.neural_network.training import Trainer, TrainingOptions

        self.check()
        X, Y, weights = network_checks.checked_training_data(self, X, Y, sample_weight)
        seed = parallel.seed_sequence(random_state)
        trainer = Trainer(self, X, Y, weights, TrainingOptions.of(options))
        if len(self.layers) > 1 and not self.parameters.any():
            self.draw(parallel.stream(seed, "start"))
        with fitting("Network"):
            return trainer.run(seed)

    # Loss and gradient --------------------------------------------------------------------------

    def backward(
        self, X: Any, Y: np.ndarray, share: np.ndarray, space: Workspace,
        masks: Sequence[np.ndarray | None] = (),
    ) -> float:  # fmt: skip
        """sum_i share_i loss_i of some rows; writes its gradient to `space.gradient`.

        1. Values of the layers from first to last (`masks` scale the hidden ones: dropout).
        2. The loss, and its derivatives in the scores.
        3. Derivatives in the values of the layers from last to first, and in the parameters.
        """
        m, coefs, intercepts = X.shape[0], self.coefs, self.intercepts
        last = len(self.layers) - 1
        A: list[Any] = [X]
        for i, layer in enumerate(self.layers):  # 1
            Z = space.values[i][:m]
            _product(A[-1], coefs[i], Z)
            if i == last:
                Z += intercepts[i]
                break
            ACTIVATIONS[layer.activation].apply(Z, intercepts[i])
            if masks and masks[i] is not None:
                Z *= masks[i]
            A.append(Z)
        D = space.deltas[last][:m]
        D[...] = Z
        value = LOSSES[self.loss].evaluate(D, Y, share)  # 2
        for i in range(last, -1, -1):  # 3
            _product(A[i].T, D, space.coefs[i])
            np.add.reduce(D, axis=0, out=space.intercepts[i])
            if i == 0:
                break
            before = space.deltas[i - 1][:m]
            if D.shape[1] == 1:
                np.multiply(D, coefs[i].T, out=before)
            else:
                np.matmul(D, coefs[i].T, out=before)
            mask = masks[i - 1] if masks else None
            values = A[i]
            if mask is not None:
                before *= mask
                values = values / np.where(mask > 0, mask, 1.0)  # values before the dropout
            ACTIVATIONS[self.layers[i - 1].activation].times_derivative(values, before)
            D = before
        return value

    def gradient(
        self, X: Any, Y: np.ndarray, weights: Any = None, at: np.ndarray | None = None
    ) -> tuple[float, np.ndarray]:
        """Weighted mean loss over the rows, and its gradient, computed block by block.

        `at`: the rows of X that Y and the weights belong to; all rows by default.
        """
        self.check()
        share = np.ones(len(Y)) if weights is None else np.asarray(weights, dtype=float)
        network_checks.check_weights(share)
        share = (share / share.sum()).astype(self.dtype)

        def one(rows: slice) -> tuple[float, np.ndarray]:
            space = Workspace(self, rows.stop - rows.start)
            some = self.rows_of(X, rows if at is None else at[rows])
            targets = np.ascontiguousarray(Y[rows], dtype=self.dtype)
            return self.backward(some, targets, share[rows], space), space.gradient

        with np.errstate(over="ignore", invalid="ignore"):
            return parallel.reduce(
                one, lambda a, b: (a[0] + b[0], np.add(a[1], b[1], out=a[1])), self.blocks(len(Y))
            )  # fmt: skip


def _layer(layer: Any) -> Dense:
    if not isinstance(layer, Dense):
        raise ParameterError(
            f"A layer of a Network must be a Dense layer, such as Dense(8, 'relu'). Got "
            f"{shown(layer)} instead."
        )
    return layer


def _not_finite(X: Any) -> Any:
    """Mask of the rows with NaN or infinity; an empty slice if the sum of all cells is finite."""
    if not isinstance(X, np.ndarray) or np.isfinite(X.sum()):
        return slice(0, 0)
    return ~np.isfinite(X).all(axis=1)


def _product(a: Any, b: np.ndarray, out: np.ndarray) -> None:
    """out = a @ b; a may be sparse."""
    if isinstance(a, np.ndarray):
        np.matmul(a, b, out=out)
    else:
        out[...] = a @ b
