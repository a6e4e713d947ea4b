"""`pellucid report RUN`: write or open the report of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from pellucid.app.messages import file_size, message_options


@click.command()
@click.argument("run", required=False)
@click.option(
    "-o",
    "--out",
    metavar="FILE",
    help="File to write (.html, .md or .json); default: report.html in RUN.",
)
@click.option(
    "--no-rows",
    is_flag=True,
    envvar="PELLUCID_NO_ROWS",
    help="Leave out everything that shows values of the table.",
)
@click.option("--open", "open_", is_flag=True, help="Open the report in the browser.")
@message_options
@click.pass_obj
def report(messages: Any, run: str | None, out: str | None, no_rows: bool, open_: bool) -> None:
    """Write the report of RUN (default: the latest run) as one file that works offline."""
    from pellucid.comparison.execution.run_folder import find_run
    from pellucid.report.write_report import read_run, write_summary

    folder = find_run(run)
    summary = read_run(folder, "summary.json")
    path = write_summary(summary, Path(out) if out else folder / "report.html", rows=not no_rows)
    messages.note(f"wrote {path} ({file_size(path)})")
    if open_:
        click.launch(path.resolve().as_uri())
