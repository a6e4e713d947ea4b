"""Probabilities of a support vector classifier, from cross-validated scores.

Invariant: the samples of each class are distributed over the folds; rows of a precomputed kernel at
distance 0 are copies of one row. So weights mean repetition, and nothing depends on a random state.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.data.weighted_sampling import classes_of, copies_of, dealt
from pellucid.errors import DataError
from pellucid.numerics import platt

FOLDS = 5
NO_DISTANCE = 1e-12  # squared, as a share of the squared lengths


def copies(kernel: np.ndarray, y: np.ndarray) -> np.ndarray:
    """For each row of a kernel matrix the first row of its class that is equal to it, or itself."""
    lengths, first = np.diag(kernel), np.arange(len(y))
    for i in range(len(y)):
        apart = lengths[i] + lengths[: i + 1] - 2.0 * kernel[i, : i + 1]
        near = np.abs(apart) <= NO_DISTANCE * (abs(lengths[i]) + np.abs(lengths[: i + 1]))
        first[i] = first[np.argmax(near & (y[: i + 1] == y[i]))]
    return first


def folds(problem: Problem, K: int) -> list[np.ndarray]:
    """For each fold the weights of the rows in it, distributed within each class."""
    copies = copies_of(problem.weights)
    sizes = np.bincount(problem.y, np.ones(problem.n) if copies is None else copies, K)
    count = min(FOLDS, int(sizes.min()))
    if count < 2:
        raise DataError(
            "calibrate=True needs at least two rows of each class, because it cross-validates. Drop the "
            "classes with one row, or use calibrate=False."
        )
    stream, test = parallel.stream(parallel.seed_sequence(0), "folds"), np.zeros((count, problem.n))
    for rows in classes_of(problem.y):
        parts = dealt(problem.weights[rows], np.zeros(len(rows)), count, stream)
        test[:, rows] = np.array(list(parts))
    return list(test)


def calibration(
    problem: Problem, kernel: np.ndarray | None, scores_of: Callable[[Problem, Any], np.ndarray]
) -> np.ndarray:
    """Slope and biases of the probabilities, by cross-validation.

    `kernel` is the kernel matrix of the rows if it was precomputed. `scores_of(part, X)` fits a model
    to part of the problem and returns its scores for the encoded rows X.
    """
    assert problem.classes is not None
    K = len(problem.classes)
    if kernel is not None:
        problem, kernel = _without_copies(problem, kernel)
    rows, weights, scores = [], [], []
    for fold in folds(problem, K):
        left = problem.weights - fold
        train, test = np.flatnonzero(left), np.flatnonzero(fold)
        part, seen = _taken(kernel, problem, train, test)
        rows.append(test)
        weights.append(fold[test])
        scores.append(scores_of(part.reweight(left[train]), seen))
    row = np.concatenate(rows)
    order = np.argsort(row, kind="stable")
    z, w = np.concatenate(scores)[order], np.concatenate(weights)[order]
    return platt.fit(z, problem.y[row[order]], w, K)


def _without_copies(problem: Problem, kernel: np.ndarray) -> tuple[Problem, np.ndarray]:
    """Equal rows of a kernel matrix merged into one row with their total weight."""
    first = copies(kernel, problem.y) if problem.counts else np.arange(problem.n)
    kept, group = np.unique(first, return_inverse=True)
    own = problem.take(kept, np.bincount(group, problem.weights))
    return own, kernel[np.ix_(kept, kept)]


def _taken(
    K: np.ndarray | None, problem: Problem, train: np.ndarray, test: np.ndarray
) -> tuple[Problem, Any]:
    """The problem on the training rows, and the held-out rows for a model fitted to them."""
    if K is None:
        return problem.take(train), problem.X[test]
    part = replace(problem.take(train), X=np.ascontiguousarray(K[np.ix_(train, train)]))
    return part, K[np.ix_(test, train)]
