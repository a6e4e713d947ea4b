"""Classes without weight: they are left out of a fit and put back into its coefficients.

Invariant: a class of total weight 0 is absent, whether because of its rows or of `class_weight`. It
has a row of coefficients and the probability 0.
"""

from dataclasses import replace

import numpy as np

from pellucid.data import Problem
from pellucid.errors import ParameterError

ABSENT = -1e9  # intercept of an absent class, which gives it the probability 0 for every row


def present_classes(problem: Problem, w: np.ndarray) -> np.ndarray:
    """Codes of the classes with weight, at least two."""
    found = np.flatnonzero(np.bincount(problem.y, w, minlength=problem.n_classes) > 0)
    if len(found) < 2:
        raise ParameterError(
            "class_weight leaves rows of one class only. Give at least two classes a weight above 0."
        )
    return found


def without_absent(
    problem: Problem, w: np.ndarray, present: np.ndarray
) -> tuple[Problem, np.ndarray]:
    """The problem and the weights of the rows of weight above 0, with the present classes only."""
    assert problem.classes is not None
    rows = np.flatnonzero(w > 0)
    part = problem.take(rows)
    y = np.searchsorted(present, part.y).astype(np.int32)
    return replace(part, y=y, classes=problem.classes[present]), w[rows]


def all_classes(x: np.ndarray, present: np.ndarray, K: int, separate: bool = False) -> np.ndarray:
    """Coefficients (K, p + 1) of all classes from those of the present ones (one row for two).

    `separate` means that every class was fitted against all others.
    """
    if len(present) == K:
        return x
    out = np.zeros((K, x.shape[1]))
    out[:, -1] = ABSENT
    share = 1.0 if separate else 0.5
    out[present] = np.concatenate([-share * x, share * x]) if len(present) == 2 else x
    return out
