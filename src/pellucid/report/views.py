"""Shared by the views of the report: the level of detail, sortable cells, shades of shares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pellucid.draw.number import number
from pellucid.report import wording


@dataclass(frozen=True)
class Detail:
    """How much the report shows; `html` reduces it step by step for a large report."""

    tables: str = "all"  # data tables below charts: of "all" models, the "recommended" one, "none"
    cards: str = "all"  # "all" models, the "good" ones (as good as the best), "recommended", "none"
    columns: int = 24  # charts of columns
    rows: int = 100  # rows per group
    searchable: int = 5000  # rows that the search covers
    regions: bool = True
    # Bands of curves, and all charts of partial dependence: for "all" models, or the "recommended" one.
    extras: str = "all"
    note: str = ""  # what was left out, for the reader

    def tables_of(self, row: dict[str, Any]) -> bool:
        return self.tables == "all" or (self.tables == "recommended" and row["recommended"])

    def shows(self, row: dict[str, Any]) -> bool:
        if self.cards in ("all", "none"):
            return self.cards == "all"
        if row["recommended"]:
            return True
        return self.cards == "good" and bool(row.get("as_good"))


def chosen_first(summary: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of the leaderboard, the recommended model first."""
    return sorted(summary["leaderboard"], key=lambda row: not row["recommended"])


def name_of(summary: dict[str, Any], model: str | None) -> str:
    """Title and id of a model of the leaderboard, for a sentence."""
    row = next(row for row in summary["leaderboard"] if row["model"] == model)
    return wording.model_name(row)


def id_beside_title(row: dict[str, Any]) -> str:
    """A model's id, to be typed; empty where it is the title."""
    return "" if row["title"] == row["model"] else row["model"]


def target_value(value: Any) -> str:
    """A class label, or a number with four digits."""
    return number(value, 4) if isinstance(value, float) else str(value)


def cell(text: Any, value: Any = None) -> dict[str, Any]:
    """A cell of a sortable table: the text shown, and the value to sort by."""
    return {"text": text, "value": text if value is None else value}


def shade(share: float | None) -> str:
    return "" if share is None else f"s{min(9, int(share * 10))}"
