"""Row 23 of the scorecard: the share of mutants that the tests kill, from the journal of `mutants`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from pathlib import Path

from scorecard.mutants.__main__ import GOAL, equivalents, read_journal

JOURNAL = Path(__file__).parent / "journal.jsonl"  # of the last run at size


@dataclass(frozen=True)
class Share:
    """Killed mutants among those that are not equivalent, with Wilson's 95 % interval."""

    killed: int
    total: int

    @property
    def interval(self) -> tuple[float, float]:
        n, z = max(self.total, 1), 1.959963984540054
        share = self.killed / n
        middle = (share + z * z / (2 * n)) / (1 + z * z / n)
        reach = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
        return middle - reach, middle + reach

    @property
    def kept(self) -> bool:
        return self.total > 0 and self.killed >= GOAL * self.total

    def __str__(self) -> str:
        low, high = self.interval
        share = self.killed / max(self.total, 1)
        return (
            f"{self.killed} of {self.total} mutants killed: {share:.1%} ({low:.1%} to {high:.1%})"
        )


def share_of(outcomes: Mapping[str, str]) -> Share:
    """The share over all mutants that could be built and are not listed as equivalent."""
    listed = equivalents()
    counts = Counter(word for key, word in outcomes.items() if key not in listed)
    killed = counts["killed"] + counts["hung"]
    return Share(killed, killed + counts["survived"])


def check(quick: bool, cache: str | None) -> list[Share]:
    """The figure of the stored journal."""
    return [share_of(read_journal(JOURNAL))]
