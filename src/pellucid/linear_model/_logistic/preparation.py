"""Options of a logistic fit, and its columns brought to scales on which solvers work well.

Invariant: columns are scaled by powers of two alone, so that scaling rounds nothing.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.linear_model._logistic.objective import Likelihood
from pellucid.linear_model.scaled_columns import ScaledColumns, mean_and_spread
from pellucid.numerics.row_blocks import Rows, exponents, scaled_penalty

FAR = 8.0  # a column whose mean exceeds this number of standard deviations is centred
FAR_SPARSE = 1e4  # the same for sparse tables, which lose their zeros by centring
EXTREME = 100  # a column whose largest value has an absolute log2 above this is scaled


@dataclass(frozen=True)
class Setting:
    """Options of a fit."""

    alpha: float  # strength of the penalty, 1 / C
    intercept: bool
    tol: float
    max_iter: int
    x0: np.ndarray | None = None  # coefficients to start from, (classes, p + 1)
    terms: tuple[str, ...] = ()  # names of the columns, for messages
    firth: bool = False


@dataclass(frozen=True)
class Prepared(ScaledColumns):
    """The likelihood of shifted and scaled columns, and the way back to the original ones."""

    likelihood: Likelihood
    mean: np.ndarray  # of the columns of the likelihood
    spread: np.ndarray  # their standard deviations
    units: np.ndarray

    @property
    def shift(self) -> np.ndarray | None:
        return self.likelihood.shift

    def to_user(self, x: np.ndarray) -> np.ndarray:
        """B (q, p + 1) on the original scale, from a flat x."""
        return self.original(x.reshape(self.likelihood.q, -1))

    def from_user(self, B: np.ndarray) -> np.ndarray:
        """A flat x, from B on the original scale."""
        return self.scaled(B).ravel()

    def root(self, root: np.ndarray, centre: np.ndarray) -> np.ndarray:
        """A root of the covariance of coefficients, on the original scale, and of scores at `centre`,
        class by class, from the root of the covariance in the columns of the likelihood."""
        width = len(self.units) + 1
        parts = root.reshape(len(root) // width, width, root.shape[1]).copy()
        offset = centre - self.centre
        moved = np.flatnonzero(offset)  # an infinite error matters only where the centre moves
        with np.errstate(over="ignore", invalid="ignore"):
            parts[:, :-1] = np.ldexp(parts[:, :-1], self.units[:, None])
            parts[:, -1] += offset[moved] @ parts[:, moved]
        return parts.reshape(root.shape)


def prepare_columns(
    X: Any, y: np.ndarray, w: np.ndarray, n_classes: int, setting: Setting
) -> Prepared:
    """Scale columns of extreme size and centre columns far from 0, judged by the first block."""
    table, units = Rows(X), np.zeros(X.shape[1], dtype=np.int64)
    first = table.dense(table.blocks[0])
    sizes = np.maximum(first.max(axis=0), -first.min(axis=0))
    if np.any(np.abs(exponents(sizes)) > EXTREME):
        units = -exponents(table.largest()).astype(np.int64)
        table = table.scaled(units)
        first = table.dense(table.blocks[0])
    mean, spread = mean_and_spread(first)
    limit = FAR_SPARSE if table.sparse else FAR
    far = setting.intercept and bool(np.any(np.abs(mean) > limit * spread))
    alpha = scaled_penalty(setting.alpha, 2 * units)
    shift = mean if far else None
    likelihood = Likelihood(table, y, w, n_classes, alpha, setting.intercept, shift)
    return Prepared(likelihood, np.zeros_like(mean) if far else mean, spread, units)
