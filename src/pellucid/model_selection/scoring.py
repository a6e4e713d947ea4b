"""What a fitted model says about rows, in the form each metric needs."""

from typing import Any

import numpy as np

from pellucid.model_selection.metrics import Metric


def say(model: Any, X: Any, needs: str) -> np.ndarray | None:
    """Labels, numbers, probabilities or scores; None if the model cannot say that."""
    if needs in ("labels", "numbers"):
        return np.asarray(model.predict(X))
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X))
    if needs == "scores" and hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X))
    return None


def score(
    model: Any, X: Any, y: np.ndarray, weights: np.ndarray, metric: Metric, said: Any = None
) -> float:
    """The metric of a fitted model on rows; NaN where it cannot be computed."""
    if metric.needs == "model":
        return float(metric.compute(model, X, y, weights))
    said = say(model, X, metric.needs) if said is None else said
    if said is None:
        return float("nan")
    if metric.needs == "numbers":
        return metric.compute(y, said, weights)
    return metric.compute(y, said, weights, np.asarray(model.classes_))
