"""The seam between the simulation and what it judges: what a rule is, and the rules there are.

A rule turns out-of-fold predictions into a contribution (whatever it needs to know of one model), and
contributions into scores, intervals, p-values and a recommendation.

To judge the comparison's own functions, `Rows.contribute` calls them instead of `influence`, and
`Rows.p` and `Rows.interval` theirs instead of the formulas below.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.special import stdtr, stdtrit

from scorecard.statistics.by_folds import LEVEL, LOSSES, ByFolds
from scorecard.statistics.influence import influences
from scorecard.statistics.truth import SIGN


class Rule(Protocol):
    """Rules with the same `kind` have the same contributions, which are then made only once."""

    name: str
    kind: str

    def contribute(self, metric: str, y: np.ndarray, fold: np.ndarray, told: np.ndarray) -> Any:
        """What is kept of one model."""

    def score(self, one: Any) -> float:
        """The score of a model, as it is printed."""

    def interval(self, one: Any) -> tuple[float, float]:
        """The 95 % interval of the score."""

    def p(self, one: Any, other: Any) -> float:
        """Two-sided p that the two models are equally good."""


@dataclass(frozen=True)
class Contribution:
    """Influence values of one model."""

    metric: str
    score: float
    values: np.ndarray


class Rows:
    """Paired by rows: variance = factor * variance of the rows / n, with n - 1 degrees of freedom.

    `ratios` puts losses on a scale of logarithms.
    """

    def __init__(self, factor: float, folded: bool = True, ratios: bool = False) -> None:
        self.factor, self.folded, self.ratios = factor, folded, ratios
        self.kind = f"rows{'' if folded else ', pooled'}"
        self.name = f"{self.kind}{', ratios' if ratios else ''} x {factor:g}"

    def contribute(
        self, metric: str, y: np.ndarray, fold: np.ndarray, told: np.ndarray
    ) -> Contribution:
        values = influences(metric, y, fold, told, self.folded)
        return Contribution(metric, float(values.mean()), values)

    def score(self, one: Contribution) -> float:
        return one.score

    def interval(self, one: Contribution) -> tuple[float, float]:
        n = len(one.values)
        half = stdtrit(n - 1, (1 + LEVEL) / 2) * self._error(one.values)
        if self.ratios and one.metric in LOSSES and one.score > 0:
            wide = float(np.exp(half / one.score))
            return one.score / wide, one.score * wide
        return one.score - half, one.score + half

    def p(self, one: Contribution, other: Contribution) -> float:
        difference = one.values - other.values
        if self.ratios and one.metric in LOSSES and min(one.score, other.score) > 0:
            difference = one.values / one.score - other.values / other.score
            mean = float(np.log(one.score / other.score))
        else:
            mean = one.score - other.score
        error = self._error(difference)
        if error <= 1e-12 * max(1.0, float(np.abs(difference).max())):
            return 1.0 if abs(mean) <= 1e-12 else 0.0
        return float(2 * stdtr(len(difference) - 1, -abs(mean / error)))

    def _error(self, values: np.ndarray) -> float:
        return float(np.sqrt(self.factor * values.var(ddof=1) / len(values)))


def holm(p: Mapping[str, float]) -> dict[str, float]:
    """Holm's adjusted p-values."""
    adjusted, running = {}, 0.0
    for position, name in enumerate(sorted(p, key=lambda name: p[name])):
        running = max(running, min(1.0, p[name] * (len(p) - position)))
        adjusted[name] = running
    return adjusted


def best_of(rule: Rule, metric: str, board: Mapping[str, Any]) -> str:
    """The model with the best score."""
    return max(board, key=lambda name: SIGN[metric] * rule.score(board[name]))


def worse(rule: Rule, metric: str, board: Mapping[str, Any]) -> set[str]:
    """The models that are told from the best one, after Holm's correction."""
    best = best_of(rule, metric, board)
    p = {name: rule.p(board[best], board[name]) for name in board if name != best}
    return {name for name, value in holm(p).items() if value < 1 - LEVEL}


def beats_baseline(rule: Rule, metric: str, board: Mapping[str, Any], baseline: Any) -> bool:
    """Whether the best model is told from the baseline, which is asked first and alone."""
    best = board[best_of(rule, metric, board)]
    better = SIGN[metric] * (rule.score(best) - rule.score(baseline)) > 0
    return better and rule.p(best, baseline) < 1 - LEVEL


BEFORE = ByFolds()
FACTORS = (1.0, 1.25, 1.56, 1.8, 2.25)
NOW: Rule = Rows(1.56)
