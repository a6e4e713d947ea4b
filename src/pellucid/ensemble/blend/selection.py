"""Greedy selection with replacement (Caruana et al., 2004): which models a blend consists of.

1. Start with the model of the lowest loss.
2. Add the model with which the mean of all picks has the lowest loss; it may have been picked before.
3. After `most` picks, keep the first picks up to the lowest loss.

The weight of a model is its share of the picks. Ties go to the earlier model and to fewer picks.
"""

from collections.abc import Callable

import numpy as np

SMALLEST = 1e-15  # probability at which the log loss is cut off

Loss = Callable[[np.ndarray, np.ndarray, np.ndarray], float]


def log_loss(y: np.ndarray, p: np.ndarray, share: np.ndarray) -> float:
    """Mean log loss; `p` is the probability of each row's own class, `share` the share of its weight."""
    return float(-(share * np.log(np.maximum(p, SMALLEST))).sum())


def root_mean_squared_error(y: np.ndarray, prediction: np.ndarray, share: np.ndarray) -> float:
    """Root of the mean squared error, computed so that no square overflows."""
    error = y - prediction
    largest = float(np.abs(error).max())
    if not 0 < largest < np.inf:
        return largest
    return largest * float(np.sqrt((share * (error / largest) ** 2).sum()))


def select(
    values: np.ndarray, y: np.ndarray, weights: np.ndarray, loss: Loss, most: int
) -> tuple[np.ndarray, np.ndarray]:
    """The picks in their order, and the loss of their mean after each.

    values : (models, rows), out-of-fold: what `loss` compares with y
    """
    share = weights / weights.sum()
    picks, losses, mean = [], [], np.zeros(values.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        for k in range(1, most + 1):
            found = [loss(y, mean + (own - mean) / k, share) for own in values]
            found = [one if np.isfinite(one) else np.inf for one in found]
            picks.append(int(np.argmin(found)))
            losses.append(found[picks[-1]])
            mean = mean + (values[picks[-1]] - mean) / k
    kept = int(np.argmin(losses)) + 1
    return np.array(picks[:kept], dtype=np.int64), np.array(losses[:kept])


def weights_of(picks: np.ndarray, n_models: int) -> np.ndarray:
    """The share of each model in the picks."""
    return np.bincount(picks, minlength=n_models) / len(picks)
