"""Centres and units of columns for networks that standardise their inputs."""

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.neural_network.lessons import Lessons


def column_means(lessons: Lessons) -> np.ndarray:
    """Weighted means; shares before the sum, so that it cannot overflow."""
    X, share = lessons.X, lessons.weights / lessons.weights.max()
    share /= 2 * share.sum()

    def part(block: slice) -> np.ndarray:
        rows = X[block] if lessons.rows is None else X[lessons.rows[block]]
        return rows.T @ share[block]

    # Small blocks: the rows of each are gathered.
    half = parallel.reduce(part, np.add, parallel.row_blocks(lessons.n, 16 * X.shape[1]))
    top = np.finfo(float).max / 2
    return 2 * np.clip(half, -top, top)


def centre_and_unit(X: Any, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weighted means and standard deviations (1 where there is none); sparse tables keep their 0."""
    share = weights / weights.max()
    share = share / share.sum()
    if not isinstance(X, np.ndarray):
        mean = np.asarray(X.T @ share).ravel()
        square = np.asarray(X.multiply(X).T @ share).ravel()
        spread = np.sqrt(np.maximum(square - mean**2, 0.0))
        return np.zeros(X.shape[1]), _usable(spread, mean)
    power = np.frexp(np.abs(X).max(axis=0))[1]
    Z = np.ldexp(X, -power)
    mean = share @ Z
    spread = np.sqrt(share @ (Z - mean) ** 2)
    return np.ldexp(mean, power), np.ldexp(_usable(spread, mean), power)


def _usable(spread: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Spreads to divide by: rounding of a constant column is none."""
    return np.where(spread > 8 * np.finfo(float).eps * np.abs(mean), spread, 1.0)
