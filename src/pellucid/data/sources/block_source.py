"""`BlockSource`: a table as record batches in a fixed order, which can be read again.

Invariant: every reading gives the same rows in the same order; a source that changed since it was found
is refused. Reading runs ahead of its user by `AHEAD` batches, in a thread of its own.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from contextvars import copy_context
from dataclasses import dataclass, replace
from queue import Full, Queue
from typing import Any

import numpy as np
import pyarrow as pa

from pellucid.data.arrow import plain
from pellucid.data.arrow_numpy import to_numpy
from pellucid.data.io.source import did_you_mean, listing
from pellucid.errors import DataError

AHEAD = 2  # batches that wait for their user
CELLS = 2**19  # of a batch: 4 MB as numbers
RELEASED = 16  # batches after which Arrow gives unused memory back
# What Arrow raises for a damaged file, depending on which part is hit (a name: UnicodeError).
DAMAGE = (pa.ArrowException, OSError, UnicodeError)


class NamedColumns:
    """Columns by name, some or all of which a model uses as features."""

    name: str
    features: tuple[str, ...] | None

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        raise NotImplementedError

    def features_beside(self, taken: Sequence[str]) -> list[str]:
        """The columns that a model uses, if those in `taken` have another role."""
        used = self.names if self.features is None else self.features
        return [name for name in used if name not in taken]

    def require(self, name: str) -> None:
        """Refuse a column that does not exist."""
        if name not in self.names:
            hint = did_you_mean(str(name), self.names)
            raise DataError(f"{self.name} has no column {name!r}.{hint} {listing(self.names)}")


@dataclass(frozen=True)
class BlockSource(NamedColumns):
    """A table behind a path, data set, query, lazy frame or Dask frame.

    name : for messages. schema : Arrow types of the columns in use. read : called with names and a
    number of rows, gives record batches of at most that many rows. n_rows : None until it is counted.
    n_bytes : on disk, if it is known. stamp : called before and after a reading, gives another value
    if the source has changed. features : the columns that a model uses; None: all without another role.
    paths : of files.
    """

    name: str
    schema: pa.Schema
    read: Callable[[list[str], int], Iterator[pa.RecordBatch]]
    n_rows: int | None = None
    n_bytes: int | None = None
    stamp: Callable[[], Any] = lambda: None
    stamped: Any = None
    features: tuple[str, ...] | None = None
    paths: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        return list(self.schema.names)

    def select(self, columns: Sequence[str]) -> BlockSource:
        """The source with some of its columns, in this order."""
        for name in columns:
            self.require(name)
        return replace(self, schema=pa.schema([self.schema.field(name) for name in columns]))

    def batches(
        self, columns: Sequence[str] | None = None, rows: int | None = None
    ) -> Iterator[Any]:
        """Record batches of at most `rows` rows, read ahead; refused if the source has changed."""
        wanted = self.names if columns is None else list(columns)
        rows = rows or max(CELLS // max(len(wanted), 1), 256)
        self._check_unchanged()
        schema = pa.schema([self.schema.field(name) for name in wanted])
        count = 0
        try:
            for k, batch in enumerate(read_ahead(self.read(wanted, rows))):
                if k % RELEASED == RELEASED - 1:
                    pa.default_memory_pool().release_unused()
                count += batch.num_rows
                yield batch if batch.schema.equals(schema) else self._cast(batch, schema)
        except MemoryError:  # Arrow's is an `ArrowException` too
            raise
        except DAMAGE as error:
            self._check_unchanged()
            why = " ".join(str(error).split())
            raise DataError(
                f"{self.name} cannot be read: a part of it is damaged, or its columns differ from the "
                f"rest ({why}). Copy or write it again."
            ) from None
        self._check_unchanged()
        if self.n_rows is not None and count != self.n_rows:
            raise self._changed()

    def _cast(self, batch: Any, schema: pa.Schema) -> Any:
        """A batch in the types of the source; a null column of a part may be any type."""
        arrays = []
        for field in schema:
            column = batch.column(batch.schema.get_field_index(field.name))
            same = column.type == field.type
            arrays.append(column if same else column.cast(field.type))
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def tables(self, rows: int | None = None) -> Iterator[Any]:
        """The table in Arrow tables of exactly `rows` rows, the last one perhaps fewer."""
        rows = rows or max(CELLS // max(len(self.names), 1), 256)
        waiting: list[Any] = []
        count = 0
        for batch in self.batches(rows=min(rows, max(CELLS // max(len(self.names), 1), 256))):
            waiting.append(batch)
            count += batch.num_rows
            while count >= rows:
                table = pa.Table.from_batches(waiting)
                yield table.slice(0, rows)
                waiting, count = table.slice(rows).to_batches(), count - rows
        if count:
            yield pa.Table.from_batches(waiting)

    def load(self) -> pa.Table:
        """The whole table in memory."""
        return pa.Table.from_batches(self.batches(), schema=self.schema)

    def without(self, name: str) -> tuple[BlockSource, np.ndarray]:
        """The source without a column of numbers as a feature, and that column in memory."""
        self.require(name)
        parts = [to_numpy(plain(name, batch.column(0))) for batch in self.batches([name])]
        source = replace(self, features=tuple(self.features_beside([name])))
        return source, np.concatenate(parts)

    def _check_unchanged(self) -> None:
        if self.stamp() != self.stamped:
            raise self._changed()

    def _changed(self) -> DataError:
        return DataError(
            f"{self.name} changed while it was read, so its rows do not belong to one table. Start "
            "again when nothing writes to it."
        )


def joined_columns(parts: list[Any]) -> Any:
    """Arrays, or Arrow columns, one after the other."""
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    return pa.chunked_array([chunk for part in parts for chunk in part.chunks], parts[0].type)


def read_ahead(batches: Iterator[Any]) -> Iterator[Any]:
    """The same items, made in another thread while the user works on those before."""
    queue: Queue[tuple[Any, BaseException | None]] = Queue(AHEAD)
    stopped, end = threading.Event(), object()

    def put(item: Any, error: BaseException | None = None) -> None:
        while not stopped.is_set():
            with contextlib.suppress(Full):
                queue.put((item, error), timeout=0.1)
                break

    def work() -> None:
        try:
            for batch in batches:
                if stopped.is_set():
                    return
                if batch.num_rows:
                    put(batch)
            put(end)
        except BaseException as error:
            put(end, error)

    reader = threading.Thread(
        target=copy_context().run, args=(work,), name="pellucid-reader", daemon=True
    )
    reader.start()
    try:
        while True:
            item, error = queue.get()
            if error is not None:
                raise error
            if item is end:
                return
            yield item
    finally:
        stopped.set()
        reader.join()
