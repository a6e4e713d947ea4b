"""Folds for models that choose their own penalty: how much of each row is trained on and tested.

Invariant: a weight k is k copies of a row, so contiguous folds cut between copies, and a row can
be on both sides; splitters and lists refer to the rows that the user passed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid import _sklearn
from pellucid.data import Problem
from pellucid.data.weighted_sampling import consecutive_parts
from pellucid.errors import DataError, ParameterError, shown
from pellucid.parameters import Integer, Predicate


def _splits(cv: Any) -> bool:
    return hasattr(cv, "split") and hasattr(cv, "get_n_splits")


def _iterates(cv: Any) -> bool:
    return hasattr(cv, "__iter__") and not isinstance(cv, str | bytes | dict)


CV = (
    None
    | Integer(2)
    | Predicate(
        lambda v: _splits(v) or _iterates(v), "a splitter or an iterable of (train, test) rows"
    )
)


FOLDS = 5  # for cv=None


@dataclass(frozen=True)
class Fold:
    """Weights (n,) of the rows of a problem in the training and in the test part."""

    train: np.ndarray
    test: np.ndarray


def make_folds(cv: Any, problem: Problem, split: Mapping[str, Any] | None = None) -> list[Fold]:
    """Folds of the rows of a problem; an int, or None, gives contiguous ones.

    `split`: further arguments of the splitter, such as groups of the user's rows.
    """
    if cv is None or Integer(2).accepts(cv):
        return _contiguous(int(cv or FOLDS), problem)
    n = problem.n if problem.position is None else len(problem.position)
    if _splits(cv):
        cv = cv.split(np.zeros((n, 1)), _target(problem, n), **split or {})
    parts = list(cv)
    if not parts or any(not _iterates(part) or len(part) != 2 for part in parts):
        raise ParameterError(
            "The 'cv' parameter must be an int, a splitter, or pairs (train, test) of row numbers. "
            f"Got {shown(cv)} instead."
        )
    folds = [Fold(_weights(a, problem, n), _weights(b, problem, n)) for a, b in parts]
    for fold in folds:
        if not fold.train.any() or not fold.test.any():
            raise DataError("A fold of cv has no training rows or no test rows.")
    return folds


def fit_by_folds(self: Any, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Any:
    """Choose the penalty, then learn the coefficients.

    Further arguments, such as `groups`, go to the splitter `cv` by scikit-learn's metadata routing.
    """
    if params and not _sklearn.config("enable_metadata_routing"):
        raise ParameterError(
            f"{type(self).__name__}.fit accepts {', '.join(params)} only with metadata routing. Call "
            "sklearn.set_config(enable_metadata_routing=True) first."
        )
    split = _sklearn.split_arguments(self, params) if params else {}
    return self._learn(X, y, weights=sample_weight, split=split)


def route_to_splitter(self: Any) -> Any:
    """The metadata that `fit` requests, and what it passes on to the splitter `cv`."""
    return _sklearn.splitter_router(self, self._requested(), self.cv)


def _contiguous(k: int, problem: Problem) -> list[Fold]:
    copies = problem.weights if problem.counts else np.ones(problem.n)
    total = int(copies.sum())
    if total < k:
        raise DataError(
            f"Cannot have number of splits n_splits={k} greater than the number of samples: "
            f"n_samples={total}. Give a smaller cv."
        )
    sizes = np.full(k, total // k)
    sizes[: total % k] += 1
    folds = []
    for inside in consecutive_parts(copies, sizes):
        test = inside if problem.counts else inside * problem.weights
        folds.append(Fold(problem.weights - test, test))
    return folds


def _weights(rows: Any, problem: Problem, n: int) -> np.ndarray:
    """Weights of the rows, given by numbers or by a mask."""
    rows = np.asarray(rows)
    if rows.dtype == bool and rows.shape == (n,):
        rows = np.flatnonzero(rows)
    numbers = rows.ndim == 1 and rows.dtype.kind in "iu"
    if not numbers or (len(rows) and not 0 <= rows.min() <= rows.max() < n):
        raise DataError(
            f"cv must contain row numbers from 0 to {n - 1}, or one bool for each of the {n} rows of X."
        )
    times = np.bincount(rows, minlength=n).astype(float)
    return times[problem.user_rows()] * problem.weights


def _target(problem: Problem, n: int) -> np.ndarray:
    if problem.position is None:
        return problem.y
    y = np.zeros((n, *problem.y.shape[1:]))
    y[problem.position >= 0] = problem.y
    return y
