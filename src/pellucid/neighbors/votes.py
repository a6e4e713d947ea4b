"""How much each neighbour counts, as a function of its distance.

Invariant: weights are finite, at least 0, and of every row at least one is positive; only their ratios
within a row matter, so each row is scaled where its weights would all vanish.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from pellucid.errors import DataError


def uniform(distances: np.ndarray, beta: float) -> np.ndarray:
    """1."""
    return np.ones_like(distances)


def inverse(distances: np.ndarray, beta: float) -> np.ndarray:
    """1 / d; if some distances are 0, only these rows count."""
    nearest = distances[:, :1]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = nearest / distances  # 1 / d in units of the nearest row, so that nothing overflows
    return np.where(nearest > 0, np.nan_to_num(ratio, nan=1.0), (distances == 0).astype(float))


def exponential(distances: np.ndarray, beta: float) -> np.ndarray:
    """exp(-beta d), divided by that of the nearest row."""
    with np.errstate(over="ignore", invalid="ignore"):
        gap = beta * (distances - distances[:, :1])
    return np.exp(-np.nan_to_num(gap, nan=0.0))


def rational(distances: np.ndarray, beta: float) -> np.ndarray:
    """1 / (1 + d**beta); for distances whose powers overflow, relative to the nearest row."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore", under="ignore"):
        plain = 1.0 / (1.0 + distances**beta)
        far = (distances[:, :1] / distances) ** beta
    return np.where(plain[:, :1] > 1e-250, plain, np.nan_to_num(far, nan=1.0))


NAMED: dict[str | None, Callable[[np.ndarray, float], np.ndarray]] = {
    "uniform": uniform,
    None: uniform,
    "distance": inverse,
    "exp": exponential,
    "rational": rational,
}


def weigh(rule: Any, distances: np.ndarray, beta: float) -> np.ndarray:
    """Weights of neighbours (n, k), nearest first."""
    if not callable(rule):
        return NAMED[rule](distances, beta)
    found = np.asarray(rule(distances), dtype=float)
    if found.shape != distances.shape:
        raise DataError(
            f"The weights function returned shape {found.shape} for distances of shape "
            f"{distances.shape}: one weight per distance is needed."
        )
    good = np.isfinite(found) & (found >= 0)
    bad = ~(good.all(axis=1) & (found.sum(axis=1) > 0))
    if bad.any():
        raise DataError(
            f"The weights function gives row {int(np.argmax(bad))} no positive weight, or one that "
            "is negative or not finite: its neighbours cannot vote."
        )
    return found


def shares(rule: Any, distances: np.ndarray, beta: float) -> np.ndarray:
    """Weights that sum to 1 in every row."""
    weights = weigh(rule, distances, beta)
    return weights / weights.sum(axis=1, keepdims=True)
