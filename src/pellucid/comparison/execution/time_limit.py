"""The time budget of a run with `--time-limit`: which fits may still start, and when all must end.

The limit covers everything from reading the table to the report. A part of it is reserved for the end:
the final fit of the recommended model, its test scores and the report. The rest is divided when a
model's turn comes. The models that wait have equal shares; one that needs less leaves the rest to the
others, one that needs more tries fewer candidates, and one that is too slow for the time left does not
start. The time of a fit is the time that the model took so far in this run, otherwise the estimate times
the slowdown of the other models. Without a limit nothing is cut.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil, inf
from typing import Any

from pellucid.comparison.planning import time_estimate
from pellucid.comparison.planning.plan import Contender, Plan

REPORT = (1.5, 4e-6)  # seconds of a report, and seconds per tested row of each model
MAX_RESERVED = 0.4  # maximum share of the limit that is reserved for the end
MORE_ROWS = 1.6  # time of the final fit and its test relative to a fold, with a margin
ROUND = 0.15  # seconds of overhead per round
PRIOR = 1.0  # seconds of work assumed to take the estimated time, as a prior
SLACK = 3.0  # multiple of its expected time after which the search of a round is cut short


@dataclass
class TimeBudget:
    """`began` is the start of the whole command, by `time.monotonic`."""

    plan: Plan
    jobs: int
    began: float = field(default_factory=time.monotonic)
    # (fits, seconds) of each round, by model.
    took: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    last_fit: dict[str, float] = field(default_factory=dict)  # seconds, prediction included

    def __post_init__(self) -> None:
        self.limit = self.plan.settings.time_limit
        self.each = time_estimate.fit_seconds(self.plan) if self.limit else {}

    @property
    def end(self) -> float:
        """When the run must end; infinite without a limit."""
        return inf if self.limit is None else self.began + self.limit

    @property
    def report(self) -> float:
        """Expected seconds of the report."""
        tested = sum(len(test) for _, test in self.plan.folds) * len(self.last_fit)
        return REPORT[0] + REPORT[1] * tested * self.slowdown

    @property
    def fits_end(self) -> float:
        """When the last fit of the cross-validation must end."""
        if self.limit is None:
            return inf
        return self.end - min(self.report + self.reserved, MAX_RESERVED * self.limit)

    @property
    def reserved(self) -> float:
        """Seconds reserved for the final fit: those of the slowest model that has a score."""
        folds = len(self.plan.folds)
        known = [s for m, s in self.last_fit.items() if len(self.took[m]) >= folds]
        return MORE_ROWS * max(known, default=0.0)

    @property
    def left(self) -> float:
        """Seconds left for fits."""
        return self.fits_end - time.monotonic()

    @property
    def slowdown(self) -> float:
        """Actual seconds per estimated second in this run."""
        done = [(f * self.each[m] + ROUND, s) for m, own in self.took.items() for f, s in own]
        return (PRIOR + sum(s for _, s in done)) / (PRIOR + sum(e for e, _ in done))

    def record(
        self, contender: Contender, done: dict[str, Any], fits: float, seconds: float
    ) -> None:
        """Record the time of a finished round."""
        if self.limit is None:
            return
        self.took.setdefault(contender.id, []).append((fits, seconds))
        if done.get("fit_seconds") is not None:
            last = done["fit_seconds"] + (done.get("predict_seconds") or 0.0)
            self.last_fit[contender.id] = max(last, self.last_fit.get(contender.id, 0.0))

    def round(self, contender: Contender, most: int) -> float:
        """Expected seconds of a round that tries `most` candidates."""
        fits, own = self.plan.work_of_round(contender, most), self.took.get(contender.id)
        if own:
            return fits * sum(s for _, s in own) / sum(f for f, _ in own)
        return fits * self.each[contender.id] * self.slowdown + ROUND

    def remaining_seconds(self, contender: Contender, most: int, age: float) -> float:
        """Expected seconds until a running round ends."""
        return 0.0 if self.limit is None else max(0.0, self.round(contender, most) - age)

    def affordable(
        self, contender: Contender, rounds: int, waiting: int, active: Sequence[float]
    ) -> int:
        """How many candidates each remaining round of a model can try; 0: not even one.

        `waiting` is the number of models with remaining rounds, this one included; `active` are the
        expected remaining seconds of the running rounds.
        """
        full = contender.n_planned
        if self.limit is None:
            return full
        # More time must be reserved if this model may be the slowest one to recommend.
        last = max(0.0, MORE_ROWS * self.round(contender, 1) - self.reserved)
        whole = (self.left - last) * self.jobs - sum(active)
        slots = ceil(rounds / self.jobs) * self.jobs
        for most in range(full, 0, -1):
            if slots * self.round(contender, most) <= whole / waiting:
                return most
        return 1 if slots * self.round(contender, 1) <= whole or contender.entry is None else 0

    def deadline(self, contender: Contender, most: int) -> float:
        """Seconds after which a round stops searching."""
        if self.limit is None:
            return inf
        return max(0.0, min(self.left, max(2.0, SLACK * self.round(contender, most))))
