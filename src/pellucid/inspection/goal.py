"""What a counterfactual must reach: another class, or a number on the other side of a threshold."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from pellucid.errors import ParameterError, shown


class Goal(ABC):
    """Judges the predictions of changed rows.

    Attributes
    ----------
    estimator : the fitted model.
    before : the prediction of the unchanged row.
    reached_before : whether it needs no change.
    """

    def __init__(self, estimator: Any, row: Any) -> None:
        self.estimator = estimator
        self.before = self.value(row)

    def value(self, row: Any) -> Any:
        """The prediction of a table of one row."""
        predicted = np.asarray(self.estimator.predict(row))
        if predicted.shape != (1,):
            raise ParameterError("Counterfactuals need a model that predicts one value per row.")
        return predicted.tolist()[0]

    @property
    @abstractmethod
    def reached_before(self) -> bool:
        """Whether the unchanged row reaches the goal."""

    @abstractmethod
    def hits(self, X: Any) -> np.ndarray:
        """Whether each row reaches the goal."""

    @abstractmethod
    def progress(self, X: Any) -> np.ndarray:
        """For each row a number that grows as it comes nearer to the goal."""


class AnotherClass(Goal):
    """A given class, or any other than before."""

    def __init__(self, estimator: Any, row: Any, target: Any) -> None:
        super().__init__(estimator, row)
        self.target = target
        classes = np.asarray(estimator.classes_).tolist()
        if target is not None and target not in classes:
            known = ", ".join(map(shown, classes[:10]))
            raise ParameterError(f"target must be one of {known}. Got {shown(target)} instead.")
        self._column = classes.index(self.before if target is None else target)

    @property
    def reached_before(self) -> bool:
        return self.target is not None and bool(self.before == self.target)

    def hits(self, X: Any) -> np.ndarray:
        labels = np.asarray(self.estimator.predict(X))
        return labels != self.before if self.target is None else labels == self.target

    def progress(self, X: Any) -> np.ndarray:
        """The probability or score of the target, or minus that of the class before; 0 without."""
        sign = -1.0 if self.target is None else 1.0
        for method in ("predict_proba", "decision_function"):
            if hasattr(self.estimator, method):
                scores = np.asarray(getattr(self.estimator, method)(X), dtype=float)
                scores = np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
                return np.asarray(sign * scores[:, self._column])
        return np.zeros(len(X))


class NumberBetween(Goal):
    """A prediction from `low` to `high`."""

    def __init__(self, estimator: Any, row: Any, target: Any) -> None:
        super().__init__(estimator, row)
        self.low, self.high = _ends(target, float(self.before))

    @property
    def reached_before(self) -> bool:
        return bool(self.low <= self.before <= self.high)

    def hits(self, X: Any) -> np.ndarray:
        return self.progress(X) == 0

    def progress(self, X: Any) -> np.ndarray:
        predicted = np.asarray(self.estimator.predict(X), dtype=float)
        beyond = np.maximum(np.maximum(self.low - predicted, predicted - self.high), 0.0)
        return np.asarray(-beyond)


def _ends(target: Any, before: float) -> tuple[float, float]:
    """The range that a number, or a pair of ends, stands for."""
    try:
        if isinstance(target, (tuple, list)):
            low, high = target
            low, high = (
                -np.inf if low is None else float(low),
                np.inf if high is None else float(high),
            )
            if low <= high:
                return low, high
        elif np.isfinite(float(target)):
            threshold = float(target)
            below = float(np.nextafter(threshold, -np.inf))
            return (threshold, np.inf) if before < threshold else (-np.inf, below)
    except (TypeError, ValueError):
        pass
    raise ParameterError(
        "For a regression, target must be a number that the prediction must cross, or (low, high). "
        f"Got {shown(target)} instead."
    )


def goal_of(estimator: Any, row: Any, target: Any) -> Goal:
    """The goal for one row."""
    kind = AnotherClass if hasattr(estimator, "classes_") else NumberBetween
    return kind(estimator, row, target)
