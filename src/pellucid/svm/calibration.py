"""Probabilities of a support vector classifier, from scores of rows that their machine has not seen.

Invariant: samples are dealt out to the folds within each class; rows of a given kernel at no distance
are copies of one row. So weights mean repetition, and nothing depends on a random state.
"""

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
    """For each row of a given kernel the first row of its class that is equal to it, or itself."""
    lengths, first = np.diag(kernel), np.arange(len(y))
    for i in range(len(y)):
        apart = lengths[i] + lengths[: i + 1] - 2.0 * kernel[i, : i + 1]
        near = np.abs(apart) <= NO_DISTANCE * (abs(lengths[i]) + np.abs(lengths[: i + 1]))
        first[i] = first[np.argmax(near & (y[: i + 1] == y[i]))]
    return first


def folds(problem: Problem, K: int) -> list[np.ndarray]:
    """For each fold the weights of the rows in it, dealt out within each class."""
    copies = copies_of(problem.weights)
    sizes = np.bincount(problem.y, np.ones(problem.n) if copies is None else copies, K)
    count = min(FOLDS, int(sizes.min()))
    if count < 2:
        raise DataError(
            "calibrate=True needs at least two rows of each class, one to learn from and one to "
            "compare with. Leave rare classes out, or use calibrate=False."
        )
    stream, held = parallel.stream(parallel.seed_sequence(0), "folds"), np.zeros((count, problem.n))
    for rows in classes_of(problem.y):
        parts = dealt(problem.weights[rows], np.zeros(len(rows)), count, stream)
        held[:, rows] = np.array(list(parts))
    return list(held)


def calibration(model: Any, problem: Problem) -> np.ndarray:
    """Slope and biases of the probabilities, by cross validation."""
    assert problem.classes is not None
    K, kernel = len(problem.classes), None
    if model._pairwise:
        problem, kernel = _without_copies(problem, model._square(problem))
    rows, weights, scores = [], [], []
    for fold in folds(problem, K):
        left = problem.weights - fold
        train, held = np.flatnonzero(left), np.flatnonzero(fold)
        part, seen = _taken(kernel, problem, train, held)
        twin = type(model)(**model.get_params(deep=False))
        vars(twin).update(twin._machine(part.reweight(left[train])), classes_=problem.classes)
        rows.append(held)
        weights.append(fold[held])
        scores.append(twin._finite(twin._scores(seen)))
    row = np.concatenate(rows)
    order = np.argsort(row, kind="stable")
    z, w = np.concatenate(scores)[order], np.concatenate(weights)[order]
    return platt.fit(z, problem.y[row[order]], w, K)


def _without_copies(problem: Problem, kernel: np.ndarray) -> tuple[Problem, np.ndarray]:
    """Rows of a given kernel that are equal, as one row with the weight of all of them."""
    first = copies(kernel, problem.y) if problem.counts else np.arange(problem.n)
    kept, group = np.unique(first, return_inverse=True)
    own = problem.take(kept, np.bincount(group, problem.weights))
    return own, kernel[np.ix_(kept, kept)]


def _taken(
    K: np.ndarray | None, problem: Problem, train: np.ndarray, held: np.ndarray
) -> tuple[Problem, Any]:
    """The problem on the training rows, and the held rows as that machine sees them."""
    if K is None:
        return problem.take(train), problem.X[held]
    part = replace(problem.take(train), X=np.ascontiguousarray(K[np.ix_(train, train)]))
    return part, K[np.ix_(held, train)]
