"""The promises about the comparison's statistics, and the figures that break them.

A figure breaks its promise if it is beyond the limit by more than `slack` Monte Carlo errors.

false alarms   at most 5 % of equally good pairs differ significantly
coverage       93 to 98 % of the 95 % intervals cover the true score of the fitted models
power          after Holm over 17 models, at least 3 times that of the rule by folds, where that rule
               finds less than a third of the differences
boards         on at most 5 % of boards an equally good model is significantly worse than the best
noise          in at least 90 % of the tables without signal, the baseline is recommended
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from scorecard.statistics.rates import COMPARISONS, Boards, Noise, Pairs, Rate

ALARMS = 0.05
COVERAGE = (0.93, 0.98)
TIMES, FEW = 3, 0.33
BASELINE = 0.90


@dataclass(frozen=True)
class Figure:
    """One promise in one cell: the figure, what it is compared with, and whether it is kept."""

    where: str
    promise: str
    found: Rate
    limit: str
    kept: bool

    def __str__(self) -> str:
        share, error = 100 * self.found.share, 100 * self.found.error
        return f"{self.where}: {self.promise} {share:.1f} % (+- {error:.1f}), limit {self.limit}"


def of_pairs(now: Pairs, before: Pairs, slack: float) -> Iterator[Figure]:
    """The promises that a cell of pairs can break."""
    where = f"n = {now.cell.n}, {now.cell.data}, {now.cell.learner}, {now.metric}"
    yield _at_most(where, "false alarms", now.alarms(), ALARMS, slack)
    covered = now.coverage(conditional=True)
    far = max(COVERAGE[0] - covered.share, covered.share - COVERAGE[1])
    limit = f"{100 * COVERAGE[0]:g}-{100 * COVERAGE[1]:g} %"
    yield Figure(where, "coverage", covered, limit, far <= slack * covered.error)
    for other in ("weak", "weaker"):
        power, old = now.power(other, COMPARISONS), before.power(other, COMPARISONS)
        if power is None or old is None or old.share >= FEW:
            continue
        error = float(np.hypot(power.error, TIMES * old.error))
        kept = power.share >= TIMES * old.share - slack * error
        limit = f"{TIMES} x {100 * old.share:.1f} % by folds"
        yield Figure(where, f"power ({other}, after Holm)", power, limit, kept)


def of_boards(now: Boards, before: Boards, slack: float) -> Iterator[Figure]:
    """No model that is as good as the best is significantly worse."""
    where = f"n = {now.cell.n}, {now.cell.data}, 17 models, {now.metric}"
    yield _at_most(where, "boards with a false alarm", now.false_alarms, ALARMS, slack)


def of_noise(now: Noise, before: Noise, slack: float) -> Iterator[Figure]:
    """Where there is nothing to learn, the baseline is recommended.

    There is no promise for F1: the baseline has 0, so a model that ever predicts the positive
    class beats it.
    """
    if now.metric == "f1":
        return
    where = f"n = {now.cell.n}, noise, {now.cell.data}, {now.metric}"
    kept = now.baseline.share >= BASELINE - slack * now.baseline.error
    limit = f"at least {100 * BASELINE:g} %"
    yield Figure(where, "baseline recommended", now.baseline, limit, kept)


def _at_most(where: str, promise: str, found: Rate, most: float, slack: float) -> Figure:
    kept = found.share <= most + slack * found.error
    return Figure(where, promise, found, f"at most {100 * most:g} %", kept)
