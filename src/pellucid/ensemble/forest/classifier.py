"""Forests that predict classes: random forests and extra trees differ only in their defaults."""

from typing import Any

import numpy as np

from pellucid.base import Classifier
from pellucid.ensemble import stages
from pellucid.ensemble.averaging import OOB_PROBABILITIES
from pellucid.ensemble.forest.base import Forest
from pellucid.parameters import Choice, ClassWeight, changed, learned, param, shared
from pellucid.tree.criteria import CLASS_CRITERIA, CLASS_IMPURITY


class ForestClassifier(Forest, Classifier):
    """Mean of the class frequencies of the trees."""

    criterion: str = param("gini", Choice(*CLASS_CRITERIA), CLASS_IMPURITY, after="n_estimators")
    max_features: Any = changed(default="sqrt")
    class_weight: Any = shared.CLASS_WEIGHT.replace(
        check=ClassWeight | Choice("balanced_subsample"),
        description="Factors for the weights of the rows by class. 'balanced' gives every class the "
        "same total weight, 'balanced_subsample' does so in the bootstrap sample of each tree. With "
        "bootstrap=True the others set how often rows are drawn.",
        after="warm_start",
    )
    monotonic_cst: Any = changed(
        description="How the probability of the second of two classes may move with each column: "
        "1 up, -1 down, 0 either way. A list has one number for each column, a dict names columns."
    )

    n_classes_: int = learned("Number of classes.")
    oob_decision_function_: np.ndarray = learned(OOB_PROBABILITIES)

    def _proba(self, X: np.ndarray) -> np.ndarray:
        return self._mean(X)

    staged_predict_proba = stages.staged_predict_proba
    staged_predict = stages.staged_labels
