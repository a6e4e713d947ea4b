"""The best split of every column at one node: what a tree compared before it split the node.

Each column is searched by the engine that grows trees, as a tree of one split on this column alone.
Invariant: the split that the tree made is marked, and all numbers follow from the given rows.
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pellucid.data import Problem
from pellucid.data.class_weights import class_factors
from pellucid.errors import DataError
from pellucid.tree import prediction
from pellucid.tree.fit_tree import repeated, with_weight
from pellucid.tree.grower import grow
from pellucid.tree.nodes import Nodes
from pellucid.tree.presort import binned_table, presort
from pellucid.tree.stopping import Limits, limits_of
from pellucid.tree.tree_spec import TreeSpec, uses_bins


@dataclass(frozen=True)
class NodeSearch:
    """Searches the columns of nodes of one tree on the rows of a problem."""

    spec: TreeSpec
    nodes: Nodes
    problem: Problem
    weights: np.ndarray  # of the rows, times those of their classes
    limits: Limits
    leaf: np.ndarray  # leaf of each row

    @classmethod
    def of(cls, spec: TreeSpec, nodes: Nodes, problem: Problem) -> "NodeSearch":
        """A search with the limits of the tree on children; those that keep a node whole are lifted."""
        factors = class_factors(spec.class_weight, problem) if spec.class_weight else None
        limits = limits_of(spec, problem)
        if factors is not None and problem.counts and not problem.unweighted:
            problem = repeated(problem)  # class weights must not change the number of samples
        weights = problem.weights if factors is None else problem.weights * factors[problem.y]
        limits = replace(
            with_weight(spec, limits, weights), max_depth=1, min_samples_split=2,
            max_leaf_nodes=None, min_impurity_decrease=0.0, max_features=2**31 - 1,
            drawn_splits=False, max_split_loss=math.inf,
        )  # fmt: skip
        leaf = prediction.apply(nodes, np.asfortranarray(problem.table))
        return cls(spec, nodes, problem, weights, limits, leaf)

    def rows(self, node: int) -> np.ndarray:
        """The rows that pass a node; the nodes of a branch are numbered consecutively."""
        depths = self.nodes.depths()[node:]
        later = np.flatnonzero(depths[1:] <= depths[0])
        end = node + 1 + int(later[0]) if len(later) else self.nodes.n_nodes
        return np.flatnonzero((self.leaf >= node) & (self.leaf < end))

    def table(self, node: int) -> list[dict[str, Any]]:
        """One dict for each column that can be split, by falling gain; then by column."""
        rows = self.rows(node)
        if not len(rows):
            raise DataError(f"No row of X reaches node {node}.")
        made = int(self.nodes.feature[node])
        found = []
        for f in range(self.problem.p):
            stump = self._stump(rows, f)
            left = self._goes_left(stump, 0, f, rows)
            if f == made:
                own = self._goes_left(self.nodes, node, f, rows)
                if stump.n_nodes == 1 or not np.array_equal(own, left):  # drawn, or constrained
                    found.append(self._made(node, f, rows, own))
                    continue
            if stump.n_nodes > 1:
                found.append(self._facts(stump, f, rows, left) | {"chosen": f == made})
        return sorted(found, key=lambda one: (-one["gain"], not one["chosen"], one["column"]))

    def _column(self, rows: np.ndarray, f: int) -> tuple[Any, np.ndarray, np.ndarray]:
        """Table, target and weights of one column at a node. Bins are those of all rows."""
        problem, kinds, levels = self.problem, self.problem.kinds[[f]], self.problem.n_levels[[f]]
        X = np.asfortranarray(problem.table[:, [f]])
        if uses_bins(self.spec, problem.n):
            inside = np.zeros(problem.n)
            inside[rows] = self.weights[rows]
            return binned_table(X, kinds, levels, self.weights), problem.y, inside
        return presort(X[rows], kinds, levels), problem.y[rows], self.weights[rows]

    def _stump(self, rows: np.ndarray, f: int, **limits: Any) -> Nodes:
        """The tree of one split by column f on some rows."""
        table, y, w = self._column(rows, f)
        signs = None if self.limits.signs is None else (self.limits.signs[f],)
        return grow(
            table, y, w, self.spec.criterion, replace(self.limits, signs=signs, **limits),
            self.problem.n_classes, count_rows=self.spec.class_weight is not None, n_jobs=1,
        )  # fmt: skip

    def _goes_left(self, nodes: Nodes, node: int, f: int, rows: np.ndarray) -> np.ndarray:
        """Which of the rows go left at a node that is split by column f."""
        x = self.problem.table[rows, f]
        if nodes.feature[node] < 0:
            return np.zeros(len(rows), dtype=bool)
        if nodes.has_set[node]:
            inside = np.isin(x, nodes.levels_left(node))
        else:
            inside = x <= nodes.threshold[node]
        return np.where(np.isnan(x), bool(nodes.missing_left[node]), inside)

    def _facts(self, stump: Nodes, f: int, rows: np.ndarray, left: np.ndarray) -> dict[str, Any]:
        """What the split of a stump does."""
        ends = stump.feature < 0
        after = float((stump.weight * stump.impurity)[ends].sum() / stump.weight[0])
        return self._split(stump, 0, f, rows, left) | {
            "impurity_before": float(stump.impurity[0]),
            "impurity_after": after,
            "gain": float(stump.decrease.sum() * stump.impurity[0]),
            "samples_left": int(stump.n_samples[1]),
            "samples_right": int(stump.n_samples[0] - stump.n_samples[1]),
        }

    def _made(self, node: int, f: int, rows: np.ndarray, left: np.ndarray) -> dict[str, Any]:
        """What the split of the tree does, where the best one of the column is another."""
        whole = self._stump(rows, f, max_depth=0)
        parts = [self._stump(own, f, max_depth=0) for own in (rows[left], rows[~left]) if len(own)]
        before, weights = float(whole.impurity[0]), [float(part.weight[0]) for part in parts]
        after = float(np.average([part.impurity[0] for part in parts], weights=weights))
        on_left = int(parts[0].n_samples[0]) if left.any() else 0
        return self._split(self.nodes, node, f, rows, left) | {
            "impurity_before": before,
            "impurity_after": after,
            "gain": before - after,
            "samples_left": on_left,
            "samples_right": int(whole.n_samples[0]) - on_left,
            "chosen": True,
        }

    def _split(
        self, nodes: Nodes, node: int, f: int, rows: np.ndarray, left: np.ndarray
    ) -> dict[str, Any]:
        """A split in words of the user's table: the levels are those of the node that go left."""
        x, schema = self.problem.table[rows, f], self.problem.schema
        levels, threshold, missing = None, None, None
        if nodes.has_set[node]:
            codes = np.unique(x[left & ~np.isnan(x)]).astype(int)
            levels = tuple(schema.levels[f][k] for k in codes.tolist())
        else:
            threshold = float(nodes.threshold[node])
        if np.isnan(x).any():
            missing = "left" if nodes.missing_left[node] else "right"
        return {
            "column": f, "name": str(schema.name(f)), "threshold": threshold, "levels": levels,
            "missing": missing,
        }  # fmt: skip
