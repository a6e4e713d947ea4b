"""Progress of a comparison on stderr: a live board on a terminal, otherwise one line per model.

Both only receive the events of the run. A model is *scored* when all its folds are, and *done* when it
is also fitted on all training rows; only then its bar is full.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

import click

from pellucid.app.messages import Messages
from pellucid.draw.label_text import cells, fit_cells
from pellucid.draw.number import exponent, number
from pellucid.report.screen import MOST, packed
from pellucid.report.wording import plural

BAR = 20
FOLDS, FITS = "cross-validation", "final fits on all training rows"
CTRL_C = "Ctrl-C stops and keeps finished fits"
WIDTH = 96  # of a notebook's board
NARROW = 100  # columns below which bars are half as long


def make_progress(messages: Messages, plan: Any, quiet: bool) -> Any:
    """The progress display that suits stderr."""
    if quiet or messages.level < 0:
        return Silent(messages, plan)
    if notebook() is not None:
        from pellucid.app.notebook import Notebook

        return Notebook(messages, plan)
    live = sys.stderr.isatty() and os.environ.get("TERM") != "dumb" and not os.environ.get("CI")
    return Live(messages, plan) if live else Lines(messages, plan)


def for_python(plan: Any, asked: bool) -> Any:
    """Progress of a comparison that was started from Python; notebooks always show it."""
    quiet = not asked and notebook() is None
    return make_progress(Messages(), plan, quiet=quiet)


def notebook() -> Any:
    """The IPython shell of the current notebook; None elsewhere."""
    found = sys.modules.get("IPython")
    shell = found.get_ipython() if found is not None else None
    return shell if shell is not None and hasattr(shell, "kernel") else None


class Silent:
    """No progress; only Ctrl-C is confirmed. Keeps the state that the other displays show."""

    def __init__(self, messages: Messages, plan: Any) -> None:
        self.messages, self.plan = messages, plan
        self.began = time.monotonic()
        self.scores: dict[str, list[Any]] = {}
        self.failed: dict[str, str] = {}
        self.rounds: dict[str, set[str]] = {}  # folds that are done
        self.recalled: dict[str, int] = {}  # folds that were done before this run was resumed
        self.since: dict[str, float] = {}  # when the first fit of a model began
        self.took: dict[str, str] = {}  # time until a model was scored or failed
        self.margins: dict[str, str] = {}
        self.phase = ""
        self.decimals: int | None = None  # of all scores of this run

    def __enter__(self) -> Silent:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.close()

    def close(self) -> None:
        """The end of the run."""

    def update(self, event: dict[str, Any]) -> None:
        """Process one event of the run."""
        kind, model = event["event"], event.get("model", "")
        if kind == "started":
            self.since.setdefault(model, time.monotonic())
            self.enter(FITS if event["fold"] == "final" else FOLDS)
        elif kind == "failed":
            self.failed[model] = f"{event['how']}: {event['why']}"
            self.ended(model)
        elif kind == "done" and event["fold"] not in self.rounds.setdefault(model, set()):
            self.count(model, event)
        elif kind == "finishing":
            self.enter(f"testing and explaining {model}")
        elif kind == "stopping":
            self.stopping(event["times"])
        self.changed(event)

    def count(self, model: str, event: dict[str, Any]) -> None:
        """Record a finished fold or final fit of a model."""
        self.rounds[model].add(event["fold"])
        self.recalled[model] = self.recalled.get(model, 0) + ("recalled" in event)
        if event["fold"] != "final":
            own = self.scores.setdefault(model, [])
            own.append(event["metrics"][self.plan.metric.name])
            if len(own) == len(self.plan.folds):
                self.ended(model)

    def enter(self, phase: str) -> None:
        """Enter another phase of the run."""
        later = self.phase in ("", FOLDS) or phase not in (FOLDS, FITS)
        if phase != self.phase and later:
            self.phase = phase
            self.began_phase()

    def began_phase(self) -> None:
        """Another phase has begun."""

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
        """Seconds since the first fit of a model began."""
        return time.monotonic() - self.since.get(model, self.began)

    def result(self, model: str) -> str:
        """`scored  0.987 +-0.011     1.3 s`, later `done`, or why there is no score."""
        if model in self.failed:
            return self.failed[model]
        mean = self.mean(model)
        shown = "n/a" if mean is None else self.shown(mean)
        state = "done" if "final" in self.rounds.get(model, ()) else "scored"
        return f"{state:<6}  {f'{shown} {self.margin(model)}':<17} {self.took[model]:>8}"

    def margin(self, model: str) -> str:
        """Half the width of the interval over folds; the leaderboard shows intervals over rows."""
        from pellucid.comparison.analysis.pairs import interval_of_folds

        if model not in self.margins:
            half = 0.0
            if self.mean(model) is not None:
                low, high = interval_of_folds(self.plan, self.scores[model])
                half = (high - low) / 2
            self.margins[model] = f"+-{self.shown(half)}" if half > 0 else ""
        return self.margins[model]

    def shown(self, value: float) -> str:
        """A score or its margin; all of a run have the same decimals."""
        from pellucid.report.wording import BOUNDED

        if self.plan.metric.name in BOUNDED and abs(value) < 1000:
            return f"{value:.3f}"
        if self.decimals is None:  # four digits of the first score
            self.decimals = max(0, 3 - exponent(value, 4)) if value else 3
        lost = value != 0 and abs(value) < 10**-self.decimals
        return number(value, 3) if lost or abs(value) >= 1e7 else f"{value:.{self.decimals}f}"

    def finished(self, model: str) -> None:
        """A model has its score or its reason."""

    def changed(self, event: dict[str, Any]) -> None:
        """Something happened."""


class Lines(Silent):
    """One plain line per model, and one per phase that follows."""

    def finished(self, model: str) -> None:
        self.messages.show(f" {model:<18} {self.result(model)}".rstrip() + "\n", err=True)

    def began_phase(self) -> None:
        if self.phase != FOLDS:
            self.messages.show(f" {self.phase} ...\n", err=True)


class Board(Silent):
    """A board of lines that changes while models run."""

    def __init__(self, messages: Messages, plan: Any) -> None:
        super().__init__(messages, plan)
        self.active: dict[str, str] = {}
        self.models: list[str] | None = None
        self.closing = False

    def draw(self) -> None:
        """Show the board as it is now."""

    def changed(self, event: dict[str, Any]) -> None:
        if event["event"] in ("started", "candidate"):
            self.active[event["model"]] = self.doing(event)
        self.draw()

    def doing(self, event: dict[str, Any]) -> str:
        """`fold 3/5, candidate 4/8`, or `final fit`."""
        final, folds = event["fold"] == "final", len(self.plan.folds)
        where = "final fit" if final else f"fold {int(event['fold']) + 1}/{folds}"
        if event["event"] == "started":
            return where
        own = next(c for c in self.plan.running if c.id == event["model"])
        return f"{where}, candidate {event['candidate'] + 1}/{len(own.candidates)}"

    def board(self, width: int = WIDTH, height: int | None = None) -> str:
        """All lines; if there are more than `height`, finished models are hidden first."""
        models = self.order()
        if height is None or len(models) < height:  # a line for each, from the start to the end
            best = self.leading()
            lines = [self.line(m, best, width) for m in models]
            return "\n".join([*lines, self.total(width)]) + "\n"
        waiting = [m for m in models if not self.begun(m)]
        begun = [m for m in models if self.begun(m)]
        best, hidden = self.leading(), []
        if height is not None:
            most = height - 1 - bool(waiting)
            over = [m for m in begun if self.is_over(m) and m != best]
            hidden = over[: len(begun) + 1 - most] if len(begun) > most else []
        lines = [self.line(m, best, width) for m in begun if m not in hidden]
        if hidden:
            lines.insert(0, f" {plural(len(hidden), 'finished model')} not shown")
        if waiting:
            lines.append(f" {some_of(waiting, width - 10)}  waiting")
        return "\n".join([*lines, self.total(width)]) + "\n"

    def order(self) -> list[str]:
        """The models in the order in which they begin."""
        from pellucid.comparison.planning.time_estimate import cheap_first

        if self.models is None:
            self.models = [c.id for c in cheap_first(self.plan)]
        return self.models

    def begun(self, model: str) -> bool:
        return model in self.active or model in self.failed or bool(self.rounds.get(model))

    def is_over(self, model: str) -> bool:
        """Whether a model is scored or has failed."""
        return model in self.failed or len(self.scores.get(model, ())) == len(self.plan.folds)

    def line(self, model: str, best: str | None, width: int) -> str:
        """` tree  ##########  done    0.987 +-0.011  1.3 s  <- leading`."""
        over, begun = self.is_over(model), self.begun(model)
        what = self.result(model) if over else self.now(model) if begun else "waiting"
        mark = "  <- leading" if over and model == best else ""
        head = f" {model:<18} {bar(self.share(model), width)}  "
        return f"{head}{fit_cells(what, width - len(head) - len(mark))}{mark}"

    def now(self, model: str) -> str:
        """`fold 3/5, candidate 4/8  41 s  ~30 s left`, if the other folds take as long."""
        done, age = len(self.scores.get(model, ())), self.age(model)
        left = f"  ~{age * (len(self.plan.folds) - done) / done:.0f} s left" if done else ""
        return f"{self.active.get(model, ''):<23} {age:4.0f} s{left}"

    def leading(self) -> str | None:
        sign = self.plan.metric.sign
        full = [m for m, own in list(self.scores.items()) if len(own) == len(self.plan.folds)]
        means = {m: self.mean(m) for m in full if m not in self.failed}
        known = {m: sign * v for m, v in means.items() if v is not None}
        return max(known, key=lambda m: known[m]) if known else None

    def total(self, width: int = WIDTH) -> str:
        """The last line; fits from before a resume do not count for the time left."""
        running, each = self.plan.running, len(self.plan.folds) + 1
        done = sum(self.share(c.id) for c in running) / max(1, len(running))
        spent = time.monotonic() - self.began
        costs = {c.id: c.cost * max(1, len(c.candidates)) + 0.1 for c in running}
        whole = sum(costs.values())
        part = sum(costs[c.id] * self.share(c.id) for c in running)
        now = part - sum(costs[m] * count / each for m, count in list(self.recalled.items()))
        known = 0.05 * whole < now and part < whole
        left = f"~{_clock(spent * (whole - part) / now)} left" if known else ""
        facts = [f"{int(100 * done):>3} %", f"elapsed {_clock(spent)}"]
        facts += [] if self.closing else [left, self.phase, CTRL_C]
        head = f" {'total':<18} {bar(done, width)}  "
        return "\n".join(packed([fact for fact in facts if fact], head, " " * 20, width, "  "))

    def share(self, model: str) -> float:
        """The share of a model's work that is done."""
        done = len(self.rounds.get(model, ())) / (len(self.plan.folds) + 1)
        return 1.0 if model in self.failed else done


class Live(Board):
    """A board that redraws itself on a terminal."""

    def __init__(self, messages: Messages, plan: Any) -> None:
        super().__init__(messages, plan)
        from rich.console import Console
        from rich.live import Live as RichLive

        from pellucid.app.colour import colour_wanted

        self.coloured = colour_wanted(messages.colour, sys.stderr)
        self.console = Console(
            stderr=True, no_color=not self.coloured, color_system="256" if self.coloured else None
        )
        self.live = RichLive(
            console=self.console, refresh_per_second=4, transient=False, get_renderable=self.page
        )
        self.live.start()

    def page(self) -> Any:
        """The board as it is now; also drawn between events, to update the times."""
        from rich.text import Text

        from pellucid.app.colour import painted

        size = self.console.size
        height = None if self.closing else max(4, size.height - 2)
        text = self.board(min(size.width, MOST), height).rstrip("\n")
        shown = Text.from_ansi(painted(text)) if self.coloured else Text(text)
        shown.no_wrap, shown.overflow = True, "crop"
        return shown

    def close(self) -> None:
        self.closing = True
        self.live.refresh()
        self.live.stop()
        click.echo(err=True)  # a blank line before the result

    def stopping(self, times: int) -> None:
        self.console.print("  stopping after the current fits ..." if times == 1 else "  stopped")


def some_of(names: list[str], width: int) -> str:
    """As many whole names as fit, and how many more there are."""
    for count in range(len(names), 0, -1):
        more = f" and {len(names) - count} more" if count < len(names) else ""
        text = ", ".join(names[:count]) + more
        if cells(text) <= width:
            return text
    return f"{len(names)} models"


def bar(share: float, width: int) -> str:
    """A progress bar, full only at 100 %."""
    size = BAR if width >= NARROW else BAR // 2
    filled = int(size * share + 1e-9)
    return "#" * filled + "-" * (size - filled)


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
