"""Turning a raw column into another kind: as `Table(kinds=...)` and a learned schema require."""

from datetime import date, datetime, time, timedelta
from typing import Any

import numpy as np

from pellucid.data.raw_column import RawColumn, datetime_days, factorize
from pellucid.errors import DataError


def as_kind(column: RawColumn, kind: str, name: str, strict: bool = False) -> RawColumn:
    """The column as `kind`; a cell that cannot be is named in the error.

    `strict`: dates and numbers are not the same thing (their units are not).
    """
    if column.kind == kind:
        return column
    numeric = ("number", "datetime")
    if column.kind in numeric and kind in numeric:
        if strict and not np.isnan(column.values).all():
            words = {"number": "numbers", "datetime": "dates"}
            raise DataError(
                f"column {name!r} held {words[kind]} in training and holds {words[column.kind]} now. "
                f"Give {words[kind]}, or drop the column."
            )
        return RawColumn(name, kind, column.values)
    return _CONVERT[kind](column, name)


def _to_categorical(column: RawColumn, name: str) -> RawColumn:
    if column.kind == "text":
        return RawColumn(name, "categorical", *factorize(column.values))
    levels, codes = np.unique(column.values[~np.isnan(column.values)], return_inverse=True)
    values = np.full(len(column.values), -1, dtype=np.int32)
    values[~np.isnan(column.values)] = codes
    plain = day if column.kind == "datetime" else _number
    return RawColumn(name, "categorical", values, tuple(plain(float(v)) for v in levels))


def _number(value: float) -> int | float:
    return int(value) if value.is_integer() else value


def day(days: float) -> date:
    """Days since 1970 as a date, with the time of day if there is one."""
    stamp = datetime(1970, 1, 1) + timedelta(days=days)
    return stamp if stamp.time() != time() else stamp.date()


def _to_text(column: RawColumn, name: str) -> RawColumn:
    if column.kind == "categorical":
        cells = [None if c is None else str(c) for c in column.cells()]
        return RawColumn(name, "text", np.array(cells, dtype=object))
    plain = day if column.kind == "datetime" else _number
    cells = [None if np.isnan(v) else str(plain(float(v))) for v in column.values]
    return RawColumn(name, "text", np.array(cells, dtype=object))


def _convert_cells(column: RawColumn, name: str, convert: Any, kind: str, fill: Any) -> list[Any]:
    out = []
    for row, cell in enumerate(column.cells()):
        try:
            out.append(fill if cell is None else convert(cell))
        except (TypeError, ValueError):
            raise DataError(
                f"column {name!r} holds {cell!r} in row {row}, but a {kind} is expected there. "
                f"Correct the cell or make it missing."
            ) from None
    return out


def _to_number(column: RawColumn, name: str) -> RawColumn:
    values = _convert_cells(column, name, float, "number", np.nan)
    return RawColumn(name, "number", np.array(values, dtype=float))


def _to_datetime(column: RawColumn, name: str) -> RawColumn:
    def stamp(cell: Any) -> np.datetime64:
        return np.datetime64(cell, "us")

    values = _convert_cells(column, name, stamp, "date", np.datetime64("NaT"))
    return RawColumn(name, "datetime", datetime_days(np.array(values, dtype="datetime64[us]")))


_CONVERT = {
    "categorical": _to_categorical,
    "text": _to_text,
    "number": _to_number,
    "datetime": _to_datetime,
}
