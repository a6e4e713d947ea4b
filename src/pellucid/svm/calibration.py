"""Probabilities of a support vector classifier, from scores of rows that their machine has not seen.

Invariant: folds are dealt out within each class in the order of the prepared rows, so equal rows are
in one fold, weights mean repetition, and nothing is drawn.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from pellucid.data import Problem
from pellucid.errors import DataError
from pellucid.numerics import platt

FOLDS = 5


def folds(y: np.ndarray, K: int) -> np.ndarray:
    """Number of the fold of each row, dealt out within each class."""
    count = min(FOLDS, int(np.bincount(y, minlength=K).min()))
    if count < 2:
        raise DataError(
            "calibrate=True needs at least two different rows of each class, one to learn from and one "
            "to compare with. Leave rare classes out, or use calibrate=False."
        )
    out = np.empty(len(y), dtype=np.int64)
    for k in range(K):
        rows = np.flatnonzero(y == k)
        out[rows] = np.arange(len(rows)) % count
    return out


def calibration(model: Any, problem: Problem) -> np.ndarray:
    """Slope and biases of the probabilities, by cross validation."""
    assert problem.classes is not None
    K = len(problem.classes)
    fold = folds(problem.y, K)
    scores = np.zeros((problem.n, K) if K > 2 else problem.n)
    for number in range(fold.max() + 1):
        train, held = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        part, seen = _taken(model, problem, train, held)
        twin = type(model)(**model.get_params(deep=False))
        vars(twin).update(twin._machine(part), classes_=problem.classes)
        scores[held] = twin._finite(twin._scores(seen))
    return platt.fit(scores, problem.y, problem.weights, K)


def _taken(
    model: Any, problem: Problem, train: np.ndarray, held: np.ndarray
) -> tuple[Problem, Any]:
    """The problem on the training rows, and the held rows as that machine sees them."""
    if not model._pairwise:
        return problem.take(train), problem.X[held]
    K = model._square(problem)
    part = replace(problem.take(train), X=np.ascontiguousarray(K[np.ix_(train, train)]))
    return part, K[np.ix_(held, train)]
