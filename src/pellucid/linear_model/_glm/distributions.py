"""Distributions of the families of generalised linear models: distribution functions with their
supports, and log-likelihoods at fitted means.

Invariant: `below` is a probability for every value, every mean from 0 to infinity and every
dispersion from 0: no term cancels a larger one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import bdtr, betainc, erfcx, gammainc, gammaln, ndtr, pdtr, xlogy

from pellucid import parallel
from pellucid.errors import PellucidError
from pellucid.numerics.objectives.families import Family, GLMLoss

MANY = 200.0  # expected number of amounts from which a grid replaces the sum
NEARLY_NORMAL = 1e-8  # dispersion below which a gamma distribution is a normal one, slightly skewed


@dataclass(frozen=True)
class Distribution:
    """`of` (values, means, dispersions) -> probability of at most that value.

    Values lie in `support`, whole numbers if `whole`; a family of shares counts up to `trials`.
    """

    of: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
    support: tuple[float, float]
    whole: bool = False

    def below(self, y: np.ndarray, mu: np.ndarray, phi: np.ndarray) -> np.ndarray:
        """As `of`, for any value and mean: 0 below the support, 1 above it."""
        low, high = self.support
        with np.errstate(all="ignore"):
            probability = self.of(np.clip(y, low, high), mu, phi)
        if low == 0:
            probability = np.where(mu == 0, 1.0, probability)
        return np.where(
            y < low, 0.0, np.where(y >= high, 1.0, np.where(np.isinf(mu), 0.0, probability))
        )


def distribution(family: Family, trials: int) -> Distribution:
    """The distribution of a new observation; of `trials` times a share for the binomial family."""
    name, support = family.name, family.y_range
    if name == "tweedie":
        power = power_of(family)
        if not 1 < power < 2:
            raise PellucidError(
                f"No formula is known for new observations of a Tweedie family of power {power:g}. "
                "Use kind='mean'."
            )
        return Distribution(lambda y, mu, phi: _compound(y, mu, phi, power), support)
    if name == "negative_binomial":
        size = 1 / extra_variance(family)
        return Distribution(
            lambda y, mu, phi: betainc(size, np.floor(y) + 1, size / (size + mu)), support, True
        )
    if name == "binomial":
        return Distribution(lambda y, mu, phi: bdtr(np.floor(y), trials, mu), (0.0, trials), True)
    if name == "poisson":
        return Distribution(lambda y, mu, phi: pdtr(np.floor(y), mu), support, True)
    return Distribution(
        {"gamma": _gamma, "inverse_gaussian": _inverse_gaussian, "normal": _normal}[name], support
    )


def _normal(y: np.ndarray, mu: np.ndarray, phi: np.ndarray) -> np.ndarray:
    return ndtr((y - mu) / np.sqrt(phi))


def _gamma(y: np.ndarray, mu: np.ndarray, phi: np.ndarray) -> np.ndarray:
    skewed = phi > NEARLY_NORMAL
    some, root = np.where(skewed, phi, 1.0), np.sqrt(phi)
    z = (y - mu) / (mu * root)
    return np.where(skewed, gammainc(1 / some, y / (some * mu)), ndtr(z - root * (z * z - 1) / 3))


def _inverse_gaussian(y: np.ndarray, mu: np.ndarray, phi: np.ndarray) -> np.ndarray:
    """ndtr(t) + exp(2 / (phi mu)) ndtr(-s), whose factors are infinite and 0 for a small phi."""
    root = 1 / np.sqrt(phi * np.maximum(y, 1e-300))
    t, s = root * ((y - mu) / mu), root * (y / mu + 1)
    return ndtr(t) + 0.5 * np.exp(-0.5 * t * t) * erfcx(s / np.sqrt(2))


def _compound(y: np.ndarray, mu: np.ndarray, phi: np.ndarray, power: float) -> np.ndarray:
    """A Poisson number of gamma amounts, summed over the numbers with positive probability.

    A large number is averaged over a grid that is finer than all terms of the sum, so that the error
    is far below rounding.
    """
    rate = mu ** (2 - power) / (phi * (2 - power))
    shape, scale = (2 - power) / (power - 1), phi * (power - 1) * mu ** (power - 1)
    y = np.maximum(y, 0.0) / scale
    top, width = float(np.max(rate, where=np.isfinite(rate), initial=0.0)), 1 + shape
    if top < max(MANY, 7 * width):
        total, reach = np.exp(-rate) + np.zeros_like(y), 8 * np.sqrt(rate)
        first = np.maximum(np.floor(rate - reach), 1.0)
        for k in range(int(top + 8 * np.sqrt(top) + 12 - max(top - 8 * np.sqrt(top), 1.0)) + 1):
            number = first + k
            total += _poisson_probability(number, rate) * gammainc(number * shape, y)
        return total
    total, weights = np.zeros_like(y * mu), np.zeros_like(y * mu)
    for t in np.linspace(-12, 12, int(60 * np.sqrt(width)) | 1):
        k = np.maximum(rate + t * np.sqrt(rate), 0.5)
        probability = _poisson_probability(k, rate)
        total = total + probability * gammainc(k * shape, y)
        weights = weights + probability
    return total / weights


def _poisson_probability(k: Any, rate: np.ndarray) -> np.ndarray:
    """exp(-rate) rate^k / k!, k > 0, without large terms that cancel (Loader)."""
    excess = (k - rate) / rate
    deviance = rate * ((1 + excess) * np.log1p(excess) - excess)
    stirling = gammaln(k + 1) - (k + 0.5) * np.log(k) + k - 0.5 * np.log(2 * np.pi)
    stirling = np.where(np.asarray(k) > 100, 1 / (12 * k) - 1 / (360 * k**3), stirling)
    return np.exp(-deviance - stirling) / np.sqrt(2 * np.pi * k)


TABLE = 4096  # largest count for which a table of factorials is cheaper


@dataclass(frozen=True)
class FittedRows:
    """Rows, their fitted linear predictors, and the deviance and Pearson's chi-squared of the fit."""

    loss: GLMLoss
    y: np.ndarray
    eta: np.ndarray
    weights: np.ndarray
    blocks: list[slice]
    deviance: float
    pearson: float
    rank: int

    def log_likelihood(self, n: float, precision: bool = False) -> float:
        """Log-likelihood of n rows; NaN if there is no formula.

        As in R, an estimated dispersion is deviance / n for normal errors, and deviance / sum of
        weights for gamma and inverse Gaussian, whatever a weight means. For Tweedie it is
        pearson / (n - rank), as in statsmodels. With `precision` weights, shares of trials count the
        ways to draw them.
        """
        with np.errstate(all="ignore"):
            if self.loss.family.name == "normal":
                units = 0.5 * float(parallel.sum_rows(np.log(self.weights))) if precision else 0.0
                return units - 0.5 * n * float(np.log(2 * np.pi * np.divide(self.deviance, n)) + 1)
            scale = float(np.divide(self.deviance, parallel.sum_rows(self.weights)))
        total = parallel.reduce(
            lambda rows: np.array([self._block(rows, n, scale, precision)]),
            np.ndarray.__iadd__,
            self.blocks,
        )
        # The deviance already compares counts with their means.
        known = -0.5 * self.deviance if self.loss.family.name == "poisson" else 0.0
        return known + float(total[0])

    def _block(self, rows: slice, n: float, scale: float, precision: bool) -> float:
        """Log-likelihood of a block of rows."""
        name, y, w = self.loss.family.name, self.y[rows], self.weights[rows]
        if name == "poisson":
            return float(w @ saturated_poisson(y))
        with np.errstate(all="ignore"):
            mu = self.loss.link.inverse(self.eta[rows])
            if name == "binomial":
                ways = gammaln(w + 1) - gammaln(w * y + 1) - gammaln(w * (1 - y) + 1)
                return float(w @ (xlogy(y, mu) + xlogy(1 - y, 1 - mu)) + precision * ways.sum())
            if name == "gamma":
                shape = np.divide(1.0, scale)
                each = shape * np.log(shape * y / mu) - shape * y / mu - np.log(y) - gammaln(shape)
                return float(w @ each)
            if name == "inverse_gaussian":
                return -0.5 * float(w @ (np.log(2 * np.pi * scale) + 3 * np.log(y) + 1))
            if name == "negative_binomial":
                return float(w @ _negative_binomial(y, mu, extra_variance(self.loss.family)))
            power = power_of(self.loss.family)
            if 1 < power < 2 and n > self.rank:
                return float(w @ _tweedie(y, mu, power, self.pearson / (n - self.rank)))
            return float("nan")


def saturated_poisson(y: np.ndarray) -> np.ndarray:
    """Logarithm of the probability of a count y whose mean is y, from a table for small whole y."""

    def log_probability(y: np.ndarray) -> np.ndarray:
        return xlogy(y, y) - y - gammaln(y + 1)

    top = float(y.max(initial=0.0))
    if top < TABLE:
        whole = y.astype(np.int64)
        if np.array_equal(whole, y):
            return log_probability(np.arange(top + 1))[whole]
    return log_probability(y)


def extra_variance(family: Family) -> float:
    """alpha of V = mu + alpha mu^2."""
    return float(family.variance(np.ones(1))[0]) - 1.0


def power_of(family: Family) -> float:
    """p of V = mu^p."""
    return float(np.log2(family.variance(np.full(1, 2.0))[0]))


def _negative_binomial(y: np.ndarray, mu: np.ndarray, alpha: float) -> np.ndarray:
    size = 1 / alpha
    ways = gammaln(y + size) - gammaln(size) - gammaln(y + 1)
    return ways + xlogy(y, alpha * mu) - (y + size) * np.log1p(alpha * mu)


def _tweedie(y: np.ndarray, mu: np.ndarray, power: float, scale: float) -> np.ndarray:
    """Sums of a Poisson number of gamma amounts: the density of y > 0 is a Wright function."""
    from scipy.special import log_wright_bessel

    kernel = y * mu ** (1 - power) / (1 - power) - mu ** (2 - power) / (2 - power)
    a = (2 - power) / (power - 1)
    some = np.where(y > 0, y, 1.0)
    t = ((power - 1) * scale / some) ** -a / ((2 - power) * scale)
    return kernel / scale + np.where(y > 0, log_wright_bessel(a, 0.0, t) - np.log(some), 0.0)
