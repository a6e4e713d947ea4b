"""Options of a logistic fit, its columns brought to scales on which solvers work well, and classes
without weight, which are left out of a fit and put back into its coefficients.

Invariant: columns are scaled by powers of two alone, so that scaling rounds nothing. A class of total
weight 0 is absent, whether because of its rows or of `class_weight`. It has a row of coefficients and
the probability 0.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.errors import DataError, ParameterError
from pellucid.linear_model._logistic.objective import Likelihood
from pellucid.linear_model.scaled_columns import ScaledColumns
from pellucid.numerics.row_blocks import Rows, exponents, scaled_penalty
from pellucid.parallel.shard import shard

FAR = 8.0  # a column whose mean exceeds this number of standard deviations is centred
FAR_SPARSE = 1e4  # the same for sparse tables, which lose their zeros by centring
EXTREME = 100  # a column whose largest value has an absolute log2 above this is scaled
DEVIATION_ROWS = 512


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
    if parallel.of_first_rows(lambda: _is_extreme(table)):
        units = -exponents(table.largest()).astype(np.int64)
        table = table.scaled(units)
    mean, spread = parallel.of_first_rows(lambda: _mean_and_spread(table.X[table.blocks[0]]))
    limit = FAR_SPARSE if table.sparse else FAR
    far = setting.intercept and bool(np.any(np.abs(mean) > limit * spread))
    alpha = scaled_penalty(setting.alpha, 2 * units)
    shift = mean if far else None
    likelihood = Likelihood(table, y, w, n_classes, alpha, setting.intercept, shift)
    return Prepared(likelihood, np.zeros_like(mean) if far else mean, spread, units)


def _is_extreme(table: Rows) -> bool:
    first = Rows(table.X[table.blocks[0]])
    return bool(np.any(np.abs(exponents(first.largest())) > EXTREME))


def _mean_and_spread(block: Any) -> tuple[np.ndarray, np.ndarray]:
    """Means and standard deviations of the columns, a few rows at a time: no copy of the block.

    The deviation of a constant column is its size, or 1.
    """
    n, p = block.shape
    if isinstance(block, np.ndarray):
        mean, total = block.mean(axis=0), np.zeros(p)
        for begin in range(0, n, DEVIATION_ROWS):
            difference = block[begin : begin + DEVIATION_ROWS] - mean
            total += np.square(difference, out=difference).sum(axis=0)
    else:
        where, cells = block.indices, block.data
        mean = np.bincount(where, cells, minlength=p) / n
        absent = n - np.bincount(where, minlength=p)
        total = np.bincount(where, (cells - mean[where]) ** 2, minlength=p) + absent * mean**2
    spread = np.sqrt(total / n)
    return mean, np.where(spread > 0, spread, np.where(mean != 0, np.abs(mean), 1.0))


ABSENT = -1e9  # intercept of an absent class, which gives it the probability 0 for every row


def present_classes(problem: Problem, w: np.ndarray) -> np.ndarray:
    """Codes of the classes with weight, at least two."""
    found = np.flatnonzero(parallel.count_rows(problem.y, w, problem.n_classes) > 0)
    if len(found) < 2:
        raise ParameterError(
            "class_weight leaves rows of one class only. Give at least two classes a weight above 0."
        )
    return found


def without_absent(
    problem: Problem, w: np.ndarray, present: np.ndarray
) -> tuple[Problem, np.ndarray]:
    """The problem and the weights of the rows of weight above 0, with the present classes only."""
    assert problem.classes is not None
    if shard() is not None:
        raise DataError(
            "class_weight gives a class the weight 0, so its rows are absent: leave them out of the "
            "Dask frame."
        )
    rows = np.flatnonzero(w > 0)
    part = problem.take(rows)
    y = np.searchsorted(present, part.y).astype(np.int32)
    return replace(part, y=y, classes=problem.classes[present]), w[rows]


def all_classes(x: np.ndarray, present: np.ndarray, K: int, separate: bool = False) -> np.ndarray:
    """Coefficients (K, p + 1) of all classes from those of the present ones (one row for two).

    `separate` means that every class was fitted against all others.
    """
    if len(present) == K:
        return x
    out = np.zeros((K, x.shape[1]))
    out[:, -1] = ABSENT
    share = 1.0 if separate else 0.5
    out[present] = np.concatenate([-share * x, share * x]) if len(present) == 2 else x
    return out
