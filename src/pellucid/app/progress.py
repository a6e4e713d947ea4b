"""Progress of a comparison on stderr: a live board on a terminal, else one line per finished model.

Both hear the events of the run; neither changes anything.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import click

from pellucid.app.voice import Voice
from pellucid.draw.number import number

BAR = 20


def make_progress(voice: Voice, plan: Any, quiet: bool, colour: str) -> Any:
    """The right kind for this stderr."""
    import os

    if quiet or voice.level < 0:
        return Silent(voice, plan)
    if notebook() is not None:
        from pellucid.app.notebook import Notebook

        return Notebook(voice, plan)
    live = sys.stderr.isatty() and os.environ.get("TERM") != "dumb" and not os.environ.get("CI")
    return Live(voice, plan, colour) if live else Lines(voice, plan)


def for_python(plan: Any, asked: bool) -> Any:
    """Progress of a comparison that was started from Python; notebooks have it unasked."""
    quiet = not asked and notebook() is None
    return make_progress(Voice(), plan, quiet=quiet, colour="auto")


def notebook() -> Any:
    """The shell of the notebook we run in; None elsewhere. A notebook has imported IPython."""
    found = sys.modules.get("IPython")
    shell = found.get_ipython() if found is not None else None
    return shell if shell is not None and hasattr(shell, "kernel") else None


class Silent:
    """Only what cannot be left unsaid: the answer to Ctrl-C."""

    def __init__(self, voice: Voice, plan: Any) -> None:
        self.voice, self.plan = voice, plan
        self.began = time.monotonic()
        self.scores: dict[str, list[Any]] = {}
        self.failed: dict[str, str] = {}
        self.rounds: dict[str, set[str]] = {}  # folds that are done
        self.recalled: dict[str, int] = {}  # so many of them before this run was resumed
        self.since: dict[str, float] = {}  # the first order for a model
        self.took: dict[str, str] = {}  # time until it had its score or its reason

    def __enter__(self) -> Silent:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.close()

    def close(self) -> None:
        """The end of the run."""

    def hear(self, event: dict[str, Any]) -> None:
        """Take in one event of the run."""
        kind, model = event["event"], event.get("model", "")
        if kind == "started":
            self.since.setdefault(model, time.monotonic())
        elif kind == "failed":
            self.failed[model] = f"{event['how']}: {event['why']}"
            self.ended(model)
        elif kind == "done" and event["fold"] not in self.rounds.setdefault(model, set()):
            self.rounds[model].add(event["fold"])
            self.recalled[model] = self.recalled.get(model, 0) + ("recalled" in event)
            if event["fold"] != "final":
                own = self.scores.setdefault(model, [])
                own.append(event["metrics"][self.plan.metric.name])
                if len(own) == len(self.plan.folds):
                    self.ended(model)
        elif kind == "stopping":
            self.stopping(event["times"])
        self.changed(event)

    def stopping(self, times: int) -> None:
        text = "stopping after the current fits ... (Ctrl-C again stops at once)"
        click.echo(f"  {text}" if times == 1 else "  stopped", err=True)

    def mean(self, model: str) -> float | None:
        own = self.scores.get(model, [])
        return None if None in own or not own else sum(own) / len(own)

    def ended(self, model: str) -> None:
        self.took[model] = f"{self.age(model):5.1f} s" if model in self.since else "earlier"
        self.finished(model)

    def age(self, model: str) -> float:
        """Seconds since the first order for a model."""
        return time.monotonic() - self.since.get(model, self.began)

    def result(self, model: str) -> str:
        """`done   0.987   +-0.011   1.3 s`, or the reason."""
        if model in self.failed:
            return self.failed[model]
        mean = self.mean(model)
        shown = "n/a" if mean is None else number(mean)
        return f"done   {shown:<8} {self.margin(model):<9} {self.took[model]}"

    def margin(self, model: str) -> str:
        """Half the width of the interval of the folds; the leaderboard will show that of the rows."""
        from pellucid.compare.pairs import interval_of_folds

        if self.mean(model) is None:
            return ""
        low, high = interval_of_folds(self.plan, self.scores[model])
        return f"+-{number((high - low) / 2, 2)}" if high > low else ""

    def finished(self, model: str) -> None:
        """A model has its score or its reason."""

    def changed(self, event: dict[str, Any]) -> None:
        """Something happened."""


class Lines(Silent):
    """One plain line per finished model."""

    def finished(self, model: str) -> None:
        click.echo(f" {model:<18} {self.result(model)}", err=True)


class Board(Silent):
    """A board of lines that changes while models run."""

    def __init__(self, voice: Voice, plan: Any) -> None:
        super().__init__(voice, plan)
        self.active: dict[str, str] = {}

    def draw(self) -> None:
        """Show the board as it is now."""

    def changed(self, event: dict[str, Any]) -> None:
        if event["event"] in ("started", "candidate"):
            self.active[event["model"]] = self.doing(event)
        self.draw()

    def doing(self, event: dict[str, Any]) -> str:
        """`fold 3/5, candidate 4/8`, or `last round`."""
        final, own = event["fold"] == "final", next(
            c for c in self.plan.running if c.id == event["model"]
        )  # fmt: skip
        where = "last round" if final else f"fold {int(event['fold']) + 1}/{len(self.plan.folds)}"
        if event["event"] == "started":
            return where
        return f"{where}, candidate {event['candidate'] + 1}/{len(own.candidates)}"

    def board(self) -> str:
        """All lines."""
        rounds = len(self.plan.folds) + 1
        lines: list[str] = []
        waiting = []
        best = self.leading()
        for contender in self.plan.running:
            model = contender.id
            done = len(self.rounds.get(model, ()))
            if model not in self.active and model not in self.failed and not done:
                waiting.append(model)
                continue
            filled = BAR if model in self.failed else round(BAR * done / rounds)
            over = model in self.failed or len(self.scores.get(model, ())) == len(self.plan.folds)
            what = self.result(model) if over else self.now(model)
            mark = "   <- leading" if over and model == best else ""
            bar = "#" * filled + "-" * (BAR - filled)
            lines.append(f" {model:<18} {bar}  {what[:46]}{mark}\n")
        if waiting:
            lines.append(f" {', '.join(waiting)[:60]} ...  waiting\n")
        lines.append(self.total())
        return "".join(lines)

    def now(self, model: str) -> str:
        """`fold 3/5, candidate 4/8   41 s   left ~30 s`: the folds to come are like those done."""
        done, age = len(self.scores.get(model, ())), self.age(model)
        left = f"   left ~{age * (len(self.plan.folds) - done) / done:.0f} s" if done else ""
        return f"{self.active.get(model, ''):<24}{age:4.0f} s{left}"

    def leading(self) -> str | None:
        sign = self.plan.metric.sign
        full = [m for m, own in self.scores.items() if len(own) == len(self.plan.folds)]
        means = {m: self.mean(m) for m in full if m not in self.failed}
        known = {m: sign * v for m, v in means.items() if v is not None}
        return max(known, key=lambda m: known[m]) if known else None

    def total(self) -> str:
        """How far the run is; what an earlier part of a resumed run did says nothing of the time."""
        running, each = self.plan.running, len(self.plan.folds) + 1
        done = sum(self.share(c.id) for c in running) / max(1, len(running))
        spent = time.monotonic() - self.began
        costs = {c.id: c.cost * max(1, len(c.candidates)) + 0.1 for c in running}
        whole = sum(costs.values())
        part = sum(costs[c.id] * self.share(c.id) for c in running)
        now = part - sum(costs[m] * count / each for m, count in self.recalled.items())
        left = f"left ~{_clock(spent * (whole - part) / now)}" if now > 0.05 * whole else ""
        filled = round(BAR * done)
        bar = "#" * filled + "-" * (BAR - filled)
        return (
            f" total {bar} {int(100 * done):>3} %  elapsed {_clock(spent)}  {left}  "
            "Ctrl-C stops, keeps what is done\n"
        )

    def share(self, model: str) -> float:
        """How much of a model's work is done."""
        done = len(self.rounds.get(model, ())) / (len(self.plan.folds) + 1)
        return 1.0 if model in self.failed else done


class Live(Board):
    """A board that redraws itself on a terminal."""

    def __init__(self, voice: Voice, plan: Any, colour: str) -> None:
        super().__init__(voice, plan)
        from rich.console import Console
        from rich.live import Live as RichLive

        from pellucid.app.options import colour_wanted

        console = Console(stderr=True, no_color=not colour_wanted(colour, sys.stderr))
        self.live = RichLive(console=console, refresh_per_second=8, transient=False)
        self.live.start()

    def draw(self) -> None:
        from rich.text import Text

        self.live.update(Text(self.board(), no_wrap=True, overflow="ellipsis"))

    def close(self) -> None:
        self.draw()
        self.live.refresh()
        self.live.stop()

    def stopping(self, times: int) -> None:
        self.live.console.print(
            "  stopping after the current fits ..." if times == 1 else "  stopped"
        )


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
