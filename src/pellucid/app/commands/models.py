"""`pellucid models`: the models that take part in a comparison, and what is searched."""

from __future__ import annotations

import json
from typing import Any

import click

from pellucid.app.messages import voice_options


@click.command()
@click.option(
    "--task", default="all", type=click.Choice(["all", "classification", "regression"]),
    help="Only the models of one task.",
)  # fmt: skip
@click.option(
    "--effort", default="normal", type=click.Choice(["quick", "normal", "thorough"]),
    help="The search space of this effort.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, envvar="PELLUCID_JSON", help="As JSON.")
@voice_options
def models(task: str, effort: str, as_json: bool) -> None:
    """List the models: name, simplicity (0 is simplest), candidates, what is searched."""
    from pellucid.app.plan_text import searched
    from pellucid.comparison.planning.registry import entries
    from pellucid.report.screen import grid, width, wrapped

    tasks = ["classification", "regression"] if task == "all" else [task]
    facts: list[dict[str, Any]] = [
        {
            "model": entry.id,
            "task": entry.task,
            "rank": entry.rank,
            "candidates": len(entry.candidates(effort)),
            "says": entry.description,
            "space": {
                name: axis.values() if hasattr(axis, "values") else list(axis)
                for name, axis in entry.axes(effort).items()
            },
            "in_units": list(entry.in_units),
        }
        for which in tasks
        for entry in entries(which)
    ]
    if as_json:
        click.echo(json.dumps(facts, ensure_ascii=False, indent=1))
        return
    wide = width()
    for which in tasks:
        own = [f for f in facts if f["task"] == which]
        rows = [[f["model"], str(f["rank"]), str(f["candidates"]), f["says"]] for f in own]
        heads = ["model", "rank", "candidates", "what it does"]
        lines = grid(heads, rows, wide, wraps=heads[3:], right=["rank", "candidates"])
        lines = [which, *lines, "searched:"]
        for f in own:
            if f["space"]:
                found = f"{f['model']}: {searched(f['space'], f['in_units'])}"
                lines += wrapped(found, "  ", "    ", wide)
        if which == "regression":
            lines.append("* in standard deviations of the target")
        click.echo("\n".join(lines) + "\n")
