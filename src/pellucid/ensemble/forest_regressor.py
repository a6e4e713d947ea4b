"""Forests that predict numbers: random forests and extra trees differ only in their defaults."""

from typing import Any, Self

import numpy as np

from pellucid.base import Regressor
from pellucid.data import Problem
from pellucid.ensemble.forest import FOREST_PARAMETERS, Forest
from pellucid.parameters import Choice
from pellucid.tree import DecisionTreeRegressor
from pellucid.tree.criteria import NUMBER_CRITERIA


class ForestRegressor(Forest, Regressor):
    """Mean of the trees' predictions."""

    _parameters = FOREST_PARAMETERS | {"criterion": Choice(*NUMBER_CRITERIA)}

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
        return self._grow_trees(problem)

    def _check_state(self) -> None:
        self._check_trees(1)

    def _predict(self, X: np.ndarray) -> np.ndarray:
        return self._mean(X)[:, 0]
