"""`pellucid models`: the models that a comparison runs, and their search spaces."""

from __future__ import annotations

from typing import Any

import click

from pellucid.app.messages import Messages, as_json_text, json_option, message_options


@click.command()
@click.option(
    "--task", default="all", type=click.Choice(["all", "classification", "regression"]),
    help="List the models of this task only.",
)  # fmt: skip
@click.option(
    "--effort", default="normal", type=click.Choice(["quick", "normal", "thorough"]),
    help="Show the search space of this effort.",
)  # fmt: skip
@json_option()
@message_options
@click.pass_obj
def models(messages: Messages, task: str, effort: str, as_json: bool) -> None:
    """List the models that a comparison runs, and the parameters it searches.

    The rank orders models by simplicity: 0 is the simplest. Candidates are the parameter settings
    that a search tries.
    """
    from pellucid.app.plan_text import searched
    from pellucid.comparison.planning.registry import entries
    from pellucid.report.screen import grid, width, wrapped

    tasks = ["classification", "regression"] if task == "all" else [task]
    facts: list[dict[str, Any]] = [
        {
            "model": entry.id,
            "title": entry.title,
            "task": entry.task,
            "rank": entry.rank,
            "candidates": len(entry.candidates(effort)),
            "says": entry.description,
            "space": entry.values(effort),
            "in_units": list(entry.in_units),
        }
        for which in tasks
        for entry in entries(which)
    ]
    if as_json:
        click.echo(as_json_text(facts, indent=1))
        return
    wide = width()
    heads = ["model", "rank", "candidates", "what it is"]
    for which in tasks:
        own = [f for f in facts if f["task"] == which]
        rows = [
            [f["model"], str(f["rank"]), str(f["candidates"]), f"{f['title']}: {f['says']}"]
            for f in own
        ]
        lines = grid(heads, rows, wide, wraps=heads[3:], right=["rank", "candidates"])
        lines = [which, *lines, "", "searched:"]
        for f in own:
            if f["space"]:
                space = f"{f['model']}: {searched(f['space'], f['in_units'])}"
                lines += wrapped(space, "  ", "    ", wide)
        if which == "regression":
            lines.append("* in units of the target's standard deviation")
        messages.show("\n".join(lines) + "\n\n")
