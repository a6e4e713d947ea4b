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
from pellucid.comparison.analysis.model_details import NO_TIME, describe_model, importances
from pellucid.comparison.analysis.test_set import open_test
from pellucid.comparison.execution.fold_task import FoldTask, counted, reason
from pellucid.comparison.execution.worker_data import Evaluator
from pellucid.comparison.execution.worker_pool import limit_memory
from pellucid.errors import CannotSaveError

SHARES_OF_ROWS = (0.1, 0.2, 0.4, 0.7, 1.0)


@dataclass(frozen=True)
class FinalFitTask:
    """What the child needs beside the job: where to save the model, and what to say of it."""

    fold_task: FoldTask
    params: dict[str, Any]
    path: str
    provenance: dict[str, Any]
    rows: dict[str, list[int]]  # rows to explain, by group
    folds: list[tuple[np.ndarray, np.ndarray]]  # for the learning curve
    details_incomplete: bool = False  # the last round had no time to describe the model


def run_final_fit(task: FinalFitTask, channel: Any) -> None:
    """Entry point of the child: first what counts, then what the report says beside it."""
    fold_task = task.fold_task
    limit_memory(fold_task.memory)
    try:
        evaluator = fold_task.evaluator()
        fitted, message = _fit_and_test(evaluator, task)
        channel.send({"kind": "done", **message})
    except Exception as error:  # the board is still valid: say what failed
        channel.send({"kind": "failed", "why": reason(error)})
        return
    with warnings.catch_warnings():  # how many fits follow depends on the clock
        warnings.simplefilter("ignore")
        failed_parts: dict[str, str] = {}
        for name, make in _report_parts(evaluator, fitted, task).items():
            try:
                channel.send({name: make()})
            except Exception as error:  # the scores are safe: say what is missing
                failed_parts[name] = reason(error)
        channel.send({"complete": True, "failed_parts": failed_parts})


def _fit_and_test(evaluator: Evaluator, task: FinalFitTask) -> tuple[Any, dict[str, Any]]:
    """The fitted model, and the scores of the locked rows."""
    fold_task, out = task.fold_task, dict[str, Any]()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = evaluator.unfitted(task.params, "final")
        fitted = evaluator.fit(model, evaluator.rows(fold_task.train), fold_task.train)
        if len(fold_task.test):
            out["test"] = open_test(evaluator, fitted, fold_task)
    out |= {
        "warnings": counted(caught),
        "saved": save_model(fitted, task),
        "pickled": _pickled(fitted),
    }
    return fitted, out


def _report_parts(
    evaluator: Evaluator, fitted: Any, task: FinalFitTask
) -> dict[str, Callable[[], Any]]:
    """What the report says of the kept model beside its scores, one thing after the other."""
    fold_task = replace(task.fold_task, best=task.fold_task.candidates.index(task.params))
    parts: dict[str, Callable[[], Any]] = {
        "rows": lambda: {
            name: explained(evaluator, fitted, rows) for name, rows in task.rows.items()
        },
        "learning": lambda: learning_curve(evaluator, task),
        "importances": lambda: importances(evaluator, fold_task, 0.25 * fold_task.deadline),
    }
    if task.details_incomplete:
        parts["portrait"] = lambda: describe_model(
            evaluator, fitted, fold_task, 0.1 * fold_task.deadline
        )
    return parts


def details_incomplete(record: dict[str, Any]) -> bool:
    """Whether the last round of a model was killed, or left parts of its portrait out."""
    parts = record["portrait"]
    return not parts or any(isinstance(part, str) and part == NO_TIME for part in parts.values())


def learning_curve(evaluator: Evaluator, task: FinalFitTask) -> dict[str, Any] | None:
    """Scores on training and test rows for growing shares of the training rows, over some folds."""
    fold_task, end = task.fold_task, time.monotonic() + 0.25 * task.fold_task.deadline
    sizes: list[int] = []
    inside: list[float] = []
    outside: list[float] = []
    for share in SHARES_OF_ROWS:
        seen, kept = [], []
        for train, test in task.folds[:3]:
            if time.monotonic() > end:
                return _curve(sizes, inside, outside)
            part = _part(evaluator, train, share)
            X = evaluator.rows(part)
            try:
                fitted = evaluator.fit(evaluator.unfitted(task.params, "learning"), X, part)
                kept.append(_score(evaluator, fold_task, fitted, X, part))
                seen.append(_score(evaluator, fold_task, fitted, evaluator.rows(test), test))
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


def _part(evaluator: Evaluator, rows: np.ndarray, share: float) -> np.ndarray:
    rng = parallel.stream(parallel.seed_sequence(evaluator.shared.seed), "learning")
    if evaluator.shared.split_by == "time":  # the latest
        order = rows[np.argsort(np.asarray(evaluator.split_values)[rows], kind="stable")]
    else:
        order = rng.permutation(rows)
    return np.sort(order[-max(2, int(share * len(rows))) :])


def _score(
    evaluator: Evaluator, fold_task: FoldTask, fitted: Any, X: Any, rows: np.ndarray
) -> float:
    predictions = evaluator.predict(fitted, X)
    return evaluator.score(fold_task.metrics[:1], fitted, X, rows, predictions)[
        fold_task.metrics[0]
    ]


def save_model(fitted: Any, task: FinalFitTask) -> str:
    """Save the model; the reason if it cannot be saved."""
    from pellucid import persist

    if not hasattr(fitted, "save"):
        return f"a {type(fitted).__name__} is not a model of Pellucid: not saved"
    try:
        persist.save(fitted, task.path, task.provenance)
    except CannotSaveError as error:
        return str(error)
    return ""


def _pickled(fitted: Any) -> bytes | None:
    """The user's own fitted model for `best_`: it goes to the parent and into no file."""
    if hasattr(fitted, "save"):
        return None
    try:
        return pickle.dumps(fitted)
    except Exception:  # the board does not need it
        return None
