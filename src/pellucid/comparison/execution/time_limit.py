"""The time of a run that has a limit (`--time-limit`): what may still be begun, and when fits must end.

The limit holds for everything from reading the table to the report. So a part of it is kept for the
end: the fit of the recommended model on all training rows, its test scores, the report. What remains
is shared out when a model's turn comes: the models that wait get equal shares, one that needs less
leaves the rest to the others, one that needs more tries fewer candidates, and one whose fits alone
do not fit into what is left is not begun. Seconds of a fit are those its model took in this run, else
the estimate times how much slower than estimated the others were. Without a limit nothing is cut.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil, inf
from typing import Any

from pellucid.comparison.planning import time_estimate
from pellucid.comparison.planning.plan import Contender, Plan

REPORT = (1.5, 4e-6)  # seconds of a report, and those for each tested row of each model
MAX_KEPT = 0.4  # share of the limit that is kept for the end, at most
MORE_ROWS = 1.6  # a fit on all training rows and its test, in fits of a fold, with some room
ROUND = 0.15  # seconds of a round beside its fits
PRIOR = 1.0  # seconds of work that are believed to take what is estimated
SLACK = 3.0  # a round may take so many times what is expected before its search is cut short


@dataclass
class TimeBudget:
    """`began` is when the whole command began, by `time.monotonic`."""

    plan: Plan
    jobs: int
    began: float = field(default_factory=time.monotonic)
    took: dict[str, list[tuple[int, float]]] = field(default_factory=dict)  # fits, seconds
    last_fit: dict[str, float] = field(default_factory=dict)  # with its prediction

    def __post_init__(self) -> None:
        self.limit = self.plan.settings.time_limit
        self.each = time_estimate.fit_seconds(self.plan) if self.limit else {}

    @property
    def end(self) -> float:
        """When all must be over; never without a limit."""
        return inf if self.limit is None else self.began + self.limit

    @property
    def report(self) -> float:
        """Seconds that the report will take."""
        tested = sum(len(test) for _, test in self.plan.folds) * len(self.last_fit)
        return REPORT[0] + REPORT[1] * tested * self.slowdown

    @property
    def fits_end(self) -> float:
        """When the last fit of a comparison must have ended."""
        if self.limit is None:
            return inf
        return self.end - min(self.report + self.kept, MAX_KEPT * self.limit)

    @property
    def kept(self) -> float:
        """Seconds for the fit of the recommended model: whichever of those with a score it is."""
        folds = len(self.plan.folds)
        known = [s for m, s in self.last_fit.items() if len(self.took[m]) >= folds]
        return MORE_ROWS * max(known, default=0.0)

    @property
    def left(self) -> float:
        """Seconds for fits."""
        return self.fits_end - time.monotonic()

    @property
    def slowdown(self) -> float:
        """How many seconds one estimated second takes here and now."""
        done = [(f * self.each[m] + ROUND, s) for m, own in self.took.items() for f, s in own]
        return (PRIOR + sum(s for _, s in done)) / (PRIOR + sum(e for e, _ in done))

    def note(self, contender: Contender, record: dict[str, Any], fits: int, seconds: float) -> None:
        """A round has ended."""
        if self.limit is None:
            return
        self.took.setdefault(contender.id, []).append((fits, seconds))
        if record.get("fit_seconds") is not None:
            last = record["fit_seconds"] + (record.get("predict_seconds") or 0.0)
            self.last_fit[contender.id] = max(last, self.last_fit.get(contender.id, 0.0))

    def round(self, contender: Contender, most: int) -> float:
        """Seconds of one round that tries so many candidates."""
        fits, own = fits_of(self.plan, most), self.took.get(contender.id)
        if own:
            return fits * sum(s for _, s in own) / sum(f for f, _ in own)
        return fits * self.each[contender.id] * self.slowdown + ROUND

    def remaining_seconds(self, contender: Contender, most: int, age: float) -> float:
        """Seconds that a round under way will still take."""
        return 0.0 if self.limit is None else max(0.0, self.round(contender, most) - age)

    def affordable(
        self, contender: Contender, rounds: int, waiting: int, active: Sequence[float]
    ) -> int:
        """How many candidates each of a model's rounds to come can try; 0: not even one.

        `waiting` models have rounds to come, this one among them; `active` are the seconds that
        rounds under way will still take.
        """
        full = contender.n_planned
        if self.limit is None:
            return full
        last = max(0.0, MORE_ROWS * self.round(contender, 1) - self.kept)  # it may be the best
        whole = (self.left - last) * self.jobs - sum(active)
        slots = ceil(rounds / self.jobs) * self.jobs
        for most in range(full, 0, -1):
            if slots * self.round(contender, most) <= whole / waiting:
                return most
        return 1 if slots * self.round(contender, 1) <= whole or contender.entry is None else 0

    def deadline(self, contender: Contender, most: int) -> float:
        """Seconds after which a round searches no further."""
        if self.limit is None:
            return inf
        return max(0.0, min(self.left, max(2.0, SLACK * self.round(contender, most))))


def fits_of(plan: Plan, most: int) -> int:
    """Fits of a round that tries so many candidates."""
    return most * plan.inner + 1 if most > 1 else 1
