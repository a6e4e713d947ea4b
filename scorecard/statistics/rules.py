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

STEADY = 1  # rank up to which models hardly vary with their training rows
UNSEEN = 10.0


class Rule(Protocol):
    """Rules with the same `kind` have the same contributions, which are then made only once."""

    name: str
    kind: str
    baseline_level: float  # at which the best model of a board beats the baseline

    def contribute(
        self, metric: str, y: np.ndarray, fold: np.ndarray, told: np.ndarray, rank: int
    ) -> Any:
        """What is kept of one model; `rank` is its rank of simplicity in the comparison's registry."""

    def score(self, one: Any) -> float:
        """The score of a model, as it is printed."""

    def interval(self, one: Any) -> tuple[float, float]:
        """The 95 % interval of the score."""

    def p(self, one: Any, other: Any) -> float:
        """Two-sided p that the two models are equally good."""


@dataclass(frozen=True)
class Contribution:
    """Influence values of one model, and whether it hardly varies with its training rows."""

    metric: str
    score: float
    values: np.ndarray
    steady: bool


class Rows:
    """Paired by rows: variance = factor * variance of the rows / n, with n - 1 degrees of freedom.

    Intervals of scores may have another factor than differences, `wide`; so may models that hardly
    vary with their training rows (of rank 0 and 1), `steady`; a pair has the larger one. `ratios` puts
    losses on a scale of logarithms. `unseen` widens the upper end of an RMSE by one more row: a heavy
    tail may not have shown its largest error yet.
    """

    baseline_level = 0.01

    def __init__(
        self,
        factor: float,
        wide: float | None = None,
        steady: float | None = None,
        folded: bool = True,
        ratios: bool = False,
        unseen: bool = False,
    ) -> None:
        self.factor, self.wide = factor, factor if wide is None else wide
        self.steady = np.inf if steady is None else steady
        self.folded, self.ratios, self.unseen = folded, ratios or unseen, unseen
        self.kind = "rows" if folded else "rows, pooled"
        words = [self.kind, *(["ratios"] if ratios else []), *(["unseen"] if unseen else [])]
        factors = "/".join(f"{x:g}" for x in (factor, wide, steady) if x is not None)
        self.name = f"{', '.join(words)} x {factors}"

    def contribute(
        self, metric: str, y: np.ndarray, fold: np.ndarray, told: np.ndarray, rank: int
    ) -> Contribution:
        values = influences(metric, y, fold, told, self.folded)
        return Contribution(metric, float(values.mean()), values, rank <= STEADY)

    def score(self, one: Contribution) -> float:
        return one.score

    def interval(self, one: Contribution) -> tuple[float, float]:
        n, factor = len(one.values), min(self.wide, self.steady if one.steady else np.inf)
        reach = stdtrit(n - 1, (1 + LEVEL) / 2) * np.sqrt(factor)
        half = reach * _error(one.values)
        if not (self.ratios and one.metric in LOSSES and one.score > 0):
            return one.score - half, one.score + half
        above = half / one.score
        if self.unseen and one.metric == "rmse":
            above = reach * np.sqrt((n + 1) / n) * _share_with_one_more(one)
        return one.score * float(np.exp(-half / one.score)), one.score * float(np.exp(above))

    def p(self, one: Contribution, other: Contribution) -> float:
        factor = min(self.factor, self.steady if one.steady and other.steady else np.inf)
        difference = one.values - other.values
        mean = one.score - other.score
        if self.ratios and one.metric in LOSSES and min(one.score, other.score) > 0:
            difference = one.values / one.score - other.values / other.score
            mean = float(np.log(one.score / other.score))
        error = np.sqrt(factor) * _error(difference)
        if error <= 1e-12 * max(1.0, float(np.abs(difference).max())):
            return 1.0 if abs(mean) <= 1e-12 else 0.0
        return float(2 * stdtr(len(difference) - 1, -abs(mean / error)))


def _error(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def _share_with_one_more(one: Contribution) -> float:
    """Standard error / RMSE, had there been a row with a larger error than all others.

    Its squared error is 10^h times the largest, h being Hill's estimate of the tail (about .3 of
    normal errors, .8 of log-normal ones) from the sqrt(n) largest squared errors.
    """
    root = one.score
    square = np.maximum(2 * root * one.values - root**2, 0.0)
    top = np.sort(square)[-int(np.ceil(np.sqrt(len(square)))) - 1 :]
    if top[0] <= 0:
        return _error(one.values) / root
    beyond = top[-1] * UNSEEN ** float(np.log(top[1:] / top[0]).mean())
    more = np.append(square, beyond)
    return _error(more) / (2 * float(more.mean()))


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
    """Whether the best model is told from the baseline, which is asked first.

    The best of a dozen models without any signal has an AUC above one half by selection alone; a rule
    that allows for that has a smaller `baseline_level`.
    """
    best = board[best_of(rule, metric, board)]
    better = SIGN[metric] * (rule.score(best) - rule.score(baseline)) > 0
    return better and rule.p(best, baseline) < rule.baseline_level


BEFORE = ByFolds()
FACTORS = (1.0, 1.25, 1.56, 1.8, 2.25)
NOW: Rule = Rows(1.7, unseen=True)
