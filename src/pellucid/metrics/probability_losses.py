"""Metrics of predicted probabilities: log loss and Brier score."""

from typing import Any

import numpy as np

from pellucid.errors import DataConversionWarning, DataError, ParameterError, shown, warn
from pellucid.metrics.inputs import check_lengths, score_matrix, vector, weights


def log_loss(
    y_true: Any,
    y_proba: Any,
    *,
    normalize: bool = True,
    sample_weight: Any = None,
    labels: Any = None,
) -> float:
    """Mean negative log probability of the true class; the sum with `normalize=False`.

    `y_proba` has one column per class, in sorted order, or the probability of the second of two
    classes. `labels` names the classes if not all occur. Probabilities are clipped to [eps, 1 - eps].

    >>> from pellucid.metrics import log_loss
    >>> round(log_loss(["no", "yes"], [0.1, 0.8]), 6)
    0.164252
    """
    codes, proba, w = _probabilities(y_true, y_proba, sample_weight, labels)
    eps = np.finfo(proba.dtype).eps
    losses = -np.log(np.clip(proba[np.arange(len(codes)), codes], eps, 1 - eps))
    return float(np.average(losses, weights=w)) if normalize else float(losses @ w)


def brier_score_loss(
    y_true: Any,
    y_proba: Any,
    *,
    sample_weight: Any = None,
    pos_label: Any = None,
    labels: Any = None,
    scale_by_half: bool | str = "auto",
) -> float:
    """Mean squared difference between the probabilities and what happened.

    One column is the probability of `pos_label` (default: 1, or the larger of two numbers). Several
    columns are those of the classes in sorted order; the squares are added over the classes, and halved
    if `scale_by_half` is true ("auto": for two classes), so that the score lies between 0 and 1.

    >>> from pellucid.metrics import brier_score_loss
    >>> round(brier_score_loss([0, 1, 1], [0.1, 0.9, 0.6]), 6)
    0.06
    """
    proba = score_matrix(y_proba, "y_proba")
    if proba.ndim == 1 or proba.shape[1] == 1:
        y = vector(y_true, "y_true")
        classes = np.unique(y)
        if len(classes) > 2:
            raise DataError(f"y_true has {len(classes)} classes: give one probability per class.")
        positive = _positive(pos_label, classes)
        codes, proba, w = _checked((y == positive).astype(int), proba, sample_weight, 2)
    else:
        codes, proba, w = _probabilities(y_true, proba, sample_weight, labels)
    happened = np.eye(proba.shape[1])[codes]
    score = float(np.average(((happened - proba) ** 2).sum(axis=1), weights=w))
    half = proba.shape[1] < 3 if scale_by_half == "auto" else scale_by_half
    return score / 2 if half else score


def _positive(pos_label: Any, classes: np.ndarray) -> Any:
    if pos_label is not None:
        if len(classes) == 2 and pos_label not in classes.tolist():
            raise ParameterError(
                f"pos_label must be one of {shown(classes.tolist())}. Got {shown(pos_label)} instead."
            )
        return pos_label
    if classes.dtype.kind in "OU":
        raise ParameterError(
            f"y_true has the classes {shown(classes.tolist())}: set pos_label to the class of the "
            "probabilities."
        )
    return 1 if set(classes.tolist()) <= {-1, 0, 1} else classes[-1]


def _probabilities(
    y_true: Any, y_proba: Any, sample_weight: Any, labels: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Codes of the true classes, probabilities with one column per class, weights."""
    y = vector(y_true, "y_true")
    classes = np.unique(y if labels is None else np.asarray(labels))
    if len(classes) < 2:
        source = "y_true has" if labels is None else "labels names"
        raise DataError(f"{source} only one class. Name all classes with labels.")
    if not np.isin(y, classes).all():
        lost = y[~np.isin(y, classes)][0]
        raise DataError(f"y_true has the class {shown(lost)}, which is not in labels.")
    return _checked(np.searchsorted(classes, y), y_proba, sample_weight, len(classes))


def _checked(
    codes: np.ndarray, y_proba: Any, sample_weight: Any, n_classes: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    proba = score_matrix(y_proba, "y_proba")
    check_lengths(codes, proba, ("y_true", "y_proba"))
    if (proba < 0).any() or (proba > 1).any():
        bad = proba[(proba < 0) | (proba > 1)].flat[0]
        raise DataError(f"y_proba holds {bad:g}: probabilities lie between 0 and 1.")
    proba = proba if proba.dtype.kind == "f" else proba.astype(np.float64)
    proba = proba[:, None] if proba.ndim == 1 else proba
    if proba.shape[1] == 1:
        proba = np.hstack([1 - proba, proba])
    if proba.shape[1] != n_classes:
        raise DataError(
            f"y_proba has {proba.shape[1]} columns, but there are {n_classes} classes. Name all classes "
            "with labels."
        )
    if not np.allclose(proba.sum(axis=1), 1, rtol=np.sqrt(np.finfo(proba.dtype).eps), atol=0):
        warn("The rows of y_proba do not sum to 1. Are these probabilities?", DataConversionWarning)
    return codes, proba, weights(sample_weight, len(codes))
