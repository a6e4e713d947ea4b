"""Log-likelihoods of generalised linear models at their fitted means."""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, xlogy

from pellucid import parallel
from pellucid.numerics.objectives.families import Family, GLMLoss

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
                units = 0.5 * float(np.log(self.weights).sum()) if precision else 0.0
                return units - 0.5 * n * float(np.log(2 * np.pi * np.divide(self.deviance, n)) + 1)
            scale = float(np.divide(self.deviance, self.weights.sum()))
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
