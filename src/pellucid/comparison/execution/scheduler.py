"""Runs a plan: children do the fits, this process keeps the journal and the clock.

Each (model, fold) is one order to a process of the crew. Cheap models run first; the last round of
each model (search and fit on all training rows) comes after all folds, so that a board exists early.
What a model may take is decided beforehand by the work it means (`limits`); a process is killed only
if it runs on far beyond that. With `--model-timeout` each round of a model has its share of that time:
a search stops between two candidates when the share is used up, and a process that has not ended at
one and a half shares is killed; a round that had scored some candidate by then is done again with the
best of those alone. With `--time-limit` a `clock` says what may still be begun. When the time is up, or
Ctrl-C was pressed, rounds are told to stop, and killed a little later.
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

from pellucid.comparison.analysis.out_of_fold import chosen_by
from pellucid.comparison.execution.fold_task import FINAL, Job, part_path, work
from pellucid.comparison.execution.journal import Journal, Memory
from pellucid.comparison.execution.time_limit import Clock, fits_of
from pellucid.comparison.execution.worker_data import Shared
from pellucid.comparison.execution.worker_pool import Crew, Member
from pellucid.comparison.planning.limits import IDLE, Watch, most_processor_seconds
from pellucid.comparison.planning.plan import Contender, Plan
from pellucid.comparison.planning.time_estimate import cheap_first

GRACE = 1.5  # a child is killed at this multiple of its time
LEAST_KILL = 5.0  # seconds that any child has before it can be killed
PATIENCE = 10.0  # seconds that a round has to stop by itself after Ctrl-C


@dataclass
class Child:
    """A running process and what it is for."""

    contender: Contender
    fold: str
    member: Member
    started: float
    watch: Watch
    share: float | None  # of the time of its model, if that was asked for
    most: int  # candidates it tries
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
        """Seconds by the clock after which it is killed."""
        if self.share is None:
            return float("inf")
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
    clock: Clock
    best: Callable[[], str | None]  # the model that would be recommended now
    plane: dict[str, Any] | None = None
    memory_limit: float = 0.0
    stopping: int = 0  # Ctrl-C pressed so often
    out_of_time: bool = False
    in_order: bool = False  # the last round of the recommended model comes first
    left_out: bool = False  # something was not begun for want of time
    patience: float = float("inf")  # till then a round that was told to stop may end by itself
    active: list[Child] = field(default_factory=list)

    def run(self) -> None:
        """Until everything is done, failed, or stopped."""
        pending = deque(self.tasks())
        try:
            while pending or self.active:
                self.check_clock()
                if self.stopping or self.out_of_time:
                    self.drop(pending)
                while pending and len(self.active) < self.n_jobs:
                    self.begin(pending)
                self.wait()
        finally:
            for child in self.active:
                child.member.end()

    def begin(self, pending: deque[tuple[Contender, str]]) -> None:
        """The next round, if there is time for it."""
        if self.clock.limit is not None and pending[0][1] == FINAL and not self.in_order:
            self.recommended_first(pending)
        contender, fold = pending.popleft()
        if contender.id in self.memory.failed:
            return
        waiting = {c.id for c, f in pending if f != FINAL and c.id not in self.memory.failed}
        own = 1 + sum(c.id == contender.id for c, f in pending if f != FINAL)
        if fold == FINAL:  # its portrait takes about as long again
            most = self.clock.affordable(contender, self.n_jobs + 1, 1, [])
        else:
            busy = [self.clock.to_come(c.contender, c.most, c.age) for c in self.active]
            most = self.clock.affordable(contender, own, len(waiting | {contender.id}), busy)
        if most:
            self.launch(contender, fold, most)
        else:
            self.leave_out(contender, fold, own)

    def drop(self, pending: deque[tuple[Contender, str]]) -> None:
        """What will not be begun any more; the time limit is told as the reason."""
        if not self.stopping:
            folds = [c.id for c, f in pending if f != FINAL]
            for contender, fold in pending:
                if folds.count(contender.id) == len(self.plan.folds) and (
                    contender.id not in self.memory.failed
                ):
                    self.leave_out(contender, fold, len(self.plan.folds))
        pending.clear()

    def recommended_first(self, pending: deque[tuple[Contender, str]]) -> None:
        """Of the last rounds that of the model that would be recommended now matters most."""
        best, self.in_order = self.best(), True
        own = next((task for task in pending if task[0].id == best), None)
        if own is not None:
            pending.remove(own)
            pending.appendleft(own)

    def leave_out(self, contender: Contender, fold: str, rounds: int) -> None:
        """There is no time for it: said in its row, not in the journal, so that it can be continued."""
        self.left_out = True
        if fold == FINAL:
            return  # its scores stand
        needs = self.clock.round(contender, 1) * rounds / self.n_jobs
        done, folds = len(self.plan.folds) - rounds, len(self.plan.folds)
        what = f"{done} of {folds} folds done; the others need" if done else "not begun: it needs"
        why = f"{what} about {max(1.0, needs):.0f} s, {max(0.0, self.clock.left):.0f} s were left"
        record = {"event": "failed", "model": contender.id, "fold": fold, "how": "stopped"}
        self.memory.add({**record, "why": why})
        self.hear({**record, "why": why})
        self.end_others(contender.id)

    def do_without_last_round(self, model: str) -> None:
        """Take what the folds chose, because all must end; a continued run searches again."""
        known = self.without_search(model) | {"cut": not self.stopping}  # the time limit did it
        self.memory.add({"event": "done", "model": model, "fold": FINAL, **known})

    def others_scored(self) -> bool:
        """Whether a model other than the baseline has all its folds."""
        folds = [str(k) for k in range(len(self.plan.folds))]
        return any(
            all((c.id, fold) in self.memory.done for fold in folds)
            for c in self.plan.running
            if c.rank > 0 and c.id not in self.memory.failed
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
        self.patience = min(self.patience, time.monotonic() + PATIENCE)
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
        """Rounds have a fiftieth of the limit to stop by themselves."""
        limit = self.clock.limit
        if limit is None or self.out_of_time or self.clock.left > limit / 50:
            return
        self.out_of_time = True
        self.patience = min(self.patience, self.clock.fits_end)
        for child in self.active:
            self.ask_to_stop(child)

    def launch(
        self, contender: Contender, fold: str, most: int | None = None, hurry: bool = False
    ) -> None:
        train, test = (self.plan.train, self.plan.train[:0])
        if fold != FINAL:
            train, test = self.plan.folds[int(fold)]
        asked, rounds = self.plan.settings.model_timeout, len(self.plan.folds) + 1
        share = None if asked is None else asked / rounds
        planned = len(contender.candidates) if contender.most is None else contender.most
        most = planned if most is None else most
        seconds = min(
            float("inf") if share is None else share, self.clock.deadline(contender, most)
        )
        known = self.memory.candidates.get((contender.id, fold), {})
        job = Job(
            shared=self.shared, model=contender.id, estimator=contender.make(),
            foreign=contender.entry is None, dropped=contender.dropped,
            candidates=contender.candidates, fold=fold, train=train, test=test,
            metrics=self.plan.metrics, known=known, deadline=seconds, memory=self.memory_limit,
            parts=str(self.parts), portrait=self.plane if fold == FINAL else None, hurry=hurry,
            most=most, cut=most < planned,
        )  # fmt: skip
        member = self.crew.order(work, job, job.estimator)
        watch, now = Watch(member.process.pid), time.monotonic()
        self.active.append(Child(contender, fold, member, now, watch, share, most, hurry))
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
        unheeding = child.stopping and time.monotonic() > self.patience
        why = self.overdue(child)
        if not why and not unheeding:
            return True
        child.process.kill()
        child.ended = {"kind": "stopped"} if unheeding else {"kind": "late", "why": why}
        return False

    def overdue(self, child: Child) -> str:
        """Why a round must end now; without what it took, so that the row says the same everywhere."""
        if child.share is not None:
            late = child.age > child.limit
            return (
                f"one fold took more than {child.limit:.0f} s (raise --model-timeout)"
                if late
                else ""
            )
        child.watch.look()
        most = most_processor_seconds(self.plan)
        if child.watch.used > most:
            return (
                f"one fold used more than {most:.0f} s of processor time, far more than planned "
                "(--model-timeout gives it a time by the clock)"
            )
        if child.watch.idle > IDLE:
            return f"one fold did nothing for {IDLE:.0f} s"
        return ""

    def conclude(self, child: Child) -> None:
        """Write down how a child ended."""
        message = child.ended or {"kind": "died"}
        if child.contender.id in self.memory.failed:
            return  # another round of this model failed and ended this one
        if message["kind"] == "done":
            self.clock.note(child.contender, message, fits_of(self.plan, child.most), child.age)
            self.take("done", child, message)
        elif message["kind"] == "failed":
            self.fail(child, "failed", message["why"])
        elif child.fold == FINAL and not (child.stopping or self.stopping):
            self.settle(child)
        elif message["kind"] == "late" and self.can_hurry(child):
            self.launch(child.contender, child.fold, hurry=True)
        elif message["kind"] == "late":
            self.fail(child, "timed out", message["why"])
        elif message["kind"] == "died" and not (child.stopping or self.stopping):
            self.fail(child, "failed", _died(child))

    def settle(self, child: Child) -> None:
        """The last round did not end; the scores of the folds stand, and so does the model's row.

        Its settings are the best of those that were scored, else those that most folds chose.
        """
        self.take("done", child, self.without_search(child.contender.id))

    def without_search(self, model: str) -> dict[str, Any]:
        """What is known of a model whose last round has not ended."""
        best = chosen_by(self.plan, self.memory, model)
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
        self.end_others(model)

    def end_others(self, model: str) -> None:
        for other in self.active:
            if other.contender.id == model:
                other.process.kill()

    def take(self, event: str, child: Child, message: dict[str, Any]) -> None:
        facts = {key: value for key, value in message.items() if key != "kind"}
        record = self.journal.write(event, model=child.contender.id, fold=child.fold, **facts)
        self.memory.add(record)
        self.hear(record)


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
