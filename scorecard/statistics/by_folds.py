"""The previous rule: t-tests of the 5 fold scores. The power of the present rule is measured against it.

Intervals and tests are those of `pellucid.comparison.analysis.by_folds`. In addition, a difference of
proportions is never more significant than the sign test of the fewest rows that could cause it, and the
interval of a proportion is at least as wide as Wilson's (of the AUC: Newcombe's).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pellucid.comparison.analysis.by_folds import LOSS, fold_difference, fold_interval
from pellucid.comparison.analysis.statistics import auc_interval, wilson
from scorecard.statistics.truth import SIGN, TINY

RATIO = 1 / 4  # test rows / training rows of 5 folds
LOSSES = ("log_loss", "rmse", "mae")
SHARES = ("accuracy", "f1")
BOUNDS: dict[str, tuple[float, float]] = {
    "accuracy": (0, 1),
    "roc_auc": (0, 1),
    "f1": (0, 1),
    "r2": (-np.inf, 1),
}


@dataclass(frozen=True)
class FoldScores:
    """The data of one model: its score in each fold, and the number of rows of each class."""

    metric: str
    scores: np.ndarray
    rows: tuple[int, ...]


class ByFolds:
    """The previous rule; see `rules.Rule` for its methods."""

    name = "by folds"
    kind = "by folds"

    def contribute(
        self, metric: str, y: np.ndarray, fold: np.ndarray, predicted: np.ndarray
    ) -> FoldScores:
        parts = [fold == f for f in np.unique(fold)]
        scores = np.array([_SCORES[metric](y[part], predicted[part]) for part in parts])
        rows = () if metric in ("rmse", "r2", "mae") else (int((y == 0).sum()), int(y.sum()))
        return FoldScores(metric, scores, rows)

    def score(self, one: FoldScores) -> float:
        return float(one.scores.mean())

    def interval(self, one: FoldScores) -> tuple[float, float]:
        bounds = LOSS if one.metric in LOSSES else BOUNDS[one.metric]
        low, high = fold_interval(one.scores.tolist(), RATIO, bounds)
        least = _interval_of_rows(one, self.score(one))
        return (low, high) if least is None else (min(low, least[0]), max(high, least[1]))

    def p(self, one: FoldScores, other: FoldScores) -> float:
        sign, losses = SIGN[one.metric], one.metric in LOSSES
        p = fold_difference(one.scores.tolist(), other.scores.tolist(), RATIO, sign, losses).p
        rows = _rows_of_share(one)
        if rows is None or p != p:
            return p
        gap = abs(self.score(one) - self.score(other))
        return max(p, min(1.0, 2.0 ** (1 - gap * rows)))


def _rows_of_share(one: FoldScores) -> float | None:
    """Number of rows of a proportion; None if the metric is not a proportion of rows."""
    return (
        {"accuracy": sum(one.rows), "f1": one.rows[-1]}[one.metric]
        if one.metric in SHARES
        else None
    )


def _interval_of_rows(one: FoldScores, mean: float) -> tuple[float, float] | None:
    """The interval of a proportion or an AUC in one sample of these rows; None for other metrics."""
    rows = _rows_of_share(one)
    if rows is not None:
        return wilson(mean, rows)
    return auc_interval(mean, *one.rows) if one.metric == "roc_auc" else None


def _log_loss(y: np.ndarray, predicted: np.ndarray) -> float:
    p = np.clip(predicted, TINY, 1 - TINY)
    return float(-np.where(y > 0, np.log(p), np.log1p(-p)).mean())


def _auc(y: np.ndarray, predicted: np.ndarray) -> float:
    levels, rank = np.unique(predicted, return_inverse=True)
    pos = np.bincount(rank, y, minlength=len(levels))
    neg = np.bincount(rank, 1 - y, minlength=len(levels))
    both = pos.sum() * neg.sum()
    return float((pos * (np.cumsum(neg) - neg / 2)).sum() / both) if both else float("nan")


def _f1(y: np.ndarray, predicted: np.ndarray) -> float:
    second = predicted > 0.5
    positive = float(y.sum() + second.sum())
    return 2 * float((y * second).sum()) / positive if positive else 0.0


_SCORES: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "accuracy": lambda y, predicted: float(((predicted > 0.5) == (y > 0)).mean()),
    "log_loss": _log_loss,
    "roc_auc": _auc,
    "f1": _f1,
    "rmse": lambda y, predicted: float(np.sqrt(((y - predicted) ** 2).mean())),
    "r2": lambda y, predicted: 1 - float(((y - predicted) ** 2).mean() / y.var()),
    "mae": lambda y, predicted: float(np.abs(y - predicted).mean()),
}
