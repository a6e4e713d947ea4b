"""Where a delimited text is at fault: the line, the byte, and what to do about it.

Called only after the parser has failed, so these functions may be slow but must be exact.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from pellucid.data.io.dialect import Dialect
from pellucid.data.io.encodings import not_utf8
from pellucid.data.io.source import Source
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
        unclosed = "straddl" in str(error)  # Arrow's word for a cell without an end
        reason = "a quote is opened and may never be closed" if unclosed else error
        return DataError(f"{source.name} cannot be parsed: {reason}.")
    line, cells, text = found
    hint = " A quote that is opened there may not be closed." if "\n" in text else ""
    separator = "a blank" if dialect.blanks else repr(dialect.delimiter)
    quotes = "double" if dialect.quote == '"' or dialect.blanks else "single"
    return DataError(
        f"line {line} of {source.name} has {cells} cells, but the first line has {len(names)}: "
        f"{text[:80]!r}. Correct that line (a cell that contains {separator} must stand "
        f"in {quotes} quotes).{hint}"
    )


def _ragged_row(data: bytes, dialect: Dialect, expected: int) -> tuple[int, int, str] | None:
    text = io.StringIO(data.decode("utf-8-sig"), newline="")
    rows = csv.reader(text, delimiter=dialect.delimiter, quotechar=dialect.quote)
    before = 0
    try:
        for row in rows:
            if row and len(row) != expected:
                return before + 1, len(row), dialect.delimiter.join(row)
            before = rows.line_num
    except csv.Error:
        return None
    return None


def refuse_unclosed_quote(source: Source, last_cell: Any, quote: str) -> None:
    """A quote opened in the last column and never closed swallows the rest of the file."""
    if not isinstance(last_cell, str) or "\n" not in last_cell:
        return
    tail, line_ends = _end(source)
    if not tail.rstrip(b"\r\n \0").endswith(quote.encode()):
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
