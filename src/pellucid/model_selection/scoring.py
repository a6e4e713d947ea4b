"""The metric of a fitted model on some rows, from the predictions that the metric needs."""

from typing import Any

import numpy as np

from pellucid.model_selection.metrics import Metric


def score(model: Any, X: Any, y: np.ndarray, weights: np.ndarray, metric: Metric) -> float:
    """The metric of a fitted model on rows; NaN if it cannot be computed."""
    if metric.needs == "model":
        return float(metric.compute(model, X, y, weights))
    predicted = _predictions(model, X, metric.needs)
    if predicted is None:
        return float("nan")
    if metric.needs == "numbers":
        return metric.compute(y, predicted, weights)
    return metric.compute(y, predicted, weights, np.asarray(model.classes_))


def _predictions(model: Any, X: Any, needs: str) -> np.ndarray | None:
    """Labels, numbers, probabilities or scores; None if the model does not provide them."""
    if needs in ("labels", "numbers"):
        return np.asarray(model.predict(X))
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X))
    if needs == "scores" and hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X))
    return None
