"""Probabilities of a support vector classifier, from scores of rows that their machine has not seen.

Invariant: folds are dealt out within each class in the order of the prepared rows; equal rows, which
are one row or, of a given kernel, at no distance, are in one fold. So weights mean repetition, and
nothing is drawn.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from pellucid.data import Problem
from pellucid.errors import DataError
from pellucid.numerics import platt

FOLDS = 5
NO_DISTANCE = 1e-12  # squared, as a share of the squared lengths


def copies(kernel: np.ndarray, y: np.ndarray) -> np.ndarray:
    """For each row of a given kernel the first row of its class that is equal to it, or itself."""
    lengths, first = np.diag(kernel), np.arange(len(y))
    for i in range(len(y)):
        apart = lengths[i] + lengths[: i + 1] - 2.0 * kernel[i, : i + 1]
        near = np.abs(apart) <= NO_DISTANCE * (abs(lengths[i]) + np.abs(lengths[: i + 1]))
        first[i] = first[np.argmax(near & (y[: i + 1] == y[i]))]
    return first


def folds(y: np.ndarray, K: int, first: np.ndarray) -> np.ndarray:
    """Number of the fold of each row, dealt out within each class; copies follow their first."""
    different = np.flatnonzero(first == np.arange(len(y)))
    count = min(FOLDS, int(np.bincount(y[different], minlength=K).min()))
    if count < 2:
        raise DataError(
            "calibrate=True needs at least two different rows of each class, one to learn from and one "
            "to compare with. Leave rare classes out, or use calibrate=False."
        )
    out = np.empty(len(y), dtype=np.int64)
    for k in range(K):
        rows = different[y[different] == k]
        out[rows] = np.arange(len(rows)) % count
    return out[first]


def calibration(model: Any, problem: Problem) -> np.ndarray:
    """Slope and biases of the probabilities, by cross validation."""
    assert problem.classes is not None
    K = len(problem.classes)
    kernel = model._square(problem) if model._pairwise else None
    first = np.arange(problem.n) if kernel is None else copies(kernel, problem.y)
    fold = folds(problem.y, K, first)
    scores = np.zeros((problem.n, K) if K > 2 else problem.n)
    for number in range(fold.max() + 1):
        train, held = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        part, seen = _taken(kernel, problem, train, held)
        twin = type(model)(**model.get_params(deep=False))
        vars(twin).update(twin._machine(part), classes_=problem.classes)
        scores[held] = twin._finite(twin._scores(seen))
    return platt.fit(scores, problem.y, problem.weights, K)


def _taken(
    K: np.ndarray | None, problem: Problem, train: np.ndarray, held: np.ndarray
) -> tuple[Problem, Any]:
    """The problem on the training rows, and the held rows as that machine sees them."""
    if K is None:
        return problem.take(train), problem.X[held]
    part = replace(problem.take(train), X=np.ascontiguousarray(K[np.ix_(train, train)]))
    return part, K[np.ix_(held, train)]
