"""Layers, activations and losses, as tables of small functions.

Invariant: every derivative and gradient here is tested against finite differences. A loss is a
function of the scores z of the last layer, before its activation, so that it never takes the
logarithm of a probability of 0 or 1.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pellucid.neural_network import _loops
from pellucid.numerics.objectives.links import expit
from pellucid.numerics.objectives.losses import softmax
from pellucid.parameters import Choice, Integer, Real, check


@dataclass(frozen=True)
class Activation:
    """In place: `apply(Z, b)`, Z = a(Z + b); `times_derivative(A, D)`, D = D * a'(z) for A = a(z)."""

    apply: Callable[[np.ndarray, np.ndarray], None]
    times_derivative: Callable[[np.ndarray, np.ndarray], None]


def _identity(Z: np.ndarray, b: np.ndarray) -> None:
    Z += b


def _tanh(Z: np.ndarray, b: np.ndarray) -> None:
    Z += b
    np.tanh(Z, out=Z)


def _tanh_derivative(A: np.ndarray, D: np.ndarray) -> None:
    D *= (1.0 - A) * (1.0 + A)


def _logistic(Z: np.ndarray, b: np.ndarray) -> None:
    Z += b
    with np.errstate(over="ignore"):
        np.exp(np.negative(Z, out=Z), out=Z)
        Z += 1.0
        np.reciprocal(Z, out=Z)


def _logistic_derivative(A: np.ndarray, D: np.ndarray) -> None:
    D *= A * (1.0 - A)


ACTIVATIONS = {
    "identity": Activation(_identity, lambda A, D: None),
    "logistic": Activation(_logistic, _logistic_derivative),
    "tanh": Activation(_tanh, _tanh_derivative),
    "relu": Activation(_loops.add_and_rectify, _loops.rectified_slope),
}


ALIASES = {"linear": "identity", "sigmoid": "logistic"}


@dataclass(frozen=True)
class Loss:
    """A loss and the activation of the last layer that belongs to it.

    `output`: name of the activation; `answer(Z)`: the activation; `evaluate(Z, Y, share)`: returns
    sum_i share_i loss_i, and Z becomes share_i dloss_i/dz; `valid(Y)`: mask of the rows whose targets
    are valid; `targets`: what valid targets are, for messages.
    """

    output: str
    answer: Callable[[np.ndarray], np.ndarray]
    evaluate: Callable[[np.ndarray, np.ndarray, np.ndarray], float]
    valid: Callable[[np.ndarray], np.ndarray]
    targets: str


def _squared(Z: np.ndarray, Y: np.ndarray, share: np.ndarray) -> float:
    Z -= Y
    value = 0.5 * float(share @ np.einsum("ij,ij->i", Z, Z))
    Z *= share[:, None]
    return value


def _cross_entropy(Z: np.ndarray, Y: np.ndarray, share: np.ndarray) -> float:
    Z -= Z.max(axis=1, keepdims=True)
    own = np.einsum("ij,ij->i", Z, Y)
    np.exp(Z, out=Z)
    total = Z.sum(axis=1, keepdims=True)
    value = float(share @ (np.log(total[:, 0]) - own))
    Z /= total
    Z -= Y
    Z *= share[:, None]
    return value


def _poisson(Z: np.ndarray, Y: np.ndarray, share: np.ndarray) -> float:
    constant = np.where(Y > 0, Y * np.log(np.where(Y > 0, Y, 1.0)), 0.0) - Y
    losses = constant - Y * Z
    np.exp(Z, out=Z)
    value = float(share @ (losses + Z).sum(axis=1))
    Z -= Y
    Z *= share[:, None]
    return value


def _not_negative(Y: np.ndarray) -> np.ndarray:
    return np.all(Y >= 0.0, axis=1)


def _probabilities(Y: np.ndarray) -> np.ndarray:
    return np.all((Y >= 0.0) & (Y <= 1.0), axis=1)


def _shares(Y: np.ndarray) -> np.ndarray:
    return _not_negative(Y) & (np.abs(Y.sum(axis=1) - 1.0) <= 1e-6)


LOSSES = {
    "squared": Loss(
        "identity", lambda Z: Z, _squared, lambda Y: np.ones(len(Y), dtype=bool), "numbers"
    ),
    "log": Loss("logistic", expit, _loops.log_loss, _probabilities, "between 0 and 1"),
    "cross_entropy": Loss(
        "softmax", softmax, _cross_entropy, _shares, "class probabilities that sum to 1"
    ),
    "poisson": Loss("exp", np.exp, _poisson, _not_negative, "non-negative"),
}


@dataclass(frozen=True)
class Dense:
    """A fully connected layer: a(x W + b).

    Parameters
    ----------
    units : number of outputs of the layer.
    activation : "relu", "tanh", "logistic" (or "sigmoid") or "identity" (or "linear"); for the last
        layer also "softmax" and "exp", as the loss requires.
    dropout : share of its outputs that are set to 0 in each training step.
    """

    units: int
    activation: str = "relu"
    dropout: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "activation", ALIASES.get(self.activation, self.activation))
        known = Choice(*ACTIVATIONS, "softmax", "exp")
        check(
            "Dense", vars(self), {"units": Integer(1), "activation": known, "dropout": Real(0, 1)}
        )
