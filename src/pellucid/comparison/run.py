"""One comparison from start to end: folder, journal, workers, leaderboard, test set, files.

Steps: 1. record the plan (or compare it with the run that is resumed); 2. share the table and run the
workers; 3. find the recommended model; 4. fit it on all training rows and score it on the test set, also
if Ctrl-C or a time limit ended the run, provided that a model other than the baseline has a score;
5. write results, timings, predictions and the log. Invariant: `results.json` is a function of the plan;
a run that is killed at any moment can be resumed to the same bytes. The additional data of the report
(`ReportData`) can fail without affecting the results.
"""

from __future__ import annotations

import pickle
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pellucid.comparison.analysis.leaderboard import apply_rules, compare_scored
from pellucid.comparison.analysis.out_of_fold import collect, log_text, timings_of, wide
from pellucid.comparison.analysis.pairs import Comparison
from pellucid.comparison.analysis.report_data import ReportData
from pellucid.comparison.checks.catalogue import Findings
from pellucid.comparison.execution import run_folder as files
from pellucid.comparison.execution.candidate_choice import reason
from pellucid.comparison.execution.fold_task import FINAL, FoldTask
from pellucid.comparison.execution.journal import Journal, RunState
from pellucid.comparison.execution.refit import Refitter
from pellucid.comparison.execution.scheduler import Scheduler
from pellucid.comparison.execution.time_limit import TimeBudget
from pellucid.comparison.execution.worker_data import SharedTable, share_table
from pellucid.comparison.execution.worker_pool import WorkerPool, collect_parts
from pellucid.comparison.final_fit import (
    FinalFitTask,
    details_incomplete,
    run_final_fit,
    run_refits,
)
from pellucid.comparison.planning.limits import final_fit_seconds, process_memory
from pellucid.comparison.planning.plan import Plan
from pellucid.comparison.planning.registry import BASELINES
from pellucid.comparison.result import Result, board_columns, to_json
from pellucid.comparison.results_json import describe
from pellucid.data.io.whole_file import write_whole
from pellucid.errors import DataError
from pellucid.parallel import get_threads

STOPPED_SECONDS = 5.0  # time for describing the final model after Ctrl-C

OnEvent = Callable[[dict[str, Any]], None]


class Interrupted(KeyboardInterrupt):
    """Ctrl-C was pressed twice: the run stopped at once and kept its journal."""


@dataclass
class Run:
    """A comparison in a folder."""

    plan: Plan
    folder: Path
    on_event: OnEvent
    findings: Findings
    config: str = ""
    began: float = field(default_factory=time.monotonic)  # start of the command
    journal: Journal = field(init=False)  # open while `run` runs
    report_data: ReportData = field(init=False)
    profile: dict[str, Any] = field(init=False)  # facts about the columns
    predictions: dict[str, dict[str, np.ndarray]] = field(init=False)  # out-of-fold, by model
    models: Comparison = field(init=False)  # the models against each other, as `best` found them

    def __post_init__(self) -> None:
        self.report_data = ReportData(self.plan, self.findings)

    @property
    def parts(self) -> Path:
        return self.folder / "parts"

    def run(self) -> Result:
        """Run all steps."""
        path = self.folder / "events.jsonl"
        if not path.exists():  # so that every run with a journal can be resumed
            self.write_config()
        self.journal = Journal(path)
        try:
            state = RunState.read(path)
            self.begin(state)
            self.profile = self.report_data.profile()
            pool = WorkerPool()
            with tempfile.TemporaryDirectory(prefix="pellucid-") as scratch, closing(pool):
                shared = share_table(self.plan, scratch)
                scheduler = self.make_scheduler(shared, state, pool)
                with interrupting(scheduler, self.on_event):
                    scheduler.run()
                    final_fit = self.end(shared, state, scheduler)
                if scheduler.stopping > 1:
                    self.journal.sync()
                    raise Interrupted
            seconds = time.monotonic() - self.began
            return self.conclude(state, scheduler, final_fit, seconds)
        finally:
            self.journal.close()

    # 1 -----------------------------------------------------------------------------------------

    def begin(self, state: RunState) -> None:
        """Record the plan, or check that it is the plan of the run that is resumed."""
        affecting_scores = self.plan.settings.affecting_scores()
        refuse_changes(state.start, self.plan)
        if state.start is not None:
            for record in (*state.done.values(), *state.failed.values()):
                self.on_event({**record, "recalled": True})
        else:
            self.journal.write(
                "start", key=self.plan.key(), sha256=self.plan.dataset.sha256,
                test_sha256=self.plan.dataset.test_sha256, settings=affecting_scores,
            )  # fmt: skip
        self.write_config()
        self.parts.mkdir(exist_ok=True)

    def write_config(self) -> None:
        """Write the settings, which a resumed run reads."""
        if self.config:
            write_whole(self.folder / "config.toml", self.config)

    # 2 -----------------------------------------------------------------------------------------

    def make_scheduler(self, shared: SharedTable, state: RunState, pool: WorkerPool) -> Scheduler:
        """The scheduler of all rounds, with the limits on time and memory."""
        settings = self.plan.settings
        n_jobs = settings.jobs or get_threads()
        return Scheduler(
            self.plan, shared, self.journal, state, self.parts, n_jobs, self.on_event,
            pool, TimeBudget(self.plan, n_jobs, self.began), lambda: self.best(state),
            plane=self.profile["plane"],
            memory_limit=process_memory(settings, n_jobs),
        )  # fmt: skip

    # 3 -----------------------------------------------------------------------------------------

    def best(self, state: RunState) -> str | None:
        """The model that the scores so far recommend; keeps what the choice follows from, for step 5."""
        self.predictions = collect(self.plan, state, self.parts)
        self.models = compare_scored(self.plan, state, self.predictions)
        return apply_rules(self.plan, self.models).recommended

    # 4 -----------------------------------------------------------------------------------------

    def end(self, shared: SharedTable, state: RunState, scheduler: Scheduler) -> dict[str, Any]:
        """Fit, save and test the recommended model, also if the run was stopped."""
        best = self.best(state)
        partial = scheduler.stopping or scheduler.out_of_time or scheduler.skipped_for_time
        nothing_learned = (
            best == BASELINES[self.plan.dataset.task] and not scheduler.others_scored()
        )
        if scheduler.stopping > 1 or best is None or (partial and nothing_learned):
            return {}
        if (best, FINAL) not in state.done:  # the run ended before its final round
            scheduler.skip_final_search(best)
        test_set_id, chosen = self.plan.test_set_id(), state.done[best, FINAL]["best"]
        if len(self.plan.test) and not state.opened_for(best, chosen):
            opened = {"vault": test_set_id, "model": best, "candidate": chosen}
            state.add(self.journal.write("opened", **opened))
        self.on_event({"event": "finishing", "model": best})
        try:
            final_fit = self.fit_recommended(shared, state, scheduler, best)
        except Exception as error:  # the leaderboard is valid without it
            final_fit = {"kind": "failed", "why": reason(error)}
        if scheduler.stopping > 1:
            return {}
        self.report_data.failed_parts(final_fit)
        final_fit["openings"] = (
            files.openings(self.folder, test_set_id) if len(self.plan.test) else 0
        )
        return final_fit

    def fit_recommended(
        self, shared: SharedTable, state: RunState, scheduler: Scheduler, best: str
    ) -> dict[str, Any]:
        """The result of the final fit in its worker process."""
        refitter = Refitter.of(self.plan, state, self.predictions)
        memory, plane = scheduler.memory_limit, self.profile["plane"]
        task = FinalFitTask(
            fold_task=refitter.task(best, shared, memory=memory, plane=plane),
            path=str(self.folder / "model.pellucid"),
            provenance=refitter.provenance(best),
            additions=refitter.additions[best],
            rows=self.report_data.pick(self.predictions.get(best)),
            folds=self.plan.folds,
            details_incomplete=details_incomplete(state.done[best, FINAL]),
            importances=state.done[best, FINAL]["portrait"].get("importances"),
            fold_tasks=self.fold_tasks(refitter, scheduler, best, shared),
            intervals=self.plan.settings.intervals,
            apart=scheduler.n_jobs > 1,
        )
        entries = (run_final_fit, run_refits)[: 1 + task.apart]
        workers = [scheduler.pool.submit(f, task, task.fold_task.estimator) for f in entries]
        budget = scheduler.budget
        seconds, more = final_fit_seconds(self.plan)
        if budget.limit is not None:  # describing the model must leave time for the report
            left = budget.end - budget.report - time.monotonic()
            seconds, more = max(budget.limit / 20, left), max(0.2, left)
        if scheduler.stopping:
            more = min(more, STOPPED_SECONDS)
        latest = budget.end - budget.report
        found: dict[str, Any] = {}
        for worker in workers:  # the parts of the second one may follow a little later
            parts = collect_parts(worker, seconds, more, lambda: scheduler.stopping > 1, latest)
            found = joined(found, parts) if found else parts
        return found

    def fold_tasks(
        self, refitter: Refitter, scheduler: Scheduler, best: str, shared: SharedTable
    ) -> list[FoldTask]:
        """The fold models to store; none for a model of another package, or if the time is over."""
        budget = scheduler.budget
        fits = [scheduler.state.done[best, str(k)] for k in range(len(refitter.by_fold[best]))]
        seconds = 2 * sum(record["fit_seconds"] or 0.0 for record in fits)
        if scheduler.stopping or budget.end - budget.report - time.monotonic() < seconds:
            return []
        foreign = refitter.contender(best).entry is None
        return [] if foreign else refitter.fold_tasks(best, shared)

    # 5 -----------------------------------------------------------------------------------------

    def conclude(
        self, state: RunState, scheduler: Scheduler, final_fit: dict[str, Any], seconds: float
    ) -> Result:
        """Write all files, then collect the additional data of the report."""
        out_of_time = scheduler.out_of_time or scheduler.skipped_for_time
        stopped = "Ctrl-C" if scheduler.stopping else "time limit" if out_of_time else ""
        data = describe(
            self.plan,
            state,
            self.models,
            self.findings.plain(),
            final_fit,
            stopped,
            self.predictions,
        )
        timings = {**timings_of(state), "total": seconds}
        if final_fit:
            timings["openings"] = final_fit["openings"]
        predictions = self.predictions
        texts = {
            "log.txt": log_text(state, data["recommended"], final_fit),
            "timings.json": to_json(timings), "results.json": to_json(data),
        }  # fmt: skip
        unwritten = self.write_down(data, predictions, texts, finished=not stopped)
        self.on_event({"event": "reporting"})
        # The user's own model has no file, it is sent.
        pickled = final_fit.pop("pickled", None) or pickle.dumps(None)
        own = self.report_data.attempt(
            "your own fitted model", lambda: pickle.loads(pickled), instead=None
        )
        picked = self.report_data.pick(predictions.get(data["recommended"]))
        return Result(
            data, timings, predictions, model_details_of(state, data["recommended"], final_fit),
            self.folder, self.plan.dataset.container,
            model=own, finish=final_fit, unwritten=unwritten,
            details=self.report_data.details(state, self.profile, picked, self.config),
            notes=list(dict.fromkeys(self.report_data.notes)),
            refitter=Refitter.of(self.plan, state, self.predictions),
        )  # fmt: skip

    def write_down(
        self, data: dict[str, Any], predictions: dict[str, Any], texts: dict[str, str], *,
        finished: bool,
    ) -> str:  # fmt: skip
        """Write all files; return the reason if one cannot be written."""
        from pellucid.data.io.write import write

        try:
            write(board_columns(data), str(self.folder / "leaderboard.csv"))
            write(wide(self.plan, predictions), str(self.folder / "predictions.parquet"))
            for name, text in texts.items():
                write_whole(self.folder / name, text)
            if finished:
                self.journal.write("finished")
                self.journal.sync()
        except OSError as error:
            return error.strerror or str(error)
        return ""


def model_details_of(
    state: RunState, best: str | None, final_fit: dict[str, Any]
) -> dict[str, Any]:
    """The description of each model; the recommended one may have a more complete one."""
    done = state.done.items()
    found = {model: record["portrait"] for (model, fold), record in done if fold == FINAL}
    if best is not None and final_fit.get("portrait"):
        found[best] = final_fit.pop("portrait")
    return found


def joined(final_fit: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """The result of the final fit with the parts of the second worker, if the fit worked."""
    if final_fit["kind"] != "done":
        return final_fit
    failed = final_fit.get("failed_parts", {}) | more.get("failed_parts", {})
    own = {name: part for name, part in more.items() if name not in ("kind", "why", "complete")}
    return final_fit | own | ({"failed_parts": failed} if failed else {})


@contextmanager
def interrupting(scheduler: Scheduler, on_event: OnEvent) -> Iterator[None]:
    """Ctrl-C stops the scheduler after the current candidates the first time, at once the second."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def pressed(number: int, frame: Any) -> None:
        scheduler.stop()
        on_event({"event": "stopping", "times": scheduler.stopping})

    before = signal.signal(signal.SIGINT, pressed)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def refuse_changes(start: dict[str, Any] | None, plan: Plan) -> None:
    """Raise an error unless the table, settings and models are those of the run to resume."""
    if start is None or start["key"] == plan.key():
        return
    old, new = start["settings"], plan.settings.affecting_scores()
    lines = [
        f"{name}: {old.get(name)!r} -> {new.get(name)!r}"
        for name in sorted({*old, *new})
        if old.get(name) != new.get(name)
    ]
    for name, key in (("test file", "test_sha256"), ("data", "sha256")):
        was, now = start.get(key, ""), getattr(plan.dataset, key)
        if was != now:
            lines.insert(0, f"{name}: {was[:12] or 'none'} -> {now[:12] or 'none'}")
    changes = "; ".join(lines) or "the models or their search spaces (another version of Pellucid)"
    raise DataError(
        f"cannot resume this run, because something changed: {changes}. Undo the change, or start a "
        "new run without --resume."
    )
