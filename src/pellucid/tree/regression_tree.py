"""Regression trees: the public class and its parameters."""

from typing import Any, Self

import numpy as np

from pellucid.base import Regressor
from pellucid.data import Problem
from pellucid.parameters import Choice
from pellucid.tree import prediction
from pellucid.tree.base import TreeModel, one_or_several
from pellucid.tree.criteria import NUMBER_CRITERIA
from pellucid.tree.stopping import TREE_PARAMETERS


class DecisionTreeRegressor(TreeModel, Regressor):
    """Divides the table again and again, each time by the column and threshold (or set of levels)
    that lowers the weighted loss of the two parts most; a leaf predicts its mean, or its median.

    cost of a node = sum w (y - mean)^2; "absolute_error": sum w |y - median|; "poisson" and "gamma":
    half the deviance, sum w (y log(y / mean) - y + mean) and sum w (y / mean - 1 - log(y / mean)).
    y may have several columns, the targets of one tree: the cost of a node is then the mean over
    them, and a leaf predicts a number for each. Targets of other units should be brought to one
    scale (but for "gamma"), or the largest decides alone.

    Levels of a categorical column are ordered by their mean, along which the best set lies; for
    absolute errors all sets of up to eight levels are tried, more are ordered by their medians; for
    several targets likewise, more along the first principal component of their means.
    Missing values and ties as in `DecisionTreeClassifier`.

    Parameters
    ----------
    criterion : {"squared_error", "absolute_error", "poisson", "gamma"}, default="squared_error"
        All but "absolute_error" take several targets.
    splitter : {"best", "random", "hist", "auto"}, default="best"
        "random" draws one threshold, or set of levels, per column; "hist" looks at no more than 254
        thresholds per column; "auto" is "hist" from 2^18 rows on, else "best".
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
    monotonic_cst : by column 1 (up), -1 (down) or 0, or a dict {name: sign}; one target only
    table : Table, optional
    max_split_loss : number >= 0 or None
        A division is made only if the weighted impurity of its two parts is not above this.
    categories : {"auto", "one_vs_rest", "apart"}
        How a column of levels divides: "auto" into two sets, "one_vs_rest" one level from all
        others, "apart" every level from every other one. The last is stored as divisions in two
        that count as one for `max_depth`; pruning may join levels again.

    Attributes
    ----------
    tree_ : `Nodes`, plain arrays: feature, threshold, left, right, value, ...
    n_outputs_ : number of targets; `predict` gives (n,) for one, else (n, n_outputs_)
    max_features_, n_features_in_, feature_names_in_, schema_

    Examples
    --------
    >>> from pellucid.tree import DecisionTreeRegressor
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0.0, 10.0, 10.0, 0.0]
    >>> DecisionTreeRegressor().fit(X, y).predict(X)
    array([ 0., 10., 10.,  0.])
    """

    _target = "several"
    _several_targets = True
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
        max_split_loss: float | None = None,
        categories: str = "auto",
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
        self.max_split_loss = max_split_loss
        self.categories = categories

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow, then prune if `ccp_alpha` is positive."""
        return self._learn(X, y, weights=sample_weight)

    def _fit(self, problem: Problem, presorted: Any = None) -> dict[str, Any]:
        return self._grown(one_or_several(problem), presorted)

    def _check_state(self) -> None:
        """Refuse learned arrays that do not belong together (model files)."""
        self._check_tree(self.n_outputs_)

    def _centre(self) -> str:
        return "median" if self.criterion == "absolute_error" else "mean"

    def _predict(self, X: np.ndarray) -> np.ndarray:
        said = prediction.values(self.tree_, X)
        return said[:, 0] if self.n_outputs_ == 1 else said

    def _explain(self, X: np.ndarray) -> dict[str, Any]:
        return {
            "base": self.tree_.value[0].copy(),
            "contributions": prediction.contributions(self.tree_, X),
            "prediction": prediction.values(self.tree_, X),
            "scale": "response",
            "method": f"changes of the {self._centre()} along the path",
        }
