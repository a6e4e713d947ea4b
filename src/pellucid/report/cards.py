"""The numbers behind the card of a model, computed from its out-of-fold predictions.

Rows count by their weights. Results are plain lists, whose sizes do not grow with the number of rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pellucid.metrics.ranked_scores import last_of_equals

CURVE = 100  # points of a curve
BINS = 10
FEWEST = 10  # rows of a point in the calibration chart, if the table has as many
THRESHOLDS = 200
MOST_CLASSES = 10  # classes with their own curves
MOST_POINTS = 500


def card(
    answers: dict[str, np.ndarray],
    y: np.ndarray,
    weights: np.ndarray,
    classes: list[str] | None,
    seed: int,
) -> dict[str, Any]:
    """The numbers of all charts of one model."""
    counted = weights[answers["rows"]] > 0
    answers = {name: values[counted] for name, values in answers.items()}
    truth, w = y[answers["rows"]], weights[answers["rows"]]
    if classes is None:
        return {"residuals": residuals(answers, truth, seed)}
    out: dict[str, Any] = {"confusion": confusion(truth, answers["labels"], w, classes)}
    proba, scores = answers.get("proba"), answers.get("scores")
    ranking = proba if proba is not None else scores
    if ranking is None:
        return out
    about = [1] if len(classes) == 2 else list(range(min(len(classes), MOST_CLASSES)))
    folds = answers["fold"]
    out["roc"] = [roc(truth == k, ranking[:, k], w, folds, classes[k]) for k in about]
    out["pr"] = [precision_recall(truth == k, ranking[:, k], w, folds, classes[k]) for k in about]
    if proba is not None:
        out["calibration"] = [calibration(truth == k, proba[:, k], w, classes[k]) for k in about]
        two = len(classes) == 2
        shown = proba[:, 1] if two else proba[np.arange(len(truth)), truth]
        out["histogram"] = histogram(truth, shown, w, classes, classes[1] if two else None)
        if two:
            out["thresholds"] = thresholds(truth == 1, proba[:, 1], w, classes[1])
    return out


def counts(amounts: Any) -> Any:
    """Sums of weights, as integers if all of them are whole."""
    amounts = np.round(amounts, 2)
    whole = (amounts == np.round(amounts)).all()
    return amounts.astype(int).tolist() if whole else amounts.tolist()


def confusion(
    truth: np.ndarray, labels: np.ndarray, w: np.ndarray, classes: list[str]
) -> dict[str, Any]:
    """Counts of actual (rows) and predicted (columns) classes."""
    K = len(classes)
    pairs = np.bincount(truth * K + labels.astype(int), weights=w, minlength=K * K)
    return {"labels": classes, "counts": counts(pairs.reshape(K, K))}


Points = tuple[np.ndarray, np.ndarray]


def roc_points(positive: np.ndarray, score: np.ndarray, w: np.ndarray) -> Points:
    """False and true positive rates from (0, 0) to (1, 1), one point per distinct score."""
    tp, fp = _cumulated(score, w * positive, w * ~positive)
    return np.append(0.0, fp / fp[-1]), np.append(0.0, tp / tp[-1])


def _cumulated(score: np.ndarray, *amounts: np.ndarray) -> list[np.ndarray]:
    """Sums of the amounts over the rows of the highest scores, by distinct score."""
    order = np.argsort(-score, kind="stable")
    last = last_of_equals(score[order])
    return [np.cumsum(amount[order])[last] for amount in amounts]


def roc(
    positive: np.ndarray, score: np.ndarray, w: np.ndarray, folds: np.ndarray, name: str
) -> dict[str, Any]:
    """ROC curves by fold, and their mean at common false-positive rates."""
    own = [folds == k for k in np.unique(folds)]
    own = [fold for fold in own if positive[fold].any() and not positive[fold].all()]
    points = [roc_points(positive[fold], score[fold], w[fold]) for fold in own]
    areas = [float(((x[1:] - x[:-1]) * (y[1:] + y[:-1]) / 2).sum()) for x, y in points]
    return {
        "class": name,
        **_curves(points, _along),
        "auc": float(np.mean(areas)) if areas else None,
    }


def precision_recall(
    positive: np.ndarray, score: np.ndarray, w: np.ndarray, folds: np.ndarray, name: str
) -> dict[str, Any]:
    """Precision-recall curves by fold, and their mean at common recalls."""
    points = []
    for fold in [folds == k for k in np.unique(folds)]:
        if positive[fold].any():
            tp, rows = _cumulated(score[fold], (w * positive)[fold], w[fold])
            points.append((tp / tp[-1], tp / rows))
    areas = [float(np.sum(np.diff(x, prepend=0.0) * y)) for x, y in points]
    return {
        "class": name, **_curves(points, _best_precision),
        "ap": float(np.mean(areas)) if areas else None, "share": float(np.average(positive, weights=w)),
    }  # fmt: skip


def _curves(points: list[Points], along: Callable[..., np.ndarray]) -> dict[str, Any]:
    """The curves of the folds; their mean, lowest and highest at the places of a grid."""
    grid, mean = np.linspace(0, 1, CURVE), None
    if points:
        found = [along(grid, x, y) for x, y in points]
        ends = {"low": rounded(np.min(found, axis=0)), "high": rounded(np.max(found, axis=0))}
        mean = {"x": rounded(grid), "y": rounded(np.mean(found, axis=0)), **ends}
    return {"folds": [_thinned(x, y) for x, y in points], "mean": mean}


def _best_precision(grid: np.ndarray, recall: np.ndarray, precision: np.ndarray) -> np.ndarray:
    """The best precision at this recall or more: a step function."""
    best = np.maximum.accumulate(precision[::-1])[::-1]
    return best[np.searchsorted(recall, grid, side="left").clip(max=len(best) - 1)]


def _along(grid: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The curve on the grid, starting at (0, 0); at jumps the upper end."""
    keep = np.append(np.diff(x) > 0, True)
    out = np.interp(grid, x[keep], y[keep])
    out[0] = 0.0
    return out


def _thinned(x: np.ndarray, y: np.ndarray) -> dict[str, list[float]]:
    kept = np.unique(np.linspace(0, len(x) - 1, min(len(x), CURVE)).round().astype(int))
    return {"x": rounded(x[kept]), "y": rounded(y[kept])}


def rounded(values: np.ndarray) -> list[float]:
    """Points of a curve, rounded below what a chart can show."""
    return np.round(values, 5).tolist()


def calibration(
    positive: np.ndarray, proba: np.ndarray, w: np.ndarray, name: str
) -> dict[str, Any]:
    """Observed share and mean predicted probability in ten equal bins; Brier score; ECE.

    `points` are the bins, merged with their neighbours until each has `FEWEST` rows, because the share
    of one or two rows is noise.
    """
    place = np.minimum((proba * BINS).astype(int), BINS - 1)
    each = [(k, k + 1) for k in range(BINS) if (place == k).any()]
    bins = [_bin(positive, proba, w, place, ends) for ends in each]
    gaps = [
        w[place == k].sum() * abs(b["predicted"] - b["observed"]) for (k, _), b in zip(each, bins)
    ]
    n = w if (w == np.round(w)).all() else np.ones(len(w))  # whole weights count rows
    joint = _joined([(*ends, float(n[place == ends[0]].sum())) for ends in each])
    return {
        "class": name, "bins": bins, "points": [_bin(positive, proba, w, place, e) for e in joint],
        "brier": float(np.average((proba - positive) ** 2, weights=w)),
        "ece": float(sum(gaps) / w.sum()),
    }  # fmt: skip


def _bin(
    positive: np.ndarray, proba: np.ndarray, w: np.ndarray, place: np.ndarray, ends: tuple[int, int]
) -> dict[str, Any]:
    """Mean prediction and observed share in the bins `ends[0]` to `ends[1] - 1`."""
    own = (place >= ends[0]) & (place < ends[1])
    return {
        "low": ends[0] / BINS, "high": ends[1] / BINS, "rows": counts(w[own].sum()),
        "predicted": float(np.average(proba[own], weights=w[own])),
        "observed": float(np.average(positive[own], weights=w[own])),
    }  # fmt: skip


def _joined(bins: list[tuple[int, int, float]]) -> list[tuple[int, int]]:
    """Bins (first, stop, rows): merge the smallest with its smaller neighbour until all have enough
    rows.
    """
    while len(bins) > 1 and min(rows for *_, rows in bins) < FEWEST:
        k = min(range(len(bins)), key=lambda i: bins[i][2])
        beside = [i for i in (k - 1, k + 1) if 0 <= i < len(bins)]
        a, b = sorted((k, min(beside, key=lambda i: bins[i][2])))
        bins[a : b + 1] = [(bins[a][0], bins[b][1], bins[a][2] + bins[b][2])]
    return [(first, stop) for first, stop, _ in bins]


def histogram(
    truth: np.ndarray, proba: np.ndarray, w: np.ndarray, classes: list[str], name: str | None
) -> dict[str, Any]:
    """Histogram of the predicted probability of a class (None: the actual class), by actual class."""
    edges = np.linspace(0, 1, 21)
    by_class = {
        label: counts(np.histogram(proba[truth == c], edges, weights=w[truth == c])[0])
        for c, label in enumerate(classes)
    }
    return {"class": name, "edges": edges.tolist(), "counts": by_class}


def thresholds(positive: np.ndarray, proba: np.ndarray, w: np.ndarray, name: str) -> dict[str, Any]:
    """[threshold, tp, fp, fn, tn] at many thresholds; a row is positive if p >= threshold."""
    even = np.linspace(0, 1, THRESHOLDS // 2)
    levels = np.unique(np.concatenate([even, [0.5], np.quantile(proba, even)]))
    fn, tn = (_below(proba[own], w[own], levels) for own in (positive, ~positive))
    table = np.column_stack([w[positive].sum() - fn, w[~positive].sum() - tn, fn, tn])
    rows = [[t, *amounts] for t, amounts in zip(levels.tolist(), counts(table))]
    return {"class": name, "rows": rows}


def _below(values: np.ndarray, w: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """The weight of the values below each level."""
    order = np.argsort(values)
    sums = np.append(0.0, np.cumsum(w[order]))
    return sums[np.searchsorted(values[order], levels, side="left")]


def residuals(answers: dict[str, np.ndarray], truth: np.ndarray, seed: int) -> dict[str, Any]:
    """Predicted and actual values of at most `MOST_POINTS` rows."""
    n = len(truth)
    kept = np.arange(n)
    if n > MOST_POINTS:
        kept = np.sort(np.random.default_rng(seed).choice(n, MOST_POINTS, replace=False))
    return {
        "predicted": answers["labels"][kept].tolist(), "actual": truth[kept].tolist(),
        "row": answers["rows"][kept].tolist(), "shown": len(kept), "rows": n,
    }  # fmt: skip
