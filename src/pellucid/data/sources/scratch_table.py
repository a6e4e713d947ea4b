"""A source as one table of arrays, which may be in scratch files; y, weights and offset beside it.

One reading of the source fills arrays that are as long as the table. They are the arrays that a table
in memory would become (`intake`), so schema, encoding and models are the same for both.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from pellucid.data.arrow import arrow_column, plain
from pellucid.data.arrow_numpy import to_numpy
from pellucid.data.intake import CACHED_CELLS, RawTable, check_names, check_shape
from pellucid.data.raw_column import RawColumn, report_rounding, rounded_cells
from pellucid.data.sources.block_source import BlockSource
from pellucid.data.sources.streaming import note
from pellucid.data.targets import CodedLabels
from pellucid.errors import MemoryLimitError
from pellucid.parallel import passes
from pellucid.parallel.memory import MORE, copy_into, get_memory, is_limited, shown_size

LEVELS = 16  # the levels of one column may take this part of the ceiling
LEVEL_BYTES = 120  # of a level, beside its characters


@dataclass
class _Column:
    """One column while it is filled: numbers (float64), or codes (int32) of levels seen so far."""

    name: str
    like: RawColumn  # an empty column of its type
    values: np.ndarray
    levels: dict[Any, int] = field(default_factory=dict)
    size: int = 0  # bytes of the levels
    lost: int = 0  # integers that float64 rounds, and the first of them
    first: tuple[int, int] = (0, 0)

    def block(self, column: Any, start: int) -> np.ndarray:
        """The cells of one batch as numbers or codes."""
        if pa.types.is_int64(column.type) or pa.types.is_uint64(column.type):
            self._note_rounding(column, start)
        found = arrow_column(self.name, column, quiet=True)
        if found.kind != "categorical":
            return found.values
        place = np.array([self._code(level) for level in found.levels] + [-1], dtype=np.int32)
        return place[found.values]

    def _code(self, level: Any) -> int:
        code = self.levels.get(level)
        if code is None:
            code = self.levels[level] = len(self.levels)
            self.size += LEVEL_BYTES + (len(level) if isinstance(level, str) else 0)
            if self.size > get_memory() // LEVELS:
                raise MemoryLimitError(
                    f"column {self.name!r} has more than {code} different texts, which need more than "
                    f"{shown_size(self.size)} of the allowed {shown_size(get_memory())}. "
                    "Leave it out (--features, or features= of pellucid.scan), or allow "
                    f"{shown_size(4 * get_memory())} with {MORE}."
                )
        return code

    def _note_rounding(self, column: Any, start: int) -> None:
        values = to_numpy(column, missing=0)
        lost = rounded_cells(values)
        if lost.size and not self.lost:
            self.first = (start + int(lost[0]), int(values[lost[0]]))
        self.lost += lost.size

    def finish(self) -> RawColumn:
        if self.lost:
            report_rounding(self.name, self.lost, *self.first)
        like = self.like
        return RawColumn(
            self.name, like.kind, self.values, tuple(self.levels), like.ordered, like.free
        )


def scratch_table(source: BlockSource, *roles: Any) -> tuple[Any, ...]:
    """The features of a source as a `RawTable`, and each of y, weights, offset that names columns.

    A list of names gives several columns.
    """
    names = [name for role in roles for name in _names(role)]
    for name in names:
        source.require(name)
    features = source.features_beside(names)
    check_names(tuple(features))
    n_rows = source.n_rows
    assert n_rows is not None
    check_shape((n_rows, len(features)), "the estimator")
    empty = {name: _empty(source, name) for name in features}
    numbers = all(column.kind == "number" for column in empty.values())
    dense = np.empty((n_rows, len(features))) if numbers else None
    columns = [
        _Column(n, empty[n], np.empty(0) if numbers else _room(empty[n], n_rows)) for n in features
    ]
    targets = {
        name: _Target(source.schema.field(name).type, n_rows) for name in dict.fromkeys(names)
    }
    buffer = np.empty((max(512, CACHED_CELLS // len(features)), len(features)))
    start, began = 0, time.perf_counter()
    passes.begin([slice(0, n_rows)])
    for batch in source.batches(list(dict.fromkeys([*features, *names]))):
        end = start + batch.num_rows
        if dense is not None:
            cells = [column.block(batch.column(column.name), start) for column in columns]
            _fill_dense(dense[start:end], cells, buffer)
        else:
            for column in columns:
                copy_into(column.values[start:end], column.block(batch.column(column.name), start))
        for name, target in targets.items():
            target.fill(name, batch.column(name), start, end)
        passes.done(slice(start, end))
        start = end
    pa.default_memory_pool().release_unused()
    note(bytes_read=source.n_bytes, seconds_reading=time.perf_counter() - began)
    done = [column.finish() for column in columns]
    table = RawTable(n_rows, tuple(features), dense, columns=None if numbers else done)
    return table, *(_role(role, targets) for role in roles)


def _names(role: Any) -> list[str]:
    if isinstance(role, str):
        return [role]
    texts = isinstance(role, list) and all(isinstance(name, str) for name in role)
    return role if texts else []


def _empty(source: BlockSource, name: str) -> RawColumn:
    return arrow_column(name, pa.chunked_array([], source.schema.field(name).type), quiet=True)


def _room(like: RawColumn, n_rows: int) -> np.ndarray:
    return np.empty(n_rows, dtype=np.int32 if like.kind == "categorical" else np.float64)


def _fill_dense(target: np.ndarray, cells: list[np.ndarray], buffer: np.ndarray) -> None:
    """Columns side by side, in steps as long as the buffer, which stay in the cache."""
    for first in range(0, len(target), len(buffer)):
        rows = slice(first, first + len(buffer))
        place = target[rows]
        block = buffer[: len(place)] if is_limited() else place
        for j, values in enumerate(cells):
            block[:, j] = values[rows]
        if block is not place:
            copy_into(place, block)


class _Target:
    """A column with a role of its own: numbers in their own type, or codes of anything else."""

    def __init__(self, kind: pa.DataType, n_rows: int) -> None:
        kind = plain("", pa.nulls(0, kind)).type
        self.levels: dict[Any, int] | None = None
        if pa.types.is_boolean(kind):
            dtype: Any = bool
        elif pa.types.is_integer(kind):
            dtype = np.uint64 if pa.types.is_uint64(kind) else np.int64
        elif pa.types.is_floating(kind):
            dtype = np.float64
        else:
            dtype, self.levels = np.int32, {}
        self.values = np.empty(n_rows, dtype=dtype)

    def fill(self, name: str, column: Any, start: int, end: int) -> None:
        column = plain(name, column)
        if self.levels is not None:
            copy_into(self.values[start:end], self._codes(column))
            return
        if column.null_count and self.values.dtype.kind != "f":
            self.values = self.values.astype(np.float64)
        copy_into(self.values[start:end], to_numpy(column).astype(self.values.dtype, copy=False))

    def _codes(self, column: Any) -> np.ndarray:
        assert self.levels is not None
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        place = [
            -1 if level is None else self.levels.setdefault(level, len(self.levels))
            for level in column.dictionary.to_pylist()
        ]
        codes = to_numpy(column.indices.cast(pa.int32()), missing=-1)
        return np.array([*place, -1], dtype=np.int32)[codes]

    def given(self) -> Any:
        if self.levels is None:
            return self.values
        return CodedLabels(self.values, tuple(self.levels))


def _role(role: Any, targets: dict[str, _Target]) -> Any:
    if isinstance(role, str):
        return targets[role].given()
    names = _names(role)
    if not names:
        return role
    return np.column_stack([np.asarray(targets[name].given()) for name in names])
