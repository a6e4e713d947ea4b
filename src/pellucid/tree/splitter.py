"""When a node may be split, and the split of one node with its columns in parallel.

Invariant: the best split of a column depends on the node's rows alone, and columns are compared
in their order; the chunks of columns that threads take change nothing.
"""

import math
import sys
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pellucid import parallel

CHUNK = 2**16  # cells that are worth a thread's attention
TASKS = 8  # of one node where rows are not sorted by column


@dataclass(frozen=True)
class Limits:
    """Stopping rules. Samples are sums of weights if all weights are integers, else rows."""

    max_depth: int = 2**31 - 1
    min_samples_split: float = 2
    min_samples_leaf: float = 1
    min_weight_leaf: float = 0.0
    max_leaf_nodes: int | None = None
    min_impurity_decrease: float = 0.0  # of impurity * weight / total weight
    max_features: int = 2**31 - 1
    drawn_splits: bool = False  # one random split per column instead of the best one
    max_split_loss: float = float("inf")  # weighted impurity of the two children
    level_rule: int = 0  # 0: two sets of levels, 1: one level against the others, 2: all apart
    signs: tuple[int, ...] | None = None  # monotone constraints by column: -1, 0, 1

    def rules(
        self, counts: bool, total: float, w_exponent: int, exponent: int, n_targets: int = 1
    ) -> "Rules":
        """The limits in growing units: weights were divided by 2**w_exponent (`total` too), costs of
        the target by 2**exponent; the loops add up over the targets what the limits state for
        their mean."""
        tiny = sys.float_info.min  # a child of weight 0 is never allowed
        leaf = max(_scaled(self.min_weight_leaf, -w_exponent), tiny)
        rows, rows_split, split = int(self.min_samples_leaf), int(self.min_samples_split), 0.0
        if counts:
            leaf, split = max(float(self.min_samples_leaf), leaf), float(self.min_samples_split)
            rows, rows_split = 1, 2
        return Rules(
            max_depth=min(self.max_depth, 2**31 - 1),
            max_features=min(self.max_features, 2**31 - 1),
            min_rows=rows,
            min_rows_split=rows_split,
            min_weight=leaf,
            min_weight_split=split,
            min_decrease=_scaled(n_targets * self.min_impurity_decrease * total, -exponent),
            max_loss=_scaled(n_targets * self.max_split_loss, -exponent),
            level_rule=self.level_rule,
            drawn_splits=self.drawn_splits,
            demanding=self.min_samples_leaf > 1 or self.min_weight_leaf > 0,
        )

    def sign_array(self) -> np.ndarray | None:
        """The monotone constraints as int8."""
        return None if self.signs is None else np.array(self.signs, dtype=np.int8)


class Rules(NamedTuple):
    """`Limits` as the compiled loops take them; the fields of `Rules` in `_table.pxd`."""

    max_depth: int
    max_features: int
    min_rows: int  # of a child
    min_rows_split: int  # of a node that may be split
    min_weight: float
    min_weight_split: float
    min_decrease: float  # of the cost
    max_loss: float  # of a split, per weight of the node
    level_rule: int
    drawn_splits: bool
    demanding: bool  # children need more than one row or some weight


def _scaled(x: float, exponent: int) -> float:
    """x * 2**exponent, infinite where that is too large."""
    try:
        return math.ldexp(x, exponent)
    except OverflowError:
        return math.inf


class Splitter:
    """Splits nodes of a workspace one at a time, all threads on one node."""

    def __init__(self, work, d: int, max_features: int, n_jobs: int | None, lists: bool) -> None:
        self.work, self.d, self.n_jobs, self.lists = work, d, n_jobs, lists
        self.drawn = max_features < d
        self.splits = np.zeros((d, work.split_bytes()), dtype=np.uint8)

    def _chunks(self, rows: int) -> list[tuple[int, int]]:
        # Members are gathered once per chunk: few chunks, but enough to share out.
        least = 1 if self.lists else -(-self.d // TASKS)
        step = max(least, min(self.d, CHUNK // max(rows, 1)))
        return [(f, min(f + step, self.d)) for f in range(0, self.d, step)]

    def search(self, buffer, node: int, rows: int) -> bool:
        """Find the best split of a node; False if it stays a leaf."""
        if self.drawn:
            self.work.search_drawn(buffer, node, self.splits)
        else:
            known = np.full(1, np.inf)
            parallel.map(
                lambda c: self.work.search(buffer, node, c[0], c[1], self.splits, known),
                self._chunks(rows),
                n_jobs=self.n_jobs,
            )
        return self.work.choose(buffer, node, self.splits)

    def split(self, buffer, node: int, rows: int) -> tuple[int, int]:
        """Make the two children of a node whose split was found."""
        if not self.work.split(buffer, node) and self.lists:
            parallel.map(
                lambda c: self.work.partition(buffer, node, c[0], c[1]),
                self._chunks(rows),
                n_jobs=self.n_jobs,
            )
        return buffer.segment(node)[4:6]
