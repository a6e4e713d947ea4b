"""Unfitted copies of estimators, and fits with weights only where they are needed."""

import copy
from typing import Any

import numpy as np


def fresh(model: Any, params: dict[str, Any]) -> Any:
    """An unfitted copy with other parameters; works for any scikit-learn estimator."""
    own_clone = getattr(model, "__sklearn_clone__", None)
    if own_clone is None:
        from pellucid._sklearn import clone

        return clone(model).set_params(**copy.deepcopy(params))
    return own_clone().set_params(**copy.deepcopy(params))


def fit(model: Any, X: Any, y: np.ndarray, weights: np.ndarray) -> Any:
    """Fit, passing weights only if they differ from 1, so that models without weights can be used."""
    if (weights == 1.0).all():
        return model.fit(X, y)
    return model.fit(X, y, sample_weight=weights)
