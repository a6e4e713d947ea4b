"""Forests that predict classes: random forests and extra trees differ only in their defaults."""

from typing import Any, Self

import numpy as np

from pellucid.base import Classifier
from pellucid.data import Problem
from pellucid.data.class_weights import class_factors
from pellucid.ensemble.forest.base import Forest
from pellucid.parameters import CLASS_WEIGHT, Choice, ClassWeight, Either, changed, learned, param
from pellucid.tree import DecisionTreeClassifier
from pellucid.tree.criteria import CLASS_CRITERIA


class ForestClassifier(Forest, Classifier):
    """Mean of the trees' class shares."""

    criterion: str = param(
        "gini",
        Choice(*CLASS_CRITERIA),
        "Impurity that splits reduce: 'gini' is 1 - sum p^2, 'entropy' and 'log_loss' are "
        "-sum p log2 p, 'error' is 1 - max p.",
        after="n_estimators",
    )
    max_features: Any = changed(default="sqrt")
    class_weight: Any = CLASS_WEIGHT.replace(
        check=Either(ClassWeight, Choice("balanced_subsample")),
        description="Factors for the weights of the rows by class. 'balanced' gives every class the "
        "same total weight, 'balanced_subsample' does so in the bootstrap sample of each tree.",
        after="warm_start",
    )
    monotonic_cst: Any = changed(
        description="How the probability of the second of two classes may move with each column: "
        "1 up, -1 down, 0 either way. A list has one number for each column, a dict names columns."
    )

    n_classes_: int = learned("Number of classes.")
    oob_decision_function_: np.ndarray = learned(
        "Out-of-bag probabilities of the classes for each row, shape (n_samples, n_classes), if "
        "`oob_score` is set; NaN for a row that every tree saw."
    )

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
