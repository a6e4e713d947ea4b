"""Intervals and tests from fold scores, for metrics without row values such as scikit-learn's scorers.

The corrected resampled t-test (Nadeau and Bengio 2003) has one degree of freedom less than there are
folds, so it has little power; our own metrics are compared by rows (`evidence`). Losses, which have no
natural scale, are compared by their logarithms.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pellucid.comparison.analysis.evidence import ROUNDING, Difference
from pellucid.comparison.analysis.statistics import corrected_error, reach, t_two_sided

LOSS = (0.0, np.inf)  # bounds of a score that is a mean of losses


def fold_interval(
    scores: Sequence[float],
    ratio: float,
    bounds: tuple[float, float] = (-np.inf, np.inf),
    repeats: int = 1,
) -> tuple[float, float]:
    """Confidence interval of the mean score; NaN where a fold has no score.

    The interval of losses (`bounds` is LOSS) is on a log scale. Repeats of the cross-validation test
    the same rows again: they make the mean more stable but add no rows, so the degrees of freedom are
    those of one repeat.
    """
    values = np.asarray(scores, dtype=float)
    if len(values) < 2 or not np.isfinite(values).all():
        return float("nan"), float("nan")
    folds, mean = len(values) // repeats, float(values.mean())
    width = reach(folds - 1)
    if bounds == LOSS and (values > 0).all():
        factor = float(np.exp(width * corrected_error(np.log(values), ratio, repeats)))
        return mean / factor, mean * factor
    half = width * corrected_error(values, ratio, repeats)
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

    Repeats add no rows, as in `fold_interval`.
    """
    pair = np.array([one, other], dtype=float)
    log = bool(losses and (pair > 0).all())
    difference = np.log(pair[1] / pair[0]) if log else sign * (pair[0] - pair[1])
    df = len(difference) // repeats - 1
    if df < 1 or not np.isfinite(difference).all():
        return Difference(float("nan"), float("nan"), max(df, 1), float("nan"), log)
    mean, error = float(difference.mean()), corrected_error(difference, ratio, repeats)
    # Differences that vary only by rounding are constant.
    if error <= ROUNDING * max(1.0, float(np.abs(difference).max())):
        return Difference(mean, 0.0, df, 1.0 if abs(mean) <= ROUNDING else 0.0, log)
    return Difference(mean, error, df, t_two_sided(mean / error, df), log)
