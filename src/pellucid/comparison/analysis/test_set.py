"""The locked test part: scores of the kept model with intervals, and those of the baseline.

Intervals are over rows: Wilson's for shares, Newcombe's for the area under the ROC curve, the
studentised bootstrap for means of losses, else percentiles of redrawn rows (of shares never less
than Wilson's of the rows behind them, of R2 never less than that of its mean squared error). Rows of
unequal weight count in all of them: as (sum of weights)^2 / sum of squared weights equal ones in the
first two, by their weighted mean and its error in the third. Rows of one group are alike: where
groups are known, groups are what is redrawn, counted or left out in turn (the jackknife instead of
percentiles), and one group alone has no interval.
Invariant: these rows are looked at here alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.comparison.analysis import loss_intervals, statistics
from pellucid.comparison.execution.fold_task import Job
from pellucid.comparison.execution.worker_data import Answers, Bench, of_answers
from pellucid.comparison.planning.registry import BASELINES, ENTRIES
from pellucid.model_selection.metrics import METRICS, log_losses, poisson_deviances, roc_auc


def open_test(bench: Bench, fitted: Any, job: Job) -> dict[str, Any]:
    """Everything that is said of the locked rows."""
    X = bench.rows(job.test)
    answers = bench.ask(fitted, X)
    values = bench.measure(job.metrics, fitted, X, job.test, answers)
    truth, w, K = bench.y[job.test], bench.weights[job.test], bench.shared.n_classes
    beside = bench.beside if bench.shared.beside == "group" else None
    groups = None if beside is None else beside[job.test]
    return {
        "metrics": values,
        "intervals": intervals(truth, w, answers, K, values, bench.shared.seed, groups),
        "baseline": _baseline(bench, job),
        "labels": answers.labels,
        "truth": truth,
        "weights": w,
        "proba": answers.proba,
        "scores": answers.scores,
    }


@dataclass(frozen=True)
class Said:
    """The rows that count, and what was said of them; K classes, 0 for numbers."""

    y: np.ndarray
    w: np.ndarray
    answers: Answers
    K: int
    groups: np.ndarray | None

    @property
    def n(self) -> float:
        """So many rows of equal weight tell as much."""
        return statistics.equal_rows(self.w)

    def mean_interval(
        self,
        values: np.ndarray,
        rng: np.random.Generator,
        unseen: Callable[..., loss_intervals.Unseen],
    ) -> tuple[float, float]:
        """Of losses by row; `unseen` tells of theirs, or of those of groups, what they do not."""
        w = self.w
        if self.groups is not None:
            values, w = loss_intervals.by_group(values, w, self.groups)
        return loss_intervals.mean_interval(values, rng, weights=w, unseen=unseen(values))


def intervals(
    y: np.ndarray, w: np.ndarray, answers: Answers, K: int, values: dict[str, float], seed: int,
    groups: np.ndarray | None = None,
) -> dict[str, list[float]]:  # fmt: skip
    """95 % intervals by metric; K classes, 0 for numbers. One without a value has no interval."""
    there = w > 0
    said = Said(
        y[there], w[there], answers.part(there), K, None if groups is None else groups[there]
    )
    if said.groups is not None and len(np.unique(said.groups)) < 2:
        return {}
    out = {}
    for name, value in values.items():
        if name in METRICS and value == value:
            rng = parallel.stream(parallel.seed_sequence(seed), "bootstrap", name)
            out[name] = list(_interval(name, value, said, rng))
    return out


def _interval(name: str, value: float, said: Said, rng: np.random.Generator) -> tuple[float, float]:
    if name == "accuracy":
        return _of_share(value, said)
    of_losses = _of_losses(name, said, rng)
    if of_losses is not None:
        return of_losses
    if name == "roc_auc" and said.groups is None:
        return _of_auc(said)
    own = _of_auc(said) if name == "roc_auc" else _at_least(name, value, said, rng)
    if said.groups is None:
        ends = statistics.bootstrap(_on_rows(name, said), len(said.y), rng)
    else:
        low, high = statistics.jackknife(_on_rows(name, said), said.groups)
        ends = low if name == "r2" else max(low, 0.0), min(high, 1.0)
    if own is None or (said.groups is not None and ends[0] != ends[0]):
        return ends
    return float(np.fmin(ends[0], own[0])), float(np.fmax(ends[1], own[1]))


def _of_share(share: float, said: Said) -> tuple[float, float]:
    """Wilson's of the right rows; of groups with the design effect of theirs (Kish 1965).

    Groups that are right in all rows tell nothing of how much they differ: each counts as one row.
    """
    if said.groups is None:
        return statistics.wilson(share, said.n)
    right, w = loss_intervals.by_group((said.y == said.answers.labels) * 1.0, said.w, said.groups)
    alone, error = share * (1 - share) / said.n, loss_intervals.mean_error(right, w)
    n = said.n / max(1.0, error**2 / alone) if alone > 0 else statistics.equal_rows(w)
    return statistics.wilson(share, n, df=len(w) - 1)


def _at_least(
    name: str, value: float, said: Said, rng: np.random.Generator
) -> tuple[float, float] | None:
    """Ends that percentiles of redrawn rows must not be within; None if there are none.

    Redrawn rows that are all right tell no doubt: a share has at least that of its rows. And they
    hold no larger errors than were seen: R2 has at least the doubt of the mean squared error.
    """
    y, w = said.y, said.w
    if name == "r2":
        squares = np.average((y - np.average(y, weights=w)) ** 2, weights=w)
        low, high = _of_errors(2, said, rng)
        return 1 - high / squares, 1 - low / squares
    behind = statistics.Behind(
        name, tuple(statistics.equal_rows(w[y == k]) for k in range(said.K) if (y == k).any())
    )
    return None if behind.rows is None else behind.interval(value)


def _of_errors(power: int, said: Said, rng: np.random.Generator) -> tuple[float, float]:
    errors = np.abs(said.y - said.answers.labels) ** power
    return said.mean_interval(
        errors, rng, partial(loss_intervals.beyond_errors, power=power, n=said.n)
    )


def _of_losses(name: str, said: Said, rng: np.random.Generator) -> tuple[float, float] | None:
    """Ends for a metric that is a mean of losses (RMSE: its root); None for another."""
    if name == "mae":
        return _of_errors(1, said, rng)
    if name == "rmse":
        low, high = _of_errors(2, said, rng)
        return float(np.sqrt(low)), float(np.sqrt(high))
    if name == "poisson_deviance":  # of the order of squared errors by their variance
        own = poisson_deviances(said.y, said.answers.labels, said.w)
        return said.mean_interval(
            own, rng, partial(loss_intervals.beyond_errors, power=2, n=said.n)
        )
    if name != "log_loss" or said.answers.proba is None:
        return None
    own = log_losses(said.y, said.answers.proba)
    others = said.answers.proba.copy()
    others[np.arange(len(own)), said.y] = -1.0
    wrong = log_losses(others.argmax(axis=1), said.answers.proba)
    mistake = loss_intervals.beyond_mistakes(own, wrong, said.w)
    return said.mean_interval(own, rng, lambda values: mistake)


def _of_auc(said: Said) -> tuple[float, float]:
    """Newcombe's; for more classes the mean over one class against the rest."""
    y, w, K = said.y, said.w, said.K
    given = said.answers.proba if said.answers.proba is not None else said.answers.scores
    assert given is not None  # there is a value
    ends = []
    for k in range(K) if K > 2 else (1,):
        own = y == k
        auc = roc_auc(own.astype(int), given[:, k], w, np.arange(2))
        ends.append(
            statistics.auc_interval(
                auc, statistics.equal_rows(w[own]), statistics.equal_rows(w[~own])
            )
        )
    low, high = np.mean(ends, axis=0).tolist()
    return low, high


def _on_rows(name: str, said: Said) -> Callable[[np.ndarray], float]:
    found, y, w = METRICS[name], said.y, said.w

    def statistic(rows: np.ndarray) -> float:
        if found.needs == "numbers":
            return found.compute(y[rows], said.answers.labels[rows], w[rows])
        return of_answers(found, y[rows], w[rows], said.answers.part(rows), said.K)

    return statistic


def _baseline(bench: Bench, job: Job) -> dict[str, float]:
    task = "classification" if bench.shared.n_classes else "regression"
    entry = next(e for e in ENTRIES if e.id == BASELINES[task] and e.task == task)
    ours = Bench(bench.shared, entry.id, entry.make(), (), foreign=False)
    fitted = ours.fit(ours.fresh({}, "final"), ours.rows(job.train), job.train)
    X = ours.rows(job.test)
    return ours.measure(job.metrics, fitted, X, job.test, ours.ask(fitted, X))
