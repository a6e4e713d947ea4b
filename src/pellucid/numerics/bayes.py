"""Bayes' rule, once for all generative models: priors and class densities give the posterior.

Invariant: everything is in logarithms; rows of the posterior sum to 1, also where every density
underflows.
"""

import numpy as np


def log_sum_exp(Z: np.ndarray) -> np.ndarray:
    """log(sum(exp(Z))) of each row; -inf for a row of -inf."""
    top = Z.max(axis=1, keepdims=True)
    safe = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return (np.log(np.exp(Z - safe).sum(axis=1, keepdims=True)) + safe)[:, 0]


def log_joint(log_density: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """log p(x, c) = log p(c) + log p(x | c): (n, K)."""
    with np.errstate(divide="ignore"):
        return log_density + np.log(prior)


def log_posterior(log_density: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """log p(c | x), rows normalised: (n, K).

    A row that no class can produce (all densities 0) says nothing: its posterior is the prior.
    """
    joint = log_joint(log_density, prior)
    top = joint.max(axis=1, keepdims=True)
    impossible = ~np.isfinite(top[:, 0])
    if impossible.any():
        joint[impossible] = log_joint(np.zeros_like(prior), prior)
        top[impossible] = joint[impossible].max(axis=1, keepdims=True)
    joint -= top  # first, so that large logarithms leave no rounding error in the sum
    return joint - np.log(np.exp(joint).sum(axis=1, keepdims=True))


def posterior(log_density: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """p(c | x): (n, K)."""
    return np.exp(log_posterior(log_density, prior))


def class_priors(y: np.ndarray, weights: np.ndarray, n_classes: int) -> np.ndarray:
    """Share of each class in the sum of weights."""
    counts = np.bincount(y, weights=weights, minlength=n_classes)
    return counts / counts.sum()
