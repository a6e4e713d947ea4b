"""Exponential-dispersion families: the variance function and the deviance, the rest is derived.

Invariant: for every family, half the derivative of the unit deviance with respect to mu is
(mu - y) / V(mu); with a link this gives value, gradient and curvature of the loss in eta.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pellucid.numerics.objectives.links import LINKS, Link

Array = np.ndarray


@dataclass(frozen=True)
class Family:
    """`variance` V(mu), its derivative `variance_derivative`, and half the unit `deviance` d(y, mu)."""

    name: str
    variance: Callable[[Array], Array]
    variance_derivative: Callable[[Array], Array]
    half_deviance: Callable[[Array, Array], Array]
    canonical: str
    y_range: tuple[float, float]  # closed; `positive` families exclude the lower end
    positive: bool = False


def _y_log(y: Array, ratio: Array) -> Array:
    """y log(ratio), 0 where y is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(y == 0, 0.0, y * np.log(ratio))


def _log_ratio(y: Array, mu: Array) -> Array:
    """log(y / mu), to all digits also where y and mu are nearly equal."""
    with np.errstate(divide="ignore", invalid="ignore"):
        excess = (y - mu) / mu
        return np.where(np.abs(excess) < 0.5, np.log1p(excess), np.log(y / mu))


def _bernoulli(y: Array, mu: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        return _y_log(y, y / mu) + _y_log(1 - y, (1 - y) / (1 - mu))


NORMAL = Family(
    "normal",
    variance=np.ones_like,
    variance_derivative=np.zeros_like,
    half_deviance=lambda y, mu: 0.5 * (y - mu) ** 2,
    canonical="identity",
    y_range=(-np.inf, np.inf),
)
BINOMIAL = Family(
    "binomial",
    variance=lambda mu: mu * (1 - mu),
    variance_derivative=lambda mu: 1 - 2 * mu,
    half_deviance=_bernoulli,
    canonical="logit",
    y_range=(0.0, 1.0),
)
POISSON = Family(
    "poisson",
    variance=np.copy,
    variance_derivative=np.ones_like,
    half_deviance=lambda y, mu: y * _log_ratio(np.where(y == 0, mu, y), mu) - (y - mu),
    canonical="log",
    y_range=(0.0, np.inf),
)
GAMMA = Family(
    "gamma",
    variance=np.square,
    variance_derivative=lambda mu: 2 * mu,
    half_deviance=lambda y, mu: (y - mu) / mu - _log_ratio(y, mu),
    canonical="inverse",
    y_range=(0.0, np.inf),
    positive=True,
)
INVERSE_GAUSSIAN = Family(
    "inverse_gaussian",
    variance=lambda mu: mu**3,
    variance_derivative=lambda mu: 3 * mu**2,
    half_deviance=lambda y, mu: 0.5 * (y - mu) ** 2 / (y * mu**2),
    canonical="inverse_square",
    y_range=(0.0, np.inf),
    positive=True,
)


def tweedie(power: float) -> Family:
    """V(mu) = mu**power; powers 0, 1, 2, 3 are the families with a name of their own."""
    named = {0.0: NORMAL, 1.0: POISSON, 2.0: GAMMA, 3.0: INVERSE_GAUSSIAN}
    if power in named:
        return named[power]
    if 0 < power < 1:
        raise ValueError(f"no Tweedie family has a power between 0 and 1, got {power}")

    def half_deviance(y: Array, mu: Array) -> Array:
        ends = np.maximum(y, 0.0) if power < 0 else y
        first = np.expm1((2 - power) * _log_ratio(ends, mu)) - (2 - power) * ((y - mu) / mu)
        return mu ** (2 - power) / ((1 - power) * (2 - power)) * first

    return Family(
        "tweedie",
        variance=lambda mu: mu**power,
        variance_derivative=lambda mu: power * mu ** (power - 1),
        half_deviance=half_deviance,
        canonical="log",
        y_range=(-np.inf if power < 0 else 0.0, np.inf),
        positive=power > 2,
    )


def negative_binomial(alpha: float) -> Family:
    """V(mu) = mu + alpha mu^2 with known alpha > 0."""
    if not alpha > 0:
        raise ValueError(f"alpha must be positive, got {alpha}")

    def half_deviance(y: Array, mu: Array) -> Array:
        return _y_log(y, y / mu) - (y + 1 / alpha) * np.log((1 + alpha * y) / (1 + alpha * mu))

    return Family(
        "negative_binomial",
        variance=lambda mu: mu + alpha * mu**2,
        variance_derivative=lambda mu: 1 + 2 * alpha * mu,
        half_deviance=half_deviance,
        canonical="log",
        y_range=(0.0, np.inf),
    )


FAMILIES: dict[str, Callable[..., Family]] = {
    "binomial": lambda: BINOMIAL,
    "gamma": lambda: GAMMA,
    "inverse_gaussian": lambda: INVERSE_GAUSSIAN,
    "negative_binomial": negative_binomial,
    "normal": lambda: NORMAL,
    "poisson": lambda: POISSON,
    "tweedie": tweedie,
}


@dataclass(frozen=True)
class GLMLoss:
    """Half the unit deviance as a function of eta, for a family and any link.

    value     d(y, mu(eta)) / 2
    gradient  (mu - y) / V(mu) mu'
    curvature mu'^2 / V - (y - mu) d/deta [mu' / V]   (observed; can be negative)
    expected  mu'^2 / V                                (Fisher; never negative)
    """

    family: Family
    link: Link

    def value(self, y: Array, eta: Array) -> Array:
        return self.family.half_deviance(y, self.link.inverse(eta))

    def gradient(self, y: Array, eta: Array) -> Array:
        mu = self.link.inverse(eta)
        return (mu - y) / self.family.variance(mu) * self.link.derivative(eta)

    def expected(self, y: Array, eta: Array) -> Array:
        mu = self.link.inverse(eta)
        return self.link.derivative(eta) ** 2 / self.family.variance(mu)

    def curvature(self, y: Array, eta: Array) -> Array:
        mu, first = self.link.inverse(eta), self.link.derivative(eta)
        V = self.family.variance(mu)
        turn = (
            self.link.second_derivative(eta) / V
            - first**2 * self.family.variance_derivative(mu) / V**2
        )
        return first**2 / V - (y - mu) * turn


def glm_loss(family: Family, link: str | None = None) -> GLMLoss:
    """The loss of a family with a link of `LINKS` (its canonical one by default)."""
    return GLMLoss(family, LINKS[link or family.canonical])
