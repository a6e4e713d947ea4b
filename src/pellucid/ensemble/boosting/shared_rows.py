"""Boosting of rows that several processes share: sums over all of them, and their validation rows.

Invariant: without other processes, sums are those of NumPy.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.errors import DataError
from pellucid.parallel.shard import shard


def total(values: np.ndarray) -> float:
    """Sum of the values of all processes."""
    return float(values.sum() if shard() is None else parallel.sum_rows(values))


def weighted_sum(weights: np.ndarray, values: np.ndarray) -> Any:
    """weights @ values of all processes."""
    return weights @ values if shard() is None else parallel.sum_rows(weights * values)


def weights_of_classes(y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Sum of the weights of each class, of all processes."""
    if shard() is None:
        return np.bincount(y, weights)
    return parallel.count_rows(y, weights, int(parallel.everywhere(int(y.max()), max)) + 1)


def split(problem: Problem, share: float, seed: np.ndarray) -> tuple[Problem, Problem]:
    """(training rows, validation rows): the same rows in both, those of the other one with weight 0.

    A row is held back by chance, which depends on the seed and its number in the whole table. A class
    that would have no other row keeps all of them for training.
    """
    here = shard()
    assert here is not None
    numbers = here.numbers(np.arange(problem.n)).astype(np.uint64)
    held = _drawn(numbers, seed) < share
    w = problem.weights
    if problem.classes is not None:
        left = parallel.count_rows(problem.y, np.where(held, 0.0, w), len(problem.classes))
        held &= (left > 0)[problem.y]
    if not parallel.any_row(held.any()):
        raise DataError(
            f"{problem.total:.0f} rows are too few to split off validation rows for early stopping. "
            "Use early_stopping=False."
        )
    return (
        replace(problem, weights=np.where(held, 0.0, w)),
        replace(problem, weights=np.where(held, w, 0.0)),
    )


def _drawn(rows: np.ndarray, seed: np.ndarray) -> np.ndarray:
    """A number in [0, 1) for each row, by the finaliser of SplitMix64."""
    with np.errstate(over="ignore"):
        x = (rows + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        x = x + np.uint64(int(seed[0])) ^ np.uint64(int(seed[1]))
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (x ^ (x >> np.uint64(31))) / 2.0**64
