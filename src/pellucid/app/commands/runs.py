"""`pellucid runs`: list the runs in a folder, newest last."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import click

from pellucid.app.messages import as_json_text, format_options, message_options


@click.command()
@click.argument("folder", default="runs")
@format_options("text", "json", "jsonl")
@message_options
@click.pass_obj
def runs(messages: Any, folder: str, format_: str) -> None:
    """List the runs in FOLDER (default: runs), newest last.

    A narrow terminal shows fewer columns. Pipes and JSON have all of them.
    """
    from pellucid.comparison.execution.run_folder import runs as found
    from pellucid.errors import DataError
    from pellucid.report.screen import terminal_width

    if folder != "runs" and not Path(folder).is_dir():
        raise DataError(f"folder {folder} does not exist.")
    entries = [facts(path) for path in found(Path(folder))]
    if format_ == "json":
        click.echo(as_json_text(entries, indent=1))
    elif format_ == "jsonl":
        for entry in entries:
            click.echo(as_json_text(entry))
    elif not entries:
        messages.note(f"no runs in {folder}: start one with 'pellucid compare DATA'")
    else:
        messages.show("\n".join(listed(entries, terminal_width(sys.stdout))) + "\n")


def listed(entries: list[dict[str, Any]], width: int | None) -> list[str]:
    """The runs as a table; a narrow terminal has fewer columns, but always the full names."""
    from pellucid.draw.label_text import clean
    from pellucid.report.screen import grid
    from pellucid.report.wording import score

    columns = [
        "run", "date", "took", "data", "target", "state", "models", "recommended", "metric", "mean",
    ]  # fmt: skip
    rows = []
    for entry in entries:
        texts = entry | {"took": duration(entry["seconds"])}
        texts["date"] = (entry["date"] or "")[:16].replace("T", " ")
        if entry["mean"] is not None:
            texts["mean"] = score(entry["mean"], entry["metric"], 4)
        rows.append(["" if texts[c] is None else clean(texts[c]) for c in columns])
    wraps, drops = ["state", "target", "data"], ["models", "data", "target", "state", "metric"]
    right = ["took", "models", "mean"]
    return grid(columns, rows, width, wraps, [*drops, "recommended", "mean", "took", "date"], right)


def duration(seconds: float | None) -> str:
    """`12 s`, `3 min 04 s`, `1 h 05 min`."""
    if seconds is None:
        return ""
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def began(path: Path, seconds: float | None) -> str | None:
    """When a run began, from the times of its files."""
    for name, spent in (("config.toml", 0.0), ("results.json", seconds), ("events.jsonl", 0.0)):
        if spent is not None and (path / name).is_file():
            clock = time.localtime((path / name).stat().st_mtime - spent)
            return time.strftime("%Y-%m-%dT%H:%M:%S", clock)
    return None


def facts(path: Path) -> dict[str, Any]:
    """The facts of one run; what is not known yet is None."""
    entry: dict[str, Any] = dict.fromkeys(
        ("data", "target", "models", "recommended", "metric", "mean")
    )
    data, timings = read(path / "results.json"), read(path / "timings.json")
    seconds = (timings or {}).get("total")
    entry |= {"run": path.name, "date": began(path, seconds), "seconds": seconds}
    if data is None:
        return entry | {"state": "unfinished"}
    best: dict[str, Any] = next((row for row in data["leaderboard"] if row["recommended"]), {})
    return entry | {
        "data": data["data"]["name"],
        "target": data["data"]["target"],
        "state": "complete" if data["complete"] else f"stopped ({data['stopped']})",
        "models": len(data["leaderboard"]),
        "recommended": data["recommended"],
        "metric": data["plan"]["metric"],
        "mean": best.get("mean"),
    }


def read(path: Path) -> dict[str, Any] | None:
    """The content of a JSON file; None if it is missing or incomplete."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
