"""`compile` makes a fast predictor of single rows from a fitted model.

Invariant: the prediction for a row equals that of the model for a table of this row alone.
"""

import math
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.base import Classifier, Regressor
from pellucid.data.intake import raw_table
from pellucid.data.raw_column import is_missing
from pellucid.data.schema import CATEGORICAL, DATETIME, TEXT
from pellucid.errors import DataTypeError, ParameterError

Row = Sequence[Any] | Mapping[str, Any]

WIDEST = 1000  # largest number of encoded columns for which the code of every level is stored
_EXACT = 2.0**53  # integers up to here are exact as floats; larger ones are encoded as a table
_FLOATS = {float}
_NUMBERS = (float, int, np.floating, np.integer, np.bool_)


def compile(model: Any) -> "RowPredictor":
    """A fast predictor of single rows, for services: about 10 us per row; `predict` takes 50 to 100 us.

    Parameters
    ----------
    model : a fitted classifier or regressor of this package.

    Examples
    --------
    >>> import pellucid
    >>> from pellucid.tree import DecisionTreeClassifier
    >>> model = DecisionTreeClassifier().fit([[1.0], [2.0], [8.0]], ["low", "low", "high"])
    >>> one = pellucid.compile(model)
    >>> one.predict([7.5])
    'high'
    """
    if not isinstance(model, Classifier | Regressor):
        raise ParameterError(
            f"compile needs a classifier or regressor of pellucid, not {type(model).__name__}. Use the "
            "methods of that object."
        )
    model._check_fitted()
    return RowPredictor(model)


@dataclass(frozen=True)
class _ColumnCodes:
    """Encoded values of one of the user's columns.

    `after_number`: those that follow a number itself; `missing`: those of a missing value; `levels`:
    those of each level, None for a numeric column.
    """

    after_number: list[float]
    missing: list[float]
    levels: dict[Any, list[float]] | None


class RowPredictor:
    """Predictions of a fitted model for one row at a time; made by `compile`.

    A row is a sequence of cells in the order of training, or a mapping from names to cells. The codes
    of every level and of missing values are computed once, so that a row needs only a few look-ups. A
    row with anything else (a new level, a date, a text, infinity) is encoded as a table of one row,
    with the same warnings and errors.
    """

    def __init__(self, model: Any) -> None:
        self._model = copy(model)  # so that refitting the model does not change this one
        self._labels = model.classes_.tolist() if isinstance(model, Classifier) else []
        self._column_codes = _column_codes(model)
        self._plain = model.schema_.plain and self._column_codes is not None

    def predict(self, row: Row) -> Any:
        """The predicted label, or number (an array for several targets)."""
        with np.errstate(over="ignore", invalid="ignore"):
            x = self._encoded(row)
            if self._labels:
                return self._labels[int(self._model._codes(x)[0])]
            predicted = self._model._finite(self._model._predict(x))[0]
        return predicted if predicted.ndim else predicted.item()

    def predict_proba(self, row: Row) -> np.ndarray:
        """Probabilities of the classes, in the order of `classes_`."""
        if not hasattr(self._model, "predict_proba"):
            raise ParameterError(f"{type(self._model).__name__} has no predict_proba.")
        with np.errstate(over="ignore", invalid="ignore"):
            return self._model._finite(self._model._proba(self._encoded(row)))[0]

    def _encoded(self, row: Row) -> Any:
        """The encoded row, (1, p)."""
        cells: Any = row if type(row) in (list, tuple) else self._in_order(row)
        if self._column_codes is None or len(cells) != len(self._column_codes):
            return self._as_table(cells)
        if self._plain and set(map(type, cells)) == _FLOATS and math.isfinite(sum(cells)):
            return np.array([cells])  # plain numbers need no encoding
        encoded: list[float] = []
        for cell, codes in zip(cells, self._column_codes):
            number = codes.levels is None and isinstance(cell, _NUMBERS)
            if number and -_EXACT <= cell <= _EXACT:
                encoded.append(float(cell))
                encoded += codes.after_number
            elif codes.levels is not None and isinstance(cell, str | int) and cell in codes.levels:
                encoded += codes.levels[cell]
            elif is_missing(cell):
                encoded += codes.missing
            else:
                return self._as_table(cells)
        return np.array([encoded])

    def _in_order(self, row: Any) -> list[Any]:
        """The cells in the order of training, from a mapping by name or from a vector."""
        schema = self._model.schema_
        if hasattr(row, "to_dict") and not hasattr(row, "columns"):  # a row of a pandas frame
            row = row.to_dict()
        if isinstance(row, Mapping) and schema.names is not None:
            if len(row) != schema.n_columns or any(name not in row for name in schema.names):
                schema.check_names(set(row), type(self._model).__name__)
            return [row[name] for name in schema.names]
        if isinstance(row, np.ndarray) and row.ndim == 1 and not np.ma.isMaskedArray(row):
            return row.tolist() if row.dtype.kind in "fiub" else list(row)
        raise DataTypeError(
            f"A row must be a list or vector of cells, or a dict from column names to cells. Got "
            f"{type(row).__name__} instead."
        )

    def _as_table(self, cells: Sequence[Any]) -> Any:
        table = np.empty((1, len(cells)), dtype=object)
        for j, cell in enumerate(cells):
            if isinstance(cell, list | tuple | dict | set | np.ndarray):
                raise DataTypeError(
                    f"Cell {j} of the row must be a single value, not a {type(cell).__name__}."
                )
            table[0, j] = cell
        return self._model._encoded(table)


def _column_codes(model: Any) -> list[_ColumnCodes] | None:
    """The codes of every column; None if rows are always encoded as tables."""
    schema = model.schema_
    if {DATETIME, TEXT} & set(schema.kinds) or len(schema.owner) > WIDEST:
        return None
    longest = max((len(levels) for levels in schema.levels), default=0)
    probe = np.full((max(longest, 1) + 1, schema.n_columns), None, dtype=object)
    for j, levels in enumerate(schema.levels):
        if schema.kinds[j] == CATEGORICAL:
            probe[: len(levels), j] = levels
        else:
            probe[0, j] = 0.0
    encoded = model._encode_table(raw_table(probe, type(model).__name__), quiet=True)
    encoded = encoded if isinstance(encoded, np.ndarray) else encoded.toarray()
    codes = []
    for j, levels in enumerate(schema.levels):
        part = encoded[:, schema.owner == j].tolist()
        own = dict(zip(levels, part)) if schema.kinds[j] == CATEGORICAL else None
        codes.append(_ColumnCodes(part[0][1:], part[-1], own))
    return codes
