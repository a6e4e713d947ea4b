"""Kernels between the rows of two tables, as functions of (X, Z, gamma, degree, coef0).

Invariant: results are dense, (n, m); sparse tables are multiplied without becoming dense.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from pellucid.numerics.row_blocks import inner_products, squared_lengths


def _gaussian(X: Any, Z: Any, gamma: float, degree: float, coef0: float) -> np.ndarray:
    distance = squared_lengths(X)[:, None] + squared_lengths(Z) - 2.0 * inner_products(X, Z)
    return np.exp(-gamma * np.maximum(distance, 0.0))


def _polynomial(X: Any, Z: Any, gamma: float, degree: float, coef0: float) -> np.ndarray:
    return (gamma * inner_products(X, Z) + coef0) ** degree


def _cosine(X: Any, Z: Any, gamma: float, degree: float, coef0: float) -> np.ndarray:
    left, right = np.sqrt(squared_lengths(X)), np.sqrt(squared_lengths(Z))
    size = np.where(left > 0, left, 1.0)[:, None] * np.where(right > 0, right, 1.0)
    return inner_products(X, Z) / size


KERNELS: dict[str, Callable[..., np.ndarray]] = {
    "cosine": _cosine,
    "linear": lambda X, Z, gamma, degree, coef0: inner_products(X, Z),
    "poly": _polynomial,
    "polynomial": _polynomial,
    "rbf": _gaussian,
    "sigmoid": lambda X, Z, gamma, degree, coef0: np.tanh(gamma * inner_products(X, Z) + coef0),
}
