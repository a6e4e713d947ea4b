"""What training can be told, once: the names of `Network.train`, those of the MLPs, what they may be.

Invariant: `Plan`, `Network.train` and both MLPs accept the same values, and messages use the names of
whoever was asked.
"""

from typing import Any

import numpy as np

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
