"""Boosting of classes: one output for two classes, one per class for more; stages, explanations."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from pellucid import default_scores
from pellucid.base import Classifier
from pellucid.data import Problem
from pellucid.data.class_weights import class_weighted
from pellucid.ensemble.boosting.base import Boosting
from pellucid.errors import ParameterError
from pellucid.numerics.objectives.links import expit
from pellucid.numerics.objectives.losses import log_softmax, softmax


class ClassBoosting(Boosting, Classifier):
    """Family of boosting classifiers with the log loss, or the exponential one."""

    def _objective(self, problem: Problem) -> Any:
        from pellucid.ensemble.boosting import losses

        assert problem.classes is not None
        K = len(problem.classes)
        if K > 2 and problem.offset is not None:
            raise ParameterError(
                f"offset needs two classes, but y has {K}: the same number added to every class "
                "changes nothing."
            )
        if self.loss == "exponential" and K > 2:
            raise ParameterError(
                f"loss='exponential' needs two classes, but y has {K}. Use loss='log_loss'."
            )
        if K > 2:
            return losses.softmax(K)
        return losses.EXPONENTIAL if self.loss == "exponential" else losses.LOGISTIC

    def _weighted(self, problem: Problem) -> Problem:
        """Class weights multiply the weights of rows."""
        if self.class_weight is None:
            return problem
        weights = class_weighted(self.class_weight, problem)
        assert problem.classes is not None
        nothing = np.bincount(problem.y, weights, minlength=len(problem.classes)) <= 0
        if nothing.any():
            label = problem.classes[nothing].tolist()[0]
            raise ParameterError(
                f"class_weight gives class {label!r} the weight 0: the logarithm of its share is not "
                "finite. Leave its rows out, or give it a small weight."
            )
        return problem.reweight(weights)

    def _shaped(self, raw: np.ndarray) -> np.ndarray:
        """Decision scores: (n,) for two classes."""
        return raw[:, 0] if raw.shape[1] == 1 else raw

    def _shares(self, raw: np.ndarray) -> np.ndarray:
        """Probabilities (n, K) from raw predictions."""
        if raw.shape[1] > 1:
            return softmax(raw)
        odds = self._log_odds(raw)
        return np.column_stack((expit(-odds), expit(odds)))

    def _log_odds(self, raw: np.ndarray) -> np.ndarray:
        """Of the second class of two: the exponential loss is lowest at half of them."""
        return 2.0 * raw[:, 0] if self.loss == "exponential" else raw[:, 0]

    def _proba(self, X: np.ndarray) -> np.ndarray:
        return self._shares(self._raw(X))

    def _log_proba(self, X: np.ndarray, offset: Any = None) -> np.ndarray:
        raw = self._finite(self._shifted(X, offset))
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

    def predict_log_proba(self, X: Any, *, offset: Any = None) -> np.ndarray:
        """Logarithm of `predict_proba`."""
        return self._log_proba(self._encoded(X), offset)

    def predict_proba(self, X: Any, *, offset: Any = None) -> np.ndarray:
        """Probability of each class, in the order of `classes_`."""
        return self._answer(lambda X: self._shares(self._shifted(X, offset)), X)

    def decision_function(self, X: Any, *, offset: Any = None) -> np.ndarray:
        """Raw predictions: log-odds of the second class for two classes (half of them with the
        exponential loss), else (n, K)."""
        return self._answer(lambda X: self._shaped(self._shifted(X, offset)), X)

    def _shifted(self, X: np.ndarray, offset: Any) -> np.ndarray:
        self._check_offset(offset)
        return self._raw(X, offset)

    def _rounds(self, X: Any, offset: Any) -> Iterator[np.ndarray]:
        self._check_offset(offset)
        return self._stages(X, offset)

    def _check_offset(self, offset: Any) -> None:
        if offset is not None and len(self.classes_) > 2:
            raise ParameterError("offset needs two classes.")

    def staged_decision_function(self, X: Any, *, offset: Any = None) -> Iterator[np.ndarray]:
        """Decision scores after every round."""
        for raw in self._rounds(X, offset):
            yield self._shaped(raw)

    def staged_predict_proba(self, X: Any, *, offset: Any = None) -> Iterator[np.ndarray]:
        """Probabilities after every round."""
        for raw in self._rounds(X, offset):
            yield self._shares(raw)

    def staged_predict(self, X: Any, *, offset: Any = None) -> Iterator[np.ndarray]:
        """Labels after every round."""
        for raw in self._rounds(X, offset):
            yield self.classes_[self._shares(raw).argmax(axis=1)]

    def _own_score(self, raw: np.ndarray, rows: Problem) -> float:
        """Accuracy on rows with these raw predictions."""
        raw = raw if rows.offset is None else raw + rows.offset[:, None]
        right = self._shares(raw).argmax(axis=1) == rows.y
        return float(np.average(right, weights=rows.weights))

    def _explain(self, X: np.ndarray) -> dict[str, Any]:
        return self._parts(X, "link" if self.loss == "exponential" else "log-odds")

    def _check_state(self) -> None:
        """Refuse learned arrays that do not belong together (model files)."""
        K = len(self.classes_)
        self._check_boosted(1 if K == 2 else K)
