"""Arrow and NumPy over shared memory, without pandas.

Arrow's own conversions (`pa.array`, `to_numpy`, `pa.scalar`) import pandas where it is installed,
which takes longer than most fits. Invariant: nothing here does, and cells are not copied unless
some are missing or the chunks are many.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from pellucid.data.raw_column import is_missing


def to_numpy(column: Any, missing: Any = None) -> np.ndarray:
    """An Arrow array or chunked array of numbers, bools, dates, timestamps or durations.

    Missing cells become `missing`; None means NaN (integers and bools then turn to float64), NaT
    for times.
    """
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    parts = [_values(chunk) for chunk in chunks if len(chunk)]
    if not parts:
        return np.empty(0, dtype=_dtype(column.type))
    values = parts[0] if len(parts) == 1 else np.concatenate(parts)
    if column.null_count == 0:
        return values
    absent = ~np.concatenate([_valid(chunk) for chunk in chunks if len(chunk)])
    if missing is None:
        missing = np.array("NaT", values.dtype) if values.dtype.kind in "mM" else np.nan
        if values.dtype.kind in "iub":
            values = values.astype(np.float64)
    return np.where(absent, np.asarray(missing, dtype=values.dtype), values)


def to_arrow(values: Any) -> Any:
    """A NumPy array or list of numbers, bools or strings (None where missing) as Arrow."""
    if not isinstance(values, np.ndarray) or values.dtype.kind in "OUT":
        cells = values.tolist() if isinstance(values, np.ndarray) else list(values)
        if any(isinstance(cell, str) for cell in cells):
            return _strings(cells)
        values = np.array([np.nan if cell is None else cell for cell in cells])
    if values.dtype.kind == "b":
        bits = np.packbits(values, bitorder="little")
        return pa.Array.from_buffers(pa.bool_(), len(values), [None, pa.py_buffer(bits)])
    if values.dtype.kind not in "fiu":
        raise TypeError(f"to_arrow takes numbers, bools and strings, not {values.dtype}")
    kind, dtype = {
        "f": (pa.float64(), np.float64), "i": (pa.int64(), np.int64), "u": (pa.uint64(), np.uint64)
    }[values.dtype.kind]  # fmt: skip
    data = np.ascontiguousarray(values, dtype=dtype)
    return pa.Array.from_buffers(kind, len(data), [None, pa.py_buffer(data)])


def _strings(cells: list[Any]) -> Any:
    valid = np.array([not is_missing(cell) for cell in cells])
    encoded = [str(cell).encode("utf-8") if kept else b"" for cell, kept in zip(cells, valid)]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    bits = None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
    data = pa.py_buffer(b"".join(encoded))
    if ends[-1] < 2**31:
        offsets = pa.py_buffer(ends.astype(np.int32))
        return pa.StringArray.from_buffers(len(cells), offsets, data, bits)
    return pa.LargeStringArray.from_buffers(len(cells), pa.py_buffer(ends), data, bits)


def _dtype(kind: Any) -> np.dtype:
    if pa.types.is_boolean(kind):
        return np.dtype(bool)
    if pa.types.is_floating(kind):
        return np.dtype(f"f{kind.bit_width // 8}")
    if pa.types.is_integer(kind):
        return np.dtype(str(kind))
    if pa.types.is_date32(kind):
        return np.dtype("datetime64[D]")
    if pa.types.is_date64(kind):
        return np.dtype("datetime64[ms]")
    if pa.types.is_timestamp(kind):
        return np.dtype(f"datetime64[{kind.unit}]")
    if pa.types.is_duration(kind):
        return np.dtype(f"timedelta64[{kind.unit}]")
    raise TypeError(f"to_numpy takes numbers, bools and times, not {kind}")


def _values(chunk: Any) -> np.ndarray:
    buffer, begin, end = chunk.buffers()[1], chunk.offset, chunk.offset + len(chunk)
    dtype = _dtype(chunk.type)
    if pa.types.is_boolean(chunk.type):
        return _bits(buffer, begin, end)
    if pa.types.is_date32(chunk.type):  # NumPy counts days in 64 bits, Arrow in 32
        return np.frombuffer(buffer, dtype=np.int32)[begin:end].astype(dtype)
    return np.frombuffer(buffer, dtype=dtype)[begin:end]


def _valid(chunk: Any) -> np.ndarray:
    buffer = chunk.buffers()[0]
    if buffer is None:
        return np.ones(len(chunk), dtype=bool)
    return _bits(buffer, chunk.offset, chunk.offset + len(chunk))


def _bits(buffer: Any, begin: int, end: int) -> np.ndarray:
    data = np.frombuffer(buffer, dtype=np.uint8)
    return np.unpackbits(data, count=end, bitorder="little")[begin:].astype(bool)
