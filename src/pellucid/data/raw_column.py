"""Cells and columns: kinds of Python objects, missing or not, and `RawColumn`, what they become."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any, NoReturn

import numpy as np

from pellucid.errors import DataConversionWarning, DataError, DataTypeError, shown, warn

# Whole numbers up to here are exact in float64.
_EXACT = 2**53


@dataclass(frozen=True)
class RawColumn:
    """One column as read.

    kind "number", "datetime": `values` float64, NaN = missing. "categorical": int32 positions in
    `levels`, -1 = missing; `ordered`: the dtype gave the levels their order; `free`:
    they are strings which may turn out to be text. "text": object array of str, None = missing.
    """

    name: str
    kind: str
    values: np.ndarray
    levels: tuple[Any, ...] = ()
    ordered: bool = False
    free: bool = False

    def cells(self) -> np.ndarray:
        """The column as plain Python cells, None = missing."""
        if self.kind == "categorical":
            return np.array([*self.levels, None], dtype=object)[self.values]
        return self.values

    def present(self) -> np.ndarray:
        """Mask of the cells that are not missing."""
        if self.kind == "categorical":
            return self.values >= 0
        if self.kind == "text":
            return np.array([cell is not None for cell in self.values], dtype=bool)
        return ~np.isnan(self.values)


def is_missing(cell: Any) -> bool:
    """None, NaN, NaT, pandas.NA."""
    if cell is None:
        return True
    if isinstance(cell, float | np.floating):
        return bool(np.isnan(cell))
    if isinstance(cell, np.datetime64 | np.timedelta64):
        return bool(np.isnat(cell))
    return type(cell).__name__ in ("NAType", "NaTType")


def object_column(name: str, cells: np.ndarray) -> RawColumn:
    """Kind and values of a column of Python objects; mixtures are an error naming the cell."""
    missing = np.fromiter((is_missing(c) for c in cells), bool, len(cells))
    present = cells[~missing]
    types = {type(c) for c in present}
    if any(issubclass(t, complex | np.complexfloating) for t in types):
        raise DataError(f"Complex data not supported: column {name!r}.")
    if all(issubclass(t, int | float | Decimal | np.number | np.bool_) for t in types):
        return RawColumn(name, "number", _number_cells(name, cells, missing))
    if all(issubclass(t, str) for t in types):
        return string_column(name, cells)
    if all(issubclass(t, date | np.datetime64) for t in types):
        stamps = np.full(len(cells), np.datetime64("NaT"), "datetime64[us]")
        stamps[~missing] = [np.datetime64(_without_zone(c), "us") for c in present]
        return RawColumn(name, "datetime", datetime_days(stamps))
    _raise_odd_cell(name, cells, missing)
    return None


def _number_cells(name: str, cells: np.ndarray, missing: np.ndarray) -> np.ndarray:
    values = np.full(len(cells), np.nan)
    fits = (isinstance(c, int | np.integer) and abs(int(c)) < 2**63 for c in cells)
    whole = [int(c) if fit else 0 for c, fit in zip(cells, fits)]
    warn_of_rounding(name, np.array(whole, dtype=np.int64))
    for row in np.flatnonzero(~missing):
        try:
            values[row] = float(cells[row])
        except OverflowError:
            raise DataError(
                f"column {name!r}, row {row} holds a number too large for a float: infinite values "
                "cannot be used. Correct the cell or make it missing."
            ) from None
    return values


def _without_zone(stamp: Any) -> Any:
    if getattr(stamp, "tzinfo", None) is None:
        return stamp
    return stamp.astimezone(UTC).replace(tzinfo=None)


def _raise_odd_cell(name: str, cells: np.ndarray, missing: np.ndarray) -> NoReturn:
    numbers = np.fromiter((isinstance(c, int | float | np.number) for c in cells), bool, len(cells))
    texts = np.fromiter((isinstance(c, str) for c in cells), bool, len(cells))
    odd = np.flatnonzero(~numbers & ~texts & ~missing)
    if odd.size:
        row = int(odd[0])
        raise DataTypeError(
            "float() argument must be a string or a real number, not "
            f"{type(cells[row]).__name__!r}: column {name!r}, row {row} holds {cells[row]!r}. "
            "Cells must be numbers, text, dates or missing."
        )
    rarer = texts if texts.sum() <= numbers.sum() else numbers
    row = int(np.flatnonzero(rarer)[0])
    raise DataError(
        f"column {name!r} mixes numbers and text: {int(texts.sum())} of {len(cells)} cells are "
        f"text (row {row} holds {shown(cells[row])}). Make it all numbers, or all text for a category."
    )


def string_column(name: str, cells: np.ndarray) -> RawColumn:
    """Strings: labels, unless `learn` finds that they are text."""
    return RawColumn(name, "categorical", *factorize(cells), free=True)


def plain_level(level: Any) -> Any:
    """A level as a plain Python value that can be compared, sorted and saved."""
    if isinstance(level, np.generic):
        level = level.item()
    if hasattr(level, "to_pydatetime"):  # pandas.Timestamp
        level = level.to_pydatetime()
    if isinstance(level, datetime) and level.tzinfo is None and level.time() == time():
        return level.date()  # as a column of dates has it
    if level is None or isinstance(level, str | int | float | bytes | tuple | date):
        return level
    return str(level)


def factorize(cells: np.ndarray) -> tuple[np.ndarray, tuple[Any, ...]]:
    """Codes by first appearance (-1 = missing) and the distinct cells as plain Python values."""
    position: dict[Any, int] = {}
    codes = np.empty(len(cells), dtype=np.int32)
    for i, cell in enumerate(cells):
        if cell is None or is_missing(cell):
            codes[i] = -1
        else:
            codes[i] = position.setdefault(cell, len(position))
    return codes, tuple(map(plain_level, position))


def rounded_cells(values: np.ndarray) -> np.ndarray:
    """Rows of whole numbers that float64 rounds."""
    if values.dtype.kind not in "iu" or values.dtype.itemsize < 8 or not values.size:
        return np.empty(0, dtype=np.int64)
    if values.min() >= -_EXACT and values.max() <= _EXACT:
        return np.empty(0, dtype=np.int64)
    size = np.abs(values).astype(np.uint64)  # right for -2**63 too, which wraps
    lowest_bit = np.maximum(size & (~size + np.uint64(1)), np.uint64(1))
    return np.flatnonzero(size // lowest_bit > _EXACT)


def warn_of_rounding(name: str, values: np.ndarray) -> None:
    """Warn if float64 rounds whole numbers: different identifiers could become equal."""
    lost = rounded_cells(values)
    if lost.size:
        report_rounding(name, lost.size, int(lost[0]), int(values[lost[0]]))


def report_rounding(name: str, count: int, row: int, whole: int) -> None:
    """The warning about `count` rounded cells, the first of them in this row."""
    warn(
        f"column {name!r} holds {count} integer(s) beyond 2**53, which float64 rounds "
        f"(row {row}: {whole} becomes {int(float(whole))}), so different values may "
        "become equal. If the column is an identifier, drop it or convert it to text.",
        DataConversionWarning,
    )


def datetime_days(stamps: np.ndarray) -> np.ndarray:
    """Days since 1970 as float64, NaT as NaN."""
    micro = stamps.astype("datetime64[us]")
    days = micro.astype(np.int64) / 86_400e6
    return np.where(np.isnat(micro), np.nan, days)
