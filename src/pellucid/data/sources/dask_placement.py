"""Which worker of Dask fits which rows: those that lie there already, in parts of similar size.

Invariant: a worker fits whole units of rows (`parallel.shard`). If most rows of a unit lie on a worker,
the others of that unit travel. The bits of a fit do not depend on the choice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from pellucid.parallel.shard import runs_of, unit_rows

SLACK = 1.25  # times an even share: what one worker fits at most

Run = tuple[int, int]  # first row, last row + 1


def held_partitions(frame: Any) -> list[Any]:
    """The futures of a frame of Dask whose partitions themselves lie on workers; empty for others."""
    futures = futures_on_workers(frame)
    keys = [future.key if isinstance(future.key, tuple) else (future.key,) for future in futures]
    numbers = sorted(range(len(futures)), key=lambda k: keys[k][1:])
    wanted = [key[1:] for key in frame.__dask_keys__()]
    persisted = type(frame.expr).__name__ == "FromGraph" and len({key[0] for key in keys}) == 1
    if not persisted or [keys[k][1:] for k in numbers] != wanted:
        return []
    return [futures[k] for k in numbers]


def futures_on_workers(frame: Any) -> list[Any]:
    """What a frame is made of that workers hold, or compute, already."""
    import distributed

    futures_of: Any = distributed.futures_of
    return list(futures_of(frame))


def even_parts(count: int, workers: Sequence[str]) -> Iterator[tuple[str, range]]:
    """Partitions in a row for each worker, about as many for all."""
    ends = [round(k * count / len(workers)) for k in range(len(workers) + 1)]
    for worker, first, last in zip(workers, ends, ends[1:]):
        if first < last:
            yield worker, range(first, last)


def chosen_rows(
    sizes: Sequence[int], holders: Sequence[Iterable[str]], workers: Sequence[str]
) -> list[tuple[str, tuple[Run, ...]]]:
    """(worker, its runs of rows) in the order of the first rows; `holders` of each partition."""
    total = sum(sizes)
    unit = unit_rows(total, len(workers))
    held = _held_rows(sizes, holders, workers, unit)
    owners = _balanced(held)
    parts = [
        (worker, runs_of(np.flatnonzero(owners == k).tolist(), unit, total))
        for k, worker in enumerate(workers)
    ]
    return sorted(((worker, runs) for worker, runs in parts if runs), key=lambda part: part[1])


def _held_rows(
    sizes: Sequence[int], holders: Sequence[Iterable[str]], workers: Sequence[str], unit: int
) -> np.ndarray:
    """Rows of each unit that each worker holds (workers, units)."""
    place = {worker: k for k, worker in enumerate(workers)}
    held = np.zeros((len(workers), -(-sum(sizes) // unit)), dtype=np.int64)
    start = 0
    for size, names in zip(sizes, holders):
        end = start + size
        units = np.arange(start // unit, -(-end // unit))
        rows = np.minimum(end, (units + 1) * unit) - np.maximum(start, units * unit)
        for name in names:
            if name in place:
                held[place[name], units] += rows
        start = end
    return held


def _balanced(held: np.ndarray) -> np.ndarray:
    """The owner of each unit: who holds most of it, or a worker with fewer units than others."""
    workers, units = held.shape
    owners = held.argmax(axis=0)
    most = max(-(-units // workers), int(SLACK * units / workers))
    counts = np.bincount(owners, minlength=workers)
    while counts.max() > most or (counts.min() == 0 and units >= workers):
        giver, taker = int(counts.argmax()), int(counts.argmin())
        own = np.flatnonzero(owners == giver)
        # Where the taker holds most rows; of equal ones the last, so that runs stay long.
        unit = own[len(own) - 1 - held[taker, own[::-1]].argmax()]
        owners[unit] = taker
        counts[giver] -= 1
        counts[taker] += 1
    return owners


def overlap(runs: Iterable[Run], start: int, size: int) -> list[Run]:
    """Rows of a partition, by position in it, that belong to the runs.

    >>> overlap([(0, 5), (8, 20)], 4, 6)
    [(0, 1), (4, 6)]
    """
    found = [(max(first - start, 0), min(last - start, size)) for first, last in runs]
    return [(first, last) for first, last in found if first < last]
