"""What may be concluded from fold scores: intervals, comparisons, who is tied, who is recommended.

Fold scores of cross validation are not independent: their training rows overlap. Nadeau and Bengio
(2003) correct the variance of a mean over J folds from s^2 / J to

    s^2 (1 / J + n_test / n_train),

and the t distribution with J - 1 degrees of freedom gives intervals and tests; of losses, which
have no scale of their own, by their logarithms. Folds that happen to
score alike say too little of the uncertainty (all of them 1.0: none at all), so where the metric is
a share of rows the interval is never narrower than that of the rows behind it, and a difference is
never surer than the sign test of the fewest rows that could make it. Comparisons with the best model
are paired by fold and corrected for their number by Holm's method. All functions take
and return plain numbers; scores are oriented so that higher is better.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

LEVEL = 0.95
LOSS = (0.0, np.inf)  # bounds of a score that is a mean of losses


def t_quantile(df: float, q: float) -> float:
    """Of Student's distribution."""
    from scipy.special import stdtrit

    return float(stdtrit(df, q))


def _t_two_sided(t: float, df: int) -> float:
    from scipy.special import stdtr

    return float(2 * stdtr(df, -abs(t)))


def corrected_error(scores: np.ndarray, ratio: float, repeats: int = 1) -> float:
    """Standard error of the mean of fold scores; `ratio` = test rows / training rows of a fold."""
    J = len(scores)
    spread = np.var(scores, ddof=1) if J > 1 else np.nan
    return float(np.sqrt(spread * (repeats / J + ratio)))


def interval(
    scores: Sequence[float],
    ratio: float,
    bounds: tuple[float, float] = (-np.inf, np.inf),
    level: float = LEVEL,
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
    reach = t_quantile(folds - 1, (1 + level) / 2)
    if bounds == LOSS and (values > 0).all():
        factor = float(np.exp(reach * corrected_error(np.log(values), ratio, repeats)))
        return mean / factor, mean * factor
    half = reach * corrected_error(values, ratio, repeats)
    return max(bounds[0], mean - half), min(bounds[1], mean + half)


def equal_rows(w: np.ndarray) -> float:
    """So many rows of equal weight tell as much as these; rows themselves if weights are equal."""
    return float(w.sum() ** 2 / (w**2).sum()) if (w != w[:1]).any() else float(len(w))


@dataclass(frozen=True)
class Behind:
    """What stands behind a mean score: the metric, and the tested rows of each class.

    Weighted rows count as (sum of weights)^2 / sum of squared weights.
    """

    metric: str
    by_class: tuple[float, ...]

    @property
    def rows(self) -> float | None:
        """So many independent rows tell as much of a share; None if the metric is no share."""
        if self.metric == "accuracy":
            return sum(self.by_class)
        if self.metric not in ("balanced_accuracy", "f1", "average_precision"):
            return None
        if len(self.by_class) == 2 and self.metric != "balanced_accuracy":
            return self.by_class[1]
        return len(self.by_class) ** 2 / sum(1 / max(n, 1.0) for n in self.by_class)

    def interval(self, mean: float, level: float = LEVEL) -> tuple[float, float]:
        """Of these rows as one sample: Wilson's, Newcombe's for the AUC, else no width."""
        if self.rows is not None:
            return wilson(mean, self.rows, level)
        if self.metric == "roc_auc":
            fewest = min(self.by_class)
            return auc_interval(mean, fewest, sum(self.by_class) - fewest, level)
        return mean, mean

    def least_p(self, difference: float) -> float:
        """The sign test if all rows that differ speak for the same model."""
        return 0.0 if self.rows is None else min(1.0, 2.0 ** (1 - abs(difference) * self.rows))


def paired_p(
    best: Sequence[float], other: Sequence[float], ratio: float, losses: bool = False
) -> float:
    """Two-sided p of the corrected resampled t-test that two models are equally good.

    Losses are compared by their ratios: a model that fails in all folds, in one of them by far most,
    would not be told from the best by differences.
    """
    pair = np.array([best, other], dtype=float)
    if losses and (pair > 0).all():
        pair = np.log(pair)
    difference = pair[0] - pair[1]
    if len(difference) < 2 or not np.isfinite(difference).all():
        return float("nan")
    mean, error = float(difference.mean()), corrected_error(difference, ratio)
    # Differences that vary by rounding only are constant.
    if error <= 1e-12 * max(1.0, float(np.abs(difference).max())):
        return 1.0 if abs(mean) <= 1e-12 else 0.0
    return _t_two_sided(mean / error, len(difference) - 1)


def chance_better(
    one: Any, other: Any, ratio: float, losses: bool, behind: Behind | None
) -> float | None:
    """How surely `one` scores higher: the posterior of the corrected t-test (flat prior).

    It follows from the p-value of the board, so the two never contradict each other.
    """
    p = paired_p(one, other, ratio, losses)
    if p != p:
        return None
    pair = np.array([one, other], dtype=float)
    if behind is not None:
        p = max(p, behind.least_p(float(pair[0].mean() - pair[1].mean())))
    if losses and (pair > 0).all():
        pair = np.log(pair)
    return 1 - p / 2 if pair[0].mean() > pair[1].mean() else p / 2


def holm(p: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values, in the given order; NaN stays and is not counted."""
    p = [float(value) for value in p]
    order = sorted((k for k, value in enumerate(p) if value == value), key=lambda k: p[k])
    adjusted, running = list(p), 0.0
    for position, k in enumerate(order):
        running = max(running, min(1.0, p[k] * (len(order) - position)))
        adjusted[k] = running
    return adjusted


@dataclass(frozen=True)
class Standing:
    """A model's place: p against the best, Holm's p, and whether it is tied with the best."""

    mean: float
    low: float
    high: float
    p: float | None
    p_holm: float | None
    tied: bool
    place: int | None


def standings(
    scores: Mapping[str, Sequence[float]],
    ratio: float,
    sign: int,
    bounds: tuple[float, float],
    level: float = LEVEL,
    behind: Behind | None = None,
    exact: frozenset[str] = frozenset(),
    baseline: str | None = None,
    repeats: int = 1,
) -> dict[str, Standing]:
    """Every model against the best; the best is tied with itself. Scores are as measured.

    `exact` names models whose score follows from what they are, like the AUC of a constant. Whether
    the best beats the `baseline` is asked first and alone: the more models there are, the less
    could be told from it otherwise. Holm's method is for the others.
    """
    means = {name: float(np.mean(values)) for name, values in scores.items()}
    ranked = sorted(
        (name for name, mean in means.items() if np.isfinite(mean)),
        key=lambda name: (-sign * means[name], name),
    )
    best = ranked[0] if ranked else None
    p = {
        name: paired_p(scores[best], scores[name], ratio, losses=bounds == LOSS)
        for name in ranked
        if best is not None and name != best
    }
    if behind is not None and best is not None:
        least = {name: behind.least_p(means[best] - means[name]) for name in p}
        p = {
            name: max(value, least[name]) if value == value else value for name, value in p.items()
        }
    others = {name: value for name, value in p.items() if name != baseline}
    adjusted = p | dict(zip(others, holm(list(others.values()))))
    out = {}
    for name, values in scores.items():
        low, high = interval(values, ratio, bounds, level, repeats)
        if behind is not None and name not in exact and low == low:
            own = behind.interval(means[name], level)
            low, high = min(low, own[0]), max(high, own[1])
        scored = name in ranked
        out[name] = Standing(
            mean=means[name],
            low=low,
            high=high,
            p=p.get(name),
            p_holm=adjusted.get(name),
            tied=scored and (name == best or adjusted[name] >= 1 - level),
            place=ranked.index(name) + 1 if scored else None,
        )
    return out


def recommend(
    standing: dict[str, Standing], ranks: dict[str, int], tie_break: dict[str, float]
) -> str | None:
    """The simplest of the tied by the published order, then the lowest `tie_break`, then by name."""
    tied = [name for name, place in standing.items() if place.tied]
    if not tied:
        return None

    def order(name: str) -> tuple[int, float, str]:
        loss = tie_break.get(name, float("nan"))
        return ranks[name], loss if loss == loss else float("inf"), name

    return min(tied, key=order)


# One set of rows ------------------------------------------------------------------------------


def wilson(share: float, n: float, level: float = LEVEL, df: float = np.inf) -> tuple[float, float]:
    """Wilson's interval of a share among n independent rows; `df` if n was itself estimated."""
    from scipy.special import ndtri

    z = t_quantile(df, (1 + level) / 2) if np.isfinite(df) else float(ndtri((1 + level) / 2))
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return max(0.0, float(centre - half)), min(1.0, float(centre + half))


def auc_interval(
    auc: float, n_pos: float, n_neg: float, level: float = LEVEL
) -> tuple[float, float]:
    """Newcombe's (2006) interval of the area under the ROC curve; not empty at 0 and 1.

    It solves (theta - auc)^2 = z^2 V(theta) for theta, V being Hanley and McNeil's variance with
    the larger sizes replaced by their mean.
    """
    from scipy.special import ndtri

    z = float(ndtri((1 + level) / 2))
    mean = (n_pos + n_neg) / 2 - 1

    def gap(theta: float) -> float:
        spread = (
            theta
            * (1 - theta)
            * (1 + mean * (1 - theta) / (2 - theta) + mean * theta / (1 + theta))
        )
        return (theta - auc) ** 2 - z**2 * spread / (n_pos * n_neg)

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


def tail_of(n: float, level: float) -> float:
    """The tail to leave out of redrawn values, so that few rows reach as far as the t distribution.

    Percentiles of few rows cover too little; they are taken as far out as makes the interval of a
    mean that of the t distribution (Hesterberg 2015, the expanded percentile interval).
    """
    from scipy.special import ndtr

    reach = t_quantile(n - 1, (1 + level) / 2) * np.sqrt(n / (n - 1)) if n > 1 else np.inf
    return float(ndtr(-reach))


def bootstrap(
    statistic: Callable[[np.ndarray], float],
    n: int,
    rng: np.random.Generator,
    level: float = LEVEL,
    draws: int = 1000,
) -> tuple[float, float]:
    """Percentile interval of a statistic of n rows drawn with replacement, expanded if n is small."""
    draws = max(200, min(draws, int(2e7 // max(n, 1))))
    values = np.array([statistic(rng.integers(0, n, n)) for _ in range(draws)])
    values = values[np.isfinite(values)]
    if len(values) < draws / 2:
        return float("nan"), float("nan")
    tail = tail_of(n, level)
    return float(np.quantile(values, tail)), float(np.quantile(values, 1 - tail))


def jackknife(
    statistic: Callable[[np.ndarray], float], groups: np.ndarray, level: float = LEVEL
) -> tuple[float, float]:
    """Interval of a statistic of rows in groups: it is computed without each group in turn.

    Of few groups percentiles of redrawn ones cover too little; Student's distribution has their number
    minus 1 degrees of freedom. NaN where the statistic is not defined without some group.
    """
    names = np.unique(groups)
    without = np.array([statistic(np.flatnonzero(groups != name)) for name in names])
    G, whole = len(names), statistic(np.arange(len(groups)))
    error = np.sqrt((G - 1) / G * ((without - without.mean()) ** 2).sum())
    half = t_quantile(G - 1, (1 + level) / 2) * error
    return float(whole - half), float(whole + half)
