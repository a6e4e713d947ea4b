"""Bagging for classification: one base estimator on many bags of rows and columns."""

from typing import Any

import numpy as np

from pellucid.base import Classifier
from pellucid.ensemble import base_estimators, stages
from pellucid.ensemble.averaging import OOB_PROBABILITIES
from pellucid.ensemble.bagging.base import Bagging
from pellucid.parameters import learned
from pellucid.protocol import available_if
from pellucid.tree import DecisionTreeClassifier


class BaggingClassifier(Bagging, Classifier):
    """Mean of the class probabilities of base estimators fitted to random bags.

    p(k | x) = 1/B sum_b p_b(k | x); base estimator b sees `max_samples` samples drawn with
    replacement and `max_features` columns. A base estimator without probabilities has one vote.

    A row of weight k stands for k copies, each of which may be drawn. Results do not depend on
    `n_jobs`, because every base estimator has its own random stream.

    Examples
    --------
    >>> from pellucid.ensemble import BaggingClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 5, [0, 0, 1, 1] * 5
    >>> BaggingClassifier(n_estimators=20, random_state=0).fit(X, y).predict([[0.5], [2.5]])
    array([0, 1])
    """

    n_classes_: int = learned("Number of classes.")
    oob_decision_function_: np.ndarray = learned(OOB_PROBABILITIES)

    def _base_estimator(self) -> Any:
        return DecisionTreeClassifier() if self.estimator is None else self.estimator

    def _predictions(self, base: Any, X: Any, columns: Any, schema: Any, K: int) -> np.ndarray:
        return base_estimators.probabilities(base, X, columns, schema, K)

    def _proba(self, X: Any) -> np.ndarray:
        return self._mean(X)

    staged_predict_proba = stages.staged_predict_proba
    staged_predict = stages.staged_labels

    @available_if(
        lambda self: hasattr(self._base_estimator(), "decision_function"),
        "Its base estimator has none.",
    )
    def decision_function(self, X: Any) -> np.ndarray:
        """Mean of the decision scores of the base estimators, if they have any."""
        encoded = self._encoded(X)
        found = [
            base_estimators.scores(
                base, encoded, self._columns_of(i), self.schema_, len(self.classes_)
            )
            for i, base in enumerate(self.estimators_)
        ]
        return sum(found[1:], found[0]) / len(found)
