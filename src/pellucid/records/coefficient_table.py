"""The table that `summary()` returns: facts, one line per coefficient, notes.

Invariant: cells keep their full precision; only text and HTML are rounded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any

from pellucid.records.fields import require, store, store_strings
from pellucid.records.frames import frame

Cell = str | int | float | bool | None


@dataclass(frozen=True, repr=False)
class SummaryTable:
    """A titled table with facts above and notes below.

    Parameters
    ----------
    title : one line.
    header : facts about the fit, key -> value (a mapping, or pairs).
    columns : names of the columns, all different.
    rows : one sequence of cells per line; the first cell names it. None is an empty cell.
    notes : sentences below the table: columns left out, what was imputed, what to beware of.

    Examples
    --------
    >>> table = SummaryTable("OLS", {"rows": 3}, ["term", "coef"], [["x", 0.5], ["z", -12.25]])
    >>> print(table)
    OLS
    rows  3
    <BLANKLINE>
    term    coef
    ----  ------
    x       0.50
    z     -12.25
    """

    title: str
    header: tuple[tuple[str, Cell], ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        require(isinstance(self.title, str), self, "title", "a string")
        given: Any = self.header
        pairs = tuple(tuple(p) for p in (given.items() if isinstance(given, Mapping) else given))
        correct = all(len(p) == 2 and isinstance(p[0], str) and _is_cell(p[1]) for p in pairs)
        require(correct, self, "header", "pairs of a string and a plain value")
        store(self, "header", pairs)
        columns = store_strings(self, "columns", self.columns)
        require(len(set(columns)) == len(columns), self, "columns", "different names")
        rows = tuple(tuple(row) for row in self.rows)
        wide = all(len(row) == len(columns) and all(map(_is_cell, row)) for row in rows)
        require(wide, self, "rows", f"sequences of {len(columns)} plain values")
        store(self, "rows", rows)
        store_strings(self, "notes", self.notes)

    def frame(self, backend: str | None = None) -> Any:
        """The lines, without rounding: a dict of lists, or of "pandas", "polars", "arrow"."""
        columns = {name: [row[j] for row in self.rows] for j, name in enumerate(self.columns)}
        return frame(columns, backend)

    def text(self, width: int = 96) -> str:
        """The table for a terminal of `width` columns."""
        from pellucid.draw import text_table

        return text_table(
            self.columns,
            self.rows,
            title=self.title,
            facts=dict(self.header),
            notes=self.notes,
            width=width,
        )

    def html(self, style: bool = True) -> str:
        """The table for a page."""
        from pellucid.draw import html_table

        return html_table(
            self.columns,
            self.rows,
            title=self.title,
            facts=dict(self.header),
            notes=self.notes,
            style=style,
        )

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return self.html()


def _is_cell(value: object) -> bool:
    return value is None or isinstance(value, (str, Real)) or type(value).__name__ == "bool"
