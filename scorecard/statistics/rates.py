"""Stage 2: what the rules conclude from the stored predictions of a cell, and how often that is wrong.

Every rate has a Monte Carlo standard error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pellucid.comparison.analysis.statistics import LEVEL
from scorecard.statistics import rules, store
from scorecard.statistics.cells import EQUAL, Cell
from scorecard.statistics.rules import Rule
from scorecard.statistics.store import Table
from scorecard.statistics.truth import SIGN, metrics_of

COMPARISONS = 16  # of the best with each other one of 17 models


@dataclass(frozen=True)
class Rate:
    """A share of `count` tables, with its Monte Carlo standard error, which is never 0."""

    share: float
    count: int

    @property
    def error(self) -> float:
        share = (self.share * self.count + 1) / (self.count + 2)
        return float(np.sqrt(share * (1 - share) / self.count))


def rate(cases: Any) -> Rate:
    """The share of true cases; several cases of one table are not independent and count as one."""
    found = np.asarray(cases, dtype=float)
    return Rate(float(found.mean()), len(found))


@dataclass
class Pairs:
    """The conclusions of one rule for one metric, by table, in a cell of pairs."""

    cell: Cell
    metric: str
    rule: str
    p: dict[str, list[float]] = field(default_factory=dict)  # of A and another model
    better: dict[str, list[bool]] = field(default_factory=dict)  # whether A scores higher
    score: list[list[float]] = field(default_factory=list)  # of A and B
    low: list[list[float]] = field(default_factory=list)
    high: list[list[float]] = field(default_factory=list)
    true: list[np.ndarray] = field(default_factory=list)  # of A and B: the mean over folds

    def add(self, rule: Rule, contributions: dict[str, Any], true: list[float]) -> None:
        """One more table."""
        for model in contributions.keys() - {"A"}:
            self.p.setdefault(model, []).append(rule.p(contributions["A"], contributions[model]))
            gain = SIGN[self.metric] * (
                rule.score(contributions["A"]) - rule.score(contributions[model])
            )
            self.better.setdefault(model, []).append(gain > 0)
        ends = [rule.interval(contributions[model]) for model in "AB"]
        self.low.append([low for low, _ in ends])
        self.high.append([high for _, high in ends])
        self.score.append([rule.score(contributions[model]) for model in "AB"])
        self.true.append(np.array(true))

    def alarms(self, other: str = "B") -> Rate:
        """How often A differs significantly from an equally good model."""
        return rate(np.array(self.p[other]) < 1 - LEVEL)

    def power(self, other: str, comparisons: int = 1) -> Rate | None:
        """How often A is significantly better than a weaker model; at Holm's strictest step."""
        if other not in self.p:
            return None
        significant = np.array(self.p[other]) * comparisons < 1 - LEVEL
        return rate(significant & np.array(self.better[other]))

    def coverage(self, conditional: bool = False) -> Rate:
        """How often the interval covers the expected score of models fitted to tables of this size.

        `conditional`: the true score of the models fitted to this table instead.
        """
        true = np.array(self.true)
        true = true if conditional else np.full_like(true, true.mean())
        return rate((np.array(self.low) <= true) & (true <= np.array(self.high)))

    @property
    def bias(self) -> float:
        """Bias of the mean score, in standard deviations of the score between tables."""
        score = np.array(self.score)
        return float((score.mean() - np.array(self.true).mean()) / score.std())


def judge_pairs(cache: Path, cell: Cell, judged: Sequence[Rule]) -> list[Pairs]:
    """By metric and rule; without the log loss of 1-NN, whose probabilities are 0 and 1."""
    metrics = metrics_of(cell.data)
    found = {
        (metric, rule.name): Pairs(cell, metric, rule.name)
        for metric in metrics
        for rule in judged
        if (metric, cell.learner) != ("log_loss", "1-NN")
    }
    for table in store.read(cache, cell):
        for metric in dict.fromkeys(metric for metric, _ in found):
            true = [float(table.true[m][:, metrics.index(metric)].mean()) for m in "AB"]
            contributions = _contributions(cell, table, metric, judged)
            for rule in judged:
                found[metric, rule.name].add(rule, contributions[rule.kind], true)
    return list(found.values())


def _contributions(
    cell: Cell, table: Table, metric: str, judged: Sequence[Rule]
) -> dict[str, dict[str, Any]]:
    """{kind of rule: {model: contribution}}."""
    kinds = {rule.kind: rule for rule in judged}
    return {
        kind: {
            model: rule.contribute(metric, table.y, table.fold, predicted)
            for model, predicted in table.predicted.items()
        }
        for kind, rule in kinds.items()
    }


@dataclass(frozen=True)
class Boards:
    """The conclusions of one rule for one metric in tables of 17 models."""

    cell: Cell
    metric: str
    rule: str
    weak_found: Rate  # the weaker linear model is significantly worse than the best
    trees_found: Rate  # so is each of the trees
    false_alarms: Rate  # some equally good model is significantly worse: an error


def judge_boards(cache: Path, cell: Cell, judged: Sequence[Rule]) -> list[Boards]:
    """After Holm's correction for the comparisons of a whole board."""
    metrics = metrics_of(cell.data)
    worse: dict[tuple[str, str], list[set[str]]] = {}
    for table in store.read(cache, cell):
        for metric in metrics:
            contributions = _contributions(cell, table, metric, judged)
            for rule in judged:
                found = rules.worse(rule, metric, contributions[rule.kind])
                worse.setdefault((metric, rule.name), []).append(found)
    equal = {f"equal{k}" for k in range(EQUAL)}
    trees = [model for model in cell.models if model.startswith("tree")]
    return [
        Boards(
            cell, metric, rule,
            rate(["weak" in found for found in tables]),
            rate([[tree in found for tree in trees] for found in tables]),
            rate([bool(found & equal) for found in tables]),
        )
        for (metric, rule), tables in worse.items()
    ]  # fmt: skip


@dataclass(frozen=True)
class Noise:
    """How often one rule recommends the baseline where there is nothing to learn."""

    cell: Cell
    metric: str
    rule: str
    baseline: Rate


def judge_noise(cache: Path, cell: Cell, judged: Sequence[Rule]) -> list[Noise]:
    """The baseline is recommended unless the best model beats it."""
    kept: dict[tuple[str, str], list[bool]] = {}
    for table in store.read(cache, cell):
        predicted = table.predicted | {"baseline": baseline(table)}
        whole = Table(table.y, table.fold, predicted, {})
        for metric in metrics_of(cell.data):
            made = _contributions(cell, whole, metric, judged)
            for rule in judged:
                board = dict(made[rule.kind])
                nothing = board.pop("baseline")
                beaten = rules.beats_baseline(rule, metric, board, nothing)
                kept.setdefault((metric, rule.name), []).append(not beaten)
    return [Noise(cell, metric, rule, rate(tables)) for (metric, rule), tables in kept.items()]


def baseline(table: Table) -> np.ndarray:
    """Predictions of the baseline: the mean, or class share, of the training rows of each fold."""
    y, out = table.y, np.empty(len(table.y))
    for f in np.unique(table.fold):
        test = table.fold == f
        out[test] = y[~test].mean()
    return out
