"""What `pellucid compare` does: gather, plan, run, print; and the exit code."""

from __future__ import annotations

import platform
from pathlib import Path
from typing import Any

import click

from pellucid.app.options import gather_settings, toml_text
from pellucid.app.voice import Voice


def run_compare(ctx: click.Context, data: str | None, given: dict[str, Any]) -> int:
    """The whole command; returns its exit code."""
    voice: Voice = ctx.obj
    settings = gather_settings(ctx, given)
    if data is None:
        raise click.UsageError("Missing argument 'DATA'", ctx)
    from pellucid.compare.material import gather
    from pellucid.compare.plan import make_plan
    from pellucid.compare.run import warm_up

    warm_up()
    material = gather(data, settings, note=voice.note)
    plan = make_plan(material, settings)
    checks: list[dict[str, Any]] = []
    preface(voice, plan, checks)
    from pellucid.compare import folder as files
    from pellucid.compare.session import Session

    folder = files.new_folder(given["out"], material.name, given["force"])
    config = toml_text({"data": str(data), **settings.shaping()}, "pellucid compare --config THIS")
    progress = Lines(voice, plan)
    result = Session(plan, folder, progress.hear, checks, config).run()
    if given["out"] is None:
        files.link_latest(folder)
    from pellucid.report import terminal

    click.echo(terminal.board(result.data, result.timings), nl=False)
    wrote(voice, folder)
    return 0


def say(voice: Voice, text: str) -> None:
    if voice.level >= 0:
        click.echo(text, err=True)


def preface(voice: Voice, plan: Any, checks: list[dict[str, Any]]) -> None:
    """What is known before the first fit, on stderr."""
    from pellucid import __version__
    from pellucid.compare.describe import describe_data, describe_plan
    from pellucid.report import terminal

    data = describe_data(plan)
    say(
        voice,
        f"pellucid {__version__}  seed {plan.settings.seed}  sha256 {data['sha256'][:8]}  "
        f"python {platform.python_version()}",
    )
    lines = terminal.data_line(data) + terminal.check_lines(checks, "")
    lines += terminal.plan_lines(describe_plan(plan), plan.settings.effort)
    say(voice, "\n".join(lines) + "\n")


class Lines:
    """Progress where stderr is no terminal: one plain line per finished model."""

    def __init__(self, voice: Voice, plan: Any) -> None:
        self.voice, self.plan = voice, plan
        self.scores: dict[str, list[float]] = {}

    def hear(self, event: dict[str, Any]) -> None:
        """Take in one event of the run."""
        kind, model = event["event"], event.get("model", "")
        if kind == "failed":
            say(self.voice, f" {model:<18} {event['how']}: {event['why']}")
        elif kind == "done" and event["fold"] != "final":
            own = self.scores.setdefault(model, [])
            own.append(event["metrics"][self.plan.metric.name])
            if len(own) == len(self.plan.folds):
                known = [value for value in own if value is not None]
                mean = sum(known) / len(known) if len(known) == len(own) else None
                shown = "n/a" if mean is None else f"{mean:.4g}"
                say(self.voice, f" {model:<18} done   {shown}")
        elif kind == "stopping":
            text = "stopping after the current fits ..." if event["times"] == 1 else "stopped"
            say(self.voice, f"  {text}")


def wrote(voice: Voice, folder: Path) -> None:
    """Where things are, and what to do next."""
    made = [folder / name for name in ("report.html", "model.pellucid") if (folder / name).exists()]
    say(voice, "WROTE  " + "   ".join(f"{p} ({p.stat().st_size / 1000:.0f} KB)" for p in made))
