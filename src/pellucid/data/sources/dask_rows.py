"""The partitions of a Dask frame on the workers of a client, and where their rows are.

1. Partitions that no worker holds are computed as Arrow tables, neighbours on the same worker.
2. Each worker looks at all that it holds in one task, and keeps them as Arrow for the fit. Only facts
   about them come to the client.
3. A partition that Dask has given up, because its workers were lost, is asked for again.
"""

from __future__ import annotations

import time
import uuid
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from distributed import Future

from pellucid.data.sources import dask_client, dask_worker
from pellucid.data.sources.dask_client import FAILED, Losses, release
from pellucid.data.sources.dask_frames import DaskTable, late_partition
from pellucid.data.sources.dask_placement import even_parts, futures_on_workers, held_partitions
from pellucid.data.sources.dask_worker import Partition
from pellucid.data.sources.spool import common_schema
from pellucid.errors import DataError


class DaskRows:
    """Futures of the partitions, until all fits have their rows, and facts about them.

    starts : first rows of the partitions, and the number of all rows. key : of what workers keep.
    """

    def __init__(
        self, table: DaskTable, columns: list[str], weights: str | None, wait: float, losses: Losses
    ) -> None:
        import dask

        self.client, self.wait, self.losses = table.client, wait, losses
        self.columns, self.weights = columns, weights
        # The columns of partitions that lie on workers are chosen there, without a copy of them.
        self.held = held_partitions(table.frame)
        self.placed = bool(self.held or futures_on_workers(table.frame))
        self.parts = self.held or table.frame[columns].to_delayed()
        self._as_table: Any = dask.delayed(dask_worker.as_table, pure=False)
        self.key = f"pellucid-rows-{uuid.uuid4().hex}"
        self.futures: dict[int, Any] = {}
        self.facts: list[Partition] = []
        self.schema: pa.Schema = None
        self.starts: list[int] = []

    @property
    def total(self) -> int:
        """Number of all rows."""
        return self.starts[-1]

    def load(self) -> None:
        """Compute the partitions, and learn their numbers of rows."""
        self._compute()
        found: dict[int, Partition] = {}
        while missing := [k for k in range(len(self.parts)) if k not in found]:
            found |= self._looked_at(missing)
        self.facts = [found[number] for number in range(len(self.parts))]
        self.schema = common_schema("the Dask frame", [p.schema for p in self.facts])
        self.starts = np.cumsum([0, *(p.rows for p in self.facts)]).tolist()
        if not self.total:
            raise DataError("the Dask frame has no rows.")

    def _delayed(self, number: int) -> Any:
        return self._as_table(self.parts[number], self.weights, self.columns)

    def _compute(self) -> None:
        """Begin all partitions, neighbours on the same worker, unless workers hold them already."""
        if self.held:
            return
        delayed = [self._delayed(number) for number in range(len(self.parts))]
        if self.placed:
            self.futures = dict(enumerate(self.client.compute(delayed)))
            return
        workers = sorted(dask_client.workers(self.client, self.wait))
        for worker, numbers in even_parts(len(delayed), workers):
            futures = self.client.compute(
                [delayed[number] for number in numbers], workers=[worker], allow_other_workers=True
            )
            self.futures |= dict(zip(numbers, futures))

    def future(self, number: int) -> Any:
        """The future of a partition; begun anew if it is not there, or if Dask has given it up."""
        old = self.futures.get(number)
        if old is not None and old.status in FAILED:
            self.losses.of_partition(number, dask_client.killed(old))
            dask_client.forget([old])
            old = None
        if old is None and self.held:  # a future of our own, which we may release
            self.futures[number] = Future(self.held[number].key, self.client)
        elif old is None:
            self.futures[number] = self.client.compute(self._delayed(number))
        return self.futures[number]

    def wait_for(self, numbers: Sequence[int]) -> None:
        """Wait until these partitions are computed; those whose workers are lost, again."""
        deadline, most = time.monotonic() + self.wait, len(numbers)
        while late := [k for k in numbers if self.future(k).status != "finished"]:
            if len(late) != most:
                deadline, most = time.monotonic() + self.wait, len(late)
            if time.monotonic() > deadline:
                raise late_partition(min(late), self.wait)
            dask_client.wait_for(self.futures[k] for k in late)

    def holders(self, numbers: Sequence[int]) -> list[tuple[str, ...]]:
        """The workers that hold each of these partitions, once they are computed."""
        self.wait_for(numbers)
        futures = [self.futures[number] for number in numbers]
        where = self.client.who_has(futures)
        return [tuple(where.get(future.key, ())) for future in futures]

    def _looked_at(self, numbers: list[int]) -> dict[int, Partition]:
        """Facts about these partitions, from the workers that hold them; fewer if some are lost."""
        held = defaultdict(list)
        for number, workers in zip(numbers, self.holders(numbers)):
            held[min(workers, default="")].append(number)
        tasks = {
            worker: self.client.submit(
                dask_worker.look, self.key, own, self.weights, self.columns,
                *(self.futures[number] for number in own), pure=False,
                workers=[worker] if worker else None, allow_other_workers=bool(worker),
            )
            for worker, own in held.items()
        }  # fmt: skip
        found: dict[int, Partition] = {}
        deadline = time.monotonic() + self.wait
        try:
            while tasks and time.monotonic() < deadline:
                dask_client.wait_for(tasks.values())
                for worker in [w for w, task in tasks.items() if task.status in FAILED]:
                    self._lost(worker, held[worker], tasks.pop(worker))
                done = [w for w, task in tasks.items() if task.status == "finished"]
                values = dask_client.results(self.client, [tasks[w] for w in done], self.wait)
                for worker, facts in zip(done, values):
                    found |= zip(held[worker], facts)
                    release([tasks.pop(worker)])
        finally:
            release(tasks.values())
        if tasks:
            raise late_partition(min(held[min(tasks)]), self.wait)
        return found

    def _lost(self, worker: str, numbers: list[int], task: Any) -> None:
        """A look at partitions has failed, because a worker was lost."""
        error = dask_client.killed(task)
        if all(self.futures[number].status not in FAILED for number in numbers):
            self.losses.of_part(worker, f"; {error}" if error else "")
        dask_client.forget([task])

    def release(self) -> None:
        """Let Dask forget the partitions, as far as they are ours."""
        release(self.futures.values())
        self.futures = {}
