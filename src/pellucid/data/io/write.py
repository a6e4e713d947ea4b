"""Columns to a file: CSV, Parquet or JSON lines, whole or not at all.

Invariant: a file appears under its name only when it is complete; an error or an interruption
leaves what was there before.
"""

from __future__ import annotations

import csv as csv_text
import io
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from pellucid.data.arrow_numpy import to_arrow
from pellucid.errors import DataError

Columns = Mapping[str, Any]
# All but the ends of cells and lines; the last two ranges turn the direction of what follows.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
# What a spreadsheet takes for the beginning of a formula, also in the full width of Japanese.
_FORMULA = "^([=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20])"


def as_table(columns: Columns) -> pa.Table:
    """Arrays, lists or Arrow columns as one Arrow table."""
    return pa.table({name: _as_arrow(values) for name, values in columns.items()})


def _as_arrow(values: Any) -> Any:
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    if isinstance(values, np.ndarray) and values.dtype.kind == "M":
        return pa.array(values)
    return to_arrow(values)


def write_csv(table: pa.Table, file: BinaryIO) -> None:
    """One header line; numbers with all digits that matter; quotes only if some text needs them."""
    from pyarrow import csv

    for name in table.column_names:
        try:  # before the first byte
            csv.write_csv(table.select([name]).slice(0, 0), io.BytesIO())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise DataError(
                f"column {name!r} has type {table.schema.field(name).type}, which CSV cannot hold. "
                "Write Parquet or JSON lines (-o out.parquet), or leave the column out."
            ) from None
    header = io.StringIO()
    csv_text.writer(header, lineterminator="\n").writerow(table.column_names)
    file.write(header.getvalue().encode())
    style = "needed" if any(map(_needs_quotes, table.columns)) else "none"
    csv.write_csv(table, file, csv.WriteOptions(include_header=False, quoting_style=style))


def without_formulas(table: pa.Table) -> pa.Table:
    """Texts and names that a spreadsheet would execute, with an apostrophe before them."""
    import pyarrow.compute as pc

    for j, name in enumerate(table.column_names):
        if _is_text(column := _decoded(table.column(j))):
            safe = pc.replace_substring_regex(column, _FORMULA, r"'\1")
            table = table.set_column(j, name, safe)
    return table.rename_columns([re.sub(_FORMULA, r"'\1", name) for name in table.column_names])


def _decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    is_coded = pa.types.is_dictionary(column.type)
    return column.cast(column.type.value_type) if is_coded else column


def _is_text(column: pa.ChunkedArray) -> bool:
    return pa.types.is_string(column.type) or pa.types.is_large_string(column.type)


def _needs_quotes(column: pa.ChunkedArray) -> bool:
    import pyarrow.compute as pc

    if not _is_text(column := _decoded(column)):
        return False
    # An empty text is quoted, to differ from a missing cell.
    return bool(pc.any(pc.match_substring_regex(column, r'[",\r\n]|^$')).as_py())


def write_parquet(table: pa.Table, file: BinaryIO) -> None:
    """One Parquet file."""
    from pyarrow import parquet

    parquet.write_table(table, file)


def write_jsonl(table: pa.Table, file: BinaryIO) -> None:
    """One JSON object per row; what JSON cannot express (missing, infinite) is null."""
    for batch in table.to_batches(max_chunksize=10_000):
        for row in batch.to_pylist():
            plain = {name: _json_cell(cell) for name, cell in row.items()}
            file.write(json.dumps(plain, ensure_ascii=False).encode() + b"\n")


def _json_cell(cell: Any) -> Any:
    if isinstance(cell, float) and not np.isfinite(cell):
        return None
    return cell if isinstance(cell, str | int | float | None) else str(cell)


WRITERS: dict[str, Callable[[pa.Table, BinaryIO], None]] = {
    "csv": write_csv,
    "jsonl": write_jsonl,
    "parquet": write_parquet,
}


def format_of(path: str) -> str:
    """The format by the ending of a file name; `-` and names without an ending mean CSV."""
    ending = Path(path).suffix.lower().lstrip(".")
    if path == "-" or not ending:
        return "csv"
    if ending not in WRITERS:
        known = ", ".join(f".{name}" for name in WRITERS)
        raise DataError(
            f"{path}: '.{ending}' is not a known output format (known: {known}). Use one of these "
            "endings, or --format."
        )
    return ending


@contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    """A stream whose content becomes `path` when the block ends without an error."""
    if path == "-":
        if sys.stdout.isatty():
            shown = io.BytesIO()
            yield shown
            sys.stdout.write(_CONTROL.sub("\ufffd", shown.getvalue().decode()))
        else:
            yield sys.stdout.buffer
        return
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():  # a device or a pipe is written to, not replaced
        with target.open("wb") as file:
            yield file
        return
    partial = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with partial.open("xb") as file:
            yield file
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def write(
    columns: Columns, path: str, format: str | None = None, spreadsheet_safe: bool = False
) -> None:
    """Write columns of equal length to `path` (`-`: standard output).

    Parameters
    ----------
    columns : mapping of name to array
        NumPy arrays, lists or Arrow columns.
    path : str
        An existing file is replaced when the new one is complete.
    format : {"csv", "jsonl", "parquet"}, optional
        Default: by the ending of `path`.
    spreadsheet_safe : bool
        Write an apostrophe before texts that begin with =, +, -, @ (also in full width), a tab or a
        line end, which a spreadsheet would take for a formula.

    On a terminal, control characters are shown as U+FFFD; Parquet is refused there.
    """
    format = format or format_of(path)
    if path == "-" and format == "parquet" and sys.stdout.isatty():
        raise DataError("Parquet is not text: give a file with -o, or redirect the output.")
    table = without_formulas(as_table(columns)) if spreadsheet_safe else as_table(columns)
    writer = WRITERS[format]
    try:
        with _opened(path) as file:
            writer(table, file)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror or error}.") from None
