"""Forests that predict numbers: random forests and extra trees differ only in their defaults."""

from typing import Any, Self

import numpy as np

from pellucid.base import Regressor
from pellucid.data import Problem
from pellucid.ensemble.averaging import with_targets
from pellucid.ensemble.forest.base import FOREST_PARAMETERS, Forest
from pellucid.parameters import Choice
from pellucid.tree import DecisionTreeRegressor
from pellucid.tree.criteria import NUMBER_CRITERIA


class ForestRegressor(Forest, Regressor):
    """Mean of the trees' predictions."""

    _target = "several"
    _several_targets = True
    _parameters = FOREST_PARAMETERS | {"criterion": Choice(*NUMBER_CRITERIA)}

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = 1.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = True,
        oob_score: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        ccp_alpha: float = 0.0,
        max_samples: Any = None,
        monotonic_cst: Any = None,
        oob_importances: bool = False,
        table: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.ccp_alpha = ccp_alpha
        self.max_samples = max_samples
        self.monotonic_cst = monotonic_cst
        self.oob_importances = oob_importances
        self.table = table

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
