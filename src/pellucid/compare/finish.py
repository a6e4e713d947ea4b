"""The end of a complete run, in a child: fit the recommended model on all training rows, keep it,
and open the locked test part once.

Invariant: the test rows are looked at here and nowhere else, after the choice has been made.
"""

from __future__ import annotations

import pickle
import time
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.compare import statistics
from pellucid.compare.bench import Answers, Bench, of_answers
from pellucid.compare.crew import limit_memory
from pellucid.compare.job import Job, counted, reason
from pellucid.compare.portrait import NO_TIME, importances, portrait
from pellucid.compare.registry import BASELINES
from pellucid.compare.rows import explained
from pellucid.errors import CannotSaveError
from pellucid.model_selection.metrics import METRICS, roc_auc

SHARES = {"accuracy"}
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
    """Entry point of the child."""
    limit_memory(task.job.memory)
    try:
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            message = _finish(task)
        channel.send({"kind": "done", **message, "warnings": counted(heard)})
    except Exception as error:  # the board is still valid: say what failed
        channel.send({"kind": "failed", "why": reason(error)})


def _finish(task: Finish) -> dict[str, Any]:
    job = task.job
    bench = Bench(job.shared, job.model, job.estimator, job.dropped, job.foreign)
    model = bench.fresh(task.params, "final")
    fitted = bench.fit(model, bench.rows(job.train), job.train)
    out: dict[str, Any] = {"saved": keep(fitted, task), "pickled": _sent(fitted)}
    if len(job.test):
        out["test"] = open_test(bench, fitted, task)
    out["rows"] = {name: _explained(bench, fitted, rows) for name, rows in task.rows.items()}
    out["learning"] = learning_curve(bench, task)
    out["importances"] = _importances(bench, task)
    if task.hurried:
        own = replace(job, best=job.candidates.index(task.params))
        out["portrait"] = portrait(bench, fitted, own, 0.1 * job.deadline)
    return out


def hurried(record: dict[str, Any]) -> bool:
    """Whether the last round of a model left parts of its portrait out."""
    return any(value == NO_TIME for name, value in record["portrait"].items())


def _importances(bench: Bench, task: Finish) -> dict[str, Any] | None:
    """The kept model's importances, with more time than a portrait has."""
    best = task.job.candidates.index(task.params)
    try:
        return importances(bench, replace(task.job, best=best), 0.25 * task.job.deadline)
    except Exception:  # a picture that cannot be drawn does not spoil the comparison
        return None


def _explained(bench: Bench, fitted: Any, rows: list[int]) -> list[dict[str, Any]] | None:
    try:
        return explained(bench, fitted, rows)
    except Exception:  # a row without an explanation is still a row; scores are not touched
        return None


def learning_curve(bench: Bench, task: Finish) -> dict[str, Any] | None:
    """Scores on training and test rows for growing shares of the training rows, over some folds."""
    job, end = task.job, time.monotonic() + 0.25 * task.job.deadline
    sizes, inside, outside = [], [], []
    for share in SHARES_OF_ROWS:
        seen, kept = [], []
        for train, test in task.folds[:3]:
            if time.monotonic() > end:
                return None
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
    return {"rows": sizes, "train": inside, "test": outside} if len(sizes) > 1 else None


def _part(bench: Bench, rows: np.ndarray, share: float) -> np.ndarray:
    rng = parallel.stream(parallel.seed_sequence(bench.shared.seed), "learning")
    order = rows if bench.shared.beside == "time" else rng.permutation(rows)
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


def open_test(bench: Bench, fitted: Any, task: Finish) -> dict[str, Any]:
    """Scores of the locked rows with intervals, and those of the baseline."""
    job = task.job
    X = bench.rows(job.test)
    answers = bench.ask(fitted, X)
    values = bench.measure(job.metrics, fitted, X, job.test, answers)
    return {
        "metrics": values,
        "intervals": intervals(bench, job, answers, values),
        "baseline": _baseline(bench, job),
        "labels": answers.labels,
        "truth": bench.y[job.test],
        "proba": answers.proba,
        "scores": answers.scores,
    }


def intervals(
    bench: Bench, job: Job, answers: Answers, values: dict[str, float]
) -> dict[str, list[float]]:
    """95 % intervals over rows: Wilson's for shares, Newcombe's for the AUC, else bootstrap.

    Means of losses have one that is made for them.
    """
    y, w, K = bench.y[job.test], bench.weights[job.test], bench.shared.n_classes
    even, out = bool((w == w[0]).all()), {}
    for name, value in values.items():
        if name not in METRICS or value != value:
            continue
        if name in SHARES and even:
            out[name] = list(statistics.wilson(value, len(y)))
        elif name == "roc_auc" and even:
            out[name] = _auc_interval(y, answers, value, K)
        else:
            rng = parallel.stream(parallel.seed_sequence(bench.shared.seed), "bootstrap", name)
            ends = _of_losses(name, y, answers, rng) if even else None
            if ends is None:
                ends = statistics.bootstrap(_on_rows(name, y, w, answers, K), len(y), rng)
            out[name] = list(ends)
    return out


def _of_losses(
    name: str, y: np.ndarray, answers: Answers, rng: np.random.Generator
) -> tuple[float, float] | None:
    """Ends for a metric that is a mean of losses (RMSE: its root); None for another."""
    if name == "log_loss" and answers.proba is not None:
        eps = np.finfo(float).eps
        shares = np.clip(answers.proba, eps, 1 - eps)  # as the metric does
        losses = -np.log(shares[np.arange(len(y)), y] / shares.sum(axis=1))
    elif name in ("rmse", "mae"):
        losses = np.abs(y - answers.labels)
    else:
        return None
    if name != "rmse":
        ends = statistics.mean_interval(losses, rng)
    else:
        low, high = statistics.mean_interval(losses**2, rng)
        ends = float(np.sqrt(low)), float(np.sqrt(high))
    return ends if ends[0] == ends[0] else None


def _auc_interval(y: np.ndarray, answers: Answers, value: float, K: int) -> list[float]:
    """Newcombe's; for more classes the mean over one class against the rest."""
    if K == 2:
        return list(statistics.auc_interval(value, int((y == 1).sum()), int((y == 0).sum())))
    said = answers.proba if answers.proba is not None else answers.scores
    assert said is not None
    ends = []
    for k in range(K):
        own, ones = (y == k).astype(int), np.ones(len(y))
        auc = roc_auc(own, said[:, k], ones, np.arange(2))
        ends.append(statistics.auc_interval(auc, int(own.sum()), int(len(y) - own.sum())))
    return np.mean(ends, axis=0).tolist()


def _on_rows(name: str, y: np.ndarray, w: np.ndarray, answers: Answers, K: int) -> Any:
    found = METRICS[name]

    def statistic(rows: np.ndarray) -> float:
        if found.needs == "numbers":
            return found.compute(y[rows], answers.labels[rows], w[rows])
        return of_answers(found, y[rows], w[rows], answers.part(rows), K)

    return statistic


def _baseline(bench: Bench, job: Job) -> dict[str, float]:
    from pellucid.compare.registry import ENTRIES

    task = "classification" if bench.shared.n_classes else "regression"
    entry = next(e for e in ENTRIES if e.id == BASELINES[task] and e.task == task)
    ours = Bench(bench.shared, entry.id, entry.make(), (), foreign=False)
    fitted = ours.fit(ours.fresh({}, "final"), ours.rows(job.train), job.train)
    X = ours.rows(job.test)
    return ours.measure(job.metrics, fitted, X, job.test, ours.ask(fitted, X))
