"""Impurity and cost of a node by their formulas, to compare with the compiled costs."""

import numpy as np

from pellucid.tree.criteria import IMPURITIES


def impurity(criterion: str, counts: np.ndarray) -> np.ndarray:
    """Impurity of nodes with the class weights `counts` (..., K)."""
    counts = np.asarray(counts, dtype=float)
    return IMPURITIES[criterion](counts / counts.sum(axis=-1, keepdims=True))


def weighted_median(y: np.ndarray, w: np.ndarray) -> float:
    """The value that halves the weight, the middle of two if both do."""
    order = np.argsort(y, kind="stable")
    y, passed = y[order], np.cumsum(w[order])
    low = int(np.searchsorted(passed, 0.5 * passed[-1]))
    high = min(low + 1, len(y) - 1) if passed[low] == 0.5 * passed[-1] else low
    return float(y[low] + 0.5 * (y[high] - y[low]))


def number_cost(criterion: str, y: np.ndarray, w: np.ndarray) -> float:
    """sum w loss(y, value) of a node with the best value: its mean, or its median."""
    if criterion == "absolute_error":
        return float((w * np.abs(y - weighted_median(y, w))).sum())
    mean = float(np.average(y, weights=w))
    if criterion == "squared_error":
        return float((w * (y - mean) ** 2).sum())
    if mean == 0:
        return 0.0
    u = y / mean
    logs = np.log(u, out=np.zeros_like(u), where=u > 0)
    losses = mean * (u * logs - u + 1) if criterion == "poisson" else u - 1 - logs
    return float((w * losses).sum())
