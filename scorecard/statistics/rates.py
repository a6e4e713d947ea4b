"""Stage 2, the counting: what rules conclude from the stored predictions of a cell, and how often
that is wrong. Every rate has its Monte Carlo standard error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from scorecard.statistics import rules, store
from scorecard.statistics.by_folds import LEVEL
from scorecard.statistics.cells import EQUAL, Cell
from scorecard.statistics.rules import Rule
from scorecard.statistics.store import Table
from scorecard.statistics.truth import SIGN, metrics_of

COMPARISONS = 16  # of the best with each other one of 17 models


@dataclass(frozen=True)
class Rate:
    """A share in `count` tables, with its Monte Carlo standard error, which is never 0."""

    share: float
    count: int

    @property
    def error(self) -> float:
        share = (self.share * self.count + 1) / (self.count + 2)
        return float(np.sqrt(share * (1 - share) / self.count))


def rate(cases: Any) -> Rate:
    """Of true cases; more than one case of a table are not independent and count as one."""
    found = np.asarray(cases, dtype=float)
    return Rate(float(found.mean()), len(found))


@dataclass
class Pairs:
    """What one rule says of one metric, table by table, in a cell of pairs."""

    cell: Cell
    metric: str
    rule: str
    p: dict[str, list[float]] = field(default_factory=dict)  # of A and another model
    better: dict[str, list[bool]] = field(default_factory=dict)  # whether A scores higher
    score: list[list[float]] = field(default_factory=list)  # of A and B
    low: list[list[float]] = field(default_factory=list)
    high: list[list[float]] = field(default_factory=list)
    true: list[np.ndarray] = field(default_factory=list)  # of A and B: the mean over folds

    def add(self, rule: Rule, told: dict[str, Any], true: list[float]) -> None:
        """One more table."""
        for model in told.keys() - {"A"}:
            self.p.setdefault(model, []).append(rule.p(told["A"], told[model]))
            gain = SIGN[self.metric] * (rule.score(told["A"]) - rule.score(told[model]))
            self.better.setdefault(model, []).append(gain > 0)
        ends = [rule.interval(told[model]) for model in "AB"]
        self.low.append([low for low, _ in ends])
        self.high.append([high for _, high in ends])
        self.score.append([rule.score(told[model]) for model in "AB"])
        self.true.append(np.array(true))

    def alarms(self, other: str = "B") -> Rate:
        """How often A is told from a model that is as good."""
        return rate(np.array(self.p[other]) < 1 - LEVEL)

    def power(self, other: str, comparisons: int = 1) -> Rate | None:
        """How often A is told from a weaker model; with many comparisons, at Holm's strictest step."""
        if other not in self.p:
            return None
        told = np.array(self.p[other]) * comparisons < 1 - LEVEL
        return rate(told & np.array(self.better[other]))

    def coverage(self, conditional: bool = False) -> Rate:
        """Of the expected score of models fitted to so many rows, or of those of this very table."""
        true = np.array(self.true)
        true = true if conditional else np.full_like(true, true.mean())
        return rate((np.array(self.low) <= true) & (true <= np.array(self.high)))

    @property
    def bias(self) -> float:
        """Of the mean score, in standard deviations of the score between tables."""
        score = np.array(self.score)
        return float((score.mean() - np.array(self.true).mean()) / score.std())


def judge_pairs(cache: Path, cell: Cell, asked: Sequence[Rule]) -> list[Pairs]:
    """By metric and rule. Log loss says nothing of 1-NN, whose probabilities are 0 and 1."""
    metrics = metrics_of(cell.data)
    found = {
        (metric, rule.name): Pairs(cell, metric, rule.name)
        for metric in metrics
        for rule in asked
        if (metric, cell.learner) != ("log_loss", "1-NN")
    }
    for table in store.read(cache, cell):
        for metric in dict.fromkeys(metric for metric, _ in found):
            true = [float(table.true[m][:, metrics.index(metric)].mean()) for m in "AB"]
            told = _contributions(cell, table, metric, asked)
            for rule in asked:
                found[metric, rule.name].add(rule, told[rule.kind], true)
    return list(found.values())


def _contributions(
    cell: Cell, table: Table, metric: str, asked: Sequence[Rule]
) -> dict[str, dict[str, Any]]:
    """{kind of rule: {model: contribution}}."""
    kinds = {rule.kind: rule for rule in asked}
    return {
        kind: {
            model: rule.contribute(metric, table.y, table.fold, told)
            for model, told in table.told.items()
        }
        for kind, rule in kinds.items()
    }


@dataclass(frozen=True)
class Boards:
    """What one rule says of one metric in tables of 17 models."""

    cell: Cell
    metric: str
    rule: str
    weak_told: Rate  # the weaker linear model is told from the best
    trees_told: Rate  # so is each of the trees
    equal_told: Rate  # some model is told from the best that is as good: an error


def judge_boards(cache: Path, cell: Cell, asked: Sequence[Rule]) -> list[Boards]:
    """After Holm's correction for the comparisons of a whole board."""
    metrics = metrics_of(cell.data)
    worse: dict[tuple[str, str], list[set[str]]] = {}
    for table in store.read(cache, cell):
        for metric in metrics:
            told = _contributions(cell, table, metric, asked)
            for rule in asked:
                found = rules.worse(rule, metric, told[rule.kind])
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


def judge_noise(cache: Path, cell: Cell, asked: Sequence[Rule]) -> list[Noise]:
    """The baseline is recommended unless the best model beats it."""
    kept: dict[tuple[str, str], list[bool]] = {}
    for table in store.read(cache, cell):
        told = table.told | {"baseline": baseline(table)}
        whole = Table(table.y, table.fold, told, {})
        for metric in metrics_of(cell.data):
            made = _contributions(cell, whole, metric, asked)
            for rule in asked:
                board = dict(made[rule.kind])
                nothing = board.pop("baseline")
                beaten = rules.beats_baseline(rule, metric, board, nothing)
                kept.setdefault((metric, rule.name), []).append(not beaten)
    return [Noise(cell, metric, rule, rate(tables)) for (metric, rule), tables in kept.items()]


def baseline(table: Table) -> np.ndarray:
    """What the mean, or the shares of the classes, of the training rows of each fold says."""
    y, out = table.y, np.empty(len(table.y))
    for f in np.unique(table.fold):
        test = table.fold == f
        out[test] = y[~test].mean()
    return out
