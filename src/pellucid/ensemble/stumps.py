"""Which columns may hold the best division of all rows in two, for any weights: a filter.

AdaBoost grows stump after stump on the same rows, and one column in twenty matters. Values of a
column are dealt into buckets once. For new weights the class weights of the buckets bound the cost of
every division: inside a bucket the left side's class weights lie in a box, the cost is concave, so it
is lowest at a corner. Columns whose bound is above the best division between buckets cannot win.

Invariant: the tree engine finds the same stump on the columns that remain as on all.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.protocol import signature
from pellucid.tree import DecisionTreeClassifier, _histogram
from pellucid.tree.presort import Presorted

MANY_ROWS = 2**14  # from which the filter pays
MOST_CLASSES = 4  # corners of a box double with each class
BUCKETS = 512
ROUNDING = 1e-9
_FREE = ("criterion", "max_depth", "random_state", "table")


# Weight times impurity of class weights c (K, ...): concave, so lowest at the corners of a box.


def _gini(c: np.ndarray) -> np.ndarray:
    total = c.sum(axis=0)
    return total - (c * c).sum(axis=0) / np.maximum(total, 1e-300)


def _entropy(c: np.ndarray) -> np.ndarray:
    def part(v: np.ndarray) -> np.ndarray:
        return v * np.log(np.maximum(v, 1e-300))

    return part(c.sum(axis=0)) - part(c).sum(axis=0)


def _error(c: np.ndarray) -> np.ndarray:
    return c.sum(axis=0) - c.max(axis=0)


COSTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "gini": _gini, "entropy": _entropy, "log_loss": _entropy, "error": _error,
}  # fmt: skip


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
    return plain and worth and learner.criterion in COSTS


class Filter:
    """Buckets of a sorted table with its places."""

    def __init__(self, table: Presorted, y: np.ndarray, K: int, criterion: str) -> None:
        assert table.places is not None
        self.cost, self.K = COSTS[criterion], K
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
        m, K = len(self.columns), self.K
        sums = np.empty((m, K * BUCKETS))
        parallel.map(lambda i: _histogram.bucket_sums(self.cells[i], w, sums[i]), range(m))
        up = np.cumsum(sums.reshape(m, K, BUCKETS).transpose(1, 0, 2), axis=2)  # (K, m, buckets)
        low = np.concatenate((np.zeros((K, m, 1)), up[:, :, :-1]), axis=2)
        total = up[:, :, -1:]

        def cost(left: np.ndarray) -> np.ndarray:
            return self.cost(left) + self.cost(np.maximum(total - left, 0.0))

        sizes = low.sum(axis=0)
        inside = (sizes > 0) & (sizes < total.sum(axis=0))
        best = np.min(cost(low), where=inside, initial=np.inf)
        bound = np.full(m, np.inf)
        for corner in range(2**K):
            left = np.stack([(up if corner >> k & 1 else low)[k] for k in range(K)])
            bound = np.minimum(bound, cost(left).min(axis=1))
        worth = bound <= best + ROUNDING * float(self.cost(total[:, 0, 0]))
        return np.sort(np.concatenate((self.always, self.columns[worth])))
