"""What linear classifiers share: scores, their explanation and the check of loaded coefficients."""

from typing import Any, Self

import numpy as np

from pellucid import parallel
from pellucid.base import Classifier
from pellucid.data.row_view import blocks_of
from pellucid.linear_model.base import additive_parts
from pellucid.numerics.linear_scores import linear_scores
from pellucid.parameters import CLASS_WEIGHT, FIT_INTERCEPT, STATUS, learned
from pellucid.persist.fitted_state import expect_array, n_terms
from pellucid.records import Status

CLASS_FACTORS = CLASS_WEIGHT.replace(
    description="Factors for the weights of the rows by class. 'balanced' gives every class the same "
    "total weight."
)


def column_means(X: Any, w: np.ndarray) -> np.ndarray:
    """Weighted means of the columns. Weights are normalised first, so that no sum overflows."""
    share = w / w.max()
    share /= 2 * share.sum()
    half = parallel.reduce(lambda rows: X[rows].T @ share[rows], np.add, blocks_of(X))
    top = np.finfo(float).max / 2
    return 2 * np.clip(half, -top, top)


class LinearClassifier(Classifier):
    """Base of all classifiers that predict the class of the largest x . coef_ + intercept_."""

    _takes_text = True
    _scale = "link"  # name of the scale of the scores, for explanations
    _finite_coef = False  # whether a model file must have finite coefficients

    fit_intercept: bool = FIT_INTERCEPT

    coef_: np.ndarray = learned(
        "Coefficients of the encoded columns in the order of `terms_`, shape (1, n_terms) for two "
        "classes, else (n_classes, n_terms)."
    )
    intercept_: np.ndarray = learned("Intercepts, shape (1,) for two classes, else (n_classes,).")
    means_: np.ndarray = learned("Weighted means of the encoded columns in training.")
    status_: Status = learned(STATUS)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the coefficients, and all else that the class learns."""
        return self._learn(X, y, weights=sample_weight)

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of the classes, shape (n, K); for two classes those of the second, shape (n,)."""
        return self._answer(self._scores, X, direct=True)

    def _propagates_nan(self) -> bool:
        """True unless a coefficient is 0: then scores do not depend on that column's cells."""
        return bool(np.all(self.coef_))

    def _scores(self, X: Any) -> np.ndarray:
        if len(self.classes_) == 2:
            return linear_scores(X, self.coef_[0], self.intercept_[0])
        return linear_scores(X, self.coef_, self.intercept_)

    def _explain(self, X: Any) -> dict[str, Any]:
        return additive_parts(self, X, self._scale)

    def _check_state(self) -> None:
        """Refuse coefficients that do not fit the columns and classes (model files)."""
        K, p = len(self.classes_), n_terms(self)
        expect_array(self, "coef_", 1 if K == 2 else K, p, finite=self._finite_coef)
        expect_array(self, "intercept_", 1 if K == 2 else K, finite=self._finite_coef)
        expect_array(self, "means_", p, finite=True)
