"""Kernels between the rows of two tables, as plain functions.

Invariant: results are dense, (n, m); sparse tables are multiplied without becoming dense.
"""

from collections.abc import Callable
from typing import Any

import numpy as np


def products(X: Any, Z: Any) -> np.ndarray:
    """Inner products of all pairs of rows."""
    found = X @ Z.T
    return found if isinstance(found, np.ndarray) else found.toarray()


def squares(X: Any) -> np.ndarray:
    """Squared lengths of the rows."""
    if isinstance(X, np.ndarray):
        return np.einsum("ij,ij->i", X, X)
    return np.asarray(X.multiply(X).sum(axis=1), dtype=float).ravel()


def gaussian(X: Any, Z: Any, gamma: float, degree: float, coef0: float) -> np.ndarray:
    distance = squares(X)[:, None] + squares(Z) - 2.0 * products(X, Z)
    return np.exp(-gamma * np.maximum(distance, 0.0))


def polynomial(X: Any, Z: Any, gamma: float, degree: float, coef0: float) -> np.ndarray:
    return (gamma * products(X, Z) + coef0) ** degree


def sigmoid(X: Any, Z: Any, gamma: float, degree: float, coef0: float) -> np.ndarray:
    return np.tanh(gamma * products(X, Z) + coef0)


def linear(X: Any, Z: Any, gamma: float, degree: float, coef0: float) -> np.ndarray:
    return products(X, Z)


def cosine(X: Any, Z: Any, gamma: float, degree: float, coef0: float) -> np.ndarray:
    left, right = np.sqrt(squares(X)), np.sqrt(squares(Z))
    size = np.where(left > 0, left, 1.0)[:, None] * np.where(right > 0, right, 1.0)
    return products(X, Z) / size


KERNELS: dict[str, Callable[..., np.ndarray]] = {
    "cosine": cosine,
    "linear": linear,
    "poly": polynomial,
    "polynomial": polynomial,
    "rbf": gaussian,
    "sigmoid": sigmoid,
}
