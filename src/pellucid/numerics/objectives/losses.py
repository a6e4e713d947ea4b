"""Losses of one prediction, with gradient and curvature, and the softmax.

Invariant: `value`, `gradient` and `curvature` take (y, z), z the raw prediction, and broadcast; they are
checked against finite differences.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pellucid.numerics.objectives.families import GAMMA, POISSON, glm_loss
from pellucid.numerics.objectives.links import expit

Array = np.ndarray
Formula = Callable[[Array, Array], Array]


@dataclass(frozen=True)
class Loss:
    """A loss by its three formulas; `domain` names the y that it takes."""

    name: str
    value: Formula
    gradient: Formula
    curvature: Formula
    domain: str  # "real" | "count" | "positive"


def gamma() -> Loss:
    """Half the gamma deviance with the log link."""
    loss = glm_loss(GAMMA, "log")
    return Loss("gamma", loss.value, loss.gradient, loss.curvature, "positive")


def poisson() -> Loss:
    """Half the Poisson deviance with the log link."""
    loss = glm_loss(POISSON)
    return Loss("poisson", loss.value, lambda y, z: np.exp(z) - y, lambda y, z: np.exp(z), "count")


def log_softmax(Z: Array) -> Array:
    """Z minus log(sum(exp(Z))) of each row."""
    Z = Z - Z.max(axis=1, keepdims=True)
    return Z - np.log(np.exp(Z).sum(axis=1, keepdims=True))


def softmax(Z: Array) -> Array:
    """exp(Z), each row divided by its sum; adding a number to a row changes nothing."""
    P = np.exp(Z - Z.max(axis=1, keepdims=True))
    return P / P.sum(axis=1, keepdims=True)


def class_probabilities(scores: Array) -> Array:
    """Probabilities (n, K) of the scores of K classes, or of the log-odds (n,) of the second of two."""
    if scores.ndim == 1:
        return np.column_stack([expit(-scores), expit(scores)])
    return softmax(scores)
