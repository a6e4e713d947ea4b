"""Reading a table: CSV and TSV (also .gz, .zst), Parquet, JSON, Excel, standard input.

Invariant: what comes back is an Arrow table with at least one row, one type per column and
different names. Everything else is a `DataError` that names the problem, its place and the remedy.

Missing cells in text are those of `MISSING`: the empty cell, NA, NaN, null, None and their
spellings, the list that pandas uses; give `missing=[...]` for another list. They count in text
columns too, where a missing category is a level of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import pyarrow as pa

from pellucid.data.io.blank_separated import rewritten
from pellucid.data.io.delimited import read_delimited, settle_types, stream_delimited
from pellucid.data.io.dialect import MISSING, Dialect, settle
from pellucid.data.io.number_formats import near_numbers
from pellucid.data.io.source import Source, find, refuse_duplicates, refuse_foreign, selected
from pellucid.errors import DataConversionWarning, DataError, ParameterError, warn

__all__ = ["FORMATS", "MISSING", "batches", "read"]

# Extension, after that of a compression is taken off -> format.
_EXTENSIONS = {
    "csv": (".csv", ".txt"),
    "excel": (".xls", ".xlsm", ".xlsx"),
    "jsonl": (".json", ".jsonl", ".ndjson"),
    "parquet": (".parquet", ".pq"),
    "tsv": (".tab", ".tsv"),
}
FORMATS = {ending: name for name, endings in _EXTENSIONS.items() for ending in endings}


def read(
    source: Any,
    *,
    format: str | None = None,
    columns: Sequence[str] | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    header: bool = True,
    missing: Sequence[str] = MISSING,
    text: Sequence[str] = (),
    note: Callable[[str], None] | None = None,
) -> Any:
    r"""Read a table into a `pyarrow.Table`.

    Parameters
    ----------
    source : a path, `"-"` (standard input), bytes, or an object with `read`.
        `file.xlsx#Sheet` names the sheet of a workbook, otherwise its first one is read.
    format : `"csv"`, `"tsv"`, `"parquet"`, `"jsonl"` (one object per line, or one list of objects)
        or `"excel"`; None goes by the extension, and by the content where there is no name.
    columns : the columns to read, in this order; None reads all.
    delimiter, decimal, encoding : of a text; None detects them, with a note if they are unusual.
    header : False if the first row is data; the columns are then `column_1`, `column_2`, ...
    missing : the cells of a text that mean missing.
    text : columns of a delimited text that stay as they are written, also if all are numbers;
        names that it lacks are ignored.
    note : called with each remark about what was found; None makes it a warning.

    Examples
    --------
    >>> from pellucid.data.io.read import read
    >>> table = read(b"city,zip,sold\nUlm,01234,3\nBonn,NA,\n")
    >>> [(f.name, str(f.type)) for f in table.schema]
    [('city', 'string'), ('zip', 'string'), ('sold', 'int64')]
    """
    remarks: list[str] = []
    job = _prepare(
        source,
        note or remarks.append,
        format=format,
        columns=columns,
        delimiter=delimiter,
        decimal=decimal,
        encoding=encoding,
        header=header,
        missing=missing,
        text=text,
    )
    if job.dialect is not None:
        table = read_delimited(job.source, job.dialect, columns, job.note, text)
        near_numbers(table, job.note, job.source.name, text)
    else:
        table = _WHOLE[job.format](job)
        if job.format == "excel":
            near_numbers(table, job.note, job.source.name, text)
    if table.num_rows == 0:
        raise _no_rows(job.source)
    for remark in remarks:
        warn(remark, DataConversionWarning)
    return table


def batches(
    source: Any,
    *,
    rows: int = 65_536,
    note: Callable[[str], None] | None = None,
    **options: Any,
) -> Iterator[Any]:
    """The table of `read(source, **options)` in record batches of at most `rows` rows.

    All batches have one schema, that of the whole table. Delimited text (read twice, first for
    the types) and Parquet take memory for a block, however long the file; JSON lines are read
    whole.
    """
    remarks: list[str] = []
    job = _prepare(source, note or remarks.append, **options)
    if job.dialect is not None:
        parts = stream_delimited(job.source, job.dialect, job.columns, job.note, job.text)
    elif job.format == "parquet":
        parts = _parquet_batches(job, rows)
    else:
        parts = iter(_WHOLE[job.format](job).to_batches())
    first = next((part for part in parts if part.num_rows), None)
    if first is None:
        raise _no_rows(job.source)
    for remark in remarks:
        warn(remark, DataConversionWarning)
    return _sliced(chain([first], parts), rows)


def _sliced(parts: Iterable[Any], rows: int) -> Iterator[Any]:
    for part in parts:
        for begin in range(0, part.num_rows, rows):
            yield part.slice(begin, rows)


@dataclass(frozen=True)
class _Job:
    """One reading: from where, which format, which columns; `dialect` for delimited text only."""

    source: Source
    format: str
    columns: Sequence[str] | None
    note: Callable[[str], None]
    dialect: Dialect | None = None
    text: Sequence[str] = ()
    cells: Dialect | None = None  # of a workbook


def _prepare(
    source: Any,
    note: Callable[[str], None],
    *,
    format: str | None = None,
    columns: Sequence[str] | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    header: bool = True,
    missing: Sequence[str] = MISSING,
    text: Sequence[str] = (),
) -> _Job:
    found = find(source)
    head = found.head()
    kind = _format(found, head, format)
    is_list = kind == "jsonl" and head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"[")
    if kind in ("csv", "tsv", "jsonl") and not is_list:  # a list may stand on one line
        found.refuse_long_lines()
    if kind in ("parquet", "jsonl"):
        return _Job(found, kind, columns, note)
    if kind == "excel":
        own = Dialect(header=header, missing=tuple(missing))
        return _Job(found, kind, columns, note, text=text, cells=own)
    if not head.strip():
        raise DataError(f"{found.name} is empty ({len(head)} bytes): there is no table in it.")
    if kind == "tsv" and delimiter is None:
        delimiter = "\t"
    dialect = settle(
        found,
        delimiter=delimiter,
        decimal=decimal,
        encoding=encoding,
        header=header,
        missing=missing,
        note=note,
    )
    if dialect.blanks:
        found = rewritten(found, dialect.encoding, header, note)
        dialect = replace(dialect, delimiter="\t", encoding="utf-8", quote='"')
    return _Job(found, kind, columns, note, dialect, text)


def _format(source: Source, head: bytes, stated: str | None) -> str:
    """The stated format, or that of the extension, or what the content looks like."""
    if stated is not None and stated not in _EXTENSIONS:
        raise ParameterError(f"format must be one of {', '.join(_EXTENSIONS)}, not {stated!r}.")
    looks = _looks_like(head)
    kind = stated or FORMATS.get(source.suffix) or (looks if source.path is None else None)
    if kind not in ("parquet", "excel"):
        refuse_foreign(source, head)
    if kind is None:
        endings = ", ".join(sorted(FORMATS))
        raise DataError(
            f"{source.name}: the extension {source.suffix or '(none)'} is not that of a table "
            f"Pellucid reads ({endings}; also with .gz or .zst). Its content looks like {looks}: "
            f"rename it to end in .{looks} (or, in Python, give format={looks!r})."
        )
    if kind != "parquet" and looks == "parquet":
        raise DataError(
            f"{source.name} is a Parquet file: rename it to end in .parquet (or, in Python, give "
            "format='parquet')."
        )
    return kind


def _looks_like(head: bytes) -> str:
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        return "excel"
    return "jsonl" if head.lstrip().startswith((b"{", b"[")) else "csv"


def _no_rows(source: Source) -> DataError:
    return DataError(f"{source.name} has columns but no rows.")


# Parquet

# What Arrow raises for a damaged file, depending on which part is hit (a name: UnicodeError).
_DAMAGE = (pa.ArrowException, OSError, UnicodeError)


def _read_parquet(job: _Job) -> Any:
    file = _open_parquet(job)
    try:
        return settle_types(file.read(columns=_parquet_columns(job, file)))
    except _DAMAGE as error:
        raise job.source.broken(f"a part of it is damaged ({error})") from None


def _parquet_batches(job: _Job, rows: int) -> Iterator[Any]:
    file = _open_parquet(job)
    columns = _parquet_columns(job, file)
    try:
        for batch in file.iter_batches(rows, columns=columns):
            yield settle_types(batch)
    except _DAMAGE as error:
        raise job.source.broken(f"a part of it is damaged ({error})") from None


def _open_parquet(job: _Job) -> Any:
    from pyarrow.parquet import ParquetFile

    try:
        return ParquetFile(pa.BufferReader(job.source.content()))
    except _DAMAGE as error:
        if job.source.head(4) == b"PAR1":
            raise job.source.broken(
                f"it starts as Parquet, but its end is wrong ({error})"
            ) from None
        raise DataError(
            f"{job.source.name} is not a Parquet file ({error}). If it is text, "
            "rename it to end in .csv, .tsv or .jsonl (or, in Python, give format='csv')."
        ) from None


def _parquet_columns(job: _Job, file: Any) -> list[str]:
    """The selected columns; row labels that pandas stores in a file are not a column."""
    names = file.schema_arrow.names
    refuse_duplicates(job.source, names)
    if job.columns is not None:
        return selected(job.source, names, job.columns)
    labels = [name for name in names if re.fullmatch(r"__index_level_\d+__", name)]
    if labels:
        job.note(f"the row labels of {job.source.name} ({', '.join(labels)}) are left out.")
    return [name for name in names if name not in labels]


def _read_excel(job: _Job) -> Any:
    from pellucid.data.io.excel import read_excel

    return read_excel(job.source, job.columns, job.note, job.cells or Dialect(), job.text)


def _read_json(job: _Job) -> Any:
    from pellucid.data.io.json_records import read_json

    return read_json(job.source, job.columns)


_WHOLE = {"excel": _read_excel, "jsonl": _read_json, "parquet": _read_parquet}
