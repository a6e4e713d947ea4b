"""Trees on drawn rows of the user's own table: no reordered copy of it is made.

Ensembles draw and weigh canonical rows, but a tree asks the table for a few cells only, once its
columns are sorted. So the rows keep the places that they have in the table, and the sorted lists
name them there. Invariant: every sum goes over the rows in canonical order, so that the trees are
those of the reordered copy to the last bit.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pellucid.data import InputSpec, Problem
from pellucid.ensemble.bootstrap_samples import Bag
from pellucid.tree.base import TreeModel
from pellucid.tree.rows import Rows, in_canonical_order


def reads_in_place(learner: Any) -> bool:
    """Whether a learner is a tree that adds up rows in the order of the sorted lists alone."""
    return (
        isinstance(learner, TreeModel)
        and learner.ccp_alpha != "cv"
        and learner.min_weight_fraction_leaf == 0
        and getattr(learner, "class_weight", None) is None
    )


def spec(asked: InputSpec, learner: Any) -> InputSpec:
    """What the ensemble asks of `prepare`: the table as it stands, where that suffices."""
    if not reads_in_place(learner):
        return asked
    return replace(asked, canonical_rows=False, by_rows=True)


def in_order(problem: Problem, learner: Any) -> Problem:
    """The problem on canonical rows, as it was prepared by `spec`."""
    return in_canonical_order(problem) if reads_in_place(learner) else problem


@dataclass(frozen=True)
class Standing:
    """A problem on canonical rows as its learners see it: the rows where they stand in the table.

    problem : the learners'. sorted : its columns, for trees. at : canonical rows in it, None: all.
    """

    problem: Problem
    sorted: Any
    at: np.ndarray | None

    @staticmethod
    def of(problem: Problem, learner: Any, n_jobs: int | None = None) -> "Standing":
        if not isinstance(learner, TreeModel):
            return Standing(problem, None, None)
        from pellucid.tree.presort import presort

        learner._check_parameters()
        rows, at = problem.X, None
        if isinstance(rows, Rows):
            at = rows.order.astype(np.int32)
            y = problem.y[:1].repeat(
                len(rows.table), axis=0
            )  # copies of a row are asked for nothing
            y[at] = problem.y
            w = np.zeros(len(y))
            w[at] = problem.weights
            problem = replace(problem, X=rows.table, y=y, weights=w, position=None)
        table = presort(problem.X, problem.kinds, problem.n_levels, n_jobs, rows=at)
        return Standing(problem, table, at)

    def bag(self, bag: Bag) -> Bag:
        """A bag of canonical rows as one of the table's."""
        if self.at is None:
            return bag
        weights = np.zeros(self.problem.n)
        weights[self.at] = bag.weights
        return Bag(weights, bag.columns)

    def canonical(self, answers: np.ndarray) -> np.ndarray:
        """Answers for the table's rows as those for the canonical rows."""
        return answers if self.at is None else answers[self.at]
