"""A filter for the columns that may have the best split of all rows, for any weights.

AdaBoost grows many stumps on the same rows, and few columns can win. The values of a column are put
into buckets once. For new weights, the class weights of the buckets bound the cost of every split:
inside a bucket the class weights of the left side lie in a box, and the cost is concave, so it is
lowest at a corner. Columns whose bound is above the best split between buckets cannot win.

The same bound shows in which buckets of the other columns the best split may be: their rows are
sorted and searched. Columns with levels or missing values are left to the tree engine. Only the bucket
of every row is stored, so the user's table is never copied.

Invariant: the stump is the one that the tree engine finds.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.data.row_view import RowView
from pellucid.protocol import signature
from pellucid.tree import DecisionTreeClassifier, _stumps
from pellucid.tree._presort import buckets_of, sort_column
from pellucid.tree.criteria import CLASS_CRITERIA, IMPURITIES
from pellucid.tree.histogram_bins import midpoints
from pellucid.tree.nodes import LEAF, Nodes

MANY_ROWS = 2**14  # rows from which the filter is faster
MOST_CLASSES = 4  # corners of a box double with each class
BUCKETS = 1024  # a power of two
ROUNDING = 1e-9
TIE = 1e-12  # relative to the cost of all rows, as in the tree engine
_FREE = ("criterion", "max_depth", "random_state", "table")


def plain(base: Any) -> bool:
    """Whether a base estimator is a stump with default parameters."""
    if type(base) is not DecisionTreeClassifier or base.max_depth != 1:
        return False
    return base.criterion in CLASS_CRITERIA and all(
        getattr(base, name) == p.default
        for name, p in signature(DecisionTreeClassifier).items()
        if name not in _FREE
    )


def applies(base: Any, problem: Problem) -> bool:
    """Whether a base estimator is a plain stump, and the table is large enough for the filter."""
    assert problem.classes is not None
    n = len(problem.X.table) if isinstance(problem.X, RowView) else problem.n
    worth = n >= MANY_ROWS and problem.p > 2 and len(problem.classes) <= MOST_CLASSES
    return worth and plain(base)


@dataclass(frozen=True)
class Bounds:
    """Bounds of the splits of all columns, for some weights."""

    kept: np.ndarray  # columns that may have the best split, ascending
    sums: np.ndarray  # (columns of numbers, K * BUCKETS) class weights of the buckets
    limit: float  # the best split costs at most this


@dataclass(frozen=True)
class Stump:
    """A tree with one split, and the rows that it sends to the left."""

    nodes: Nodes
    left: np.ndarray


class Filter:
    """Buckets of a table's columns; those with levels or missing values have none.

    cells : by column uint16 (n,), class * BUCKETS + bucket. starts : rows before each bucket.
    """

    def __init__(self, problem: Problem, criterion: str) -> None:
        self.y, self.K, self.criterion = problem.y, problem.n_classes, criterion
        self.n, self.n_levels = problem.n, problem.n_levels
        rows: Any = problem.X
        view = isinstance(rows, RowView)
        self.table = rows.table if view else rows
        self.at = rows.places if view else np.arange(self.n, dtype=np.int32)
        bucketed = parallel.map(self._buckets, np.flatnonzero(problem.kinds == 0).tolist())
        found = [(j, *part) for j, part in bucketed if part is not None]
        self.columns = np.array([j for j, _, _ in found], dtype=np.int64)
        self.always = np.setdiff1d(np.arange(problem.p), self.columns)
        self.cells, self.starts = [part[1] for part in found], [part[2] for part in found]

    def _buckets(self, j: int) -> tuple[int, tuple[np.ndarray, np.ndarray] | None]:
        """Cells and starts of a column; None if values are missing."""
        x, order = self.table[:, j].take(self.at), np.empty(self.n, dtype=np.int32)
        if sort_column(x, order)[0] > 0:
            return j, None
        cells, starts = np.empty(self.n, np.uint16), np.empty(BUCKETS + 1, np.int32)
        buckets_of(x, order, self.y, cells, starts)
        return j, (cells, starts)

    def bounds(self, w: np.ndarray) -> Bounds:
        """1. Class weights of the buckets. 2. Columns whose bound is below the best split of all."""
        m, number = len(self.columns), CLASS_CRITERIA[self.criterion]
        found, sums = np.empty((m, 2)), np.empty((m, self.K * BUCKETS))
        if m == 0:
            return Bounds(self.always, sums, np.inf)
        parallel.map(
            lambda i: _stumps.bucket_bounds(self.cells[i], w, self.K, number, sums[i], found[i]),
            range(m),
        )
        limit = float(found[:, 0].min()) + ROUNDING * float(w.sum())
        worth = self.columns[found[:, 1] <= limit]
        return Bounds(np.sort(np.concatenate((self.always, worth))), sums, limit)

    def stump(self, w: np.ndarray, bounds: Bounds) -> Stump | None:
        """The best split; None if the tree engine has to find it."""
        if len(self.always) or not w.all():
            return None
        number, left, best = CLASS_CRITERIA[self.criterion], np.empty(self.K), None
        total = np.bincount(self.y, w, minlength=self.K)
        tie = TIE * float(w.sum() * IMPURITIES[self.criterion](total / total.sum()))
        for j in bounds.kept.tolist():  # ties go to the lowest column
            cost, at = _stumps.best_in_buckets(
                self.table[:, j], self.at, self.cells[j], w, self.y, self.starts[j], bounds.sums[j],
                self.K, number, bounds.limit, tie, left,
            )  # fmt: skip
            if at > 0 and (best is None or cost < best[0] - tie):
                best = cost, j, at, left.copy()
        return None if best is None else self._split(total, *best[1:])

    def _split(self, total: np.ndarray, j: int, at: int, left: np.ndarray) -> Stump:
        """The stump that sends the first `at` rows of column j to the left."""
        bucket, start = self.cells[j] & np.uint16(BUCKETS - 1), self.starts[j]
        b = int(np.searchsorted(start, at)) - 1  # the last row of the left side is in this one
        sent = bucket < b
        inside = np.flatnonzero(bucket == b)
        x = self.table[self.at[inside], j]
        order = np.sort(x)
        last = order[at - start[b] - 1]
        after = order[at - start[b]] if at < start[b + 1] else self._lowest(j, bucket, b + 1)
        sent[inside] = x <= last
        threshold = float(midpoints(np.asarray(last), np.asarray(after)))
        return Stump(self._nodes(total, j, at, left, threshold), sent)

    def _lowest(self, j: int, bucket: np.ndarray, b: int) -> float:
        """The lowest value of the first bucket from b on that has any."""
        start = self.starts[j]
        b = int(np.searchsorted(start, start[b], side="right")) - 1
        return float(self.table[self.at[np.flatnonzero(bucket == b)], j].min())

    def _nodes(
        self, total: np.ndarray, j: int, at: int, left: np.ndarray, threshold: float
    ) -> Nodes:
        counts = np.maximum(np.stack((total, left, total - left)), 0.0)
        weight, rows = counts.sum(axis=1), np.array([self.n, at, self.n - at])
        shares = counts / weight[:, None]
        impurity = IMPURITIES[self.criterion](shares)
        cost = weight * impurity
        saved = max(cost[0] - cost[1] - cost[2], 0.0) / cost[0]
        return Nodes(
            feature=np.array([j, LEAF, LEAF], dtype=np.int32),
            threshold=np.array([threshold, 0.0, 0.0]),
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
            n_levels=self.n_levels,
        )
