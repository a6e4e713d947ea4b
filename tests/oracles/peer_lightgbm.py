"""LightGBM as an oracle: gradient boosting on histograms.

Where equality ends, and why:

- Its bins, its order of the levels and its rounding are its own: answers agree in loss, not in bits.
- Levels: it smooths and penalises divisions by levels with constants of its own (`cat_l2`, ...).
- It stops after as many rounds as it is told; early stopping is refused here.
"""

from __future__ import annotations

import importlib
from typing import Any

NAME = "LightGBM"
_WORDS = {
    "max_iter": "n_estimators",
    "learning_rate": "learning_rate",
    "max_leaf_nodes": "num_leaves",
    "min_samples_leaf": "min_child_samples",
    "max_bins": "max_bin",
    "l2_regularization": "reg_lambda",
    "random_state": "random_state",
}
_TWINS = {
    "HistGradientBoostingClassifier": "LGBMClassifier",
    "HistGradientBoostingRegressor": "LGBMRegressor",
}


def twin(estimator: Any) -> Any:
    """LightGBM's estimator that does what `estimator` (ours, unfitted) does, with as many threads."""
    from pellucid import parallel

    name = type(estimator).__name__
    if name not in _TWINS:
        raise ValueError(f"LightGBM has no {name}")
    params = translated(estimator, _WORDS)
    kind = getattr(importlib.import_module("lightgbm"), _TWINS[name])
    return kind(n_jobs=parallel.get_threads(), verbose=-1, **params)


def translated(estimator: Any, words: dict[str, str]) -> dict[str, Any]:
    """Parameters under a peer's names; whatever else is not at its default is an error."""
    params = estimator.get_params(deep=False)
    defaults = type(estimator)().get_params(deep=False)
    if params.pop("early_stopping") is not False:
        raise ValueError("early stopping is not translated")
    for name, value in params.items():
        if name not in words and value != defaults[name]:
            raise ValueError(f"'{name}', which is {value!r}, is not translated")
    return {words[name]: value for name, value in params.items() if name in words}


def version() -> str:
    """The version that answers."""
    return str(importlib.import_module("lightgbm").__version__)
