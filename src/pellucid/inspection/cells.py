"""A table whose cells can be exchanged between rows, in the container that the user gave.

Invariant: a composed table has the columns, the order and the container of the given one, and every
cell comes from the same column of it, unless numbers are given. So any model that can predict for
the given table can predict for the composed one.
"""

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from pellucid.data.intake import is_frame, is_sparse, raw_table
from pellucid.data.kinds import day
from pellucid.data.learn_schema import level_key
from pellucid.data.raw_column import RawColumn, factorize
from pellucid.errors import DataTypeError, ParameterError, shown
from pellucid.model_selection.rows import taken

Rows = np.ndarray  # positions of rows


class Cells:
    """The cells of a table: read as numbers or levels, exchanged in the user's container.

    Parameters
    ----------
    X : NumPy, pandas, polars or Arrow table, or a list of rows.
    """

    def __init__(self, X: Any) -> None:
        if is_sparse(X):
            raise DataTypeError("X is sparse. Inspection needs a dense table: use X.toarray().")
        table = raw_table(X, "inspection")
        if not is_frame(X):
            X = np.asarray(X, dtype=None if table.dense is not None else object)
        self.X, self.n = X, table.n_rows
        self.columns: list[RawColumn] = table.as_columns()
        self.names = [table.name(j) for j in range(table.n_columns)]

    def position(self, column: Any) -> int:
        """The position of a column that is given by name or by position."""
        if isinstance(column, str):
            if column in self.names:
                return self.names.index(column)
            from pellucid.data.io.source import did_you_mean, listing

            hint = did_you_mean(column, self.names)
            raise ParameterError(f"X has no column {column!r}.{hint} {listing(self.names)}")
        if isinstance(column, bool) or not hasattr(column, "__index__"):
            raise ParameterError(f"A column is a name or a position. Got {shown(column)} instead.")
        if not -len(self.names) <= column < len(self.names):
            raise ParameterError(f"X has {len(self.names)} columns, but no position {column}.")
        return int(column) % len(self.names)

    def positions(self, columns: Iterable[Any]) -> list[int]:
        """The positions of several columns; a single name is an error."""
        if isinstance(columns, str) or not isinstance(columns, Iterable):
            raise ParameterError(f"Give a list of columns. Got {shown(columns)} instead.")
        return [self.position(column) for column in columns]

    def composed(
        self, base: Rows | None, cells: Mapping[int, Rows], numbers: Mapping[int, Any] = {}
    ) -> Any:
        """The rows `base` (None: all), with other cells in some columns.

        Parameters
        ----------
        base : positions of rows.
        cells : column -> positions of the rows from which its cells are taken.
        numbers : column -> numbers, one per row.
        """
        if isinstance(self.X, np.ndarray):
            return self._composed_array(base, cells, numbers)
        X = self.X if base is None else taken(self.X, base)
        if hasattr(X, "iloc"):
            out = X.copy(deep=False)
            for j, rows in cells.items():
                out.isetitem(j, self.X.iloc[:, j].array.take(rows))
            for j, values in numbers.items():
                out.isetitem(j, np.asarray(values))
            return out
        if hasattr(X, "with_columns"):  # polars
            new = [self.X[:, j][rows] for j, rows in cells.items()]
            new += [type(X[:, 0])(X.columns[j], np.asarray(v)) for j, v in numbers.items()]
            return X.with_columns(new)
        from pellucid.data.arrow_numpy import to_arrow

        for j, rows in cells.items():
            X = X.set_column(j, X.column_names[j], self.X.column(j).take(rows))
        for j, values in numbers.items():
            X = X.set_column(j, X.column_names[j], to_arrow(np.asarray(values)))
        return X

    def _composed_array(
        self, base: Rows | None, cells: Mapping[int, Rows], numbers: Mapping[int, Any]
    ) -> np.ndarray:
        whole = self.X.dtype.kind in "iub" and numbers
        out = (self.X if base is None else self.X[base]).astype(float if whole else self.X.dtype)
        for j, rows in cells.items():
            out[:, j] = self.X[rows, j]
        for j, values in numbers.items():
            out[:, j] = values
        return out

    @cached_property
    def codes(self) -> list[np.ndarray]:
        """Per column its numbers, or the codes of its levels; NaN for missing cells."""
        return [
            _codes(c) if self.is_number(j) else np.where(_codes(c) < 0, np.nan, _codes(c))
            for j, c in enumerate(self.columns)
        ]

    def is_number(self, j: int) -> bool:
        """Whether the cells of a column are numbers or dates, which have distances."""
        return self.columns[j].kind in ("number", "datetime")

    @cached_property
    def spreads(self) -> list[float]:
        """Standard deviation of each column; 1 for categories and constant columns."""
        found = []
        for j, values in enumerate(self.codes):
            known = values[np.isfinite(values)]
            spread = float(known.std()) if self.is_number(j) and len(known) else 0.0
            found.append(spread if spread > 0 else 1.0)
        return found

    def distance(self, j: int, one: Any, others: Any) -> np.ndarray:
        """Distances of cells of a column, by rows: difference / spread; of levels and gaps 0 or 1."""
        a, b = self.codes[j][one], self.codes[j][others]
        differ = np.where(np.isnan(a) & np.isnan(b), 0.0, 1.0)
        if not self.is_number(j):
            return np.where(a == b, 0.0, differ)
        return np.where(np.isnan(a) | np.isnan(b), differ, np.abs(a - b) / self.spreads[j])

    def observed(self, j: int) -> Rows:
        """The first row of each distinct cell of a column that is not missing, in order."""
        values, first = np.unique(self.codes[j], return_index=True)
        rows = first[~np.isnan(values)]
        column = self.columns[j]
        if self.is_number(j) or column.ordered:
            return rows
        return np.array(sorted(rows, key=lambda i: level_key(self.cell(j, i))), dtype=np.intp)

    def cell(self, j: int, row: int) -> Any:
        """A cell as a plain Python object; None if it is missing."""
        column, value = self.columns[j], self.columns[j].values[row]
        if column.kind == "categorical":
            return column.levels[value] if value >= 0 else None
        if column.kind == "text":
            return value
        if value != value:
            return None
        if column.kind == "datetime":
            return day(float(value))
        return int(value) if float(value).is_integer() else float(value)


def _codes(column: RawColumn) -> np.ndarray:
    if column.kind == "text":
        return factorize(column.values)[0].astype(float)
    return column.values.astype(float)


def responses(estimator: Any, X: Any) -> np.ndarray:
    """(n, K): predictions; of a classifier, probabilities of the K classes (of the last of two)."""
    if not hasattr(estimator, "classes_"):
        predicted = np.asarray(estimator.predict(X), dtype=float)
        return predicted.reshape(len(predicted), -1)
    for method in ("predict_proba", "decision_function"):
        if hasattr(estimator, method):
            scores = np.asarray(getattr(estimator, method)(X), dtype=float)
            scores = scores.reshape(len(scores), -1)
            return scores[:, 1:] if scores.shape[1] == 2 else scores
    raise ParameterError(
        f"{type(estimator).__name__} has neither predict_proba nor decision_function. Use a "
        "classifier with probabilities or scores."
    )
