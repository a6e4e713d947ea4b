"""What training can be told, once: the names of `Network.train`, those of the MLPs, what they may be.

Invariant: `Plan`, `Network.train` and both MLPs accept the same values, and messages use the names of
whoever was asked.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.errors import ParameterError, shown
from pellucid.parameters import Boolean, Choice, Either, Integer, Real

# Name of the option: (name of the MLPs' parameter, what it may be)
TABLE: dict[str, tuple[str, Any]] = {
    "solver": ("solver", Choice("lbfgs", "sgd", "adam", "gd")),
    "alpha": ("alpha", Real(0, None)),
    "batch": ("batch_size", Integer(1)),
    "schedule": ("learning_rate", Choice("constant", "invscaling", "adaptive")),
    "rate": ("learning_rate_init", Real(0, None, "neither")),
    "power": ("power_t", Real(0, None)),
    "epochs": ("max_iter", Integer(1)),
    "shuffle": ("shuffle", Boolean),
    "tol": ("tol", Real(0, None)),
    "momentum": ("momentum", Real(0, 1, "both")),
    "nesterov": ("nesterovs_momentum", Boolean),
    "beta1": ("beta_1", Real(0, 1)),
    "beta2": ("beta_2", Real(0, 1)),
    "epsilon": ("epsilon", Real(0, None, "neither")),
    "patience": ("n_iter_no_change", Either(Integer(1), Choice(np.inf))),
    "max_fun": ("max_fun", Integer(1)),
}
CHECKS = {name: check for name, (_, check) in TABLE.items()}
MLP_CHECKS = dict(TABLE.values())
MLP_NAMES = {name: theirs for name, (theirs, _) in TABLE.items()}


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
