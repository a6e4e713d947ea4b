"""Impurities of a node: the names, the compiled loops' numbers for them, and the formulas.

Invariant: cost = impurity * weight is what growing minimises; the formulas here and the compiled
costs in `_impurity.pxd` are the same functions, and the tests compare them.
"""

from collections.abc import Callable

import numpy as np

from pellucid.errors import DataError

# The numbers are those of the enum in `_impurity.pxd`.
CLASS_CRITERIA = {"gini": 0, "entropy": 1, "log_loss": 1, "error": 2}
NUMBER_CRITERIA = {"squared_error": 3, "absolute_error": 6, "poisson": 4, "gamma": 5}
CRITERIA = CLASS_CRITERIA | NUMBER_CRITERIA
SEVERAL_CRITERIA = {"squared_error": 7, "poisson": 8, "gamma": 9}  # of several targets at once
CLASS_IMPURITY = (
    "Impurity that splits reduce: 'gini' is 1 - sum p^2, 'entropy' and 'log_loss' are "
    "-sum p log2 p, 'error' is 1 - max p."
)
NUMBER_LOSS = "Loss that splits reduce. All but 'absolute_error' accept several targets."
# The cost of a target that is c times as large is c**power times as large.
POWERS = {"squared_error": 2, "absolute_error": 1, "poisson": 1, "gamma": 0}


def gini(shares: np.ndarray) -> np.ndarray:
    """1 - sum p^2, the probability that two draws differ, as 2 sum_{i<j} p_i p_j."""
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


def number_of(criterion: str, n_targets: int) -> int:
    """The compiled loops' number for a criterion."""
    return CRITERIA[criterion] if n_targets == 1 else SEVERAL_CRITERIA[criterion]


def check_target(criterion: str, y: np.ndarray, owner: str) -> None:
    """Refuse targets for which the deviance of the criterion is not defined."""
    if criterion == "poisson" and ((y < 0).any() or not y.sum() > 0):
        raise DataError(
            f"y contains negative values, or only zeros. {owner}(criterion='poisson') needs counts or "
            "rates. Use criterion='squared_error'."
        )
    if criterion == "gamma" and (y <= 0).any():
        row = int(np.argmax((y <= 0).reshape(len(y), -1).any(axis=1)))
        raise DataError(
            f"y is not positive in row {row}. {owner}(criterion='gamma') needs values above 0. Use "
            "'poisson' or 'squared_error'."
        )
