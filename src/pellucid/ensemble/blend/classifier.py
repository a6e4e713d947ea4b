"""Blend of classifiers: a weighted mean of their class probabilities."""

from typing import Any

import numpy as np

from pellucid.base import Classifier
from pellucid.data import Problem
from pellucid.ensemble.blend import base_models, selection
from pellucid.ensemble.blend.base import Blend
from pellucid.ensemble.boosting.hist_gradient_boosting import HistGradientBoostingClassifier
from pellucid.ensemble.forest.extra_trees import ExtraTreesClassifier
from pellucid.tree import DecisionTreeClassifier


class BlendClassifier(Blend, Classifier):
    """Weighted mean of the class probabilities of different classifiers.

    p(k | x) = sum_m w_m p_m(k | x); w_m is the share of classifier m in at most `max_picks` greedy
    picks (with replacement), each of which gives the lowest log loss of the mean of out-of-fold
    probabilities. Classifiers that are never picked are not in the blend. A classifier without
    probabilities has one vote. With fewer than 4 different rows all weights are equal.

    Examples
    --------
    >>> from pellucid.ensemble import BlendClassifier
    >>> from pellucid.tree import DecisionTreeClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 5, [0, 0, 1, 1] * 5
    >>> stump, tree = DecisionTreeClassifier(max_depth=1), DecisionTreeClassifier()
    >>> BlendClassifier([("stump", stump), ("tree", tree)]).fit(X, y).predict([[0.5], [2.5]])
    array([0, 1])
    """

    _loss = staticmethod(selection.log_loss)
    # The checks fit hundreds of times; two small trees show the same faults.
    _check_params = {
        "estimators": [
            ("stump", DecisionTreeClassifier(max_depth=1)),
            ("tree", DecisionTreeClassifier(min_samples_leaf=3)),
        ],
        "n_folds": 3,
    }

    def _default(self) -> list[tuple[str, Any]]:
        return [
            ("tree", DecisionTreeClassifier(min_samples_leaf=10)),
            ("extra_trees", ExtraTreesClassifier()),
            ("gradient_boosting", HistGradientBoostingClassifier()),
        ]

    def _values(self, base: Any, problem: Problem, columns: np.ndarray) -> np.ndarray:
        assert problem.classes is not None
        found = base_models.probabilities(
            base, problem.table, problem.schema, columns, problem.classes
        )
        return found[np.arange(problem.n), problem.y]

    def _predictions(self, i: int, X: np.ndarray) -> np.ndarray:
        base, columns = self.estimators_[i], self.estimators_features_[i]
        return base_models.probabilities(base, X, self.schema_, columns, self.classes_)

    def _proba(self, X: np.ndarray) -> np.ndarray:
        return self._mean(X)
