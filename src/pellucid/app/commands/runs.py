"""`pellucid runs`: the runs of a folder, newest last; reads results only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from pellucid.app.voice import voice_options

RUNS = "runs"


@click.command()
@click.argument("folder", default=RUNS)
@click.option(
    "--format", "format_", default="text", type=click.Choice(["text", "json", "jsonl"]),
    help="Form of the list.",
)  # fmt: skip
@click.option(
    "--json", "as_json", is_flag=True, envvar="PELLUCID_JSON", help="The same as --format json."
)
@voice_options
@click.pass_obj
def runs(voice: Any, folder: str, format_: str, as_json: bool) -> None:
    """List the runs in FOLDER (default: runs)."""
    from pellucid.compare.folder import runs as found
    from pellucid.draw.table import text_table
    from pellucid.errors import DataError
    from pellucid.report.words import score

    if folder != RUNS and not Path(folder).is_dir():
        raise DataError(f"there is no folder {folder}.")
    entries = [facts(path) for path in found(Path(folder))]
    if as_json or format_ == "json":
        click.echo(json.dumps(entries, ensure_ascii=False, indent=1))
        return
    if format_ == "jsonl":
        click.echo(
            "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries), nl=False
        )
        return
    if not entries:
        voice.note(f"no runs in {folder}: start one with 'pellucid compare DATA'")
        return
    columns = ["run", "data", "target", "state", "models", "recommended", "metric", "mean"]
    for entry in entries:
        if entry["mean"] is not None:
            entry["mean"] = score(entry["mean"], entry["metric"], 4)
    click.echo(text_table(columns, [[entry[c] for c in columns] for entry in entries]))


def facts(path: Path) -> dict[str, Any]:
    """One line of the list; what is not known yet is None."""
    entry: dict[str, Any] = dict.fromkeys(
        ("data", "target", "models", "recommended", "metric", "mean")
    )
    entry |= {"run": path.name, "state": "unfinished"}
    try:
        data = json.loads((path / "results.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return entry
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
