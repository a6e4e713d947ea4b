"""Reference influence values: how each row moves a score. Their mean is the score.

accuracy, log loss, mean absolute error   the loss of the row itself
AUC                                       DeLong's placements among rows of the other class
RMSE, R2                                  squared errors by the delta method
F1                                        hits and false alarms by the delta method

The score is the mean of the folds' scores, as the comparison prints it. Unless `folded`, all rows are
scored as one sample, whatever model predicted them: then RMSE and R2 have less bias, the AUC more, and
a few large errors decide over all rows instead of those of their fold.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from scorecard.statistics.truth import TINY

ROWS = ("accuracy", "log_loss", "mae")  # the mean over rows, whatever the fold


def influences(
    metric: str, y: np.ndarray, fold: np.ndarray, told: np.ndarray, folded: bool = True
) -> np.ndarray:
    """One value for each row; the mean over rows is the score."""
    if metric in ROWS or not folded:
        return _INFLUENCE[metric](y, told)
    out = np.empty(len(y))
    parts = [fold == f for f in np.unique(fold)]
    for part in parts:
        own, size = _INFLUENCE[metric](y[part], told[part]), int(part.sum())
        score = own.mean()
        # Folds count alike in the mean of their scores, also if one has a row less; and values lie
        # around the score of their own fold, which takes a degree of freedom (of the AUC, see there).
        spread = 1.0 if metric == "roc_auc" else np.sqrt(size / max(size - 1, 1))
        out[part] = score * len(y) / (len(parts) * size) + (own - score) * spread
    return out


def _log_loss(y: np.ndarray, told: np.ndarray) -> np.ndarray:
    p = np.clip(told, TINY, 1 - TINY)
    return -np.where(y > 0, np.log(p), np.log1p(-p))


def _auc(y: np.ndarray, told: np.ndarray) -> np.ndarray:
    """score + (share of the other class below or above - score) / share of the own class."""
    levels, rank = np.unique(told, return_inverse=True)
    pos = np.bincount(rank, y, minlength=len(levels))
    neg = np.bincount(rank, 1 - y, minlength=len(levels))
    n_pos, n_neg = pos.sum(), neg.sum()
    if not n_pos or not n_neg:
        return np.full(len(y), np.nan)
    below = (np.cumsum(neg) - neg / 2) / n_neg
    above = 1 - (np.cumsum(pos) - pos / 2) / n_pos
    place = np.where(y > 0, below[rank], above[rank])
    auc = float((pos * below).sum() / n_pos)
    share = np.where(y > 0, n_pos, n_neg) / len(y)
    spread = np.sqrt(share * len(y) / np.maximum(share * len(y) - 1, 1))  # DeLong's n - 1
    return auc + (place - auc) / share * spread


def _f1(y: np.ndarray, told: np.ndarray) -> np.ndarray:
    """F = 2 tp / (pos + said): a row adds (2 hit - F (positive + said)) / mean of (pos + said)."""
    second = (told > 0.5).astype(float)
    size = float((y + second).mean())
    if not size:
        return np.zeros(len(y))
    f1 = 2 * float((y * second).mean()) / size
    return f1 + (2 * y * second - f1 * (y + second)) / size


def _rmse(y: np.ndarray, told: np.ndarray) -> np.ndarray:
    square = (y - told) ** 2
    root = float(np.sqrt(square.mean()))
    return root + (square - root**2) / (2 * root) if root else square


def _r2(y: np.ndarray, told: np.ndarray) -> np.ndarray:
    square, spread = (y - told) ** 2, (y - y.mean()) ** 2
    share = float(square.mean() / spread.mean())
    return 1 - share - (square - share * spread) / float(spread.mean())


_INFLUENCE: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "accuracy": lambda y, told: ((told > 0.5) == (y > 0)).astype(float),
    "log_loss": _log_loss,
    "roc_auc": _auc,
    "f1": _f1,
    "rmse": _rmse,
    "r2": _r2,
    "mae": lambda y, told: np.abs(y - told),
}
