"""Runs a plan: children do the fits, this process keeps the journal and the clock.

Each (model, fold) is a process of its own, started from a fork server that has the numerical
packages loaded. Cheap models run first; the last round of each model (search and fit on all
training rows) comes after all folds, so that a board exists early. A model has a time: its share is
given to each of its rounds, a search stops between two candidates when the share is used up, and a
process that has not ended at one and a half shares is killed. Invariant: whatever a child does
(raise, hang, die, eat memory) the others finish and the model's row says why it has no score.
"""

from __future__ import annotations

import multiprocessing
import sys
import time
import types
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import connection
from pathlib import Path
from typing import Any

from pellucid.compare.bench import Shared
from pellucid.compare.job import FINAL, Job, part_path, work
from pellucid.compare.journal import Journal, Memory
from pellucid.compare.plan import Contender, Plan

GRACE = 1.5  # a child is killed at this multiple of its time
LEAST_KILL = 5.0  # seconds that any child has before it can be killed
PRELOAD = "pellucid.compare.preload"


_loaded: set[str] = set()  # what the running fork server has loaded


def server() -> Any:
    """The context that starts children; the fork server loads the numerical packages once."""
    return multiprocessing.get_context("forkserver")


def warm_up(more: Iterable[str] = ()) -> None:
    """Start the fork server now, so that it loads while this process reads the table.

    `more` are modules that the user's own models need; a server without them is started anew.
    """
    from multiprocessing import forkserver

    wanted = {PRELOAD, *more} - {"__main__"}
    if not wanted <= _loaded:
        end = getattr(forkserver._forkserver, "_stop", None)
        if _loaded and end is not None:
            end()
        _loaded.update(wanted)
        server().set_forkserver_preload(sorted(_loaded))
    with _empty_main():
        forkserver.ensure_running()


@contextmanager
def _empty_main(keep: bool = False) -> Iterator[None]:
    """Children must not run the user's script again: hide it while one is started."""
    if keep:
        yield
        return
    before = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = before


@dataclass
class Child:
    """A running process and what it is for."""

    contender: Contender
    fold: str
    process: Any
    channel: Any
    started: float
    share: float
    stopping: bool = False
    ended: dict[str, Any] | None = None

    @property
    def age(self) -> float:
        return time.monotonic() - self.started


@dataclass
class Runner:
    """Works through a plan; `hear` is told of every event, for progress."""

    plan: Plan
    shared: Shared
    journal: Journal
    memory: Memory
    parts: Path
    n_jobs: int
    hear: Callable[[dict[str, Any]], None]
    plane: dict[str, Any] | None = None
    memory_limit: float = 0.0
    stopping: int = 0  # Ctrl-C pressed so often
    out_of_time: bool = False
    active: list[Child] = field(default_factory=list)

    def run(self) -> None:
        """Until everything is done, failed, or stopped."""
        self.began = time.monotonic()
        pending = deque(self.tasks())
        try:
            while pending or self.active:
                self.check_clock()
                if self.stopping or self.out_of_time:
                    pending.clear()
                while pending and len(self.active) < self.n_jobs:
                    contender, fold = pending.popleft()
                    if contender.id not in self.memory.failed:
                        self.launch(contender, fold)
                self.wait()
        finally:
            for child in self.active:
                child.process.kill()
                child.process.join()
                child.channel.close()

    def last_round(self, model: str) -> None:
        """The last round of one model, although the time is up."""
        contender = next(c for c in self.plan.running if c.id == model)
        self.launch(contender, FINAL)
        while self.active:
            self.wait()

    def tasks(self) -> list[tuple[Contender, str]]:
        """What remains to be done, in order."""
        folds = [str(k) for k in range(len(self.plan.folds))]
        rounds = [(c, f) for c in self.plan.running for f in folds]
        rounds += [(c, FINAL) for c in self.plan.running]
        return [(c, f) for c, f in rounds if not self.is_done(c.id, f)]

    def is_done(self, model: str, fold: str) -> bool:
        known = (model, fold) in self.memory.done or model in self.memory.failed
        return known and (fold == FINAL or model in self.memory.failed
                          or part_path(self.parts, model, fold).exists())  # fmt: skip

    def stop(self) -> None:
        """Ctrl-C: the first time children end after the current candidate, then at once."""
        self.stopping += 1
        for child in self.active:
            if self.stopping > 1:
                child.process.kill()
            else:
                self.ask_to_stop(child)

    def ask_to_stop(self, child: Child) -> None:
        child.stopping = True
        with suppress(OSError):  # it may just have ended by itself
            child.channel.send("stop")

    def check_clock(self) -> None:
        limit = self.plan.settings.time_limit
        if limit is None or self.out_of_time or time.monotonic() - self.began < limit:
            return
        self.out_of_time = True
        for child in self.active:
            self.ask_to_stop(child)

    def launch(self, contender: Contender, fold: str) -> None:
        train, test = (self.plan.train, self.plan.train[:0])
        if fold != FINAL:
            train, test = self.plan.folds[int(fold)]
        share = self.plan.model_timeout / (len(self.plan.folds) + 1)
        known = self.memory.candidates.get((contender.id, fold), {})
        job = Job(
            shared=self.shared, model=contender.id, estimator=contender.make(),
            foreign=contender.entry is None, dropped=contender.dropped,
            candidates=contender.candidates, fold=fold, train=train, test=test,
            metrics=self.plan.metrics, known=known, deadline=share, memory=self.memory_limit,
            parts=str(self.parts), portrait=self.plane if fold == FINAL else None,
        )  # fmt: skip
        self.active.append(self.start(contender, fold, job, share))
        self.hear({"event": "started", "model": contender.id, "fold": fold})

    def start(self, contender: Contender, fold: str, job: Job, share: float) -> Child:
        context = server()
        ours, theirs = context.Pipe()
        process = context.Process(target=work, args=(job, theirs), daemon=True)
        from_main = type(job.estimator).__module__ == "__main__"
        with _empty_main(keep=from_main):
            process.start()
        theirs.close()
        return Child(contender, fold, process, ours, time.monotonic(), share)

    def wait(self) -> None:
        """Take in what children say; look at the clock at least ten times a second."""
        channels = {child.channel: child for child in self.active}
        if not channels:
            return
        for channel in connection.wait(list(channels), timeout=0.1):
            self.listen(channels[channel])
        for child in [c for c in self.active if not self.alive(c)]:
            self.active.remove(child)
            child.process.join()
            child.channel.close()
            self.conclude(child)

    def listen(self, child: Child) -> None:
        try:
            while child.channel.poll():
                message = child.channel.recv()
                if message["kind"] == "candidate":
                    self.take("candidate", child, message)
                else:
                    child.ended = message
        except (EOFError, OSError):
            if child.ended is None:
                child.process.join()
                child.ended = {"kind": "died"}

    def alive(self, child: Child) -> bool:
        if child.ended is not None:
            return False
        # The last round also draws the model's portrait; its scores are safe already.
        grace = 2 * GRACE if child.fold == FINAL else GRACE
        limit = max(grace * child.share, LEAST_KILL)
        if child.age <= limit:
            return True
        child.process.kill()
        child.ended = {"kind": "late"}
        return False

    def conclude(self, child: Child) -> None:
        """Write down how a child ended."""
        message = child.ended or {"kind": "died"}
        if message["kind"] == "done":
            self.take("done", child, message)
        elif message["kind"] == "failed":
            self.fail(child, "failed", message["why"])
        elif message["kind"] == "late":
            self.fail(child, "timed out", f"a round took more than {child.age:.0f} s")
        elif message["kind"] == "died" and not (child.stopping or self.stopping):
            self.fail(child, "failed", f"its process ended ({_signal(child.process.exitcode)})")

    def fail(self, child: Child, how: str, why: str) -> None:
        model = child.contender.id
        if model in self.memory.failed:
            return
        self.take("failed", child, {"how": how, "why": why})
        for other in self.active:
            if other.contender.id == model:
                other.process.kill()

    def take(self, event: str, child: Child, message: dict[str, Any]) -> None:
        facts = {key: value for key, value in message.items() if key != "kind"}
        record = self.journal.write(event, model=child.contender.id, fold=child.fold, **facts)
        self.memory.add(record)
        self.hear(record)


def _signal(code: int | None) -> str:
    if code in (-9, 137):
        return "killed, perhaps because memory ran out"
    return f"exit code {code}"
