"""`pellucid compare DATA`: the main job."""

from __future__ import annotations

from typing import Any

import click

from pellucid.app.messages import voice_options
from pellucid.app.options import config_option, setting_options


@click.command()
@click.argument("data", required=False)
@config_option
@setting_options()
@click.option(
    "-o",
    "--out",
    metavar="DIR",
    envvar="PELLUCID_OUT",
    help="Folder of the run; default: runs/DATE-NAME.",
)
@click.option("--force", is_flag=True, help="Replace the run in --out.")
@click.option(
    "--resume", is_flag=True, help="Continue the latest run, or RUN given as DATA or as --out."
)
@click.option(
    "--use",
    metavar="MODEL",
    help="With --resume: save this model of the run, whatever was recommended.",
)
@click.option("--plan", "only_plan", is_flag=True, help="Show what would be done, and stop.")
@click.option(
    "--strict", is_flag=True, envvar="PELLUCID_STRICT", help="Stop if a check finds an error."
)
@click.option(
    "--fail-under",
    type=float,
    envvar="PELLUCID_FAIL_UNDER",
    metavar="X",
    help="Exit with 1 if the recommended model scores worse than X.",
)
@click.option(
    "--format",
    "format_",
    default="text",
    envvar="PELLUCID_FORMAT",
    type=click.Choice(["text", "json", "jsonl", "csv", "md"]),
    help="Form of the result on stdout.",
)
@click.option("--open", "open_", is_flag=True, help="Open the report in the browser at the end.")
@click.option(
    "--json", "as_json", is_flag=True, envvar="PELLUCID_JSON", help="The same as --format json."
)
@click.option(
    "--no-progress", is_flag=True, envvar="PELLUCID_NO_PROGRESS", help="No progress on stderr."
)
@voice_options
@click.pass_context
def compare(ctx: click.Context, data: str | None, **given: Any) -> None:
    """Compare all suitable models on DATA (a file, '-', or the name of a built-in data set).

    Holds out a test set, cross-validates every model with a search inside the folds, shows which
    are as good as the best, recommends the simplest of them, and saves it as a safe model file.
    """
    from pellucid.app.compare_command import run_compare

    if given.pop("as_json"):
        given["format_"] = "json"
    ctx.exit(run_compare(ctx, data, given))
