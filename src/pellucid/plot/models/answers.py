"""What a fitted model answers for the rows of a table: classes with probabilities, or numbers.

Invariant: the classes are those of `model.predict`, in the order of `classes_`; a clusterer's labels
count as classes. Only `predict`, `predict_proba` and `decision_function` are called.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.data.opening import opened
from pellucid.data.targets import as_vector
from pellucid.errors import DataError, DataTypeError, NotFittedError, ParameterError

MOST_CLASSES = 31


@dataclass(frozen=True)
class Answers:
    """Predictions for n rows: class codes and probabilities, or numbers."""

    classes: tuple[Any, ...] | None  # None for numbers
    values: np.ndarray  # (n,) codes or numbers
    proba: np.ndarray | None = None  # (n, classes)

    @property
    def certainty(self) -> np.ndarray | None:
        """The probability of the predicted class."""
        if self.proba is None:
            return None
        return self.proba[np.arange(len(self.values)), self.values]


def check_fitted(model: Any, owner: str) -> None:
    """Raise a `NotFittedError` unless the model is fitted."""
    if isinstance(model, type) or (
        not hasattr(model, "predict") and not hasattr(model, "transform")
    ):
        what = f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__
        raise DataTypeError(f"{owner} needs a fitted model with predict. Got {what}.")
    ask = getattr(model, "__sklearn_is_fitted__", None)
    fitted = ask() if ask else any(k.endswith("_") and not k.startswith("_") for k in vars(model))
    if not fitted:
        raise NotFittedError(
            f"This {type(model).__name__} is not fitted yet. Call fit before {owner}."
        )


def kind_of(model: Any) -> str:
    """ "classifier", "regressor", or "clusterer" for all models whose predictions are group labels."""
    if hasattr(model, "classes_"):
        return "classifier"
    own = getattr(model, "_kind", None)
    if own is None:
        tags = getattr(model, "__sklearn_tags__", None)
        own = tags().estimator_type if tags else getattr(model, "_estimator_type", None)
    grouped = own in ("clusterer", "density_estimator", "outlier_detector")
    return "clusterer" if grouped or hasattr(model, "cluster_centers_") else "regressor"


def classes_of(model: Any, owner: str) -> tuple[Any, ...] | None:
    """Class labels of a classifier or cluster numbers; None for numbers."""
    kind = kind_of(model)
    if kind == "regressor":
        return None
    if kind == "classifier":
        found = np.asarray(model.classes_)
        if found.ndim != 1:
            raise ParameterError(f"{owner} needs a model with one target.")
        labels = tuple(found.tolist())
    else:
        labels = _groups(model)
    if len(labels) > MOST_CLASSES:
        raise DataError(
            f"{owner} can show at most {MOST_CLASSES} classes, but the model has {len(labels)}."
        )
    return labels


def _groups(model: Any) -> tuple[Any, ...]:
    for name in ("cluster_centers_", "means_"):
        if hasattr(model, name):
            return tuple(range(len(getattr(model, name))))
    if hasattr(model, "labels_"):
        return tuple(np.unique(model.labels_).tolist())
    return (-1, 1)  # outlier detectors


def answers(model: Any, table: Any, classes: tuple[Any, ...] | None, owner: str) -> Answers:
    """Predictions for a table; `classes` as `classes_of` returns them."""
    predicted = np.asarray(model.predict(table))
    if predicted.ndim == 2 and predicted.shape[1] == 1:
        predicted = predicted[:, 0]
    if predicted.ndim != 1:
        raise ParameterError(
            f"{owner} needs a model with one target. This one predicts {predicted.shape[1]}."
        )
    if classes is None:
        return Answers(None, predicted.astype(float))
    proba = _probabilities(model, table, len(classes))
    return Answers(classes, codes_of(predicted, classes), proba)


def _probabilities(model: Any, table: Any, n_classes: int) -> np.ndarray | None:
    if not hasattr(model, "predict_proba"):
        return None
    try:
        proba = np.asarray(model.predict_proba(table), dtype=float)
    except (AttributeError, NotImplementedError):  # a model that must be asked to calibrate
        return None
    return proba if proba.shape == (len(proba), n_classes) else None


def codes_of(labels: Any, classes: tuple[Any, ...]) -> np.ndarray:
    """Positions of labels in `classes`, -1 for others."""
    place = {label: k for k, label in enumerate(classes)}
    return np.array([place.get(label, -1) for label in np.asarray(labels).tolist()], dtype=int)


def rows_of(X: Any, y: Any = None) -> tuple[Any, np.ndarray | None]:
    """The table (which may be a path) and the target (which may be a column of it) as a vector."""
    X, y = opened(X, y)
    if y is None:
        return X, None
    target = as_vector(y)
    if target.ndim == 2 and target.shape[1] == 1:
        target = target[:, 0]
    if target.ndim != 1:
        raise DataError(f"y must have one column. Got {target.shape[1]}.")
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if len(target) != n:
        raise DataError(f"X has {n} rows, but y has {len(target)}.")
    return X, target
