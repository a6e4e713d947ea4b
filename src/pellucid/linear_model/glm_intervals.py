"""Intervals of predictions of generalised linear models: of the mean, and of a new observation.

The link of the mean is normal around its estimate. A new observation is drawn from the family, with
that uncertain mean: its distribution function is an average over the uncertainty (Gauss-Hermite),
and its quantiles are found by bisection.

Invariant: a discrete observation's interval covers at least its level; nothing here draws.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import bdtr, betainc, gammainc, log_ndtr, ndtr, pdtr

from pellucid.errors import DataError, PellucidError
from pellucid.linear_model.glm_inference import dispersion_of, extra_variance, power_of
from pellucid.linear_model.intervals import t_reach
from pellucid.numerics.families import Family
from pellucid.numerics.links import LINKS

NODES, SHARES = np.polynomial.hermite_e.hermegauss(15)
SHARES = SHARES / SHARES.sum()
HALVINGS = 200
OFF = 1e-7  # share by which a row may miss what the training rows span
DISCRETE = ("poisson", "binomial", "negative_binomial")

# (values, means, dispersion) -> probability of at most that value
Distribution = Callable[[np.ndarray, np.ndarray, float], np.ndarray]


def glm_ends(
    model: Any, X: Any, eta: np.ndarray, level: float, kind: str, trials: int
) -> np.ndarray:
    """Low and high ends (n, 2) for encoded rows with linear predictor eta."""
    kept = vars(model).get("inference_")
    if kept is None:
        raise PellucidError(
            "Intervals need standard errors, which theory gives for alpha=0 only (and not for "
            "solver='gd'). pellucid.inspection.bootstrap gives intervals for any model."
        )
    if not np.isfinite(kept["covariance"]).all():
        raise PellucidError(
            "The fit ended where rows have no finite information, so there are no standard errors."
        )
    residual = kept["total"] - kept["rank"]
    if not kept["known"] and residual <= 0:
        raise PellucidError(
            "No degrees of freedom are left to estimate the dispersion: no interval."
        )
    dispersion = dispersion_of(kept, residual)
    dof = np.inf if kept["known"] else residual
    _check_span(kept["null"], X)
    error = np.sqrt(_variance(model, kept["covariance"], X) * dispersion)
    link, reach = LINKS[model._link()], t_reach(level, dof)
    normal = kept["family"] == "normal" and kept["link"] == "identity"
    if kind == "mean" or normal:
        spread = error if kind == "mean" else np.sqrt(error**2 + dispersion)
        ends = eta[:, None] + reach * spread[:, None] * np.array([-1.0, 1.0])
        return np.sort(link.inverse(ends), axis=1)
    shift = NODES * (reach / t_reach(level, np.inf))  # wider where the variance was estimated
    with np.errstate(all="ignore"):
        means = link.inverse(eta[:, None] + error[:, None] * shift)
        means = np.where(np.isfinite(means) & (means >= 0), means, link.inverse(eta)[:, None])
        F = distribution(model._family(), trials)
        low, high = (1 - level) / 2, (1 + level) / 2
        whole = kept["family"] in DISCRETE
        ends = [quantile(F, means, dispersion, q, whole) for q in (low, high)]
    ends_array = np.column_stack(ends)
    return ends_array / trials if kept["family"] == "binomial" else ends_array


def _check_span(null: np.ndarray, X: Any) -> None:
    """Columns that depend on each other in training must do so in every row asked about."""
    if not null.shape[1]:
        return
    off = np.abs(X @ null[:-1] + null[-1])
    size = abs(X) @ np.abs(null[:-1]) + np.abs(null[-1])
    far = np.flatnonzero((off > OFF * size).any(axis=1))
    if len(far):
        raise DataError(
            f"Row {far[0]} lies outside what the training rows span (columns are combinations of "
            "each other there, but not here), so its prediction is not determined. Drop the "
            "columns that summary() names."
        )


def _variance(model: Any, C: np.ndarray, X: Any) -> np.ndarray:
    """Variance of x . b + b0 for dispersion 1, around the means, where digits are."""
    rows = (X if isinstance(X, np.ndarray) else X.toarray()) - model.means_
    T = np.eye(len(C))
    T[-1, :-1] = model.means_
    centred = T @ C @ T.T
    rows = np.column_stack([rows, np.full(len(rows), float(model.fit_intercept))])
    return np.maximum(np.einsum("ij,ij->i", rows @ centred, rows), 0.0)


def distribution(family: Family, trials: int) -> Distribution:
    """The distribution function of a family."""
    name = family.name
    if name == "tweedie":
        power = power_of(family)
        if not 1 < power < 2:
            raise PellucidError(
                f"No formula is known for new observations of a Tweedie family of power {power:g}: "
                "ask for kind='mean'."
            )
        return lambda y, mu, phi: _compound(y, mu, phi, power)
    if name == "negative_binomial":
        size = 1 / extra_variance(family)
        return lambda y, mu, phi: betainc(size, np.floor(y) + 1, size / (size + mu))
    return {
        "poisson": lambda y, mu, phi: pdtr(np.floor(y), mu),
        "binomial": lambda y, mu, phi: bdtr(np.floor(y), trials, np.clip(mu, 0, 1)),
        "gamma": lambda y, mu, phi: gammainc(1 / phi, y / (phi * mu)),
        "inverse_gaussian": _inverse_gaussian,
        "normal": lambda y, mu, phi: ndtr((y - mu) / np.sqrt(phi)),
    }[name]


def _inverse_gaussian(y: np.ndarray, mu: np.ndarray, phi: float) -> np.ndarray:
    root = 1 / np.sqrt(phi * np.maximum(y, 1e-300))
    tail = np.exp(2 / (phi * mu) + log_ndtr(-root * (y / mu + 1)))
    return ndtr(root * (y / mu - 1)) + tail


def _compound(y: np.ndarray, mu: np.ndarray, phi: float, power: float) -> np.ndarray:
    """A Poisson number of gamma amounts."""
    rate = mu ** (2 - power) / (phi * (2 - power))
    shape, scale = (2 - power) / (power - 1), phi * (power - 1) * mu ** (power - 1)
    top = float(np.max(rate))
    chance = np.exp(-rate)
    total = chance * np.ones_like(y * mu)
    for k in range(1, int(top + 12 * np.sqrt(top) + 30)):
        chance = chance * rate / k
        total = total + chance * gammainc(k * shape, np.maximum(y, 0.0) / scale)
    return total


def quantile(
    F: Distribution, means: np.ndarray, dispersion: float, q: float, whole: bool
) -> np.ndarray:
    """The smallest value (a whole number if `whole`) whose averaged probability reaches q."""

    def below(y: np.ndarray) -> np.ndarray:
        return F(y[:, None], means, dispersion) @ SHARES < q

    middle = means.mean(axis=1)
    high = np.maximum(np.abs(middle), 1e-300) * 2
    high = np.ceil(high) + 1 if whole else high
    for _ in range(1100):
        short = below(high)
        if not short.any():
            break
        high = np.where(short, high * 2, high)
    low = np.full_like(high, -1.0) if whole else np.where(below(np.zeros_like(high)), 0.0, -high)
    for _ in range(1100):  # values below 0, for normal errors
        above = ~below(low)
        if whole or not above.any() or (means >= 0).all():
            break
        low = np.where(above, low * 2, low)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        middle = np.floor(middle) if whole else middle
        short = below(middle)
        low, high = np.where(short, middle, low), np.where(short, high, middle)
        if np.all(high - low <= (1 if whole else 1e-12 * np.abs(high))):
            break
    return high if whole else np.maximum(high, 0.0) if (means >= 0).all() else high
