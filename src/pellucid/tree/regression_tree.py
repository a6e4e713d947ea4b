"""Regression trees: the public class and its parameters."""

from typing import Any, Self

import numpy as np

from pellucid.base import Regressor
from pellucid.data import Problem
from pellucid.parameters import Choice
from pellucid.tree import predict
from pellucid.tree.criteria import NUMBER_CRITERIA
from pellucid.tree.limits import TREE_PARAMETERS
from pellucid.tree.model import TreeModel


class DecisionTreeRegressor(TreeModel, Regressor):
    """Divides the table again and again, each time by the column and threshold (or set of levels)
    that lowers the weighted sum of squares most; a leaf predicts its mean.

    cost of a node = sum w (y - mean)^2. Levels of a categorical column are ordered by their mean,
    along which the best set lies. Missing values and ties as in `DecisionTreeClassifier`.

    Parameters
    ----------
    criterion : {"squared_error"}
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
    ccp_alpha : number >= 0, or "cv"
        Price of a leaf in cost-complexity pruning; "cv" takes the highest price whose loss over ten
        folds is within one standard error of the lowest (`ccp_alpha_`, `cv_path_`).
    monotonic_cst : None
    table : Table, optional

    Attributes
    ----------
    tree_ : `Nodes`, plain arrays: feature, threshold, left, right, value, ...
    max_features_, n_outputs_, n_features_in_, feature_names_in_, schema_

    Examples
    --------
    >>> from pellucid.tree import DecisionTreeRegressor
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0.0, 10.0, 10.0, 0.0]
    >>> DecisionTreeRegressor().fit(X, y).predict(X)
    array([ 0., 10., 10.,  0.])
    """

    _parameters = TREE_PARAMETERS | {"criterion": Choice(*NUMBER_CRITERIA)}

    def __init__(
        self,
        *,
        criterion: str = "squared_error",
        splitter: str = "best",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = None,
        random_state: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: Any = 0.0,
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
        self.ccp_alpha = ccp_alpha
        self.monotonic_cst = monotonic_cst
        self.table = table

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow, then prune if `ccp_alpha` is positive."""
        return self._learn(X, y, weights=sample_weight)

    def _fit(self, problem: Problem, presorted: Any = None) -> dict[str, Any]:
        return self._grown(problem, presorted)

    def _check_state(self) -> None:
        """Refuse learned arrays that do not belong together (model files)."""
        self._check_tree(1)

    def _predict(self, X: np.ndarray) -> np.ndarray:
        return predict.values(self.tree_, X)[:, 0]

    def _explain(self, X: np.ndarray) -> dict[str, Any]:
        return {
            "base": self.tree_.value[0].copy(),
            "contributions": predict.contributions(self.tree_, X),
            "prediction": predict.values(self.tree_, X),
            "scale": "response",
            "method": "changes of the mean along the path",
        }
