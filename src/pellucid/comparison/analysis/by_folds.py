"""Scores that have no row values, such as scikit-learn's scorers, are judged by folds.

The corrected resampled t-test (Nadeau and Bengio 2003) has as many degrees of freedom as folds less
one, so it tells few models apart; our own metrics are judged by rows (`evidence`). Losses, which have
no scale of their own, are compared by their logarithms.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pellucid.comparison.analysis.evidence import ROUNDING, Difference
from pellucid.comparison.analysis.statistics import LEVEL, corrected_error, t_quantile, t_two_sided

LOSS = (0.0, np.inf)  # bounds of a score that is a mean of losses


def fold_interval(
    scores: Sequence[float],
    ratio: float,
    bounds: tuple[float, float] = (-np.inf, np.inf),
    repeats: int = 1,
) -> tuple[float, float]:
    """Confidence interval of the mean score; NaN where a fold has no score.

    Losses, none below 0 (`bounds` is LOSS), have theirs on a scale of ratios. Folds that are drawn
    anew (`repeats`) test the same rows again: they steady the mean and its spread, but tell of no
    further rows, so the interval is that of the folds of one repeat.
    """
    values = np.asarray(scores, dtype=float)
    if len(values) < 2 or not np.isfinite(values).all():
        return float("nan"), float("nan")
    folds, mean = len(values) // repeats, float(values.mean())
    reach = t_quantile(folds - 1, (1 + LEVEL) / 2)
    if bounds == LOSS and (values > 0).all():
        factor = float(np.exp(reach * corrected_error(np.log(values), ratio, repeats)))
        return mean / factor, mean * factor
    half = reach * corrected_error(values, ratio, repeats)
    return max(bounds[0], mean - half), min(bounds[1], mean + half)


def fold_difference(
    one: Sequence[float],
    other: Sequence[float],
    ratio: float,
    sign: int = 1,
    losses: bool = False,
    repeats: int = 1,
) -> Difference:
    """How much better `one` is, paired by fold; NaN where a fold has no score.

    Repeats tell of no further rows, as in `fold_interval`.
    """
    pair = np.array([one, other], dtype=float)
    log = bool(losses and (pair > 0).all())
    difference = np.log(pair[1] / pair[0]) if log else sign * (pair[0] - pair[1])
    df = len(difference) // repeats - 1
    if df < 1 or not np.isfinite(difference).all():
        return Difference(float("nan"), float("nan"), max(df, 1), float("nan"), log)
    mean, error = float(difference.mean()), corrected_error(difference, ratio, repeats)
    # Differences that vary by rounding only are constant.
    if error <= ROUNDING * max(1.0, float(np.abs(difference).max())):
        return Difference(mean, 0.0, df, 1.0 if abs(mean) <= ROUNDING else 0.0, log)
    return Difference(mean, error, df, t_two_sided(mean / error, df), log)
