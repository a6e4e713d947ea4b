"""Many small trees on bags of one table, whole chunks of them in one compiled call.

A tree of a few hundred rows grows faster than Python prepares its arrays; here everything that the
trees share is prepared once. Invariant: a tree depends on its bag and key, never on its chunk.
"""

from dataclasses import dataclass

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.tree import grower
from pellucid.tree._grower import Workspace, grow_bags
from pellucid.tree.criteria import number_of
from pellucid.tree.nodes import Nodes, Scale, trees
from pellucid.tree.presort import Presorted
from pellucid.tree.stopping import Limits, Rules
from pellucid.tree.tree_spec import TreeSpec

CELLS = 2**11  # bags of a chunk with at most this number of weights take next to no memory
TASKS = 8  # enough to share out, few enough to cost nothing
CHUNKS = 25  # enough that growing trees take little memory beside the grown ones


@dataclass(frozen=True)
class TreeBatch:
    """What all trees share; bags are integer weights with one total."""

    table: Presorted
    y: np.ndarray
    labels: np.ndarray | None
    target: np.ndarray | None
    n_classes: int
    criterion: str
    limits: Limits
    rules: Rules
    logs: np.ndarray | None
    scale: Scale

    @staticmethod
    def of(
        spec: TreeSpec, problem: Problem, table: Presorted, limits: Limits, total: float
    ) -> "TreeBatch":
        """For trees without class weights; `total` is the weight of every bag."""
        K = 0 if problem.classes is None else len(problem.classes)
        y = problem.y
        target, scale = grower.scaled_target(y, problem.weights, K, True, 0, spec.criterion)
        return TreeBatch(
            table=table,
            y=y,
            labels=np.ascontiguousarray(y, dtype=np.int32) if K else None,
            target=target,
            n_classes=K,
            criterion=spec.criterion,
            limits=limits,
            rules=limits.rules(True, total, 0, scale.power * scale.exponent, scale.n_targets),
            logs=grower.class_logs(spec.criterion, True, total),
            scale=scale,
        )

    def chunk(self, n_trees: int) -> int:
        """Trees per task: few tasks, unless they would take much memory."""
        few = max(1, CELLS // self.table.n, n_trees // CHUNKS)
        return min(-(-n_trees // TASKS), few)

    def grow(self, bags: np.ndarray, keys: np.ndarray) -> list[Nodes]:
        """The trees of bags (trees, n) by keys (uint64)."""
        table, limits, few = (
            self.table,
            self.limits,
            grower.searches_few_columns(self.limits, self.table.d),
        )
        stop = parallel.StopFlag()
        work = Workspace(
            grower.GrowthConfig(
                table=table,
                criterion=number_of(self.criterion, self.scale.n_targets),
                rules=self.rules,
                stop=stop.array,
                n_classes=self.n_classes,
                n_targets=self.scale.n_targets,
                labels=self.labels,
                target=self.target,
                lists=table.order,
                k_log_k=self.logs,
                places=table.places if few else None,
                members=np.empty(table.n, dtype=np.int32),
                signs=limits.sign_array(),
                spare=table.spare,
            )
        )
        found = grow_bags(work, bags, keys, table.n_levels, limits.signs is not None)
        stop.check()
        assert found is not None
        return trees(found, table.n_levels, self.scale, self.y)


def can_batch(spec: TreeSpec, problem: Problem, limits: Limits, bags_count: bool) -> bool:
    """Whether trees on bags of this problem can grow in a batch: each is small enough for one thread,
    and its weights are counts of samples."""
    return (
        problem.n <= grower.branch_rows(problem.p)
        and limits.max_leaf_nodes is None
        and bags_count
        and spec.class_weight is None
        and (problem.classes is not None or spec.criterion == "squared_error")
    )
