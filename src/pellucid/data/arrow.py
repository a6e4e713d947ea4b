"""Arrow columns as raw columns, without a dataframe in between."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pellucid.data.buffers import to_numpy
from pellucid.data.cells import RawColumn, datetime_days, factorize, warn_of_rounding
from pellucid.errors import DataTypeError


def arrow_column(name: str, column: Any) -> RawColumn:
    """One ChunkedArray as a `RawColumn`."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _dictionary(name, column)
    if pa.types.is_null(kind):
        return RawColumn(name, "number", np.full(len(column), np.nan))
    if pa.types.is_run_end_encoded(kind):
        return arrow_column(name, pc.run_end_decode(column))
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    if pa.types.is_int64(kind) or pa.types.is_uint64(kind):
        warn_of_rounding(name, to_numpy(column, missing=0))
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return RawColumn(name, "number", _floats(column))
    if pa.types.is_decimal(kind):
        return RawColumn(name, "number", _floats(column.cast(pa.float64())))
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return RawColumn(name, "categorical", *_codes(pc.dictionary_encode(column)), free=True)
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        stamps = to_numpy(column.cast(pa.timestamp("us"), safe=False))
        return RawColumn(name, "datetime", datetime_days(stamps))
    if pa.types.is_duration(kind):
        micro = column.cast(pa.duration("us")).cast(pa.int64())
        return RawColumn(name, "number", _floats(micro) / 86_400e6)
    raise DataTypeError(f"column {name!r} has type {kind}, which no table can hold.")


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


def _dictionary(name: str, column: Any) -> RawColumn:
    if pa.types.is_nested(column.type.value_type):
        raise DataTypeError(
            f"column {name!r} has levels of type {column.type.value_type}, which no table can hold."
            " Turn them into text or numbers first."
        )
    codes, levels = _codes(column)
    return RawColumn(name, "categorical", codes, levels, ordered=bool(column.type.ordered))
