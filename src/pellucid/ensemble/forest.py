"""Forests: many trees on drawn rows, each node on drawn columns; what the four classes share.

1. Sort the columns once; draw every tree's bag as counts of the canonical rows.
2. Grow the trees, one per task, each with a random stream of its own.
3. Predict block after block of rows, all trees on one block, so sums have one order.

Invariant: `trees_` are plain `Nodes`; training objects do not survive.
"""

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.ensemble.bags import Bag, Drawer
from pellucid.errors import DataError, ParameterError, warn
from pellucid.parameters import Boolean, Either, Integer, Jobs, Nothing, Real, Test, Verbose
from pellucid.tree import predict
from pellucid.tree.explaining import TreesExplained
from pellucid.tree.limits import GROWTH_PARAMETERS
from pellucid.tree.nodes import Nodes

_share = Real(0, 1, "right")
FOREST_PARAMETERS = GROWTH_PARAMETERS | {
    "n_estimators": Integer(1),
    "bootstrap": Boolean,
    "oob_score": Boolean,
    "n_jobs": Jobs,
    "verbose": Verbose,
    "warm_start": Boolean,
    "max_samples": Either(
        Integer(1),
        Test(
            lambda v: isinstance(v, float | np.floating) and _share.accepts(v),
            "a float in the range (0.0, 1.0]",
        ),
        Nothing,
    ),
}


class Forest(TreesExplained):
    """Family of forests; `trees_` holds the grown trees."""

    _layout = "codes"
    _takes_sparse = False
    _canonical_rows = True
    # The checks fit hundreds of times; a few trees show the same faults as a hundred.
    _check_params = {"n_estimators": 5}
    _splitter = "best"

    def _tree(self, state: int) -> Any:
        """An unfitted tree with this forest's parameters."""
        raise NotImplementedError

    def _grow_trees(self, problem: Problem) -> tuple[list[Nodes], list[Bag]]:
        """Trees in their order (those of a warm start first), and the bags of the new ones."""
        from pellucid.tree.growing import grow_model
        from pellucid.tree.presort import presort
        from pellucid.tree.pruning import prune

        self._check_drawing()
        old = self._kept()
        seed = parallel.seed_sequence(self.random_state)
        drawer = Drawer(problem, self.max_samples, 1.0, self.bootstrap, False)
        numbers = range(len(old), self.n_estimators)
        bags = [drawer.draw(parallel.stream(seed, "bag", number)) for number in numbers]
        columns = (problem.X, problem.kinds, problem.n_levels)
        table = presort(*columns, self.n_jobs).placed(self.n_jobs) if bags else None

        def task(i: int) -> Nodes:
            state = parallel.stream(seed, "tree", numbers[i]).integers(2**32)
            nodes = grow_model(self._tree(int(state)), problem.reweight(bags[i].weights), table)
            return prune(nodes, self.ccp_alpha) if self.ccp_alpha > 0 else nodes

        return old + parallel.map(task, range(len(bags)), self.n_jobs), bags

    def _check_drawing(self) -> None:
        if not self.bootstrap and self.max_samples is not None:
            raise ParameterError(
                "`max_sample` cannot be set if `bootstrap=False`. Either switch to "
                "`bootstrap=True` or set `max_sample=None`."
            )
        if self.oob_score and not self.bootstrap:
            raise ParameterError("Out of bag estimation only available if bootstrap=True")

    def _kept(self) -> list[Nodes]:
        if not self.warm_start or "trees_" not in self.__dict__:
            return []
        if self.n_estimators < len(self.trees_):
            raise ParameterError(
                f"n_estimators={self.n_estimators} must be larger or equal to "
                f"len(estimators_)={len(self.trees_)} when warm_start==True"
            )
        if self.n_estimators == len(self.trees_):
            warn(
                "Warm-start fitting without increasing n_estimators does not fit new trees.",
                UserWarning,
            )
        return list(self.trees_)

    def _mean(self, X: np.ndarray) -> np.ndarray:
        """Mean of the trees' values, (n, K)."""
        values = [tree.value for tree in self.trees_]
        return predict.sums(self.trees_, values, X, self.n_jobs) / len(values)

    def _out_of_bag(self, problem: Problem, trees: list[Nodes], bags: list[Bag]) -> Any:
        """(mean of the trees that did not see a row, or NaN; rows that have one)."""
        sums, votes = np.zeros((problem.n, trees[0].value.shape[1])), np.zeros(problem.n)
        for tree, bag in zip(trees, bags):
            rows = np.flatnonzero(bag.weights == 0)
            sums[rows] += predict.values(tree, np.asfortranarray(problem.X[rows]))
            votes[rows] += 1
        seen = votes > 0
        if not seen.all():
            warn(
                f"{int((~seen).sum())} rows were in every bag: they have no out-of-bag estimate. "
                "More estimators would give them one.",
                UserWarning,
            )
        with np.errstate(invalid="ignore"):
            return sums / votes[:, None], seen

    def _in_user_order(self, problem: Problem, values: np.ndarray) -> np.ndarray:
        if problem.position is None:
            return values
        return np.where((problem.position < 0)[:, None], np.nan, values[problem.position])

    def _path_contributions(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(base (K,), contributions (n, d, K)): means over the trees."""
        B = len(self.trees_)
        base = sum(tree.value[0] for tree in self.trees_) / B
        total = np.zeros((len(X), X.shape[1], len(base)))
        for tree in self.trees_:
            total += predict.contributions(tree, X)
        return base, total / B

    def _as_trees(self) -> tuple[list[Nodes], list[np.ndarray], np.ndarray]:
        B = len(self.trees_)
        return self.trees_, [tree.value for tree in self.trees_], np.full(B, 1.0 / B)

    def _check_trees(self, n_values: int) -> None:
        """Refuse learned arrays that do not belong together (model files)."""
        trees = self.trees_
        if not isinstance(trees, list) or not trees:
            raise DataError("a forest needs its trees")
        for tree in trees:
            if not isinstance(tree, Nodes) or tree.value.shape[1] != n_values:
                raise DataError("a tree does not belong to this forest's classes")
            if not np.array_equal(tree.n_levels, self.schema_.n_levels):
                raise DataError("a tree does not belong to these columns")

    @property
    def estimator_(self) -> Any:
        """An unfitted tree as this forest grows them."""
        self._check_fitted()
        return self._tree(0)

    @property
    def estimators_(self) -> list[Any]:
        """The trees as fitted estimators; their labels are class codes."""
        self._check_fitted()
        return [self._as_estimator(tree) for tree in self.trees_]

    def _as_estimator(self, nodes: Nodes) -> Any:
        tree = self._tree(0)
        tree.tree_, tree.schema_, tree.n_features_in_ = nodes, self.schema_, self.n_features_in_
        tree.n_outputs_ = 1
        if "classes_" in self.__dict__:
            tree.classes_, tree.n_classes_ = np.arange(len(self.classes_)), len(self.classes_)
        return tree

    @property
    def feature_importances_(self) -> np.ndarray:
        """Mean share of the impurity decrease that each column brings."""
        self._check_fitted()
        total = sum(tree.importances() for tree in self.trees_)
        return total / total.sum() if total.sum() > 0 else total

    def apply(self, X: Any) -> np.ndarray:
        """Leaf of each row in each tree, (n, trees)."""
        encoded = self._encoded(X)
        leaves = [predict.apply(tree, encoded) for tree in self.trees_]
        return np.stack(leaves, axis=1).astype(np.int64)

    def decision_path(self, X: Any) -> tuple[Any, np.ndarray]:
        """(CSR matrix of the nodes that each row passes, first column of each tree)."""
        from scipy.sparse import csr_matrix, hstack

        encoded = self._encoded(X)
        parts = []
        for tree in self.trees_:
            indices, indptr = predict.paths(tree, encoded)
            ones = np.ones(len(indices), dtype=np.int64)
            parts.append(csr_matrix((ones, indices, indptr), shape=(len(encoded), tree.n_nodes)))
        ends = np.cumsum([0] + [tree.n_nodes for tree in self.trees_])
        return hstack(parts).tocsr(), ends
