"""What classification and regression trees share: growing from a problem, and looking inside."""

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.base import Explained
from pellucid.data import Problem, Wishes, prepare
from pellucid.errors import DataError
from pellucid.tree import predict
from pellucid.tree.limits import number_of_features
from pellucid.tree.nodes import Nodes

WORTH_A_HOP = 2**17  # cells from which a fit runs beside the main thread, so Ctrl-C is heard


class TreeModel(Explained):
    """Family of single trees; `tree_` holds the grown `Nodes`."""

    _layout = "codes"
    _takes_sparse = False
    _invariant = ("weight scale", "column scale")

    def _grow(self, problem: Problem, presorted: Any = None) -> Nodes:
        """The whole tree; `presorted` is the sorted table if somebody has it already."""
        from pellucid.tree.growing import grow_model

        if problem.n * problem.p < WORTH_A_HOP:
            return grow_model(self, problem, presorted)
        return parallel.interruptible(grow_model, self, problem, presorted)

    def _grown(self, problem: Problem, presorted: Any = None) -> dict[str, Any]:
        """The learned attributes of a tree, pruned if `ccp_alpha` is positive."""
        nodes = self._grow(problem, presorted)
        if self.ccp_alpha > 0:
            from pellucid.tree.pruning import prune

            nodes = prune(nodes, self.ccp_alpha)
        return {
            "tree_": nodes,
            "n_outputs_": 1,
            "max_features_": number_of_features(self.max_features, problem.p),
        }

    def _check_tree(self, n_values: int) -> None:
        """Refuse learned arrays that do not belong together (model files)."""
        if not isinstance(self.tree_, Nodes) or self.tree_.value.shape[1] != n_values:
            raise DataError("the tree does not belong to these classes")
        if not np.array_equal(self.tree_.n_levels, self.schema_.n_levels):
            raise DataError("the tree does not belong to these columns")

    @property
    def feature_importances_(self) -> np.ndarray:
        """Share of the impurity decrease that each column brings; all 0 for a tree of one leaf."""
        self._check_fitted()
        return self.tree_.importances()

    def apply(self, X: Any) -> np.ndarray:
        """Number of the leaf that each row ends in."""
        return predict.apply(self.tree_, self._encoded(X)).astype(np.int64)

    def decision_path(self, X: Any) -> Any:
        """CSR matrix (rows, nodes), 1 where the row passes the node."""
        from scipy.sparse import csr_matrix

        indices, indptr = predict.paths(self.tree_, self._encoded(X))
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

    def cost_complexity_pruning_path(
        self, X: Any, y: Any, sample_weight: Any = None
    ) -> dict[str, np.ndarray]:
        """Prices at which branches fall, and the impurity of the leaves that remain.

        `ccp_alphas[k]` is the lowest `ccp_alpha` that gives the k-th smaller tree.
        """
        from pellucid.data.output import opened
        from pellucid.tree.pruning import pruning_path

        self._check_parameters()
        X, y, sample_weight = opened(X, y, sample_weight)
        wishes: Wishes = self._wishes()
        problem, _ = prepare(X, y, sample_weight, None, self.table, wishes)
        alphas, impurities = pruning_path(self._grow(problem))
        return {"ccp_alphas": alphas, "impurities": impurities}
