"""On a Dask worker: the fit of its rows, which runs in a thread and stops wherever sums are exchanged.

A pass is one task: it hands over what all workers answered to the last exchange, lets the fit go on and
returns what it says next. A fit that was begun again elsewhere gets the answers of all earlier passes.
"""

from __future__ import annotations

import os
import pickle
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from queue import SimpleQueue
from typing import Any

import numpy as np
import pyarrow as pa

from pellucid.data import _loops
from pellucid.data.arrow_numpy import to_arrow, to_numpy
from pellucid.data.io.shared_tables import as_arrow
from pellucid.data.sources.in_memory import from_table
from pellucid.data.sources.streams import same_dictionaries
from pellucid.errors import DataError
from pellucid.parallel.shard import GROUP, Shard, within

# What a fit says: ("exchange", label, value), ("done", "", result) or ("error", "", exception), pickled.
Event = tuple[str, str, bytes]
MADE, CUT = b"pellucid made", b"pellucid cut"  # in the metadata of a table


@dataclass(frozen=True)
class Partition:
    """Rows of a partition, the types of its columns, and a checksum of its cells; `made` is another
    number each time that it is computed."""

    rows: int
    schema: pa.Schema
    checksum: int
    made: bytes


@dataclass(frozen=True)
class Rows:
    """Rows that a process needs of partition `number`, by their positions in it."""

    number: int
    places: tuple[tuple[int, int], ...]
    expected: Partition

    @property
    def count(self) -> int:
        return sum(last - first for first, last in self.places)


@dataclass(frozen=True)
class Part:
    """What one process fits: the `runs` of rows of `total`, from parts of the partitions of a source;
    `answers` are those to all exchanges so far."""

    key: str
    rank: int
    runs: tuple[tuple[int, int], ...]
    total: int
    rows: list[Rows]
    source: str
    schema: pa.Schema
    weights: str | None
    columns: list[str]
    features: tuple[str, ...]
    answers: list[list[bytes]]


def as_table(part: Any, weights: str | None, columns: list[str]) -> pa.Table:
    """Columns of a partition as Arrow without its index; rows of weight 0 are absent."""
    if isinstance(part, pa.Table) and _made(part):
        return part
    table = pa.table({name: _arrow(part, name) for name in columns})
    if any(pa.types.is_dictionary(kind) for kind in table.schema.types):
        empty = [pa.nulls(0, kind) for kind in table.schema.types]
        batches = table.combine_chunks().to_batches() or [
            pa.RecordBatch.from_arrays(empty, schema=table.schema)
        ]
        table = pa.Table.from_batches(map(same_dictionaries, batches))
    if weights is not None:
        import pyarrow.compute as pc

        kept: Any = pc.fill_null(pc.not_equal(table.column(weights), 0), True)
        table = table.filter(kept)
    return table.replace_schema_metadata({MADE: os.urandom(16)})


def _arrow(part: Any, name: str) -> Any:
    """A column as Arrow; floats of NumPy without a search for NaN, which are missing as they are."""
    column = part[name]
    dtype = getattr(column, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype == np.float64:
        return to_arrow(column.to_numpy())
    return as_arrow(part[[name]].reset_index(drop=True))[0].column(0)


def _made(table: pa.Table) -> bytes:
    return (table.schema.metadata or {}).get(MADE, b"")


def facts(table: pa.Table) -> Partition:
    """What the client needs to know about a partition."""
    found = 0
    for name, column in zip(table.column_names, table.columns):
        for chunk in column.chunks:
            if pa.types.is_float64(chunk.type) and chunk.null_count == 0:
                cells = to_numpy(chunk)
            else:  # as a message, which has no bytes but those of the cells
                message = pa.record_batch({name: chunk}).serialize()
                cells = np.frombuffer(message, dtype=np.uint8)
            found = _loops.checksum(np.ascontiguousarray(cells).view(np.uint8), found)
    return Partition(table.num_rows, table.schema.remove_metadata(), found, _made(table))


class _Ended(BaseException):
    """The client has given up this fit."""


class _Fit:
    """The fit of one part, in a thread of its own."""

    def __init__(
        self, part: Part, tables: list[Any], learn: Callable[[Any, int], Any], threads: int
    ) -> None:
        self.part, self.learn, self.threads = part, learn, threads
        whole = pa.concat_tables(_taken(part, *given) for given in zip(tables, part.rows))
        self.source = replace(from_table(whole), features=part.features)
        self.passes, self.event = 0, ("", "", b"")
        self.inbox: SimpleQueue[list[bytes] | None] = SimpleQueue()
        self.outbox: SimpleQueue[Event] = SimpleQueue()
        threading.Thread(target=self._work, name="pellucid-fit", daemon=True).start()

    def _work(self) -> None:
        part = self.part
        source, self.source = self.source, None  # type: ignore[assignment]
        try:
            here = Shard(part.runs, part.total, self.threads, self._exchange)
            with within(here if part.total > GROUP else None):  # few rows are never shared
                self.outbox.put(("done", "", pickle.dumps(self.learn(source, part.rank))))
        except _Ended:
            pass
        except BaseException as error:
            self.outbox.put(("error", "", pickle.dumps(error)))

    def _exchange(self, label: str, value: Any) -> list[Any]:
        number, self.passes = self.passes, self.passes + 1
        if number < len(self.part.answers):
            answers: list[bytes] | None = self.part.answers[number]
        else:
            self.outbox.put(("exchange", label, pickle.dumps(value, protocol=5)))
            answers = self.inbox.get()
        if answers is None:
            raise _Ended
        return [pickle.loads(answer) for answer in answers]


def _same(found: Partition, expected: Partition) -> bool:
    return (found.rows, found.checksum) == (expected.rows, expected.checksum)


# The tables that this worker has looked at, by source and partition, until all fits have their rows.
_looked_at: dict[str, dict[int, pa.Table]] = {}


def look(
    source: str, numbers: list[int], weights: str | None, columns: list[str], *parts: Any
) -> list[Partition]:
    """Facts about partitions, which are kept for the fit."""
    tables = [as_table(part, weights, columns) for part in parts]
    _looked_at.setdefault(source, {}).update(zip(numbers, tables))
    return [facts(table) for table in tables]


def cut(source: str, part: Any, rows: Rows, schema: pa.Schema, *how: Any) -> pa.Table:
    """The rows of a partition that a process needs, in common types; `how` it becomes a table."""
    table = _looked_at.get(source, {}).get(rows.number)
    if table is None:
        table = as_table(part, *how)
    if _made(table) != rows.expected.made and not _same(facts(table), rows.expected):
        raise DataError(
            "a partition of the Dask frame gave different rows when it was computed again, so "
            "the rows do not belong to one table. Write the frame to Parquet first."
        )
    table = table.replace_schema_metadata(None)
    pieces = [table.slice(first, last - first) for first, last in rows.places]
    found = pieces[0] if len(pieces) == 1 else pa.concat_tables(pieces)
    return found if found.schema.equals(schema) else found.cast(schema)


def cut_there(
    source: str, part: Any, rows: Rows, schema: pa.Schema, *how: Any
) -> pa.Table | DataError:
    """The same on the worker that holds the partition, for another worker; a task raises nothing."""
    try:
        return cut(source, part, rows, schema, *how).replace_schema_metadata({CUT: b""})
    except DataError as error:
        return error


def _taken(part: Part, given: Any, rows: Rows) -> pa.Table:
    """The rows of a partition that lies here, or that were cut out elsewhere."""
    if isinstance(given, DataError):
        raise given
    if isinstance(given, pa.Table) and CUT in (given.schema.metadata or {}):
        return given.replace_schema_metadata(None)
    return cut(part.source, given, rows, part.schema, part.weights, part.columns)


_fits: dict[str, _Fit] = {}


def begin(part: Part, learn: Callable[[Any, int], Any], *tables: Any) -> Event:
    """Begin the fit of a part, up to its first exchange that has no answer yet."""
    from distributed import get_worker

    try:
        fit = _fits[part.key] = _Fit(part, list(tables), learn, get_worker().state.nthreads)
    except DataError as error:
        return "error", "", pickle.dumps(error)
    fit.event = fit.outbox.get()
    return fit.event


def go_on(key: str, source: str, number: int, answers: list[bytes]) -> Event:
    """Go on after exchange `number`, up to the next one."""
    _looked_at.pop(source, None)  # all processes have their rows
    fit = _fits[key]  # a KeyError means that this worker is not the one that began
    if fit.passes == number + 1:
        fit.inbox.put(answers)
        fit.event = fit.outbox.get()
    return fit.event


def end(key: str, source: str) -> None:
    """Forget a fit and its rows."""
    _looked_at.pop(source, None)
    fit = _fits.pop(key, None)
    if fit is not None:
        fit.inbox.put(None)
