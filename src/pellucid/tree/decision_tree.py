"""Classification trees: the public class, its parameters, and the way to the engine."""

from typing import Any, Self

import numpy as np

from pellucid.base import Classifier
from pellucid.data import Problem
from pellucid.errors import DataError
from pellucid.parameters import Choice, ClassWeight
from pellucid.tree import prediction
from pellucid.tree.base import TreeModel
from pellucid.tree.criteria import CLASS_CRITERIA
from pellucid.tree.stopping import TREE_PARAMETERS


class DecisionTreeClassifier(TreeModel, Classifier):
    """Divides the table again and again, each time by the column and threshold (or set of levels)
    that lowers the weighted impurity of the two parts most; a leaf predicts its class shares.

    cost of a node = weight * impurity(class shares); impurity is Gini's 1 - sum p^2, the entropy
    - sum p log2 p, or the error 1 - max p.

    Categorical columns are divided into two sets of levels: the best of all for two classes and
    up to eight levels, otherwise the best along the first principal component of the class shares.
    Missing values are tried on both sides; where none was missing in training they follow the
    larger part, and so do levels that were not seen. Ties go to the lowest column, then the lowest
    threshold, so a tree needs no `random_state` unless columns or thresholds are drawn; where they
    are, equal columns are drawn too.

    Parameters
    ----------
    criterion : {"gini", "entropy", "log_loss", "error"}, default="gini"
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
    class_weight : dict, "balanced" or None
    ccp_alpha : number >= 0, or "cv"
        Price of a leaf in cost-complexity pruning; "cv" takes the highest price whose loss over ten
        folds is within one standard error of the lowest (`ccp_alpha_`, `cv_path_`).
    monotonic_cst : by column 1 (up), -1 (down) or 0, or a dict {name: sign}
        How the share of the second of two classes may move with the column.
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
    classes_, n_classes_, max_features_, n_outputs_, n_features_in_, feature_names_in_, schema_

    Examples
    --------
    >>> from pellucid.tree import DecisionTreeClassifier
    >>> X = [[1.5, "a"], [1.7, "b"], [2.3, "a"], [None, "b"]]
    >>> model = DecisionTreeClassifier().fit(X, ["no", "no", "yes", "yes"])
    >>> model.predict([[2.5, "a"], [1.0, "b"]]).tolist()
    ['yes', 'no']
    """

    _parameters = TREE_PARAMETERS | {
        "criterion": Choice(*CLASS_CRITERIA),
        "class_weight": ClassWeight,
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
        self.class_weight = class_weight
        self.ccp_alpha = ccp_alpha
        self.monotonic_cst = monotonic_cst
        self.table = table
        self.max_split_loss = max_split_loss
        self.categories = categories

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow, then prune if `ccp_alpha` is positive."""
        return self._learn(X, y, weights=sample_weight)

    def _fit(self, problem: Problem, presorted: Any = None) -> dict[str, Any]:
        assert problem.classes is not None
        return self._grown(problem, presorted) | {"n_classes_": len(problem.classes)}

    def _check_state(self) -> None:
        """Refuse learned arrays that do not belong together (model files)."""
        self._check_tree(len(self.classes_))
        shares = self.tree_.value
        if (shares < 0).any() or not np.allclose(shares.sum(axis=1), 1.0):
            raise DataError("the class shares of its nodes are no shares")

    def _proba(self, X: np.ndarray) -> np.ndarray:
        return prediction.values(self.tree_, X)

    def _codes(self, X: np.ndarray) -> np.ndarray:
        return prediction.codes(self.tree_, X)

    def _explain(self, X: np.ndarray) -> dict[str, Any]:
        part = slice(1, None) if len(self.classes_) == 2 else slice(None)
        return {
            "base": self.tree_.value[0, part].copy(),
            "contributions": prediction.contributions(self.tree_, X)[:, :, part],
            "prediction": self._proba(X)[:, part],
            "scale": "probability",
            "method": "changes of the class shares along the path",
        }
