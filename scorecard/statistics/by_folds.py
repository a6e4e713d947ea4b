"""The rule before rows were paired: t-tests of 5 fold scores. It is kept as the measure of power.

Nadeau and Bengio (2003) correct the variance of a mean over J folds to s^2 (1 / J + n_test / n_train);
Student's distribution has J - 1 degrees of freedom. Losses are compared by their logarithms. Shares of
rows are never told apart more surely than by the sign test of the fewest rows that could make the
difference, and their intervals are at least as wide as Wilson's (Newcombe's for the AUC).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, stdtr, stdtrit

from scorecard.statistics.truth import TINY

LOSSES = ("log_loss", "rmse", "mae")
SHARES = ("accuracy", "f1")
LEVEL = 0.95
BOUNDS = {"accuracy": (0, 1), "roc_auc": (0, 1), "f1": (0, 1), "r2": (-np.inf, 1)}


@dataclass(frozen=True)
class FoldScores:
    """What the rule keeps of a model: its score in each fold, and the rows of each class."""

    metric: str
    scores: np.ndarray
    rows: tuple[int, ...]


class ByFolds:
    """The rule as it was; see `rules.Rule` for its methods."""

    name = "by folds"
    kind = "by folds"

    def contribute(
        self, metric: str, y: np.ndarray, fold: np.ndarray, told: np.ndarray
    ) -> FoldScores:
        parts = [fold == f for f in np.unique(fold)]
        scores = np.array([_SCORES[metric](y[part], told[part]) for part in parts])
        rows = () if metric in ("rmse", "r2", "mae") else (int((y == 0).sum()), int(y.sum()))
        return FoldScores(metric, scores, rows)

    def score(self, one: FoldScores) -> float:
        return float(one.scores.mean())

    def interval(self, one: FoldScores) -> tuple[float, float]:
        values, mean = one.scores, float(one.scores.mean())
        reach = stdtrit(len(values) - 1, (1 + LEVEL) / 2)
        if one.metric in LOSSES and (values > 0).all():
            factor = float(np.exp(reach * _corrected_error(np.log(values))))
            return mean / factor, mean * factor
        half = reach * _corrected_error(values)
        bounds = BOUNDS.get(one.metric, (-np.inf, np.inf))
        own = _interval_of_rows(one, mean)
        return min(max(bounds[0], mean - half), own[0]), max(min(bounds[1], mean + half), own[1])

    def p(self, one: FoldScores, other: FoldScores) -> float:
        pair = np.array([one.scores, other.scores])
        p = _paired_p(np.log(pair) if one.metric in LOSSES and (pair > 0).all() else pair)
        rows = _rows_of_share(one)
        if rows is None or p != p:
            return p
        gap = abs(float(pair[0].mean() - pair[1].mean()))
        return max(p, min(1.0, 2.0 ** (1 - gap * rows)))


def _corrected_error(scores: np.ndarray) -> float:
    folds = len(scores)
    return float(np.sqrt(np.var(scores, ddof=1) * (1 / folds + 1 / (folds - 1))))


def _paired_p(pair: np.ndarray) -> float:
    difference = pair[0] - pair[1]
    if not np.isfinite(difference).all():
        return float("nan")
    mean, error = float(difference.mean()), _corrected_error(difference)
    if error <= 1e-12 * max(1.0, float(np.abs(difference).max())):
        return 1.0 if abs(mean) <= 1e-12 else 0.0
    return float(2 * stdtr(len(difference) - 1, -abs(mean / error)))


def _rows_of_share(one: FoldScores) -> float | None:
    """So many rows make the share; None if the metric is no share of rows."""
    return (
        {"accuracy": sum(one.rows), "f1": one.rows[-1]}[one.metric]
        if one.metric in SHARES
        else None
    )


def _interval_of_rows(one: FoldScores, mean: float) -> tuple[float, float]:
    rows = _rows_of_share(one)
    if rows is not None:
        return _wilson(mean, rows)
    if one.metric != "roc_auc":
        return mean, mean
    few, many = sorted(one.rows)
    return _newcombe(mean, few, many)


def _wilson(share: float, n: float) -> tuple[float, float]:
    z = float(ndtri((1 + LEVEL) / 2))
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return max(0.0, float(centre - half)), min(1.0, float(centre + half))


def _newcombe(auc: float, n_pos: float, n_neg: float) -> tuple[float, float]:
    """Of the AUC: where (theta - auc)^2 = z^2 V(theta), V being Hanley and McNeil's variance."""
    theta = np.linspace(0, 1, 4001)
    mean = (n_pos + n_neg) / 2 - 1
    spread = theta * (1 - theta)
    spread *= 1 + mean * (1 - theta) / (2 - theta) + mean * theta / (1 + theta)
    inside = (theta - auc) ** 2 <= ndtri((1 + LEVEL) / 2) ** 2 * spread / (n_pos * n_neg)
    found = theta[inside]
    return (float(found[0]), float(found[-1])) if len(found) else (auc, auc)


def _log_loss(y: np.ndarray, told: np.ndarray) -> float:
    p = np.clip(told, TINY, 1 - TINY)
    return float(-np.where(y > 0, np.log(p), np.log1p(-p)).mean())


def _auc(y: np.ndarray, told: np.ndarray) -> float:
    levels, rank = np.unique(told, return_inverse=True)
    pos = np.bincount(rank, y, minlength=len(levels))
    neg = np.bincount(rank, 1 - y, minlength=len(levels))
    both = pos.sum() * neg.sum()
    return float((pos * (np.cumsum(neg) - neg / 2)).sum() / both) if both else float("nan")


def _f1(y: np.ndarray, told: np.ndarray) -> float:
    second = told > 0.5
    positive = float(y.sum() + second.sum())
    return 2 * float((y * second).sum()) / positive if positive else 0.0


_SCORES: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "accuracy": lambda y, told: float(((told > 0.5) == (y > 0)).mean()),
    "log_loss": _log_loss,
    "roc_auc": _auc,
    "f1": _f1,
    "rmse": lambda y, told: float(np.sqrt(((y - told) ** 2).mean())),
    "r2": lambda y, told: 1 - float(((y - told) ** 2).mean() / y.var()),
    "mae": lambda y, told: float(np.abs(y - told).mean()),
}
