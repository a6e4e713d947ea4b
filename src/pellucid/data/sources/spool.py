"""Streams that can be read once, written to a nameless scratch file in Arrow's format.

Invariant: the file has no name as soon as it is open, so nothing is left behind; its disk is freed with
the last reader. Parts of a stream may differ in types: each change begins a new part, and all are cast
to the common types when they are read.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from pellucid.data.sources.block_source import BlockSource
from pellucid.errors import DataError
from pellucid.parallel.memory import full, scratch_folder


class Spool:
    """A nameless file of record batches: the offsets of its parts, one for each schema in a row."""

    def __init__(self) -> None:
        self.folder = scratch_folder()
        self.file = tempfile.TemporaryFile(dir=self.folder)  # noqa: SIM115 (lives with its source)
        self.starts: list[int] = []
        self.schemas: list[pa.Schema] = []
        self.n_rows = 0

    def __del__(self) -> None:
        self.file.close()

    def write(self, batches: Iterable[Any]) -> None:
        writer = None
        try:
            for batch in batches:
                if writer is None or not batch.schema.equals(self.schemas[-1]):
                    if writer is not None:
                        writer.close()
                    self.starts.append(self.file.tell())
                    self.schemas.append(batch.schema)
                    writer = pa.ipc.new_stream(self.file, batch.schema)
                writer.write_batch(batch)
                self.n_rows += batch.num_rows
            if writer is not None:
                writer.close()
            self.file.flush()
        except OSError as error:
            if error.errno is None:
                raise
            raise full(self.folder, error.errno) from error

    def schema(self, name: str) -> pa.Schema:
        """The common types of all parts."""
        return common_schema(name, self.schemas)

    def __call__(self, columns: list[str], rows: int) -> Iterator[Any]:
        for start in self.starts:
            raw = os.fdopen(os.dup(self.file.fileno()), "rb")
            place = _Place(raw, start)
            with raw, pa.ipc.open_stream(pa.PythonFile(place, mode="r")) as reader:
                for batch in reader:
                    chosen = batch.select(columns)
                    for first in range(0, chosen.num_rows, rows):
                        yield chosen.slice(first, rows)


class _Place:
    """Reads a shared file from a place of its own: readers do not disturb each other."""

    def __init__(self, file: Any, start: int) -> None:
        self.file, self.start = file, start
        self.closed = False

    def read(self, size: int = -1) -> bytes:
        data = os.pread(self.file.fileno(), size if size >= 0 else 2**31 - 1, self.start)
        self.start += len(data)
        return data

    def close(self) -> None:
        self.closed = True


def common_schema(name: str, schemas: list[pa.Schema]) -> pa.Schema:
    """The common types of the parts of a table."""
    if not schemas:
        raise DataError(f"{name} has no rows.")
    names = schemas[0].names
    types = [[schema.field(i).type for schema in schemas] for i in range(len(names))]
    return pa.schema([(n, _common(name, n, found)) for n, found in zip(names, types)])


def _common(source: str, name: str, types: list[pa.DataType]) -> pa.DataType:
    kinds = [kind for kind in dict.fromkeys(types) if not pa.types.is_null(kind)]
    if len(kinds) <= 1:
        return kinds[0] if kinds else pa.null()
    if set(kinds) <= {pa.bool_(), pa.int64(), pa.float64()}:
        return pa.float64() if pa.float64() in kinds else pa.int64()
    if all(pa.types.is_date(kind) or pa.types.is_timestamp(kind) for kind in kinds):
        return pa.timestamp("us")
    raise DataError(
        f"column {name!r} of {source} mixes cells of several types ({', '.join(map(str, kinds))}): "
        "make it all numbers, all text or all dates in the query."
    )


def from_stream(name: str, batches: Iterable[Any]) -> BlockSource:
    """A source of batches that come once: they are written to scratch now."""
    spool = Spool()
    spool.write(batches)
    return source_of_spool(name, spool)


def source_of_spool(name: str, spool: Spool) -> BlockSource:
    """A source of the batches that were written."""
    size = os.fstat(spool.file.fileno()).st_size
    return BlockSource(name, spool.schema(name), spool, spool.n_rows, size)
