"""The contribution of each row to a metric: values whose weighted mean is the metric.

The value of row i is the metric plus the influence of that row,

    v_i = m(w) + W dm / dw_i,        W = sum of the weights w,

so that sum(w v) / W = m for every metric that does not depend on the scale of the weights. For a
mean over rows (accuracy, log loss, absolute error) v_i is the row's own loss; for the area under the
ROC curve it is DeLong's placement value; for the others it is the delta method. Two models tested on
the same rows are compared by the differences of these values.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from pellucid.model_selection.metrics import (
    Metric,
    each_against_rest,
    log_losses,
    poisson_deviances,
)

Values = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def _balanced_accuracy(
    y: np.ndarray, labels: np.ndarray, w: np.ndarray, classes: np.ndarray
) -> np.ndarray:
    """The mean of the recalls: a row changes the recall of its own class."""
    correct, present = (y == labels).astype(float), [c for c in np.unique(y) if w[y == c].sum() > 0]
    values = np.zeros(len(y))
    for c in present:
        own = y == c
        recall = np.average(correct[own], weights=w[own])
        values += recall
        values[own] += w.sum() / w[own].sum() * (correct[own] - recall)
    return values / len(present)


def _f1(y: np.ndarray, labels: np.ndarray, w: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """The ratio 2 hits / (actual + predicted) of the last of two classes, or the mean over classes."""
    which = classes[-1:] if len(classes) == 2 else np.union1d(y, labels)
    values = np.zeros(len(y))
    for c in which:
        actual, predicted = y == c, labels == c
        total = w[actual].sum() + w[predicted].sum()
        if total > 0:
            share = 2 * w[actual & predicted].sum() / total
            each = 2.0 * (actual & predicted) - share * (actual.astype(float) + predicted)
            values += share + w.sum() / total * each
    return values / len(which)


def _placements(positive: np.ndarray, score: np.ndarray, w: np.ndarray) -> np.ndarray:
    """DeLong's placement values: the share of the other class that a row is correctly ranked against."""
    pos, neg = w[positive].sum(), w[~positive].sum()
    if pos == 0 or neg == 0:
        return np.full(len(score), np.nan)
    levels, rank = np.unique(score, return_inverse=True)
    at_pos = np.bincount(rank, w * positive, minlength=len(levels))
    at_neg = np.bincount(rank, w * ~positive, minlength=len(levels))
    below = (np.cumsum(at_neg) - at_neg / 2) / neg
    above = 1 - (np.cumsum(at_pos) - at_pos / 2) / pos
    auc = float((at_pos * below).sum() / pos)
    placement = np.where(positive, below[rank], above[rank])
    return auc + (placement - auc) * w.sum() / np.where(positive, pos, neg)


def _precisions(positive: np.ndarray, score: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Average precision: a row counts as a positive, and in the precision of all rows ranked below."""
    pos = w[positive].sum()
    if pos == 0:
        return np.full(len(score), np.nan)
    levels, rank = np.unique(-score, return_inverse=True)  # the highest score first
    at_pos = np.bincount(rank, w * positive, minlength=len(levels))
    at_all = np.bincount(rank, w, minlength=len(levels))
    seen = np.cumsum(at_all)
    precision = np.divide(np.cumsum(at_pos), seen, out=np.zeros(len(seen)), where=seen > 0)
    average = float((at_pos * precision).sum() / pos)
    each = np.divide(at_pos, seen, out=np.zeros(len(seen)), where=seen > 0)
    # Positives from a level down, each over the rows above it.
    counted = np.cumsum(each[::-1])[::-1]
    expected = np.cumsum((each * precision)[::-1])[::-1]
    below = positive * counted[rank] - expected[rank]
    return average + w.sum() / pos * (positive * (precision[rank] - average) + below)


def _rmse(y: np.ndarray, predicted: np.ndarray, w: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Half the squared error of a row over the root, plus half the root (derivative of a root)."""
    squares = (y - predicted) ** 2
    root = np.sqrt(np.average(squares, weights=w))
    return squares / (2 * root) + root / 2 if root > 0 else squares


def _r2(y: np.ndarray, predicted: np.ndarray, w: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """1 - residual / spread; a row changes both."""
    squares, around = (y - predicted) ** 2, (y - np.average(y, weights=w)) ** 2
    residual, spread = np.average(squares, weights=w), np.average(around, weights=w)
    if spread == 0:
        return np.full(len(y), 1.0 if residual == 0 else 0.0)
    return 1 - residual / spread - (squares - around * residual / spread) / spread


VALUES: dict[str, Values] = {
    "accuracy": lambda y, labels, w, classes: (y == labels).astype(float),
    "balanced_accuracy": _balanced_accuracy,
    "f1": _f1,
    "log_loss": lambda y, proba, w, classes: log_losses(np.searchsorted(classes, y), proba),
    "roc_auc": partial(each_against_rest, _placements),
    "average_precision": partial(each_against_rest, _precisions),
    "r2": _r2,
    "rmse": _rmse,
    "mae": lambda y, predicted, w, classes: np.abs(y - predicted),
    "poisson_deviance": lambda y, predicted, w, classes: poisson_deviances(y, predicted, w),
}


def row_losses(metric: Metric, y: np.ndarray, predicted: np.ndarray) -> np.ndarray | None:
    """A loss of each row that orders rows as the metric does; None if the metric has none.

    Squared and absolute errors give the same order.
    """
    if metric.name == "poisson_deviance":
        return poisson_deviances(y, predicted)
    if metric.needs == "numbers":
        return np.abs(y - predicted)
    return log_losses(y, predicted) if metric.name == "log_loss" else None


def row_values(
    metric: Metric, y: np.ndarray, predicted: np.ndarray, w: np.ndarray, classes: np.ndarray
) -> np.ndarray:
    """The value of every row for one of METRICS; `predicted` are the predictions that it needs.

    Rows of weight 0 have a value, but do not count in the mean.
    """
    return VALUES[metric.name](y, predicted, w, classes)
