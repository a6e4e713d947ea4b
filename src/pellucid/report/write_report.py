"""A comparison as a file: HTML, Markdown or JSON by the ending of its name; and its card."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pellucid.comparison.execution.run_folder import write_whole
from pellucid.errors import ParameterError
from pellucid.report import markdown, terminal
from pellucid.report.privacy import without_rows
from pellucid.report.screen import width
from pellucid.report.summary import summarise


def write_report(result: Any, path: Path, rows: bool = True) -> Path:
    """Summarise a result and write its report."""
    return write_summary(summarise(result, rows=rows), path, rows)


def write_summary(summary: dict[str, Any], path: Path, rows: bool = True) -> Path:
    """Write the report of a summary, whole or not at all; `rows=False` strips single rows."""
    ending = path.suffix.lower()
    if ending not in (".html", ".htm", ".md", ".json"):
        raise ParameterError(f"a report ends in .html, .md or .json, not {ending or path.name!r}.")
    if not rows:
        summary = without_rows(summary)
    if ending == ".md":
        text = markdown.board(summary, summary["timings"])
    elif ending == ".json":
        text = json.dumps(summary, ensure_ascii=False, indent=1) + "\n"
    else:
        from pellucid.report.html import render

        text = render(summary)
    write_whole(path, text)
    return path


def board(result: Any) -> str:
    """The leaderboard and what it says, as the terminal shows it."""
    return terminal.board(result.data, result.timings, width()).rstrip()


def card(result: Any) -> str:
    """The answer, the test score, the warnings and the board for a notebook."""
    from pellucid.report.notebook_card import card

    return card(result.data, result.timings)
