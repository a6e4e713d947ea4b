"""Forests that predict numbers: random forests and extra trees differ only in their defaults."""

from typing import Any, Self

import numpy as np

from pellucid.base import Regressor
from pellucid.data import Problem
from pellucid.ensemble.averaging import with_targets
from pellucid.ensemble.forest.base import Forest
from pellucid.parameters import Choice, changed, learned, param
from pellucid.tree import DecisionTreeRegressor
from pellucid.tree.criteria import NUMBER_CRITERIA


class ForestRegressor(Forest, Regressor):
    """Mean of the trees' predictions."""

    criterion: str = param(
        "squared_error",
        Choice(*NUMBER_CRITERIA),
        "Loss that splits reduce. All but 'absolute_error' accept several targets.",
        after="n_estimators",
    )
    max_features: Any = changed(default=1.0)
    monotonic_cst: Any = changed(
        description="How the prediction of a single target may move with each column: 1 up, -1 down, "
        "0 either way. A list has one number for each column, a dict names columns."
    )

    oob_prediction_: np.ndarray = learned(
        "Out-of-bag prediction for each row, if `oob_score` is set; NaN for a row that every tree saw."
    )

    _target = "several"
    _several_targets = True

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Draw the bags, grow the trees."""
        return self._learn(X, y, weights=sample_weight)

    def _tree(self) -> DecisionTreeRegressor:
        return DecisionTreeRegressor(
            criterion=self.criterion, splitter=self._splitter, max_depth=self.max_depth,
            min_samples_split=self.min_samples_split, min_samples_leaf=self.min_samples_leaf,
            min_weight_fraction_leaf=self.min_weight_fraction_leaf,
            max_features=self.max_features, random_state=0,
            max_leaf_nodes=self.max_leaf_nodes,
            min_impurity_decrease=self.min_impurity_decrease, monotonic_cst=self.monotonic_cst,
        )  # fmt: skip

    def _fit(self, problem: Problem) -> dict[str, Any]:
        return self._grow_trees(with_targets(problem))

    def _check_state(self) -> None:
        self._check_trees(self.n_outputs_)

    def _predict(self, X: np.ndarray) -> np.ndarray:
        mean = self._mean(X)
        return mean[:, 0] if self.n_outputs_ == 1 else mean
