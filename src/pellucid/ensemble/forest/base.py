"""Forests: many trees on drawn rows, each node on drawn columns; what the four classes share.

1. Sort the columns once, or cut them into bins; draw each bag, counts of canonical rows, by its key.
2. Grow the trees, one per task, small ones in chunks; the key determines all random choices.
3. Predict one block of rows after the other, each with all trees, so that sums have one order.

Invariant: `trees_` are plain `Nodes`; training objects do not survive.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Self

import numpy as np

from pellucid import parallel
from pellucid.base import Estimator
from pellucid.data import Problem
from pellucid.data.class_weights import class_factors
from pellucid.ensemble import averaging, collection, stages
from pellucid.ensemble.base_estimators import coded
from pellucid.ensemble.bootstrap_samples import Redrawn, Sampler, keys_of
from pellucid.ensemble.out_of_bag import OutOfBag
from pellucid.errors import DataError, ParameterError
from pellucid.parameters import (
    Boolean,
    Function,
    Integer,
    Real,
    learned,
    param,
    parameters_of,
    positional,
    shared,
)
from pellucid.records import is_watched
from pellucid.tree import DecisionTreeClassifier, DecisionTreeRegressor, explaining, prediction
from pellucid.tree import growth_parameters as growth
from pellucid.tree.nodes import Nodes
from pellucid.tree.stopping import limits_of
from pellucid.tree.tree_spec import TreeSpec, uses_bins


class Forest(Estimator):
    """Family of forests; `trees_` holds the grown trees."""

    n_estimators: int = positional(
        default=100, check=Integer(1), description="Number of trees.", kw_only=False
    )
    max_depth: int | None = growth.MAX_DEPTH
    min_samples_split: float = growth.MIN_SAMPLES_SPLIT
    min_samples_leaf: float = growth.MIN_SAMPLES_LEAF
    min_weight_fraction_leaf: float = growth.MIN_WEIGHT_FRACTION_LEAF
    max_features: Any = growth.MAX_FEATURES
    max_leaf_nodes: int | None = growth.MAX_LEAF_NODES
    min_impurity_decrease: float = growth.MIN_IMPURITY_DECREASE
    bootstrap: bool = param(
        True,
        Boolean,
        "Whether each tree is grown on a bootstrap sample, drawn with replacement. False grows every "
        "tree on all rows.",
    )
    oob_score: Any = param(
        False,
        Boolean | Function,
        "Whether to score each row by the trees that did not see it. A function (y, predicted) -> "
        "number is used as the score.",
    )
    n_jobs: int | None = shared.N_JOBS
    random_state: Any = shared.RANDOM_STATE
    verbose: int = shared.VERBOSE
    warm_start: bool = shared.WARM_START.replace(
        description="Whether to keep the trees of the last fit and to add more."
    )
    ccp_alpha: float = growth.CCP_ALPHA
    max_samples: Any = averaging.MAX_SAMPLES.replace(
        check=Integer(1) | Real(0, None, "neither") | None,
        description="Size of a bootstrap sample: a number of samples, or a share of them, which may be "
        "above 1.0. None draws as many as there are.",
    )
    monotonic_cst: Any = growth.MONOTONIC_CST
    oob_importances: bool = averaging.OOB_IMPORTANCES

    trees_: list[Nodes] = learned("The trees, each as plain arrays of its nodes.")
    n_outputs_: int = learned("Number of targets; 1 for a classifier.")
    oob_score_: float = learned(averaging.OOB_SCORE)
    oob_importances_: np.ndarray = learned(averaging.OOB_MEAN)
    oob_importances_std_: np.ndarray = learned(averaging.OOB_STD)

    _layout = "codes"
    _rows = "canonical"
    _reads_rows = True
    # The checks fit hundreds of times; five trees show the same faults as a hundred.
    _check_params = {"n_estimators": 5}

    __len__, __getitem__ = collection.length, collection.item
    __iter__, __bool__ = collection.iterate, collection.true

    def _spec(self, class_weight: Any = None) -> TreeSpec:
        """How each tree is grown; its random choices follow from its key."""
        splitter = vars(self).get("splitter", "random")  # extremely randomized trees have no choice
        return TreeSpec.of(self, splitter=splitter, random_state=0, class_weight=class_weight)

    @property
    def _substitute(self) -> str:
        own = vars(self).get("splitter")
        if own == "hist":
            return ""
        return "splitter='hist'" if own else "RandomForest{kind}(splitter='hist')"

    def _fit(self, problem: Problem) -> dict[str, Any]:
        self._check_drawing()
        problem = averaging.with_targets(problem)
        K = averaging.output_width(problem)
        old = averaging.kept_estimators(self, "trees_")
        if old:
            averaging.check_width(old[0].value.shape[1], K)
        seed = parallel.seed_sequence(self.random_state)
        factors = self._drawn_factors(problem)
        sampler = Sampler(problem, self.max_samples, 1.0, self.bootstrap, False, factors)
        keys, trees = keys_of(seed, len(old), self.n_estimators), old
        if len(keys):
            spec = self._spec(None if factors is not None else _tree_class_weight(self, problem))
            trees = old + self._grown(spec, coded(problem), sampler, keys)
        # A bag takes as much memory as a column, so bags are drawn again if they are needed.
        needed = bool(self.oob_score or self.oob_importances)
        every = keys_of(seed, 0, self.n_estimators if needed else 0)
        out_of_bag = OutOfBag(
            problem,
            sampler,
            [sampler.bag(int(key)) for key in every],
            lambda i, X: prediction.values(trees[i], X),
            lambda i: _columns(trees[i]),
        )
        _check_bags(old, out_of_bag)
        if is_watched():
            self._record(trees, len(old), replace(out_of_bag, bags=Redrawn(sampler, keys)))
        learned = {"trees_": trees, "n_outputs_": 1 if problem.classes is not None else K}
        if problem.classes is not None:
            learned["n_classes_"] = K
        return learned | averaging.out_of_bag_results(self, out_of_bag, seed)

    def _grown(
        self, spec: TreeSpec, problem: Problem, sampler: Sampler, keys: np.ndarray
    ) -> list[Nodes]:
        """The tree of every key, grown on its bag. All bags have as many samples as the first one,
        so all trees have the same limits."""
        from pellucid.tree.batch_grower import TreeBatch, can_batch
        from pellucid.tree.fit_tree import grow_tree, with_weight
        from pellucid.tree.grower import searches_few_columns
        from pellucid.tree.presort import binned_table, presort
        from pellucid.tree.pruning import prune

        first = sampler.weights(int(keys[0]))
        limits = limits_of(spec, problem.reweight(first))
        cells = (problem.table, problem.kinds, problem.n_levels)
        binned = uses_bins(spec, problem.n)
        table = binned_table(*cells, problem.weights) if binned else presort(*cells, self.n_jobs)
        if not binned and searches_few_columns(limits, table.d):
            table = table.placed(self.n_jobs)
        if not binned and can_batch(spec, problem, limits, sampler.counted):
            limits = with_weight(spec, limits, first)
            batch = TreeBatch.of(spec, problem, table, limits, float(first.sum()))
            step = batch.chunk(len(keys))
        else:
            batch, step = None, 1
        count = int(self.n_estimators)
        progress = stages.Progress(type(self).__name__, count - len(keys), count)

        def grow(start: int) -> list[Nodes]:
            part = keys[start : start + step]
            bags = [sampler.weights(int(key)) for key in part]
            if batch is not None:
                grown = batch.grow(np.stack(bags), part)
            else:
                own = problem.reweight(bags[0])
                grown = [grow_tree(spec, own, table, int(part[0]), limits)]
            progress(len(grown))
            return grown

        threads = parallel.get_threads() if self.n_jobs is None else self.n_jobs
        with parallel.using(threads):  # the branches of a tree use the same threads
            chunks = parallel.map(grow, range(0, len(keys), step))
        trees = [tree for chunk in chunks for tree in chunk]
        return [prune(tree, self.ccp_alpha) for tree in trees] if self.ccp_alpha > 0 else trees

    def _record(self, trees: list[Nodes], first: int, out_of_bag: OutOfBag) -> None:
        """The forest after each new tree, with its out-of-bag error if all trees are new."""

        def event(k: int) -> dict[str, Any]:
            tree = trees[k - 1]
            return {
                "round": k, "name": "Tree", "leaves": tree.n_leaves, "depth": tree.depth, "tree": tree,
            }  # fmt: skip

        stages.record(
            type(self).__name__, first, lambda k: {"trees_": trees[:k]}, event, len(trees),
            out_of_bag if self.bootstrap and not first else None,
        )  # fmt: skip

    def _at_step(self, state: dict[str, Any]) -> Self:
        whole = len(state["trees_"]) == len(self.trees_)
        return stages.without_estimates(super()._at_step(state), whole)

    def _drawn_factors(self, problem: Problem) -> np.ndarray | None:
        """How many times as often each row is drawn because of `class_weight`; None without it, and if
        each tree weights the classes of its own rows."""
        given = vars(self).get("class_weight")
        if not self.bootstrap or given is None or given == "balanced_subsample":
            return None
        return class_factors(given, problem)[problem.y]

    def _check_drawing(self) -> None:
        if not self.bootstrap and self.max_samples is not None:
            raise ParameterError(
                "`max_samples` cannot be set if `bootstrap=False`. Either switch to "
                "`bootstrap=True` or set `max_samples=None`."
            )
        averaging.check_out_of_bag(self)

    explain = explaining.explain
    to_sklearn = explaining.to_sklearn

    def _explain(self, X: np.ndarray, method: str = "path") -> dict[str, Any]:
        return averaging.explain_mean(self, X, method)

    def _mean(self, X: np.ndarray) -> np.ndarray:
        """Mean of the trees' values, (n, K)."""
        values = [tree.value for tree in self.trees_]
        return prediction.sums(self.trees_, values, X, self.n_jobs) / len(values)

    def _staged(self, X: np.ndarray) -> Iterator[np.ndarray]:
        """`_mean` after each tree."""
        return stages.running_means(prediction.values(tree, X) for tree in self.trees_)

    staged_score = stages.staged_score

    def _as_trees(self) -> tuple[list[Nodes], list[np.ndarray], np.ndarray]:
        B = len(self.trees_)
        return self.trees_, [tree.value for tree in self.trees_], np.full(B, 1.0 / B)

    def _check_state(self) -> None:
        """Refuse learned arrays that do not belong together (model files)."""
        averaging.check_importances(self)
        trees, n_values = self.trees_, len(vars(self).get("classes_", ())) or self.n_outputs_
        if not isinstance(trees, list) or not trees:
            raise DataError("a forest needs its trees")
        for tree in trees:
            if not isinstance(tree, Nodes) or tree.value.shape[1] != n_values:
                raise DataError("a tree does not belong to this forest's classes or targets")
            if not np.array_equal(tree.n_levels, self.schema_.n_levels):
                raise DataError("a tree does not belong to these columns")

    @property
    def estimator_(self) -> Any:
        """An unfitted tree with the parameters of the trees of this forest."""
        self._check_fitted()
        return self._unfitted_tree()

    @property
    def estimators_(self) -> list[Any]:
        """The trees as fitted estimators whose labels are class codes. They are copies: changing
        them, for example with `prune`, does not change the forest."""
        self._check_fitted()
        return [self._as_estimator(tree) for tree in self.trees_]

    def _unfitted_tree(self) -> Any:
        Tree: Any = DecisionTreeClassifier if self._kind == "classifier" else DecisionTreeRegressor
        per_tree = vars(self).get("class_weight") == "balanced_subsample"
        spec, names = vars(self._spec("balanced" if per_tree else None)), parameters_of(Tree)
        return Tree(**{name: value for name, value in spec.items() if name in names})

    def _as_estimator(self, nodes: Nodes) -> Any:
        tree = self._unfitted_tree()
        tree.tree_, tree.schema_, tree.n_features_in_ = nodes, self.schema_, self.n_features_in_
        tree.n_outputs_, tree._in_forest = self.n_outputs_, True
        if "classes_" in vars(self):
            tree.classes_, tree.n_classes_ = np.arange(len(self.classes_)), len(self.classes_)
        return tree

    @property
    def feature_importances_(self) -> np.ndarray:
        """Mean share of the impurity decrease of a tree that is due to each column."""
        self._check_fitted()
        total: Any = sum(tree.importances() for tree in self.trees_)
        return total / total.sum() if total.sum() > 0 else total

    def apply(self, X: Any) -> np.ndarray:
        """Leaf of each row in each tree, (n, trees)."""
        encoded = self._encoded(X)
        leaves = [prediction.apply(tree, encoded) for tree in self.trees_]
        return np.stack(leaves, axis=1).astype(np.int64)

    def decision_path(self, X: Any) -> tuple[Any, np.ndarray]:
        """CSR matrix with 1 where a row passes a node, and the first matrix column of each tree."""
        from scipy.sparse import csr_matrix, hstack

        encoded = self._encoded(X)
        parts = []
        for tree in self.trees_:
            indices, indptr = prediction.paths(tree, encoded)
            ones = np.ones(len(indices), dtype=np.int64)
            parts.append(csr_matrix((ones, indices, indptr), shape=(len(encoded), tree.n_nodes)))
        ends = np.cumsum([0] + [tree.n_nodes for tree in self.trees_])
        return hstack(parts).tocsr(), ends


def _tree_class_weight(model: Any, problem: Problem) -> Any:
    """Class weights of a tree: of its own bag, or those of the whole table by class code."""
    given = vars(model).get("class_weight")
    if given is None or given == "balanced_subsample":
        return None if given is None else "balanced"
    return dict(enumerate(class_factors(given, problem).tolist()))


def _check_bags(trees: list[Nodes], out_of_bag: OutOfBag) -> None:
    """Refuse out-of-bag estimates of earlier trees if their bags cannot be drawn again, which shows
    in the numbers of samples of their leaves."""
    for tree, bag in zip(trees, out_of_bag.bags):
        leaf = prediction.apply(tree, np.asfortranarray(out_of_bag.problem.X))
        counts, ends = np.bincount(leaf, bag.weights, tree.n_nodes), tree.feature < 0
        if not np.array_equal(counts[ends], tree.n_samples[ends]):
            raise ParameterError(
                "Out-of-bag estimates after a warm start draw the bags of the earlier trees again. "
                "This needs the same rows, weights and int random_state as the earlier fit."
            )


def _columns(tree: Nodes) -> np.ndarray:
    """Columns that a tree splits by."""
    return np.unique(tree.feature[tree.feature >= 0])
