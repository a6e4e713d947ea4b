"""Regression trees: the public class."""

from typing import Any

import numpy as np

from pellucid.base import Regressor
from pellucid.parameters import Choice, changed
from pellucid.tree import prediction
from pellucid.tree.base import TreeModel
from pellucid.tree.criteria import NUMBER_CRITERIA, NUMBER_LOSS


class DecisionTreeRegressor(TreeModel, Regressor):
    """Splits the table again and again, each time by the column and threshold (or set of levels)
    that lowers the weighted loss of the two parts most; a leaf predicts its mean, or its median.

    cost of a node = sum w (y - mean)^2; "absolute_error": sum w |y - median|; "poisson" and "gamma":
    half the deviance, sum w (y log(y / mean) - y + mean) and sum w (y / mean - 1 - log(y / mean)).

    y may have several columns, the targets of one tree: the cost of a node is then the mean over
    them, and a leaf predicts a number for each. Bring targets with different units to one scale
    first (except for "gamma"), because the largest one dominates otherwise.

    Levels of a categorical column are ordered by their mean, and the best set is a prefix of this
    order. For absolute errors and for several targets, all sets of up to eight levels are tried;
    more levels are ordered by their medians, or along the first principal component of their
    means. Missing values are tried on both sides; where none was missing in training they follow
    the larger part, and so do levels that were not seen. Ties go to the first column, then to the
    lowest threshold.

    Examples
    --------
    >>> from pellucid.tree import DecisionTreeRegressor
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], [0.0, 10.0, 10.0, 0.0]
    >>> DecisionTreeRegressor().fit(X, y).predict(X)
    array([ 0., 10., 10.,  0.])
    """

    criterion: str = changed(
        default="squared_error", check=Choice(*NUMBER_CRITERIA), description=NUMBER_LOSS
    )
    monotonic_cst: Any = changed(
        description="How the prediction of a single target may move with each column: 1 up, -1 down, "
        "0 either way. A list has one number for each column, a dict names columns."
    )

    _target = "several"
    _several_targets = True

    def _check_state(self) -> None:
        """Refuse learned arrays that do not belong together (model files)."""
        self._check_tree(self.n_outputs_)

    def _predict(self, X: np.ndarray) -> np.ndarray:
        values = prediction.values(self.tree_, X)
        return values[:, 0] if self.n_outputs_ == 1 else values

    def _value_name(self) -> str:
        return "median" if self.criterion == "absolute_error" else "mean"
