"""Options of training, declared once for `Network.train` and for the parameters of the MLPs.

Invariant: `TrainingOptions`, `Network.train` and both MLPs accept the same values. Messages use the
names of the interface that was called.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.base import Estimator
from pellucid.errors import ParameterError, shown
from pellucid.parameters import (
    Boolean,
    Choice,
    Integer,
    Predicate,
    Real,
    learned,
    param,
    parameters_of,
    positional,
    shared,
)
from pellucid.records import Status


def _are_sizes(value: Any) -> bool:
    if isinstance(value, str | bytes | dict) or not hasattr(value, "__len__"):
        return Integer(1).accepts(value)
    if np.ndim(value) > 1:
        return False
    return all(Integer(1).accepts(size) for size in value)


HIDDEN_LAYER_SIZES = positional(
    default=(100,),
    check=Predicate(_are_sizes, "an int > 0, or a sequence of ints > 0"),
    description="Number of units of each hidden layer; () is a linear model.",
    kw_only=False,
)
ACTIVATION = positional(
    default="relu",
    check=Choice("identity", "logistic", "sigmoid", "tanh", "relu"),
    description="Activation function of the hidden layers; 'sigmoid' is another name of 'logistic'.",
    kw_only=False,
)
DTYPES = {"float64": np.float64, "float32": np.float32}


class NetworkParameters(Estimator):
    """Parameters and learned attributes that both MLPs have in common."""

    _substitute = "SGD{kind} or HistGradientBoosting{kind}"

    solver: str = param(
        "adam",
        Choice("lbfgs", "sgd", "adam", "gd"),
        "'sgd' and 'adam' take steps on mini-batches, 'gd' plain gradient steps on all rows, and "
        "'lbfgs' quasi-Newton steps on all rows.",
    )
    alpha: float = param(
        0.0001, Real(0, None), "Strength of the L2 penalty on the weights, not on the intercepts."
    )
    batch_size: Any = param(
        "auto",
        Choice("auto") | Integer(1),
        "Number of rows of a mini-batch; 'auto' is min(200, n_rows).",
    )
    learning_rate: str = param(
        "constant",
        Choice("constant", "invscaling", "adaptive"),
        "How the step size of 'sgd' and 'gd' changes: 'constant'; 'invscaling' divides it by t**power_t "
        "after t rows; 'adaptive' divides it by 5 when the loss stops falling.",
    )
    learning_rate_init: float = param(
        0.001, Real(0, None, "neither"), "Step size at the start, for 'sgd', 'gd' and 'adam'."
    )
    power_t: float = param(0.5, Real(0, None), "Exponent of the step size 'invscaling'.")
    max_iter: int = param(
        200, Integer(1), "Largest number of passes over the rows (of iterations for 'lbfgs')."
    )
    shuffle: bool = param(
        True,
        Boolean,
        "Whether every pass visits the rows in a new random order; False keeps their order.",
    )
    random_state: Any = shared.RANDOM_STATE
    tol: float = param(
        1e-4,
        Real(0, None),
        "Stop when the loss (or the validation score) has not improved by this for `n_iter_no_change` "
        "passes; for 'lbfgs', when no entry of the gradient is larger.",
    )
    verbose: bool = shared.VERBOSE.replace(default=False)
    warm_start: bool = shared.WARM_START
    momentum: float = param(
        0.9, Real(0, 1, "both"), "Share of the previous step that 'sgd' adds to the next."
    )
    nesterovs_momentum: bool = param(True, Boolean, "Whether the momentum of 'sgd' is Nesterov's.")
    early_stopping: bool = param(
        False,
        Boolean,
        "Whether to hold out some rows for validation, to stop when their score no longer improves, and "
        "to keep the best parameters. As in scikit-learn, it has no effect for 'lbfgs'.",
    )
    validation_fraction: float = param(
        0.1, Real(0, 1), "Share of the rows that early stopping holds out for validation."
    )
    beta_1: float = param(0.9, Real(0, 1), "Decay rate of the mean gradient in 'adam'.")
    beta_2: float = param(0.999, Real(0, 1), "Decay rate of the mean squared gradient in 'adam'.")
    epsilon: float = param(
        1e-8, Real(0, None, "neither"), "Small number that keeps 'adam' from dividing by 0."
    )
    n_iter_no_change: Any = param(
        10,
        Integer(1) | Choice(np.inf),
        "Number of passes without an improvement of at least `tol` after which training stops.",
    )
    max_fun: int = param(15000, Integer(1), "Largest number of evaluations of the loss by 'lbfgs'.")
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
        "Score on the validation rows after each pass; None without early stopping."
    )
    best_validation_score_: float | None = learned(
        "Highest validation score; None without early stopping."
    )
    t_: int = learned("Number of rows that the training has visited.")
    n_iter_: int = learned("Number of passes over the rows.")
    n_layers_: int = learned("Number of layers, including the input and the output layer.")
    n_outputs_: int = learned("Number of outputs of the network.")
    out_activation_: str = learned("Activation function of the outputs.")
    shift_: np.ndarray = learned("Value that is subtracted from each encoded column.")
    scale_: np.ndarray = learned("Value that each encoded column is divided by.")
    walk_: dict[str, Any] | None = learned(
        "State of the optimizer after the last `partial_fit`; None after `fit`."
    )
    means_: np.ndarray = learned("Mean of each encoded column: the baseline of explanations.")
    history_: dict[str, np.ndarray] = learned(shared.HISTORY)
    status_: Status = learned(shared.STATUS)


# Option of `Network.train`: parameter of the MLPs.
MLP_NAMES = {
    "solver": "solver",
    "alpha": "alpha",
    "batch": "batch_size",
    "schedule": "learning_rate",
    "rate": "learning_rate_init",
    "power": "power_t",
    "epochs": "max_iter",
    "shuffle": "shuffle",
    "tol": "tol",
    "momentum": "momentum",
    "nesterov": "nesterovs_momentum",
    "beta1": "beta_1",
    "beta2": "beta_2",
    "epsilon": "epsilon",
    "patience": "n_iter_no_change",
    "max_fun": "max_fun",
}
_DECLARED = parameters_of(NetworkParameters)
CHECKS = {name: _DECLARED[theirs].check for name, theirs in MLP_NAMES.items()} | {
    "batch": Integer(1)
}


@dataclass(frozen=True)
class TrainingOptions:
    """Options of training. `solver`: "gd" (plain steps on all rows), "sgd", "adam", "lbfgs".

    `from_network`: they were given to `Network.train`, not to an MLP.
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
    from_network: bool = False

    def named(self, option: str) -> str:
        """The name of an option in the interface that was called."""
        return option if self.from_network else MLP_NAMES[option]

    def advice(self) -> str:
        """What to try after a divergence."""
        scale = "tandardize the columns (and the target of a regression)."
        return f"S{scale}" if self.solver == "lbfgs" else f"Lower {self.named('rate')}, or s{scale}"

    @classmethod
    def of(cls, options: dict[str, Any]) -> "TrainingOptions":
        """The options given to `Network.train`, after checks of names and values."""
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
        return cls(**options, from_network=True)
