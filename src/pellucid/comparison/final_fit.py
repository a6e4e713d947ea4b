"""The end of a complete run, in a child: fit the recommended model on all training rows, keep it,
open the locked test part once, and only then describe the model for the report.

Invariant: the test part is opened here, after the choice has been made, and what is told beside it
(curves, importances, explanations) never touches a score.
"""

from __future__ import annotations

import pickle
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.comparison.analysis.example_rows import explained
from pellucid.comparison.analysis.model_details import NO_TIME, importances, portrait
from pellucid.comparison.analysis.test_set import open_test
from pellucid.comparison.execution.fold_task import Job, counted, reason
from pellucid.comparison.execution.worker_data import Bench
from pellucid.comparison.execution.worker_pool import limit_memory
from pellucid.errors import CannotSaveError

SHARES_OF_ROWS = (0.1, 0.2, 0.4, 0.7, 1.0)


@dataclass(frozen=True)
class Finish:
    """What the child needs beside the job: where to save the model, and what to say of it."""

    job: Job
    params: dict[str, Any]
    path: str
    provenance: dict[str, Any]
    rows: dict[str, list[int]]  # rows to explain, by group
    folds: list[tuple[np.ndarray, np.ndarray]]  # for the learning curve
    hurried: bool = False  # the last round had no time to describe the model


def finish(task: Finish, channel: Any) -> None:
    """Entry point of the child: first what counts, then what the report says beside it."""
    job = task.job
    limit_memory(job.memory)
    try:
        bench = Bench(job.shared, job.model, job.estimator, job.dropped, job.foreign)
        fitted, message = _kept(bench, task)
        channel.send({"kind": "done", **message})
    except Exception as error:  # the board is still valid: say what failed
        channel.send({"kind": "failed", "why": reason(error)})
        return
    with warnings.catch_warnings():  # how many fits follow depends on the clock
        warnings.simplefilter("ignore")
        untold: dict[str, str] = {}
        for name, make in _told(bench, fitted, task).items():
            try:
                channel.send({name: make()})
            except Exception as error:  # the scores are safe: say what is missing
                untold[name] = reason(error)
        channel.send({"told": True, "untold": untold})


def _kept(bench: Bench, task: Finish) -> tuple[Any, dict[str, Any]]:
    """The fitted model, and the scores of the locked rows."""
    job, out = task.job, dict[str, Any]()
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        model = bench.fresh(task.params, "final")
        fitted = bench.fit(model, bench.rows(job.train), job.train)
        if len(job.test):
            out["test"] = open_test(bench, fitted, job)
    out |= {"warnings": counted(heard), "saved": keep(fitted, task), "pickled": _sent(fitted)}
    return fitted, out


def _told(bench: Bench, fitted: Any, task: Finish) -> dict[str, Callable[[], Any]]:
    """What the report says of the kept model beside its scores, one thing after the other."""
    job = replace(task.job, best=task.job.candidates.index(task.params))
    told: dict[str, Callable[[], Any]] = {
        "rows": lambda: {name: explained(bench, fitted, rows) for name, rows in task.rows.items()},
        "learning": lambda: learning_curve(bench, task),
        "importances": lambda: importances(bench, job, 0.25 * job.deadline),
    }
    if task.hurried:
        told["portrait"] = lambda: portrait(bench, fitted, job, 0.1 * job.deadline)
    return told


def hurried(record: dict[str, Any]) -> bool:
    """Whether the last round of a model was killed, or left parts of its portrait out."""
    told = record["portrait"]
    return not told or any(isinstance(part, str) and part == NO_TIME for part in told.values())


def learning_curve(bench: Bench, task: Finish) -> dict[str, Any] | None:
    """Scores on training and test rows for growing shares of the training rows, over some folds."""
    job, end = task.job, time.monotonic() + 0.25 * task.job.deadline
    sizes: list[int] = []
    inside: list[float] = []
    outside: list[float] = []
    for share in SHARES_OF_ROWS:
        seen, kept = [], []
        for train, test in task.folds[:3]:
            if time.monotonic() > end:
                return _curve(sizes, inside, outside)
            part = _part(bench, train, share)
            X = bench.rows(part)
            try:
                fitted = bench.fit(bench.fresh(task.params, "learning"), X, part)
                kept.append(_score(bench, job, fitted, X, part))
                seen.append(_score(bench, job, fitted, bench.rows(test), test))
            except Exception:  # too few rows of a class, say: this size is left out
                break
        if len(seen) == len(task.folds[:3]):
            sizes.append(int(share * len(task.folds[0][0])))
            inside.append(float(np.mean(kept)))
            outside.append(float(np.mean(seen)))
    return _curve(sizes, inside, outside)


def _curve(sizes: list[int], inside: list[float], outside: list[float]) -> dict[str, Any] | None:
    """One point is no curve."""
    return {"rows": sizes, "train": inside, "test": outside} if len(sizes) > 1 else None


def _part(bench: Bench, rows: np.ndarray, share: float) -> np.ndarray:
    rng = parallel.stream(parallel.seed_sequence(bench.shared.seed), "learning")
    if bench.shared.beside == "time":  # the latest
        order = rows[np.argsort(np.asarray(bench.beside)[rows], kind="stable")]
    else:
        order = rng.permutation(rows)
    return np.sort(order[-max(2, int(share * len(rows))) :])


def _score(bench: Bench, job: Job, fitted: Any, X: Any, rows: np.ndarray) -> float:
    answers = bench.ask(fitted, X)
    return bench.measure(job.metrics[:1], fitted, X, rows, answers)[job.metrics[0]]


def keep(fitted: Any, task: Finish) -> str:
    """Save the model; the reason if it cannot be saved."""
    from pellucid import persist

    if not hasattr(fitted, "save"):
        return f"a {type(fitted).__name__} is not a model of Pellucid: not saved"
    try:
        persist.save(fitted, task.path, task.provenance)
    except CannotSaveError as error:
        return str(error)
    return ""


def _sent(fitted: Any) -> bytes | None:
    """The user's own fitted model for `best_`: it goes to the parent and into no file."""
    if hasattr(fitted, "save"):
        return None
    try:
        return pickle.dumps(fitted)
    except Exception:  # the board does not need it
        return None
