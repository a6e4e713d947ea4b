"""Which columns may hold the best division of all rows in two, for any weights: a filter.

AdaBoost grows stump after stump on the same rows, and one column in twenty matters. Values of a
column are dealt into buckets once. For new weights the class weights of the buckets bound the cost of
every division: inside a bucket the left side's class weights lie in a box, the cost is concave, so it
is lowest at a corner. Columns whose bound is above the best division between buckets cannot win.

Invariant: the tree engine finds the same stump on the columns that remain as on all.
"""

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.protocol import signature
from pellucid.tree import DecisionTreeClassifier, _histogram
from pellucid.tree.criteria import CLASS_CRITERIA
from pellucid.tree.presort import Presorted

MANY_ROWS = 2**14  # from which the filter pays
MOST_CLASSES = 4  # corners of a box double with each class
BUCKETS = 1024
ROUNDING = 1e-9
_FREE = ("criterion", "max_depth", "random_state", "table")


def applies(learner: Any, problem: Problem) -> bool:
    """Whether a learner is a plain stump, and the table worth a filter."""
    assert problem.classes is not None
    if type(learner) is not DecisionTreeClassifier or learner.max_depth != 1:
        return False
    plain = all(
        getattr(learner, name) == p.default
        for name, p in signature(DecisionTreeClassifier).items()
        if name not in _FREE
    )
    worth = problem.n >= MANY_ROWS and problem.p > 2 and len(problem.classes) <= MOST_CLASSES
    return plain and worth and learner.criterion in CLASS_CRITERIA


class Filter:
    """Buckets of a sorted table with its places."""

    def __init__(self, table: Presorted, y: np.ndarray, K: int, criterion: str) -> None:
        assert table.places is not None
        self.criterion, self.K = CLASS_CRITERIA[criterion], K
        free = (table.kinds == 0) & (table.missing == 0)
        self.always, self.columns = np.flatnonzero(~free), np.flatnonzero(free)
        places, n = table.places, table.n

        def deal(j: int) -> np.ndarray:
            bucket = places[j].astype(np.int64) * BUCKETS // n
            return (bucket + BUCKETS * y.astype(np.int64)).astype(np.uint16)

        self.cells = parallel.map(deal, self.columns.tolist())

    def kept(self, w: np.ndarray) -> np.ndarray:
        """Columns that may hold the best division for these weights, ascending."""
        if not len(self.columns):
            return self.always
        found = np.empty((len(self.columns), 2))

        def look(i: int) -> None:
            sums = np.empty(self.K * BUCKETS)
            _histogram.bucket_bounds(self.cells[i], w, self.K, self.criterion, sums, found[i])

        parallel.map(look, range(len(self.columns)))
        best, bound = found.min(axis=0)[0], found[:, 1]
        worth = bound <= best + ROUNDING * float(w.sum())
        return np.sort(np.concatenate((self.always, self.columns[worth])))
