"""Classes that no row of weight belongs to: a fit does without them, its answer has their places.

Invariant: a class of weight 0 is absent, whether its rows or `class_weight` say so; if labels name
it, it has a row of coefficients and no chance.
"""

from dataclasses import replace

import numpy as np

from pellucid.data import Problem
from pellucid.errors import ParameterError

ABSENT = -1e9  # intercept of a class that is absent: a chance of 0 wherever a row may be


def present_classes(problem: Problem, w: np.ndarray) -> np.ndarray:
    """Codes of the classes with weight; two or more."""
    found = np.flatnonzero(np.bincount(problem.y, w, minlength=problem.n_classes) > 0)
    if len(found) < 2:
        raise ParameterError(
            "class_weight leaves rows of one class only: give a weight above 0 to two or more."
        )
    return found


def without_absent(
    problem: Problem, w: np.ndarray, present: np.ndarray
) -> tuple[Problem, np.ndarray]:
    """The rows of weight above 0 as a problem of the classes they have, and w of them."""
    assert problem.classes is not None
    rows = np.flatnonzero(w > 0)
    part = problem.take(rows)
    y = np.searchsorted(present, part.y).astype(np.int32)
    return replace(part, y=y, classes=problem.classes[present]), w[rows]


def all_classes(x: np.ndarray, present: np.ndarray, K: int, separate: bool = False) -> np.ndarray:
    """Coefficients (K, p + 1) from those of the classes that are present (one row for two).

    `separate` are fits of one class against the others.
    """
    if len(present) == K:
        return x
    out = np.zeros((K, x.shape[1]))
    out[:, -1] = ABSENT
    share = 1.0 if separate else 0.5
    out[present] = np.concatenate([-share * x, share * x]) if len(present) == 2 else x
    return out
