"""What the views of the report share: how much is shown, cells that sort, shades of shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Detail:
    """How much is shown; each step of the ladder in `html` gives some of it up."""

    tables: str = "all"  # data tables below the charts of: all cards, the recommended one, none
    cards: str = "all"  # all models, those as good as the best, the recommended one, or none
    columns: int = 24  # pictures of columns
    rows: int = 100  # rows per group
    searchable: int = 5000  # rows that the search knows
    regions: bool = True
    dependences: str = "all"  # of all models, or of the recommended one
    bands: str = "all"  # of the curves of all models, or of the recommended one
    said: str = ""

    def tables_of(self, model: str, best: str | None) -> bool:
        return self.tables == "all" or (self.tables == "recommended" and model == best)

    def bands_of(self, model: str, best: str | None) -> bool:
        return self.bands == "all" or model == best

    def dependences_of(self, recommended: bool) -> int:
        """How many columns are followed."""
        return 4 if recommended else 2 if self.dependences == "all" else 0

    def shows(self, row: dict[str, Any]) -> bool:
        if self.cards in ("all", "none"):
            return self.cards == "all"
        if row["recommended"]:
            return True
        return self.cards == "good" and bool(row.get("as_good"))


def best_of(summary: dict[str, Any]) -> str | None:
    """Name of the recommended model."""
    return (summary.get("verdict") or {}).get("recommended")


def chosen_first(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """The leaderboard with the recommended model in front: it is the one that readers look for."""
    return sorted(summary["leaderboard"], key=lambda row: not row["recommended"])


def cell(text: Any, value: Any = None) -> dict[str, Any]:
    """A cell of a sortable table: what is shown, and what it sorts by."""
    return {"text": text, "value": text if value is None else value}


def shade(share: float | None) -> str:
    return "" if share is None else f"s{min(9, int(share * 10))}"
