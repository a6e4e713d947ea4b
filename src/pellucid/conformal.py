"""Prediction intervals and sets from errors on rows that a model has not seen: CV+.

A comparison stores on the model that it saves the errors of the out-of-fold predictions, |y -
prediction| or a score of the own class, and the models of the folds that made them. For a new row
x, the i-th error e_i belongs to the fold model f that has not seen row i (Barber et al. 2021,
Romano et al. 2020), and r = ceil((n + 1) level):

    interval   from the r-th largest of f(x) - e_i to the r-th smallest of f(x) + e_i
    set        the classes c with #{i: e_i < score of c by f} < (n + 1) level

For rows that can be exchanged, this covers a share of at least 2 level - 1 - sqrt(2 / n) of new
rows, whatever the model and the distribution, and in practice about `level`. Without the fold
models, the model itself takes their place; then there is no guarantee. Coverage is an average over
rows like those of the training table; it does not hold for each kind of row.

Scores of classes: `smallest` is 1 - probability, which gives the smallest sets on average;
`adaptive` adds up the probabilities down to that of the class, so that unclear rows have larger
sets (Romano et al. 2020).
"""

import warnings
from typing import Any

import numpy as np

from pellucid.errors import ParameterError, PellucidError, UnseenLevelWarning
from pellucid.protocol import available_if

UNSEEN_ERRORS = (
    "Errors on rows that the models of a comparison's folds had not seen: |y - prediction|, or "
    "1 - probability of the own class. Fold after fold, sorted within each fold."
)
ADAPTIVE_ERRORS = (
    "As `unseen_errors_`: the sum of the probabilities down to that of the own class, for adaptive "
    "sets."
)
FOLD_SIZES = "Number of `unseen_errors_` of each fold of a comparison."
FOLD_MODELS = (
    "The models of a comparison's folds, for prediction intervals and sets; empty if they are not "
    "stored."
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
MOST = 2000  # errors that a model keeps, about: the largest of each group of k neighbours
CELLS = 4_000_000  # numbers in a block of new rows x errors
KINDS = ("smallest", "adaptive")


def kept(errors: np.ndarray, fold: np.ndarray, n_folds: int) -> tuple[np.ndarray, np.ndarray]:
    """The errors, sorted within each fold, and their number by fold.

    Of many, the largest of each group of neighbours stands for the group, so that quantiles are
    rounded up.
    """
    group = -(-len(errors) // MOST)
    parts = [np.sort(np.asarray(errors, np.float64)[fold == k]) for k in range(n_folds)]
    parts = [np.append(own[group - 1 : -1 : group], own[-1:]) for own in parts]
    return np.concatenate(parts), np.array([len(own) for own in parts], dtype=np.int64)


def rank(n: int, level: float) -> int:
    """ceil((n + 1) level): which of n sorted errors bounds that of a new row."""
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
        raise ParameterError(f"level must be a number between 0 and 1. Got {level!r} instead.")
    return int(np.ceil((n + 1) * level - 1e-9))


def bound(errors: np.ndarray, level: float) -> float:
    """The error that a new row exceeds with probability 1 - level; infinite if there are too few."""
    place = rank(len(errors), level)
    return float(np.sort(errors)[place - 1]) if place <= len(errors) else np.inf


def class_scores(proba: np.ndarray, kind: str) -> np.ndarray:
    """(n, K) scores of all classes: 0 is typical of the row, 1 is not."""
    if kind == "smallest":
        return 1.0 - proba
    order = np.argsort(-proba, axis=1, kind="stable")
    sums = np.minimum(np.cumsum(np.take_along_axis(proba, order, 1), axis=1), 1.0)
    sums[:, -1] = 1.0  # whatever was rounded, so that rows tie here
    out = np.empty_like(sums)
    np.put_along_axis(out, order, sums, 1)
    return out


def has_errors(model: Any) -> bool:
    """Whether a comparison has stored errors on the model."""
    return "unseen_errors_" in vars(model)


def interval(self: Any, X: Any, level: float = 0.9) -> np.ndarray:
    """Low and high end (n, 2) of the interval that covers a share `level` of new observations.

    It always contains the prediction.
    """
    errors = _errors(self)
    own = np.asarray(self.predict(X), dtype=np.float64)
    if rank(len(errors), level) > len(errors):
        return own[:, None] + np.inf * np.array([-1.0, 1.0])
    if not self.fold_models_:
        return own[:, None] + bound(errors, level) * np.array([-1.0, 1.0])
    with warnings.catch_warnings():  # a level that one fold has not seen is no news
        warnings.simplefilter("ignore", UnseenLevelWarning)
        found = np.array([m.predict(X) for m in self.fold_models_]).T
    ends, place = np.empty((len(own), 2)), rank(len(errors), level) - 1
    fold = np.repeat(np.arange(len(self.fold_sizes_)), self.fold_sizes_)
    step = max(1, CELLS // len(errors))
    for start in range(0, len(own), step):
        rows = slice(start, start + step)
        part = found[rows][:, fold]
        ends[rows, 0] = -np.partition(errors - part, place, axis=1)[:, place]
        ends[rows, 1] = np.partition(errors + part, place, axis=1)[:, place]
    ends[:, 0], ends[:, 1] = np.minimum(ends[:, 0], own), np.maximum(ends[:, 1], own)
    return ends


def sets(
    self: Any, X: Any, level: float = 0.9, kind: str = "smallest", allow_empty: bool = False
) -> np.ndarray:
    """(n, K), True for the classes of a set that contains the class of a share `level` of new rows."""
    errors = _errors(self)
    if kind not in KINDS:
        raise ParameterError(f"kind must be 'smallest' or 'adaptive'. Got {kind!r} instead.")
    if kind == "adaptive":
        errors = self.adaptive_errors_
    most, shares = rank(len(errors), level), np.asarray(self.predict_proba(X))
    below, parts = np.zeros(shares.shape, dtype=np.int64), [errors]
    models = self.fold_models_ or [self]
    if self.fold_models_:
        parts = np.split(errors, np.cumsum(self.fold_sizes_)[:-1])
    for model, own in zip(models, parts):
        proba = shares if model is self else _fold_probabilities(self, model, X)
        below += np.searchsorted(np.sort(own), class_scores(proba, kind), side="left")
    found = below < most
    if not allow_empty:
        found[np.arange(len(found)), shares.argmax(axis=1)] = True
    return found


def _fold_probabilities(self: Any, model: Any, X: Any) -> np.ndarray:
    """Probabilities of a fold model for the classes of the whole; 0 for those it has not seen."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnseenLevelWarning)
        found = np.asarray(model.predict_proba(X))
    out = np.zeros((len(found), len(self.classes_)))
    where = {label: k for k, label in enumerate(self.classes_.tolist())}
    out[:, [where[label] for label in model.classes_.tolist()]] = found
    return out


@available_if(has_errors, WHY)
def predict_interval(self: Any, X: Any, level: float = 0.9) -> np.ndarray:
    """Low and high end (n, 2) of the interval that covers a share `level` of new observations."""
    return interval(self, X, level)


@available_if(has_errors, WHY)
def predict_set(
    self: Any, X: Any, level: float = 0.9, *, kind: str = "smallest", allow_empty: bool = False
) -> np.ndarray:
    """(n, K), True for the classes of a set that contains the class of a share `level` of rows.

    `kind` "smallest" takes the most probable classes; "adaptive" gives unclear rows larger sets. The
    most probable class is always in the set, so that easy tables are covered more often than `level`;
    `allow_empty` leaves it out where it is untypical, too, which makes the coverage exact.
    """
    return sets(self, X, level, kind, allow_empty)


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
            f"This {type(model).__name__} has no out-of-fold errors, which intervals and sets need. "
            "`pellucid.compare` stores them in the model that it saves."
        )
    return model.unseen_errors_
