"""Populations whose best predictions are known, and tables drawn from them.

There are 8 independent normal columns. Columns 1-4 carry the signal s_A, columns 5-8 the signal s_B,
both of variance 1 with equal coefficients, so models of one kind on the two halves are equally good in
expectation. The target is

    numbers: s_A + s_B + e, e of variance NOISE["..."]
    classes: whether s_A + s_B + e > THRESHOLD, e normal

A weaker version of columns 5-8, rho x + sqrt(1 - rho^2) noise, carries a share rho^2 of s_B. Given only
four such columns z, the target has mean rho z b and independent noise. So a sample of z and this rho are
enough to compute the true score of a fitted model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import qmc

HALF = 4  # columns of a model
COEFFICIENT = 0.5  # so the signal of half of the columns has variance 1
NOISE = {"classes": 0.5, "normal": 2.0, "t4": 2.0, "lognormal": 2.0}
THRESHOLD = float(-ndtri(0.4) * np.sqrt(2.5))  # the second class has 40 % of the rows
CLASSES = "classes"


def _lognormal(rng: np.random.Generator, n: int) -> np.ndarray:
    mean, square = np.exp(0.5), np.exp(2.0)
    return (np.exp(rng.normal(size=n)) - mean) / np.sqrt(square - mean**2)


ERRORS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "classes": lambda rng, n: rng.normal(size=n),
    "normal": lambda rng, n: rng.normal(size=n),
    "t4": lambda rng, n: rng.standard_t(4, size=n) / np.sqrt(2.0),
    "lognormal": _lognormal,
}  # each of mean 0 and variance 1


@dataclass(frozen=True)
class Fresh:
    """Columns z of new rows with their signal, and the noise that the columns do not explain."""

    data: str
    z: np.ndarray
    signal: np.ndarray
    normal: np.ndarray
    error: np.ndarray

    def unexplained(self, rho: float) -> float:
        """Variance of the target that columns with a share rho of their signal do not explain."""
        return 2 + NOISE[self.data] - rho**2

    def second(self, rho: float) -> np.ndarray:
        """Probability of the second class, given the columns."""
        return ndtr((rho * self.signal - THRESHOLD) / np.sqrt(self.unexplained(rho)))

    def numbers(self, rho: float) -> np.ndarray:
        """One target for each row."""
        return rho * self.signal + np.sqrt(2 - rho**2) * self.normal + self.error


def columns(rng: np.random.Generator, n: int) -> np.ndarray:
    """n rows of the 8 columns."""
    return rng.normal(size=(n, 2 * HALF))


def target(rng: np.random.Generator, data: str, X: np.ndarray, signal: bool = True) -> np.ndarray:
    """The target of these rows; without `signal` it does not depend on them."""
    if not signal:
        X = columns(rng, len(X))
    y = COEFFICIENT * X.sum(axis=1) + np.sqrt(NOISE[data]) * ERRORS[data](rng, len(X))
    return (y > THRESHOLD).astype(float) if data == CLASSES else y


def weakened(rng: np.random.Generator, X: np.ndarray, rho: float) -> np.ndarray:
    """Columns that carry less signal."""
    return X if rho == 1 else rho * X + np.sqrt(1 - rho**2) * rng.normal(size=X.shape)


def fresh(rng: np.random.Generator, data: str, log2_rows: int) -> Fresh:
    """New rows, spread evenly over the population (Sobol's points, scrambled)."""
    points = qmc.Sobol(HALF, rng=rng).random_base2(log2_rows)
    z, n = ndtri(np.clip(points, 1e-12, 1 - 1e-12)), 2**log2_rows
    error = np.sqrt(NOISE[data]) * ERRORS[data](rng, n)
    return Fresh(data, z, COEFFICIENT * z.sum(axis=1), rng.normal(size=n), error)
