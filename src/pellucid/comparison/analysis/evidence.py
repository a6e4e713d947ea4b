"""Scores and pairwise differences of models from their out-of-fold predictions.

The score of a model is the mean of its fold scores. To first order it is a sum over tested rows,

    score - truth = sum_i a_i (v_i - score),      a_i = w_i / (folds * weight of the fold),

where v_i is the value of row i for the metric (`model_selection.influence`). Two models are tested on
the same rows, so their difference is a sum of paired row differences, and its variance follows from the
rows. The models of a cross-validation also share training rows, which the tested rows do not show:
Nadeau and Bengio's (2003) correction, applied to rows, multiplies the variance by

    1 + SHARED * folds * (test rows / training rows)          (5 folds: 1 + 1.25 SHARED).

Repeats average the values of a row: they make the score more stable but add no rows. With groups, the
groups are the independent units; with times, blocks of neighbouring times are. The degrees of freedom
are the number of units minus one. Losses have no natural scale, so they are compared by ratios:
otherwise a model that fails badly on a few rows would not be significantly worse, because these rows
also cause a large variance. If few units account for most of the variance, a sign test of the units is
a second test.
scikit-learn scorers have no row values and are compared by folds (`by_folds`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from pellucid.comparison.analysis import statistics
from pellucid.model_selection.influence import row_losses, row_values
from pellucid.model_selection.metrics import Metric

LOSSES = ("log_loss", "mae", "rmse", "poisson_deviance")
SHARED = 0.72  # weight of Nadeau and Bengio's term in the variance of a difference
SHARED_BY_SCORE = 0.24  # the same for the variance of a score, which the tested rows dominate
FEW_UNITS = 20.0  # effective number of units below which the sign test is used as well
MAX_CORRELATED = 1 / 3  # cap on the correlation of neighbouring blocks of times; more is seasonal
ROUNDING = 1e-12


@dataclass(frozen=True)
class CVDesign:
    """What all models of a cross-validation have in common.

    y, w : target and weight of each row of the table
    classes : number of classes, 0 for regression
    units : index of the independent unit (row, group or block of times) of each row
    folds : number of folds, including repeats
    ratio : test rows / training rows of a fold, on average
    in_time : whether units follow one another in time, so that neighbours may be correlated
    shared, shared_by_score : weight of the term for shared training rows, for differences and scores
    """

    metric: Metric
    y: np.ndarray
    w: np.ndarray
    classes: int
    units: np.ndarray
    folds: int
    ratio: float
    repeats: int = 1
    in_time: bool = False
    shared: float = SHARED
    shared_by_score: float = SHARED_BY_SCORE

    def inflation(self, shared: float) -> float:
        """Factor on the variance of the rows for shared training rows."""
        return 1 + shared * self.folds / self.repeats * self.ratio


@dataclass(frozen=True)
class Evidence:
    """The score of a model, the contribution of each unit to it (sum 0), and the mean loss of each unit.

    `pooled` is the evidence of R2 over all rows: in a small fold the variance of the target is estimated
    from few rows, which makes the fold scores too low on average.
    """

    score: float
    parts: np.ndarray = field(repr=False)
    losses: np.ndarray | None = field(default=None, repr=False)
    pooled: Evidence | None = field(default=None, repr=False)


def model_evidence(design: CVDesign, predictions: Mapping[str, np.ndarray]) -> Evidence | None:
    """The evidence in a model's out-of-fold predictions; None if a fold has no score."""
    metric, rows, fold = design.metric, predictions["rows"], predictions["fold"]
    predicted = _needed(metric, predictions)
    if predicted is None:
        return None
    classes, size = np.arange(design.classes), int(design.units.max()) + 1
    scores, values, share = np.empty(design.folds), np.empty(len(rows)), np.empty(len(rows))
    for k in range(design.folds):
        own = np.flatnonzero(fold == k)
        y, w = design.y[rows[own]], design.w[rows[own]]
        if not w.sum() > 0:
            return None
        with np.errstate(over="ignore", invalid="ignore"):
            values[own] = row_values(metric, y, predicted[own], w, classes)
        share[own] = w / w.sum() / design.folds
        scores[k] = (values[own] * w).sum() / w.sum()
    if not np.isfinite(scores).all() or not np.isfinite(values[share > 0]).all():
        return None
    score = float(scores.mean())
    there = share > 0
    units = design.units[rows[there]]
    parts = np.bincount(units, (share * (values - score))[there], size)
    used = np.bincount(units, minlength=size) > 0
    losses, pooled = row_losses(metric, design.y[rows], predicted), None
    if losses is not None:  # the mean loss of each unit
        total = np.bincount(units, (share * losses)[there], size)
        losses = total[used] / np.bincount(units, share[there], size)[used]
    if metric.name == "r2" and design.folds > design.repeats:
        per = design.folds // design.repeats
        pooled = model_evidence(
            replace(design, folds=design.repeats), {**predictions, "fold": fold // per}
        )
    return Evidence(score, parts[used], losses, pooled)


def _needed(metric: Metric, predictions: Mapping[str, np.ndarray]) -> np.ndarray | None:
    """What the metric is computed from; None if the model does not provide it."""
    if metric.needs in ("labels", "numbers"):
        return predictions["labels"]
    if metric.needs == "scores" and "proba" not in predictions:
        return predictions.get("scores")
    return predictions.get("proba") if metric.needs != "model" else None


@dataclass(frozen=True)
class Difference:
    """How much better one model is than another, on the scale of the test, with its uncertainty.

    mean, error : difference and standard error, on a log scale for losses (`log`)
    df : degrees of freedom; p : two-sided
    """

    mean: float
    error: float
    df: int
    p: float
    log: bool = False

    def within(self, width: float) -> float:
        """Probability that the models differ by less than `width` (flat prior)."""
        from scipy.special import stdtr

        error = max(self.error, ROUNDING)
        ends = (width - self.mean) / error, (-width - self.mean) / error
        return float(stdtr(self.df, ends[0]) - stdtr(self.df, ends[1]))

    @property
    def better(self) -> float:
        """Probability that the first model is better (flat prior); it follows from p."""
        return 1 - self.p / 2 if self.mean > 0 else self.p / 2

    def combined_with(self, second: Difference) -> Difference:
        """Combined with a second test in the same direction: the smaller p-value, doubled."""
        if second.mean * self.mean <= 0:
            return self
        return replace(self, p=min(1.0, 2 * min(self.p, second.p)))

    @property
    def reversed(self) -> Difference:
        return replace(self, mean=-self.mean)


def difference(design: CVDesign, one: Evidence, other: Evidence) -> Difference:
    """The difference of two models that were tested on the same rows; positive if `one` is better."""
    mean, parts, log = _on_scale(design.metric, one, other)
    factor, df = design.inflation(design.shared), len(parts) - 1
    scale = max(1.0 if log else abs(one.score) + abs(other.score), ROUNDING)
    parts = np.where(np.abs(parts) * len(parts) > ROUNDING * scale, parts, 0.0)
    if design.in_time and parts.any():
        factor *= _autocorrelation_factor(parts)
    error = standard_error(parts, factor)
    if error <= ROUNDING * scale:  # the same in every unit
        p = 1.0 if abs(mean) <= ROUNDING * scale else _sign_test_bound(len(parts))
        return Difference(float(mean), 0.0, df, p, log)
    p = statistics.t_two_sided(mean / error, df)
    if effective_units(parts) < FEW_UNITS:
        p = min(1.0, 2 * min(p, _by_signs(one, other, mean, factor)))
    differing = parts != 0  # units on which the models differ, by losses where the metric has them
    if one.losses is not None and other.losses is not None:
        size = np.abs(one.losses) + np.abs(other.losses)
        differing = np.abs(one.losses - other.losses) > ROUNDING * size
    p = max(p, _sign_test_bound(int(differing.sum())))
    return Difference(float(mean), error, df, p, log)


def _autocorrelation_factor(parts: np.ndarray) -> float:
    """(1 + r) / (1 - r): factor on the variance for errors that last longer than a block of times.

    r is the correlation of neighbouring blocks, corrected for its bias of about -1 / n, between 0 and
    MAX_CORRELATED.
    """
    r = float((parts[1:] * parts[:-1]).sum() / (parts**2).sum()) + 1 / len(parts)
    r = min(max(r, 0.0), MAX_CORRELATED)
    return (1 + r) / (1 - r)


def _sign_test_bound(units: int) -> float:
    """p of the sign test if the same model is better on all these units: no p may be smaller."""
    return min(1.0, 2.0 ** (1 - min(units, 1000)))


def _on_scale(metric: Metric, one: Evidence, other: Evidence) -> tuple[float, np.ndarray, bool]:
    """The difference and its parts: of logarithms where both scores are losses above 0."""
    mine, theirs = as_loss(metric.name, one), as_loss(metric.name, other)
    if mine is not None and theirs is not None and min(mine.score, theirs.score) > 0:
        parts = theirs.parts / theirs.score - mine.parts / mine.score
        return float(np.log(theirs.score / mine.score)), parts, True
    parts = metric.sign * (one.parts - other.parts)
    return metric.sign * (one.score - other.score), parts, False


def as_loss(metric: str, found: Evidence) -> Evidence | None:
    """A score as a loss that is 0 for a perfect model (R2: the share not explained); else None."""
    if metric == "r2":
        return Evidence(1 - found.score, -found.parts)
    return found if metric in LOSSES else None


def standard_error(parts: np.ndarray, factor: float) -> float:
    """Standard error of a sum over independent units."""
    n = len(parts)
    return float(np.sqrt(factor * n / (n - 1) * (parts**2).sum())) if n > 1 else float("nan")


def effective_units(parts: np.ndarray) -> float:
    """Effective number of units in the variance: all if they vary equally, 1 if one dominates."""
    squares = (parts / np.abs(parts).max()) ** 2
    return float(squares.sum() ** 2 / (squares**2).sum())


def _by_signs(one: Evidence, other: Evidence, mean: float, factor: float) -> float:
    """p of the sign test if most units favour the model with the better mean, else 1."""
    from scipy.special import ndtr

    if one.losses is None or other.losses is None:
        return 1.0
    wins, defeats = (one.losses < other.losses).sum(), (one.losses > other.losses).sum()
    if (wins - defeats) * mean <= 0:
        return 1.0
    z = (abs(wins - defeats) - 1) / np.sqrt(factor * (wins + defeats))
    return float(2 * ndtr(-abs(z)))
