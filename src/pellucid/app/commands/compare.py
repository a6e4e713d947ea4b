"""`pellucid compare DATA`: compare models and recommend one."""

from __future__ import annotations

from typing import Any

import click

from pellucid.app.messages import format_options, memory_option, message_options
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
    help="Folder for the run; default: runs/DATE-NAME.",
)
@click.option("--force", is_flag=True, help="Replace an existing run in --out.")
@click.option(
    "--resume", is_flag=True, help="Resume the latest run, or the run given as DATA or --out."
)
@click.option(
    "--use", metavar="MODEL", help="With --resume: save this model instead of the recommended one."
)
@click.option(
    "--plan", "only_plan", is_flag=True, help="Show the plan of the run without fitting anything."
)
@click.option(
    "--strict",
    is_flag=True,
    envvar="PELLUCID_STRICT",
    help="Stop with exit code 1 if a data check finds an error.",
)
@click.option(
    "--fail-under",
    type=float,
    envvar="PELLUCID_FAIL_UNDER",
    metavar="X",
    help="Exit with 1 if the score of the recommended model is worse than X.",
)
@memory_option
@format_options("text", "json", "jsonl", "csv", "md", envvar="PELLUCID_FORMAT")
@click.option("--open", "open_", is_flag=True, help="Open the report in the browser at the end.")
@click.option(
    "--no-progress", is_flag=True, envvar="PELLUCID_NO_PROGRESS", help="Show no progress on stderr."
)
@message_options
@click.pass_context
def compare(ctx: click.Context, data: str | None, **given: Any) -> None:
    """Compare all suitable models on DATA (a file, '-', or the name of a built-in data set).

    Holds out a test set, scores every model by nested cross-validation, recommends the simplest
    model that is as good as the best, scores it on the test set, and writes a report and a model file.

    If DATA does not fit into memory, the models are compared on a stratified sample, and the
    recommended one is fitted again on all rows but those of the test set.
    """
    from pellucid.app.compare_command import run_compare

    ctx.exit(run_compare(ctx, data, given))
