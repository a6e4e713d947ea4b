"""Boosting of rows that several processes share: sums over all of them, and their validation rows.

Invariant: sums of more rows than a group are exact and rounded once, so that they depend neither on the
order of the rows nor on the processes that hold them. Fewer rows are always in one process.
"""

from dataclasses import replace
from math import ldexp
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.errors import DataError
from pellucid.parallel.shard import GROUP, shard
from pellucid.tree._gradients import exact_sums

LIMBS, LIMB_BITS = 3, 40  # of exact sums, as in `tree._leaf_sums`


def total(values: np.ndarray) -> float:
    """Sum of the values of all processes."""
    return float(values.sum() if _is_group(values) else _exact_sums(None, values, 1)[0])


def weighted_sum(weights: np.ndarray, values: np.ndarray) -> Any:
    """weights @ values of all processes."""
    if _is_group(values):
        return weights @ values
    return _exact_sums(None, weights * values, 1)[0]


def weights_of_classes(y: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Sum of the weights of each class, of all processes."""
    if _is_group(y):
        return np.bincount(y, weights)
    return _exact_sums(y, weights, int(parallel.largest(y.max())) + 1)


def near_total(values: np.ndarray) -> float:
    """The same as `total` up to rounding, in less time."""
    return float(values.sum() if _is_group(values) else parallel.sum_rows(values))


def _is_group(values: np.ndarray) -> bool:
    """Whether these are all rows, and so few that one process always has them."""
    return shard() is None and len(values) <= GROUP


def _exact_sums(codes: np.ndarray | None, values: np.ndarray, size: int) -> np.ndarray:
    """Sums of finite values of all processes, by code 0..size-1 (None: 0), rounded once."""
    top = float(parallel.largest(np.abs(values).max()))
    if not 0.0 < top < np.inf:
        return np.full(size, top)
    bits = min(LIMB_BITS, 62 - parallel.total_rows(len(values)).bit_length())
    up = min(bits - int(np.frexp(top)[1]), 1000)
    codes = np.empty(0, dtype=np.int32) if codes is None else codes
    limbs = np.zeros((size, LIMBS), dtype=np.int64)
    exact_sums(np.ascontiguousarray(values), codes, ldexp(1.0, up), ldexp(1.0, bits), limbs)
    rest = bits * (LIMBS - 1)
    whole = [
        sum(limb << rest - bits * k for k, limb in enumerate(own))
        for own in parallel.added(limbs).tolist()
    ]
    return np.array([ldexp(float(number), -up - rest) for number in whole])


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
