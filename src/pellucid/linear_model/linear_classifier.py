"""What linear classifiers share: scores, explanation, weights of classes."""

from typing import Any

import numpy as np

from pellucid.base import Classifier
from pellucid.data import Problem
from pellucid.errors import DataError
from pellucid.linear_model.predictor import additive_parts
from pellucid.numerics.scores import linear_scores
from pellucid.parameters import Choice, Either, Nothing, Test
from pellucid.persist.state import expect_array, n_terms

ClassWeight = Either(Nothing, Choice("balanced"), Test(lambda v: isinstance(v, dict), "a dict"))


def class_factors(class_weight: Any, problem: Problem) -> np.ndarray:
    """One factor per class; "balanced" makes the weights of all classes equal."""
    assert problem.classes is not None
    K = len(problem.classes)
    if class_weight is None:
        return np.ones(K)
    if isinstance(class_weight, str):
        counts = np.bincount(problem.y, problem.weights, minlength=K)
        return problem.weights.sum() / (K * np.where(counts > 0, counts, 1.0))
    labels = problem.classes.tolist()
    strange = [label for label in class_weight if label not in labels]
    if strange:
        raise DataError(
            f"The classes, {strange}, of class_weight are not among the labels {labels}."
        )
    return np.array([float(class_weight.get(label, 1.0)) for label in labels])


def class_weighted(class_weight: Any, problem: Problem) -> np.ndarray:
    """The weights of the rows, each times the factor of its class."""
    if class_weight is None:
        return problem.weights
    return problem.weights * class_factors(class_weight, problem)[problem.y]


def column_means(X: Any, w: np.ndarray) -> np.ndarray:
    """Weighted means; shares before the sum, so that it cannot overflow."""
    share = w / w.max()
    half = X.T @ (share / (2 * share.sum()))
    top = np.finfo(float).max / 2
    return 2 * np.clip(np.asarray(half).ravel(), -top, top)


class LinearScores(Classifier):
    """Base of all classifiers by the largest of x . coef_ + intercept_."""

    _takes_text = True
    _scale = "link"  # of the scores

    coef_: np.ndarray
    intercept_: np.ndarray
    means_: np.ndarray

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of the classes (n, K); for two classes that of the second (n,)."""
        return self._answer(self._scores, X, direct=True)

    def _reveals(self) -> bool:
        """Scores do, and all else asks for finite ones; not if a factor of 0 passes a cell over."""
        return bool(np.all(self.coef_))

    def _scores(self, X: Any) -> np.ndarray:
        if len(self.classes_) == 2:
            return linear_scores(X, self.coef_[0], self.intercept_[0])
        return linear_scores(X, self.coef_, self.intercept_)

    def _explain(self, X: Any) -> dict[str, Any]:
        return additive_parts(self, X, self._scale)


class LinearClassifier(LinearScores):
    """A linear classifier without probabilities of its own."""

    def _check_state(self) -> None:
        K, p = len(self.classes_), n_terms(self)
        expect_array(self, "coef_", 1 if K == 2 else K, p)
        expect_array(self, "intercept_", 1 if K == 2 else K)
        expect_array(self, "means_", p, finite=True)
