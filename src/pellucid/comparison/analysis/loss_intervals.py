"""Interval of a mean loss over one set of rows: absolute or squared errors, or log losses.

A few large losses dominate such a mean. A sample without them must leave room for a larger mean than its
rows show; `UnseenLoss` says how much.

- Errors: an unseen error is BEYOND times the largest one (a squared error, the square of that), and the
  losses vary at least as much as those of normal errors.
- Probabilities: rows without a wrong prediction do not show the loss of a mistake, but the probabilities
  do, so one more mistake is added.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pellucid.comparison.analysis.statistics import FARTHEST, effective_rows, reach, tail_of

STRETCH = 2.0  # maximum width relative to the t interval
BEYOND = 2.0  # an unseen error relative to the largest one
VARIES = {1: np.sqrt(np.pi / 2 - 1), 2: np.sqrt(2.0)}  # std / mean of |normal error|^power


@dataclass(frozen=True)
class UnseenLoss:
    """What is assumed about losses larger than those of the sample.

    loss : a loss beyond all that were seen; error : minimum relative standard error of the mean;
    mean : minimum of the upper end
    """

    loss: float
    error: float = 0.0
    mean: float = 0.0


def beyond_errors(losses: np.ndarray, power: int, n: float) -> UnseenLoss:
    """For |errors|^power of n effective rows."""
    return UnseenLoss(BEYOND**power * float(losses.max()), float(VARIES[power] / np.sqrt(n)))


def beyond_mistakes(losses: np.ndarray, wrong: np.ndarray, w: np.ndarray) -> UnseenLoss:
    """For log losses; `wrong` is the loss of each row if its next most probable class were true."""
    one = float(np.average(wrong, weights=w))
    more, heavy = _with_one_more(losses, w, one)
    mean, error = _mean_and_error(_moments(more, heavy, 0.0).sum(axis=0), len(more), 0.0)
    return UnseenLoss(max(BEYOND * float(losses.max()), one), float(error / mean), float(mean))


def by_group(
    losses: np.ndarray, w: np.ndarray, groups: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Mean loss and weight of each group: groups are independent, the rows of a group are not."""
    codes = np.unique(groups, return_inverse=True)[1]
    total = np.bincount(codes, w)
    return np.bincount(codes, w * losses) / total, total


def mean_error(losses: np.ndarray, w: np.ndarray) -> float:
    """Standard error of the weighted mean."""
    return float(_mean_and_error(_moments(losses, w, 0.0).sum(axis=0), len(losses), 0.0)[1])


def _with_one_more(losses: np.ndarray, w: np.ndarray, loss: float) -> tuple[np.ndarray, np.ndarray]:
    return np.append(losses, loss), np.append(w, (w**2).sum() / w.sum())


def _moments(losses: np.ndarray, w: np.ndarray, centre: float) -> np.ndarray:
    """Terms of each row in the sums for the mean and its error; losses are relative to `centre`."""
    d = losses - centre
    return np.column_stack([w, w * d, w**2, w**2 * d, w**2 * d**2])


def _mean_and_error(sums: np.ndarray, n: int, centre: float) -> np.ndarray:
    """Weighted mean of n losses and its standard error; the textbook formulas if weights are equal."""
    total, first, weight, cross, square = sums.T
    shift = first / total
    spread = np.maximum(square - 2 * shift * cross + shift**2 * weight, 0.0)
    return np.stack([centre + shift, np.sqrt(n / (n - 1) * spread) / total])


def mean_interval(
    losses: np.ndarray,
    rng: np.random.Generator,
    draws: int = 1000,
    weights: np.ndarray | None = None,
    unseen: UnseenLoss | None = None,
) -> tuple[float, float]:
    """Interval of a mean of nonnegative losses: the studentised bootstrap of its logarithm.

    A loss beyond all n that were seen has probability 1 / (n + 1), so the loss of `unseen` is added to
    the rows that are resampled. The upper end uses at least the standard error of `unseen`, the lower
    end that of the rows. The width relative to the t interval is bounded, because a single outlier would
    otherwise leave no upper end. If all losses are 0, the interval is empty.
    """
    n, w = len(losses), np.ones(len(losses)) if weights is None else weights
    if n < 2 or not losses.any():
        return (float(losses.mean()),) * 2 if n else (float("nan"),) * 2
    unseen = unseen or UnseenLoss(BEYOND * float(losses.max()))
    centre = float((w * losses).sum() / w.sum())
    rows = _moments(*_with_one_more(losses, w, unseen.loss), centre)
    sums = np.empty((max(200, min(draws, int(2e7 // n))), rows.shape[1]))
    for k in range(len(sums)):
        sums[k] = np.bincount(rng.integers(0, n + 1, n), minlength=n + 1) @ rows
    redrawn = _mean_and_error(sums, n, centre)
    means, errors = redrawn[:, (redrawn > 0).all(axis=0)]
    if len(means) < len(sums) / 2:
        return float("nan"), float("nan")
    around, own = (_mean_and_error(part.sum(axis=0), n, centre) for part in (rows, rows[:n]))
    t = np.log(means / around[0]) * means / errors
    tail, share = tail_of(effective_rows(w)), float(own[1] / own[0])
    most = STRETCH * reach(n - 1)
    far, near = np.clip(np.quantile(t, [tail, 1 - tail]), -most, most)
    below = min(near * share, np.log(FARTHEST))
    above = min(-far * max(share, unseen.error), np.log(FARTHEST))
    return float(centre * np.exp(-below)), max(float(centre * np.exp(above)), unseen.mean)
