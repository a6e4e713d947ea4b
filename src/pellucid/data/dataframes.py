"""The door to narwhals: eager dataframes (pandas, polars, modin, cuDF) as raw columns."""

from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from pellucid.data.arrow import arrow_column
from pellucid.data.intake import check_names, check_shape
from pellucid.data.raw_column import (
    RawColumn,
    datetime_days,
    factorize,
    object_column,
    plain_level,
    string_column,
    warn_of_rounding,
)
from pellucid.errors import DataError, DataTypeError


def frame_columns(X: Any, owner: str) -> tuple[tuple[str, ...] | None, list[RawColumn]]:
    """Names (None if the frame has no text names) and columns of an eager dataframe."""
    raw_names = list(X.columns)
    check_names(tuple(str(name) for name in raw_names))
    check_shape(X.shape, owner)
    text = [isinstance(name, str) for name in raw_names]
    if any(text) and not all(text):
        raise DataTypeError(
            "Feature names are only supported if all input features have string names, but your "
            "input has mixed types. If you want feature names to be stored and validated, you must "
            "convert them all to strings, by using X.columns = X.columns.astype(str) for example."
        )
    if not all(text):
        X = X.set_axis([str(name) for name in raw_names], axis=1)
    try:
        frame = nw.from_native(X, eager_only=True)
    except TypeError as error:
        raise DataTypeError(f"X is not a table that can be read: {error}") from None
    names = tuple(frame.columns)
    numbers = _plain_numbers(X)
    if numbers is not None:
        columns = [RawColumn(name, "number", numbers[:, j]) for j, name in enumerate(names)]
    else:
        columns = [_column(name, frame[name]) for name in names]
    return (names if all(text) else None), columns


def _plain_numbers(X: Any) -> np.ndarray | None:
    """All columns at once, where they are NumPy numbers of a pandas frame."""
    dtypes = getattr(X, "dtypes", ())
    if not type(X).__module__.startswith("pandas"):
        return None
    if all(isinstance(d, np.dtype) and d.kind in "fiub" for d in dtypes):
        for j in (j for j, d in enumerate(dtypes) if d.kind in "iu" and d.itemsize == 8):
            warn_of_rounding(str(X.columns[j]), X.iloc[:, j].to_numpy())
        return X.to_numpy(dtype=np.float64)
    return None


def _column(name: str, series: nw.Series) -> RawColumn:
    native = nw.to_native(series)
    if str(getattr(native, "dtype", "")).startswith("Sparse["):  # pandas
        native = native.sparse.to_dense()
        series = nw.from_native(native, series_only=True)
    dtype = series.dtype
    # The first cells must not decide for the others.
    if str(getattr(native, "dtype", "")) == "object":
        return object_column(name, np.asarray(native, dtype=object))
    if str(getattr(native, "dtype", "")).endswith("[pyarrow]"):
        return arrow_column(name, series.to_arrow())
    if dtype in (nw.Int64, nw.UInt64):
        whole = series if series.null_count() == 0 else series.fill_null(0)
        warn_of_rounding(name, whole.to_numpy())
    if dtype.is_numeric() or dtype == nw.Boolean:
        return RawColumn(name, "number", _floats(series))
    if dtype in (nw.Categorical, nw.Enum, nw.String):
        return _labels(name, series)
    if dtype in (nw.Datetime, nw.Date):
        if dtype == nw.Datetime and getattr(dtype, "time_zone", None):
            series = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
        return RawColumn(name, "datetime", datetime_days(np.asarray(series.to_numpy())))
    if dtype == nw.Duration:
        micro = series.dt.total_microseconds().cast(nw.Float64)
        return RawColumn(name, "number", _floats(micro) / 86_400e6)
    if dtype == nw.Time:
        return arrow_column(name, series.to_arrow())
    if dtype == nw.Object:
        return object_column(name, np.asarray(series.to_numpy(), dtype=object))
    if getattr(getattr(native, "dtype", None), "kind", "") == "c":
        raise DataError(f"Complex data not supported: column {name!r}.")
    if str(dtype) == "Unknown" and series.null_count() == len(series):
        return RawColumn(name, "number", np.full(len(series), np.nan))
    shown = dtype if str(dtype) != "Unknown" else getattr(native, "dtype", dtype)
    raise DataTypeError(
        f"column {name!r} has type {shown}, which no model can read. Turn it into numbers, text, "
        "categories or dates first."
    )


def _floats(series: nw.Series) -> np.ndarray:
    values = series.cast(nw.Float64).to_numpy()
    if values.dtype != np.float64:  # nullable dtypes may hand out objects
        values = np.array([np.nan if v is None or v is not v else v for v in values], dtype=float)
    return values


def _labels(name: str, series: nw.Series) -> RawColumn:
    if series.dtype == nw.String:
        try:
            return arrow_column(name, series.cast(nw.String).to_arrow())
        except UnicodeEncodeError:  # half a character, as broken files have
            return string_column(name, np.asarray(series.to_list(), dtype=object))
    native = nw.to_native(series)
    if type(native).__module__.startswith("pandas"):
        levels = tuple(map(plain_level, native.cat.categories.tolist()))
        codes = native.cat.codes.to_numpy().astype(np.int32)
        return RawColumn(name, "categorical", codes, levels, ordered=bool(native.cat.ordered))
    levels = tuple(series.cat.get_categories().to_list())
    # A polars Categorical numbers its levels by appearance, in any column: that is no order.
    codes, seen = factorize(np.array(series.to_list(), dtype=object))
    if series.dtype == nw.Enum:
        where = {level: k for k, level in enumerate(levels)}
        lookup = np.array([*(where[s] for s in seen), -1], dtype=np.int32)
        return RawColumn(name, "categorical", lookup[codes], levels, ordered=True)
    return RawColumn(name, "categorical", codes, seen)


def stacked(X: Any, rows: Any) -> Any:
    """A frame with the rows of another one below, which are converted to its column types."""
    upper = nw.from_native(X, eager_only=True)
    lower = nw.from_native(rows, eager_only=True)
    missing = [name for name in upper.columns if name not in lower.columns]
    if missing:
        raise DataError(f"The rows lack the column {missing[0]!r} of X.")
    lower = lower.select(upper.columns)
    if upper.schema != lower.schema and not type(X).__module__.startswith("pandas"):
        same = (nw.col(name).cast(dtype) for name, dtype in upper.schema.items())
        lower = lower.with_columns(*same)  # pandas widens the types of the upper frame instead
    return nw.to_native(nw.concat([upper, lower], how="vertical"))
