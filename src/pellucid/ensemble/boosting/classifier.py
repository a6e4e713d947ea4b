"""Predictions of boosted classifiers: one output for two classes, otherwise one for each class."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from pellucid import default_scores
from pellucid.base import Classifier
from pellucid.beyond_memory import lazy_for_dask
from pellucid.data import Problem
from pellucid.ensemble.boosting import base
from pellucid.errors import ParameterError
from pellucid.numerics.objectives.links import expit
from pellucid.numerics.objectives.losses import log_softmax, softmax


class BoostingClassifier(Classifier):
    """Family of boosting classifiers with the log loss, or the exponential one.

    `predict` and its relatives are written again because they accept an offset.
    """

    def _objective(self, problem: Problem) -> Any:
        from pellucid.ensemble.boosting import losses

        K = problem.n_classes
        if K > 2 and problem.offset is not None:
            raise ParameterError(
                f"offset needs two classes, but y has {K}. The same number added to every class "
                "changes nothing."
            )
        if self.loss == "exponential" and K > 2:
            raise ParameterError(
                f"loss='exponential' needs two classes, but y has {K}. Use loss='log_loss'."
            )
        if K > 2:
            return losses.softmax(K)
        return losses.EXPONENTIAL if self.loss == "exponential" else losses.LOGISTIC

    def _validation_score(self, raw: np.ndarray, rows: Problem) -> float:
        """Accuracy on rows with these raw predictions."""
        raw = raw if rows.offset is None else raw + rows.offset[:, None]
        right = self._probabilities(raw).argmax(axis=1) == rows.y
        return float(np.average(right, weights=rows.weights))

    def _probabilities(self, raw: np.ndarray) -> np.ndarray:
        """Probabilities (n, K) from raw predictions."""
        if raw.shape[1] > 1:
            return softmax(raw)
        odds = self._log_odds(raw)
        return np.column_stack((expit(-odds), expit(odds)))

    def _log_odds(self, raw: np.ndarray) -> np.ndarray:
        """Log-odds of the second class of two; the exponential loss is minimal at half of them."""
        return 2.0 * raw[:, 0] if self.loss == "exponential" else raw[:, 0]

    def _proba(self, X: np.ndarray) -> np.ndarray:
        return self._probabilities(base.raw_predictions(self, X))

    def _log_proba(self, X: np.ndarray, offset: Any = None) -> np.ndarray:
        raw = self._finite(base.raw_predictions(self, X, offset))
        if raw.shape[1] > 1:
            return log_softmax(raw)
        odds = self._log_odds(raw)
        return -np.column_stack((np.logaddexp(0, odds), np.logaddexp(0, -odds)))

    def predict(self, X: Any, *, offset: Any = None) -> np.ndarray:
        """The predicted label of each row."""
        if offset is None:
            return super().predict(X)
        return self.classes_[self.predict_proba(X, offset=offset).argmax(axis=1)]

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> float:
        """Share of rows (by weight) whose label is predicted."""
        return default_scores.accuracy(self, X, y, sample_weight, offset)

    @lazy_for_dask
    def predict_proba(self, X: Any, *, offset: Any = None) -> np.ndarray:
        """Probability of each class, in the order of `classes_`."""
        return self._answer(lambda X: self._probabilities(base.raw_predictions(self, X, offset)), X)

    def predict_log_proba(self, X: Any, *, offset: Any = None) -> np.ndarray:
        """Logarithm of `predict_proba`."""
        return self._log_proba(self._encoded(X), offset)

    def decision_function(self, X: Any, *, offset: Any = None) -> np.ndarray:
        """Raw predictions: log-odds of the second class for two classes (half of them with the
        exponential loss), otherwise (n, K)."""
        return self._answer(lambda X: _narrow(base.raw_predictions(self, X, offset)), X)

    def staged_decision_function(self, X: Any, *, offset: Any = None) -> Iterator[np.ndarray]:
        """Decision scores after every round."""
        for raw in base.staged_raw_predictions(self, X, offset):
            yield _narrow(raw)

    def staged_predict_proba(self, X: Any, *, offset: Any = None) -> Iterator[np.ndarray]:
        """Probabilities after every round."""
        for raw in base.staged_raw_predictions(self, X, offset):
            yield self._probabilities(raw)

    def staged_predict(self, X: Any, *, offset: Any = None) -> Iterator[np.ndarray]:
        """Labels after every round."""
        for probabilities in self.staged_predict_proba(X, offset=offset):
            yield self.classes_[probabilities.argmax(axis=1)]

    explain = base.explain

    def _explain(self, X: np.ndarray, method: str = "path") -> dict[str, Any]:
        scale = "link" if self.loss == "exponential" else "log-odds"
        return base.explanation_parts(self, X, method, scale)


def _narrow(raw: np.ndarray) -> np.ndarray:
    """Decision scores: (n,) for two classes."""
    return raw[:, 0] if raw.shape[1] == 1 else raw
