"""Where a delimited text is at fault: the line, the byte, and what to do about it.

Called only after the parser has failed, so these functions may be slow but must be exact.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from pellucid.data.dialect import Dialect
from pellucid.data.source import Source
from pellucid.errors import DataError


def explain(
    source: Source, content: Any, dialect: Dialect, names: Sequence[str], error: Exception
) -> DataError:
    """The error for a text that the parser refused."""
    data = bytes(content)
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return not_utf8(source, data)
    found = _ragged_row(data, dialect, len(names))
    if found is None:
        return DataError(f"{source.name} cannot be parsed: {error}.")
    line, cells, text = found
    hint = " A quote that is opened there may not be closed." if "\n" in text else ""
    return DataError(
        f"line {line} of {source.name} has {cells} cells, but the first line has {len(names)}: "
        f"{text[:80]!r}. Correct that line (a cell that contains {dialect.delimiter!r} must stand "
        f"in double quotes).{hint}"
    )


def _ragged_row(data: bytes, dialect: Dialect, expected: int) -> tuple[int, int, str] | None:
    rows = csv.reader(
        io.StringIO(data.decode("utf-8-sig"), newline=""), delimiter=dialect.delimiter
    )
    before = 0
    try:
        for row in rows:
            if row and len(row) != expected:
                return before + 1, len(row), dialect.delimiter.join(row)
            before = rows.line_num
    except csv.Error:
        return None
    return None


def not_utf8(source: Source, data: bytes) -> DataError:
    """The error for bytes that are not UTF-8, with the first bad one."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return wrong_encoding(source, data, error, "utf-8")
    return DataError(f"{source.name} holds cells that are not text.")


def wrong_encoding(
    source: Source, data: bytes, error: UnicodeDecodeError, encoding: str
) -> DataError:
    """The error for a byte that the encoding does not have: offset, line, what it might be."""
    at = error.start
    line = data.count(b"\n", 0, at) + 1
    begin = data.rfind(b"\n", 0, at) + 1
    word = data[max(begin, at - 12) : at + 12].splitlines()[0]
    other = next(name for name in ("cp1252", "latin-1") if _decodes(word, name))
    return DataError(
        f"{source.name} is not {encoding.upper()}: byte 0x{data[at]:02x} at offset {at}, line "
        f"{line}. If it comes from Windows or an older program, say encoding={other!r} (--encoding "
        f"{other}); the place then reads {word.decode(other)!r}."
    )


def _decodes(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def refuse_unclosed_quote(source: Source, last_cell: Any) -> None:
    """A quote opened in the last column and never closed swallows the rest of the file."""
    if not isinstance(last_cell, str) or "\n" not in last_cell:
        return
    tail, line_ends = _end(source)
    if not tail.rstrip(b"\r\n \0").endswith(b'"'):
        raise DataError(
            f"{source.name}: the quote opened in line {line_ends + 1 - last_cell.count(chr(10))} "
            "is never closed, so the rest of the file would be one cell. Close it, or write a "
            "quote inside a cell twice."
        )


def _end(source: Source) -> tuple[bytes, int]:
    """The last bytes, and the number of line ends before."""
    stream, tail, line_ends = source.open(), b"", 0
    while part := bytes(stream.read(1 << 20)):
        tail = (tail + part)[-64:]
        line_ends += part.count(b"\n")
    return tail, line_ends
