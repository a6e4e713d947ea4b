"""`Lessons`: the rows that a network learns from, by their places in a table that stays where it is.

Invariant: the table is the user's own array wherever possible; what depends on the order of rows
follows `rows`, so that shuffled rows and weights in place of copies give the same bits.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.data import Problem
from pellucid.data.canonical import merged


@dataclass(frozen=True)
class Lessons:
    """What is learned from: targets and weights of some rows of a table, which is not copied.

    `rows` are their places in X; None if all rows stand in their order.
    """

    X: Any
    y: np.ndarray
    weights: np.ndarray
    classes: np.ndarray | None
    rows: np.ndarray | None = None

    @classmethod
    def of(cls, problem: Problem, shuffle: bool, copy: bool) -> "Lessons":
        """Canonical rows, unless the user's own order is asked for (no shuffling)."""
        rows, weights, y, X = None, problem.weights, problem.y, problem.X
        if shuffle:
            rows, weights, _ = merged(problem)
            y, rows = y[rows], rows.astype(np.min_scalar_type(-problem.n))
        if rows is not None and copy:
            X, rows = X[rows], None
        return cls(X, y, weights, problem.classes, rows)

    @property
    def n(self) -> int:
        return len(self.weights)

    @property
    def n_classes(self) -> int:
        """0 where the target is no class."""
        return 0 if self.classes is None else len(self.classes)

    def places(self, some: np.ndarray) -> np.ndarray:
        """Where some of these rows stand in X."""
        return some if self.rows is None else self.rows[some]
