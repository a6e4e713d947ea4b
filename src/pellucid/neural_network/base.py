"""What `MLPClassifier` and `MLPRegressor` share: options, fitting, explanation, model files."""

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.base import Estimator
from pellucid.data import Problem
from pellucid.data.row_view import RowView
from pellucid.data.weighted_sampling import copies_of
from pellucid.errors import DataError, ModelFileError, ParameterError, shown
from pellucid.neural_network.layers import LOSSES, Dense
from pellucid.neural_network.network import Network
from pellucid.neural_network.training_options import (
    ALPHA,
    BATCH_SIZE,
    BETA_1,
    BETA_2,
    EPSILON,
    LEARNING_RATE,
    LEARNING_RATE_INIT,
    MAX_FUN,
    MAX_ITER,
    MLP_NAMES,
    MOMENTUM,
    N_ITER_NO_CHANGE,
    NESTEROVS_MOMENTUM,
    POWER_T,
    SHUFFLE,
    SOLVER,
    TOL,
)
from pellucid.parameters import (
    HISTORY,
    RANDOM_STATE,
    STATUS,
    VERBOSE,
    WARM_START,
    Boolean,
    Choice,
    Real,
    learned,
    param,
)
from pellucid.records import Status

DTYPES = {"float64": np.float64, "float32": np.float32}


class MultiLayer(Estimator):
    """Base of both: a network between the encoded columns and the scores of the outputs."""

    # Every check trains anew: a small network with large steps learns the checks' tables in time.
    _check_params = {"hidden_layer_sizes": 20, "learning_rate_init": 0.02, "max_iter": 40}

    solver: str = SOLVER
    alpha: float = ALPHA
    batch_size: Any = BATCH_SIZE
    learning_rate: str = LEARNING_RATE
    learning_rate_init: float = LEARNING_RATE_INIT
    power_t: float = POWER_T
    max_iter: int = MAX_ITER
    shuffle: bool = SHUFFLE
    random_state: Any = RANDOM_STATE
    tol: float = TOL
    verbose: bool = VERBOSE.replace(default=False)
    warm_start: bool = WARM_START
    momentum: float = MOMENTUM
    nesterovs_momentum: bool = NESTEROVS_MOMENTUM
    early_stopping: bool = param(
        False,
        Boolean,
        "Whether to hold back some rows, to stop when their score no longer improves, and to keep the "
        "best parameters. As in scikit-learn, it has no effect for 'lbfgs'.",
    )
    validation_fraction: float = param(
        0.1, Real(0, 1), "Share of the rows that early stopping holds back."
    )
    beta_1: float = BETA_1
    beta_2: float = BETA_2
    epsilon: float = EPSILON
    n_iter_no_change: Any = N_ITER_NO_CHANGE
    max_fun: int = MAX_FUN
    dropout: float = param(
        0.0,
        Real(0, 1),
        "Share of the hidden values that are set to 0 in a step; refused for 'lbfgs' and for very large "
        "batches.",
        last=True,
    )
    dtype: str = param(
        "float64",
        Choice(*DTYPES),
        "Precision of the network; 'float32' is about twice as fast.",
        last=True,
    )
    standardize: bool = param(
        False,
        Boolean,
        "Whether to subtract the mean of each column and to divide numbers by their standard deviation, "
        "inside the model. Level indicators, missing-value flags and word counts keep their scale; in "
        "sparse tables, and in tables of many levels, only numbers that are rarely 0 are centered. "
        "MLPRegressor standardizes the targets as well, if the loss is the squared error.",
        last=True,
    )

    coefs_: list[np.ndarray] = learned("Weights of each layer, shape (n_inputs, n_units).")
    intercepts_: list[np.ndarray] = learned("Intercepts of each layer, shape (n_units,).")
    loss_: float = learned("Loss at the end of the training.")
    best_loss_: float | None = learned("Smallest loss of all passes; None with early stopping.")
    loss_curve_: list[float] = learned("Loss after each pass.")
    validation_scores_: list[float] | None = learned(
        "Score of the rows held back after each pass; None without early stopping."
    )
    best_validation_score_: float | None = learned(
        "Highest validation score; None without early stopping."
    )
    t_: int = learned("Number of rows that the training has visited.")
    n_iter_: int = learned("Number of passes over the rows.")
    n_layers_: int = learned("Number of layers, with those of the inputs and outputs.")
    n_outputs_: int = learned("Number of outputs of the network.")
    out_activation_: str = learned("Activation function of the outputs.")
    shift_: np.ndarray = learned("What is subtracted from each encoded column.")
    scale_: np.ndarray = learned("What each encoded column is divided by.")
    walk_: dict[str, Any] | None = learned(
        "State of the optimizer after the last `partial_fit`; None after `fit`."
    )
    means_: np.ndarray = learned("Mean of each encoded column, where explanations start.")
    history_: dict[str, np.ndarray] = learned(HISTORY)
    status_: Status = learned(STATUS)

    @property
    def _rows(self) -> str:  # type: ignore[override]
        """Without shuffling the rows keep the user's order."""
        return "canonical_view" if self.shuffle else "user"

    # What the two have to say -------------------------------------------------------------------

    def _loss(self, problem: Problem) -> str:
        """Name of the loss in `layers.LOSSES`."""
        raise NotImplementedError

    def _targets(self, problem: Problem) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
        """Targets (n, outputs), numbers or truths, weights, and further learned attributes."""
        raise NotImplementedError

    def _held_back(self, problem: Problem, rng: np.random.Generator) -> np.ndarray:
        """Weights of the rows to judge by, for early stopping."""
        raise NotImplementedError

    def _score_of(self, network: Network, X: Any, Y: np.ndarray, w: np.ndarray) -> float:
        """Score of the network on rows held back, the higher the better."""
        raise NotImplementedError

    # Fitting ------------------------------------------------------------------------------------

    def _fit(self, problem: Problem) -> dict[str, Any]:
        return self._train(problem, self.warm_start and self.__sklearn_is_fitted__())

    def _fit_more(self, problem: Problem, first: bool) -> dict[str, Any]:
        return self._train(problem, not first, more=True)

    def _check_more(self) -> None:
        """Whether a batch can be learned from alone."""
        if self.solver not in ("sgd", "adam"):
            raise ParameterError(
                "partial_fit is only available for stochastic optimizers. "
                f"{self.solver} is not stochastic."
            )
        if self.early_stopping:
            raise ParameterError("partial_fit does not support early_stopping=True")

    def _scaling(self, problem: Problem, warm: bool) -> dict[str, np.ndarray]:
        """Centre and unit of every encoded column; (0, 1) unless they are standardised."""
        from pellucid.numerics.column_scaling import can_be_centred, units

        p, schema = problem.p, problem.schema
        if warm:
            return {"shift_": self.shift_, "scale_": self.scale_}
        if self.standardize:
            centre, unit = units(problem.X, problem.weights, schema)
            centred = can_be_centred(problem.X, schema)
            return {"shift_": np.where(centred, centre, 0.0), "scale_": unit}
        return {"shift_": np.zeros(p), "scale_": np.ones(p)}

    def _inside(self, X: Any, scaling: dict[str, np.ndarray] | None = None) -> Any:
        """Encoded rows as the network sees them."""
        own = scaling or {"shift_": self.shift_, "scale_": self.scale_}
        if not self.standardize:
            return X
        from pellucid.numerics.column_scaling import rescaled

        with np.errstate(over="ignore", invalid="ignore"):
            return rescaled(X, own["shift_"], own["scale_"])

    def _train(self, problem: Problem, warm: bool, more: bool = False) -> dict[str, Any]:
        from pellucid.neural_network.integrated_gradients import column_means
        from pellucid.neural_network.training import Trainer, Walk

        if self.standardize:  # copies the rows anyway
            problem = problem.gathered()
        scaling = self._scaling(problem, warm)
        Y, weights, learned = self._targets(problem)
        seed = parallel.seed_sequence(self.random_state)
        network = self._new_network(problem, Y.shape[1])
        if warm:
            self._fill(network)
        else:
            network.draw(parallel.stream(seed, "start"))
        X, rows = self._inside(problem.X, scaling), None
        if isinstance(X, RowView):
            X, rows = X.table, X.places
        left, judge = self._split(problem, X, rows, Y, weights, seed, more)
        if left is not None:
            kept = np.flatnonzero(left)
            rows, Y, weights = kept if rows is None else rows[kept], Y[kept], left[kept]
        begun = int(self.n_iter_) if more and warm else 0
        last = self.walk_ if begun else None
        walk = None if last is None else Walk(**{k: _copied(v) for k, v in last.items()})
        trainer = Trainer(network, X, Y, weights, self._plan(len(Y), more), judge, rows)
        found = trainer.run(seed, walk, begun)
        learned |= self._learned_from(network, found) | {"walk_": None}
        if more:
            learned |= self._after_passes(found, learned["loss_curve_"], begun)
        means = self.means_ if more and warm else column_means(problem)
        return learned | scaling | {"means_": means}

    def _after_passes(self, found: Any, losses: list[float], begun: int) -> dict[str, Any]:
        """What `partial_fit` leaves behind: where to go on, and the account of all passes."""
        done = Status("ok", "One more pass was made, as asked.")
        return {
            "walk_": vars(found.x[0]),
            "n_iter_": begun + found.n_iter,
            "status_": found.status if found.status.code == "diverged" else done,
            "loss_curve_": (self.loss_curve_ if begun else []) + losses,
        }

    def _new_network(self, problem: Problem, outputs: int) -> Network:
        loss = self._loss(problem)
        hidden = [Dense(int(k), self.activation, float(self.dropout)) for k in self._sizes()]
        layers = [*hidden, Dense(outputs, LOSSES[loss].output)]
        return Network(problem.p, layers, loss, DTYPES[self.dtype])

    def _sizes(self) -> list[int]:
        sizes = self.hidden_layer_sizes
        return [int(k) for k in sizes] if hasattr(sizes, "__len__") else [int(sizes)]

    def _fill(self, network: Network) -> None:
        """Parameters of the last fit into a network of the same shape."""
        old = [*self.coefs_, *self.intercepts_]
        new = [*network.coefs, *network.intercepts]
        if network.units[-1] != len(self.intercepts_[-1]):
            raise DataError(
                f"The fitted network has {len(self.intercepts_[-1])} output(s), these targets ask for "
                f"{network.units[-1]}: fit anew."
            )
        if [a.shape for a in old] != [a.shape for a in new]:
            raise DataError(
                f"The fitted network has layers of {[len(b) for b in self.intercepts_]} units, "
                f"hidden_layer_sizes={shown(self.hidden_layer_sizes)} asks for others: fit anew."
            )
        for target, kept in zip(new, old):
            target[...] = kept

    def _plan(self, n: int, more: bool) -> Any:
        from pellucid.neural_network.training import Plan

        own = {name: getattr(self, theirs) for name, theirs in MLP_NAMES.items()}
        own["batch"] = min(200, n) if self.batch_size == "auto" else int(self.batch_size)
        return Plan(**own | {"epochs": 1} if more else own)

    def _split(
        self, problem: Problem, X: Any, rows: np.ndarray | None, Y: np.ndarray, weights: np.ndarray,
        seed: Any, more: bool,
    ) -> tuple[Any, Any]:  # fmt: skip
        """Weights of the rows to learn from and the judge of the others; (None, None) without early
        stopping. Of a row that stands for several samples some may be on either side.
        """
        if not self.early_stopping or more or self.solver == "lbfgs":
            return None, None
        held = self._held_back(problem, parallel.stream(seed, "validation"))
        held = np.where(weights > 0, held, 0.0)  # a class may weigh nothing
        aside, left = np.flatnonzero(held), problem.weights - held
        whole = copies_of(problem.weights) is None
        count, total = (len(aside), problem.n) if whole else (held.sum(), problem.weights.sum())
        if count < 2 or not left.any():
            raise DataError(
                f"The validation set is too small: {count:.0f} of {total:.0f} rows. Increase "
                "'validation_fraction' or the size of your dataset."
            )
        factor = weights / problem.weights  # of the classes
        judges = X[aside if rows is None else rows[aside]], Y[aside], (factor * held)[aside]
        return factor * left, lambda network: self._score_of(network, *judges)

    def _learned_from(self, network: Network, found: Any) -> dict[str, Any]:
        walk, progress = found.x
        stopping = bool(progress.scores)
        seen = 0 if walk is None else walk.seen
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

    # Using --------------------------------------------------------------------------------------

    def _network(self, dtype: Any = None) -> Network:
        """The fitted network, in its own precision by default."""
        loss = next(name for name, loss in LOSSES.items() if loss.output == self.out_activation_)
        sizes = [len(b) for b in self.intercepts_]
        layers = [Dense(k, self.activation) for k in sizes[:-1]]
        layers.append(Dense(sizes[-1], self.out_activation_))
        network = Network(self.coefs_[0].shape[0], layers, loss, dtype or self.coefs_[0].dtype)
        self._fill(network)
        return network

    def _reveals(self) -> bool:
        """The network's scores do."""
        return True

    def _raw(self, X: Any) -> np.ndarray:
        """Scores of the outputs, (n, outputs)."""
        return self._network().scores(self._inside(X))

    def summary(self) -> Any:
        """The layers, their shapes and numbers of parameters."""
        self._check_fitted()
        return self._network().summary()

    def _contributions(self, X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Scores at the training means, what each column adds to them, and the scores.

        All in double precision: what single precision rounds away would be missing in the sum.
        """
        from pellucid.neural_network.integrated_gradients import contributions

        dense = X if isinstance(X, np.ndarray) else X.toarray()
        network, base, rows = (
            self._network(float),
            self._inside(self.means_[None]),
            self._inside(dense),
        )
        found = self._finite(contributions(network, rows, base[0]))
        return network.scores(base)[0], found, network.scores(rows)

    def _check_state(self) -> None:
        """Refuse layers that do not follow each other (model files)."""
        from pellucid.persist.fitted_state import expect_array, n_terms

        name, at = type(self).__name__, n_terms(self)
        for key in ("shift_", "scale_", "means_"):
            expect_array(self, key, at, finite=True)
        if not (self.scale_ > 0).all():
            raise ModelFileError(f"its {name} divides by a unit that is not positive")
        coefs, intercepts = vars(self).get("coefs_"), vars(self).get("intercepts_")
        if type(coefs) is not list or type(intercepts) is not list or not coefs:
            raise ModelFileError(f"its {name} has no layers")
        kind = DTYPES[self.dtype]
        for W, b in zip(coefs, intercepts):
            good = all(type(a) is np.ndarray and a.dtype == kind for a in (W, b))
            if not good or W.shape != (at, b.size) or b.ndim != 1:
                raise ModelFileError(f"its {name} has layers that do not follow each other")
            if not (np.isfinite(W).all() and np.isfinite(b).all()):
                raise ModelFileError(f"its {name} has parameters that are not finite")
            at = b.size
        outputs = [loss.output for loss in LOSSES.values()]
        right = len(coefs) == len(intercepts) and vars(self).get("n_outputs_") == at
        if not right or vars(self).get("out_activation_") not in outputs:
            raise ModelFileError(f"its {name} has other outputs than layers")
        if [len(b) for b in intercepts[:-1]] != self._sizes():
            raise ModelFileError(f"its {name} has other layers than hidden_layer_sizes says")


def _copied(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) else value
