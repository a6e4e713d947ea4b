"""Options of training, declared once for `Network.train` and for the parameters of the MLPs.

Invariant: `TrainingOptions`, `Network.train` and both MLPs accept the same values. Messages use the
names of the interface that was called.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.errors import ParameterError, shown
from pellucid.parameters import Boolean, Choice, Either, Integer, Predicate, Real, param, positional


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
SOLVER = param(
    "adam",
    Choice("lbfgs", "sgd", "adam", "gd"),
    "'sgd' and 'adam' take steps on mini-batches, 'gd' plain gradient steps on all rows, and "
    "'lbfgs' quasi-Newton steps on all rows.",
)
ALPHA = param(
    0.0001,
    Real(0, None),
    "Strength of the L2 penalty on the weights, not on the intercepts.",
)
BATCH_SIZE = param(
    "auto",
    Either(Choice("auto"), Integer(1)),
    "Number of rows of a mini-batch; 'auto' is min(200, n_rows).",
)
LEARNING_RATE = param(
    "constant",
    Choice("constant", "invscaling", "adaptive"),
    "How the step size of 'sgd' and 'gd' changes: 'constant'; 'invscaling' divides it by t**power_t "
    "after t rows; 'adaptive' divides it by 5 when the loss stops falling.",
)
LEARNING_RATE_INIT = param(
    0.001,
    Real(0, None, "neither"),
    "Step size at the start, for 'sgd', 'gd' and 'adam'.",
)
POWER_T = param(0.5, Real(0, None), "Exponent of the step size 'invscaling'.")
MAX_ITER = param(
    200,
    Integer(1),
    "Largest number of passes over the rows (of iterations for 'lbfgs').",
)
SHUFFLE = param(
    True,
    Boolean,
    "Whether every pass visits the rows in a new random order; False keeps their order.",
)
TOL = param(
    1e-4,
    Real(0, None),
    "Stop when the loss (or the validation score) has not improved by this for `n_iter_no_change` "
    "passes; for 'lbfgs', when no entry of the gradient is larger.",
)
MOMENTUM = param(0.9, Real(0, 1, "both"), "Share of the previous step that 'sgd' adds to the next.")
NESTEROVS_MOMENTUM = param(True, Boolean, "Whether the momentum of 'sgd' is Nesterov's.")
BETA_1 = param(0.9, Real(0, 1), "Decay rate of the mean gradient in 'adam'.")
BETA_2 = param(0.999, Real(0, 1), "Decay rate of the mean squared gradient in 'adam'.")
EPSILON = param(
    1e-8, Real(0, None, "neither"), "Small number that keeps 'adam' from dividing by 0."
)
N_ITER_NO_CHANGE = param(
    10,
    Either(Integer(1), Choice(np.inf)),
    "Number of passes without an improvement of at least `tol` after which training stops.",
)
MAX_FUN = param(15000, Integer(1), "Largest number of evaluations of the loss by 'lbfgs'.")

# Option of `Network.train`: (parameter of the MLPs, its declaration there)
TABLE: dict[str, tuple[str, Any]] = {
    "solver": ("solver", SOLVER),
    "alpha": ("alpha", ALPHA),
    "batch": ("batch_size", BATCH_SIZE),
    "schedule": ("learning_rate", LEARNING_RATE),
    "rate": ("learning_rate_init", LEARNING_RATE_INIT),
    "power": ("power_t", POWER_T),
    "epochs": ("max_iter", MAX_ITER),
    "shuffle": ("shuffle", SHUFFLE),
    "tol": ("tol", TOL),
    "momentum": ("momentum", MOMENTUM),
    "nesterov": ("nesterovs_momentum", NESTEROVS_MOMENTUM),
    "beta1": ("beta_1", BETA_1),
    "beta2": ("beta_2", BETA_2),
    "epsilon": ("epsilon", EPSILON),
    "patience": ("n_iter_no_change", N_ITER_NO_CHANGE),
    "max_fun": ("max_fun", MAX_FUN),
}
CHECKS = {name: declaration.check for name, (_, declaration) in TABLE.items()} | {
    "batch": Integer(1)
}
MLP_NAMES = {name: theirs for name, (theirs, _) in TABLE.items()}


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
