"""Covariance estimates as functions of arrays: empirical, shrunk, Ledoit-Wolf, OAS.

Invariant: every estimate is symmetric, has divisor n, and with shrinkage > 0 is positive definite
unless all data coincide.
"""

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.numerics.moments import moments
from pellucid.numerics.row_blocks import Rows


def empirical(X: Any, weights: np.ndarray) -> np.ndarray:
    """Sum of w (x - mean)(x - mean)' over the sum of w."""
    return moments(X, weights).covariance()


def shrunk(covariance: np.ndarray, shrinkage: float) -> np.ndarray:
    """(1 - shrinkage) covariance + shrinkage mean-variance identity."""
    p = len(covariance)
    return (1 - shrinkage) * covariance + shrinkage * np.trace(covariance) / p * np.eye(p)


def _target_distance(S: np.ndarray) -> float:
    """|S - mu I|^2 / p, mu the mean variance."""
    return float(np.linalg.norm(S - np.trace(S) / len(S) * np.eye(len(S))) ** 2) / len(S)


def ledoit_wolf(X: Any, weights: np.ndarray) -> tuple[np.ndarray, float]:
    """Ledoit and Wolf's (2004) covariance and its shrinkage, optimal for large n and p."""
    table, found = Rows(X), moments(X, weights)
    S, p = found.covariance(), table.p
    distance = _target_distance(S)
    if distance == 0:
        return S, 0.0

    def partial(rows: slice) -> float:
        lengths = np.sum((table.dense(rows) - found.mean) ** 2, axis=1)
        return float(weights[rows] @ lengths**2)

    fourth = parallel.reduce(partial, lambda a, b: a + b, table.blocks)
    noise = (fourth / found.total - float(np.sum(S**2))) / (p * found.total)
    shrinkage = min(max(noise, 0.0), distance) / distance
    return shrunk(S, shrinkage), shrinkage
