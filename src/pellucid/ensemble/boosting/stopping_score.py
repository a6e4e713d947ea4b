"""Scores for early stopping by any scorer of scikit-learn, from raw predictions of validation rows."""

from collections.abc import Callable
from typing import Any

import numpy as np

from pellucid.data import Problem
from pellucid.default_scores import scored, scorer_of


class RegressorView:
    """The estimator that a scorer sees; its X are raw predictions."""

    def __init__(self, model: Any, classes: np.ndarray | None) -> None:
        self._model, self.classes_ = model, classes

    def predict(self, raw: np.ndarray) -> np.ndarray:
        return self._model._inverse_link(raw[:, 0])

    def __sklearn_tags__(self) -> Any:
        return self._model.__sklearn_tags__()


class ClassifierView(RegressorView):
    """The same for a classifier."""

    def predict(self, raw: np.ndarray) -> np.ndarray:
        assert self.classes_ is not None
        return self.classes_[self.predict_proba(raw).argmax(axis=1)]

    def predict_proba(self, raw: np.ndarray) -> np.ndarray:
        return self._model._probabilities(raw)

    def decision_function(self, raw: np.ndarray) -> np.ndarray:
        return raw if raw.shape[1] > 1 else self._model._log_odds(raw)


def stopping_score(model: Any) -> Callable[[np.ndarray, Problem], float]:
    """The score (raw predictions, rows) -> number that `scoring` asks for.

    Rows of weight k are given k times, so that scorers without weights can be used.
    """
    scorer = scorer_of(model)

    def score(raw: np.ndarray, rows: Problem) -> float:
        raw = raw if rows.offset is None else raw + rows.offset[:, None]
        y = rows.y if rows.classes is None else rows.classes[rows.y]
        w: np.ndarray | None = rows.weights
        view = (RegressorView if rows.classes is None else ClassifierView)(model, rows.classes)
        if rows.counts:
            copies = rows.weights.astype(np.int64)
            raw, y, w = np.repeat(raw, copies, axis=0), np.repeat(y, copies), None
        return scored(scorer, view, raw, y, w)

    return score
