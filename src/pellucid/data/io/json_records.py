"""JSON to Arrow: one object per line, or one list of objects; each object is a row."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from pellucid.data.io.bounds import refuse_deep_json, refuse_null_rows
from pellucid.data.io.delimited import settle_types
from pellucid.data.io.encodings import not_utf8
from pellucid.data.io.source import Source, selected
from pellucid.errors import DataError


def read_json(source: Source, columns: Sequence[str] | None) -> Any:
    """The table; lists and objects in cells are refused only where their column is used."""
    from pyarrow import json as pajson

    content = source.content()
    start = bytes(content[:65_536]).removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if not start:
        raise DataError(f"{source.name} is empty: there is no row in it.")
    refuse_deep_json(content, source.name)
    if start == b"[":
        content = _as_lines(source, bytes(content))
    else:
        refuse_null_rows(content, source.name)
    block = max(1 << 20, min(len(content), 1 << 28))  # a row must fit into a block
    try:
        table = pajson.read_json(pa.BufferReader(content), pajson.ReadOptions(block_size=block))
    except pa.ArrowInvalid as error:
        raise bad_row(source, str(error)) from None
    try:
        table.validate(full=True)  # the parser takes any bytes for text
    except (pa.ArrowInvalid, UnicodeDecodeError):
        raise not_utf8(source, bytes(content)) from None
    return settle_types(table.select(selected(source, table.schema.names, columns)))


def _as_lines(source: Source, data: bytes) -> Any:
    """The objects of a list, one per line; NaN and Infinity, which JSON lacks, are missing."""
    try:
        records = json.loads(data.decode("utf-8-sig"), parse_constant=lambda word: None)
    except UnicodeDecodeError:
        raise not_utf8(source, data) from None
    except json.JSONDecodeError as error:
        raise DataError(
            f"line {error.lineno} of {source.name} is not valid JSON: {error.msg} (column "
            f"{error.colno}). If the file was cut off, copy or download it again."
        ) from None
    except ValueError as error:  # an integer of thousands of digits
        raise DataError(f"{source.name} cannot be read: {error}") from None
    if not records:
        raise DataError(f"{source.name} holds an empty list: there is no row in it.")
    for row, record in enumerate(records):
        if not isinstance(record, dict):
            raise DataError(
                f"entry {row + 1} of the list in {source.name} is not an object: {str(record)[:40]!r}. "
                'A table is a list of objects such as {"size": 3, "colour": "red"}, one for each row.'
            )
    lines = "\n".join(json.dumps(r, ensure_ascii=False) for r in records)
    try:
        return pa.py_buffer(lines.encode())
    except UnicodeEncodeError as error:
        row, code = lines.count("\n", 0, error.start) + 1, f"\\u{ord(lines[error.start]):04x}"
        raise DataError(
            f"entry {row} of the list in {source.name} holds {code}, which is half of a character. "
            "Correct or remove it."
        ) from None


def bad_row(source: Source, text: str, before: int = 0) -> DataError:
    """The error for a row that the parser refused; `before`: rows before those that it was given."""
    text = text.removeprefix("JSON parse error: ").rstrip(".")
    row = re.search(r"\s*in row (\d+)$", text)
    where = f"row {before + int(row[1]) + 1} of {source.name}" if row else source.name
    what = text[: row.start()].rstrip(".") if row else text
    return DataError(
        f"{where} cannot be read: {what}. Every row must be a JSON object with the same types."
    )
