"""Validation samples for early stopping, stratified by class.

Invariant: the split depends on the rows and the seed alone; the samples of one row may be on both
sides.
"""

from dataclasses import replace
from math import ceil
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.data.weighted_sampling import classes_of, held_back
from pellucid.ensemble.boosting import shared_rows
from pellucid.errors import DataError, ParameterError
from pellucid.parallel.shard import shard
from pellucid.records import is_watched


def split(problem: Problem, share: Any, seed: np.ndarray) -> tuple[Problem, Problem]:
    """(training rows, validation rows); `share` is a fraction or a number of the samples."""
    stream = parallel.stream(np.random.SeedSequence(seed.tolist()), "validation")
    part = share if isinstance(share, float | np.floating) else share / problem.total
    if part >= 1:
        raise ParameterError(
            f"validation_fraction={share} leaves no training rows, because X has {problem.total:.0f}. "
            "Use a smaller number, or a share below 1."
        )

    if shard() is not None:
        return shared_rows.split(problem, float(part), seed)

    def some(m: int) -> int:
        wanted = ceil(part * m - 1e-9)  # a number of rows is not rounded up by its share
        return min(wanted, m - 1)  # every class stays in the training rows

    groups = [np.arange(problem.n)] if problem.classes is None else classes_of(problem.y)
    held = held_back(problem.weights, groups, some, stream)
    if not held.any():
        raise DataError(
            f"{problem.total:.0f} rows are too few to split off validation rows for early stopping. "
            "Use early_stopping=False, or give X_val and y_val."
        )
    return _with(problem, problem.weights - held), _with(problem, held)


def _with(problem: Problem, weights: np.ndarray) -> Problem:
    rows = np.flatnonzero(weights)
    taken = problem.take(rows, weights[rows])
    if not is_watched():
        return taken
    place = np.full(problem.n + 1, -1)  # the last entry is for rows that were left out before
    place[rows] = np.arange(len(rows))
    return replace(
        taken, position=place[:-1] if problem.position is None else place[problem.position]
    )
