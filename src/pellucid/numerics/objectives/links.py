"""Links g(mu) = eta of generalised linear models, as a table.

Invariant: an entry holds mu(eta), its inverse, and the first two derivatives of mu;
`inverse(link(m)) == m` and the derivatives are checked against finite differences for every entry.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Function = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Link:
    """`inverse` is mu(eta), with its `derivative` and `second_derivative`; mu lies inside `domain`."""

    name: str
    link: Function
    inverse: Function
    derivative: Function
    second_derivative: Function
    domain: tuple[float, float]


def expit(eta: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-eta)), without overflow and exact in both tails."""
    small = np.exp(-np.abs(eta))
    return np.where(eta >= 0, 1.0, small) / (1.0 + small)


def _logit_derivative(eta: np.ndarray) -> np.ndarray:
    small = np.exp(-np.abs(eta))
    return small / (1.0 + small) ** 2


def _probit_link(mu: np.ndarray) -> np.ndarray:
    from scipy.special import ndtri

    return ndtri(mu)


def _probit_inverse(eta: np.ndarray) -> np.ndarray:
    from scipy.special import ndtr

    return ndtr(eta)


def _normal_density(eta: np.ndarray) -> np.ndarray:
    return np.exp(-0.5 * np.square(eta)) / np.sqrt(2 * np.pi)


def _cloglog_derivative(eta: np.ndarray) -> np.ndarray:
    return np.exp(eta - np.exp(eta))


_IDENTITY = Link(
    "identity",
    link=np.copy,
    inverse=np.copy,
    derivative=np.ones_like,
    second_derivative=np.zeros_like,
    domain=(-np.inf, np.inf),
)
_LOG = Link(
    "log",
    link=np.log,
    inverse=np.exp,
    derivative=np.exp,
    second_derivative=np.exp,
    domain=(0.0, np.inf),
)
_LOGIT = Link(
    "logit",
    link=lambda mu: np.log(mu) - np.log1p(-mu),
    inverse=expit,
    derivative=_logit_derivative,
    second_derivative=lambda eta: -_logit_derivative(eta) * np.tanh(eta / 2),
    domain=(0.0, 1.0),
)
_PROBIT = Link(
    "probit",
    link=_probit_link,
    inverse=_probit_inverse,
    derivative=_normal_density,
    second_derivative=lambda eta: -eta * _normal_density(eta),
    domain=(0.0, 1.0),
)
_CLOGLOG = Link(
    "cloglog",
    link=lambda mu: np.log(-np.log1p(-mu)),
    inverse=lambda eta: -np.expm1(-np.exp(eta)),
    derivative=_cloglog_derivative,
    second_derivative=lambda eta: _cloglog_derivative(eta) * -np.expm1(eta),
    domain=(0.0, 1.0),
)
_CAUCHIT = Link(
    "cauchit",
    link=lambda mu: np.tan(np.pi * (mu - 0.5)),
    inverse=lambda eta: 0.5 + np.arctan(eta) / np.pi,
    derivative=lambda eta: 1 / (np.pi * (1 + eta**2)),
    second_derivative=lambda eta: -2 * eta / (np.pi * (1 + eta**2) ** 2),
    domain=(0.0, 1.0),
)
_INVERSE = Link(
    "inverse",
    link=np.reciprocal,
    inverse=np.reciprocal,
    derivative=lambda eta: -(eta**-2.0),
    second_derivative=lambda eta: 2 * eta**-3.0,
    domain=(0.0, np.inf),
)
_INVERSE_SQUARE = Link(
    "inverse_square",
    link=lambda mu: mu**-2.0,
    inverse=lambda eta: eta**-0.5,
    derivative=lambda eta: -0.5 * eta**-1.5,
    second_derivative=lambda eta: 0.75 * eta**-2.5,
    domain=(0.0, np.inf),
)
_SQRT = Link(
    "sqrt",
    link=np.sqrt,
    inverse=np.square,
    derivative=lambda eta: 2 * eta,
    second_derivative=lambda eta: np.full_like(eta, 2.0),
    domain=(0.0, np.inf),
)

LINKS: dict[str, Link] = {
    link.name: link
    for link in (
        *(_CAUCHIT, _CLOGLOG, _IDENTITY, _INVERSE, _INVERSE_SQUARE),
        *(_LOG, _LOGIT, _PROBIT, _SQRT),
    )
}
