"""Runs a plan: children do the fits, this process keeps the journal and the clock.

Each (model, fold) is one order to a process of the crew. Cheap models run first; the last round of
each model (search and fit on all training rows) comes after all folds, so that a board exists early.
A model has a time: its share is given to each of its rounds, a search stops between two candidates
when the share is used up, and a process that has not ended at one and a half shares is killed (later
where other programs use the processors too, unless a time was asked for); a
round that had scored some candidate by then is done again with the best of those alone. When the
time of the whole run is up, rounds are told to stop, and killed a little later.
A last round that does not end costs the model its portrait, not its scores.
Invariant: whatever a child does (raise, hang, die, eat memory) the others finish and the model's row
says why it has no score.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import connection
from pathlib import Path
from typing import Any

from pellucid.compare.bench import Shared
from pellucid.compare.crew import Crew, Member
from pellucid.compare.estimate import cheap_first, crowd
from pellucid.compare.job import FINAL, Job, best_of, part_path, work
from pellucid.compare.journal import Journal, Memory
from pellucid.compare.plan import Contender, Plan
from pellucid.compare.settings import Settings

GRACE = 1.5  # a child is killed at this multiple of its time
LEAST_KILL = 5.0  # seconds that any child has before it can be killed
MOST_STRETCH = 8.0  # times longer on a machine that others use


@dataclass
class Child:
    """A running process and what it is for."""

    contender: Contender
    fold: str
    member: Member
    started: float
    share: float
    hurry: bool = False  # it only fits the best candidate that is known
    stopping: bool = False
    ended: dict[str, Any] | None = None

    @property
    def channel(self) -> Any:
        return self.member.channel

    @property
    def process(self) -> Any:
        return self.member.process

    @property
    def limit(self) -> float:
        """Seconds after which it is killed."""
        # The last round also draws the model's portrait; its scores are safe already.
        grace = 2 * GRACE if self.fold == FINAL else GRACE
        return max(grace * self.share, LEAST_KILL)

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
    crew: Crew
    plane: dict[str, Any] | None = None
    memory_limit: float = 0.0
    stopping: int = 0  # Ctrl-C pressed so often
    out_of_time: bool = False
    patience: float = 0.0  # when the time is up: till then a round may end by itself
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
                child.member.end()

    def do_without_last_round(self, model: str) -> None:
        """Take what the folds chose, because the time is up; a continued run searches again."""
        self.memory.add(
            {"event": "done", "model": model, "fold": FINAL, **self.without_search(model)}
        )

    def tasks(self) -> list[tuple[Contender, str]]:
        """What remains to be done, in order."""
        folds = [str(k) for k in range(len(self.plan.folds))]
        running = cheap_first(self.plan)
        rounds = [(c, f) for c in running for f in folds] + [(c, FINAL) for c in running]
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
        self.patience = time.monotonic() + max(LEAST_KILL, limit / 10)
        for child in self.active:
            self.ask_to_stop(child)

    def launch(self, contender: Contender, fold: str, hurry: bool = False) -> None:
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
            parts=str(self.parts), portrait=self.plane if fold == FINAL else None, hurry=hurry,
        )  # fmt: skip
        member = self.crew.order(work, job, job.estimator)
        self.active.append(Child(contender, fold, member, time.monotonic(), share, hurry))
        self.hear({"event": "started", "model": contender.id, "fold": fold})

    def wait(self) -> None:
        """Take in what children say; look at the clock at least ten times a second."""
        channels = {child.channel: child for child in self.active}
        if not channels:
            return
        for channel in connection.wait(list(channels), timeout=0.1):
            self.listen(channels[channel])
        for child in [c for c in self.active if not self.alive(c)]:
            self.active.remove(child)
            self.dismiss(child)
            self.conclude(child)

    def dismiss(self, child: Child) -> None:
        """One that did its work waits for more; any other is replaced."""
        if (child.ended or {}).get("kind") == "done" and not child.stopping:
            self.crew.idle.append(child.member)
        else:
            child.process.join(timeout=1 if child.ended else None)
            child.member.end()

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
        unheeding = self.out_of_time and time.monotonic() > self.patience
        late = child.age > child.limit and child.age > child.limit * stretch(self.plan.settings)
        if not late and not unheeding:
            return True
        child.process.kill()
        child.ended = {"kind": "stopped" if unheeding else "late"}
        return False

    def conclude(self, child: Child) -> None:
        """Write down how a child ended."""
        message = child.ended or {"kind": "died"}
        if child.contender.id in self.memory.failed:
            return  # another round of this model failed and ended this one
        if message["kind"] == "done":
            self.take("done", child, message)
        elif message["kind"] == "failed":
            self.fail(child, "failed", message["why"])
        elif child.fold == FINAL and not (child.stopping or self.stopping):
            self.settle(child)
        elif message["kind"] == "late" and self.can_hurry(child):
            self.launch(child.contender, child.fold, hurry=True)
        elif message["kind"] == "late":
            self.fail(child, "timed out", _late(child))
        elif message["kind"] == "died" and not (child.stopping or self.stopping):
            self.fail(child, "failed", _died(child))

    def settle(self, child: Child) -> None:
        """The last round did not end; the scores of the folds stand, and so does the model's row.

        Its settings are the best of those that were scored, else those that most folds chose.
        """
        self.take("done", child, self.without_search(child.contender.id))

    def without_search(self, model: str) -> dict[str, Any]:
        """What is known of a model whose last round has not ended."""
        best = best_of(self.memory.candidates.get((model, FINAL), {}), self.plan.metric)
        if best is None:
            folds = (self.memory.done.get((model, str(k))) for k in range(len(self.plan.folds)))
            chosen = [done["best"] for done in folds if done] or [0]
            best = min(set(chosen), key=lambda c: (-chosen.count(c), c))
        return {"best": best, "cut": True, "fit_seconds": None, "portrait": {}, "warnings": []}

    def can_hurry(self, child: Child) -> bool:
        """Whether a killed search had scored a candidate, with which its round can still end."""
        known = self.memory.candidates.get((child.contender.id, child.fold), {})
        scored = any(record["scores"] for record in known.values())
        return scored and not (child.hurry or self.stopping or self.out_of_time)

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


def stretch(settings: Settings) -> float:
    """How much longer a child may take because of other programs; limits asked for are kept."""
    asked = settings.model_timeout is not None or settings.time_limit is not None
    return 1.0 if asked else min(MOST_STRETCH, crowd(0))


def _late(child: Child) -> str:
    """Without the clock: results do not tell when they were found."""
    return f"a round took more than {child.limit:.0f} s (--model-timeout gives it more)"


def _died(child: Child) -> str:
    code = child.process.exitcode
    if code in (-9, 137):
        return "its process ended (killed, perhaps because memory ran out)"
    if child.member.main:
        return (
            f"its process ended (exit code {code}). A part of it is defined in the script or notebook "
            "itself: put that into a module, or the script's calls under if __name__ == '__main__'"
        )
    return f"its process ended (exit code {code})"
