"""Forests: many trees on drawn rows, each node on drawn columns; what the four classes share.

1. Sort the columns once; draw every tree's bag, counts of the canonical rows, by the tree's key.
2. Grow the trees, one per task, small ones by chunks; the key is behind all of a tree's choices.
3. Predict block after block of rows, all trees on one block, so sums have one order.

Invariant: `trees_` are plain `Nodes`; training objects do not survive.
"""

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.ensemble.averaging import SHARE, Bagged, answer_width, check_width
from pellucid.ensemble.base_estimators import coded
from pellucid.ensemble.bootstrap_samples import Drawer, keys_of
from pellucid.ensemble.out_of_bag import OutOfBag
from pellucid.errors import DataError, ParameterError
from pellucid.parameters import (
    N_JOBS,
    RANDOM_STATE,
    VERBOSE,
    WARM_START,
    Boolean,
    Either,
    Function,
    Integer,
    Nothing,
    learned,
    param,
    positional,
)
from pellucid.tree import prediction
from pellucid.tree.growth_parameters import (
    CCP_ALPHA,
    MAX_DEPTH,
    MAX_FEATURES,
    MAX_LEAF_NODES,
    MIN_IMPURITY_DECREASE,
    MIN_SAMPLES_LEAF,
    MIN_SAMPLES_SPLIT,
    MIN_WEIGHT_FRACTION_LEAF,
    MONOTONIC_CST,
)
from pellucid.tree.nodes import Nodes
from pellucid.tree.stopping import limits_of


class Forest(Bagged):
    """Family of forests; `trees_` holds the grown trees."""

    n_estimators: int = positional(
        default=100, check=Integer(1), description="Number of trees.", kw_only=False
    )
    max_depth: int | None = MAX_DEPTH
    min_samples_split: float = MIN_SAMPLES_SPLIT
    min_samples_leaf: float = MIN_SAMPLES_LEAF
    min_weight_fraction_leaf: float = MIN_WEIGHT_FRACTION_LEAF
    max_features: Any = MAX_FEATURES
    max_leaf_nodes: int | None = MAX_LEAF_NODES
    min_impurity_decrease: float = MIN_IMPURITY_DECREASE
    bootstrap: bool = param(
        True,
        Boolean,
        "Whether each tree is grown on a bootstrap sample, drawn with replacement. False grows every "
        "tree on all rows.",
    )
    oob_score: Any = param(
        False,
        Either(Boolean, Function),
        "Whether to score each row by the trees that did not see it. A function (y, predicted) -> "
        "number is used as the score.",
    )
    n_jobs: int | None = N_JOBS
    random_state: Any = RANDOM_STATE
    verbose: int = VERBOSE
    warm_start: bool = WARM_START.replace(
        description="Whether to keep the trees of the last fit and to add more."
    )
    ccp_alpha: float = CCP_ALPHA
    max_samples: Any = param(
        None,
        Either(Integer(1), SHARE, Nothing),
        "Size of a bootstrap sample: a number of samples or a share of them. None draws as many as "
        "there are.",
    )
    monotonic_cst: Any = MONOTONIC_CST
    oob_importances: bool = param(
        False,
        Boolean,
        "Whether to measure each column by how much worse a tree predicts the rows that it did not "
        "see if the column is shuffled.",
        last=True,
    )

    trees_: list[Nodes] = learned("The trees, each as plain arrays of its nodes.")
    n_outputs_: int = learned("Number of targets; 1 for a classifier.")
    oob_score_: float = learned("Score of the out-of-bag predictions, if `oob_score` is set.")
    oob_importances_: np.ndarray = learned(
        "Mean increase of the out-of-bag loss when a column is shuffled, shape (n_features,), if "
        "`oob_importances` is set."
    )
    oob_importances_std_: np.ndarray = learned(
        "Standard deviation of the importance over the trees, shape (n_features,), if "
        "`oob_importances` is set."
    )

    _layout = "codes"
    _rows = "canonical"
    _takes_sparse = False
    _splitter = "best"

    def _tree(self) -> Any:
        """An unfitted tree with this forest's parameters."""
        raise NotImplementedError

    def _grow_trees(self, problem: Problem) -> dict[str, Any]:
        """Trees in their order (those of a warm start first), and what unseen rows say of them."""
        self._check_drawing()
        K = answer_width(problem)
        old = self._kept("trees_")
        if old:
            check_width(old[0].value.shape[1], K)
        seed = parallel.seed_sequence(self.random_state)
        drawer = Drawer(problem, self.max_samples, 1.0, self.bootstrap, False)
        keys = keys_of(seed, len(old), self.n_estimators)
        trees = old + (self._grown(coded(problem), drawer, keys) if len(keys) else [])
        # A bag takes as much memory as a column: they are drawn again for their judges alone.
        judged = bool(self.oob_score or self.oob_importances)
        every = keys_of(seed, 0, self.n_estimators if judged else 0)
        judge = OutOfBag(
            problem,
            drawer,
            [drawer.bag(int(key)) for key in every],
            lambda i, X: prediction.values(trees[i], X),
            lambda i: _columns(trees[i]),
        )
        _check_bags(old, judge)
        n_outputs = 1 if problem.classes is not None else K
        return {"trees_": trees, "n_outputs_": n_outputs} | self._judged(judge, seed)

    def _grown(self, problem: Problem, drawer: Drawer, keys: np.ndarray) -> list[Nodes]:
        """The tree of every key, from its bag and by its random choices. All bags have as many
        samples as the first, so that all trees have its limits."""
        from pellucid.tree.batch_grower import Grove, suits
        from pellucid.tree.fit_tree import grow_model, with_weight
        from pellucid.tree.grower import looks_at_few
        from pellucid.tree.presort import presort
        from pellucid.tree.pruning import prune

        model = self._tree()
        first = drawer.rows(int(keys[0]))
        limits = limits_of(model, problem.reweight(first))
        table = presort(problem.table, problem.kinds, problem.n_levels, self.n_jobs)
        if looks_at_few(limits, table.d):
            table = table.placed(self.n_jobs)
        if suits(model, problem, limits, drawer.counted):
            limits = with_weight(model, limits, first)
            grove = Grove.of(model, problem, table, limits, float(first.sum()))
            step = grove.chunk(len(keys))
        else:
            grove, step = None, 1

        def grow(start: int) -> list[Nodes]:
            part = keys[start : start + step]
            bags = [drawer.rows(int(key)) for key in part]
            if grove is not None:
                return grove.grow(np.stack(bags), part)
            return [grow_model(model, problem.reweight(bags[0]), table, int(part[0]), limits)]

        threads = parallel.get_threads() if self.n_jobs is None else self.n_jobs
        with parallel.using(threads):  # the branches of a tree too
            chunks = parallel.map(grow, range(0, len(keys), step))
        trees = [tree for chunk in chunks for tree in chunk]
        return [prune(tree, self.ccp_alpha) for tree in trees] if self.ccp_alpha > 0 else trees

    def _check_drawing(self) -> None:
        if not self.bootstrap and self.max_samples is not None:
            raise ParameterError(
                "`max_samples` cannot be set if `bootstrap=False`. Either switch to "
                "`bootstrap=True` or set `max_samples=None`."
            )
        self._check_oob()

    def _mean(self, X: np.ndarray) -> np.ndarray:
        """Mean of the trees' values, (n, K)."""
        values = [tree.value for tree in self.trees_]
        return prediction.sums(self.trees_, values, X, self.n_jobs) / len(values)

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
                raise DataError("a tree does not belong to this forest's classes or targets")
            if not np.array_equal(tree.n_levels, self.schema_.n_levels):
                raise DataError("a tree does not belong to these columns")

    @property
    def estimator_(self) -> Any:
        """An unfitted tree as this forest grows them."""
        self._check_fitted()
        return self._tree()

    @property
    def estimators_(self) -> list[Any]:
        """The trees as fitted estimators, made anew at every look: what is done to them, such as
        `prune`, does not change the forest. Their labels are class codes."""
        self._check_fitted()
        return [self._as_estimator(tree) for tree in self.trees_]

    def _as_estimator(self, nodes: Nodes) -> Any:
        tree = self._tree()
        tree.tree_, tree.schema_, tree.n_features_in_ = nodes, self.schema_, self.n_features_in_
        tree.n_outputs_, tree._lent = self.n_outputs_, True
        if "classes_" in self.__dict__:
            tree.classes_, tree.n_classes_ = np.arange(len(self.classes_)), len(self.classes_)
        return tree

    @property
    def feature_importances_(self) -> np.ndarray:
        """Mean share of the impurity decrease that each column brings."""
        self._check_fitted()
        total: Any = sum(tree.importances() for tree in self.trees_)
        return total / total.sum() if total.sum() > 0 else total

    def apply(self, X: Any) -> np.ndarray:
        """Leaf of each row in each tree, (n, trees)."""
        encoded = self._encoded(X)
        leaves = [prediction.apply(tree, encoded) for tree in self.trees_]
        return np.stack(leaves, axis=1).astype(np.int64)

    def decision_path(self, X: Any) -> tuple[Any, np.ndarray]:
        """(CSR matrix of the nodes that each row passes, first column of each tree)."""
        from scipy.sparse import csr_matrix, hstack

        encoded = self._encoded(X)
        parts = []
        for tree in self.trees_:
            indices, indptr = prediction.paths(tree, encoded)
            ones = np.ones(len(indices), dtype=np.int64)
            parts.append(csr_matrix((ones, indices, indptr), shape=(len(encoded), tree.n_nodes)))
        ends = np.cumsum([0] + [tree.n_nodes for tree in self.trees_])
        return hstack(parts).tocsr(), ends


def _check_bags(trees: list[Nodes], judge: OutOfBag) -> None:
    """Refuse to judge trees of an earlier fit by bags that are not theirs: the samples in their leaves
    tell. Bags are drawn again, so that needs the same rows and random state."""
    for tree, bag in zip(trees, judge.bags):
        leaf = prediction.apply(tree, np.asfortranarray(judge.problem.X))
        counts, ends = np.bincount(leaf, bag.weights, tree.n_nodes), tree.feature < 0
        if not np.array_equal(counts[ends], tree.n_samples[ends]):
            raise ParameterError(
                "Out of bag estimates after a warm start draw the bags of the earlier trees again: they "
                "need the rows and weights of the earlier fit, and its random_state, an int."
            )


def _columns(tree: Nodes) -> np.ndarray:
    """Columns that a tree divides by."""
    return np.unique(tree.feature[tree.feature >= 0])
