"""What `score` returns: accuracy, R2, weighted; finite answers; the scorers that `scoring` names."""

from typing import Any

import numpy as np

from pellucid import _sklearn
from pellucid.data.opening import opened
from pellucid.data.targets import check_lengths, labels, numbers, weights_or_ones
from pellucid.errors import DataError, ParameterError, shown, warn
from pellucid.numerics.moments import sums_of_squares


def accuracy(model: Any, X: Any, y: Any, weights: Any, offset: Any = None) -> float:
    """Share of rows (by weight) whose label is predicted."""
    return accuracy_of(type(model).__name__, *_predicted(model, X, y, weights, offset))


def accuracy_of(owner: str, predicted: np.ndarray, y: Any, weights: Any) -> float:
    """The accuracy of given predictions of a model of the class `owner`."""
    codes, classes = labels(y, owner)
    check_lengths(len(predicted), len(codes))
    right = predicted == classes[codes]
    return float(np.average(right, weights=weights_or_ones(weights, len(right))))


def r2(model: Any, X: Any, y: Any, weights: Any, offset: Any = None) -> float:
    """Coefficient of determination, the mean over targets."""
    return r2_of(type(model).__name__, *_predicted(model, X, y, weights, offset))


def r2_of(owner: str, predicted: np.ndarray, y: Any, weights: Any) -> float:
    """R2 of given predictions of a model of the class `owner`."""
    y = numbers(y, owner, several=True)
    check_lengths(len(predicted), len(y))
    if len(y) < 2:
        warn("R2 needs at least two rows: it is NaN.", UserWarning)
        return float("nan")
    if y.size != predicted.size:
        raise DataError(f"y has shape {y.shape}, but {owner} predicts {predicted.shape}.")
    return r2_score(y.reshape(predicted.shape), predicted, weights_or_ones(weights, len(y)))


def r2_score(y: np.ndarray, predicted: np.ndarray, w: np.ndarray) -> float:
    """1 - squared errors / squared distances from the mean, the mean over targets (n,) or (n, k)."""
    residual, spread = sums_of_squares(y, predicted, w)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.where(spread > 0, 1 - residual / spread, np.where(residual == 0, 1.0, 0.0))
    return float(np.mean(found))


def _predicted(
    model: Any, X: Any, y: Any, weights: Any, offset: Any
) -> tuple[np.ndarray, Any, Any]:
    """The predictions, with y and weights opened."""
    X, y, weights, offset = opened(X, y, weights, offset)
    return model.predict(X, **({} if offset is None else {"offset": offset})), y, weights


def finite(answer: np.ndarray, owner: str) -> np.ndarray:
    """The answer, which must be finite."""
    if answer.dtype.kind == "f" and not np.logical_and.reduce(np.isfinite(answer), axis=None):
        row = int(np.flatnonzero(~np.isfinite(answer).reshape(len(answer), -1).all(axis=1))[0])
        raise DataError(
            f"{owner} has no finite prediction for row {row}: its computation overflows "
            "float64. If only some rows fail, their values are too far from those of the training "
            "rows: correct them, or leave them out. If all fail, the training targets were too large: "
            "rescale y."
        )
    return answer


def scorer_of(model: Any) -> Any:
    """The function (estimator, X, y) -> number that the parameter `scoring` of a model is or names."""
    if callable(model.scoring):
        return model.scoring
    try:
        return _sklearn.scorer(model.scoring)
    except ValueError:
        raise ParameterError(
            f"The 'scoring' parameter of {type(model).__name__} must be the name of one of "
            f"scikit-learn's scorers, a callable or None. Got {shown(model.scoring)} instead."
        ) from None


def scored(scorer: Any, view: Any, X: np.ndarray, y: np.ndarray, w: np.ndarray | None) -> float:
    """The score of `view`, which predicts from X; weights None are for functions without weights."""
    given = {} if w is None or (w == 1.0).all() else {"sample_weight": w}
    return float(scorer(view, X, y, **given))
