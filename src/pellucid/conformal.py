"""Prediction intervals and sets from errors on rows that a model has not seen.

A comparison stores the sorted errors of its out-of-fold predictions on the model: |y - prediction|, or
1 - probability of the own class. Their q-th smallest, q = ceil((n + 1) level), bounds the error of a
new row: an interval is the prediction plus and minus this bound, a set has the classes whose error would
not exceed it. The model itself has seen more rows than the models of the folds, so its errors are rather
smaller, and the share of new rows that is covered is about `level` or a little more. This holds on
average over rows like those of the training table, not for each kind of row.
"""

from typing import Any

import numpy as np

from pellucid.errors import ParameterError, PellucidError
from pellucid.protocol import available_if

UNSEEN_ERRORS = (
    "Sorted errors on rows that the models of a comparison's folds had not seen: |y - prediction|, or "
    "1 - probability of the own class."
)
CALIBRATION = (
    "Slope, then the bias of each class, of the probabilities that a comparison gives to a model "
    "without probabilities of its own: softmax(slope x scores + biases)."
)
THRESHOLD = (
    "Probability of the second of two classes from which it is predicted, if a comparison chose it for "
    "given costs."
)
WHY = "Only a model that a comparison saved has it."
MOST = 10_000  # errors that a model keeps: every k-th of more


def kept(errors: np.ndarray) -> np.ndarray:
    """The sorted errors; of many an even part, whose quantiles are rounded up."""
    ordered = np.sort(np.asarray(errors, dtype=np.float64))
    if len(ordered) <= MOST:
        return ordered
    places = np.ceil(np.arange(1, MOST + 1) * len(ordered) / MOST).astype(np.int64) - 1
    return ordered[places]


def bound(errors: np.ndarray, level: float) -> float:
    """The error that a new row exceeds with probability 1 - level; infinite if there are too few."""
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
        raise ParameterError(f"level must be a number between 0 and 1. Got {level!r} instead.")
    rank = int(np.ceil((len(errors) + 1) * level - 1e-9))
    return float(errors[rank - 1]) if rank <= len(errors) else np.inf


def has_errors(model: Any) -> bool:
    """Whether a comparison has stored errors on the model."""
    return "unseen_errors_" in vars(model)


def interval(self: Any, X: Any, level: float = 0.9) -> np.ndarray:
    """Low and high end (n, 2) of the interval that covers a share `level` of new observations."""
    reach = bound(_errors(self), level)
    return np.asarray(self.predict(X))[:, None] + reach * np.array([-1.0, 1.0])


def sets(self: Any, X: Any, level: float = 0.9) -> np.ndarray:
    """(n, K), True for the classes of a set that contains the class of a share `level` of new rows.

    The most probable class is always in the set.
    """
    shares = np.asarray(self.predict_proba(X))
    found = 1.0 - shares <= bound(_errors(self), level)
    found[np.arange(len(found)), shares.argmax(axis=1)] = True
    return found


@available_if(has_errors, WHY)
def predict_interval(self: Any, X: Any, level: float = 0.9) -> np.ndarray:
    """Low and high end (n, 2) of the interval that covers a share `level` of new observations."""
    return interval(self, X, level)


@available_if(has_errors, WHY)
def predict_set(self: Any, X: Any, level: float = 0.9) -> np.ndarray:
    """(n, K), True for the classes of a set that contains the class of a share `level` of rows."""
    return sets(self, X, level)


def is_calibrated(model: Any) -> bool:
    """Whether a comparison has calibrated the scores of the model."""
    return "calibration_" in vars(model)


@available_if(is_calibrated, "This model has no probabilities.")
def calibrated_probabilities(self: Any, X: Any) -> np.ndarray:
    """Probabilities (n, K) of encoded rows, of a model without its own."""
    from pellucid.numerics.platt import probabilities

    return probabilities(self._finite(self._scores(X)), self.calibration_)


def above_threshold(model: Any, X: Any) -> np.ndarray | None:
    """Class codes by the model's threshold; None without one."""
    if "threshold_" not in vars(model):
        return None
    return (model.predict_proba(X)[:, 1] >= model.threshold_).astype(np.int32)


def _errors(model: Any) -> np.ndarray:
    if not has_errors(model):
        raise PellucidError(
            f"This {type(model).__name__} has no errors of unseen rows. A comparison stores them on the "
            "model that it saves."
        )
    return model.unseen_errors_
