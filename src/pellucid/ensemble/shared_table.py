"""One table for all base estimators of an ensemble: trees read the user's own array.

Ensembles draw and weight canonical rows, but a tree reads few cells of the table once its columns are
sorted. So the rows stay where they are in the table, and the sorted columns refer to them there.
Invariant: every sum goes over the rows in canonical order, so that the trees are those of a reordered
copy to the last bit.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pellucid.data import Problem
from pellucid.data.row_view import RowView
from pellucid.ensemble.base_estimators import is_tree
from pellucid.ensemble.bootstrap_samples import Bag


def takes_views(base: Any) -> bool:
    """Whether a base estimator is a tree that adds up rows in the order of the sorted columns alone."""
    return (
        is_tree(base)
        and base.ccp_alpha != "cv"
        and base.min_weight_fraction_leaf == 0
        and getattr(base, "class_weight", None) is None
    )


def in_place(problem: Problem, base: Any) -> Problem:
    """The problem on canonical rows as this base estimator takes them: a view or a copy."""
    return problem if takes_views(base) else problem.gathered()


@dataclass(frozen=True)
class SharedTable:
    """A problem on canonical rows as its base estimators see it: the rows of the user's table.

    problem : that of the base estimators. sorted : its columns, for trees. places : rows of the table
    that the canonical rows are; None if the table holds just the canonical rows.
    """

    problem: Problem
    sorted: Any
    places: np.ndarray | None

    @staticmethod
    def of(problem: Problem, base: Any, n_jobs: int | None = None) -> "SharedTable":
        if not is_tree(base):
            return SharedTable(problem, None, None)
        from pellucid.tree.presort import presort

        base._check_parameters()
        places = None
        if isinstance(problem.X, RowView):
            table, places = problem.X.table, problem.X.places
            y = problem.y[:1].repeat(len(table), axis=0)  # merged rows have weight 0 and any y
            y[places] = problem.y
            w = np.zeros(len(y))
            w[places] = problem.weights
            problem = replace(problem, X=table, y=y, weights=w, position=None)
        table = presort(problem.table, problem.kinds, problem.n_levels, n_jobs, rows=places)
        return SharedTable(problem, table, places)

    def bag(self, bag: Bag) -> Bag:
        """A bag of canonical rows as a bag of the table's rows."""
        if self.places is None:
            return bag
        weights = np.zeros(self.problem.n)
        weights[self.places] = bag.weights
        return Bag(weights, bag.columns)

    def canonical(self, predictions: np.ndarray) -> np.ndarray:
        """Predictions for the table's rows as those for the canonical rows."""
        return predictions if self.places is None else predictions[self.places]
