"""What classification and regression trees share: growing from a problem, and looking inside."""

from dataclasses import replace
from typing import Any, Self

import numpy as np

from pellucid import parallel
from pellucid.data import InputSpec, Problem, prepare
from pellucid.data.canonical import canonical
from pellucid.data.opening import opened
from pellucid.data.targets import check_lengths, labels, numbers, weights_or_ones
from pellucid.errors import DataError, ParameterError, warn
from pellucid.tree import prediction
from pellucid.tree.explaining import TreesExplained
from pellucid.tree.nodes import Nodes
from pellucid.tree.stopping import number_of_features

WORTH_A_HOP = 2**17  # cells from which a fit runs beside the main thread, so Ctrl-C is heard


def one_or_several(problem: Problem) -> Problem:
    """A table of targets with one column is one target; of several those of a row stand side by side,
    so that sums over rows are the same for any container."""
    if problem.y.ndim == 1:
        return problem
    if problem.y.shape[1] == 0:
        raise DataError("y has no column: a target is needed.")
    y = problem.y[:, 0] if problem.y.shape[1] == 1 else problem.y
    return replace(problem, y=np.ascontiguousarray(y))


class TreeModel(TreesExplained):
    """Family of single trees; `tree_` holds the grown `Nodes`."""

    tree_: Nodes
    _layout = "codes"
    _takes_sparse = False
    _rows = "user_view"
    _invariant = ("weight scale", "column scale")
    _lent = False  # by a forest, as one of its `estimators_`

    def _grow(self, problem: Problem, presorted: Any = None) -> Nodes:
        """The whole tree; `presorted` is the sorted table if somebody has it already."""
        from pellucid.tree.fit_tree import grow_model

        if problem.n * problem.p < WORTH_A_HOP:
            return grow_model(self, problem, presorted)
        return parallel.interruptible(grow_model, self, problem, presorted)

    def _grown(self, problem: Problem, presorted: Any = None) -> dict[str, Any]:
        """The learned attributes of a tree, pruned as `ccp_alpha` says."""
        if self.ccp_alpha == "cv" and presorted is None:
            # What is dealt out to the folds then does not depend on the order of the rows.
            problem = canonical(problem)
        nodes = self._grow(problem, presorted)
        more: dict[str, Any] = {}
        if self.ccp_alpha == "cv":
            from pellucid.tree.pruning_validation import cross_validated

            nodes, more = parallel.interruptible(cross_validated, self, problem, nodes)
        elif self.ccp_alpha > 0:
            from pellucid.tree.pruning import prune

            nodes = prune(nodes, self.ccp_alpha)
        return more | {
            "tree_": nodes,
            "n_outputs_": 1 if problem.y.ndim == 1 else problem.y.shape[1],
            "max_features_": number_of_features(self.max_features, problem.p),
        }

    def _as_trees(self) -> tuple[list[Nodes], list[np.ndarray], np.ndarray]:
        return [self.tree_], [self.tree_.value], np.ones(1)

    def _check_tree(self, n_values: int) -> None:
        """Refuse learned arrays that do not belong together (model files)."""
        if not isinstance(self.tree_, Nodes) or self.tree_.value.shape[1] != n_values:
            raise DataError("the tree does not belong to these classes or targets")
        if not np.array_equal(self.tree_.n_levels, self.schema_.n_levels):
            raise DataError("the tree does not belong to these columns")
        path = vars(self).get("cv_path_")
        if path is not None and (
            not isinstance(path, dict)
            or set(path) != {"alpha", "loss", "error"}
            or len({np.shape(part) for part in path.values()}) != 1
            or np.ndim(path["alpha"]) != 1
        ):
            raise DataError("the table of prices does not belong to a tree")

    @property
    def feature_importances_(self) -> np.ndarray:
        """Share of the impurity decrease that each column brings; all 0 for a tree of one leaf."""
        self._check_fitted()
        return self.tree_.importances()

    def apply(self, X: Any) -> np.ndarray:
        """Number of the leaf that each row ends in."""
        return prediction.apply(self.tree_, self._encoded(X)).astype(np.int64)

    def decision_path(self, X: Any) -> Any:
        """CSR matrix (rows, nodes), 1 where the row passes the node."""
        from scipy.sparse import csr_matrix

        indices, indptr = prediction.paths(self.tree_, self._encoded(X))
        ones = np.ones(len(indices), dtype=np.int64)
        return csr_matrix((ones, indices, indptr), shape=(len(indptr) - 1, self.tree_.n_nodes))

    def get_depth(self) -> int:
        """Edges on the longest path from the root to a leaf."""
        self._check_fitted()
        return self.tree_.depth

    def get_n_leaves(self) -> int:
        """Number of leaves."""
        self._check_fitted()
        return self.tree_.n_leaves

    def prune(
        self, X: Any = None, y: Any = None, sample_weight: Any = None, *, node: int | None = None
    ) -> Self:
        """Prune the fitted tree in place: by rows that it has not seen, or a node by hand.

        With X and y every branch goes that does not lower the loss on these rows (wrong labels, or
        squared or absolute error); of equal trees the smaller one stays. `node` becomes a leaf;
        nodes are then numbered anew.
        """
        from pellucid.tree.pruning import collapse
        from pellucid.tree.pruning_validation import collapsed_by, exponent_of, losses

        self._check_fitted()
        if self._lent:
            warn(
                "This tree was lent by a forest, whose trees are made anew at every look: pruning it "
                "does not change the forest.",
                UserWarning,
            )
        if (node is None) == (X is None):
            raise ParameterError("prune takes either validation rows X and y, or node=.")
        if node is not None:
            self.tree_ = collapse(self.tree_, [self._division(node)])
            return self
        X, y, sample_weight = opened(X, y, sample_weight)
        encoded, target = self._encoded(X), self._target_codes(y)
        check_lengths(len(encoded), len(target))
        w = weights_or_ones(sample_weight, len(target))
        exponent = exponent_of(self.criterion, target, self.tree_.value)
        as_leaf, _ = losses(self.tree_, encoded, target, w, self.criterion, exponent)
        self.tree_ = collapsed_by(self.tree_, as_leaf)
        return self

    def _division(self, node: Any) -> int:
        """The number of a node that divides, checked."""
        whole = isinstance(node, int | np.integer) and not isinstance(node, bool)
        if not whole or not 0 <= node < self.tree_.n_nodes:
            raise ParameterError(
                f"The 'node' parameter of prune must be the number of a division, an int in the "
                f"range [0, {self.tree_.n_nodes - 1}]. Got {node!r} instead."
            )
        if self.tree_.feature[node] < 0:
            raise ParameterError(
                f"prune cannot make a leaf of node {int(node)}: it is one already."
            )
        return int(node)

    def _target_codes(self, y: Any) -> np.ndarray:
        """The target as numbers, or as codes of the known classes, -1 for any other label."""
        if "classes_" not in vars(self):
            return self._target_numbers(numbers(y, type(self).__name__, several=True))
        codes, classes = labels(y, type(self).__name__)
        known = {label: k for k, label in enumerate(self.classes_.tolist())}
        found = np.array([known.get(label, -1) for label in classes.tolist()])
        if (found < 0).all():
            raise DataError(
                f"no label of y is a class of this tree: y holds {classes.tolist()[0]!r}, the tree "
                f"knows {', '.join(repr(label) for label in list(known)[:5])}."
            )
        return found[codes]

    def _target_numbers(self, y: np.ndarray) -> np.ndarray:
        """Numbers as this tree learned them: (n,) of one target, else (n, targets)."""
        given = 1 if y.ndim == 1 else y.shape[1]
        if given != self.n_outputs_:
            raise DataError(f"y has {given} targets, this tree has {self.n_outputs_}.")
        return y.ravel() if given == 1 else y

    def pruning_table(self) -> Any:
        """The trees of the cost-complexity path from the fitted tree to its root, as a table."""
        from pellucid.records import SummaryTable
        from pellucid.tree.pruning import path_leaves, pruning_path, weakest_links

        self._check_fitted()
        alphas, impurities = pruning_path(self.tree_)
        leaves = path_leaves(self.tree_, weakest_links(self.tree_))
        header: tuple[tuple[str, Any], ...] = (
            ("leaves", self.tree_.n_leaves),
            ("depth", self.tree_.depth),
        )
        if "ccp_alpha_" in vars(self):
            header += (("ccp_alpha chosen by cross validation", self.ccp_alpha_),)
        rows = tuple(
            (f"{k}", float(a), int(n), float(i))
            for k, (a, n, i) in enumerate(zip(alphas, leaves, impurities))
        )
        return SummaryTable("Pruning path", header, ("tree", "alpha", "leaves", "impurity"), rows)

    def cost_complexity_pruning_path(
        self, X: Any, y: Any, sample_weight: Any = None
    ) -> dict[str, np.ndarray]:
        """Prices at which branches fall, and the impurity of the leaves that remain.

        `ccp_alphas[k]` is the lowest `ccp_alpha` that gives the k-th smaller tree.
        """
        from pellucid.tree.pruning import pruning_path

        self._check_parameters()
        X, y, sample_weight = opened(X, y, sample_weight)
        spec: InputSpec = self._input_spec()
        problem = one_or_several(prepare(X, y, sample_weight, None, self.table, spec)[0])
        alphas, impurities = pruning_path(self._grow(problem))
        return {"ccp_alphas": alphas, "impurities": impurities}
