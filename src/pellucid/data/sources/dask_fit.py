"""Fits on the workers of a Dask cluster: each fits its own rows, and only sums are exchanged.

1. The partitions become Arrow tables on the workers; the client learns their numbers of rows.
2. The rows are cut by their global number, in whole groups, into one part for each worker.
3. Every worker runs the same fit on its part. Wherever a sum over rows is needed, the fits stop and
   hand over the sums of their rows; the client gives all of them to all, and they go on. A pass is one
   task per worker.
4. A part whose worker is lost is begun again on another one, with the answers to all earlier passes.
   A partition that Dask has given up, because its workers were lost, is asked for again.
"""

from __future__ import annotations

import pickle
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, cast

import pyarrow as pa

from pellucid.data.sources import dask_client, dask_worker
from pellucid.data.sources.dask_client import FAILED, Losses, release
from pellucid.data.sources.dask_frames import DaskTable, longest_wait
from pellucid.data.sources.dask_worker import Event, Part, Partition
from pellucid.data.sources.spool import common_schema
from pellucid.errors import DataError
from pellucid.parallel.shard import GROUP, SUM, even_ends


@dataclass
class _Process:
    """A part of the rows, and the worker that fits it."""

    rank: int
    first: int
    last: int
    worker: str = ""
    key: str = ""
    future: Any = None
    since: float = 0.0
    event: Event | None = None


@dataclass
class WorkerFit:
    """A fit in progress on workers: the answers to all exchanges so far, and its report."""

    client: Any
    parts: list[Any]  # delayed partitions
    as_table: Callable[[Any], Any]  # makes a delayed Arrow table, with a key of its own
    learn: Callable[[Any, int], Any]
    features: tuple[str, ...]
    wait: float
    tables: dict[int, Any] = field(default_factory=dict)  # futures, until all have their rows
    partitions: list[Partition] = field(default_factory=list)
    schema: pa.Schema = None
    total: int = 0
    processes: list[_Process] = field(default_factory=list)
    answers: list[list[bytes]] = field(default_factory=list)
    report: dict[str, Any] = field(default_factory=dict)
    losses: Losses = field(default_factory=Losses)

    # 1 and 2 ------------------------------------------------------------------------------------

    def load(self) -> None:
        """Compute the partitions on the workers; only facts about them come to the client."""
        tables = self.client.compute([self.as_table(part) for part in self.parts])
        self.tables = dict(enumerate(tables))
        found = self.client.map(dask_worker.facts, tables, pure=False)
        self.partitions = [self._facts(number, future) for number, future in enumerate(found)]
        self.schema = common_schema("the Dask frame", [p.schema for p in self.partitions])
        self.total = sum(partition.rows for partition in self.partitions)
        if not self.total:
            raise DataError("the Dask frame has no rows.")
        self.report |= {"rows": self.total, "columns": len(self.schema), "partitions": len(found)}

    def _facts(self, number: int, future: Any) -> Partition:
        def again() -> Any:
            dask_client.forget([self.tables.pop(number)])
            return self.client.submit(dask_worker.facts, self._table(number), pure=False)

        found = dask_client.computed(self.client, future, number, self.wait, self.losses, again)
        return cast(Partition, found)

    def _table(self, number: int) -> Any:
        """The future of a partition as an Arrow table."""
        old = self.tables.get(number)
        if old is not None and old.status in FAILED:
            self.losses.of_partition(number, dask_client.killed(old))
            dask_client.forget([old])
            old = None
        if old is None:
            self.tables[number] = self.client.compute(self.as_table(self.parts[number]))
        return self.tables[number]

    def cut(self) -> None:
        """Parts of about equal size, one for each worker, in whole groups of rows."""
        ends = even_ends(self.total, len(dask_client.workers(self.client, self.wait)))
        self.processes = [_Process(k, a, b) for k, (a, b) in enumerate(pairwise(ends))]
        self.report |= {"workers": len(self.processes), "passes": 0}
        self.report |= {"bytes_to_client": 0, "bytes_from_client": 0}

    # 3 ------------------------------------------------------------------------------------------

    def run(self) -> bytes:
        """Pass after pass until all processes are done: the result of the first one."""
        chosen = self._assigned()
        for process in self.processes:
            self._begin(process, chosen[process.rank])
        while True:
            events = self._collect()
            release(self.tables.values())  # every process has its rows
            self.tables = {}
            for kind, _, value in events:
                if kind == "error":
                    raise pickle.loads(value)
            if all(kind == "done" for kind, _, _ in events):
                return self._agreed([value for _, _, value in events])
            if len({(kind, label) for kind, label, _ in events}) > 1:
                raise RuntimeError(
                    f"the Dask workers diverged: {[e[:2] for e in events]}. Report this."
                )
            self._answer([value for _, _, value in events], events[0][1])

    def _assigned(self) -> list[str]:
        """For each process a worker, if possible the one that has most of its rows already."""
        dask_client.wait_for(self.tables.values(), self.wait)
        where = self.client.who_has(list(self.tables.values()))
        free = sorted(dask_client.workers(self.client, self.wait))
        chosen = []
        for process in self.processes:
            held = dict.fromkeys(free, 0)
            for start, number in self._needed(process):
                end = start + self.partitions[number].rows
                for worker in where.get(self.tables[number].key, ()):
                    if worker in held:
                        held[worker] += min(end, process.last) - max(start, process.first)
            chosen.append(max(free, key=lambda worker: held[worker]))
            if len(free) > 1:
                free.remove(chosen[-1])
        return chosen

    def _needed(self, process: _Process) -> Iterator[tuple[int, int]]:
        """First row and number of the partitions with rows of a process."""
        start = 0
        for number, partition in enumerate(self.partitions):
            if start < process.last and start + partition.rows > process.first:
                yield start, number
            start += partition.rows

    def _begin(self, process: _Process, worker: str) -> None:
        needed = list(self._needed(process))
        tables = [self._table(number) for _, number in needed]
        process.worker, process.key = worker, f"pellucid-{uuid.uuid4().hex}"
        part = Part(
            process.key, process.rank, process.first, process.last, self.total,
            [start for start, _ in needed], [self.partitions[number] for _, number in needed],
            self.schema, self.features, self.answers,
        )  # fmt: skip
        self._submit(process, "begin", dask_worker.begin, part, self.learn, *tables)

    def _submit(
        self, process: _Process, name: str, task: Callable[..., Event], *arguments: Any
    ) -> None:
        release([process.future])
        process.event, process.since = None, time.monotonic()
        process.future = self.client.submit(
            task, *arguments, key=f"{process.key}-{name}", workers=[process.worker], pure=False,
            priority=10, retries=0,
        )  # fmt: skip

    def _answer(self, values: list[bytes], label: str) -> None:
        size = sum(map(len, values))
        if label == SUM:  # one array goes back, however many workers there are
            values = [pickle.dumps(sum(map(pickle.loads, values)), protocol=5)]
        self.answers.append(values)
        number = len(self.answers) - 1
        self.report["passes"] += 1
        self.report["bytes_to_client"] += size
        self.report["bytes_from_client"] += sum(map(len, values)) * len(self.processes)
        for process in self.processes:
            name = f"pass-{number}"
            self._submit(process, name, dask_worker.go_on, process.key, number, values)

    # 4 ------------------------------------------------------------------------------------------

    def _collect(self) -> list[Event]:
        """The next event of every process; those of lost workers are begun again."""
        while waiting := [p for p in self.processes if p.event is None]:
            dask_client.wait_for([p.future for p in waiting])
            finished = [p for p in waiting if p.future.status == "finished"]
            futures = [p.future for p in finished]
            events = dask_client.results(self.client, futures, self.wait) if finished else []
            for process, event in zip(finished, events):
                process.event = event
            release(p.future for p in finished if p.event is not None)
            self._look_after([p for p in waiting if p.event is None])
        return [p.event for p in self.processes if p.event is not None]

    def _look_after(self, waiting: list[_Process]) -> None:
        if not waiting:
            return
        alive = sorted(dask_client.workers(self.client, self.wait))
        for process in waiting:
            status = process.future.status
            if process.worker not in alive or status in (*FAILED, "lost"):
                self._begin_again(process, alive)
            elif time.monotonic() - process.since > self.wait:
                first, last = process.first // GROUP, (process.last - 1) // GROUP
                raise DataError(
                    f"the Dask worker {process.worker} has not answered pass {len(self.answers)} within "
                    f"{self.wait:g} seconds. It fits rows {process.first} to {process.last - 1} "
                    f"(groups {first} to {last} of {GROUP} rows). It may be stuck or out of memory. "
                    'Allow more time with dask.config.set({"pellucid.timeout": seconds}).'
                )

    def _begin_again(self, process: _Process, alive: list[str]) -> None:
        failed = process.future.status == "error"
        self.losses.of_part(process.worker, f"; {process.future.exception()}" if failed else "")
        busy = [p.worker for p in self.processes if p is not process]
        self._begin(process, min(alive, key=busy.count))

    def _agreed(self, results: list[bytes]) -> bytes:
        """The result, if all processes have learned the same."""
        self.report["restarts"] = self.losses.restarts
        found = [pickle.loads(result) for result in results]
        if len({digest for _, digest in found}) > 1:
            raise RuntimeError("the Dask workers fitted different models. Please report this bug.")
        return found[0][0]

    def close(self) -> None:
        """Let the workers forget this fit."""
        release(self.tables.values())
        for process in self.processes:
            release([process.future])
            if process.worker:
                last = self.client.submit(
                    dask_worker.end, process.key, workers=[process.worker], pure=False, priority=10
                )
                dask_client.fire_and_forget(last)


@contextmanager
def worker_fit(
    table: DaskTable, roles: Sequence[str], weights: str | None, learn: Callable[[Any, int], Any]
) -> Iterator[WorkerFit]:
    """A fit on workers, ready to `run`; `learn` is called there with their rows and their rank."""
    import dask

    features = table.features_beside(roles)
    frame = table.frame[list(dict.fromkeys([*features, *roles]))]
    as_table = dask.delayed(dask_worker.as_table, pure=False)
    found = WorkerFit(
        table.client, frame.to_delayed(), lambda part: as_table(part, weights), learn,
        tuple(features), longest_wait(),
    )  # fmt: skip
    try:
        found.load()
        found.cut()
        yield found
    finally:
        found.close()
