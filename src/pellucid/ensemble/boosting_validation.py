"""A clean part of the rows for early stopping: equal rows stay together, classes keep their shares.

Invariant: the split depends on the rows and the seed alone; copies of a row are never on both sides.
"""

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.errors import DataError


def split(problem: Problem, share: Any, random_state: Any) -> tuple[Problem, Problem]:
    """(training rows, validation rows); `share` is a fraction of the weight, or a number of rows."""
    stream = parallel.stream(parallel.seed_sequence(random_state), "validation")
    order = stream.permutation(problem.n)
    total = float(problem.weights.sum())
    part = share if isinstance(share, float | np.floating) else min(share / problem.total, 0.9)
    groups = problem.y[order] if problem.classes is not None else np.zeros(problem.n, dtype=int)
    chosen = np.zeros(problem.n, dtype=bool)
    for group in np.unique(groups):
        rows = order[groups == group]
        weights = problem.weights[rows]
        before = np.cumsum(weights) - weights
        taken = before < part * weights.sum()
        taken[-1] = False  # a class stays known to the training rows
        chosen[rows[taken]] = True
    if not chosen.any() or not total > 0:
        raise DataError(
            f"{problem.n} different rows are too few to split off validation rows for early "
            "stopping. Use early_stopping=False, or give X_val and y_val."
        )
    return problem.take(np.flatnonzero(~chosen)), problem.take(np.flatnonzero(chosen))
