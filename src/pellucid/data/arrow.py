"""Arrow columns as raw columns, without a dataframe: what each type means, or why it is refused.

| Arrow type | meaning |
|---|---|
| bool, integer, float, decimal | a number; decimals and 64-bit integers are rounded to float64 |
| null | a number that is always missing |
| date, timestamp | a point in time, to the microsecond; with a time zone: in UTC |
| duration | a number: days |
| time of day | a number: days since midnight (noon is 0.5) |
| string, large string, string view | categories, or free text |
| dictionary | categories, whose levels have one of the types above |
| run-end encoded, `arrow.json`, `arrow.bool8` | as the type they wrap |
| binary, list, struct, map, union, interval, other extension types | refused |

Invariant: after `plain`, a column has one of few types, and every cell has a Python object.
"""

from __future__ import annotations

from shlex import quote
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pellucid.data.arrow_numpy import to_numpy
from pellucid.data.raw_column import RawColumn, datetime_days, factorize, warn_of_rounding
from pellucid.errors import DataTypeError

MICROSECONDS = pa.timestamp("us")
_FLOATS = pa.float64()
_TEXT = (pa.types.is_large_string, pa.types.is_string_view)
_AS_THEY_ARE = (
    pa.types.is_boolean, pa.types.is_integer, pa.types.is_float32, pa.types.is_float64,
    pa.types.is_string, pa.types.is_date32,
)  # fmt: skip
_WRAPPED = ("arrow.json", "arrow.bool8")  # extension types that mean what they store


def plain(name: str, column: Any) -> Any:
    """The column as bool, integer, float, string, date32, timestamp or duration in microseconds, or
    as a dictionary of these; any other type is a `DataTypeError`."""
    kind = column.type
    if any(same(kind) for same in _AS_THEY_ARE):
        return column
    if pa.types.is_dictionary(kind):
        return _dictionary(name, column)
    if pa.types.is_run_end_encoded(kind):
        return plain(name, pc.run_end_decode(column))
    if isinstance(kind, pa.BaseExtensionType) and kind.extension_name in _WRAPPED:
        return plain(name, column.cast(kind.storage_type))
    if pa.types.is_null(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return column.cast(pa.float64())
    if any(is_text(kind) for is_text in _TEXT):
        return _text(column)
    if pa.types.is_timestamp(kind) or pa.types.is_date64(kind):
        return _in_range(name, column, MICROSECONDS)
    if pa.types.is_duration(kind):
        return _in_range(name, column, pa.duration("us"))
    if pa.types.is_time(kind):
        clock = column.cast(pa.time64("us"), safe=False)
        return clock.cast(pa.int64()).cast(pa.duration("us"))
    raise unreadable(name, kind)


def plain_numbers(column: Any) -> np.ndarray | None:
    """The cells of a plain column as their Python objects would make an array: bool, int64 or float64
    with NaN; None for columns without a number, of other types, and of integers from 2**63 on."""
    kind = column.type
    floats, wholes = pa.types.is_floating(kind), pa.types.is_integer(kind)
    if not (floats or wholes or pa.types.is_boolean(kind)) or column.null_count == len(column):
        return None
    values = to_numpy(column)
    if values.dtype == np.uint64 and values.max() >= 2**63:
        return None
    return np.array(values, dtype={"b": bool, "f": np.float64}.get(values.dtype.kind, np.int64))


def unreadable(name: str, kind: Any, what: str = "has type") -> DataTypeError:
    """The error for a column whose type no model reads, with what to do about it."""
    advice = "Turn it into numbers, text or dates first"
    if pa.types.is_nested(kind):
        advice = "A table needs one value per cell: spread it over several columns"
    elif "binary" in str(kind):
        advice = "It holds bytes: decode them to text first"
    return DataTypeError(
        f"column {name!r} {what} {kind}, which no model can read. {advice}, or leave the column out "
        f"(--drop {quote(name)})."
    )


def _text(column: Any) -> Any:
    try:
        return column.cast(pa.string())
    except pa.ArrowInvalid:  # more than 2 GB of text
        return column.cast(pa.large_string())


def _in_range(name: str, column: Any, kind: Any) -> Any:
    """Microseconds: digits beyond them are cut off, but no time may wrap around."""
    finer = getattr(column.type, "unit", "ms") == "ns"
    try:
        out = column.cast(kind, safe=not finer)
        if kind == MICROSECONDS:
            pc.min_max(out).as_py()  # an OverflowError if Python has no such datetime
    except (pa.ArrowInvalid, OverflowError):
        raise DataTypeError(
            f"column {name!r} ({column.type}) holds times outside the years 1 to 9999. Correct them, "
            f"make them missing, or leave the column out (--drop {quote(name)})."
        ) from None
    return out


def _dictionary(name: str, column: Any) -> Any:
    """Plain levels; a column that has no level at all is a number that is always missing."""
    levels = column.type.value_type
    if pa.types.is_null(levels):
        return column.cast(pa.null()).cast(pa.float64())
    if pa.types.is_dictionary(levels) or not _readable(levels):
        raise unreadable(name, levels, "has levels of type")
    if any(same(levels) for same in _AS_THEY_ARE):
        return column
    if isinstance(column, pa.ChunkedArray):
        # Chunk by chunk: Arrow (26) confuses half floats when it unifies dictionaries.
        chunks = [_dictionary(name, chunk) for chunk in column.chunks]
        return pa.chunked_array(chunks) if chunks else plain(name, column.cast(levels))
    values = plain(name, column.dictionary)
    return pa.DictionaryArray.from_arrays(column.indices, values, ordered=column.type.ordered)


def _readable(kind: Any) -> bool:
    try:
        plain("", pa.nulls(0, kind))
    except DataTypeError:
        return False
    return True


def arrow_column(name: str, column: Any, quiet: bool = False) -> RawColumn:
    """One Arrow array, chunked or not, as a `RawColumn`; a `DataTypeError` if no model can read its
    type. `quiet`: no warning about rounded integers."""
    kind = column.type
    if kind == _FLOATS:  # the most frequent type first, for tables of very many columns
        return RawColumn(name, "number", to_numpy(column))
    column = plain(name, column)
    kind = column.type
    if pa.types.is_dictionary(kind):
        codes, levels = _codes(column)
        return RawColumn(name, "categorical", codes, levels, ordered=bool(kind.ordered))
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    if not quiet and (pa.types.is_int64(kind) or pa.types.is_uint64(kind)):
        warn_of_rounding(name, to_numpy(column, missing=0))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return RawColumn(name, "categorical", *_codes(pc.dictionary_encode(column)), free=True)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        stamps = to_numpy(column.cast(MICROSECONDS, safe=False))
        return RawColumn(name, "datetime", datetime_days(stamps))
    if pa.types.is_duration(kind):
        return RawColumn(name, "number", _floats(column.cast(pa.int64())) / 86_400e6)
    return RawColumn(name, "number", _floats(column))


def _floats(column: Any) -> np.ndarray:
    return to_numpy(pc.cast(column, pa.float64(), safe=False))


def _codes(column: Any) -> tuple[np.ndarray, tuple[Any, ...]]:
    """Codes and levels; a missing or repeated entry of the dictionary is put right."""
    if isinstance(column, pa.ChunkedArray):
        column = column.unify_dictionaries().combine_chunks()
    codes = to_numpy(column.indices.cast(pa.int32()), missing=-1)
    entries = np.empty(len(column.dictionary), dtype=object)
    entries[:] = column.dictionary.to_pylist()
    position, levels = factorize(entries)
    return np.append(position, np.int32(-1))[codes], levels
