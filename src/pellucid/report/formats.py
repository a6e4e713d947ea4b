"""The result of a comparison in the format of `--format`."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from typing import Any

from pellucid.comparison.execution.journal import dump
from pellucid.comparison.result import board_columns, to_json
from pellucid.report import markdown, terminal
from pellucid.report.screen import PIPED

Render = Callable[[dict[str, Any], dict[str, Any]], str]


def as_json(data: dict[str, Any], timings: dict[str, Any]) -> str:
    """The content of results.json."""
    return to_json(data)


def as_lines(data: dict[str, Any], timings: dict[str, Any]) -> str:
    """One JSON object per model."""
    return "".join(dump(row) + "\n" for row in data["leaderboard"])


def as_csv(data: dict[str, Any], timings: dict[str, Any]) -> str:
    """The content of leaderboard.csv."""
    columns = board_columns(data)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*columns.values()):
        writer.writerow(["" if cell is None else _cell(cell) for cell in row])
    return text.getvalue()


def _cell(cell: Any) -> Any:
    return json.dumps(cell) if isinstance(cell, bool) else cell


FORMATS: dict[str, Render] = {
    "json": as_json,
    "jsonl": as_lines,
    "csv": as_csv,
    "md": markdown.board,
}


def render(name: str, data: dict[str, Any], timings: dict[str, Any], width: int = PIPED) -> str:
    """The result in a format; `width` matters for "text" only."""
    if name == "text":
        return terminal.board(data, timings, width)
    return FORMATS[name](data, timings)
