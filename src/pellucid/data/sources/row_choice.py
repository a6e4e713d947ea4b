"""Rows of a source: a sample of them in memory, and all but some of them as a source.

Invariant: a sample depends on the seed, the number of rows and the target alone, never on batches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pellucid.data.sources.block_source import BlockSource

FEWEST = 50  # rows of a class in a sample, or all of a smaller class
MOST_CLASSES = 1000  # more different values are numbers, or names of single rows


@dataclass(frozen=True)
class Sample:
    """Rows of a source: their numbers, the table of them, and how many rows lack the target."""

    rows: np.ndarray
    table: pa.Table
    n_missing: int


def _present(column: Any) -> np.ndarray:
    """Which cells are there; NaN is missing."""
    return ~np.asarray(pc.is_null(column, nan_is_null=True).to_numpy(zero_copy_only=False))


def _keys(first: int, n: int, seed: int) -> np.ndarray:
    """A pseudo-random number for each row, by its number and the seed (SplitMix64)."""
    x = np.arange(first, first + n, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    x += np.uint64((seed + 1) * 0xBF58476D1CE4E5B9 % 2**64)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


class _Class:
    """The rows of one class with the smallest keys."""

    def __init__(self) -> None:
        self.count = 0
        self.keys, self.rows = np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64)

    def add(self, keys: np.ndarray, rows: np.ndarray, most: int) -> None:
        self.count += len(keys)
        self.keys, self.rows = np.append(self.keys, keys), np.append(self.rows, rows)
        if len(self.keys) > 2 * most:
            self.shrink(most)

    def shrink(self, most: int) -> None:
        kept = np.sort(np.argsort(self.keys, kind="stable")[:most])
        self.keys, self.rows = self.keys[kept], self.rows[kept]


def stratified(source: BlockSource, target: str, by_class: bool, most: int, seed: int) -> Sample:
    """About `most` rows with a target, drawn at random; with `by_class` every class has its share, and
    at least `FEWEST` rows of each.
    """
    groups: dict[Any, _Class] = {}
    start = missing = 0
    for batch in source.batches([target]):
        column, keys = batch.column(0), _keys(start, batch.num_rows, seed)
        present = _present(column)
        missing += int((~present).sum())
        coded = column.dictionary_encode() if by_class else None
        codes = np.zeros(batch.num_rows, dtype=np.int64) if coded is None else np.asarray(
            coded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        )  # fmt: skip
        labels = [None] if coded is None else coded.dictionary.to_pylist()
        for code, label in enumerate(labels):
            own = np.flatnonzero((codes == code) & present)
            if len(own):
                groups.setdefault(label, _Class()).add(keys[own], start + own, most)
        start += batch.num_rows
        if len(groups) > MOST_CLASSES:
            return stratified(source, target, False, most, seed)
    total = max(sum(group.count for group in groups.values()), 1)
    for group in groups.values():
        group.shrink(max(round(most * group.count / total), min(FEWEST, group.count)))
    rows = np.sort(np.concatenate([_Class().rows, *(group.rows for group in groups.values())]))
    return Sample(rows, _taken(source, rows), missing)


def _taken(source: BlockSource, rows: np.ndarray) -> pa.Table:
    """Some rows, by their sorted numbers."""
    parts, start = [], 0
    for batch in source.batches():
        first, last = np.searchsorted(rows, [start, start + batch.num_rows])
        if last > first:
            parts.append(batch.take(pa.array(rows[first:last] - start)))
        start += batch.num_rows
    return pa.Table.from_batches(parts, schema=source.schema)


def without_rows(source: BlockSource, rows: np.ndarray, target: str, n_missing: int) -> BlockSource:
    """The source without some rows (sorted numbers) and without those that lack the target."""

    def read(columns: list[str], most: int) -> Iterator[Any]:
        wanted, start = list(dict.fromkeys([*columns, target])), 0
        for batch in source.read(wanted, most):
            keep = _present(batch.column(batch.schema.get_field_index(target)))
            first, last = np.searchsorted(rows, [start, start + batch.num_rows])
            keep[rows[first:last] - start] = False
            start += batch.num_rows
            yield batch.select(columns).filter(pa.array(keep))

    assert source.n_rows is not None
    return replace(source, read=read, n_rows=source.n_rows - len(rows) - n_missing)
