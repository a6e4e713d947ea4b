"""One comparison from start to end: folder, journal, children, board, test part, files.

Steps: 1. write the plan down (or check it against the one that is continued); 2. share the table and
run the children; 3. make the board; 4. fit the recommended model and open the test part, if the run
is complete; 5. write results, timings, predictions and the log. Invariant: `results.json` is a
function of the plan; a run that is killed at any moment can be continued to the same bytes.
"""

from __future__ import annotations

import os
import pickle
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pellucid.compare import folder as files
from pellucid.compare import rows as single
from pellucid.compare.bench import Shared
from pellucid.compare.board import evidence, verdict
from pellucid.compare.checks import Findings
from pellucid.compare.crew import Crew, Question
from pellucid.compare.describe import describe
from pellucid.compare.finish import Finish, finish, hurried
from pellucid.compare.job import FINAL, Job
from pellucid.compare.journal import Journal, Memory
from pellucid.compare.ledger import collect, log_text, searches, timings_of, wide
from pellucid.compare.plan import Plan
from pellucid.compare.profile import profile
from pellucid.compare.result import Result, board_columns, to_json
from pellucid.compare.run import Runner
from pellucid.errors import DataError
from pellucid.parallel import get_threads

LEAST_MORE = 5.0  # seconds for what is told of the kept model beyond its scores

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
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def parts(self) -> Path:
        return self.folder / "parts"

    def run(self) -> Result:
        """All steps."""
        began = time.monotonic()
        path = self.folder / "events.jsonl"
        self.journal = Journal(path)
        try:
            memory = Memory.read(path)
            self.begin(memory)
            self.profile = profile(
                self.plan.material, self.plan.train, self.findings.alone, self.plan.settings.seed
            )
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
            self.seconds["total"] = time.monotonic() - began
            return self.conclude(memory, runner, ended)
        finally:
            self.journal.close()

    # 1 -----------------------------------------------------------------------------------------

    def begin(self, memory: Memory) -> None:
        """Write down what is run, or make sure that the same is continued."""
        scoring = self.plan.settings.scoring()
        if memory.start is not None:
            refuse_changes(memory.start, self.plan)
            for record in (*memory.done.values(), *memory.failed.values()):
                self.hear({**record, "recalled": True})
        else:
            if self.config:
                files.write_whole(self.folder / "config.toml", self.config)
            self.journal.write(
                "start", key=self.plan.key(), sha256=self.plan.material.sha256,
                test_sha256=self.plan.material.test_sha256, settings=scoring,
            )  # fmt: skip
        self.parts.mkdir(exist_ok=True)

    # 2 -----------------------------------------------------------------------------------------

    def share(self, scratch: str) -> Shared:
        """The table where children find it."""
        material = self.plan.material
        word, beside = material.beside
        shared = Shared(
            folder=scratch,
            text=tuple(name for name, kind in material.kinds.items() if kind == "text"),
            classes=material.classes,
            container=material.container,
            seed=self.plan.settings.seed,
            inner=self.plan.inner,
            beside=word,
        )
        try:
            shared.write(material.table, material.y, material.weights, beside)
        except OSError as error:
            raise DataError(f"cannot write to {scratch}: {error.strerror or error}.") from None
        return shared

    def runner(self, shared: Shared, memory: Memory, crew: Crew) -> Runner:
        settings = self.plan.settings
        n_jobs = settings.jobs or get_threads()
        limit = settings.memory_limit
        return Runner(
            self.plan, shared, self.journal, memory, self.parts, n_jobs, self.hear,
            crew, plane=self.profile["plane"],
            memory_limit=limit * 1e9 if limit else spare_memory() / n_jobs,
        )  # fmt: skip

    # 4 -----------------------------------------------------------------------------------------

    def end(self, shared: Shared, memory: Memory, runner: Runner) -> dict[str, Any]:
        """Fit, keep and test the recommended model."""
        self.answers = collect(self.plan, memory, self.parts)
        self.found = evidence(self.plan, memory, self.answers)
        best = verdict(self.plan, self.found).recommended
        if runner.stopping or best is None:
            return {}
        if (best, FINAL) not in memory.done:  # time ran out before its last round
            runner.do_without_last_round(best)
        last = memory.done.get((best, FINAL))
        if runner.stopping or last is None:
            return {}
        vault = self.plan.vault()
        # The same model on the same rows again tells nothing new.
        if len(self.plan.test) and (memory.opened or {}).get("model") != best:
            memory.add(self.journal.write("opened", vault=vault, model=best))
        self.hear({"event": "finishing", "model": best})
        task = self.finish_task(shared, memory, best, runner.memory_limit)
        member, seconds = (
            runner.crew.order(finish, task, task.job.estimator),
            self.plan.model_timeout,
        )
        # What the report tells of the model beyond its scores must not use up a time limit again.
        limit = self.plan.settings.time_limit
        more = 2 * seconds if limit is None else min(2 * seconds, max(LEAST_MORE, limit / 5))
        ended = Question(member, 4 * seconds, more, lambda: runner.stopping > 0).answer()
        if runner.stopping and ended["kind"] == "failed":
            return {}
        ended["openings"] = files.openings(self.folder, vault) if len(self.plan.test) else 0
        return ended

    def finish_task(self, shared: Shared, memory: Memory, best: str, limit: float) -> Finish:
        plan = self.plan
        candidate = memory.done[best, FINAL]["best"]
        picked = single.pick(
            plan.material.y, self.answers[best], shared.n_classes, plan.settings.seed
        )
        contender = next(c for c in plan.contenders if c.id == best)
        job = Job(
            shared=shared, model=best, estimator=contender.make(),
            foreign=contender.entry is None, dropped=contender.dropped,
            candidates=contender.candidates, fold=FINAL, train=plan.train, test=plan.test,
            metrics=plan.metrics, known={}, deadline=plan.model_timeout, memory=limit,
            parts=str(self.parts), portrait=self.profile["plane"],
        )  # fmt: skip
        return Finish(
            job=job,
            params=contender.candidates[candidate],
            path=str(self.folder / "model.pellucid"),
            provenance={
                "data_sha256": plan.material.sha256,
                "target": plan.material.target,
                "model": best,
                "metric": plan.metric.name,
                "seed": plan.settings.seed,
                "rows": len(plan.train),
            },
            rows=picked,
            folds=plan.folds,
            hurried=hurried(memory.done[best, FINAL]),
        )

    # 5 -----------------------------------------------------------------------------------------

    def conclude(self, memory: Memory, runner: Runner, ended: dict[str, Any]) -> Result:
        """Write everything down."""
        complete = not (runner.stopping or runner.out_of_time)
        stopped = "Ctrl-C" if runner.stopping else "time limit" if runner.out_of_time else ""
        data = describe(self.plan, memory, self.found, self.findings.plain(), ended, stopped)
        timings = {**timings_of(memory), **self.seconds}
        if ended:
            timings["openings"] = ended["openings"]
        predictions = self.answers
        portraits = {
            model: record["portrait"]
            for (model, fold), record in memory.done.items()
            if fold == FINAL
        }
        if ended.get("portrait"):  # made with more time than the last round had
            portraits[data["recommended"]] = ended.pop("portrait")
        write = files.write_whole
        self.write_tables(data, predictions)
        write(self.folder / "log.txt", log_text(memory, data["recommended"], ended))
        write(self.folder / "timings.json", to_json(timings))
        write(self.folder / "results.json", to_json(data))
        if complete:
            self.journal.write("finished")
            self.journal.sync()
            shutil.rmtree(self.parts, ignore_errors=True)
        own = ended.pop("pickled", None)  # made by the user's class, in our own child
        return Result(
            data, timings, predictions, portraits, self.folder, self.plan.material.container,
            model=None if own is None else pickle.loads(own),
            finish=ended, details=self.details(memory, data["recommended"], predictions),
        )  # fmt: skip

    def details(
        self, memory: Memory, best: str | None, predictions: dict[str, Any]
    ) -> dict[str, Any]:
        """What a report needs beside the results: columns, truth, searches, single rows."""
        material, picked = self.plan.material, {}
        if best in predictions:
            K = len(material.classes or ())
            picked = single.pick(material.y, predictions[best], K, self.plan.settings.seed)
        return {
            "profile": self.profile,
            "fine": self.findings.fine,
            "y": material.y,
            "weights": material.weights,
            "classes": None if material.classes is None else [str(c) for c in material.classes],
            "numbers": material.rows,
            "search": searches(self.plan, memory),
            "says": {
                c.id: c.entry.says if c.entry else "your own model" for c in self.plan.contenders
            },
            "picked": picked,
            "cells": {name: single.cells(material.table, rows) for name, rows in picked.items()},
            "config": self.config,
            "source": material.source,
        }

    def write_tables(self, data: dict[str, Any], predictions: dict[str, Any]) -> None:
        from pellucid.data.write import write

        write(board_columns(data), str(self.folder / "leaderboard.csv"))
        write(wide(self.plan, predictions), str(self.folder / "predictions.parquet"))


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


def spare_memory() -> float:
    """Most of the memory that is free now, in bytes; 0 where that is unknown."""
    try:
        return 0.8 * os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") + 2e9
    except (ValueError, OSError):
        return 0.0


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
