"""Comparison of all models of a run: scores, intervals, and the difference of every pair.

Our own metrics are compared by rows, scikit-learn scorers by folds. The result is computed once and used
by the leaderboard, the pairwise matrix and the report.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pellucid.comparison.analysis import statistics
from pellucid.comparison.analysis.by_folds import LOSS, fold_difference, fold_interval
from pellucid.comparison.analysis.evidence import CVDesign, Difference, difference, model_evidence
from pellucid.comparison.analysis.score_intervals import score_interval
from pellucid.comparison.planning.metric_bounds import bounds_of
from pellucid.comparison.planning.plan import Plan
from pellucid.comparison.planning.registry import BASELINES
from pellucid.model_selection.metrics import METRICS, imbalanced, recall_by_class

LOG_LOSS = METRICS["log_loss"]
FoldScores = dict[str, list[float]]


@dataclass(frozen=True)
class Comparison:
    """Scores and differences of the models that completed all folds.

    folds : {model: {metric: one score per fold}}
    means : {model: mean of the ranking metric}, if it is defined
    recalls : {model: {class: recall}} if a class is rare
    """

    folds: Mapping[str, FoldScores]
    means: Mapping[str, float]
    pair: Callable[[str, str], Difference]
    interval: Callable[[str], tuple[float, float]]
    recalls: Mapping[str, dict[str, float]] = field(default_factory=dict)
    known: dict[tuple[str, str], Difference] = field(default_factory=dict)

    def difference(self, one: str, other: str) -> Difference:
        """How much better `one` is than `other`; the reversed pair has the negative difference."""
        if (one, other) not in self.known:
            found = self.pair(one, other)
            self.known.update({(one, other): found, (other, one): found.reversed})
        return self.known[one, other]

    def matrix(self, models: list[str]) -> dict[str, Any]:
        """The differences of all pairs as plain lists; None on the diagonal."""

        def table(of: Callable[[Difference], float]) -> list[list[float | None]]:
            return [
                [None if one == other else of(self.difference(one, other)) for other in models]
                for one in models
            ]

        pairs = [self.difference(a, b) for a in models for b in models if a != b]
        return {
            "models": models,
            "difference": table(lambda d: d.mean),
            "error": table(lambda d: d.error),
            "p": table(lambda d: d.p),
            "df": pairs[0].df if pairs else 0,
            "ratios": bool(pairs) and all(d.log for d in pairs),
        }


def compare_models(
    plan: Plan, folds: Mapping[str, FoldScores], predictions: Mapping[str, Mapping[str, np.ndarray]]
) -> Comparison:
    """Compare by rows if the metric allows it, else by folds."""
    by_folds = plan.metric.needs == "model"
    found = _by_folds(plan, folds) if by_folds else _by_rows(plan, folds, predictions)
    return replace(found, recalls=recalls(plan, {name: predictions[name] for name in folds}))


def _by_rows(
    plan: Plan, folds: Mapping[str, FoldScores], predictions: Mapping[str, Mapping[str, np.ndarray]]
) -> Comparison:
    design, sample = design_of(plan), effective_sample(plan)
    found = {name: model_evidence(design, predictions[name]) for name in folds}
    scored = {name for name in folds if np.isfinite(folds[name][plan.metric.name]).all()}
    known = {name: e for name, e in found.items() if e is not None and name in scored}
    exact = plan.metric.name in ("roc_auc", "balanced_accuracy")

    def interval(name: str) -> tuple[float, float]:
        if name not in known:
            return float("nan"), float("nan")
        # The baseline predicts the same for every row, so that these scores are known in advance.
        if exact and name == BASELINES[plan.dataset.task]:
            return known[name].score, known[name].score
        low, high = bounds_of(plan.metric.name)
        ends = score_interval(design, known[name], sample)
        return max(low, ends[0]), min(high, ends[1])

    # A test on labels has little power to show that the columns help, so the log loss is a second test
    # of whether a model beats the baseline.
    by_log_loss, baseline = replace(design, metric=LOG_LOSS), BASELINES[plan.dataset.task]
    labels = plan.metric.needs == "labels"
    seconds = {m: model_evidence(by_log_loss, p) for m, p in predictions.items()} if labels else {}

    def pair(one: str, other: str) -> Difference:
        found = difference(design, known[one], known[other])
        mine, theirs = seconds.get(one), seconds.get(other)
        if baseline not in (one, other) or mine is None or theirs is None:
            return found
        return found.combined_with(difference(by_log_loss, mine, theirs))

    means = {name: float(np.mean(folds[name][plan.metric.name])) for name in known}
    return Comparison(folds, means, pair, interval)


def _by_folds(plan: Plan, folds: Mapping[str, FoldScores]) -> Comparison:
    scores = {name: found[plan.metric.name] for name, found in folds.items()}
    bounds = bounds_of(plan.metric.name)

    def pair(one: str, other: str) -> Difference:
        return fold_difference(
            scores[one], scores[other], plan.ratio, plan.metric.sign, bounds == LOSS, plan.repeats
        )

    means = {name: float(np.mean(own)) for name, own in scores.items() if np.isfinite(own).all()}
    return Comparison(folds, means, pair, lambda name: interval_of_folds(plan, scores[name]))


def interval_of_folds(plan: Plan, scores: list[float]) -> tuple[float, float]:
    """Interval of the ranking metric from its fold scores alone."""
    return fold_interval(scores, plan.ratio, bounds_of(plan.metric.name), plan.repeats)


def recalls(
    plan: Plan, predictions: Mapping[str, Mapping[str, np.ndarray]]
) -> dict[str, dict[str, float]]:
    """Recall by class of every model over all tested rows, if some class is rare."""
    dataset = plan.dataset
    if dataset.classes is None:
        return {}
    y, w, names = dataset.y, dataset.weights, [str(label) for label in dataset.classes]
    if not imbalanced(y[plan.train], w[plan.train], len(names)):
        return {}
    found = {}
    for model, predicted in predictions.items():
        rows = predicted["rows"]
        shares = recall_by_class(y[rows], predicted["labels"].astype(int), w[rows], len(names))
        found[model] = dict(zip(names, shares.tolist()))
    return found


def design_of(plan: Plan) -> CVDesign:
    """What the models of a plan have in common: rows, folds and independent units."""
    dataset, in_time = plan.dataset, plan.dataset.split_by[0] == "time"
    # Growing training sets share no more rows than those of shuffled folds.
    ratio = 1 / max(len(plan.folds) - 1, 1) if in_time else plan.ratio
    return CVDesign(
        plan.metric, dataset.y, dataset.weights, len(dataset.classes or ()), units_of(plan),
        len(plan.folds), ratio, plan.repeats, in_time,
    )  # fmt: skip


def units_of(plan: Plan) -> np.ndarray:
    """The independent unit of each row: the row itself, its group, or its block of times.

    Errors at neighbouring times are correlated. A block has as many rows as the square root of their
    number, so that blocks are both long and many; rows with the same time are in the same block.
    """
    kind, values = plan.dataset.split_by
    n = len(plan.dataset.y)
    if values is None:
        return np.arange(n)
    codes = np.unique(values, return_inverse=True)[1]
    if kind == "group":
        return codes
    tested = np.unique(np.concatenate([test for _, test in plan.folds]))
    length = np.sqrt(len(tested))
    before = np.concatenate([[0], np.cumsum(np.bincount(codes[tested], minlength=codes.max() + 1))])
    return (before[codes] / length).astype(int)


def effective_sample(plan: Plan) -> statistics.EffectiveSample | None:
    """The effective number of tested rows of each class; None for regression."""
    dataset = plan.dataset
    if dataset.classes is None:
        return None
    tested = np.unique(np.concatenate([test for _, test in plan.folds]))
    y, w, K = dataset.y[tested], dataset.weights[tested], len(dataset.classes)
    return statistics.EffectiveSample.of(plan.metric.name, y, w, K)
