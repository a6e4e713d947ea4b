"""Starts of mixtures: responsibilities of the components for each row, or the user's parameters.

Invariant: rows are drawn with probability proportional to weight, so a row of weight 2 and two
identical rows give the same start.
"""

from typing import Any

import numpy as np

from pellucid.cluster import seeding
from pellucid.cluster.lloyd import Lloyd
from pellucid.cluster.row_distances import RowTable, exponent
from pellucid.errors import DataError
from pellucid.numerics.row_blocks import divided

# The defaults of KMeans.
MAX_ITER, TOL = 300, 1e-4


def by_kmeans(X: np.ndarray, w: np.ndarray, K: int, rng: np.random.Generator) -> np.ndarray:
    """Responsibility 1 of each row's k-means cluster."""
    table = RowTable(divided(X, exponent(X)), K)
    run = Lloyd(table, w, MAX_ITER, TOL * table.variance(w), False)
    labels = run.solve(seeding.start("k-means++", table, w, K, rng)).x[1]
    return np.eye(K)[labels]


def at_random(X: np.ndarray, w: np.ndarray, K: int, rng: np.random.Generator) -> np.ndarray:
    """Random responsibilities for every row."""
    values = rng.random((len(X), K))
    return values / values.sum(axis=1, keepdims=True)


def from_rows(X: np.ndarray, w: np.ndarray, K: int, rng: np.random.Generator) -> np.ndarray:
    """One random row per component."""
    return _one_row_each(seeding.random_rows(RowTable(X, K), w, K, rng), w)


def plus_plus(X: np.ndarray, w: np.ndarray, K: int, rng: np.random.Generator) -> np.ndarray:
    """One row per component, chosen by k-means++."""
    table = RowTable(divided(X, exponent(X)), K)
    return _one_row_each(seeding.plus_plus(table, w, K, rng), w)


def _one_row_each(rows: np.ndarray, w: np.ndarray) -> np.ndarray:
    out = np.zeros((len(w), len(rows)))
    out[rows, np.arange(len(rows))] = 1.0 / w[rows]  # equal weights of the components
    return out


METHODS = {
    "kmeans": by_kmeans,
    "random": at_random,
    "random_from_data": from_rows,
    "k-means++": plus_plus,
}


def checked_array(values: Any, name: str, *shape: int | None) -> np.ndarray:
    """One of the user's starting parameters as finite float64."""
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"The parameter '{name}' must be numbers: {error}.") from None
    if shape and array.shape != shape:
        raise DataError(
            f"The parameter '{name}' should have the shape of {shape}, but got {array.shape}"
        )
    if not np.isfinite(array).all():
        raise DataError(f"The parameter '{name}' contains NaN or infinity.")
    return array


def checked_weights(values: Any, K: int) -> np.ndarray:
    """The user's weights of the components: between 0 and 1, with sum 1."""
    weights = checked_array(values, "weights", K)
    if (weights < 0.0).any() or (weights > 1.0).any():
        raise DataError(
            "The parameter 'weights' should be in the range [0, 1], but got max value "
            f"{weights.max():.5f}, min value {weights.min():.5f}"
        )
    if not np.isclose(weights.sum(), 1.0):
        raise DataError(
            "The parameter 'weights' should be normalized, but got sum(weights) = "
            f"{weights.sum():.5f}"
        )
    return weights
