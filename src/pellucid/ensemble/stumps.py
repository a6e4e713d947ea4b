"""Which columns may hold the best division of all rows in two, for any weights: a filter.

AdaBoost grows stump after stump on the same rows, and one column in twenty matters. Values of a
column are dealt into buckets once. For new weights the class weights of the buckets bound the cost of
every division: inside a bucket the left side's class weights lie in a box, the cost is concave, so it
is lowest at a corner. Columns whose bound is above the best division between buckets cannot win.

The same bound says in which buckets of these columns the best division may be: they are looked at row
by row. Columns with levels or missing values are left to the tree engine.

Invariant: the stump is the one that the tree engine finds.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.protocol import signature
from pellucid.tree import DecisionTreeClassifier, _histogram
from pellucid.tree._presort import places_of
from pellucid.tree.criteria import CLASS_CRITERIA, IMPURITIES
from pellucid.tree.histogram_bins import midpoints
from pellucid.tree.nodes import Nodes
from pellucid.tree.presort import Presorted

MANY_ROWS = 2**14  # from which the filter pays
MOST_CLASSES = 4  # corners of a box double with each class
BUCKETS = 1024
ROUNDING = 1e-9
TIE = 1e-12  # of the cost of all rows, as in the tree engine
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


@dataclass(frozen=True)
class Look:
    """What one look at the buckets says of the columns, for some weights."""

    kept: np.ndarray  # columns that may hold the best division, ascending
    sums: np.ndarray  # (columns of numbers, K * BUCKETS) class weights of the buckets
    limit: float  # no division that costs more than this is the best


class Filter:
    """Buckets of a sorted table; columns with levels or missing values have none."""

    def __init__(self, table: Presorted, y: np.ndarray, K: int, criterion: str) -> None:
        self.table, self.y, self.K, self.criterion = table, y, K, criterion
        free = (table.kinds == 0) & (table.missing == 0)
        self.always, self.columns = np.flatnonzero(~free), np.flatnonzero(free)
        labels, n = y.astype(np.uint16) * np.uint16(BUCKETS), table.n

        def deal(j: int) -> tuple[np.ndarray, np.ndarray]:
            places = np.empty(n, dtype=np.int32)
            places_of(table.X[:, j], table.order[j], places)
            bucket = (places.astype(np.int64) * BUCKETS // n).astype(np.uint16)
            sizes = np.bincount(bucket, minlength=BUCKETS)
            return bucket + labels, np.append(0, np.cumsum(sizes)).astype(np.int32)

        dealt = parallel.map(deal, self.columns.tolist())
        self.cells, self.starts = [part[0] for part in dealt], [part[1] for part in dealt]

    def look(self, w: np.ndarray) -> Look:
        """1. Class weights of the buckets. 2. Columns whose bound is below the best between them."""
        m, number = len(self.columns), CLASS_CRITERIA[self.criterion]
        found, sums = np.empty((m, 2)), np.empty((m, self.K * BUCKETS))
        if m == 0:
            return Look(self.always, sums, np.inf)
        parallel.map(
            lambda i: _histogram.bucket_bounds(self.cells[i], w, self.K, number, sums[i], found[i]),
            range(m),
        )
        limit = float(found[:, 0].min()) + ROUNDING * float(w.sum())
        worth = self.columns[found[:, 1] <= limit]
        return Look(np.sort(np.concatenate((self.always, worth))), sums, limit)

    def stump(self, w: np.ndarray, look: Look) -> Nodes | None:
        """The best division as a tree; None where the tree engine has to look for it."""
        if len(self.always) or not w.all():
            return None
        number, left, best = CLASS_CRITERIA[self.criterion], np.empty(self.K), None
        total = np.bincount(self.y, w, minlength=self.K)
        tie = TIE * float(w.sum() * IMPURITIES[self.criterion](total / total.sum()))
        for j in look.kept.tolist():  # ties go to the lowest column
            cost, at = _histogram.best_in_buckets(
                self.table.X[:, j], self.table.order[j], w, self.y, self.starts[j], look.sums[j],
                self.K, number, look.limit, tie, left,
            )  # fmt: skip
            if at > 0 and (best is None or cost < best[0] - tie):
                best = cost, j, at, left.copy()
        return None if best is None else self._divided(total, *best[1:])

    def _divided(self, total: np.ndarray, j: int, at: int, left: np.ndarray) -> Nodes:
        """The tree that sends the first `at` rows of column j to the left."""
        counts = np.maximum(np.stack((total, left, total - left)), 0.0)
        weight, rows = counts.sum(axis=1), np.array([self.table.n, at, self.table.n - at])
        shares = counts / weight[:, None]
        impurity = IMPURITIES[self.criterion](shares)
        cost = weight * impurity
        saved = max(cost[0] - cost[1] - cost[2], 0.0) / cost[0]
        near = self.table.X[self.table.order[j][at - 1 : at + 1], j]
        return Nodes(
            feature=np.array([j, -1, -1], dtype=np.int32),
            threshold=np.append(midpoints(near[:1], near[1:]), [0.0, 0.0]),
            left=np.array([1, -1, -1], dtype=np.int32),
            right=np.array([2, -1, -1], dtype=np.int32),
            missing_left=np.array([weight[1] > weight[2], 0, 0], dtype=np.uint8),
            set_start=np.full(3, -1, dtype=np.int32),
            sets=np.empty(0, dtype=np.uint32),
            value=shares,
            impurity=impurity,
            decrease=np.array([saved, 0.0, 0.0]),
            n_samples=rows,
            weight=weight,
            n_levels=self.table.n_levels,
        )
