"""Intervals and tests from plain numbers: t, Wilson, Newcombe, Holm, bootstrap, jackknife.

All functions take and return plain numbers. They are used by `evidence` and `score_intervals` (scores by
row), `by_folds` (metrics without row values) and `test_set`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

LEVEL = 0.95
FARTHEST = 10.0  # maximum ratio of an end of an interval to a mean loss


def reach(df: float = np.inf) -> float:
    """Half the width of a 95 % interval in standard errors, for these degrees of freedom."""
    from scipy.special import ndtri, stdtrit

    return float(stdtrit(df, (1 + LEVEL) / 2) if np.isfinite(df) else ndtri((1 + LEVEL) / 2))


def t_two_sided(t: float, df: int) -> float:
    """Two-sided p-value of Student's t distribution."""
    from scipy.special import stdtr

    return float(2 * stdtr(df, -abs(t)))


def corrected_error(scores: np.ndarray, ratio: float, repeats: int = 1) -> float:
    """Standard error of the mean of fold scores; `ratio` = test rows / training rows of a fold.

    Because the training rows of folds overlap, Nadeau and Bengio (2003) correct the variance of a mean
    over J folds from s^2 / J to s^2 (1 / J + ratio).
    """
    J = len(scores)
    spread = np.var(scores, ddof=1) if J > 1 else np.nan
    return float(np.sqrt(spread * (repeats / J + ratio)))


def effective_rows(w: np.ndarray) -> float:
    """Kish's effective number of rows, (sum w)^2 / sum w^2; their number if all weights are equal."""
    return float(w.sum() ** 2 / (w**2).sum()) if (w != w[:1]).any() else float(len(w))


@dataclass(frozen=True)
class EffectiveSample:
    """The rows that determine a score: the metric, and the effective number of rows of each class."""

    metric: str
    by_class: tuple[float, ...]

    @classmethod
    def of(cls, metric: str, y: np.ndarray, w: np.ndarray, K: int) -> EffectiveSample:
        """The sample of rows of K classes; classes without rows do not count."""
        parts = [w[(y == k) & (w > 0)] for k in range(K)]
        return cls(metric, tuple(effective_rows(part) for part in parts if len(part)))

    @property
    def rows(self) -> float | None:
        """Effective number of rows of a proportion; None if the metric is not one."""
        if self.metric == "accuracy":
            return sum(self.by_class)
        if self.metric not in ("balanced_accuracy", "f1", "average_precision"):
            return None
        if len(self.by_class) == 2 and self.metric != "balanced_accuracy":
            return self.by_class[1]
        return len(self.by_class) ** 2 / sum(1 / max(n, 1.0) for n in self.by_class)

    def interval(self, mean: float) -> tuple[float, float]:
        """Wilson's interval, Newcombe's for the AUC, else an empty one."""
        if self.rows is not None:
            return wilson(mean, self.rows)
        if self.metric == "roc_auc":
            fewest = min(self.by_class)
            return auc_interval(mean, fewest, sum(self.by_class) - fewest)
        return mean, mean


def holm(p: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values, in the given order; NaN remains NaN and is not counted."""
    p = [float(value) for value in p]
    order = sorted((k for k, value in enumerate(p) if value == value), key=lambda k: p[k])
    adjusted, running = list(p), 0.0
    for position, k in enumerate(order):
        running = max(running, min(1.0, p[k] * (len(order) - position)))
        adjusted[k] = running
    return adjusted


# One set of rows ------------------------------------------------------------------------------


def wilson(share: float, n: float, df: float = np.inf) -> tuple[float, float]:
    """Wilson's interval of a proportion of n independent rows; `df` if n was itself estimated."""
    z = reach(df)
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return max(0.0, float(centre - half)), min(1.0, float(centre + half))


def auc_variance(theta: float, n_pos: float, n_neg: float) -> float:
    """Hanley and McNeil's variance of the area under the ROC curve, with the mean of the class sizes."""
    mean = (n_pos + n_neg) / 2 - 1
    spread = 1 + mean * (1 - theta) / (2 - theta) + mean * theta / (1 + theta)
    return theta * (1 - theta) * spread / (n_pos * n_neg)


def auc_interval(auc: float, n_pos: float, n_neg: float, df: float = np.inf) -> tuple[float, float]:
    """Newcombe's (2006) interval of the area under the ROC curve; not empty at 0 and 1.

    It solves (theta - auc)^2 = z^2 V(theta) for theta, where V is `auc_variance`; `df` if the sizes
    were themselves estimated.
    """
    z = reach(df)

    def gap(theta: float) -> float:
        return (theta - auc) ** 2 - z**2 * auc_variance(theta, n_pos, n_neg)

    low = 0.0 if auc <= 0 else _root(gap, 0.0, auc)
    high = 1.0 if auc >= 1 else _root(gap, 1.0, auc)
    return low, high


def _root(gap: Callable[[float], float], outside: float, inside: float) -> float:
    """Where `gap` changes sign between the end of the scale and the estimate."""
    if gap(outside) <= 0:
        return outside
    for _ in range(60):
        middle = (outside + inside) / 2
        outside, inside = (middle, inside) if gap(middle) > 0 else (outside, middle)
    return (outside + inside) / 2


def tail_of(n: float) -> float:
    """The tail probability of the expanded percentile interval (Hesterberg 2015).

    Bootstrap percentiles of few rows cover too little. Percentiles further out give the interval of a
    mean the width of the t interval.
    """
    from scipy.special import ndtr

    return float(ndtr(-reach(n - 1) * np.sqrt(n / (n - 1)))) if n > 1 else 0.0


def bootstrap(
    statistic: Callable[[np.ndarray], float], n: int, rng: np.random.Generator, draws: int = 1000
) -> tuple[float, float]:
    """Bootstrap percentile interval of a statistic of n rows, expanded if n is small."""
    draws = max(200, min(draws, int(2e7 // max(n, 1))))
    values = np.array([statistic(rng.integers(0, n, n)) for _ in range(draws)])
    values = values[np.isfinite(values)]
    if len(values) < draws / 2:
        return float("nan"), float("nan")
    tail = tail_of(n)
    return float(np.quantile(values, tail)), float(np.quantile(values, 1 - tail))


def jackknife(statistic: Callable[[np.ndarray], float], groups: np.ndarray) -> tuple[float, float]:
    """Interval of a statistic of grouped rows, which is computed without each group in turn.

    Bootstrap percentiles of few groups cover too little. The t distribution has one degree of freedom
    less than there are groups. NaN if the statistic is undefined without some group.
    """
    names = np.unique(groups)
    without = np.array([statistic(np.flatnonzero(groups != name)) for name in names])
    G, whole = len(names), statistic(np.arange(len(groups)))
    error = np.sqrt((G - 1) / G * ((without - without.mean()) ** 2).sum())
    half = reach(G - 1) * error
    return float(whole - half), float(whole + half)
