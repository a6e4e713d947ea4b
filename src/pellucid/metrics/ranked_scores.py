"""Metrics of scores that rank the rows: ROC and precision-recall curves and the areas under them."""

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np

from pellucid.errors import DataError, ParameterError, UndefinedMetricWarning, shown, warn
from pellucid.metrics.inputs import check_lengths, positive_class, score_matrix, vector, weights

Cumulated = tuple[np.ndarray, np.ndarray, np.ndarray]


def last_of_equals(ordered: np.ndarray) -> np.ndarray:
    """Last position of each run of equal values in an ordered array; equal infinities are one run."""
    return np.append(np.flatnonzero(ordered[1:] != ordered[:-1]), len(ordered) - 1)


def binary_auc(positive: np.ndarray, score: np.ndarray, w: np.ndarray) -> float:
    """Area under the ROC curve of one class against the rest; NaN if one of them has no rows."""
    pos, neg = w[positive].sum(), w[~positive].sum()
    if pos == 0 or neg == 0:
        return float("nan")
    levels, rank = np.unique(score, return_inverse=True)
    at_pos = np.bincount(rank, w * positive, minlength=len(levels))
    at_neg = np.bincount(rank, w * ~positive, minlength=len(levels))
    below = np.cumsum(at_neg) - at_neg
    return float((at_pos * (below + at_neg / 2)).sum() / (pos * neg))


def binary_average_precision(positive: np.ndarray, score: np.ndarray, w: np.ndarray) -> float:
    """Area under the precision-recall steps of one class against the rest; NaN without its rows."""
    if w[positive].sum() == 0:
        return float("nan")
    positive, score, w = positive[w > 0], score[w > 0], w[w > 0]
    order = np.argsort(-score, kind="stable")
    hit, seen = np.cumsum((w * positive)[order]), np.cumsum(w[order])
    last = last_of_equals(score[order])
    recall = hit[last] / hit[-1]
    precision = hit[last] / seen[last]
    return float(np.sum(np.diff(recall, prepend=0.0) * precision))


def _cumulated(y_true: Any, y_score: Any, pos_label: Any, sample_weight: Any) -> Cumulated:
    """`cumulated` of the arguments of a curve."""
    y, score = vector(y_true, "y_true"), vector(score_matrix(y_score), "y_score")
    check_lengths(y, score, ("y_true", "y_score"))
    if pos_label is None and len(np.unique(y)) > 2:
        raise DataError("y_true has more than two classes: set pos_label to one of them.")
    positive = y == positive_class(pos_label, y)
    w = weights(sample_weight, len(y))
    return cumulated(positive[w > 0], score[w > 0], w[w > 0])


def cumulated(positive: np.ndarray, score: np.ndarray, w: np.ndarray) -> Cumulated:
    """Weights of false and of true positives at each distinct score, from the highest; the scores."""
    order = np.argsort(-score, kind="stable")
    last = last_of_equals(score[order])
    hit = np.cumsum((w * positive)[order])[last]
    return np.cumsum((w * ~positive)[order])[last], hit, score[order][last]


def roc_curve(
    y_true: Any,
    y_score: Any,
    *,
    pos_label: Any = None,
    sample_weight: Any = None,
    drop_intermediate: bool = True,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(false positive rate, true positive rate, thresholds), from the highest threshold to the lowest.

    A row counts as predicted positive if its score is at least the threshold. The first threshold is
    infinity: no row. `drop_intermediate` leaves out points on a straight line between others.
    """
    fps, tps, thresholds = _cumulated(y_true, y_score, pos_label, sample_weight)
    if drop_intermediate and len(fps) > 2:
        corner = (np.diff(fps, 2) != 0) | (np.diff(tps, 2) != 0)
        kept = np.flatnonzero(np.concatenate([[True], corner, [True]]))
        fps, tps, thresholds = fps[kept], tps[kept], thresholds[kept]
    return (
        _rate(np.append(0.0, fps), "negative"),
        _rate(np.append(0.0, tps), "positive"),
        np.append(np.inf, thresholds),
    )


def _rate(cumulated: np.ndarray, kind: str) -> np.ndarray:
    if cumulated[-1] > 0:
        return cumulated / cumulated[-1]
    warn(f"y_true has no {kind} rows: their rate is undefined (NaN).", UndefinedMetricWarning)
    return np.full(len(cumulated), np.nan)


def precision_recall_curve(
    y_true: Any,
    y_score: Any,
    *,
    pos_label: Any = None,
    sample_weight: Any = None,
    drop_intermediate: bool = False,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(precision, recall, thresholds), from the lowest threshold to the highest.

    Precision and recall have one value more than there are thresholds: the last point is (1, 0).
    """
    fps, tps, thresholds = _cumulated(y_true, y_score, pos_label, sample_weight)
    if drop_intermediate and len(fps) > 2:
        moves = np.diff(tps) != 0
        kept = np.flatnonzero(np.concatenate([[True], moves[:-1] | moves[1:], [True]]))
        fps, tps, thresholds = fps[kept], tps[kept], thresholds[kept]
    precision = tps / (tps + fps)
    if tps[-1] > 0:
        recall = tps / tps[-1]
    else:
        warn("y_true has no positive rows: recall counts as 1.", UndefinedMetricWarning)
        recall = np.ones(len(tps))
    return np.append(precision[::-1], 1.0), np.append(recall[::-1], 0.0), thresholds[::-1]


def auc(x: Any, y: Any) -> float:
    """Area under a curve by the trapezoidal rule; x must be monotone."""
    x, y = vector(x, "x").astype(float), vector(y, "y").astype(float)
    check_lengths(x, y, ("x", "y"))
    steps = np.diff(x)
    if len(x) < 2 or ((steps < 0).any() and (steps > 0).any()):
        raise DataError("x must have at least two values and be monotonic.")
    return float(abs(np.trapezoid(y, x)))


def roc_auc_score(
    y_true: Any,
    y_score: Any,
    *,
    average: str | None = "macro",
    sample_weight: Any = None,
    max_fpr: float | None = None,
    multi_class: str = "raise",
    labels: Any = None,
) -> Any:
    """Area under the ROC curve: the probability that a positive row scores above a negative one.

    For more than two classes, `y_score` holds probabilities, and `multi_class` is "ovr" (each class
    against the rest) or "ovo" (the mean over all pairs). `average` is "macro", "weighted", "micro"
    (with "ovr") or None. `max_fpr` gives the standardised partial area up to that false positive rate.

    >>> from pellucid.metrics import roc_auc_score
    >>> roc_auc_score([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.75
    """
    y, scores = vector(y_true, "y_true"), score_matrix(y_score)
    check_lengths(y, scores, ("y_true", "y_score"))
    classes = np.unique(y)
    if len(classes) > 2 or (scores.ndim == 2 and scores.shape[1] > 2):
        if multi_class not in ("ovr", "ovo"):
            raise ParameterError(
                f"y_true has {len(classes)} classes: set multi_class='ovr' or 'ovo'."
            )
        if max_fpr not in (None, 1):
            raise ParameterError("max_fpr needs two classes.")
        return _several_classes(y, scores, average, sample_weight, multi_class, labels)
    w = weights(sample_weight, len(y))
    if scores.ndim == 2:
        raise DataError("y_score has two columns: give the scores of the second class alone.")
    if len(classes) < 2:
        warn("y_true has only one class: the area is undefined (NaN).", UndefinedMetricWarning)
        return float("nan")
    positive = y == classes[1]
    if max_fpr in (None, 1):
        return binary_auc(positive, scores, w)
    return _partial_area(positive, scores, w, max_fpr)


def _partial_area(positive: np.ndarray, scores: np.ndarray, w: np.ndarray, limit: Any) -> float:
    """The area up to a false positive rate, scaled so that chance is 0.5 and a perfect ranking 1."""
    if not 0 < limit <= 1:
        raise ParameterError(f"max_fpr must lie in (0, 1]. Got {shown(limit)} instead.")
    fpr, tpr, _ = roc_curve(positive.astype(int), scores, sample_weight=w)
    stop = int(np.searchsorted(fpr, limit, "right"))
    end = np.interp(limit, fpr[stop - 1 : stop + 1], tpr[stop - 1 : stop + 1])
    area = auc(np.append(fpr[:stop], limit), np.append(tpr[:stop], end))
    chance = limit**2 / 2
    return float((1 + (area - chance) / (limit - chance)) / 2)


def _several_classes(
    y: np.ndarray, scores: np.ndarray, average: Any, sample_weight: Any, how: str, labels: Any
) -> Any:
    classes = np.unique(y) if labels is None else np.asarray(labels)
    if scores.ndim != 2 or scores.shape[1] != len(classes):
        raise DataError(f"y_score needs one column for each of the {len(classes)} classes.")
    if not np.allclose(scores.sum(axis=1), 1):
        raise DataError("The rows of y_score must sum to 1: several classes need probabilities.")
    if not (np.diff(np.searchsorted(np.sort(classes), classes)) > 0).all():
        raise ParameterError("labels must be sorted, each class once.")
    if not np.isin(y, classes).all():
        raise DataError("y_true has a class that is not in labels.")
    if how == "ovr":
        return _each_class(binary_auc, y, scores, classes, average, sample_weight)
    if sample_weight is not None:
        raise ParameterError("multi_class='ovo' does not support sample_weight.")
    if average not in ("macro", "weighted"):
        raise ParameterError("average must be 'macro' or 'weighted' with multi_class='ovo'.")
    return _pairs(y, scores, classes, average)


def _pairs(y: np.ndarray, scores: np.ndarray, classes: np.ndarray, average: str) -> float:
    """Mean over pairs of classes of the area that ranks one against the other, both ways."""
    areas, shares = [], []
    for a, b in combinations(range(len(classes)), 2):
        rows = (y == classes[a]) | (y == classes[b])
        w, first = np.ones(rows.sum()), y[rows] == classes[a]
        both = binary_auc(first, scores[rows, a], w), binary_auc(~first, scores[rows, b], w)
        areas.append(np.mean(both))
        shares.append(rows.mean())
    return float(np.average(areas, weights=shares if average == "weighted" else None))


def _each_class(
    one: Callable[..., float],
    y: np.ndarray,
    scores: np.ndarray,
    classes: np.ndarray,
    average: Any,
    sample_weight: Any,
) -> Any:
    """`one(positive, score, w)` of each class against the rest, averaged."""
    w = weights(sample_weight, len(y))
    member = y[:, None] == classes
    if average == "micro":
        return one(member.ravel(), scores.ravel(), np.repeat(w, len(classes)))
    if average not in (None, "macro", "weighted"):
        raise ParameterError(
            f"average must be None, 'micro', 'macro' or 'weighted'. Got {shown(average)} instead."
        )
    values = np.array([one(member[:, k], scores[:, k], w) for k in range(len(classes))])
    if average is None:
        return values
    return float(np.average(values, weights=w @ member if average == "weighted" else None))


def average_precision_score(
    y_true: Any,
    y_score: Any,
    *,
    average: str | None = "macro",
    pos_label: Any = 1,
    sample_weight: Any = None,
) -> Any:
    """Mean precision over the steps of recall: the area under the precision-recall step function.

    For more than two classes, `y_score` has one column per class, in sorted order, and `average` is
    "macro", "weighted", "micro" or None.
    """
    y, scores = vector(y_true, "y_true"), score_matrix(y_score)
    check_lengths(y, scores, ("y_true", "y_score"))
    classes = np.unique(y)
    if len(classes) > 2:
        if scores.ndim != 2 or scores.shape[1] != len(classes):
            raise DataError(f"y_score needs one column for each of the {len(classes)} classes.")
        one = binary_average_precision
        return _each_class(one, y, scores, classes, average, sample_weight)
    if len(classes) == 2 and pos_label not in classes.tolist():
        raise ParameterError(
            f"pos_label must be one of {shown(classes.tolist())}. Got {shown(pos_label)} instead."
        )
    positive, w = y == pos_label, weights(sample_weight, len(y))
    if not w[positive].any():
        warn("y_true has no positive rows: average precision is 0.", UndefinedMetricWarning)
        return 0.0
    return binary_average_precision(positive, vector(scores, "y_score"), w)
