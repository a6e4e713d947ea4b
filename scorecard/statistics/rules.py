"""The rules that the simulation judges: the interface of a rule, and the rules.

A rule turns the out-of-fold predictions of a model into a contribution (the data that it needs), and
contributions into scores, intervals, p-values and a verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from pellucid.comparison.analysis.evidence import (
    SHARED,
    SHARED_BY_SCORE,
    CVDesign,
    Evidence,
    difference,
    model_evidence,
)
from pellucid.comparison.analysis.score_intervals import score_interval
from pellucid.comparison.analysis.statistics import LEVEL, EffectiveSample, holm
from pellucid.comparison.analysis.verdict import Board, baseline_alpha, judge
from pellucid.model_selection.metrics import METRICS
from scorecard.statistics.by_folds import RATIO, ByFolds
from scorecard.statistics.truth import SIGN

BASELINE = "baseline"


class Rule(Protocol):
    """Rules with the same `kind` have the same contributions, which are computed only once."""

    name: str
    kind: str

    def contribute(
        self, metric: str, y: np.ndarray, fold: np.ndarray, predicted: np.ndarray
    ) -> Any:
        """The data of one model."""

    def score(self, one: Any) -> float:
        """The score of a model."""

    def interval(self, one: Any) -> tuple[float, float]:
        """The 95 % interval of the score."""

    def p(self, one: Any, other: Any) -> float:
        """Two-sided p-value of the difference of two models."""


@dataclass(frozen=True)
class Contribution:
    """The data that the comparison has about one model."""

    design: CVDesign
    evidence: Evidence
    sample: EffectiveSample | None


class ByRows:
    """The rule of the comparison; a `factor` replaces its own factor on all variances."""

    def __init__(self, factor: float | None = None) -> None:
        self.shared = (SHARED, SHARED_BY_SCORE)
        if factor is not None:
            self.shared = ((factor - 1) / (5 * RATIO),) * 2
        self.name = self.kind = "by rows" if factor is None else f"by rows x {factor:g}"

    def contribute(
        self, metric: str, y: np.ndarray, fold: np.ndarray, predicted: np.ndarray
    ) -> Contribution:
        """`predicted` are probabilities of the second class, or numbers."""
        n, classes = len(y), METRICS[metric].needs != "numbers"
        rows, sample = {"rows": np.arange(n), "fold": fold, "labels": predicted}, None
        if classes:
            y = y.astype(int)
            rows |= {
                "labels": (predicted > 0.5).astype(int),
                "proba": np.column_stack([1 - predicted, predicted]),
            }
            sample = EffectiveSample(metric, (float((y == 0).sum()), float(y.sum())))
        design = CVDesign(
            METRICS[metric], y, np.ones(n), 2 * classes, np.arange(n), 5, RATIO,
            shared=self.shared[0], shared_by_score=self.shared[1],
        )  # fmt: skip
        found = model_evidence(design, rows)
        assert found is not None  # every fold has both classes
        return Contribution(design, found, sample)

    def score(self, one: Contribution) -> float:
        return one.evidence.score

    def interval(self, one: Contribution) -> tuple[float, float]:
        return score_interval(one.design, one.evidence, one.sample)

    def p(self, one: Contribution, other: Contribution) -> float:
        return difference(one.design, one.evidence, other.evidence).p


def best_of(rule: Rule, metric: str, board: Mapping[str, Any]) -> str:
    """The model with the best score."""
    return max(board, key=lambda name: SIGN[metric] * rule.score(board[name]))


def worse(rule: Rule, metric: str, board: Mapping[str, Any]) -> set[str]:
    """The models that are significantly worse than the best, after Holm's correction."""
    best = best_of(rule, metric, board)
    others = [name for name in board if name != best]
    p = holm([rule.p(board[best], board[name]) for name in others])
    return {name for name, value in zip(others, p) if value < 1 - LEVEL}


def beats_baseline(rule: Rule, metric: str, board: Mapping[str, Any], baseline: Any) -> bool:
    """Whether some model beats the baseline, by the verdict of the comparison."""
    known = {**board, BASELINE: baseline}
    if not isinstance(rule, ByRows):  # the previous rule tested only the best model
        best = known[best_of(rule, metric, board)]
        better = SIGN[metric] * (rule.score(best) - rule.score(baseline)) > 0
        return better and rule.p(best, baseline) < 1 - LEVEL
    scores = {name: SIGN[metric] * rule.score(one) for name, one in known.items()}
    alpha = baseline_alpha(METRICS[metric])
    made = Board(scores, lambda one, other: rule.p(known[one], known[other]), BASELINE, alpha=alpha)
    return judge(made, dict.fromkeys(known, 1), {}).beats_baseline


BEFORE = ByFolds()
NOW: Rule = ByRows()
