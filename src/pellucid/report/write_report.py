"""Reports as files (HTML, Markdown or JSON, by the file extension), as text, and as a notebook card."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from shlex import quote
from typing import Any

from pellucid.comparison.execution.journal import dump
from pellucid.comparison.execution.run_folder import REPLAY
from pellucid.comparison.result import SCHEMA, board_columns, to_json
from pellucid.data.io.whole_file import write_whole
from pellucid.errors import DataError, ParameterError
from pellucid.report import markdown, terminal
from pellucid.report.privacy import without_rows
from pellucid.report.screen import width
from pellucid.report.summary import summarise


def read_run(folder: Path, name: str) -> dict[str, Any]:
    """results.json or summary.json of a run; an error if the run is unfinished or another version
    of Pellucid wrote it.
    """
    path, resume = folder / name, f"pellucid compare --resume --out {quote(str(folder))}"
    if not path.exists():
        raise DataError(f"{folder} is unfinished: it has no {name}. Resume it: {resume}")
    found = json.loads(path.read_text(encoding="utf-8"))
    if found.get("schema") != SCHEMA:
        raise DataError(
            f"{path} has schema {found.get('schema')}, but this version of Pellucid reads schema "
            f"{SCHEMA}. Resume the run ({resume}) or run the comparison again."
        )
    return found


def write_report(result: Any, path: Path, rows: bool = True) -> Path:
    """Summarise a result and write its report."""
    return write_summary(summarise(result), path, rows)


def write_summary(summary: dict[str, Any], path: Path, rows: bool = True) -> Path:
    """Write the report of a summary atomically; `rows=False` removes individual rows."""
    ending = path.suffix.lower()
    if ending not in (".html", ".htm", ".md", ".json"):
        raise ParameterError(
            f"the name of a report must end in .html, .md or .json. Got {path.name!r} instead."
        )
    if not rows:
        summary = without_rows(summary)
    if ending == ".md":
        text = markdown.board(summary, summary["timings"])
    elif ending == ".json":
        text = json.dumps(summary, ensure_ascii=False, indent=1) + "\n"
    else:
        from pellucid.report.html import render

        if not path.with_name(REPLAY).is_file():
            summary = {**summary, "replay": None}
        text = render(summary)
    write_whole(path, text)
    return path


def formatted(form: str, data: dict[str, Any], timings: dict[str, Any], width: int) -> str:
    """The result in the format of `--format`; `width` matters for "text" only."""
    if form == "text":
        return terminal.board(data, timings, width)
    if form == "json":
        return to_json(data)
    if form == "jsonl":
        return "".join(dump(row) + "\n" for row in data["leaderboard"])
    return _as_csv(board_columns(data)) if form == "csv" else markdown.board(data, timings)


def _as_csv(columns: dict[str, list[Any]]) -> str:
    """The content of leaderboard.csv."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*columns.values()):
        writer.writerow([json.dumps(cell) if isinstance(cell, bool) else cell for cell in row])
    return text.getvalue()


def board(result: Any) -> str:
    """The leaderboard and the answer, as on a terminal."""
    return terminal.board(result.data, result.timings, width()).rstrip()


def card(result: Any) -> str:
    """The answer, the test score, the warnings and the leaderboard, for a notebook."""
    from pellucid.report.notebook_card import card

    return card(result.data, result.timings)
