"""The true score of a fitted model, by metric, on rows of the population.

Known quantities are not sampled: classes enter by their probability, and the noise variance of numbers
is known. Only the absolute error needs sampled targets.
"""

from __future__ import annotations

import numpy as np

from scorecard.statistics.populations import CLASSES, NOISE, Fresh

METRICS = {True: ("accuracy", "log_loss", "roc_auc", "f1"), False: ("rmse", "r2", "mae")}
SIGN = {"accuracy": 1, "log_loss": -1, "roc_auc": 1, "f1": 1, "rmse": -1, "r2": 1, "mae": -1}
TINY = float(np.finfo(float).eps)


def metrics_of(data: str) -> tuple[str, ...]:
    """The metrics for classes, or for numbers."""
    return METRICS[data == CLASSES]


def true_scores(fresh: Fresh, rho: float, predicted: np.ndarray) -> list[float]:
    """By metric; `predicted` are the model's predictions for the fresh rows."""
    return (_of_classes if fresh.data == CLASSES else _of_numbers)(fresh, rho, predicted)


def _of_classes(fresh: Fresh, rho: float, predicted: np.ndarray) -> list[float]:
    p, second = fresh.second(rho), predicted > 0.5
    q = np.clip(predicted, TINY, 1 - TINY)
    both = float((p * second).sum())
    return [
        float(np.where(second, p, 1 - p).mean()),
        float(-(p * np.log(q) + (1 - p) * np.log1p(-q)).mean()),
        _auc(p, predicted),
        2 * both / float(p.sum() + second.sum()),
    ]


def _auc(p: np.ndarray, predicted: np.ndarray) -> float:
    """AUC if rows belong to the second class with probability p; ties count one half."""
    levels, rank = np.unique(predicted, return_inverse=True)
    pos = np.bincount(rank, p, minlength=len(levels))
    neg = np.bincount(rank, 1 - p, minlength=len(levels))
    return float((pos * (np.cumsum(neg) - neg / 2)).sum() / (pos.sum() * neg.sum()))


def _of_numbers(fresh: Fresh, rho: float, predicted: np.ndarray) -> list[float]:
    square = float(((rho * fresh.signal - predicted) ** 2).mean()) + fresh.unexplained(rho)
    absolute = float(np.abs(fresh.numbers(rho) - predicted).mean())
    return [np.sqrt(square), 1 - square / (2 + NOISE[fresh.data]), absolute]
