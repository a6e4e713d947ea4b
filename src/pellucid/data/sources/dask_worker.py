"""On a Dask worker: the fit of its rows, which runs in a thread and stops wherever sums are exchanged.

A pass is one task: it hands over what all workers answered to the last exchange, lets the fit go on and
returns what it says next. A fit that was begun again elsewhere gets the answers of all earlier passes.
"""

from __future__ import annotations

import os
import pickle
import threading
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from queue import SimpleQueue
from typing import Any

import pyarrow as pa

from pellucid.data.io.shared_tables import as_arrow
from pellucid.data.sources.in_memory import from_table
from pellucid.data.sources.streams import same_dictionaries
from pellucid.errors import DataError
from pellucid.parallel.shard import GROUP, Shard, within

# What a fit says: ("exchange", label, value), ("done", "", result) or ("error", "", exception), pickled.
Event = tuple[str, str, bytes]
MADE = b"pellucid made"  # in the metadata of a table


@dataclass(frozen=True)
class Partition:
    """Rows of a partition, the types of its columns, and a checksum of its cells; `made` is another
    number each time that it is computed."""

    rows: int
    schema: pa.Schema
    checksum: int
    made: bytes


@dataclass(frozen=True)
class Part:
    """What one process fits: rows `first` to `last - 1` of `total`, from partitions that begin at the
    rows `starts`; `answers` are those to all exchanges so far."""

    key: str
    rank: int
    first: int
    last: int
    total: int
    starts: list[int]
    expected: list[Partition]
    schema: pa.Schema
    features: tuple[str, ...]
    answers: list[list[bytes]]


def as_table(part: Any, weights: str | None) -> pa.Table:
    """A partition as Arrow without its index; rows of weight 0 are absent."""
    table = as_arrow(part.reset_index(drop=True))[0]
    batches = [same_dictionaries(batch) for batch in table.combine_chunks().to_batches()]
    table = pa.Table.from_batches(batches) if batches else table
    if weights is not None:
        import pyarrow.compute as pc

        kept: Any = pc.fill_null(pc.not_equal(table.column(weights), 0), True)
        table = table.filter(kept)
    return table.replace_schema_metadata({MADE: os.urandom(16)})


def _made(table: pa.Table) -> bytes:
    return (table.schema.metadata or {}).get(MADE, b"")


def facts(table: pa.Table) -> Partition:
    """What the client needs to know about a partition."""
    checksum = 0
    for column in table.columns:
        for chunk in column.chunks:
            for buffer in chunk.buffers():
                checksum = zlib.crc32(buffer, checksum) if buffer is not None else checksum
    return Partition(table.num_rows, table.schema.remove_metadata(), checksum, _made(table))


class _Ended(BaseException):
    """The client has given up this fit."""


class _Fit:
    """The fit of one part, in a thread of its own."""

    def __init__(
        self, part: Part, tables: list[pa.Table], learn: Callable[[Any, int], Any], threads: int
    ) -> None:
        self.part, self.learn, self.threads = part, learn, threads
        self.source = replace(from_table(_rows(part, tables)), features=part.features)
        self.passes, self.event = 0, ("", "", b"")
        self.inbox: SimpleQueue[list[bytes] | None] = SimpleQueue()
        self.outbox: SimpleQueue[Event] = SimpleQueue()
        threading.Thread(target=self._work, name="pellucid-fit", daemon=True).start()

    def _work(self) -> None:
        part = self.part
        source, self.source = self.source, None  # type: ignore[assignment]
        try:
            here = Shard(part.first, part.last, part.total, self.threads, self._exchange)
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


def _rows(part: Part, tables: list[pa.Table]) -> pa.Table:
    """The rows of this part, cut out of its partitions, in common types."""
    pieces = []
    for start, expected, table in zip(part.starts, part.expected, tables):
        if _made(table) != expected.made and not _same(facts(table), expected):
            raise DataError(
                "a partition of the Dask frame gave different rows when it was computed again, so "
                "the rows do not belong to one table. Write the frame to Parquet first."
            )
        begin = max(part.first - start, 0)
        piece = table.replace_schema_metadata(None).slice(
            begin, min(part.last - start, table.num_rows) - begin
        )
        pieces.append(piece if piece.schema.equals(part.schema) else piece.cast(part.schema))
    return pa.concat_tables(pieces)


_fits: dict[str, _Fit] = {}


def begin(part: Part, learn: Callable[[Any, int], Any], *tables: pa.Table) -> Event:
    """Begin the fit of a part, up to its first exchange that has no answer yet."""
    from distributed import get_worker

    try:
        fit = _fits[part.key] = _Fit(part, list(tables), learn, get_worker().state.nthreads)
    except DataError as error:
        return "error", "", pickle.dumps(error)
    fit.event = fit.outbox.get()
    return fit.event


def go_on(key: str, number: int, answers: list[bytes]) -> Event:
    """Go on after exchange `number`, up to the next one."""
    fit = _fits[key]  # a KeyError means that this worker is not the one that began
    if fit.passes == number + 1:
        fit.inbox.put(answers)
        fit.event = fit.outbox.get()
    return fit.event


def end(key: str) -> None:
    """Forget a fit."""
    fit = _fits.pop(key, None)
    if fit is not None:
        fit.inbox.put(None)
