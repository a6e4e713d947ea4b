"""The base estimators of a blend: fit one to a problem, predict and explain with it.

Estimators of Pellucid see the user's table (numbers, levels, missing values) and encode it as they
need; others get numbers. All have the user's labels. Invariant: class probabilities have one column
for each class of the blend; a class that a base estimator did not see has probability 0.
"""

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.base import Estimator
from pellucid.data import Problem, Schema
from pellucid.data.intake import RawTable
from pellucid.data.schema import CATEGORICAL
from pellucid.ensemble.base_estimators import takes_weights
from pellucid.ensemble.blend.log_odds import to_probability
from pellucid.ensemble.boosting.initial_model import table_of
from pellucid.errors import DataError, ParameterError
from pellucid.protocol import copied
from pellucid.records import Explanation

NOT_EXPLAINED = "(not explained by columns)"


class OneClass:
    """Stands for a base estimator if its training rows have a single class: it predicts that one."""

    def __init__(self, label: Any) -> None:
        self.classes_ = np.array([label])


def seeded(base: Any, seed: np.random.SeedSequence, number: int) -> Any:
    """A copy of a base estimator; random states that are None follow from (seed, number)."""
    twin = copied(base)
    free = sorted(
        name
        for name, value in twin.get_params(deep=True).items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    )
    rng = parallel.stream(seed, "blend", number)
    states = rng.integers(0, 2**31 - 1, size=len(free)).tolist()
    return twin.set_params(**dict(zip(free, states))) if free else twin


def kind_of(base: Any) -> str | None:
    """ "classifier", "regressor" or another kind of estimator."""
    return base._kind if isinstance(base, Estimator) else base.__sklearn_tags__().estimator_type


def fit(base: Any, problem: Problem, columns: np.ndarray) -> Any:
    """Fit a base estimator to some columns of a problem with codes."""
    y = problem.y if problem.classes is None else problem.classes[problem.y]
    if problem.classes is not None and len(np.unique(problem.y)) == 1:
        return OneClass(y[0])
    X = _rows(base, table_of(problem.table, problem.schema), columns)
    if takes_weights(base):
        return base.fit(X, y, sample_weight=None if problem.unweighted else problem.weights)
    if problem.unweighted:
        return base.fit(X, y)
    if not problem.counts:
        raise DataError(f"{type(base).__name__} takes no weights, and they are not integers.")
    rows = np.repeat(np.arange(problem.n), problem.weights.astype(np.int64))
    X = _rows(base, table_of(problem.table[rows], problem.schema), columns)
    return base.fit(X, y[rows])


def _rows(base: Any, table: RawTable, columns: np.ndarray) -> Any:
    part = table if len(columns) == table.n_columns else table.select(columns.tolist())
    if isinstance(base, Estimator):
        return part
    for column in part.columns or ():
        if column.kind == CATEGORICAL:
            raise ParameterError(
                f"{type(base).__name__} needs numbers, but column {column.name!r} is categorical. Use "
                "an estimator of Pellucid."
            )
    return np.column_stack([column.values for column in part.columns or ()])


def probabilities(
    base: Any, X: np.ndarray, schema: Schema, columns: np.ndarray, classes: np.ndarray
) -> np.ndarray:
    """(n, K) class probabilities of encoded rows; 0 and 1 if the base estimator has none."""
    own = np.searchsorted(classes, np.asarray(base.classes_))
    if isinstance(base, OneClass):
        shares = np.ones((len(X), 1))
    elif hasattr(base, "predict_proba"):
        shares = np.asarray(base.predict_proba(_rows(base, table_of(X, schema), columns)))
    else:
        labels = np.asarray(base.predict(_rows(base, table_of(X, schema), columns)))
        shares = (labels[:, None] == np.asarray(base.classes_)).astype(np.float64)
    out = np.zeros((len(X), len(classes)))
    out[:, own] = shares
    return out


def predictions(base: Any, X: np.ndarray, schema: Schema, columns: np.ndarray) -> np.ndarray:
    """(n,) predicted numbers of encoded rows."""
    found = base.predict(_rows(base, table_of(X, schema), columns))
    return np.asarray(found, dtype=np.float64).reshape(len(X))


def contributions(
    base: Any, X: np.ndarray, schema: Schema, columns: np.ndarray, prediction: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Base (K,) and contributions (n, d + 1, K) that add up to `prediction` (n, K).

    Contributions to log-odds are turned into contributions to the probability (`to_probability`). The
    last column holds what the base estimator does not explain by columns: its whole prediction.
    """
    n, K = prediction.shape
    out = np.zeros((n, schema.n_columns + 1, K))
    table = _rows(base, table_of(X, schema), columns)
    found: Any = (
        base.explain(table) if isinstance(base, Estimator) and hasattr(base, "explain") else None
    )
    seen = not hasattr(base, "classes_") or len(base.classes_) == max(K, 2)
    if seen and isinstance(found, Explanation) and found.base.shape == (K,):
        start, parts = found.base, found.contributions
        if found.scale == "log-odds":
            start, parts = to_probability(start, parts)
        if found.scale in ("response", "probability", "log-odds"):
            gap = prediction - start - parts.sum(axis=1)
            if (np.abs(gap) <= 1e-8 * (1.0 + np.abs(prediction))).all():
                out[:, columns] = parts
                return start, out
    out[:, -1] = prediction
    return np.zeros(K), out
