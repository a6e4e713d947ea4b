"""Bagging classifiers: the same learner on many bags of rows and columns, and their mean."""

from typing import Any, Self

import numpy as np

from pellucid.base import Classifier
from pellucid.ensemble import base_estimators
from pellucid.ensemble.bagging.base import Bagging
from pellucid.protocol import available_if
from pellucid.tree import DecisionTreeClassifier


class BaggingClassifier(Bagging, Classifier):
    """Mean of the class probabilities of learners fitted to random bags.

    p(k | x) = 1/B sum_b p_b(k | x); learner b sees `max_samples` samples drawn with replacement and
    `max_features` columns. A learner without probabilities has one vote.

    A row of weight k stands for k copies that are drawn alike, so weights mean repetition. Every
    learner has its own random stream: results do not depend on `n_jobs`.

    Parameters
    ----------
    estimator : classifier or None, default=None
        Ours or any with scikit-learn's protocol; None is DecisionTreeClassifier().
    n_estimators : int, default=10
    max_samples : int, share or None (as many draws as samples)
    max_features : int or share of the columns, default=1.0
    bootstrap : bool, default=True
        Draw samples with replacement.
    bootstrap_features : bool, default=False
        Draw columns with replacement.
    oob_score : bool, default=False
        Score each row by the learners that did not see it.
    warm_start : bool, default=False
        Keep the learners and add more.
    n_jobs : int or None
    random_state : int, generator or None
    verbose : int; nothing is printed, see `pellucid.watching`
    oob_importances : bool, default=False
        What each column is worth to the rows that a learner did not see.
    table : Table, optional

    Attributes
    ----------
    estimators_ : fitted learners; their labels are class codes
    estimators_features_ : columns of each learner
    oob_score_, oob_decision_function_ : with `oob_score`; NaN for rows that every learner saw
    oob_importances_, oob_importances_std_ : with `oob_importances`; by column, the mean over the
        learners of the rise of the share of wrong rows if the cells of the
        column change places among the rows out of the bag, and its standard deviation
    estimator_, classes_, n_classes_, n_features_in_, feature_names_in_, schema_

    Examples
    --------
    >>> from pellucid.ensemble import BaggingClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 5, [0, 0, 1, 1] * 5
    >>> BaggingClassifier(n_estimators=20, random_state=0).fit(X, y).predict([[0.5], [2.5]])
    array([0, 1])
    """

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 10,
        *,
        max_samples: Any = None,
        max_features: Any = 1.0,
        bootstrap: bool = True,
        bootstrap_features: bool = False,
        oob_score: bool = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        oob_importances: bool = False,
        table: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.bootstrap_features = bootstrap_features
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.oob_importances = oob_importances
        self.table = table

    def _learner(self) -> Any:
        return DecisionTreeClassifier() if self.estimator is None else self.estimator

    def _answers(self, learner: Any, X: Any, columns: Any, schema: Any, K: int) -> np.ndarray:
        return base_estimators.probabilities(learner, X, columns, schema, K)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Draw the bags, fit the learners."""
        return self._learn(X, y, weights=sample_weight)

    def _proba(self, X: Any) -> np.ndarray:
        return self._mean(X)

    @available_if(
        lambda self: base_estimators.has_scores(self._learner()),
        "Its base estimator has none.",
    )
    def decision_function(self, X: Any) -> np.ndarray:
        """Mean of the learners' decision scores; only if they have some."""
        encoded = self._encoded(X)
        found = [
            base_estimators.scores(
                learner, encoded, self._columns_of(i), self.schema_, len(self.classes_)
            )
            for i, learner in enumerate(self.estimators_)
        ]
        return sum(found[1:], found[0]) / len(found)

    def _check_state(self) -> None:
        self._check_learners(len(self.classes_))
