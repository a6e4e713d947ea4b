"""Forests that predict classes: random forests and extra trees differ only in their defaults."""

from dataclasses import replace
from typing import Any, Self

import numpy as np

from pellucid.base import ProbabilisticClassifier
from pellucid.data import Problem
from pellucid.ensemble.forest import FOREST_PARAMETERS, Forest
from pellucid.parameters import Choice, Either, Nothing
from pellucid.tree import DecisionTreeClassifier
from pellucid.tree.criteria import CLASS_CRITERIA
from pellucid.tree.limits import CLASS_WEIGHTS


class ForestClassifier(Forest, ProbabilisticClassifier):
    """Mean of the trees' class shares."""

    _parameters = FOREST_PARAMETERS | {
        "criterion": Choice(*CLASS_CRITERIA),
        "class_weight": Either(CLASS_WEIGHTS, Choice("balanced", "balanced_subsample"), Nothing),
    }

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Draw the bags, grow the trees."""
        return self._learn(X, y, weights=sample_weight)

    def _tree(self, state: int) -> DecisionTreeClassifier:
        return DecisionTreeClassifier(
            criterion=self.criterion, splitter=self._splitter, max_depth=self.max_depth,
            min_samples_split=self.min_samples_split, min_samples_leaf=self.min_samples_leaf,
            min_weight_fraction_leaf=self.min_weight_fraction_leaf,
            max_features=self.max_features, random_state=state,
            max_leaf_nodes=self.max_leaf_nodes,
            min_impurity_decrease=self.min_impurity_decrease,
            class_weight=self._tree_weights(),
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
            return self._fit_trees(replace(problem, classes=np.arange(len(problem.classes))))
        finally:
            del self._factors

    def _class_factors(self, problem: Problem) -> dict[int, float] | None:
        from pellucid.tree.growing import class_factors

        if self.class_weight in (None, "balanced_subsample"):
            return None
        factors = class_factors(self.class_weight, problem)
        return None if factors is None else dict(enumerate(factors.tolist()))

    def _fit_trees(self, problem: Problem) -> dict[str, Any]:
        assert problem.classes is not None
        trees, bags = self._grow_trees(problem)
        learned = {"trees_": trees, "n_classes_": len(problem.classes), "n_outputs_": 1}
        if not self.oob_score or not bags:
            return learned
        shares, seen = self._out_of_bag(problem, trees[-len(bags) :], bags)
        right = shares[seen].argmax(axis=1) == problem.y[seen]
        score = float(np.average(right, weights=problem.weights[seen])) if seen.any() else np.nan
        return learned | {
            "oob_score_": score,
            "oob_decision_function_": self._in_user_order(problem, shares),
        }

    def _check_state(self) -> None:
        self._check_trees(len(self.classes_))

    def _proba(self, X: np.ndarray) -> np.ndarray:
        return self._mean(X)

    def _explain(self, X: np.ndarray) -> dict[str, Any]:
        base, contributions = self._path_contributions(X)
        part = slice(1, None) if len(self.classes_) == 2 else slice(None)
        return {
            "base": base[part],
            "contributions": contributions[:, :, part],
            "prediction": self._proba(X)[:, part],
            "scale": "probability",
            "method": "mean changes of the class shares along the paths",
        }
