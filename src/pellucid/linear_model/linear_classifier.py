"""What linear classifiers share: scores and their explanation."""

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.base import Classifier
from pellucid.data.row_view import blocks_of
from pellucid.linear_model.base import additive_parts
from pellucid.numerics.linear_scores import linear_scores
from pellucid.parameters import learned
from pellucid.persist.fitted_state import expect_array, n_terms


def column_means(X: Any, w: np.ndarray) -> np.ndarray:
    """Weighted means; shares before the sum, so that it cannot overflow."""
    share = w / w.max()
    share /= 2 * share.sum()
    half = parallel.reduce(lambda rows: X[rows].T @ share[rows], np.add, blocks_of(X))
    top = np.finfo(float).max / 2
    return 2 * np.clip(half, -top, top)


class LinearScores(Classifier):
    """Base of all classifiers by the largest of x . coef_ + intercept_."""

    _takes_text = True
    _scale = "link"  # of the scores

    coef_: np.ndarray = learned(
        "Coefficients of the encoded columns in the order of `terms_`, shape (1, n_terms) for two "
        "classes, else (n_classes, n_terms)."
    )
    intercept_: np.ndarray = learned("Intercepts, shape (1,) for two classes, else (n_classes,).")
    means_: np.ndarray = learned("Weighted means of the encoded columns in training.")

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
