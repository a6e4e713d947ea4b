"""Permutation importance of columns and groups of columns, with intervals."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from pellucid.draw.number import beside_marks, number
from pellucid.inspection import PermutationImportance
from pellucid.inspection import permutation_importance as permuted
from pellucid.plot.display import Display, as_function
from pellucid.plot.picture import Axis, Intervals, Panel, Picture, Rule

MOST_ROWS = 30


class PermutationImportanceDisplay(Display):
    """How much the score of a model falls when a column is permuted, the most important first.

    Parameters
    ----------
    found : the result of `pellucid.inspection.permutation_importance`.
    level : level of the intervals of the mean over the repeats.

    Examples
    --------
    >>> from pellucid.linear_model import LinearRegression
    >>> X, y = [[0.0, 5.0], [1.0, 6.0], [2.0, 5.0], [3.0, 6.0]], [0.0, 1.0, 2.0, 3.0]
    >>> model = LinearRegression().fit(X, y)
    >>> display = PermutationImportanceDisplay.from_estimator(model, X, y, random_state=0)
    >>> display.frame()["column"]
    ['x0', 'x1']
    """

    def __init__(self, found: PermutationImportance, *, level: float = 0.95) -> None:
        self.found, self.level = found, level
        self.order = np.argsort(-found.importances_mean, kind="stable")
        self.low, self.high = found.interval(level)

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, *, level: float = 0.95, **options: Any
    ) -> Self:
        """Permute the columns of X.

        Parameters
        ----------
        level : level of the intervals.
        options : those of `pellucid.inspection.permutation_importance`, such as `groups`.
        """
        return cls(permuted(model, X, y, **options), level=level)

    def columns(self) -> dict[str, Any]:
        found = self.found
        return {
            "column": [found.names[j] for j in self.order],
            "importance": found.importances_mean[self.order],
            "std": found.importances_std[self.order],
            "low": self.low[self.order],
            "high": self.high[self.order],
        }

    def picture(self) -> Picture:
        order, found = self.order[:MOST_ROWS], self.found
        mean = found.importances_mean[order]
        marks = (
            Rule(x=0.0),
            Intervals(np.arange(len(order)), mean, self.low[order], self.high[order]),
        )
        repeats = found.importances.shape[1]
        note = f"Mean of {repeats} permutations"
        note += f", {number(100 * self.level)} % intervals." if repeats > 1 else "."
        if len(order) < len(found.names):
            note += f" Shown: {MOST_ROWS} of {len(found.names)}."
        panel = Panel(
            marks, Axis(f"decrease of {found.scoring}"),
            Axis("", names=tuple(found.names[j] for j in order)), note=note,
            height=max(60, 24 * len(order)), right_texts=tuple(beside_marks(mean.tolist())),
        )  # fmt: skip
        return Picture((panel,), "Permutation importance", "Permutation importance")


permutation_importance = as_function(
    "permutation_importance", PermutationImportanceDisplay.from_estimator
)
