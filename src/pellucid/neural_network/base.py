"""Common parts of `MLPClassifier` and `MLPRegressor`: parameters, training, explanations, files."""

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy as np

from pellucid import parallel
from pellucid.data import Problem, prepare
from pellucid.data.opening import opened
from pellucid.data.row_view import RowView
from pellucid.data.weighted_sampling import copies_of
from pellucid.errors import DataError, ModelFileError, ParameterError, shown
from pellucid.neural_network.layers import LOSSES, Dense
from pellucid.neural_network.network import Network
from pellucid.neural_network.training_options import DTYPES, MLP_NAMES, NetworkParameters
from pellucid.records import Status

Validation = tuple[Any, Any, Any]  # X_val, y_val, sample_weight_val


class MultiLayer(NetworkParameters):
    """Base class: a network from the encoded columns to the scores of the outputs."""

    _reads_float32 = True
    # Contract tests train many networks: a small one with large steps is fast enough.
    _check_params = {"hidden_layer_sizes": 20, "learning_rate_init": 0.02, "max_iter": 40}

    @property
    def _rows(self) -> str:
        """Without shuffling the rows keep the user's order."""
        return "canonical_view" if self.shuffle else "user"

    # To be defined by subclasses ----------------------------------------------------------------

    def _loss(self, problem: Problem) -> str:
        """Name of the loss in `layers.LOSSES`."""
        raise NotImplementedError

    def _targets(self, problem: Problem) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
        """Targets (n, outputs), which are numbers or booleans; weights; further learned attributes."""
        raise NotImplementedError

    def _validation_weights(self, problem: Problem, rng: np.random.Generator) -> np.ndarray:
        """Weights of the validation rows, for early stopping; 0 for training rows."""
        raise NotImplementedError

    def _validation_score(self, network: Network, X: Any, Y: np.ndarray, w: np.ndarray) -> float:
        """Score of the network on the validation rows; higher is better."""
        raise NotImplementedError

    # Fitting ------------------------------------------------------------------------------------

    def _log_likelihood(self, network: Network, X: Any, Y: np.ndarray, w: np.ndarray) -> float:
        """As `_validation_score`, for validation rows of the user: smooth, unlike an accuracy."""
        raise NotImplementedError

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, X_val: Any = None, y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> Self:  # fmt: skip
        """Learn from rows X and their targets y; weight k counts as k equal rows.

        `X_val` and `y_val` are the validation rows for early stopping, instead of a part of X. Their log
        loss (regression: squared error) decides when to stop.
        """
        if X_val is None and y_val is None:
            return self._learn(X, y, weights=sample_weight)
        if X_val is None or y_val is None:
            raise ParameterError("X_val and y_val must be given together.")
        if not self.early_stopping or self.solver == "lbfgs":
            raise ParameterError(
                "X_val and y_val need early_stopping=True and a solver other than 'lbfgs'."
            )
        return self._learn(
            X, y, weights=sample_weight, validation=(X_val, y_val, sample_weight_val)
        )

    def _fit(self, problem: Problem, validation: Validation | None = None) -> dict[str, Any]:
        warm = self.warm_start and self.__sklearn_is_fitted__()
        return self._train(problem, warm, validation=validation)

    def _fit_more(self, problem: Problem, first: bool) -> dict[str, Any]:
        return self._train(problem, not first, more=True)

    def _check_more(self) -> None:
        """Raise an error if the parameters do not allow `partial_fit`."""
        if self.solver not in ("sgd", "adam"):
            raise ParameterError(
                "partial_fit is only available for stochastic optimizers. "
                f"{self.solver} is not stochastic."
            )
        if self.early_stopping:
            raise ParameterError("partial_fit does not support early_stopping=True")

    def _scaling(self, problem: Problem, warm: bool) -> dict[str, np.ndarray]:
        """Shift and scale of every encoded column; 0 and 1 unless columns are standardised."""
        from pellucid.numerics.column_scaling import can_be_centred, units

        p, schema = problem.p, problem.schema
        if warm:
            return {"shift_": self.shift_, "scale_": self.scale_}
        if self.standardize:
            centre, unit = units(problem.X, problem.weights, schema)
            centred = can_be_centred(problem.X, schema)
            return {"shift_": np.where(centred, centre, 0.0), "scale_": unit}
        return {"shift_": np.zeros(p), "scale_": np.ones(p)}

    def _scaled_inputs(self, X: Any, scaling: dict[str, np.ndarray] | None = None) -> Any:
        """Encoded rows, standardised if requested: the inputs of the network."""
        own = scaling or {"shift_": self.shift_, "scale_": self.scale_}
        if not self.standardize:
            return X
        from pellucid.numerics.column_scaling import rescaled

        with np.errstate(over="ignore", invalid="ignore"):
            return rescaled(X, own["shift_"], own["scale_"])

    def _train(
        self, problem: Problem, warm: bool, more: bool = False, validation: Validation | None = None
    ) -> dict[str, Any]:
        from pellucid.neural_network.integrated_gradients import column_means
        from pellucid.neural_network.training import OptimizerState, Trainer

        if self.standardize:  # copies the rows anyway
            problem = problem.gathered()
        scaling = self._scaling(problem, warm)
        Y, weights, attributes = self._targets(problem)
        seed = parallel.seed_sequence(self.random_state)
        network = self._new_network(problem, Y.shape[1])
        if warm:
            self._copy_parameters(network)
        else:
            network.draw(parallel.stream(seed, "start"))
        X, rows = self._scaled_inputs(problem.X, scaling), None
        if isinstance(X, RowView):
            X, rows = X.table, X.places
        training, validate = None, None
        if validation is None:
            training, validate = self._validation_split(problem, X, rows, Y, weights, seed, more)
        else:
            validate = self._validation_of(problem, validation, scaling, attributes)
        if training is not None:
            kept = np.flatnonzero(training)
            rows, Y, weights = kept if rows is None else rows[kept], Y[kept], training[kept]
        passes = int(self.n_iter_) if more and warm else 0
        last = self.walk_ if passes else None
        state = None if last is None else OptimizerState(**copy.deepcopy(last))
        trainer = Trainer(network, X, Y, weights, self._options(len(Y), more), validate, rows)
        found = trainer.run(seed, state, passes)
        attributes |= self._learned_from(network, found) | {"walk_": None}
        if more:
            attributes |= self._after_pass(found, attributes["loss_curve_"], passes)
        means = self.means_ if more and warm else column_means(problem)
        return attributes | scaling | {"means_": means}

    def _after_pass(self, found: Any, losses: list[float], passes: int) -> dict[str, Any]:
        """Attributes after `partial_fit`: the state of the optimizer, and the history of all passes."""
        done = Status("ok", "One more pass was made.")
        return {
            "walk_": vars(found.x[0]),
            "n_iter_": passes + found.n_iter,
            "status_": found.status if found.status.code == "diverged" else done,
            "loss_curve_": (self.loss_curve_ if passes else []) + losses,
        }

    def _new_network(self, problem: Problem, outputs: int) -> Network:
        loss = self._loss(problem)
        hidden = [Dense(int(k), self.activation, float(self.dropout)) for k in self._sizes()]
        layers = [*hidden, Dense(outputs, LOSSES[loss].output)]
        return Network(problem.p, layers, loss, DTYPES[self.dtype])

    def _sizes(self) -> list[int]:
        sizes = self.hidden_layer_sizes
        return [int(k) for k in sizes] if hasattr(sizes, "__len__") else [int(sizes)]

    def _copy_parameters(self, network: Network) -> None:
        """Copy the fitted parameters into a network, which must have the same shape."""
        old = [*self.coefs_, *self.intercepts_]
        new = [*network.coefs, *network.intercepts]
        if network.units[-1] != len(self.intercepts_[-1]):
            raise DataError(
                f"The fitted network has {len(self.intercepts_[-1])} output(s), but these targets need "
                f"{network.units[-1]}. Fit a new model, or set warm_start=False."
            )
        if [a.shape for a in old] != [a.shape for a in new]:
            raise DataError(
                f"The fitted network has layers of {[len(b) for b in self.intercepts_]} units, "
                f"but hidden_layer_sizes is {shown(self.hidden_layer_sizes)}. Fit a new model, or set "
                "warm_start=False."
            )
        for target, kept in zip(new, old):
            target[...] = kept

    def _options(self, n: int, more: bool) -> Any:
        from pellucid.neural_network.training import TrainingOptions

        own = {name: getattr(self, theirs) for name, theirs in MLP_NAMES.items()}
        own["batch"] = min(200, n) if self.batch_size == "auto" else int(self.batch_size)
        return TrainingOptions(**own | {"epochs": 1} if more else own)

    def _validation_of(
        self, problem: Problem, validation: Validation, scaling: dict[str, np.ndarray],
        attributes: dict[str, Any],
    ) -> Callable[[Network], float]:  # fmt: skip
        """A function that scores a network on the user's validation rows."""
        spec = replace(
            self._input_spec(), schema=problem.schema, classes=problem.classes, rows="user",
            min_rows=1,
        )  # fmt: skip
        X, y, w = opened(*validation)
        held = prepare(X, y, w, None, self.table, spec)[0]
        inputs, Y = self._scaled_inputs(held.X, scaling), self._held_targets(held, attributes)
        return lambda network: self._log_likelihood(network, inputs, Y, held.weights)

    def _held_targets(self, held: Problem, attributes: dict[str, Any]) -> np.ndarray:
        """Targets of validation rows, as `_targets` gives those of the training rows."""
        raise NotImplementedError

    def _validation_split(
        self, problem: Problem, X: Any, rows: np.ndarray | None, Y: np.ndarray, weights: np.ndarray,
        seed: Any, more: bool,
    ) -> tuple[Any, Any]:  # fmt: skip
        """Weights of the training rows, and a function that scores a network on the validation rows;
        (None, None) without early stopping. A row of weight k may be split between both.
        """
        if not self.early_stopping or more or self.solver == "lbfgs":
            return None, None
        held = self._validation_weights(problem, parallel.stream(seed, "validation"))
        held = np.where(weights > 0, held, 0.0)  # a class may have weight 0
        held_rows, training = np.flatnonzero(held), problem.weights - held
        counts = copies_of(problem.weights) is not None  # weights count copies of rows
        count = held.sum() if counts else len(held_rows)
        total = problem.weights.sum() if counts else problem.n
        if count < 2 or not training.any():
            raise DataError(
                f"The validation set is too small: {count:.0f} of {total:.0f} rows. Increase "
                "'validation_fraction' or the size of your dataset."
            )
        class_factor = weights / problem.weights
        places = held_rows if rows is None else rows[held_rows]
        validation = X[places], Y[held_rows], (class_factor * held)[held_rows]
        return class_factor * training, lambda network: self._validation_score(network, *validation)

    def _learned_from(self, network: Network, found: Any) -> dict[str, Any]:
        state, progress = found.x
        stopping = bool(progress.scores)
        seen = 0 if state is None else state.seen
        return {
            "coefs_": [W.copy() for W in network.coefs],
            "intercepts_": [b.copy() for b in network.intercepts],
            "n_iter_": found.n_iter,
            "n_layers_": len(network.units),
            "n_outputs_": network.units[-1],
            "out_activation_": LOSSES[network.loss].output,
            "loss_": float(progress.loss),
            "loss_curve_": [float(loss) for loss in progress.losses],
            "best_loss_": None if stopping else float(progress.best_loss),
            "validation_scores_": [float(s) for s in progress.scores] if stopping else None,
            "best_validation_score_": float(progress.best_score) if stopping else None,
            "t_": int(seen),
            "history_": found.history,
            "status_": found.status,
        }

    # Predicting ----------------------------------------------------------------------------------

    def _network(self, dtype: Any = None) -> Network:
        """The fitted network, in its own precision by default."""
        loss = next(name for name, loss in LOSSES.items() if loss.output == self.out_activation_)
        sizes = [len(b) for b in self.intercepts_]
        layers = [Dense(k, self.activation) for k in sizes[:-1]]
        layers.append(Dense(sizes[-1], self.out_activation_))
        network = Network(self.coefs_[0].shape[0], layers, loss, dtype or self.coefs_[0].dtype)
        self._copy_parameters(network)
        return network

    def _propagates_nan(self) -> bool:
        """NaN in a cell makes the scores of its row NaN."""
        return True

    def _raw(self, X: Any) -> np.ndarray:
        """Scores of the outputs, (n, outputs)."""
        return self._network().scores(self._scaled_inputs(X))

    def summary(self) -> Any:
        """The layers, with their shapes and numbers of parameters."""
        self._check_fitted()
        return self._network().summary()

    def _contributions(self, X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Scores at the training means, contributions of the columns, and scores of the rows.

        All in double precision, because the rounding errors of single precision would not cancel.
        """
        from pellucid.neural_network.integrated_gradients import contributions

        dense = X if isinstance(X, np.ndarray) else X.toarray()
        network, base, rows = (
            self._network(float),
            self._scaled_inputs(self.means_[None]),
            self._scaled_inputs(dense),
        )
        found = self._finite(contributions(network, rows, base[0]))
        return network.scores(base)[0], found, network.scores(rows)

    def _check_state(self) -> None:
        """Reject a model file with layers of wrong shapes."""
        from pellucid.persist.fitted_state import expect_array, n_terms

        name, at = type(self).__name__, n_terms(self)
        for key in ("shift_", "scale_", "means_"):
            expect_array(self, key, at, finite=True)
        if not (self.scale_ > 0).all():
            raise ModelFileError(f"its {name} has a scale that is not positive")
        coefs, intercepts = vars(self).get("coefs_"), vars(self).get("intercepts_")
        if type(coefs) is not list or type(intercepts) is not list or not coefs:
            raise ModelFileError(f"its {name} has no layers")
        kind = DTYPES[self.dtype]
        for W, b in zip(coefs, intercepts):
            good = all(type(a) is np.ndarray and a.dtype == kind for a in (W, b))
            if not good or W.shape != (at, b.size) or b.ndim != 1:
                raise ModelFileError(f"its {name} has layers whose shapes do not match")
            if not (np.isfinite(W).all() and np.isfinite(b).all()):
                raise ModelFileError(f"its {name} has parameters that are not finite")
            at = b.size
        outputs = [loss.output for loss in LOSSES.values()]
        right = len(coefs) == len(intercepts) and vars(self).get("n_outputs_") == at
        if not right or vars(self).get("out_activation_") not in outputs:
            raise ModelFileError(f"its {name} has outputs that do not match its layers")
        if [len(b) for b in intercepts[:-1]] != self._sizes():
            raise ModelFileError(f"its {name} has layers that do not match hidden_layer_sizes")
