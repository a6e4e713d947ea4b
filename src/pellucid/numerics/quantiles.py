"""Weighted quantiles: values at a share of the cumulative weight."""

import numpy as np


def lower_quantile(values: np.ndarray, weights: np.ndarray, q: float) -> float:
    """The first value whose cumulative weight reaches the share q of the total."""
    n = len(values)
    if (weights == weights[0]).all():
        at = min(max(int(np.ceil(q * n - 1e-12 * n)), 1), n) - 1
        return float(np.partition(values, at)[at])
    order, total = _cumulated(values, weights)
    return float(values[order[min(np.searchsorted(total, q * total[-1]), n - 1)]])


def middle_quantile(values: np.ndarray, weights: np.ndarray, q: float) -> float:
    """Mean of the first value whose cumulative weight reaches, and exceeds, the share q."""
    order, total = _cumulated(values, weights)
    low, high = (np.searchsorted(total, q * total[-1], side=side) for side in ("left", "right"))
    last = len(values) - 1
    return float((values[order[min(low, last)]] + values[order[min(high, last)]]) / 2)


def _cumulated(values: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(values, kind="stable")
    return order, np.cumsum(weights[order])
