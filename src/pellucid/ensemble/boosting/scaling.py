"""Working units of boosting: targets and weights near 1, scaled by powers of two, which is exact.

Invariant: leaf values times 2**exponent, plus `start`, are raw predictions on the original scale.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.ensemble.boosting.losses import Objective
from pellucid.errors import DataError

LOG2 = float(np.log(2.0))
ORDINARY = 64  # weights between 2**-64 and 2**64 stay as they are


@dataclass(frozen=True)
class Units:
    """How a target is converted to working units, and back."""

    objective: Objective
    start: np.ndarray  # (K,), raw predictions before the first tree, on the original scale
    y_exponent: int = 0  # y / 2**y_exponent lies within -1..1
    residual_exponent: int = 0  # the same for the difference of that and the start

    @property
    def exponent(self) -> int:
        """Binary exponent of the values of leaves."""
        return self.y_exponent + self.residual_exponent if self.objective.link == "identity" else 0

    @property
    def gradient_exponent(self) -> int:
        """Gradients and curvatures of the loss are 2**this times the working ones."""
        return self.y_exponent if self.objective.name == "poisson" else 0

    @property
    def loss_exponent(self) -> int:
        if self.objective.link == "identity":
            return self.exponent * self.objective.power
        return self.gradient_exponent

    def target(self, rows: Problem) -> np.ndarray:
        """y in working units."""
        link = self.objective.link
        if link == "log":
            return np.ldexp(rows.y, -self.y_exponent)
        if link != "identity":
            return rows.y if link == "softmax" else rows.y.astype(np.float64)
        y = np.ldexp(rows.y, -self.y_exponent)
        if rows.offset is not None:
            y = y - np.ldexp(rows.offset, -self.y_exponent)
        return np.ldexp(y - np.ldexp(self.start[0], -self.y_exponent), -self.residual_exponent)

    def initial_raw(self, rows: Problem) -> np.ndarray:
        """Raw predictions (K, n) before the first tree, in working units."""
        n, link = rows.n, self.objective.link
        if link == "identity":
            return np.zeros((1, n))
        raw = np.repeat(self.start[:, None], n, axis=1)
        if link == "log":
            raw -= self.y_exponent * LOG2
        return raw if rows.offset is None else raw + rows.offset.T

    def loss(self, working: float) -> float:
        """A mean loss on the original scale."""
        return float(scaled(working, self.loss_exponent))


def scaled(values: Any, exponent: int) -> np.ndarray:
    """values * 2**exponent; squares of large numbers may overflow to infinity."""
    with np.errstate(over="ignore", under="ignore"):
        return np.ldexp(np.asarray(values, dtype=float), exponent)


def _exponent(values: np.ndarray) -> int:
    largest = float(parallel.largest(np.max(np.abs(values), initial=0.0)))
    return int(np.frexp(largest)[1]) if largest > 0 else 0


def units_of(objective: Objective, rows: Problem, start: np.ndarray | None = None) -> Units:
    """Units for these rows; `start` is that of an earlier fit, or None for the best constant."""
    if objective.link not in ("identity", "log"):
        start = objective.start(rows.y, rows.weights, rows.offset) if start is None else start
        return Units(objective, start)
    exponent = _exponent(rows.y)
    y = np.ldexp(rows.y, -exponent)
    if objective.link == "log":
        if start is None:
            start = objective.start(y, rows.weights, rows.offset) + exponent * LOG2
        return Units(objective, start, exponent)
    offset = None if rows.offset is None else np.ldexp(rows.offset, -exponent)
    if start is None:
        start = np.ldexp(objective.start(y, rows.weights, offset), exponent)
    units = Units(objective, start, exponent)
    residuals = units.target(rows)
    if not parallel.all_rows(np.isfinite(residuals).all()):
        raise DataError("The values of y (or the offset) are too far apart. Rescale them.")
    return replace(units, residual_exponent=_exponent(residuals))


def ordinary_weights(weights: np.ndarray) -> tuple[np.ndarray, int]:
    """(weights / 2**e, e) with e = 0 unless the weights are extreme."""
    e = _exponent(weights)
    return (weights, 0) if abs(e) <= ORDINARY else (np.ldexp(weights, -e), e)
