"""Classification trees: the public class, its parameters, and the way to the engine."""

from typing import Any, Self

import numpy as np

from pellucid import parallel
from pellucid.base import ProbabilisticClassifier
from pellucid.data import Problem, Wishes, prepare
from pellucid.errors import DataError
from pellucid.parameters import Choice, Either, Integer, Nothing, RandomState, Real, Test
from pellucid.tree import predict
from pellucid.tree.criteria import CLASS_CRITERIA
from pellucid.tree.limits import COUNT_OR_SHARE, MAX_FEATURES, number_of_features
from pellucid.tree.nodes import Nodes

WORTH_A_HOP = 2**17  # cells from which a fit runs beside the main thread, so Ctrl-C is heard


class DecisionTreeClassifier(ProbabilisticClassifier):
    """Divides the table again and again, each time by the column and threshold (or set of levels)
    that lowers the weighted impurity of the two parts most; a leaf predicts its class shares.

    cost of a node = weight * impurity(class shares); impurity is Gini's 1 - sum p^2, the entropy
    - sum p log2 p, or the error 1 - max p.

    Categorical columns are divided into two sets of levels: the best of all for two classes and
    up to eight levels, otherwise the best along the first principal component of the class shares.
    Missing values are tried on both sides; where none was missing in training they follow the
    larger part, and so do levels that were not seen. Ties go to the lowest column, then the lowest
    threshold, so a tree needs no `random_state` unless columns or thresholds are drawn.

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss", "error"}, default="gini"
    splitter : {"best", "random"}, default="best"
        "random" draws one threshold, or set of levels, per column.
    max_depth : int or None
    min_samples_split, min_samples_leaf : int, or share of the samples
        Samples are sums of weights if all weights are integers, else rows.
    min_weight_fraction_leaf : share of the total weight that a leaf needs
    max_features : int, share, "sqrt", "log2" or None (all)
        Columns drawn at each node.
    random_state : int, generator or None
    max_leaf_nodes : int or None
        Grow best first: divide the node that saves most.
    min_impurity_decrease : number >= 0
    class_weight : dict, "balanced" or None
    ccp_alpha : number >= 0
        Price of a leaf in cost-complexity pruning.
    monotonic_cst : None
    table : Table, optional

    Attributes
    ----------
    tree_ : `Nodes`, plain arrays: feature, threshold, left, right, value, ...
    classes_, n_classes_, max_features_, n_outputs_, n_features_in_, feature_names_in_, schema_

    Examples
    --------
    >>> from pellucid.tree import DecisionTreeClassifier
    >>> X = [[1.5, "a"], [1.7, "b"], [2.3, "a"], [None, "b"]]
    >>> model = DecisionTreeClassifier().fit(X, ["no", "no", "yes", "yes"])
    >>> model.predict([[2.5, "a"], [1.0, "b"]]).tolist()
    ['yes', 'no']
    """

    _layout = "codes"
    _takes_sparse = False
    _one_class = True
    _invariant = ("weight scale", "column scale")
    _parameters = {
        "criterion": Choice(*CLASS_CRITERIA),
        "splitter": Choice("best", "random"),
        "max_depth": Either(Integer(1), Nothing),
        "min_samples_split": COUNT_OR_SHARE["split"],
        "min_samples_leaf": COUNT_OR_SHARE["leaf"],
        "min_weight_fraction_leaf": Real(0, 0.5, "both"),
        "max_features": MAX_FEATURES,
        "random_state": RandomState,
        "max_leaf_nodes": Either(Integer(2), Nothing),
        "min_impurity_decrease": Real(0, None),
        "class_weight": Either(
            Test(lambda v: isinstance(v, dict), "a dict {label: weight}"),
            Choice("balanced"),
            Nothing,
        ),
        "ccp_alpha": Real(0, None),
        "monotonic_cst": Nothing,
    }

    def __init__(
        self,
        *,
        criterion: str = "gini",
        splitter: str = "best",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = None,
        random_state: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        class_weight: Any = None,
        ccp_alpha: float = 0.0,
        monotonic_cst: Any = None,
        table: Any = None,
    ) -> None:
        self.criterion = criterion
        self.splitter = splitter
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.random_state = random_state
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.class_weight = class_weight
        self.ccp_alpha = ccp_alpha
        self.monotonic_cst = monotonic_cst
        self.table = table

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow, then prune if `ccp_alpha` is positive."""
        return self._learn(X, y, weights=sample_weight)

    def _fit(self, problem: Problem, presorted: Any = None) -> dict[str, Any]:
        assert problem.classes is not None
        nodes = self._grow(problem, presorted)
        if self.ccp_alpha > 0:
            from pellucid.tree.pruning import prune

            nodes = prune(nodes, self.ccp_alpha)
        return {
            "tree_": nodes,
            "n_classes_": len(problem.classes),
            "n_outputs_": 1,
            "max_features_": number_of_features(self.max_features, problem.p),
        }

    def _grow(self, problem: Problem, presorted: Any = None) -> Nodes:
        """The whole tree; `presorted` is the sorted table if somebody has it already."""
        from pellucid.tree.growing import grow_classes

        if problem.n * problem.p < WORTH_A_HOP:
            return grow_classes(self, problem, presorted)
        return parallel.interruptible(grow_classes, self, problem, presorted)

    def _check_state(self) -> None:
        """Refuse learned arrays that do not belong together (model files)."""
        if not isinstance(self.tree_, Nodes) or self.tree_.value.shape[1] != len(self.classes_):
            raise DataError("the tree does not belong to these classes")
        if not np.array_equal(self.tree_.n_levels, self.schema_.n_levels):
            raise DataError("the tree does not belong to these columns")

    def _proba(self, X: np.ndarray) -> np.ndarray:
        return predict.values(self.tree_, X)

    def _codes(self, X: np.ndarray) -> np.ndarray:
        return predict.codes(self.tree_, X)

    def _explain(self, X: np.ndarray) -> dict[str, Any]:
        part = slice(1, None) if len(self.classes_) == 2 else slice(None)
        return {
            "base": self.tree_.value[0, part].copy(),
            "contributions": predict.contributions(self.tree_, X)[:, :, part],
            "prediction": self._proba(X)[:, part],
            "scale": "probability",
            "method": "changes of the class shares along the path",
        }

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
