"""Runs a plan: workers do the fits, this process writes the journal and watches the time.

Each (model, fold) is one task, called a round. Cheap models run first. The final round of each model
(a fit on all training rows) comes after all folds, so that scores are available early.

- The plan limits the work of each model in advance (`limits`); a worker that far exceeds it is killed.
- With `--model-timeout`, each round has an equal share of that time. A search stops between two
  candidates when its share is over. A worker that still runs after 1.5 shares is killed; if its search
  has scored a candidate, the round is repeated with the best of these alone.
- With `--time-limit`, a `TimeBudget` decides which rounds may still start. When the time is over, or
  after Ctrl-C, rounds are asked to stop, and killed a little later.
- If a final round does not end, the model loses its description but keeps its scores.

Invariant: whatever a worker does (raise, hang, die, use up memory), the others finish, and the row of
the model gives the reason why it has no score.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from math import inf
from multiprocessing import connection
from pathlib import Path
from typing import Any

from pellucid.comparison.analysis.out_of_fold import final_choice
from pellucid.comparison.execution.blend_task import blend_work, blended_models
from pellucid.comparison.execution.fold_task import FINAL, FoldTask, work
from pellucid.comparison.execution.inner_search import part_path
from pellucid.comparison.execution.journal import Journal, RunState
from pellucid.comparison.execution.time_limit import TimeBudget
from pellucid.comparison.execution.worker_data import SharedTable
from pellucid.comparison.execution.worker_pool import Worker, WorkerPool
from pellucid.comparison.planning.limits import IDLE, ProcessWatch, max_cpu_seconds
from pellucid.comparison.planning.plan import Contender, Plan
from pellucid.comparison.planning.time_estimate import cheap_first

GRACE = 1.5  # multiple of its time share after which a worker is killed
MIN_KILL_SECONDS = 5.0  # no worker is killed earlier
STOP_SECONDS = 10.0  # time that a round has to stop by itself after Ctrl-C


@dataclass
class RunningTask:
    """A round that is running, and its worker."""

    contender: Contender
    fold: str
    worker: Worker
    started: float
    watch: ProcessWatch
    share: float | None  # its share of --model-timeout in seconds, if that is set
    most: int  # number of candidates that it tries
    best_known_only: bool = False  # it fits the best known candidate without further search
    stopping: bool = False
    ended: dict[str, Any] | None = None

    @property
    def channel(self) -> Any:
        return self.worker.channel

    @property
    def process(self) -> Any:
        return self.worker.process

    @property
    def limit(self) -> float:
        """Wall-clock seconds after which it is killed."""
        if self.share is None:
            return inf
        # The final round also describes the model, whose scores are already known.
        grace = 2 * GRACE if self.fold == FINAL else GRACE
        return max(grace * self.share, MIN_KILL_SECONDS)

    @property
    def age(self) -> float:
        return time.monotonic() - self.started


@dataclass
class Scheduler:
    """Runs all rounds of a plan; `on_event` is called with every event, to show progress."""

    plan: Plan
    shared: SharedTable
    journal: Journal
    state: RunState
    parts: Path
    n_jobs: int
    on_event: Callable[[dict[str, Any]], None]
    pool: WorkerPool
    budget: TimeBudget
    best: Callable[[], str | None]  # the model that would be recommended at this point
    plane: dict[str, Any] | None = None
    memory_limit: float = 0.0
    stopping: int = 0  # how many times Ctrl-C was pressed
    out_of_time: bool = False
    recommended_moved: bool = False  # whether the recommended model's final round is at the front
    skipped_for_time: bool = False  # whether some round did not start because of the time limit
    stop_deadline: float = inf  # until then a round that was asked to stop may end by itself
    active: list[RunningTask] = field(default_factory=list)

    def run(self) -> None:
        """Run until all rounds are done, failed or stopped."""
        pending = deque(self.tasks())
        try:
            while pending or self.active:
                self.check_clock()
                if self.stopping or self.out_of_time:
                    self.drop(pending)
                while len(self.active) < self.n_jobs and self.ready_first(pending):
                    self.begin(pending)
                self.wait()
        finally:
            for running in self.active:
                running.worker.end()

    def ready_first(self, pending: deque[tuple[Contender, str]]) -> bool:
        """Move the first round that can start to the front (with a time limit only the first one)."""
        some = list(pending)[: None if self.budget.limit is None else 1]
        found = next((task for task in some if self.ready(task)), None)
        if found is not None:
            pending.remove(found)
            pending.appendleft(found)
        return found is not None

    def ready(self, task: tuple[Contender, str]) -> bool:
        """Whether all is complete that a round reads: a blend the folds of all other models, a final
        round the searches of its own folds.
        """
        contender, fold = task
        others = any(c.fold != FINAL and not c.contender.blends for c in self.active)
        if contender.blends and others:
            return False
        return fold != FINAL or all(c.contender.id != contender.id for c in self.active)

    def begin(self, pending: deque[tuple[Contender, str]]) -> None:
        """Start the next round, if there is time for it."""
        if self.budget.limit is not None and pending[0][1] == FINAL and not self.recommended_moved:
            self.recommended_first(pending)
        contender, fold = pending.popleft()
        if contender.id in self.state.failed:
            return
        waiting = {c.id for c, f in pending if f != FINAL and c.id not in self.state.failed}
        own = 1 + sum(c.id == contender.id for c, f in pending if f != FINAL)
        if fold == FINAL:  # describing the model takes about as long again
            most = self.budget.affordable(contender, self.n_jobs + 1, 1, [])
        else:
            busy = [self.budget.remaining_seconds(c.contender, c.most, c.age) for c in self.active]
            most = self.budget.affordable(contender, own, len(waiting | {contender.id}), busy)
        if most:
            self.launch(contender, fold, most)
        else:
            self.skip_for_time(contender, fold, own)

    def drop(self, pending: deque[tuple[Contender, str]]) -> None:
        """Drop the rounds that have not started; models without any round report the time limit."""
        if not self.stopping:
            folds = [c.id for c, f in pending if f != FINAL]
            for contender, fold in pending:
                if folds.count(contender.id) == len(self.plan.folds) and (
                    contender.id not in self.state.failed
                ):
                    self.skip_for_time(contender, fold, len(self.plan.folds))
        pending.clear()

    def recommended_first(self, pending: deque[tuple[Contender, str]]) -> None:
        """Move the final round of the currently recommended model to the front."""
        best, self.recommended_moved = self.best(), True
        own = next((task for task in pending if task[0].id == best), None)
        if own is not None:
            pending.remove(own)
            pending.appendleft(own)

    def skip_for_time(self, contender: Contender, fold: str, rounds: int) -> None:
        """Skip a round because of the time limit.

        The reason is in the row of the model but not in the journal, so that the run can be resumed.
        """
        self.skipped_for_time = True
        if fold == FINAL:
            return  # its scores are valid
        needs = self.budget.round(contender, 1) * rounds / self.n_jobs
        done, folds = len(self.plan.folds) - rounds, len(self.plan.folds)
        what = f"{done} of {folds} folds done; the rest needs" if done else "not started: it needs"
        left = max(0.0, self.budget.left)
        why = f"{what} about {max(1.0, needs):.0f} s, but only {left:.0f} s were left"
        record = {
            "event": "failed",
            "model": contender.id,
            "fold": fold,
            "how": "stopped",
            "why": why,
        }
        self.state.add(record)
        self.on_event(record)
        self.end_others(contender.id)

    def skip_final_search(self, model: str) -> None:
        """Use what the folds chose, because the run must end; a resumed run searches again."""
        # "cut" means that the time limit ended the search.
        known = self.without_final_search(model) | {"cut": not self.stopping}
        self.state.add({"event": "done", "model": model, "fold": FINAL, **known})

    def others_scored(self) -> bool:
        """Whether a model other than the baseline has completed all folds."""
        n_folds, others = len(self.plan.folds), [c for c in self.plan.running if c.rank > 0]
        return any(self.state.completed(c.id, n_folds) for c in others)

    def tasks(self) -> list[tuple[Contender, str]]:
        """The remaining rounds, in order."""
        folds = [str(k) for k in range(len(self.plan.folds))]
        models = cheap_first(self.plan)
        rounds = [(c, f) for c in models for f in folds] + [(c, FINAL) for c in models]
        return [(c, f) for c, f in rounds if not self.is_done(c.id, f)]

    def is_done(self, model: str, fold: str) -> bool:
        if model in self.state.failed:
            return True
        there = fold == FINAL or part_path(self.parts, model, fold).exists()
        return there and (model, fold) in self.state.done

    def stop(self) -> None:
        """Ctrl-C: the first time, rounds end after the current candidate; the second time, at once."""
        self.stopping += 1
        self.stop_deadline = min(self.stop_deadline, time.monotonic() + STOP_SECONDS)
        for running in self.active:
            if self.stopping > 1:
                running.process.kill()
            else:
                self.ask_to_stop(running)

    def ask_to_stop(self, running: RunningTask) -> None:
        running.stopping = True
        with suppress(OSError):  # it may have just ended
            running.channel.send("stop")

    def check_clock(self) -> None:
        """When the time is over, ask all rounds to stop; they have a fiftieth of the limit to do so."""
        limit = self.budget.limit
        if limit is None or self.out_of_time or self.budget.left > limit / 50:
            return
        self.out_of_time = True
        self.stop_deadline = min(self.stop_deadline, self.budget.fits_end)
        for running in self.active:
            self.ask_to_stop(running)

    def launch(
        self, contender: Contender, fold: str, most: int, best_known_only: bool = False
    ) -> None:
        """Start a round that tries `most` candidates."""
        timeout, planned = self.plan.settings.model_timeout, contender.n_planned
        share = None if timeout is None else timeout / (len(self.plan.folds) + 1)
        seconds = min(inf if share is None else share, self.budget.deadline(contender, most))
        known = self.state.candidates.get((contender.id, fold), {})
        best, tuned = 0, dict[str, Any]()
        if fold == FINAL:
            best, tuned = final_choice(self.plan, self.state, contender.id)
        task = FoldTask.of(
            self.plan, contender, fold, self.shared, deadline=seconds, memory=self.memory_limit,
            parts=str(self.parts), known=known, plane=self.plane if fold == FINAL else None,
            best_known_only=best_known_only, max_candidates=most, best=best, tuned=tuned,
            cut=most < planned and fold != FINAL,
            blended=blended_models(self.plan, self.state, fold) if contender.blends else (),
        )  # fmt: skip
        worker = self.pool.submit(blend_work if contender.blends else work, task, task.estimator)
        watch, now = ProcessWatch(worker.process.pid), time.monotonic()
        self.active.append(
            RunningTask(contender, fold, worker, now, watch, share, most, best_known_only)
        )
        self.on_event({"event": "started", "model": contender.id, "fold": fold})

    def wait(self) -> None:
        """Process the messages of the workers; return at least ten times a second."""
        channels = {running.channel: running for running in self.active}
        if not channels:
            return
        for channel in connection.wait(list(channels), timeout=0.1):
            self.receive(channels[channel])
        for running in [c for c in self.active if not self.alive(c)]:
            self.active.remove(running)
            self.release(running)
            self.conclude(running)

    def release(self, running: RunningTask) -> None:
        """Keep a worker that completed its task; replace any other."""
        if (running.ended or {}).get("kind") == "done" and not running.stopping:
            self.pool.idle.append(running.worker)
        else:
            running.process.join(timeout=1 if running.ended else None)
            running.worker.end()

    def receive(self, running: RunningTask) -> None:
        try:
            while running.channel.poll():
                message = running.channel.recv()
                if message["kind"] == "candidate":
                    self.write_event("candidate", running, message)
                else:
                    running.ended = message
        except (EOFError, OSError):
            if running.ended is None:
                running.process.join()
                running.ended = {"kind": "died"}

    def alive(self, running: RunningTask) -> bool:
        if running.ended is not None:
            return False
        unheeding = running.stopping and time.monotonic() > self.stop_deadline
        why = self.overdue(running)
        if not why and not unheeding:
            return True
        running.process.kill()
        running.ended = {"kind": "stopped"} if unheeding else {"kind": "late", "why": why}
        return False

    def overdue(self, running: RunningTask) -> str:
        """Why a round must end now; it names the limit, not the time used, so it is repeatable."""
        if running.share is not None:
            if running.age <= running.limit:
                return ""
            return f"one fold took more than {running.limit:.0f} s (raise --model-timeout)"
        running.watch.look()
        most = max_cpu_seconds(self.plan)
        if running.watch.used > most:
            return (
                f"one fold used more than {most:.0f} s of CPU time, far more than planned "
                "(--model-timeout sets a wall-clock limit instead)"
            )
        if running.watch.idle > IDLE:
            return f"one fold used no CPU time for {IDLE:.0f} s"
        return ""

    def conclude(self, running: RunningTask) -> None:
        """Record how a round ended."""
        message = running.ended or {"kind": "died"}
        if running.contender.id in self.state.failed:
            return  # another round of this model failed and ended this one
        if message["kind"] == "done":
            fits = self.plan.work_of_round(running.contender, running.most)
            self.budget.record(running.contender, message, fits, running.age)
            self.write_event("done", running, message)
        elif message["kind"] == "failed":
            self.fail(running, "failed", message["why"])
        elif running.fold == FINAL and not (running.stopping or self.stopping):
            # Its scores are valid.
            self.write_event("done", running, self.without_final_search(running.contender.id))
        elif message["kind"] == "late" and self.can_refit_best(running):
            own = running.contender
            self.launch(own, running.fold, own.n_planned, best_known_only=True)
        elif message["kind"] == "late":
            self.fail(running, "timed out", message["why"])
        elif message["kind"] == "died" and not (running.stopping or self.stopping):
            self.fail(running, "failed", _died(running))

    def without_final_search(self, model: str) -> dict[str, Any]:
        """The record of a model whose final round has not ended."""
        best, tuned = final_choice(self.plan, self.state, model)
        return {
            "best": best, "tuned": tuned, "cut": True, "fit_seconds": None, "portrait": {},
            "warnings": [],
        }  # fmt: skip

    def can_refit_best(self, running: RunningTask) -> bool:
        """Whether the search of a killed round had scored a candidate that can be fitted instead."""
        known = self.state.candidates.get((running.contender.id, running.fold), {})
        scored = any(record["scores"] for record in known.values())
        return scored and not (running.best_known_only or self.stopping or self.out_of_time)

    def fail(self, running: RunningTask, how: str, why: str) -> None:
        self.write_event("failed", running, {"how": how, "why": why})
        self.end_others(running.contender.id)

    def end_others(self, model: str) -> None:
        for other in self.active:
            if other.contender.id == model:
                other.process.kill()

    def write_event(self, event: str, running: RunningTask, message: dict[str, Any]) -> None:
        facts = {key: value for key, value in message.items() if key != "kind"}
        record = self.journal.write(event, model=running.contender.id, fold=running.fold, **facts)
        self.state.add(record)
        self.on_event(record)


def _died(running: RunningTask) -> str:
    code = running.process.exitcode
    if code in (-9, 137):
        return "its process was killed, perhaps because memory ran out"
    if running.worker.main:
        return (
            f"its process ended (exit code {code}). Part of the model is defined in the script or "
            "notebook: move it to a module, or put the script's calls under "
            "if __name__ == '__main__'"
        )
    return f"its process ended (exit code {code})"
