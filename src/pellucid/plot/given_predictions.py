"""What displays are made from: labels and scores of rows, checked; and models fitted on folds.

Invariant: any estimator with `fit` and `predict` works; the caller's estimator is never fitted here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pellucid.data.opening import opened
from pellucid.data.targets import as_vector
from pellucid.errors import DataError, ParameterError, shown
from pellucid.metrics.inputs import check_kinds, check_lengths
from pellucid.model_selection.copies import fresh
from pellucid.model_selection.folds import PlainFolds, StratifiedFolds
from pellucid.model_selection.given_folds import folds_of
from pellucid.model_selection.rows import is_classifier, taken

PARAMETERS = {
    "model": "a model with fit and predict; it must be fitted, unless clones of it are fitted on folds.",
    "X": "the table, or a path to it.",
    "y": "the true values of the rows, or the name of their column in X.",
    "cv": "a number of folds, a splitter, or pairs of row numbers; None uses the fitted model.",
    "pos_label": "the positive class. None is the last one; curves of three or more classes show each.",
    "n_bins": "number of bins.",
    "strategy": '"uniform" for bins of equal width, "quantile" for bins with equally many rows.',
    "labels": "the classes, in the order of the picture; None takes those that occur.",
    "normalize": '"true", "pred" or "all" shows shares of the rows, the columns or the whole matrix.',
    "cost_fp": "cost of a false positive.",
    "cost_fn": "cost of a false negative.",
    "names": "the curves to show; all by default.",
    "reach": "the curves are drawn from -reach to reach.",
}


def vector(values: Any, name: str) -> np.ndarray:
    """One value per row, at least one row, none missing."""
    found = np.asarray(as_vector(values, name))
    if not len(found):
        raise DataError(f"{name} has no rows. A picture needs at least one.")
    if found.ndim != 1:
        raise DataError(f"{name} must have one value per row. Got shape {found.shape} instead.")
    if found.dtype.kind == "O" or (found.dtype.kind == "f" and np.isnan(found).any()):
        row = next((row for row, v in enumerate(found) if v is None or v != v), None)
        if row is not None:
            raise DataError(f"{name} has a missing value (row {row}). Drop or fill such rows.")
    return found


def pair(y_true: Any, y_pred: Any, names: tuple[str, str] = ("y_true", "y_pred")) -> Any:
    """Two vectors of equal length."""
    first, second = vector(y_true, names[0]), vector(y_pred, names[1])
    check_lengths(first, second, names)
    return first, second


def label_pair(y_true: Any, y_pred: Any) -> tuple[np.ndarray, np.ndarray]:
    """True and predicted labels of the same kind."""
    first, second = pair(y_true, y_pred)
    check_kinds(*(values.dtype.kind in "OU" for values in (first, second)))
    return first, second


def numbers(y_true: Any, y_pred: Any) -> tuple[np.ndarray, np.ndarray]:
    """Two finite numeric vectors of equal length."""
    first, second = pair(y_true, y_pred)
    try:
        first, second = first.astype(float), second.astype(float)
    except (TypeError, ValueError):
        raise DataError("y_true and y_pred must be numbers for this picture.") from None
    for name, values in (("y_true", first), ("y_pred", second)):
        if not np.isfinite(values).all():
            row = int(np.flatnonzero(~np.isfinite(values))[0])
            raise DataError(f"{name} contains infinity (row {row}). Replace or drop the row.")
    return first, second


def two_or_more(y: np.ndarray) -> np.ndarray:
    """The classes of y, which must be at least two."""
    classes = np.unique(y)
    if len(classes) < 2:
        raise DataError(
            f"y_true has only one class ({shown(classes[0])}). This picture compares classes and "
            "needs at least two."
        )
    return classes


def table(X: Any, y: Any) -> tuple[Any, np.ndarray]:
    """X as it is, and y as a vector; y may be the name of a column of X."""
    X, y = opened(X, y)
    if y is None:
        raise ParameterError(
            "y is missing: this picture compares predictions with the true values."
        )
    return X, vector(y, "y")


def class_scores(model: Any, X: Any) -> tuple[np.ndarray, np.ndarray, bool]:
    """(classes, one column of scores per class, whether they are probabilities)."""
    classes = getattr(model, "classes_", None)
    if classes is None:
        raise ParameterError(f"{type(model).__name__} is not a fitted classifier.")
    if hasattr(model, "predict_proba"):
        return np.asarray(classes), np.asarray(model.predict_proba(X), dtype=float), True
    if hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(X), dtype=float)
        return np.asarray(classes), by_class(scores, classes), False
    raise ParameterError(
        f"{type(model).__name__} has neither predict_proba nor decision_function, which this "
        "picture needs."
    )


def by_class(scores: np.ndarray, classes: Any) -> np.ndarray:
    """One column per class; a single score is that of the last of two classes."""
    if scores.ndim == 2:
        if scores.shape[1] != len(classes):
            raise DataError(
                f"The scores have {scores.shape[1]} columns, but there are {len(classes)} classes."
            )
        return scores
    if len(classes) != 2:
        raise DataError(f"{len(classes)} classes need scores with {len(classes)} columns.")
    return np.column_stack([-scores, scores])


def probabilities(model: Any, X: Any) -> tuple[np.ndarray, np.ndarray]:
    """(classes, probabilities); an error for a model without them."""
    classes, scores, are_probabilities = class_scores(model, X)
    if not are_probabilities:
        raise ParameterError(
            f"{type(model).__name__} has no predict_proba, which this picture needs."
        )
    return classes, scores


def column_of(classes: np.ndarray, positive: Any) -> int:
    """The column of the positive class; the last class if None."""
    if positive is None:
        return len(classes) - 1
    found = np.flatnonzero(classes == positive)
    if not len(found):
        known = ", ".join(map(shown, classes[:10]))
        raise ParameterError(f"pos_label must be one of {known}. Got {shown(positive)} instead.")
    return int(found[0])


def splits(cv: Any, X: Any, y: np.ndarray, stratify: bool) -> list[tuple[np.ndarray, np.ndarray]]:
    """Pairs of training and test rows; a number of folds takes the rows in random order."""
    if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool):
        folds = StratifiedFolds(int(cv)) if stratify else PlainFolds(int(cv))
        return list(folds.split(y))
    return folds_of(cv, X, y)


def fitted_folds(
    model: Any, X: Any, y: np.ndarray, cv: Any
) -> Iterator[tuple[Any, Any, np.ndarray, np.ndarray]]:
    """(fitted copy, X of its test rows, y of its test rows, test rows) of every fold."""
    X = X.tocsr() if hasattr(X, "tocsr") else X
    for train, test in splits(cv, X, y, is_classifier(model)):
        fitted = fresh(model, {}).fit(taken(X, train), y[train])
        yield fitted, taken(X, test), y[test], test


def column_names(X: Any, model: Any = None) -> list[str]:
    """Names of the columns of a table; x0, x1, ... for arrays."""
    named = getattr(model, "feature_names_in_", None)
    if named is None:
        named = getattr(X, "columns", None) if not hasattr(X, "column_names") else X.column_names
    if named is not None:
        return [str(name) for name in named]
    n = getattr(model, "n_features_in_", None) or (X.shape[1] if hasattr(X, "shape") else 0)
    return [f"x{j}" for j in range(n)]
