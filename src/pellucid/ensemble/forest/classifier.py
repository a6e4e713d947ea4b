"""Forests that predict classes: random forests and extra trees differ only in their defaults."""

from typing import Any, Self

import numpy as np

from pellucid.base import ProbabilisticClassifier
from pellucid.data import Problem
from pellucid.data.class_weights import class_factors
from pellucid.ensemble.forest.base import FOREST_PARAMETERS, Forest
from pellucid.parameters import Choice, ClassWeight, Either
from pellucid.tree import DecisionTreeClassifier
from pellucid.tree.criteria import CLASS_CRITERIA


class ForestClassifier(Forest, ProbabilisticClassifier):
    """Mean of the trees' class shares."""

    _parameters = FOREST_PARAMETERS | {
        "criterion": Choice(*CLASS_CRITERIA),
        "class_weight": Either(ClassWeight, Choice("balanced_subsample")),
    }

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "gini",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = "sqrt",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = True,
        oob_score: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        class_weight: Any = None,
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
        self.class_weight = class_weight
        self.ccp_alpha = ccp_alpha
        self.max_samples = max_samples
        self.monotonic_cst = monotonic_cst
        self.oob_importances = oob_importances
        self.table = table

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Draw the bags, grow the trees."""
        return self._learn(X, y, weights=sample_weight)

    def _tree(self) -> DecisionTreeClassifier:
        return DecisionTreeClassifier(
            criterion=self.criterion, splitter=self._splitter, max_depth=self.max_depth,
            min_samples_split=self.min_samples_split, min_samples_leaf=self.min_samples_leaf,
            min_weight_fraction_leaf=self.min_weight_fraction_leaf,
            max_features=self.max_features, random_state=0,
            max_leaf_nodes=self.max_leaf_nodes,
            min_impurity_decrease=self.min_impurity_decrease,
            class_weight=self._tree_weights(), monotonic_cst=self.monotonic_cst,
        )  # fmt: skip

    def _tree_weights(self) -> Any:
        """Class weights of a tree: of its own bag, or those of the whole table by code."""
        if self.class_weight == "balanced_subsample":
            return "balanced"
        return vars(self).get("_factors")

    def _fit(self, problem: Problem) -> dict[str, Any]:
        assert problem.classes is not None
        self._factors = self._class_factors(problem)
        try:
            K = len(problem.classes)
            return self._grow_trees(problem) | {"n_classes_": K}
        finally:
            del self._factors

    def _class_factors(self, problem: Problem) -> dict[int, float] | None:
        if self.class_weight in (None, "balanced_subsample"):
            return None
        return dict(enumerate(class_factors(self.class_weight, problem).tolist()))

    def _check_state(self) -> None:
        self._check_trees(len(self.classes_))

    def _proba(self, X: np.ndarray) -> np.ndarray:
        return self._mean(X)
