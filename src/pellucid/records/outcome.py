"""One prediction: the label it leads to, and the class that its numbers are about.

Invariant: with two classes the numbers are always about the second one (the positive class), with
more about the predicted one, so that a sign means the same in all rows, texts, tables and files.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.records.fields import require, store

ROWS_SHOWN = 10
TERMS_SHOWN = 3
SCALES = ("response", "link", "log-odds", "votes", "probability")


@dataclass(frozen=True)
class Outcome:
    """A prediction and the class that its numbers are about.

    `label` is the predicted class, `of` the class that contributions count towards and `k` its
    position among the K predictions (both labels None for numbers); `shown` and `baseline` are
    probabilities of `of` where the scale has them.
    """

    label: str | None
    of: str | None
    k: int
    shown: float
    baseline: float
    total: float
    kind: str = ""  # of two classes: what `shown` is, such as "p", a probability

    def __str__(self) -> str:
        from pellucid.draw import number
        from pellucid.draw.label_text import clean

        shown = number(self.shown, 3)
        shown = ">0.999" if shown == "1" and self.shown < 1 else shown  # near, but not certain
        if self.label is None:
            return shown
        label = clean(self.label, 60)
        return f"{label}  {self.named} {shown}" if self.kind else f"{label} {shown}"

    @property
    def named(self) -> str:
        """`p(yes)`: the number that is shown of one of two classes."""
        from pellucid.draw.label_text import clean

        return f"{self.kind}({clean(self.of, 60)})"


def lead(
    base: np.ndarray, prediction: np.ndarray, classes: tuple[Any, ...] | None, scale: str
) -> Outcome:
    """The outcome of one row of K predictions."""
    if classes is None:
        return Outcome(None, None, 0, float(prediction[0]), float(base[0]), float(prediction[0]))
    if len(prediction) > 1 or len(classes) == 1:
        k = int(np.argmax(prediction))
        label = str(classes[k])
        shown, baseline = _shares(prediction, scale)[k], _shares(base, scale)[k]
        return Outcome(label, label, k, shown, baseline, float(prediction[k]))
    return _of_two(float(base[0]), float(prediction[0]), classes, scale)


def _of_two(base: float, total: float, classes: tuple[Any, ...], scale: str) -> Outcome:
    ahead = total > (0.5 if scale == "probability" else 0)
    shown, baseline = (total, base) if scale != "log-odds" else (_logistic(total), _logistic(base))
    kind = "p" if scale in ("log-odds", "probability") else scale
    return Outcome(str(classes[int(ahead)]), str(classes[1]), 0, shown, baseline, total, kind)


def _logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x > -700 else 0.0


def _shares(scores: np.ndarray, scale: str) -> list[float]:
    """Softmax of log-odds; other scales as they are."""
    shares = scores
    if scale == "log-odds":
        top = np.max(scores)
        if np.isfinite(top):
            weights = np.exp(scores - top)
            shares = weights / weights.sum()
        else:
            shares = (scores == top).astype(float)
    listed: list[float] = shares.tolist()
    return listed


def check_outcome(record: Any, K: int) -> None:
    """Check the fields `scale`, `method` and `classes` of a record with K predictions per row."""
    require(record.scale in SCALES, record, "scale", "one of " + ", ".join(SCALES))
    require(isinstance(record.method, str), record, "method", "a string")
    if record.classes is not None:
        store(record, "classes", tuple(record.classes))
        fits = len(record.classes) == K or (K == 1 and len(record.classes) == 2)
        require(fits, record, "classes", f"{K} labels" if K > 1 else "one or two labels")


def first_sentences(sentence: Callable[[int], str], n: int) -> str:
    """The sentences of the first rows, and how many rows more there are."""
    lines = [sentence(i) for i in range(min(n, ROWS_SHOWN))]
    if n > ROWS_SHOWN:
        lines.append(f"... and {n - ROWS_SHOWN} more rows")
    return "\n".join(lines) or "No rows to explain."


def largest_gap(total: np.ndarray, prediction: np.ndarray) -> float:
    """Largest difference; equal infinities (a probability of exactly 0 or 1) do not differ."""
    with np.errstate(invalid="ignore"):
        gaps = np.where(total == prediction, 0.0, np.abs(total - prediction))
    return float(np.max(gaps, initial=0.0))


def largest_size(prediction: np.ndarray) -> float:
    """Largest finite absolute value, at least 1: what differences are measured against."""
    finite = np.abs(prediction[np.isfinite(prediction)])
    return max(1.0, float(np.max(finite, initial=0.0)))
