"""XGBoost as an oracle: gradient boosting on histograms, leaves best first.

Where equality ends, and why:

- It limits the curvature of a leaf, not its samples: `min_samples_leaf` is left out, and leaves need
  the little curvature that ours need.
- Its bins come from a sketch of the quantiles: answers agree in loss, not in bits.
- Classes must be the numbers 0, 1, ...
"""

from __future__ import annotations

import importlib
from typing import Any

from tests.oracles.peer_lightgbm import translated

NAME = "XGBoost"
_WORDS = {
    "max_iter": "n_estimators",
    "learning_rate": "learning_rate",
    "max_leaf_nodes": "max_leaves",
    "min_samples_leaf": "",
    "max_bins": "max_bin",
    "l2_regularization": "reg_lambda",
    "random_state": "random_state",
}
_TWINS = {
    "HistGradientBoostingClassifier": "XGBClassifier",
    "HistGradientBoostingRegressor": "XGBRegressor",
}


def twin(estimator: Any) -> Any:
    """XGBoost's estimator that does what `estimator` (ours, unfitted) does, with as many threads."""
    from pellucid import parallel

    name = type(estimator).__name__
    if name not in _TWINS:
        raise ValueError(f"XGBoost has no {name}")
    params = translated(estimator, _WORDS)
    params.pop("")
    kind = getattr(importlib.import_module("xgboost"), _TWINS[name])
    return kind(
        n_jobs=parallel.get_threads(), tree_method="hist", grow_policy="lossguide", max_depth=0,
        min_child_weight=1e-3, **params,
    )  # fmt: skip


def version() -> str:
    """The version that answers."""
    return str(importlib.import_module("xgboost").__version__)
