"""One comparison from start to end: folder, journal, children, board, test part, files.

Steps: 1. write the plan down (or check it against the one that is continued); 2. share the table and
run the children; 3. make the board; 4. fit the recommended model and open the test part: when all is
done, and likewise when Ctrl-C or a time limit ended the run while a model other than the baseline had
its score; 5. write results, timings, predictions and the log. Invariant: `results.json` is a function
of the plan; a run that is killed at any moment can be continued to the same bytes. What a report
tells beside the results can fail without harm to them (`aside`).
"""

from __future__ import annotations

import pickle
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pellucid.comparison.analysis.leaderboard import evidence, verdict
from pellucid.comparison.analysis.out_of_fold import collect, log_text, timings_of, wide
from pellucid.comparison.analysis.report_data import Aside
from pellucid.comparison.checks.catalogue import Findings
from pellucid.comparison.execution import run_folder as files
from pellucid.comparison.execution.fold_task import FINAL, reason
from pellucid.comparison.execution.journal import Journal, Memory
from pellucid.comparison.execution.refit import Keeper, share
from pellucid.comparison.execution.scheduler import Runner
from pellucid.comparison.execution.time_limit import Clock
from pellucid.comparison.execution.worker_data import Shared
from pellucid.comparison.execution.worker_pool import Crew, Question
from pellucid.comparison.final_fit import Finish, finish, hurried
from pellucid.comparison.planning.limits import last_fit_seconds, process_memory
from pellucid.comparison.planning.plan import Plan
from pellucid.comparison.planning.registry import BASELINES
from pellucid.comparison.result import Result, board_columns, to_json
from pellucid.comparison.results_json import describe
from pellucid.errors import DataError
from pellucid.parallel import get_threads

HURRY = 5.0  # seconds for what is told of the kept model beyond its scores, after Ctrl-C

Hear = Callable[[dict[str, Any]], None]


class Interrupted(KeyboardInterrupt):
    """Ctrl-C was pressed twice: stopped at once; the journal is kept."""


@dataclass
class Session:
    """A run in a folder."""

    plan: Plan
    folder: Path
    hear: Hear
    findings: Findings
    config: str = ""
    began: float = field(default_factory=time.monotonic)  # of the command, by the same clock
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def parts(self) -> Path:
        return self.folder / "parts"

    def run(self) -> Result:
        """All steps."""
        path = self.folder / "events.jsonl"
        self.journal = Journal(path)
        try:
            memory = Memory.read(path)
            self.begin(memory)
            self.aside = Aside(self.plan, self.findings)
            self.profile = self.aside.profile()
            crew = Crew()
            with tempfile.TemporaryDirectory(prefix="pellucid-") as scratch, closing(crew):
                shared = self.share(scratch)
                runner = self.runner(shared, memory, crew)
                with interrupting(runner, self.hear):
                    runner.run()
                    ended = self.end(shared, memory, runner)
                if runner.stopping > 1:
                    self.journal.sync()
                    raise Interrupted
            self.seconds["total"] = time.monotonic() - self.began
            return self.conclude(memory, runner, ended)
        finally:
            self.journal.close()

    def best(self, memory: Memory) -> str | None:
        """The recommended model, by what is known now."""
        self.answers = collect(self.plan, memory, self.parts)
        self.found = evidence(self.plan, memory, self.answers)
        return verdict(self.plan, self.found).recommended

    # 1 -----------------------------------------------------------------------------------------

    def begin(self, memory: Memory) -> None:
        """Write down what is run, or make sure that the same is continued."""
        scoring = self.plan.settings.scoring()
        if memory.start is not None:
            refuse_changes(memory.start, self.plan)
            for record in (*memory.done.values(), *memory.failed.values()):
                self.hear({**record, "recalled": True})
        else:
            self.journal.write(
                "start", key=self.plan.key(), sha256=self.plan.material.sha256,
                test_sha256=self.plan.material.test_sha256, settings=scoring,
            )  # fmt: skip
        if self.config:
            files.write_whole(self.folder / "config.toml", self.config)
        self.parts.mkdir(exist_ok=True)

    # 2 -----------------------------------------------------------------------------------------

    def share(self, scratch: str) -> Shared:
        """The table where children find it."""
        try:
            return share(self.plan, scratch)
        except OSError as error:
            raise DataError(f"cannot write to {scratch}: {error.strerror or error}.") from None

    def runner(self, shared: Shared, memory: Memory, crew: Crew) -> Runner:
        settings = self.plan.settings
        n_jobs = settings.jobs or get_threads()
        return Runner(
            self.plan, shared, self.journal, memory, self.parts, n_jobs, self.hear,
            crew, Clock(self.plan, n_jobs, self.began), lambda: self.best(memory),
            plane=self.profile["plane"],
            memory_limit=process_memory(settings, n_jobs),
        )  # fmt: skip

    # 4 -----------------------------------------------------------------------------------------

    def end(self, shared: Shared, memory: Memory, runner: Runner) -> dict[str, Any]:
        """Fit, keep and test the recommended model, also of a run that was stopped."""
        best = self.best(memory)
        partial = runner.stopping or runner.out_of_time or runner.left_out
        nothing_learned = best == BASELINES[self.plan.material.task] and not runner.others_scored()
        if runner.stopping > 1 or best is None or (partial and nothing_learned):
            return {}
        if (best, FINAL) not in memory.done:  # the end came before its last round
            runner.do_without_last_round(best)
        vault, chosen = self.plan.vault(), memory.done[best, FINAL]["best"]
        # The same model on the same rows again tells nothing new.
        known = {"model": best, "candidate": chosen}
        if len(self.plan.test) and not any(known.items() <= o.items() for o in memory.openings):
            memory.add(self.journal.write("opened", vault=vault, **known))
        self.hear({"event": "finishing", "model": best})
        try:
            ended = self.kept(shared, memory, runner, best)
        except Exception as error:  # the board is valid without it
            ended = {"kind": "failed", "why": reason(error)}
        if runner.stopping > 1:
            return {}
        self.aside.failed_parts(ended)
        ended["openings"] = files.openings(self.folder, vault) if len(self.plan.test) else 0
        return ended

    def kept(self, shared: Shared, memory: Memory, runner: Runner, best: str) -> dict[str, Any]:
        """What the process tells that fits the recommended model."""
        task = self.finish_task(shared, memory, best, runner.memory_limit)
        member, clock = runner.crew.order(finish, task, task.job.estimator), runner.clock
        seconds, more = last_fit_seconds(self.plan)
        if clock.limit is not None:  # what is told beside the scores must leave time for the report
            left = clock.end - clock.report - time.monotonic()
            seconds, more = max(clock.limit / 20, left), max(0.2, left)
        if runner.stopping:
            more = min(more, HURRY)
        asked = Question(member, seconds, more, lambda: runner.stopping > 1)
        return asked.answer(clock.end - clock.report)

    def finish_task(self, shared: Shared, memory: Memory, best: str, limit: float) -> Finish:
        keeper = Keeper.of(self.plan, memory)
        job = keeper.job(best, shared, limit, str(self.parts))
        return Finish(
            job=replace(job, portrait=self.profile["plane"]),
            params=keeper.params(best),
            path=str(self.folder / "model.pellucid"),
            provenance=keeper.provenance(best),
            rows=self.aside.pick(self.answers.get(best)),
            folds=self.plan.folds,
            hurried=hurried(memory.done[best, FINAL]),
        )

    # 5 -----------------------------------------------------------------------------------------

    def conclude(self, memory: Memory, runner: Runner, ended: dict[str, Any]) -> Result:
        """Write everything down, then gather what a report tells beside it."""
        out_of_time = runner.out_of_time or runner.left_out
        stopped = "Ctrl-C" if runner.stopping else "time limit" if out_of_time else ""
        data = describe(self.plan, memory, self.found, self.findings.plain(), ended, stopped)
        timings = {**timings_of(memory), **self.seconds}
        if ended:
            timings["openings"] = ended["openings"]
        predictions = self.answers
        texts = {
            "log.txt": log_text(memory, data["recommended"], ended),
            "timings.json": to_json(timings), "results.json": to_json(data),
        }  # fmt: skip
        unwritten = self.write_down(data, predictions, texts, finished=not stopped)
        self.hear({"event": "reporting"})
        own = self.own_model(ended)
        picked = self.aside.pick(predictions.get(data["recommended"]))
        return Result(
            data, timings, predictions, portraits_of(memory, data["recommended"], ended),
            self.folder, self.plan.material.container,
            model=own, finish=ended, unwritten=unwritten,
            details=self.aside.details(memory, self.profile, picked, self.config),
            notes=list(dict.fromkeys(self.aside.notes)), keeper=Keeper.of(self.plan, memory),
        )  # fmt: skip

    def write_down(
        self, data: dict[str, Any], predictions: dict[str, Any], texts: dict[str, str], *,
        finished: bool,
    ) -> str:  # fmt: skip
        """All files of the results; if one cannot be written why, for the board must not be lost."""
        try:
            self.write_tables(data, predictions)
            for name, text in texts.items():
                files.write_whole(self.folder / name, text)
            if finished:
                self.journal.write("finished")
                self.journal.sync()
        except OSError as error:
            return error.strerror or str(error)
        return ""

    def own_model(self, ended: dict[str, Any]) -> Any:
        """The kept model if the user's class made it, in our own child."""
        own = ended.pop("pickled", None)
        if own is None:
            return None
        return self.aside.attempt("the model of your own class", lambda: pickle.loads(own), None)

    def write_tables(self, data: dict[str, Any], predictions: dict[str, Any]) -> None:
        from pellucid.data.io.write import write

        write(board_columns(data), str(self.folder / "leaderboard.csv"))
        write(wide(self.plan, predictions), str(self.folder / "predictions.parquet"))


def portraits_of(memory: Memory, best: str | None, ended: dict[str, Any]) -> dict[str, Any]:
    """By model; that of the kept one may have been made again, with more time."""
    done = memory.done.items()
    found = {model: record["portrait"] for (model, fold), record in done if fold == FINAL}
    if best is not None and ended.get("portrait"):
        found[best] = ended.pop("portrait")
    return found


@contextmanager
def interrupting(runner: Runner, hear: Hear) -> Iterator[None]:
    """Ctrl-C stops the runner gently the first time, at once the second time."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def pressed(number: int, frame: Any) -> None:
        runner.stop()
        hear({"event": "stopping", "times": runner.stopping})

    before = signal.signal(signal.SIGINT, pressed)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def refuse_other(folder: Path, plan: Plan) -> None:
    """As `refuse_changes`, for a run that has ended."""
    start = Memory.read(folder / "events.jsonl").start
    if start is not None:
        refuse_changes(start, plan)


def refuse_changes(start: dict[str, Any], plan: Plan) -> None:
    """A run is continued only with the same table, settings and models."""
    if start["key"] == plan.key():
        return
    old, new = start["settings"], plan.settings.scoring()
    lines = [
        f"{name}: {old.get(name)!r} -> {new.get(name)!r}"
        for name in sorted({*old, *new})
        if old.get(name) != new.get(name)
    ]
    for name, key in (("test file", "test_sha256"), ("data", "sha256")):
        was, now = start.get(key, ""), getattr(plan.material, key)
        if was != now:
            lines.insert(0, f"{name}: {was[:12] or 'none'} -> {now[:12] or 'none'}")
    said = "; ".join(lines) or "the models or their search spaces (another version of Pellucid)"
    raise DataError(
        f"cannot continue this run, something changed: {said}. Undo the change, or start a new run "
        "without --resume."
    )
