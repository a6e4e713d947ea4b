"""Intervals of predictions of generalised linear models: of the mean, and of a new observation.

The link of the mean is normal around its estimate. A new observation is drawn from the family, with
that uncertain mean: its distribution function is an average over the uncertainty (Gauss-Hermite),
and its quantiles are found by bisection.

Invariant: a discrete observation's interval covers at least its level; nothing here draws.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import bdtr, betainc, gammainc, gammaln, log_ndtr, ndtr, pdtr

from pellucid.errors import PellucidError
from pellucid.linear_model.glm_inference import WIDE, dispersion_of, extra_variance, power_of
from pellucid.linear_model.intervals import OFF, check_span, t_reach
from pellucid.numerics.families import Family, GLMLoss

NODES, SHARES = np.polynomial.hermite_e.hermegauss(15)
SHARES = SHARES / SHARES.sum()
HALVINGS = 200
MANY = 200.0  # amounts from which their number is averaged over a grid
LARGEST = 1e300
DISCRETE = ("poisson", "binomial", "negative_binomial")

# (values, means, dispersion) -> probability of at most that value
Distribution = Callable[[np.ndarray, np.ndarray, float], np.ndarray]


def glm_ends(
    model: Any, X: Any, eta: np.ndarray, level: float, kind: str, trials: int
) -> np.ndarray:
    """Low and high ends (n, 2) for encoded rows with linear predictor eta."""
    kept = vars(model).get("inference_")
    if kept is None:
        if model.alpha == 0 and model.solver != "gd":
            raise PellucidError(WIDE)
        raise PellucidError(
            "Intervals need standard errors, which theory gives for alpha=0 only (and not for "
            "solver='gd'). pellucid.inspection.bootstrap gives intervals for any model."
        )
    if not np.isfinite(kept["root"]).all():
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
    null, edge = kept["null"][:-1], kept["null"][-1]
    _check_finite(model, X, kept["endless"])
    check_span(X @ null + edge, abs(X) @ np.abs(null) + np.abs(edge), kept["slack"])
    rows = (X if isinstance(X, np.ndarray) else X.toarray()) - kept["centre"]
    rows = np.column_stack([rows, np.full(len(rows), float(model.fit_intercept))])
    error = np.linalg.norm(rows @ kept["root"], axis=1) * np.sqrt(dispersion)
    loss, reach = model._loss(), t_reach(level, dof)
    normal = kept["family"] == "normal" and kept["link"] == "identity"
    if kind == "mean" or normal:
        spread = error if kind == "mean" else np.sqrt(error**2 + dispersion)
        return mean_ends(loss, eta, reach * spread)
    wider = reach / t_reach(level, np.inf)  # where the variance was estimated
    noise = dispersion * wider**2 if kept["family"] == "normal" else dispersion
    with np.errstate(all="ignore"):
        means = possible_means(loss, eta[:, None] + error[:, None] * wider * NODES)
        F, support = distribution(loss.family, trials), support_of(loss.family)
        ends = [quantile(F, means, noise, q, support) for q in ((1 - level) / 2, (1 + level) / 2)]
    ends_array = np.column_stack(ends)
    return ends_array / trials if kept["family"] == "binomial" else ends_array


def _check_finite(model: Any, X: Any, endless: np.ndarray) -> None:
    """Refuse rows whose linear predictor has no finite best value."""
    off, size = X @ endless[:-1] + endless[-1], abs(X) @ np.abs(endless[:-1]) + np.abs(endless[-1])
    far = np.flatnonzero((np.abs(off) > OFF * size).any(axis=1))
    if len(far):
        raise PellucidError(
            f"Row {far[0]} has no interval: the coefficients that its prediction needs grow without "
            f"limit. {model.status_}"
        )


def possible_means(loss: GLMLoss, eta: np.ndarray) -> np.ndarray:
    """mu(eta), or the possible mean next to it; infinite where an inverse link falls to 0."""
    if loss.link.name == "inverse_square" or _never_negative(loss):
        eta = np.maximum(eta, 0.0)
    with np.errstate(all="ignore"):
        return np.clip(loss.link.inverse(eta), *loss.family.y_range)


def _never_negative(loss: GLMLoss) -> bool:
    return loss.link.name == "inverse" and loss.family.name != "normal"


def mean_ends(loss: GLMLoss, eta: np.ndarray, reach: np.ndarray) -> np.ndarray:
    """Smallest and largest mean of the linear predictors within reach of eta."""
    ends = eta[:, None] + reach[:, None] * np.array([-1.0, 1.0])
    means = np.sort(possible_means(loss, ends), axis=1)
    around = (ends[:, 0] < 0) & (ends[:, 1] > 0)
    if loss.link.name == "sqrt":
        means[around, 0] = 0.0
    elif loss.link.name == "inverse" and not _never_negative(loss):
        means[around] = [-np.inf, np.inf]
    return means


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
        "binomial": lambda y, mu, phi: _binomial(np.floor(y), mu, trials),
        "gamma": lambda y, mu, phi: gammainc(1 / phi, y / (phi * mu)),
        "inverse_gaussian": _inverse_gaussian,
        "normal": lambda y, mu, phi: ndtr((y - mu) / np.sqrt(phi)),
    }[name]


def _binomial(y: np.ndarray, mu: np.ndarray, trials: int) -> np.ndarray:
    return np.where(y < 0, 0.0, bdtr(np.clip(y, 0, trials), trials, np.clip(mu, 0, 1)))


def _inverse_gaussian(y: np.ndarray, mu: np.ndarray, phi: float) -> np.ndarray:
    root = 1 / np.sqrt(phi * np.maximum(y, 1e-300))
    tail = np.exp(2 / (phi * mu) + log_ndtr(-root * (y / mu + 1)))
    return ndtr(root * (y / mu - 1)) + tail


def _compound(y: np.ndarray, mu: np.ndarray, phi: float, power: float) -> np.ndarray:
    """A Poisson number of gamma amounts.

    A large number is averaged over a grid a fraction as wide as anything in the sum: the error of
    that is far below rounding.
    """
    rate = mu ** (2 - power) / (phi * (2 - power))
    shape, scale = (2 - power) / (power - 1), phi * (power - 1) * mu ** (power - 1)
    y = np.maximum(y, 0.0) / scale
    top, width = float(np.max(rate)), 1 + shape
    if top < max(MANY, 7 * width):
        total = np.exp(-rate) * np.ones_like(y * mu)
        for k in range(1, int(top + 12 * np.sqrt(top) + 30)):
            total = total + _poisson_chance(float(k), rate) * gammainc(k * shape, y)
        return total
    total, sum_of_chances = np.zeros_like(y * mu), np.zeros_like(y * mu)
    for t in np.linspace(-12, 12, int(60 * np.sqrt(width)) | 1):
        k = np.maximum(rate + t * np.sqrt(rate), 0.5)
        chance = _poisson_chance(k, rate)
        total, sum_of_chances = total + chance * gammainc(k * shape, y), sum_of_chances + chance
    return total / sum_of_chances


def _poisson_chance(k: Any, rate: np.ndarray) -> np.ndarray:
    """exp(-rate) rate^k / k!, k > 0, without large terms that cancel (Loader)."""
    excess = (k - rate) / rate
    deviance = rate * ((1 + excess) * np.log1p(excess) - excess)
    stirling = gammaln(k + 1) - (k + 0.5) * np.log(k) + k - 0.5 * np.log(2 * np.pi)
    stirling = np.where(np.asarray(k) > 100, 1 / (12 * k) - 1 / (360 * k**3), stirling)
    return np.exp(-deviance - stirling) / np.sqrt(2 * np.pi * k)


def support_of(family: Family) -> str:
    """Values that an observation can have: all numbers, those >= 0, or whole ones >= 0."""
    if family.name in DISCRETE:
        return "whole"
    return "real" if family.y_range[0] < 0 else "positive"


def quantile(
    F: Distribution, means: np.ndarray, dispersion: float, q: float, support: str
) -> np.ndarray:
    """The smallest value of the support whose averaged probability reaches q."""
    whole = support == "whole"

    def below(y: np.ndarray) -> np.ndarray:
        chances = F(y[:, None], means, dispersion)
        return np.where(np.isnan(chances), 0.0, chances) @ SHARES < q  # NaN: an infinite mean

    endless = below(np.full(len(means), LARGEST))
    if endless.any():
        means = np.where(endless[:, None], 1.0, means)
    middle = np.where(np.isfinite(means), means, 0.0).mean(axis=1)
    high = np.maximum(np.abs(middle), 1e-300) * 2
    high = _doubled(np.ceil(high) + 1 if whole else high, below)
    low = np.full_like(high, -1.0) if whole else np.where(below(np.zeros_like(high)), 0.0, -high)
    if support == "real":
        low = _doubled(low, lambda y: ~below(y))
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        middle = np.floor(middle) if whole else middle
        short = below(middle)
        low, high = np.where(short, middle, low), np.where(short, high, middle)
        if np.all(high - low <= (1 if whole else 1e-12 * np.abs(high))):
            break
    high = np.where(endless, np.inf, high)
    return np.maximum(high, 0.0) if support == "positive" else high


def _doubled(y: np.ndarray, short: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """y, doubled as long as it falls short."""
    for _ in range(1100):
        still = short(y)
        if not still.any():
            break
        y = np.where(still, y * 2, y)
    return y
