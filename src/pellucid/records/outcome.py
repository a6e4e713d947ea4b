"""What one prediction says: the label it leads to, and the number to show beside it.

Invariant: the words always speak about the predicted class; with K = 1 and the first of two
classes ahead, base, contributions and prediction are those of the other side.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

SCALES = ("response", "link", "log-odds", "votes", "probability")


@dataclass(frozen=True)
class Outcome:
    """A prediction turned towards the class that it leads to.

    `k` is its position among the K predictions, `sign` -1 if contributions count against the
    second of two classes; `shown` and `baseline` are probabilities where the scale has them.
    """

    label: str | None
    k: int
    sign: float
    shown: float
    baseline: float
    total: float

    def __str__(self) -> str:
        from ..draw import number
        from ..draw.text import clean

        shown = number(self.shown, 3)
        shown = ">0.999" if shown == "1" and self.shown < 1 else shown  # near, but not certain
        return shown if self.label is None else f"{clean(self.label, 60)} {shown}"


def lead(
    base: np.ndarray, prediction: np.ndarray, classes: tuple[Any, ...] | None, scale: str
) -> Outcome:
    """The outcome of one row of K predictions."""
    if classes is None:
        return Outcome(None, 0, 1.0, float(prediction[0]), float(base[0]), float(prediction[0]))
    if len(prediction) > 1 or len(classes) == 1:
        k = int(np.argmax(prediction))
        shown, baseline = _shares(prediction, scale)[k], _shares(base, scale)[k]
        return Outcome(str(classes[k]), k, 1.0, shown, baseline, float(prediction[k]))
    return _of_two(float(base[0]), float(prediction[0]), classes, scale)


def _of_two(base: float, total: float, classes: tuple[Any, ...], scale: str) -> Outcome:
    if scale == "probability":
        if total > 0.5:
            return Outcome(str(classes[1]), 0, 1.0, total, base, total)
        return Outcome(str(classes[0]), 0, -1.0, 1 - total, 1 - base, 1 - total)
    sign = 1.0 if total > 0 else -1.0
    base, total = sign * base, sign * total
    shown, baseline = (total, base) if scale != "log-odds" else (_logistic(total), _logistic(base))
    return Outcome(str(classes[int(sign > 0)]), 0, sign, shown, baseline, total)


def _logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


def _shares(scores: np.ndarray, scale: str) -> list[float]:
    """Softmax of log-odds; other scales as they are."""
    if scale != "log-odds":
        return scores.tolist()
    top = np.max(scores)
    if not np.isfinite(top):
        return (scores == top).astype(float).tolist()
    weights = np.exp(scores - top)
    return (weights / weights.sum()).tolist()


def largest_gap(total: np.ndarray, prediction: np.ndarray) -> float:
    """Largest difference; equal infinities (a probability of exactly 0 or 1) differ by nothing."""
    with np.errstate(invalid="ignore"):
        gaps = np.where(total == prediction, 0.0, np.abs(total - prediction))
    return float(np.max(gaps, initial=0.0))


def largest_size(prediction: np.ndarray) -> float:
    """Largest finite absolute value, at least 1: what differences are measured against."""
    finite = np.abs(prediction[np.isfinite(prediction)])
    return max(1.0, float(np.max(finite, initial=0.0)))
