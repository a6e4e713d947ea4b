"""The final fit, in a worker: fit the recommended model on all training rows, save it, score it on the
test set, and only then describe it for the report.

Invariant: the test set is used here, after the model has been chosen, and the description (learning
curve, importances, explanations) never affects a score.
"""

from __future__ import annotations

import pickle
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from pellucid import conformal, parallel
from pellucid.comparison.analysis.additions import LEVEL
from pellucid.comparison.analysis.example_rows import changed, explained
from pellucid.comparison.analysis.holdout_scores import open_test
from pellucid.comparison.analysis.model_details import NO_TIME, describe_model, importances
from pellucid.comparison.execution import fold_models
from pellucid.comparison.execution.candidate_choice import counted, reason
from pellucid.comparison.execution.fold_task import FoldTask
from pellucid.comparison.execution.run_folder import REPLAY
from pellucid.comparison.execution.worker_data import Evaluator
from pellucid.comparison.execution.worker_pool import limit_memory
from pellucid.data.io.whole_file import write_whole
from pellucid.errors import CannotSaveError

REPLAY_STEPS, REPLAY_SECONDS, REPLAY_BYTES = 60, 1.0, 300_000
MOST_REPLAYED = 2000  # training rows
CHANGE_SECONDS = 5.0  # for all example rows
SHARES_OF_ROWS = (0.1, 0.2, 0.4, 0.7, 1.0)


@dataclass(frozen=True)
class FinalFitTask:
    """What the worker needs besides the fold task: where to save the model, and what to describe."""

    fold_task: FoldTask
    path: str
    provenance: dict[str, Any]
    rows: dict[str, list[int]]  # example rows to explain, by group
    folds: list[tuple[np.ndarray, np.ndarray]]  # for the learning curve
    # Attributes that the comparison adds to the model.
    additions: dict[str, Any] = field(default_factory=dict)
    details_incomplete: bool = False  # whether the final round could not describe the model
    fold_tasks: list[FoldTask] = field(default_factory=list)  # whose models are stored, too
    intervals: str = "plain"  # the setting
    importances: dict[str, Any] | None = None  # as the final round measured them
    apart: bool = False  # whether another worker makes the parts of the report that need refits


def run_final_fit(task: FinalFitTask, channel: Any) -> None:
    """Entry point of the worker: first the model and its scores, then the parts of the report."""
    fold_task = task.fold_task
    limit_memory(fold_task.memory)
    try:
        evaluator = fold_task.evaluator()
        fitted, message = _fit_and_test(evaluator, task)
        channel.send({"kind": "done", **message})
    except Exception as error:  # the leaderboard is still valid
        channel.send({"kind": "failed", "why": reason(error)})
        return
    parts = _report_parts(evaluator, fitted, task)
    _send_parts(parts if task.apart else parts | _refits(evaluator, task), channel)


def run_refits(task: FinalFitTask, channel: Any) -> None:
    """Entry point of a second worker: the parts of the report that need refits."""
    limit_memory(task.fold_task.memory)
    channel.send({"kind": "done"})
    _send_parts(_refits(task.fold_task.evaluator(), task), channel)


def _send_parts(parts: dict[str, Callable[[], Any]], channel: Any) -> None:
    with warnings.catch_warnings():  # the number of further fits depends on the time
        warnings.simplefilter("ignore")
        failed_parts: dict[str, str] = {}
        for name, make in parts.items():
            try:
                channel.send({name: make()})
            except Exception as error:  # the scores are safe; report what is missing
                failed_parts[name] = reason(error)
        channel.send({"complete": True, "failed_parts": failed_parts})


def _fit_and_test(evaluator: Evaluator, task: FinalFitTask) -> tuple[Any, dict[str, Any]]:
    """The fitted model, and its scores on the test set."""
    fold_task, out = task.fold_task, dict[str, Any]()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = evaluator.unfitted(fold_task.params, "final")
        fitted = evaluator.fit(model, evaluator.rows(fold_task.train), fold_task.train)
        if len(fold_task.test):
            out["test"] = open_test(evaluator, fitted, fold_task)
    evaluator.add(fitted, task.additions)
    out |= {
        "warnings": counted(caught),
        **save_model(fitted, task),
        "covered": coverage(evaluator, fitted, task),
        "pickled": _pickled(fitted),
    }
    return fitted, out


def _report_parts(
    evaluator: Evaluator, fitted: Any, task: FinalFitTask
) -> dict[str, Callable[[], Any]]:
    """The parts of the report that the final model itself gives, in the order in which they are made."""
    fold_task = task.fold_task
    parts: dict[str, Callable[[], Any]] = {
        "rows": lambda: {
            name: explained(evaluator, fitted, rows) for name, rows in task.rows.items()
        },
        "changes": lambda: changes(evaluator, fitted, task),
    }
    if task.details_incomplete:
        parts["portrait"] = lambda: describe_model(
            evaluator, fitted, fold_task, 0.1 * fold_task.deadline
        )
    return parts


def _refits(evaluator: Evaluator, task: FinalFitTask) -> dict[str, Callable[[], Any]]:
    """The parts of the report for which the recommended model is fitted again."""
    return {
        "learning": lambda: learning_curve(evaluator, task),
        "importances": lambda: (
            task.importances
            or importances(evaluator, task.fold_task, 0.25 * task.fold_task.deadline)
        ),
        "replay": lambda: save_replay(evaluator, task),
    }


def changes(evaluator: Evaluator, fitted: Any, task: FinalFitTask) -> dict[str, Any]:
    """What would change the predictions of the example rows, by group."""
    train, seconds = task.fold_task.train, min(CHANGE_SECONDS, 0.1 * task.fold_task.deadline)
    rows = [row for group in task.rows.values() for row in group]
    found = iter(changed(evaluator, fitted, rows, train, seconds))
    return {name: [next(found) for _ in group] for name, group in task.rows.items()}


def details_incomplete(record: dict[str, Any]) -> bool:
    """Whether the final round of a model was killed, or had no time for parts of its description."""
    parts = record["portrait"]
    return not parts or any(isinstance(part, str) and part == NO_TIME for part in parts.values())


def learning_curve(evaluator: Evaluator, task: FinalFitTask) -> dict[str, Any] | None:
    """Scores on training and test rows for increasing shares of the training rows, over three folds.

    Boosting takes the larger steps of its search: fifteen fits as fine as the final one would take long.
    """
    fold_task, end = task.fold_task, time.monotonic() + 0.25 * task.fold_task.deadline
    params, entry = fold_task.params, fold_task.entry
    params = params if entry is None else entry.coarser(params, fold_task.effort)
    curve: dict[str, Any] = {"rows": [], "train": [], "test": []}
    for share in SHARES_OF_ROWS:
        test_fold, train_fold = [], []
        for train, test in task.folds[:3]:
            if time.monotonic() > end:
                break
            part = _part(evaluator, train, share)
            X = evaluator.rows(part)
            try:
                fitted = evaluator.fit(evaluator.unfitted(params, "learning"), X, part)
                train_fold.append(_score(evaluator, fold_task, fitted, X, part))
                test_fold.append(_score(evaluator, fold_task, fitted, evaluator.rows(test), test))
            except Exception:  # for example too few rows of a class; skip this size
                break
        if len(test_fold) == len(task.folds[:3]):
            curve["rows"].append(int(share * len(task.folds[0][0])))
            curve["train"].append(float(np.mean(train_fold)))
            curve["test"].append(float(np.mean(test_fold)))
    return curve if len(curve["rows"]) > 1 else None


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
    name, predictions = fold_task.metrics[0], evaluator.predict(fitted, X)
    return evaluator.score((name,), fitted, X, rows, predictions)[name]


def save_model(fitted: Any, task: FinalFitTask) -> dict[str, str]:
    """Save the model: how its intervals are made, or the reason if it cannot be saved."""
    if not hasattr(fitted, "save"):
        why = f"{type(fitted).__name__} is not a Pellucid model and cannot be saved safely"
        return {"saved": why, "method": "plain"}
    try:
        method = fold_models.save(
            fitted, task.path, task.provenance, task.fold_tasks, task.intervals
        )
    except CannotSaveError as error:
        return {"saved": str(error), "method": "plain"}
    return {"saved": "", "method": method}


def coverage(evaluator: Evaluator, fitted: Any, task: FinalFitTask) -> dict[str, float]:
    """Share of the test set in the intervals or sets, and their mean size; {} without a test set."""
    rows = task.fold_task.test
    if evaluator.foreign or not len(rows) or not conformal.has_errors(fitted):
        return {}
    X, y = evaluator.rows(rows), evaluator.y[rows]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not evaluator.shared.n_classes:
            ends = conformal.interval(fitted, X, LEVEL)
            inside = (ends[:, 0] <= y) & (y <= ends[:, 1])
            return {"share": float(inside.mean()), "size": float(np.ptp(ends, axis=1).mean())}
        sets = conformal.sets(fitted, X, LEVEL)
    own = np.zeros((len(rows), evaluator.shared.n_classes), dtype=bool)
    own[:, evaluator.codes(fitted.classes_)] = sets
    inside = own[np.arange(len(y)), y]
    return {"share": float(inside.mean()), "size": float(sets.sum(axis=1).mean())}


def save_replay(evaluator: Evaluator, task: FinalFitTask) -> int | None:
    """Write the replay of the final fit beside the model; the number of its steps.

    None for models of other packages, tables that are not small, slow fits, fits without steps, and
    pages that are too large.
    """
    from pellucid.records.watch import watching
    from pellucid.replays import replay

    train, started = task.fold_task.train, time.monotonic()
    if evaluator.foreign or len(train) > MOST_REPLAYED:
        return None
    X, y = evaluator.rows(train), evaluator.target(train)
    with watching(max_states=REPLAY_STEPS) as watch:
        evaluator.fit(evaluator.unfitted(task.fold_task.params, "final"), X, train)
    if time.monotonic() - started > REPLAY_SECONDS or not any(fit.steps for fit in watch.fits):
        return None
    found = replay(watch, X, y, max_steps=REPLAY_STEPS)
    page = found.html()
    if len(page.encode()) > REPLAY_BYTES:
        return None
    write_whole(Path(task.path).with_name(REPLAY), page)
    return len(found.frames["sentences"])


def _pickled(fitted: Any) -> bytes | None:
    """The user's own fitted model for `best_`; it is sent to the parent process, not saved."""
    if hasattr(fitted, "save"):
        return None
    try:
        return pickle.dumps(fitted)
    except Exception:  # the leaderboard does not need it
        return None
