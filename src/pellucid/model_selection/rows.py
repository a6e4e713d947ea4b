"""Rows of any table: how many there are, and some of them in the same container."""

from typing import Any

import numpy as np

from pellucid.errors import DataError


def n_rows(X: Any, name: str = "X") -> int:
    """The number of rows of a table, an array or a list."""
    if getattr(X, "shape", None):
        return int(X.shape[0])
    if not hasattr(X, "__len__"):
        raise DataError(f"{name} has no rows: got {type(X).__name__}.")
    return len(X)


def taken(X: Any, rows: np.ndarray) -> Any:
    """These rows of a table, in the same container."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if hasattr(X, "take") and hasattr(X, "schema") and not hasattr(X, "lazy"):  # Arrow tables
        return X.take(rows)
    if hasattr(X, "to_pylist"):  # Arrow arrays
        return X.take(rows)
    if isinstance(X, list | tuple):
        return [X[i] for i in rows]
    if hasattr(X, "tocsr"):
        return X.tocsr()[rows]
    return X[rows]


def is_classifier(model: Any) -> bool:
    """Whether a model predicts classes, as scikit-learn's protocol states it."""
    kind = getattr(model, "_estimator_type", None)
    if kind is None and hasattr(model, "__sklearn_tags__"):
        kind = model.__sklearn_tags__().estimator_type
    return kind == "classifier" or (kind is None and hasattr(model, "predict_proba"))
