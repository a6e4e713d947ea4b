"""The locked test part: scores of the kept model with intervals, and those of the baseline.

Intervals are over rows: Wilson's for shares, Newcombe's for the area under the ROC curve, the
studentised bootstrap for means of losses, else percentiles of redrawn rows (of shares never less
than Wilson's of the rows behind them, of R2 never less than that of its mean squared error). Rows of
unequal weight count in all of them: as (sum of weights)^2 / sum of squared weights equal ones in the
first two, by their weighted mean and its error in the third. Invariant: these rows are looked at
here alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.compare import statistics
from pellucid.compare.bench import Answers, Bench, of_answers
from pellucid.compare.job import Job
from pellucid.compare.registry import BASELINES, ENTRIES
from pellucid.model_selection.metrics import METRICS, log_losses, roc_auc


def open_test(bench: Bench, fitted: Any, job: Job) -> dict[str, Any]:
    """Everything that is said of the locked rows."""
    X = bench.rows(job.test)
    answers = bench.ask(fitted, X)
    values = bench.measure(job.metrics, fitted, X, job.test, answers)
    truth, w, K = bench.y[job.test], bench.weights[job.test], bench.shared.n_classes
    return {
        "metrics": values,
        "intervals": intervals(truth, w, answers, K, values, bench.shared.seed),
        "baseline": _baseline(bench, job),
        "labels": answers.labels,
        "truth": truth,
        "weights": w,
        "proba": answers.proba,
        "scores": answers.scores,
    }


def intervals(
    y: np.ndarray, w: np.ndarray, answers: Answers, K: int, values: dict[str, float], seed: int
) -> dict[str, list[float]]:
    """95 % intervals by metric; K classes, 0 for numbers. One without a value has no interval."""
    y, w, answers = y[w > 0], w[w > 0], answers.part(w > 0)
    out = {}
    for name, value in values.items():
        if name not in METRICS or value != value:
            continue
        rng = parallel.stream(parallel.seed_sequence(seed), "bootstrap", name)
        ends: tuple[float, float] | None
        if name == "accuracy":
            ends = statistics.wilson(value, statistics.equal_rows(w))
        elif name == "roc_auc":
            ends = _of_auc(y, w, answers, K)
        else:
            ends = _of_losses(name, y, w, answers, rng)
        if ends is None:
            ends = statistics.bootstrap(_on_rows(name, y, w, answers, K), len(y), rng)
            own = _at_least(name, value, y, w, answers, K, rng)
            if own is not None:
                ends = float(np.fmin(ends[0], own[0])), float(np.fmax(ends[1], own[1]))
        out[name] = list(ends)
    return out


def _at_least(
    name: str, value: float, y: np.ndarray, w: np.ndarray, answers: Answers, K: int,
    rng: np.random.Generator,
) -> tuple[float, float] | None:  # fmt: skip
    """Ends that percentiles of redrawn rows must not be within; None if there are none.

    Redrawn rows that are all right tell no doubt: a share has at least that of its rows. And they
    hold no larger errors than were seen: R2 has at least the doubt of the mean squared error.
    """
    if name == "r2":
        squares = np.average((y - np.average(y, weights=w)) ** 2, weights=w)
        low, high = statistics.mean_interval((y - answers.labels) ** 2, rng, weights=w)
        return 1 - high / squares, 1 - low / squares
    behind = statistics.Behind(
        name, tuple(statistics.equal_rows(w[y == k]) for k in range(K) if (y == k).any())
    )
    return None if behind.rows is None else behind.interval(value)


def _of_losses(
    name: str, y: np.ndarray, w: np.ndarray, answers: Answers, rng: np.random.Generator
) -> tuple[float, float] | None:
    """Ends for a metric that is a mean of losses (RMSE: its root); None for another."""
    if name == "log_loss" and answers.proba is not None:
        losses = log_losses(y, answers.proba)
    elif name in ("rmse", "mae"):
        losses = np.abs(y - answers.labels)
    else:
        return None
    low, high = statistics.mean_interval(losses**2 if name == "rmse" else losses, rng, weights=w)
    if name == "rmse":
        low, high = float(np.sqrt(low)), float(np.sqrt(high))
    return (low, high) if low == low else None


def _of_auc(y: np.ndarray, w: np.ndarray, answers: Answers, K: int) -> tuple[float, float]:
    """Newcombe's; for more classes the mean over one class against the rest."""
    said = answers.proba if answers.proba is not None else answers.scores
    assert said is not None  # there is a value
    ends = []
    for k in range(K) if K > 2 else (1,):
        own = y == k
        auc = roc_auc(own.astype(int), said[:, k], w, np.arange(2))
        ends.append(
            statistics.auc_interval(
                auc, statistics.equal_rows(w[own]), statistics.equal_rows(w[~own])
            )
        )
    low, high = np.mean(ends, axis=0).tolist()
    return low, high


def _on_rows(name: str, y: np.ndarray, w: np.ndarray, answers: Answers, K: int) -> Any:
    found = METRICS[name]

    def statistic(rows: np.ndarray) -> float:
        if found.needs == "numbers":
            return found.compute(y[rows], answers.labels[rows], w[rows])
        return of_answers(found, y[rows], w[rows], answers.part(rows), K)

    return statistic


def _baseline(bench: Bench, job: Job) -> dict[str, float]:
    task = "classification" if bench.shared.n_classes else "regression"
    entry = next(e for e in ENTRIES if e.id == BASELINES[task] and e.task == task)
    ours = Bench(bench.shared, entry.id, entry.make(), (), foreign=False)
    fitted = ours.fit(ours.fresh({}, "final"), ours.rows(job.train), job.train)
    X = ours.rows(job.test)
    return ours.measure(job.metrics, fitted, X, job.test, ours.ask(fitted, X))
