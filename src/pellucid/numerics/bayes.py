"""Bayes' rule, once for all generative models: priors and class densities give the posterior.

Invariant: everything is in logarithms; rows of the posterior sum to 1, also where every density
underflows; the leading class is the first largest entry of the posterior.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from pellucid.errors import ParameterError
from pellucid.numerics.densities import by_blocks, loops

FEW = 32  # rows up to which probabilities are found sooner than the rows that need none
NEAR = 1e-13  # difference of logarithms below which rounding decides which class leads


def checked_priors(given: Any, n_classes: int, name: str, owner: str) -> np.ndarray:
    """Prior probabilities that a user gave in parameter `name` of class `owner`."""
    prior = np.asarray(given, dtype=float)
    if prior.shape != (n_classes,):
        raise ParameterError(
            f"Number of priors must match number of classes: {name} of {owner} has shape "
            f"{prior.shape}, but there are {n_classes} classes."
        )
    if not (prior >= 0).all():
        raise ParameterError(f"Priors must be non-negative. Got {prior.tolist()}.")
    if not np.isclose(prior.sum(), 1.0):
        raise ParameterError(
            f"The sum of the priors should be 1. Got {prior.tolist()}, which sum to {prior.sum():g}: "
            "divide them by their sum."
        )
    return prior


def log_joint(log_density: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """log p(x, c) = log p(c) + log p(x | c): (n, K)."""
    return log_density + _log(prior)


def log_posterior(log_density: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """log p(c | x), rows normalised: (n, K).

    A row that no class can produce (all densities 0) has the prior as its posterior.
    """
    return _normalised(log_density, prior, logs=True)


def posterior(log_density: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """p(c | x): (n, K)."""
    return _normalised(log_density, prior, logs=False)


def _normalised(log_density: np.ndarray, prior: np.ndarray, logs: bool) -> np.ndarray:
    Z, log_prior = np.ascontiguousarray(log_density), _log(prior)
    out, failed = np.empty_like(Z), np.empty(len(Z), dtype=np.uint8)
    bad = by_blocks(
        lambda rows: loops.normalise(Z[rows], log_prior, logs, out[rows], failed[rows]), Z
    )
    if any(bad):
        alone = prior / prior.sum()
        out[failed == 1] = _log(alone) if logs else alone
    return out


def _log(probabilities: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(probabilities)


def leading_class(log_density: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """The class of the largest posterior; of equal ones the first: (n,)."""
    return _largest(log_density, _log(prior), lambda rows: posterior(log_density[rows], prior))


def leading(Z: np.ndarray, probabilities: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """The column of the largest score of each row, or whether a single score is positive: (n,).

    Where two are practically equal, the first largest of `probabilities(rows)` decides, so that the
    answer always agrees with the probabilities.
    """
    if len(Z) == 1:
        scores = Z[0].tolist() if Z.ndim == 2 else [0.0, Z.item()]
        top = max(scores)
        if sum(not top - score > NEAR for score in scores) == 1:
            return np.array([scores.index(top)])
    if len(Z) <= FEW:
        return probabilities(np.arange(len(Z))).argmax(axis=1)
    if Z.ndim == 1:
        codes = (Z > 0).astype(np.int64)
        rows = np.flatnonzero(~(np.abs(Z) > NEAR))
        codes[rows] = probabilities(rows).argmax(axis=1)
        return codes
    return _largest(Z, np.zeros(Z.shape[1]), probabilities)


def _largest(
    Z: np.ndarray, log_prior: np.ndarray, probabilities: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    Z = np.ascontiguousarray(Z)
    codes, close = np.empty(len(Z), dtype=np.int64), np.empty(len(Z), dtype=np.uint8)
    near = by_blocks(
        lambda rows: loops.leading(Z[rows], log_prior, NEAR, codes[rows], close[rows]), Z
    )
    if any(near):
        rows = np.flatnonzero(close)
        codes[rows] = probabilities(rows).argmax(axis=1)
    return codes
