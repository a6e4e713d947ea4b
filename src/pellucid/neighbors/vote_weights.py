"""Weights of the neighbours as functions of their distances.

Invariant: weights are finite and not negative, and every row has a positive one. Only their ratios
within a row matter, so a row whose weights would all underflow is scaled.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from pellucid.errors import DataError
from pellucid.neighbors.ragged import Lists


def uniform(distances: np.ndarray, nearest: np.ndarray, beta: float) -> np.ndarray:
    """1."""
    return np.ones_like(distances)


def inverse(distances: np.ndarray, nearest: np.ndarray, beta: float) -> np.ndarray:
    """1 / d; if some distances are 0, only these rows count."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = nearest / distances  # 1 / d in units of the nearest row, so that nothing overflows
    return np.where(nearest > 0, np.nan_to_num(ratio, nan=1.0), (distances == 0).astype(float))


def exponential(distances: np.ndarray, nearest: np.ndarray, beta: float) -> np.ndarray:
    """exp(-beta d), divided by that of the nearest row."""
    with np.errstate(over="ignore", invalid="ignore"):
        gap = beta * (distances - nearest)
    return np.exp(-np.nan_to_num(gap, nan=0.0))


def rational(distances: np.ndarray, nearest: np.ndarray, beta: float) -> np.ndarray:
    """1 / (1 + d**beta); for distances whose powers overflow, relative to the nearest row."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore", under="ignore"):
        plain = 1.0 / (1.0 + distances**beta)
        best = 1.0 / (1.0 + nearest**beta)
        far = (nearest / distances) ** beta
    return np.where(best > 1e-250, plain, np.nan_to_num(far, nan=1.0))


NAMED: dict[str | None, Callable[[np.ndarray, np.ndarray, float], np.ndarray]] = {
    "uniform": uniform,
    None: uniform,
    "distance": inverse,
    "exp": exponential,
    "rational": rational,
}


def weigh(rule: Any, distances: np.ndarray, beta: float) -> np.ndarray:
    """Weights of neighbours (n, k), nearest first."""
    if not callable(rule):
        return NAMED[rule](distances, distances[:, :1], beta)
    found = np.asarray(rule(distances), dtype=float)
    if found.shape != distances.shape:
        raise DataError(
            f"The weights function returned shape {found.shape} for distances of shape "
            f"{distances.shape}, but one weight per distance is needed."
        )
    good = np.isfinite(found) & (found >= 0)
    bad = ~(good.all(axis=1) & (found.sum(axis=1) > 0))
    if bad.any():
        raise DataError(
            f"The weights function gives row {int(np.argmax(bad))} no positive weight, or one that is "
            "negative or not finite. Return finite weights >= 0 with a positive one in every row."
        )
    return found


def shares_of_lists(rule: Any, lists: Lists, beta: float) -> np.ndarray:
    """Weights that sum to 1 for every query; a function gets one list (1, k) at a time."""
    if not len(lists.distances):
        return lists.distances
    if callable(rule):
        each = [near[None] for near, _ in lists.each()]
        given = [weigh(rule, near, beta) if near.size else near for near in each]
        return np.concatenate([(w / w.sum(axis=1, keepdims=True))[0] for w in given])
    some = lists.counts > 0
    starts, counts = lists.starts[:-1][some], lists.counts[some]
    nearest = np.repeat(lists.distances[starts], counts)
    weights = NAMED[rule](lists.distances, nearest, beta)
    return weights / np.repeat(np.add.reduceat(weights, starts), counts)
