"""The test set: scores of the final model with intervals, and the scores of the baseline.

- Accuracy: Wilson's interval.
- Area under the ROC curve: Newcombe's interval.
- Mean losses (MAE, RMSE, log loss, deviance): the studentised bootstrap.
- Others: bootstrap percentiles, at least as wide as Wilson's interval (for R2: as that of the squared
  error).

Weights reduce the number of rows to the effective number in the first two, and enter the weighted mean
and its error in the third. If there are groups, their rows are not independent: groups are resampled,
counted or left out in turn (the jackknife instead of percentiles), and a single group has no interval.
Invariant: no other module uses these rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.comparison.analysis import loss_intervals, statistics
from pellucid.comparison.execution.fold_task import FoldTask
from pellucid.comparison.execution.worker_data import Evaluator, Predictions, score_predictions
from pellucid.comparison.planning.registry import BASELINES, ENTRIES
from pellucid.model_selection.metrics import METRICS, log_losses, poisson_deviances, roc_auc


def open_test(evaluator: Evaluator, fitted: Any, task: FoldTask) -> dict[str, Any]:
    """All results on the test set."""
    X = evaluator.rows(task.test)
    predictions = evaluator.predict(fitted, X)
    values = evaluator.score(task.metrics, fitted, X, task.test, predictions)
    truth, w, K = evaluator.y[task.test], evaluator.weights[task.test], evaluator.shared.n_classes
    groups = evaluator.split_values if evaluator.shared.split_by == "group" else None
    groups = None if groups is None else groups[task.test]
    return {
        "metrics": values,
        "intervals": intervals(truth, w, predictions, K, values, evaluator.shared.seed, groups),
        "baseline": _baseline(evaluator, task),
        "labels": predictions.labels,
        "truth": truth,
        "weights": w,
        "proba": predictions.proba,
        "scores": predictions.scores,
    }


@dataclass(frozen=True)
class TestRows:
    """The rows with positive weight and their predictions; K classes, 0 for regression."""

    y: np.ndarray
    w: np.ndarray
    predictions: Predictions
    K: int
    groups: np.ndarray | None

    @property
    def n(self) -> float:
        """Effective number of rows."""
        return statistics.effective_rows(self.w)

    def mean_interval(
        self,
        values: np.ndarray,
        rng: np.random.Generator,
        unseen: Callable[..., loss_intervals.UnseenLoss],
    ) -> tuple[float, float]:
        """Interval of the mean of row losses; `unseen` adds what losses beyond the sample may be."""
        w = self.w
        if self.groups is not None:
            values, w = loss_intervals.by_group(values, w, self.groups)
        return loss_intervals.mean_interval(values, rng, weights=w, unseen=unseen(values))


def intervals(
    y: np.ndarray, w: np.ndarray, predictions: Predictions, K: int, values: dict[str, float], seed: int,
    groups: np.ndarray | None = None,
) -> dict[str, list[float]]:  # fmt: skip
    """95 % intervals by metric, for metrics that are defined; K classes, 0 for regression."""
    there = w > 0
    test = TestRows(
        y[there], w[there], predictions.part(there), K, None if groups is None else groups[there]
    )
    if test.groups is not None and len(np.unique(test.groups)) < 2:
        return {}
    out = {}
    for name, value in values.items():
        if name in METRICS and value == value:
            rng = parallel.stream(parallel.seed_sequence(seed), "bootstrap", name)
            out[name] = list(_interval(name, value, test, rng))
    return out


def _interval(
    name: str, value: float, test: TestRows, rng: np.random.Generator
) -> tuple[float, float]:
    if name == "accuracy":
        return _of_share(value, test)
    of_losses = _of_losses(name, test, rng)
    if of_losses is not None:
        return of_losses
    if name == "roc_auc" and test.groups is None:
        return _of_auc(test)
    own = _of_auc(test) if name == "roc_auc" else _at_least(name, value, test, rng)
    if test.groups is None:
        ends = statistics.bootstrap(_on_rows(name, test), len(test.y), rng)
    else:
        low, high = statistics.jackknife(_on_rows(name, test), test.groups)
        ends = low if name == "r2" else max(low, 0.0), min(high, 1.0)
    if own is None or (test.groups is not None and ends[0] != ends[0]):
        return ends
    return float(np.fmin(ends[0], own[0])), float(np.fmax(ends[1], own[1]))


def _of_share(share: float, test: TestRows) -> tuple[float, float]:
    """Wilson's interval of the accuracy; with groups, their design effect reduces n (Kish 1965).

    If every prediction is right, the design effect is unknown: each group counts as one row.
    """
    if test.groups is None:
        return statistics.wilson(share, test.n)
    right = (test.y == test.predictions.labels) * 1.0
    right, w = loss_intervals.by_group(right, test.w, test.groups)
    binomial, error = share * (1 - share) / test.n, loss_intervals.mean_error(right, w)
    n = test.n / max(1.0, error**2 / binomial) if binomial > 0 else statistics.effective_rows(w)
    return statistics.wilson(share, n, df=len(w) - 1)


def _at_least(
    name: str, value: float, test: TestRows, rng: np.random.Generator
) -> tuple[float, float] | None:
    """The narrowest interval allowed for bootstrap percentiles; None if there is none.

    Bootstrap samples without a wrong prediction show no uncertainty, so a proportion has at least
    Wilson's interval. They contain no larger errors than the sample, so R2 has at least the
    uncertainty of the mean squared error.
    """
    y, w = test.y, test.w
    if name == "r2":
        squares = np.average((y - np.average(y, weights=w)) ** 2, weights=w)
        low, high = _of_errors(2, test, rng)
        return 1 - high / squares, 1 - low / squares
    sample = statistics.EffectiveSample.of(name, y, w, test.K)
    return None if sample.rows is None else sample.interval(value)


def _of_errors(power: int, test: TestRows, rng: np.random.Generator) -> tuple[float, float]:
    errors = np.abs(test.y - test.predictions.labels) ** power
    return _of_powers(errors, power, test, rng)


def _of_powers(
    losses: np.ndarray, power: int, test: TestRows, rng: np.random.Generator
) -> tuple[float, float]:
    unseen = partial(loss_intervals.beyond_errors, power=power, n=test.n)
    return test.mean_interval(losses, rng, unseen)


def _of_losses(name: str, test: TestRows, rng: np.random.Generator) -> tuple[float, float] | None:
    """The interval of a metric that is a mean loss (RMSE: its root); None for other metrics."""
    if name == "mae":
        return _of_errors(1, test, rng)
    if name == "rmse":
        low, high = _of_errors(2, test, rng)
        return float(np.sqrt(low)), float(np.sqrt(high))
    if name == "poisson_deviance":  # of the order of squared errors / variance
        own = poisson_deviances(test.y, test.predictions.labels, test.w)
        return _of_powers(own, 2, test, rng)
    if name != "log_loss" or test.predictions.proba is None:
        return None
    own = log_losses(test.y, test.predictions.proba)
    others = test.predictions.proba.copy()
    others[np.arange(len(own)), test.y] = -1.0
    wrong = log_losses(others.argmax(axis=1), test.predictions.proba)
    mistake = loss_intervals.beyond_mistakes(own, wrong, test.w)
    return test.mean_interval(own, rng, lambda values: mistake)


def _of_auc(test: TestRows) -> tuple[float, float]:
    """Newcombe's interval; for more than two classes, the mean over one class against the rest."""
    y, w, K = test.y, test.w, test.K
    proba, scores = test.predictions.proba, test.predictions.scores
    given = proba if proba is not None else scores
    assert given is not None  # there is a value
    ends = []
    for k in range(K) if K > 2 else (1,):
        own = y == k
        auc = roc_auc(own.astype(int), given[:, k], w, np.arange(2))
        sizes = [statistics.effective_rows(w[part]) for part in (own, ~own)]
        ends.append(statistics.auc_interval(auc, *sizes))
    low, high = np.mean(ends, axis=0).tolist()
    return low, high


def _on_rows(name: str, test: TestRows) -> Callable[[np.ndarray], float]:
    found, y, w = METRICS[name], test.y, test.w

    def statistic(rows: np.ndarray) -> float:
        if found.needs == "numbers":
            return found.compute(y[rows], test.predictions.labels[rows], w[rows])
        return score_predictions(found, y[rows], w[rows], test.predictions.part(rows), test.K)

    return statistic


def _baseline(evaluator: Evaluator, task: FoldTask) -> dict[str, float]:
    kind = "classification" if evaluator.shared.n_classes else "regression"
    entry = next(e for e in ENTRIES if e.id == BASELINES[kind] and e.task == kind)
    ours = Evaluator(evaluator.shared, entry.id, entry.make(), (), foreign=False)
    fitted = ours.fit(ours.unfitted({}, "final"), ours.rows(task.train), task.train)
    X = ours.rows(task.test)
    return ours.score(task.metrics, fitted, X, task.test, ours.predict(fitted, X))
