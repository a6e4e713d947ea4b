"""Impurities of a node: the names, the compiled loops' numbers for them, and the formulas.

Invariant: cost = impurity * weight is what growing minimises; `impurity` here and the compiled
costs in `_cost.pxi` are the same functions, and the tests compare them.
"""

from collections.abc import Callable

import numpy as np

# The numbers are those of the enum in `_cost.pxi`.
CLASS_CRITERIA = {"gini": 0, "entropy": 1, "log_loss": 1, "error": 2}
NUMBER_CRITERIA = {"squared_error": 3}
CRITERIA = CLASS_CRITERIA | NUMBER_CRITERIA


def gini(shares: np.ndarray) -> np.ndarray:
    """1 - sum p^2, the chance that two draws differ, as 2 sum_{i<j} p_i p_j."""
    before = np.cumsum(shares, axis=-1) - shares
    return 2.0 * (shares * before).sum(axis=-1)


def entropy(shares: np.ndarray) -> np.ndarray:
    """- sum p log2 p, in bits."""
    logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    return -(shares * logs).sum(axis=-1) + 0.0


def error(shares: np.ndarray) -> np.ndarray:
    """1 - max p, the error of predicting the most frequent class."""
    return 1.0 - shares.max(axis=-1)


IMPURITIES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "gini": gini,
    "entropy": entropy,
    "log_loss": entropy,
    "error": error,
}


def impurity(criterion: str, counts: np.ndarray) -> np.ndarray:
    """Impurity of nodes with the class weights `counts` (..., K).

    >>> impurity("gini", np.array([2.0, 2.0, 1.0])).round(2)
    np.float64(0.64)
    """
    counts = np.asarray(counts, dtype=float)
    return IMPURITIES[criterion](counts / counts.sum(axis=-1, keepdims=True))
