"""The steps of `pellucid compare`: read settings, plan, run, print, write the report; exit code."""

from __future__ import annotations

import json
import math
import platform
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any

import click

from pellucid.app.arguments import refuse_model
from pellucid.app.messages import Messages, file_size
from pellucid.app.options import gather_settings, read_config, toml_text
from pellucid.errors import DataError
from pellucid.report.screen import packed, width, wrapped

GATE = 1
NO_RESULT = 2
INTERRUPTED = 130


@dataclass
class Request:
    """The arguments of the command, completed by those of the run that `--resume` continues."""

    messages: Messages
    data: str
    settings: Any
    given: dict[str, Any]
    folder: Path | None = None  # of the run to resume


def run_compare(ctx: click.Context, data: str | None, given: dict[str, Any]) -> int:
    """The whole command; returns its exit code."""
    began = time.monotonic()
    request = understand(ctx, data, given)
    from pellucid.comparison.execution.worker_pool import warm_up
    from pellucid.comparison.large_table import large_table
    from pellucid.comparison.planning.prepare import prepare
    from pellucid.parallel import set_memory

    if given["memory"] is not None:
        set_memory(given["memory"])
    finished = None if request.folder is None else _finished(request.folder, request.settings)
    if finished is None and not (given["only_plan"] or given["use"]):
        warm_up()
    large = large_table(request.data, request.settings)
    table = request.data if large is None else large.opened
    plan, findings = prepare(table, request.settings, note=request.messages.note)
    if given["only_plan"]:
        from pellucid.app.plan_text import plan_text

        request.messages.show(plan_text(plan, findings, given["format_"], width()))
        return 0
    if request.folder is not None and (given["use"] or finished is not None):
        from pellucid.app.use_model import use
        from pellucid.comparison.execution.journal import RunState
        from pellucid.comparison.run import refuse_changes

        refuse_changes(RunState.read(request.folder / "events.jsonl").start, plan)
        if given["use"]:
            return use(request.folder, plan, given["use"], given["format_"])
    if request.folder is not None and finished is not None:
        request.messages.note(f"{request.folder} is complete: there is nothing to resume")
        _write_again(request.messages, request.folder)
        return show(request, *finished)
    if given["strict"] and findings.errors:
        preface(request.messages, plan, findings)
        request.messages.write(
            "gate", "a check found an error, and --strict is set: no model was trained"
        )
        return GATE
    return run_plan(request, plan, findings, began, large)


def understand(ctx: click.Context, data: str | None, given: dict[str, Any]) -> Request:
    """Settings from command line, environment and files; a resumed run adds its own."""
    from pellucid.comparison.execution.run_folder import find_run, refuse_busy

    folder = None
    if given["use"] and not given["resume"]:
        raise click.UsageError("--use saves a model of an existing run: add --resume RUN", ctx)
    if given["resume"]:
        if data is not None and given["out"] is None and (Path(data) / "events.jsonl").is_file():
            given["out"], data = data, None  # --resume RUN
        folder = find_run(given["out"])
        refuse_busy(folder)
        stored = read_config(folder / "config.toml", required=True)
        source = click.core.ParameterSource
        typed = (source.COMMANDLINE, source.ENVIRONMENT)
        for name, value in stored.items():
            if name in given and ctx.get_parameter_source(name) not in typed:
                given[name] = tuple(value) if isinstance(value, list) else value
                ctx.set_parameter_source(name, source.DEFAULT_MAP)
        ctx.meta["pellucid.config"] = str(folder / "config.toml")
        data = data or stored.get("data")
        if data == "-":
            raise DataError(
                "this run read its data from standard input, so it cannot be resumed without the data. "
                "Pass the data as a file."
            )
    if data is None:
        raise click.UsageError("Missing argument 'DATA'", ctx)
    refuse_model(data, "compare DATA")
    if given["fail_under"] is not None and not math.isfinite(given["fail_under"]):
        raise click.UsageError("--fail-under must be a finite number", ctx)
    settings = gather_settings(ctx, given)
    return Request(ctx.obj, data, settings, given, folder)


def run_plan(request: Request, plan: Any, findings: Any, began: float, large: Any = None) -> int:
    """Run, print the result, then write the report; the result is kept even if the report fails.

    `large`: the table behind the plan, if that is a sample; its best model is fitted again.
    """
    from pellucid.app.progress import make_progress
    from pellucid.comparison.execution import run_folder as files
    from pellucid.comparison.run import Run

    given, messages = request.given, request.messages
    folder = request.folder or files.new_folder(given["out"], plan.dataset.name, given["force"])
    preface(messages, plan, findings)
    values = {"data": request.data, **plan.settings.affecting_results()}
    config = toml_text(values, "To repeat this run: pellucid compare --config THIS_FILE")
    if given["out"] is None and request.folder is None:  # a resumed runs/latest is that link
        files.link_latest(folder)
    progress = make_progress(messages, plan, given["no_progress"])
    again = f" --out {quote(given['out'])}" if given["out"] else ""
    resume = f"Resume: pellucid compare --resume{again}"
    try:
        with progress:
            result = Run(plan, folder, progress.update, findings, config, began).run()
        code = show(request, result.data, result.timings)
        if result.unwritten:
            messages.write(
                "error",
                f"the results could not be written to {folder}: {result.unwritten}. The fits are kept. "
                f"When the problem is fixed, run: pellucid compare --resume --out {quote(str(folder))}",
            )
            return NO_RESULT
        reported = write_report(messages, result, folder)
        if large is not None and result.complete and (folder / "model.pellucid").exists():
            progress_text(messages, "fitting the model again, on all rows but the test set ...")
            refit = wrapped(large.refit(plan, result, folder), "", "", width())
            progress_text(messages, "\n".join(["", *refit]))
    except KeyboardInterrupt:  # twice, or while the report is written
        messages.write("stopped", f"finished fits are kept. {resume}")
        return INTERRUPTED
    if result.data["stopped"] == "Ctrl-C":
        done = sum(row["status"] != "stopped" for row in result.rows)
        partial = f"Partial report: {folder / 'report.html'}. " if reported else ""
        messages.write(
            "stopped", f"{done} of {len(result.rows)} models finished. {partial}{resume}"
        )
        return INTERRUPTED
    wrote(messages, folder, result, request.data)
    if given["open_"] and reported:
        click.launch((folder / "report.html").resolve().as_uri())
    return code


def _finished(folder: Path, settings: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Results and timings of a complete run; None if something is left to do."""
    from pellucid.comparison.result import SCHEMA

    names = ("results.json", "timings.json", "summary.json")
    if not all((folder / name).exists() for name in names):
        return None
    data, timings, summary = (json.loads((folder / n).read_text(encoding="utf-8")) for n in names)
    known = data["schema"] == summary["schema"] == SCHEMA
    same = settings.affecting_results().items() <= data["settings"].items()
    return (data, timings) if data["complete"] and same and known else None


def _write_again(messages: Messages, folder: Path) -> None:
    """Write the report of a complete run if it is missing."""
    from pellucid.report.write_report import write_summary

    page = folder / "report.html"
    if not page.exists():
        write_summary(json.loads((folder / "summary.json").read_text(encoding="utf-8")), page)
        messages.note(f"{page} was missing: written again")


def show(request: Request, data: dict[str, Any], timings: dict[str, Any]) -> int:
    """Print the result in the requested format; returns the exit code."""
    from pellucid.report.write_report import formatted

    form = request.given["format_"]
    text = formatted(form, data, timings, width())
    request.messages.show(text) if form == "text" else click.echo(text, nl=False)
    limit = request.given["fail_under"]
    if data["recommended"] is None and data["stopped"] != "Ctrl-C":
        more = "; raise --time-limit" if data["stopped"] else "; the leaderboard gives the reasons"
        request.messages.write("error", f"no model has a score{more}")
        return NO_RESULT
    if limit is None:
        return 0
    best = next((row for row in data["leaderboard"] if row["recommended"]), None)
    better = data["plan"]["greater_is_better"]
    passed = best is not None and (best["mean"] >= limit if better else best["mean"] <= limit)
    if not passed:
        mean = "no score" if best is None else f"{best['mean']:.4g}"
        name = data["plan"]["metric"]
        request.messages.write("gate", f"{name} {mean} does not reach --fail-under {limit:g}")
    return 0 if passed else GATE


def progress_text(messages: Messages, text: str) -> None:
    """Print text on stderr, unless -q was given."""
    if messages.level >= 0:
        messages.show(f"{text}\n", err=True)


def preface(messages: Messages, plan: Any, findings: Any) -> None:
    """Print the version, the data, the checks and the plan on stderr."""
    from pellucid import __version__
    from pellucid.comparison.planning import time_estimate
    from pellucid.comparison.results_json import describe_data, describe_plan
    from pellucid.parallel import get_threads
    from pellucid.report import terminal

    data, jobs = describe_data(plan), plan.settings.jobs or get_threads()
    wide = width(sys.stderr)
    facts = [
        f"pellucid {__version__}", f"seed {plan.settings.seed}", f"sha256 {data['sha256'][:8]}",
        f"python {platform.python_version()}", f"{jobs} job{'s' if jobs > 1 else ''}",
    ]  # fmt: skip
    lines = packed(facts, "", "  ", wide, gap="  ") + terminal.data_line(data, wide)
    lines += terminal.check_lines(findings.plain(), findings.fine, wide)
    lines += terminal.plan_lines(
        describe_plan(plan), plan.settings.effort, time_estimate.describe_estimate(plan), width=wide
    )
    progress_text(messages, "\n".join(lines) + "\n")


def write_report(messages: Messages, result: Any, folder: Path) -> bool:
    """Write the summary and the report; on failure print a note and return False."""
    from pellucid.comparison.execution.candidate_choice import reason
    from pellucid.report.summary import summarise
    from pellucid.report.write_report import write_summary

    progress_text(messages, "\nwriting the report ...")
    page, facts = folder / "report.html", folder / "summary.json"
    for note in result.notes:
        messages.note(f"{note[0].upper()}{note[1:]}")
    try:
        for path in (facts, page):  # those of an earlier part of the run are outdated
            path.unlink(missing_ok=True)
        summary = summarise(result)
        write_summary(summary, facts)
        write_summary(summary, page)
    except Exception as error:  # the results are printed and written already
        run = quote(str(folder))
        again = f"report {run}" if facts.exists() else f"compare --resume --out {run}"
        messages.write(
            "note",
            f"the report could not be written: {reason(error).rstrip('.')}. The results of the "
            f"comparison are complete and saved. Try again: pellucid {again}",
        )
        return False
    return True


def wrote(messages: Messages, folder: Path, result: Any, data: str) -> None:
    """Print the files that were written, and what to do next."""
    if messages.level < 0:
        return
    model, page = folder / "model.pellucid", folder / "report.html"
    made = [f"{path} ({file_size(path)})" for path in (page, model) if path.exists()]
    lines = ["WROTE  " + "\n       ".join(made or [str(folder / "results.json")])]
    if result.finish.get("saved"):
        lines.append(f"       no model file: {result.finish['saved']}")
    if model.exists():
        run, rows = quote(str(folder)), " DATA" if data == "-" else ""
        lines.append(f"NEXT   pellucid predict {run} NEW.csv -o out.csv")
        lines.append(f"       pellucid explain {run}{rows} --row 17")
        lines.append(f"       pellucid report {run} --open")
    progress_text(messages, "\n".join(lines))
