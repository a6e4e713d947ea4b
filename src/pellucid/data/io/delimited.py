"""Delimited text to Arrow: parse, infer types, and find the place of a fault.

Types of a column: bool, int64, float64, date32, timestamp, duration (a time of day, since
midnight), string; a column without any value is float64. Integers written with leading zeros
(postal codes, article numbers) stay strings. Invariant: the types do not depend on the size of the
blocks in which the text is parsed.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from pellucid.data.io.csv_errors import explain, refuse_unclosed_quote
from pellucid.data.io.dialect import Dialect
from pellucid.data.io.encodings import not_utf8, wrong_encoding
from pellucid.data.io.number_formats import reading_of
from pellucid.data.io.source import Source, refuse_duplicates, selected
from pellucid.errors import DataError

HEAD = 1 << 20
LARGEST = 1 << 27  # a longer row is no table
# Columns that are converted in one pass over the text: Arrow holds about 14 kB for each while it reads.
_AT_ONCE = 40_000
# Above this number of columns Arrow reads large blocks without threads: it spends its time on the
# parts of a block, one for each column.
_MANY_COLUMNS, _WIDE_BLOCK = 4096, 1 << 24


def read_delimited(
    source: Source,
    dialect: Dialect,
    columns: Sequence[str] | None,
    note: Callable[[str], None],
    text: Sequence[str] = (),
) -> Any:
    """The whole text as a table; the columns `text` stay strings."""
    content = utf8(source, dialect)
    head = Head.of(source, bytes(content[:HEAD]), dialect, note)
    wanted = selected(source, head.names, columns)
    table = _parsed(source, content, head, wanted, dict.fromkeys(text, pa.string()))
    if table.num_rows and table.schema.names[-1] == head.names[-1]:
        last = table.column(table.num_columns - 1)[-1].as_py()
        refuse_unclosed_quote(source, last, dialect.quote)
    return settle_types(as_meant(source, dialect, table, text, note))


def parsed_types(source: Source, head: Head) -> Any:
    """The schema of a text with this head, before cells written for people are read."""
    return _parsed(source, source.content(), head, head.names, {}).schema


def as_meant(
    source: Source, dialect: Dialect, table: Any, text: Sequence[str], note: Callable[[str], None]
) -> Any:
    """The table with amounts and dates that are written for people as numbers and dates.

    The columns `text` stay as they are.
    """
    for position, field in enumerate(table.schema):
        if field.type != pa.string() or field.name in text:
            continue
        column = table.column(position)
        reading = reading_of(column, dialect.decimal)
        if reading is not None:
            note(f"column {field.name!r} of {source.name} is read as {reading.example(column)}.")
            table = table.set_column(position, field.name, reading.convert(column))
    return table


@dataclass(frozen=True)
class Head:
    """What the first lines show, besides the dialect: names, and how many blank lines precede."""

    names: tuple[str, ...]
    blank_lines: int
    dialect: Dialect

    @classmethod
    def of(cls, source: Source, data: bytes, dialect: Dialect, note: Callable[[str], None]) -> Head:
        """Read the first row that is not blank."""
        data = data.removeprefix(codecs.BOM_UTF8)
        start = len(data) - len(data.lstrip(b"\r\n"))
        if re.match(rb'"?sep=[^\r\n]"?\r?\n', data[start:]):  # states the delimiter, is no row
            start = data.index(b"\n", start) + 1
        blank = len(data[:start].splitlines())
        try:
            text = data[start : _end_of_row(data, start, dialect.quote)].decode("utf-8")
        except UnicodeDecodeError as error:
            raise wrong_encoding(source, data[start:], error, dialect.encoding) from None
        lines = io.StringIO(text, newline="")
        rows = csv.reader(lines, delimiter=dialect.delimiter, quotechar=dialect.quote)
        try:
            row = next(rows, None)
        except csv.Error:  # a cell beyond the limit of the module csv
            raise DataError(
                f"the first row of {source.name} has a cell of more than {csv.field_size_limit():,} "
                "characters, so it is probably not a table. Look at the file, or save it as Parquet."
            ) from None
        if not row or not text.strip():
            raise DataError(f"{source.name} is empty: there is no row in it.")
        if not dialect.header:
            return cls(tuple(f"column_{i + 1}" for i in range(len(row))), blank, dialect)
        return cls(column_names(source, row, note), blank, dialect)


def column_names(source: Source, row: list[str], note: Callable[[str], None]) -> tuple[str, ...]:
    """The header as names; nameless columns are called as pandas calls them."""
    names = []
    for position, name in enumerate(row):
        if not name.strip():
            name = f"Unnamed: {position}"
            note(f"column {position + 1} of {source.name} has no name: it is called {name!r} here.")
        names.append(name)
    if all(_is_number(name) for name in names):
        note(
            f"the first row of {source.name} holds only numbers ({', '.join(names[:3])}), but was "
            "taken for the names of the columns. If it is data, use header=False."
        )
    refuse_duplicates(source, names)
    return tuple(names)


def settle_types(table: Any) -> Any:
    """Columns without a value become numbers, times of day durations since midnight."""
    for position, field in enumerate(table.schema):
        column = table.column(position)
        if pa.types.is_null(field.type):
            column = column.cast(pa.float64())
        elif pa.types.is_time(field.type):
            unit = "s" if field.type == pa.time32("s") else "us"
            clock = column.cast(pa.time64("us"), safe=False).cast(pa.int64())
            column = clock.cast(pa.duration("us")).cast(pa.duration(unit))
        else:
            continue
        table = table.set_column(position, field.name, column)
    return table


# Parsing


def utf8(source: Source, dialect: Dialect) -> Any:
    content = source.content()
    if dialect.is_utf8:
        return content
    try:
        return pa.py_buffer(bytes(content).decode(dialect.encoding).encode("utf-8"))
    except UnicodeDecodeError as error:
        raise wrong_encoding(source, bytes(content), error, dialect.encoding) from None


def _end_of_row(data: bytes, start: int, quote: str) -> int:
    """Where the row that begins at `start` ends: at a line end outside quotes."""
    end = start
    while end < len(data):
        ends = [at for at in (data.find(b"\n", end), data.find(b"\r", end)) if at >= 0]
        if not ends:
            break
        end = min(ends) + 1
        if data.count(quote.encode(), start, end) % 2 == 0:
            return end
    return len(data)


def parse_options(
    head: Head, columns: Sequence[str], types: dict[str, Any], block: int
) -> tuple[Any, Any, Any]:
    """Read, parse and convert options; every reading of the text uses these."""
    dialect = head.dialect
    read = pacsv.ReadOptions(
        column_names=list(head.names),
        skip_rows=head.blank_lines,
        skip_rows_after_names=int(dialect.header),  # names are given, so the header is skipped
        block_size=block,
        use_threads=len(head.names) <= _MANY_COLUMNS,
    )
    # Quoted line ends cost nothing measurable here, and without them a block may cut a cell.
    parse = pacsv.ParseOptions(
        delimiter=dialect.delimiter, quote_char=dialect.quote, newlines_in_values=True
    )
    convert = pacsv.ConvertOptions(
        null_values=dialect.markers(),
        strings_can_be_null=True,
        # Without "1" and "0": a column of 1, 0 and true is text, in whatever order they come.
        true_values=["true", "True", "TRUE"],
        false_values=["false", "False", "FALSE"],
        decimal_point=dialect.decimal,
        column_types=types,
        include_columns=list(columns),
    )
    return read, parse, convert


def _parsed(
    source: Source, content: Any, head: Head, columns: Sequence[str], types: dict[str, Any]
) -> Any:
    """The table; integers with leading zeros stay text."""
    table = _parse(source, content, head, columns, types)
    if _may_have_leading_zeros(content, head.dialect):
        return _restore_leading_zeros(source, content, head, table)
    return table


def _parse(
    source: Source, content: Any, head: Head, columns: Sequence[str], types: dict[str, Any]
) -> Any:
    if len(columns) > _AT_ONCE:
        starts = range(0, len(columns), _AT_ONCE)
        parts = [_parse(source, content, head, columns[i : i + _AT_ONCE], types) for i in starts]
        cells = [column for part in parts for column in part.columns]
        return pa.table(cells, schema=pa.schema([field for part in parts for field in part.schema]))
    block = HEAD if len(head.names) <= _MANY_COLUMNS else _WIDE_BLOCK
    while True:
        try:
            options = parse_options(head, columns, types, block)
            table = pacsv.read_csv(pa.BufferReader(content), *options)
            break
        except pa.ArrowInvalid as error:
            if "straddl" not in str(error) or block >= LARGEST:  # a larger block would not help
                raise explain(source, content, head.dialect, head.names, error) from None
            block *= 16
    for field in table.schema:
        if pa.types.is_binary(field.type):
            raise not_utf8(source, bytes(content))
    return table


# Types


def _may_have_leading_zeros(content: Any, dialect: Dialect) -> bool:
    """Can a cell start with 0 and a digit? One pass over the bytes, in parts that fit the cache."""
    data = np.frombuffer(content, dtype=np.uint8)
    zero, separators = (
        np.uint8(ord("0")),
        [ord(c) for c in (dialect.delimiter, "\n", dialect.quote)],
    )
    for begin in range(0, data.size, 1 << 17):
        part = data[begin : begin + (1 << 17) + 2]
        first, second, third = part[:-2], part[1:-1], part[2:]
        hit = (second == zero) & (third - zero < 10)
        start = np.zeros(hit.size, dtype=bool)
        for separator in separators:
            start |= first == separator
        if (hit & start).any():
            return True
    return not dialect.header and bytes(content[:1]) == b"0"


def _restore_leading_zeros(source: Source, content: Any, head: Head, table: Any) -> Any:
    """Number columns with an integer like 01234 become text again."""
    numeric = [f.name for f in table.schema if f.type in (pa.int64(), pa.float64())]
    if not numeric:
        return table
    text = _parse(source, content, head, numeric, dict.fromkeys(numeric, pa.string()))
    for name in numeric:
        zero = text.column(name).filter(pc.starts_with(text.column(name), pattern="0"))
        if pc.any(pc.match_substring_regex(zero, pattern=r"^0\d+$")).as_py():
            position = table.schema.get_field_index(name)
            table = table.set_column(position, name, text.column(name))
    return table


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
