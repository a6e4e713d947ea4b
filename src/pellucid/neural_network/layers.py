"""Layers, activations and losses, as tables of small functions.

Invariant: every slope and every gradient here is checked against finite differences. A loss is
written with the scores z of the last layer, before its activation; so no probability of 0 or 1 is
ever put into a logarithm.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pellucid.errors import ParameterError, shown
from pellucid.numerics.objectives.losses import softmax
from pellucid.parameters import Integer, Real


@dataclass(frozen=True)
class Activation:
    """`apply(Z, b)`: Z = a(Z + b), in place; `slope(A, D)`: D = D * a'(z), in place, given A = a(z)."""

    apply: Callable[[np.ndarray, np.ndarray], None]
    slope: Callable[[np.ndarray, np.ndarray], None]


def _identity(Z: np.ndarray, b: np.ndarray) -> None:
    Z += b


def _rectify(Z: np.ndarray, b: np.ndarray) -> None:
    from pellucid.neural_network import _loops

    _loops.add_and_rectify(Z, b)


def _rectified_slope(A: np.ndarray, D: np.ndarray) -> None:
    from pellucid.neural_network import _loops

    _loops.rectified_slope(A, D)


def _tanh(Z: np.ndarray, b: np.ndarray) -> None:
    Z += b
    np.tanh(Z, out=Z)


def _tanh_slope(A: np.ndarray, D: np.ndarray) -> None:
    D *= (1.0 - A) * (1.0 + A)


def _logistic(Z: np.ndarray, b: np.ndarray) -> None:
    Z += b
    with np.errstate(over="ignore"):
        np.exp(np.negative(Z, out=Z), out=Z)
        Z += 1.0
        np.reciprocal(Z, out=Z)


def _logistic_slope(A: np.ndarray, D: np.ndarray) -> None:
    D *= A * (1.0 - A)


ACTIVATIONS = {
    "identity": Activation(_identity, lambda A, D: None),
    "logistic": Activation(_logistic, _logistic_slope),
    "tanh": Activation(_tanh, _tanh_slope),
    "relu": Activation(_rectify, _rectified_slope),
}


@dataclass(frozen=True)
class Loss:
    """`output`: the activation of the last layer; `answer(Z)`: that activation;

    `evaluate(Z, Y, share)`: sum_i share_i loss_i, and Z becomes share_i dloss_i/dz;
    `takes(Y)`: rows whose targets the loss can have, which are `targets`.
    """

    output: str
    answer: Callable[[np.ndarray], np.ndarray]
    evaluate: Callable[[np.ndarray, np.ndarray, np.ndarray], float]
    takes: Callable[[np.ndarray], np.ndarray]
    targets: str


def _squared(Z: np.ndarray, Y: np.ndarray, share: np.ndarray) -> float:
    Z -= Y
    value = 0.5 * float(share @ np.einsum("ij,ij->i", Z, Z))
    Z *= share[:, None]
    return value


def _log(Z: np.ndarray, Y: np.ndarray, share: np.ndarray) -> float:
    from pellucid.neural_network import _loops

    return _loops.log_loss(Z, Y, share)


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


def logistic(Z: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-z)), exact in both tails."""
    small = np.exp(-np.abs(Z))
    return np.where(Z >= 0, 1.0, small) / (1.0 + small)


def _any_numbers(Y: np.ndarray) -> np.ndarray:
    return np.ones(len(Y), dtype=bool)


def _not_negative(Y: np.ndarray) -> np.ndarray:
    return np.all(Y >= 0.0, axis=1)


def _probabilities(Y: np.ndarray) -> np.ndarray:
    return np.all((Y >= 0.0) & (Y <= 1.0), axis=1)


def _shares(Y: np.ndarray) -> np.ndarray:
    return _not_negative(Y) & (np.abs(Y.sum(axis=1) - 1.0) <= 1e-6)


LOSSES = {
    "squared": Loss("identity", lambda Z: Z, _squared, _any_numbers, "numbers"),
    "log": Loss("logistic", logistic, _log, _probabilities, "0, 1 or between"),
    "cross_entropy": Loss(
        "softmax", softmax, _cross_entropy, _shares, "shares of the classes, which add up to 1"
    ),
    "poisson": Loss("exp", np.exp, _poisson, _not_negative, "not negative"),
}


@dataclass(frozen=True)
class Dense:
    """A layer whose units see all values of the layer before: a(x W + b).

    Parameters
    ----------
    units : number of values it gives.
    activation : "relu", "tanh", "logistic" (the sigmoid) or "identity" (or "linear"); for the last layer
        also "softmax" and "exp", as the loss demands.
    dropout : share of its values that are set to 0 in a step of training.
    """

    units: int
    activation: str = "relu"
    dropout: float = 0.0

    def __post_init__(self) -> None:
        if not Integer(1).accepts(self.units):
            raise ParameterError(
                f"The 'units' parameter of Dense must be {Integer(1)}. Got {shown(self.units)} instead."
            )
        if self.activation == "linear":
            object.__setattr__(self, "activation", "identity")
        known = [*ACTIVATIONS, "softmax", "exp"]
        if self.activation not in known:
            raise ParameterError(
                f"The 'activation' parameter of Dense must be one of {known}. Got "
                f"{shown(self.activation)} instead."
            )
        if not Real(0, 1).accepts(self.dropout):
            raise ParameterError(
                f"The 'dropout' parameter of Dense must be {Real(0, 1)}. Got {shown(self.dropout)} "
                "instead."
            )
