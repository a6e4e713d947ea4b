"""Classification trees: the public class."""

from typing import Any

import numpy as np

from pellucid.base import Classifier
from pellucid.errors import DataError
from pellucid.parameters import Choice, changed, learned, shared
from pellucid.tree import prediction
from pellucid.tree.base import TreeModel
from pellucid.tree.criteria import CLASS_CRITERIA, CLASS_IMPURITY


class DecisionTreeClassifier(TreeModel, Classifier):
    """Splits the table again and again, each time by the column and threshold (or set of levels)
    that lowers the weighted impurity of the two parts most; a leaf predicts its class frequencies p.

    cost of a node = weight * impurity(p)

    Categorical columns are split into two sets of levels: the best of all for two classes and up
    to eight levels, otherwise the best along the first principal component of the class
    frequencies. Missing values are tried on both sides; where none was missing in training they
    follow the larger part, and so do levels that were not seen. Ties go to the first column, then
    to the lowest threshold, so a tree needs no `random_state` unless columns or thresholds are
    drawn; then ties between columns are broken at random too.

    Examples
    --------
    >>> from pellucid.tree import DecisionTreeClassifier
    >>> X = [[1.5, "a"], [1.7, "b"], [2.3, "a"], [None, "b"]]
    >>> model = DecisionTreeClassifier().fit(X, ["no", "no", "yes", "yes"])
    >>> model.predict([[2.5, "a"], [1.0, "b"]]).tolist()
    ['yes', 'no']
    """

    criterion: str = changed(
        default="gini", check=Choice(*CLASS_CRITERIA), description=CLASS_IMPURITY
    )
    class_weight: Any = shared.CLASS_WEIGHT.replace(after="min_impurity_decrease")
    monotonic_cst: Any = changed(
        description="How the probability of the second of two classes may move with each column: "
        "1 up, -1 down, 0 either way. A list has one number for each column, a dict names columns."
    )

    n_classes_: int = learned("Number of classes.")

    def _check_state(self) -> None:
        """Refuse learned arrays that do not belong together (model files)."""
        self._check_tree(len(self.classes_))
        shares = self.tree_.value
        if (shares < 0).any() or not np.allclose(shares.sum(axis=1), 1.0):
            raise DataError("the class frequencies of a node do not sum to 1")

    def _proba(self, X: np.ndarray) -> np.ndarray:
        return prediction.values(self.tree_, X)

    def _codes(self, X: np.ndarray) -> np.ndarray:
        return prediction.codes(self.tree_, X)

    def _value_name(self) -> str:
        return "class frequencies"
