"""Any table that a user gives, taken apart into plain columns.

The only place that distinguishes pandas, polars, Arrow, lists and NumPy. The result is
a `RawTable`: one dense float matrix, one sparse matrix, or a list of `RawColumn`s; row order and
column order are the user's.
"""

import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import numpy as np

from pellucid.data.raw_column import RawColumn, datetime_days, object_column, warn_of_rounding
from pellucid.errors import DataError, DataTypeError

CACHED_CELLS = 2**16  # of a matrix that is filled column by column


@dataclass(frozen=True)
class RawTable:
    """A user's table: exactly one of `dense`, `sparse`, `columns` is given."""

    n_rows: int
    names: tuple[str, ...] | None
    dense: np.ndarray | None = None
    sparse: Any = None
    columns: list[RawColumn] | None = None
    # What was computed from these rows, for who fits many models to them; None remembers nothing.
    memo: dict[Any, Any] | None = field(default=None, compare=False, repr=False)

    def remembered(self, key: Any, owners: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        """What `make` returns, computed once for the key and these very owners; it warns each time."""
        if self.memo is None:
            return make()
        key = (*key, *map(id, owners))
        if key not in self.memo:  # keeps the owners, so that no other object gets their id
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                self.memo[key] = owners, make(), caught
        _, made, caught = self.memo[key]
        for one in caught:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
        return made

    @property
    def n_columns(self) -> int:
        table = self.dense if self.dense is not None else self.sparse
        return table.shape[1] if table is not None else len(self.columns or ())

    def select(self, order: list[int]) -> "RawTable":
        """The columns at these positions."""
        names = tuple(self.names[j] for j in order) if self.names is not None else None
        if self.columns is not None:
            return RawTable(self.n_rows, names, columns=[self.columns[j] for j in order])
        if self.sparse is not None:
            return RawTable(self.n_rows, names, sparse=self.sparse[:, order])
        assert self.dense is not None
        # Equal bits for any column order: the copy has the layout that the table would have had.
        return RawTable(self.n_rows, names, dense=np.ascontiguousarray(self.dense[:, order]))

    def take(self, rows: np.ndarray) -> "RawTable":
        """The rows at these positions (or of this mask)."""
        n_rows = int(rows.sum()) if rows.dtype == bool else len(rows)
        if self.columns is not None:
            columns = [replace(c, values=c.values[rows]) for c in self.columns]
            return RawTable(n_rows, self.names, columns=columns)
        if self.sparse is not None:
            return RawTable(n_rows, self.names, sparse=self.sparse[rows])
        assert self.dense is not None
        return RawTable(n_rows, self.names, dense=self.dense[rows])

    def as_columns(self) -> list[RawColumn]:
        """The table as columns."""
        if self.columns is not None:
            return self.columns
        if self.dense is None:
            raise DataTypeError("categories need a dense table or a dataframe, not sparse X.")
        dense = self.dense
        return [
            RawColumn(self.name(j), "number", dense[:, j].astype(float))
            for j in range(self.n_columns)
        ]

    def with_kinds(self, kinds: dict[int, str]) -> "RawTable":
        """The table with some columns turned into other kinds."""
        from pellucid.data.kinds import as_kind

        columns = [
            replace(as_kind(c, kinds[j], c.name), free=False) if j in kinds else c
            for j, c in enumerate(self.as_columns())
        ]
        return RawTable(self.n_rows, self.names, columns=columns)

    def name(self, j: int) -> str:
        """The user's name of column j."""
        return self.names[j] if self.names is not None else f"x{j}"

    def infinite_rows(self) -> np.ndarray:
        """Mask of the rows with an infinite number."""
        if self.dense is not None:
            return np.isinf(self.dense).any(axis=1)
        out = np.zeros(self.n_rows, dtype=bool)
        for column in self.columns or ():
            if column.kind in ("number", "datetime"):
                out |= np.isinf(column.values)
        return out

    def missing_cells(self) -> list[np.ndarray]:
        """For each column the mask of its missing cells."""
        if self.sparse is not None:
            return [np.zeros(self.n_rows, dtype=bool)] * self.n_columns
        if self.dense is not None:
            return list(np.isnan(self.dense).T)
        masks: dict[str, Callable[[Any], np.ndarray]] = {
            "categorical": lambda values: values < 0,
            "text": lambda values: np.array([v is None for v in values]),
        }
        return [masks.get(c.kind, np.isnan)(c.values) for c in self.columns or ()]


def is_sparse(X: Any) -> bool:
    """Sparse matrices exist only where scipy.sparse has been imported already."""
    module = sys.modules.get("scipy.sparse")
    return module is not None and module.issparse(X)


def is_frame(X: Any) -> bool:
    """A two-dimensional table with named columns: pandas, polars, Arrow and similar."""
    if isinstance(X, np.ndarray | list | tuple | str | bytes):
        return False
    kind = type(X)  # looking at the type makes no lazy frame compute anything
    return hasattr(kind, "shape") and (hasattr(X, "columns") or hasattr(kind, "column_names"))


def raw_table(X: Any, owner: str = "the estimator") -> RawTable:
    """Take a table apart; raise `DataError` or `DataTypeError` if X is not a table."""
    if isinstance(X, RawTable):  # an ensemble hands its rows on to another model
        return X
    if is_sparse(X):
        return _from_sparse(X, owner)
    if hasattr(type(X), "__dask_graph__"):
        raise DataTypeError("X is a Dask collection: call .compute() first, or give it to fit.")
    if hasattr(type(X), "collect_schema") and not hasattr(type(X), "shape"):
        raise DataTypeError("X is a lazy frame: call .collect() first, or give it to fit.")
    if is_frame(X):
        return _from_frame(X, owner)
    return _from_array(X, owner)


# Arrays ---------------------------------------------------------------------------------------


def _as_array(X: Any) -> np.ndarray:
    if isinstance(X, np.ma.MaskedArray):
        kind = float if X.dtype.kind in "fiub" else object
        return np.ma.filled(X.astype(kind), np.nan if kind is float else None)
    if isinstance(X, np.ndarray):
        return np.asarray(X)
    try:
        array = np.asarray(X)
    except ValueError as error:
        raise DataError(
            f"X is not a rectangular table: {error}. Give rows of equal length."
        ) from None
    # np.asarray turns [[1, "a"]] into text: keep the cells as they were written.
    return np.asarray(X, dtype=object) if array.dtype.kind in "US" else array


def _from_array(X: Any, owner: str) -> RawTable:
    array = _as_array(X)
    if array.ndim != 2:
        _raise_not_a_table(X, array)
    check_shape(array.shape, owner)
    kind = array.dtype.kind
    if kind == "c":
        raise DataError(f"Complex data not supported: X has dtype {array.dtype}.")
    if kind in "fiub":
        for j in range(array.shape[1]) if kind in "iu" else ():
            warn_of_rounding(f"x{j}", array[:, j])
        return RawTable(array.shape[0], None, dense=array)
    if kind == "M":
        days = datetime_days(array)
        return RawTable(
            array.shape[0],
            None,
            columns=[RawColumn(f"x{j}", "datetime", days[:, j]) for j in range(array.shape[1])],
        )
    if kind == "m":
        days = array.astype("timedelta64[us]").astype(np.int64) / 86_400e6
        return RawTable(array.shape[0], None, dense=np.where(np.isnat(array), np.nan, days))
    if kind == "S":
        raise DataTypeError("X holds bytes: decode them to text or numbers first.")
    if kind not in "OUT":
        raise DataTypeError(
            f"X has dtype {array.dtype}, which Pellucid cannot use. Convert it to numbers or text."
        )
    cells = array.astype(object)
    if kind in "UT":
        _check_written_numbers(cells)
    columns = [object_column(f"x{j}", cells[:, j]) for j in range(array.shape[1])]
    if all(column.kind == "number" for column in columns):
        return RawTable(array.shape[0], None, dense=np.column_stack([c.values for c in columns]))
    return RawTable(array.shape[0], None, columns=columns)


def _check_written_numbers(cells: np.ndarray) -> None:
    """Refuse an array of text that holds numbers: NumPy turns a mixed array into text as a whole."""
    for j in range(cells.shape[1]):
        for row, cell in enumerate(cells[:, j]):
            try:
                float(cell)
            except ValueError:
                continue
            raise DataError(
                f"X is an array of text, but column 'x{j}', row {row} holds the number {cell!r} "
                "written as text. Give numbers as numbers (X.astype(float)), or mixed columns as an "
                "object array or a dataframe."
            )


def _raise_not_a_table(X: Any, array: np.ndarray) -> NoReturn:
    if array.ndim == 0:
        if isinstance(X, int | float | complex | np.generic):
            raise DataError(
                f"Expected 2D array, got scalar array instead: {X!r}. Reshape your data."
            )
        raise DataTypeError(
            f"X is a {type(X).__name__}, which is not a table. Give a 2D array, a dataframe, an Arrow "
            "table or a path. For a dict of columns, pass pandas.DataFrame(X)."
        )
    advice = "Give one row per sample and one column per feature."
    if array.ndim == 1:
        advice = (
            "Reshape your data either using array.reshape(-1, 1) if your data has a single feature "
            "or array.reshape(1, -1) if it contains a single sample."
        )
    raise DataError(f"Expected 2D array, got {array.ndim}D array of shape {array.shape}. {advice}")


def check_shape(shape: tuple[int, ...], owner: str) -> None:
    """At least one row and one column."""
    n, p = shape
    if n == 0:
        raise DataError(
            f"Found array with 0 sample(s) (shape={shape}) while a minimum of 1 is required "
            f"by {owner}."
        )
    if p == 0:
        raise DataError(
            f"Found array with 0 feature(s) (shape={shape}) while a minimum of 1 is required."
        )


def _from_sparse(X: Any, owner: str) -> RawTable:
    if X.ndim != 2:
        raise DataError(f"Expected 2D array, got {X.ndim}D sparse array. Reshape your data.")
    check_shape(X.shape, owner)
    if X.dtype.kind == "c":
        raise DataError(f"Complex data not supported: X has dtype {X.dtype}.")
    if X.dtype.kind not in "fiub":
        raise DataTypeError(f"Sparse X has dtype {X.dtype}: convert it to float64 first.")
    csr = X.tocsr()
    if csr.has_canonical_format and csr.has_sorted_indices:
        return RawTable(csr.shape[0], None, sparse=csr)
    csr = csr.copy()
    csr.sum_duplicates()
    return RawTable(csr.shape[0], None, sparse=csr)


# Frames ---------------------------------------------------------------------------------------


def _from_frame(X: Any, owner: str) -> RawTable:
    if type(X).__module__.startswith("pyarrow"):
        names: tuple[str, ...] | None = tuple(str(name) for name in X.column_names)
        assert names is not None
        check_names(names)
        check_shape(X.shape, owner)
        from pellucid.data.arrow import arrow_column

        columns = [arrow_column(n, X.column(j)) for j, n in enumerate(names)]
    else:
        from pellucid.data.dataframes import frame_columns

        names, columns = frame_columns(X, owner)
    n_rows = X.shape[0]
    if all(column.kind == "number" for column in columns):
        return RawTable(n_rows, names, dense=_side_by_side([c.values for c in columns], n_rows))
    return RawTable(n_rows, names, columns=columns)


def _side_by_side(columns: list[np.ndarray], n_rows: int) -> np.ndarray:
    """Columns as a matrix (n, p) float64; filled some rows at a time, which stay in the cache."""
    dense = np.empty((n_rows, len(columns)))
    step = max(512, CACHED_CELLS // max(1, len(columns)))
    for first in range(0, n_rows, step):
        rows = slice(first, first + step)
        for j, values in enumerate(columns):
            dense[rows, j] = values[rows]
    return dense


def check_names(names: tuple[str, ...]) -> None:
    """Column names must be unique."""
    if len(set(names)) < len(names):
        seen: set[str] = set()
        twice = sorted({n for n in names if n in seen or seen.add(n)})  # type: ignore[func-returns-value]
        raise DataError(
            f"duplicate column names: {', '.join(map(repr, twice))}. Rename them: columns are "
            "matched by name."
        )
