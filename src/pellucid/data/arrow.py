"""Arrow columns as raw columns, without a dataframe; `arrow_types` defines what each type means."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pellucid.data.arrow_numpy import to_numpy
from pellucid.data.arrow_types import MICROSECONDS, plain
from pellucid.data.raw_column import RawColumn, datetime_days, factorize, warn_of_rounding


def arrow_column(name: str, column: Any) -> RawColumn:
    """One ChunkedArray as a `RawColumn`; a `DataTypeError` if no model can read its type."""
    column = plain(name, column)
    kind = column.type
    if pa.types.is_dictionary(kind):
        codes, levels = _codes(column)
        return RawColumn(name, "categorical", codes, levels, ordered=bool(kind.ordered))
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    if pa.types.is_int64(kind) or pa.types.is_uint64(kind):
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
