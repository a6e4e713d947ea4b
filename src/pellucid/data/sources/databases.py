"""Sources of queries on a database connection: ADBC, or any connection of Python's DB-API."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from pellucid.data.arrow_numpy import to_arrow
from pellucid.data.raw_column import object_column
from pellucid.data.sources.block_source import BlockSource
from pellucid.data.sources.spool import from_stream

ROWS = 2**14


def quoted(name: str) -> str:
    """An identifier in SQL."""
    return '"' + name.replace('"', '""') + '"'


def from_query(connection: Any, query: str) -> BlockSource:
    """A source of the rows that a query gives, fetched once, in batches, into scratch."""
    with _cursor(connection) as cursor:
        cursor.execute(query)
        if hasattr(cursor, "fetch_record_batch"):  # ADBC: columns as they are
            return from_stream("the query", map(_with_numbers, cursor.fetch_record_batch()))
        # A cursor of a server may know its columns only after the first rows.
        first = cursor.fetchmany(ROWS)
        names = [column[0] for column in cursor.description]
        return from_stream("the query", _rows(cursor, names, first))


def _with_numbers(batch: Any) -> Any:
    """A batch in which PostgreSQL's `numeric`, which ADBC hands over as text, is a number."""
    for place, field in enumerate(batch.schema):
        if getattr(field.type, "type_name", "") == "numeric":
            cells = batch.column(place).storage.cast(pa.float64())
            batch = batch.set_column(place, field.name, cells)
    return batch


@contextlib.contextmanager
def _cursor(connection: Any) -> Iterator[Any]:
    """A cursor of the connection. Drivers of PostgreSQL fetch all rows at once unless the cursor has a
    name; it lives in a transaction."""
    package = type(connection).__module__.split(".")[0]
    with contextlib.ExitStack() as stack:
        given: dict[str, Any] = {}
        if package == "psycopg":
            stack.enter_context(connection.transaction())
        elif package == "psycopg2":
            given["withhold"] = connection.autocommit
        if package in ("psycopg", "psycopg2"):
            given["name"] = f"pellucid_{uuid.uuid4().hex}"
        yield stack.enter_context(contextlib.closing(connection.cursor(**given)))


def _rows(cursor: Any, names: list[str], rows: list[Any]) -> Iterator[Any]:
    while rows:
        cells = np.empty((len(rows), len(names)), dtype=object)
        for i, row in enumerate(rows):
            cells[i] = list(row)
        yield pa.RecordBatch.from_arrays(
            [_arrow(n, cells[:, j]) for j, n in enumerate(names)], names
        )
        rows = cursor.fetchmany(ROWS)


def _arrow(name: str, cells: np.ndarray) -> Any:
    """A column of Python objects in the narrowest type; without a value it has none."""
    kinds = {type(cell) for cell in cells if cell is not None}
    if not kinds:
        return pa.nulls(len(cells))
    if kinds <= {int} and not any(cell is None for cell in cells):
        return to_arrow(cells.astype(np.int64))
    column = object_column(name, cells)
    if column.kind == "categorical":
        return to_arrow(cells.tolist())
    if column.kind == "datetime":
        micro = np.where(np.isnan(column.values), np.iinfo(np.int64).min, column.values * 86_400e6)
        absent = np.isnan(column.values)
        bits = pa.py_buffer(np.packbits(~absent, bitorder="little"))
        data = pa.py_buffer(np.rint(np.where(absent, 0, micro)).astype(np.int64))
        return pa.Array.from_buffers(pa.timestamp("us"), len(cells), [bits, data])
    values = column.values
    if not np.isnan(values).any():
        return to_arrow(values)
    bits = pa.py_buffer(np.packbits(~np.isnan(values), bitorder="little"))
    return pa.Array.from_buffers(pa.float64(), len(values), [bits, pa.py_buffer(values.copy())])
