"""`pellucid check DATA`: run the data checks without training."""

from __future__ import annotations

from typing import Any

import click

from pellucid.app.arguments import refuse_model
from pellucid.app.messages import as_json_text, format_options, memory_option, message_options
from pellucid.app.options import config_option, gather_settings, setting_options

GITHUB = {"error": "error", "warning": "warning", "note": "notice"}


@click.command()
@click.argument("data", required=False)
@config_option
@setting_options(
    "target", "task", "encoding", "group", "time", "weights", "id", "drop", "positive", "cv",
    "test_size", "seed", "select", "ignore",
)  # fmt: skip
@memory_option
@format_options("text", "json", "jsonl", "github", envvar="PELLUCID_FORMAT")
@message_options
@click.pass_context
def check(ctx: click.Context, data: str | None, format_: str, **given: Any) -> None:
    """Check DATA for target leakage, row IDs, duplicates and other problems.

    Exits with 1 if a check finds an error. Every check has a code: --ignore D011 skips one,
    --select D01 runs only those that start with D01.

    If DATA does not fit into memory, a stratified sample is checked.
    """
    from pellucid.comparison.large_table import large_table
    from pellucid.comparison.planning.prepare import prepare
    from pellucid.parallel import set_memory

    if data is None:
        raise click.UsageError("Missing argument 'DATA'", ctx)
    refuse_model(data, "check DATA")
    settings = gather_settings(ctx, given)
    if given["memory"] is not None:
        set_memory(given["memory"])
    large = large_table(data, settings, "the checks see")
    plan, findings = prepare(data if large is None else large.opened, settings, note=ctx.obj.note)
    text = shown(findings, plan, format_, data)
    ctx.obj.show(text) if format_ == "text" else click.echo(text, nl=False)
    ctx.exit(1 if findings.errors else 0)


def shown(findings: Any, plan: Any, format_: str, source: str) -> str:
    """The findings as text, JSON, or annotations for GitHub Actions."""
    from pellucid.comparison.results_json import describe_data
    from pellucid.report import terminal
    from pellucid.report.screen import width

    found = findings.plain()
    if format_ == "json":
        return as_json_text({"schema": 1, "checks": found}, indent=1) + "\n"
    if format_ == "jsonl":
        return "".join(as_json_text(entry) + "\n" for entry in found)
    if format_ == "github":
        return "".join(
            f"::{GITHUB[entry['level']]} file={escaped(source)},title={entry['code']}::"
            f"{escaped(entry['text'])}\n"
            for entry in found
        )
    lines = terminal.data_line(describe_data(plan), width())
    return "\n".join(lines + terminal.check_lines(found, findings.fine, width())) + "\n"


def escaped(text: str) -> str:
    """Text, escaped for an annotation."""
    codes = {"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"}
    return "".join(codes.get(character, character) for character in text)
