"""Losses of one prediction, with gradient and curvature, as a table.

Invariant: `value`, `gradient` and `curvature` take (y, z), z the raw prediction, and broadcast;
every entry of LOSSES is checked against finite differences. Classification losses take y in {0, 1}
(`binomial`) or {-1, 1} (those of the margin y z); where a loss has a corner, gradient is the
subgradient nearest to 0 from the right of it, and curvature is that of the smooth pieces.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pellucid.numerics.objectives.families import (
    BINOMIAL,
    GAMMA,
    INVERSE_GAUSSIAN,
    POISSON,
    glm_loss,
)
from pellucid.numerics.objectives.families import negative_binomial as _negative_binomial
from pellucid.numerics.objectives.families import tweedie as _tweedie
from pellucid.numerics.objectives.links import expit

Array = np.ndarray
Formula = Callable[[Array, Array], Array]
Curve = Callable[[Array], Array]  # of the margin alone


@dataclass(frozen=True)
class Loss:
    """A loss by its three formulas; `domain` names the y that it takes."""

    name: str
    value: Formula
    gradient: Formula
    curvature: Formula
    domain: str  # "real" | "count" | "positive" | "binary" | "sign"


def _binomial_value(y: Array, z: Array) -> Array:
    """log(1 + exp(z)) - y z: half the deviance, whatever the size of z."""
    return np.logaddexp(0.0, z) - y * z


def _binomial_curvature(y: Array, z: Array) -> Array:
    small = np.exp(-np.abs(z))
    return small / (1.0 + small) ** 2


def _margin(name: str, phi: Curve, gradient: Curve, curvature: Curve) -> Loss:
    """A loss of m = y z with y in {-1, 1}."""
    return Loss(
        name,
        value=lambda y, z: phi(y * z),
        gradient=lambda y, z: y * gradient(y * z),
        curvature=lambda y, z: curvature(y * z),
        domain="sign",
    )


def huber(delta: float = 1.35) -> Loss:
    """r^2 / 2 up to |r| = delta, linear beyond; r = z - y."""
    return Loss(
        "huber",
        value=lambda y, z: np.where(
            np.abs(z - y) <= delta, 0.5 * (z - y) ** 2, delta * (np.abs(z - y) - 0.5 * delta)
        ),
        gradient=lambda y, z: np.clip(z - y, -delta, delta),
        curvature=lambda y, z: (np.abs(z - y) <= delta).astype(float),
        domain="real",
    )


def epsilon_insensitive(epsilon: float = 0.1) -> Loss:
    """max(0, |z - y| - epsilon)."""
    return Loss(
        "epsilon_insensitive",
        value=lambda y, z: np.maximum(np.abs(z - y) - epsilon, 0.0),
        gradient=lambda y, z: np.sign(z - y) * (np.abs(z - y) > epsilon),
        curvature=lambda y, z: np.zeros_like(z - y),
        domain="real",
    )


def squared_epsilon_insensitive(epsilon: float = 0.1) -> Loss:
    """max(0, |z - y| - epsilon)^2."""
    return Loss(
        "squared_epsilon_insensitive",
        value=lambda y, z: np.maximum(np.abs(z - y) - epsilon, 0.0) ** 2,
        gradient=lambda y, z: 2 * np.sign(z - y) * np.maximum(np.abs(z - y) - epsilon, 0.0),
        curvature=lambda y, z: 2.0 * (np.abs(z - y) > epsilon),
        domain="real",
    )


def _from_glm(name: str, loss: object, domain: str) -> Loss:
    return Loss(name, loss.value, loss.gradient, loss.curvature, domain)  # type: ignore[attr-defined]


def gamma() -> Loss:
    """Half the gamma deviance with the log link."""
    return _from_glm("gamma", glm_loss(GAMMA, "log"), "positive")


def inverse_gaussian() -> Loss:
    """Half the inverse Gaussian deviance with the log link."""
    return _from_glm("inverse_gaussian", glm_loss(INVERSE_GAUSSIAN, "log"), "positive")


def tweedie(power: float = 1.5) -> Loss:
    """Half the Tweedie deviance with the log link."""
    return _from_glm("tweedie", glm_loss(_tweedie(power), "log"), "count")


def negative_binomial(alpha: float = 1.0) -> Loss:
    """Half the negative binomial deviance with the log link."""
    return _from_glm("negative_binomial", glm_loss(_negative_binomial(alpha), "log"), "count")


def poisson() -> Loss:
    """Half the Poisson deviance with the log link."""
    loss = glm_loss(POISSON)
    return Loss("poisson", loss.value, lambda y, z: np.exp(z) - y, lambda y, z: np.exp(z), "count")


def probit() -> Loss:
    """Half the binomial deviance with the probit link."""
    return _from_glm("probit", glm_loss(BINOMIAL, "probit"), "binary")


SQUARED = Loss(
    "squared",
    value=lambda y, z: 0.5 * (z - y) ** 2,
    gradient=lambda y, z: z - y,
    curvature=lambda y, z: np.ones_like(z - y),
    domain="real",
)
BINOMIAL_LOGIT = Loss(
    "binomial",
    value=_binomial_value,
    gradient=lambda y, z: expit(z) - y,
    curvature=_binomial_curvature,
    domain="binary",
)
LOGISTIC = _margin(
    "logistic",
    phi=lambda m: np.logaddexp(0.0, -m),
    gradient=lambda m: -expit(-m),
    curvature=lambda m: _binomial_curvature(m, m),
)
HINGE = _margin(
    "hinge",
    phi=lambda m: np.maximum(1 - m, 0.0),
    gradient=lambda m: -(m < 1).astype(float),
    curvature=np.zeros_like,
)
SQUARED_HINGE = _margin(
    "squared_hinge",
    phi=lambda m: np.maximum(1 - m, 0.0) ** 2,
    gradient=lambda m: -2 * np.maximum(1 - m, 0.0),
    curvature=lambda m: 2.0 * (m < 1),
)
MODIFIED_HUBER = _margin(
    "modified_huber",
    phi=lambda m: np.where(m >= -1, np.maximum(1 - m, 0.0) ** 2, -4 * m),
    gradient=lambda m: np.where(m >= -1, -2 * np.maximum(1 - m, 0.0), -4.0),
    curvature=lambda m: 2.0 * ((m >= -1) & (m < 1)),
)
PERCEPTRON = _margin(
    "perceptron",
    phi=lambda m: np.maximum(-m, 0.0),
    gradient=lambda m: -(m <= 0).astype(float),
    curvature=np.zeros_like,
)

LOSSES: dict[str, Callable[..., Loss]] = {
    "binomial": lambda: BINOMIAL_LOGIT,
    "epsilon_insensitive": epsilon_insensitive,
    "gamma": gamma,
    "hinge": lambda: HINGE,
    "huber": huber,
    "inverse_gaussian": inverse_gaussian,
    "logistic": lambda: LOGISTIC,
    "modified_huber": lambda: MODIFIED_HUBER,
    "negative_binomial": negative_binomial,
    "perceptron": lambda: PERCEPTRON,
    "poisson": poisson,
    "probit": probit,
    "squared": lambda: SQUARED,
    "squared_epsilon_insensitive": squared_epsilon_insensitive,
    "squared_hinge": lambda: SQUARED_HINGE,
    "tweedie": tweedie,
}


def log_softmax(Z: Array) -> Array:
    """Z minus log(sum(exp(Z))) of each row."""
    Z = Z - Z.max(axis=1, keepdims=True)
    return Z - np.log(np.exp(Z).sum(axis=1, keepdims=True))


def softmax(Z: Array) -> Array:
    """exp(Z), each row divided by its sum; adding a number to a row changes nothing."""
    P = np.exp(Z - Z.max(axis=1, keepdims=True))
    return P / P.sum(axis=1, keepdims=True)
