"""Covariance estimates as functions of arrays: shrunk by a given share, or by Ledoit and Wolf's.

Invariant: every estimate is symmetric, has divisor n, and with shrinkage > 0 is positive definite
unless all data coincide.
"""

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.numerics.moments import moments
from pellucid.numerics.row_blocks import Rows


def shrunk(covariance: np.ndarray, shrinkage: float) -> np.ndarray:
    """(1 - shrinkage) covariance + shrinkage mean-variance identity."""
    p = len(covariance)
    return (1 - shrinkage) * covariance + shrinkage * np.trace(covariance) / p * np.eye(p)


def ledoit_wolf(X: Any, weights: np.ndarray) -> tuple[np.ndarray, float]:
    """Ledoit and Wolf's (2004) covariance and its shrinkage, optimal for large n and p."""
    table, found = Rows(X), moments(X, weights)
    S, p = found.covariance(), table.p
    # |S - mu I|^2 / p, mu the mean variance.
    distance = float(np.linalg.norm(S - np.trace(S) / p * np.eye(p)) ** 2) / p
    if distance == 0:
        return S, 0.0

    def partial(rows: slice) -> float:
        lengths = np.sum((table.dense(rows) - found.mean) ** 2, axis=1)
        return float(weights[rows] @ lengths**2)

    fourth = parallel.reduce(partial, lambda a, b: a + b, table.blocks)
    noise = (fourth / found.total - float(np.sum(S**2))) / (p * found.total)
    shrinkage = min(max(noise, 0.0), distance) / distance
    return shrunk(S, shrinkage), shrinkage
