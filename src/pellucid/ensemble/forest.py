"""Forests: many trees on drawn rows, each node on drawn columns; what the four classes share.

1. Sort the columns once; draw every tree's bag as counts of the canonical rows.
2. Grow the trees, one per task, each with a random stream of its own.
3. Predict block after block of rows, all trees on one block, so sums have one order.

Invariant: `trees_` are plain `Nodes`; training objects do not survive.
"""

from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.ensemble.bagged import BAGGED_PARAMETERS, Bagged
from pellucid.ensemble.bags import Bag, Drawer
from pellucid.ensemble.out_of_bag import OutOfBag
from pellucid.errors import DataError, ParameterError
from pellucid.parameters import Boolean, Either, Function
from pellucid.tree import predict
from pellucid.tree.limits import GROWTH_PARAMETERS, limits_of
from pellucid.tree.nodes import Nodes

Constructor = TypeVar("Constructor", bound=Callable[..., None])
FOREST_PARAMETERS = GROWTH_PARAMETERS | BAGGED_PARAMETERS | {"oob_score": Either(Boolean, Function)}


class Forest(Bagged):
    """Family of forests; `trees_` holds the grown trees."""

    _layout = "codes"
    _takes_sparse = False
    _splitter = "best"

    def _tree(self) -> Any:
        """An unfitted tree with this forest's parameters."""
        raise NotImplementedError

    def _grow_trees(self, problem: Problem) -> dict[str, Any]:
        """Trees in their order (those of a warm start first), and what unseen rows say of them."""
        self._check_drawing()
        old = self._kept("trees_")
        seed = parallel.seed_sequence(self.random_state)
        drawer = Drawer(problem, self.max_samples, 1.0, self.bootstrap, False)
        numbers = range(len(old), self.n_estimators)

        def draw(number: int) -> tuple[Bag, int]:
            rng = parallel.stream(seed, "bag", number)
            return drawer.draw(rng), int(rng.integers(0, 2**64, dtype=np.uint64))

        # A bag takes as much memory as a column: they are kept only for their judges.
        judged = bool(self.oob_score or self.oob_importances)
        drawn = [draw(number) for number in numbers] if judged else []
        new = []
        if numbers:
            grow = self._grower(problem, draw(numbers[0])[0])
            new = parallel.map(
                lambda i: grow(*(drawn[i] if judged else draw(numbers[i]))),
                range(len(numbers)),
                self.n_jobs,
            )
        judge = OutOfBag(
            problem,
            [bag for bag, _ in drawn],
            lambda i, X: predict.values(new[i], X),
            lambda i: _columns(new[i]),
        )
        return {"trees_": old + new, "n_outputs_": 1} | self._judged(judge, seed)

    def _grower(self, problem: Problem, first: Bag) -> Callable[[Bag, int], Nodes]:
        """Grows the tree of a bag by a key. All bags have as many samples as the first, so that all
        trees have its limits."""
        from pellucid.tree.grower import looks_at_few
        from pellucid.tree.growing import grow_model
        from pellucid.tree.presort import presort
        from pellucid.tree.pruning import prune

        model = self._tree()
        limits = limits_of(model, problem.reweight(first.weights))
        table = presort(problem.X, problem.kinds, problem.n_levels, self.n_jobs)
        if looks_at_few(limits, table.d):
            table = table.placed(self.n_jobs)

        def grow(bag: Bag, key: int) -> Nodes:
            nodes = grow_model(model, problem.reweight(bag.weights), table, key, limits)
            return prune(nodes, self.ccp_alpha) if self.ccp_alpha > 0 else nodes

        return grow

    def _check_drawing(self) -> None:
        if not self.bootstrap and self.max_samples is not None:
            raise ParameterError(
                "`max_sample` cannot be set if `bootstrap=False`. Either switch to "
                "`bootstrap=True` or set `max_sample=None`."
            )
        self._check_oob()

    def _mean(self, X: np.ndarray) -> np.ndarray:
        """Mean of the trees' values, (n, K)."""
        values = [tree.value for tree in self.trees_]
        return predict.sums(self.trees_, values, X, self.n_jobs) / len(values)

    def _as_trees(self) -> tuple[list[Nodes], list[np.ndarray], np.ndarray]:
        B = len(self.trees_)
        return self.trees_, [tree.value for tree in self.trees_], np.full(B, 1.0 / B)

    def _check_trees(self, n_values: int) -> None:
        """Refuse learned arrays that do not belong together (model files)."""
        self._check_importances()
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
        return self._tree()

    @property
    def estimators_(self) -> list[Any]:
        """The trees as fitted estimators; their labels are class codes."""
        self._check_fitted()
        return [self._as_estimator(tree) for tree in self.trees_]

    def _as_estimator(self, nodes: Nodes) -> Any:
        tree = self._tree()
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


def _columns(tree: Nodes) -> np.ndarray:
    """Columns that a tree divides by."""
    return np.unique(tree.feature[tree.feature >= 0])


def with_defaults(constructor: Constructor, **defaults: Any) -> Constructor:
    """The same constructor with other defaults: what clone and repr read is its signature."""
    fresh: Any = FunctionType(
        constructor.__code__, constructor.__globals__, "__init__", constructor.__defaults__
    )
    fresh.__kwdefaults__ = (constructor.__kwdefaults__ or {}) | defaults
    fresh.__annotations__, fresh.__module__ = constructor.__annotations__, constructor.__module__
    return fresh
