"""Another model as the start of boosting: fitted to the training rows first.

Models of Pellucid see the table as the user gave it: numbers, levels, missing values. Others get
numbers. Invariant: raw predictions (n, K) are on the scale of the link of the loss.
"""

from typing import Any

import numpy as np

from pellucid.base import Estimator
from pellucid.data import Problem
from pellucid.data.intake import RawTable
from pellucid.data.raw_column import RawColumn
from pellucid.data.schema import CATEGORICAL, Schema
from pellucid.ensemble import base_estimators
from pellucid.errors import DataError, ParameterError
from pellucid.protocol import copied
from pellucid.records import Explanation

SMALLEST = float(np.finfo(np.float64).eps)  # smallest probability, as in scikit-learn
LOWEST = float(np.log(SMALLEST))


def table_of(X: np.ndarray, schema: Schema) -> RawTable:
    """The user's table from its codes."""
    columns = []
    for j, kind in enumerate(schema.kinds):
        values, levels = np.ascontiguousarray(X[:, j]), tuple(schema.levels[j])
        if kind == CATEGORICAL:
            values = np.where(np.isnan(values), -1, values).astype(np.int32)
        columns.append(RawColumn(schema.name(j), kind, values, levels))
    return RawTable(len(X), schema.names, columns=columns)


def _rows(init: Any, X: np.ndarray, schema: Schema) -> Any:
    if isinstance(init, Estimator):
        return table_of(X, schema)
    if CATEGORICAL in schema.kinds:
        name = schema.name(schema.kinds.index(CATEGORICAL))
        raise ParameterError(
            f"init={init!r} needs numbers, but column {name!r} is categorical. Use an estimator of "
            "Pellucid as init."
        )
    return np.ascontiguousarray(X)


def fitted(init: Any, problem: Problem) -> Any:
    """A copy of the model, fitted to the training rows."""
    twin, X, w = copied(init), problem.table, problem.weights
    y = problem.y if problem.classes is None else problem.classes[problem.y]
    if problem.classes is not None and not hasattr(twin, "predict_proba"):
        raise ParameterError(f"init needs a classifier with predict_proba. Got {init!r}.")
    if base_estimators.takes_weights(twin):
        return twin.fit(_rows(twin, X, problem.schema), y, sample_weight=w)
    if not problem.counts:
        raise DataError(f"init={init!r} takes no weights, and the weights are not integers.")
    rows = np.repeat(np.arange(problem.n), w.astype(np.int64))
    return twin.fit(_rows(twin, X[rows], problem.schema), y[rows])


def raw_predictions(init: Any, X: np.ndarray, schema: Schema, objective: str) -> np.ndarray:
    """(n, K): predictions of the fitted model for encoded rows, on the scale of the link."""
    rows = _rows(init, X, schema)
    if objective not in ("log_loss", "exponential"):
        return np.asarray(init.predict(rows), dtype=np.float64).reshape(len(X), 1)
    if isinstance(init, Estimator):
        logs = np.maximum(init.predict_log_proba(rows), LOWEST)
    else:
        logs = np.log(np.clip(init.predict_proba(rows), SMALLEST, 1 - SMALLEST))
    if logs.shape[1] > 2:
        return logs - logs.mean(axis=1, keepdims=True)
    odds = logs[:, 1:] - logs[:, :1]
    return 0.5 * odds if objective == "exponential" else odds


def explained(
    init: Any, X: np.ndarray, schema: Schema, objective: str
) -> tuple[np.ndarray, np.ndarray]:
    """(base (K,), contributions (n, d, K)) of the raw predictions, if the model explains them."""
    raw = raw_predictions(init, X, schema, objective)
    found: Any = init.explain(table_of(X, schema)) if isinstance(init, Estimator) else None
    if isinstance(found, Explanation):
        base, parts = found.base, found.contributions
        if raw.shape[1] > 1:  # scores of classes are defined up to a constant
            base, parts = base - base.mean(), parts - parts.mean(axis=2, keepdims=True)
        if objective == "exponential":
            base, parts = 0.5 * base, 0.5 * parts
        if base.shape == raw.shape[1:]:
            gap = np.abs(base + parts.sum(axis=1) - raw)
            if (gap <= 1e-8 * (1.0 + np.abs(raw))).all():
                return base, parts
    raise ParameterError(
        f"explain needs init=None, init='zero', or an estimator of Pellucid that explains its raw "
        f"predictions for loss={objective!r}. {init!r} does not."
    )
