"""Intervals of predictions: quantiles, and those of least squares.

Invariant: an interval of level q leaves (1 - q) / 2 on each side.
"""

from typing import Any

import numpy as np
from scipy.special import ndtri, stdtrit

from pellucid import parallel
from pellucid.errors import DataError, ParameterError, PellucidError, shown
from pellucid.numerics.linear_scores import linear_scores

KINDS = ("observation", "mean")
OFF = 1e-7  # share by which a row may miss what the training rows span
ALIKE = 4.0  # times as much as a training row does


def check_level(level: float) -> None:
    """Refuse a level that is no probability; one of NumPy's floats is."""
    number = isinstance(level, int | float | np.number) and not isinstance(level, bool)
    if not number or isinstance(level, np.complexfloating) or not 0 < level < 1:
        raise ParameterError(f"level must be in (0, 1). Got {shown(level)} instead.")


def check_interval(level: float, kind: str) -> None:
    """Refuse a level that is no probability and a kind that does not exist."""
    check_level(level)
    if kind not in KINDS:
        raise ParameterError(f"kind must be one of {KINDS}. Got {shown(kind)} instead.")


def check_weights(weights: str) -> None:
    """Refuse a meaning of weights that does not exist."""
    if weights not in ("frequency", "precision"):
        raise ParameterError(
            f"weights must be frequency or precision. Got {shown(weights)} instead."
        )


def normal_reach(level: float) -> float:
    """How many standard deviations a normal interval reaches to each side."""
    return float(ndtri((1 + level) / 2))


def t_reach(level: float, dof: float) -> float:
    """As `normal_reach`, where the variance was estimated with `dof` degrees of freedom."""
    return normal_reach(level) if np.isinf(dof) else float(stdtrit(dof, (1 + level) / 2))


def least_squares_ends(model: Any, X: Any, level: float, kind: str, weights: str) -> np.ndarray:
    """(n, 2), or (n, targets, 2): t times sigma times sqrt(leverage, plus 1 for an observation)."""
    from pellucid.linear_model._inference.least_squares import kept_facts

    kept = kept_facts(model)
    check_weights(weights)
    n = kept["total"] if weights == "frequency" else kept["rows"]
    dof = n - model.rank_ - int(model.fit_intercept)
    if dof <= 0:
        raise PellucidError("No degrees of freedom are left to estimate the noise: no interval.")
    if "root" not in kept:
        raise PellucidError("This table was too wide to keep what intervals need.")
    lever = leverage(model, kept, X)
    with np.errstate(over="ignore"):
        sigma = np.ldexp(np.sqrt(kept["residual_ss"] / dof), kept["exponent"])
    spread = np.sqrt(lever + (kind == "observation"))[:, None] * sigma
    middle = linear_scores(X, model.coef_, model.intercept_).reshape(len(spread), -1)
    ends = middle[:, :, None] + t_reach(level, dof) * spread[:, :, None] * np.array([-1.0, 1.0])
    return ends if model.coef_.ndim == 2 else ends[:, 0]


def leverage(model: Any, kept: dict[str, Any], X: Any) -> np.ndarray:
    """Variance of the prediction of each row for residual variance 1."""
    X = X if isinstance(X, np.ndarray) else X.toarray()
    null, rows = kept["null"], X - model.means_
    size = (np.abs(rows) + 2 * np.abs(model.means_)) @ np.abs(null)
    check_span(rows @ null, size, kept["slack"])
    constant = 1.0 / kept["mass"] if model.fit_intercept else 0.0
    along = (X - kept["centre"]) @ kept["root"] + kept["drift"]
    return constant + np.square(along).sum(axis=1)


def slack(X: Any, null: np.ndarray, edge: np.ndarray) -> np.ndarray:
    """The most that training rows add along directions (columns of null) they do not know."""
    parts = (X[rows] @ null + edge for rows in parallel.row_blocks(*X.shape))
    return np.max([np.abs(part).max(axis=0) for part in parts], axis=0)


def check_span(off: np.ndarray, size: np.ndarray, slack: Any = 0.0) -> None:
    """Columns that depend on each other in training must do so in every row asked about.

    `off` (n, k) is what rows add along k directions that the training rows do not know, `size`
    (n, k) that of its terms; `slack` (k,) is how much the training rows add.
    """
    far = np.flatnonzero((np.abs(off) > OFF * size + ALIKE * slack).any(axis=1))
    if len(far):
        raise DataError(
            f"Row {far[0]} lies outside what the training rows span (columns are combinations of "
            "each other there, but not here), so its prediction is not determined. Drop the "
            "columns that summary() names."
        )
