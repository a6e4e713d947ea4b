"""Means and scatter of columns, mergeable block by block.

Invariant: a block is centred on its own mean before it is squared, and blocks are merged by the
exact formula for two groups; so a column offset of 1e8 costs no digit, and the result of a block
order is the same for any number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.numerics.row_blocks import Rows


@dataclass(frozen=True)
class Moments:
    """Sum of weights, mean, and the scatter sum w (x - mean)(x - mean)', or its diagonal alone."""

    total: float
    mean: np.ndarray
    scatter: np.ndarray

    def merge(self, other: Moments) -> Moments:
        """The moments of both groups of rows together."""
        if other.total == 0:
            return self
        if self.total == 0:
            return other
        total = self.total + other.total
        delta = other.mean - self.mean
        share = other.total / total
        between = np.outer(delta, delta) if self.scatter.ndim == 2 else delta**2
        return Moments(
            total,
            self.mean + delta * share,
            self.scatter + other.scatter + between * (self.total * share),
        )

    def covariance(self) -> np.ndarray:
        """Scatter divided by the sum of weights."""
        return self.scatter / self.total

    @property
    def variance(self) -> np.ndarray:
        """Variances of the columns, divisor total."""
        diagonal = np.diagonal(self.scatter) if self.scatter.ndim == 2 else self.scatter
        return diagonal / self.total


def block_moments(block: np.ndarray, weights: np.ndarray, full: bool = True) -> Moments:
    """Moments of one dense block in two passes."""
    total = float(weights.sum())
    p = block.shape[1]
    if total == 0:
        return Moments(0.0, np.zeros(p), np.zeros((p, p) if full else p))
    mean = (weights @ block) / total
    centred = block - mean
    slip = (weights @ centred) / total  # what rounding left of the mean
    mean, centred = mean + slip, centred - slip
    if full:
        centred *= np.sqrt(weights)[:, None]
        return Moments(total, mean, centred.T @ centred)
    return Moments(total, mean, weights @ np.square(centred))


def moments(X: Any, weights: np.ndarray, full: bool = True) -> Moments:
    """Moments of a table, dense or CSR; `full=False` keeps variances only."""
    table = Rows(X)
    return parallel.reduce(
        lambda rows: block_moments(table.dense(rows), weights[rows], full),
        Moments.merge,
        table.blocks,
    )


def _weighted_sum(values: np.ndarray, weights: np.ndarray) -> Any:
    return parallel.reduce(
        lambda rows: weights[rows] @ values[rows],
        lambda a, b: a + b,
        parallel.row_blocks(len(values), 1),
    )


def weighted_mean(values: np.ndarray, weights: np.ndarray) -> Any:
    """The mean of the rows, also where their sum overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = parallel.sum_rows(weights)
        mean = _weighted_sum(values, weights) / total
        if not np.isfinite(mean).all():
            mean = _weighted_sum(values, weights / total)
            low = parallel.everywhere(values.min(axis=0), np.minimum)
            mean = np.clip(mean, low, parallel.largest(values.max(axis=0)))
    return mean


def sums_of_squares(
    y: np.ndarray, predicted: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Squared errors and squared distances from the mean, summed over the rows of (n,) or (n, k).

    Only their ratio matters: both are relative to the largest number, so that no square overflows.
    """
    top = -int(np.frexp(max(np.abs(y).max(), np.abs(predicted).max()))[1])
    y, predicted = np.ldexp(y, top), np.ldexp(predicted, top)
    w = weights.reshape((-1,) + (1,) * (y.ndim - 1))
    residual = (w * (y - predicted) ** 2).sum(axis=0)
    spread = (w * (y - (w * y).sum(axis=0) / w.sum()) ** 2).sum(axis=0)
    return residual, spread
