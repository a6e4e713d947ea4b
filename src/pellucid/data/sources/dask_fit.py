"""Fits on the workers of a Dask cluster: each fits its own rows, and only sums are exchanged.

1. The client learns the numbers of rows of the partitions on the workers (`dask_rows`).
2. Each worker fits the rows that lie there, cut by their global number in whole units
   (`dask_placement`). Of a unit with rows of several partitions, those that lie elsewhere are sent.
3. Every worker runs the same fit on its part. Wherever a sum over rows is needed, the fits stop and
   hand over the sums of their rows; the client gives all of them to all, and they go on. A pass is one
   task per worker.
4. A part whose worker is lost is begun again on another one, with the answers to all earlier passes.
"""

from __future__ import annotations

import pickle
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pellucid.data.sources import dask_client, dask_worker
from pellucid.data.sources.dask_client import FAILED, Losses, release
from pellucid.data.sources.dask_frames import DaskTable, longest_wait
from pellucid.data.sources.dask_placement import Run, chosen_rows, overlap
from pellucid.data.sources.dask_rows import DaskRows
from pellucid.data.sources.dask_worker import Event, Part, Rows
from pellucid.errors import DataError
from pellucid.parallel.shard import SUM


@dataclass
class _Process:
    """A part of the rows, and the worker that fits it."""

    rank: int
    runs: tuple[Run, ...]
    worker: str
    key: str = ""
    future: Any = None
    since: float = 0.0
    event: Event | None = None


@dataclass
class WorkerFit:
    """A fit in progress on workers: the answers to all exchanges so far, and its report."""

    client: Any
    rows: DaskRows
    learn: Callable[[Any, int], Any]
    features: tuple[str, ...]
    wait: float
    losses: Losses
    processes: list[_Process] = field(default_factory=list)
    answers: list[list[bytes]] = field(default_factory=list)
    report: dict[str, Any] = field(default_factory=dict)

    # 1 and 2 ------------------------------------------------------------------------------------

    def cut(self) -> None:
        """The rows of each worker, in whole units, most of them where they lie."""
        self.rows.load()
        workers = sorted(dask_client.workers(self.client, self.wait))
        sizes = [partition.rows for partition in self.rows.facts]
        chosen = chosen_rows(sizes, self.rows.holders(range(len(sizes))), workers)
        self.processes = [_Process(k, runs, worker) for k, (worker, runs) in enumerate(chosen)]
        self.report |= {"rows": self.rows.total, "columns": len(self.rows.schema)}
        self.report |= {"partitions": len(sizes), "workers": len(chosen), "passes": 0}
        self.report |= {"bytes_to_client": 0, "bytes_from_client": 0}

    # 3 ------------------------------------------------------------------------------------------

    def run(self) -> bytes:
        """Pass after pass until all processes are done: the result of the first one."""
        for process in self.processes:
            self._begin(process)
        while True:
            events = self._collect()
            self.rows.release()  # every process has them
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

    def _begin(self, process: _Process) -> None:
        """Begin the fit of a process, with the rows that lie elsewhere cut out where they are."""
        process.key = f"pellucid-{uuid.uuid4().hex}"
        source = self.rows
        needed = {
            number: Rows(number, tuple(places), facts)
            for number, (start, facts) in enumerate(zip(source.starts, source.facts))
            if (places := overlap(process.runs, start, facts.rows))
        }
        tables, cuts = [], []
        for (number, rows), holders in zip(needed.items(), source.holders(list(needed))):
            table = source.future(number)
            if process.worker not in holders and rows.count < rows.expected.rows:
                table = self.client.submit(
                    dask_worker.cut_there, source.key, table, rows, source.schema, source.weights,
                    source.columns, pure=False,
                )  # fmt: skip
                cuts.append(table)
            tables.append(table)
        part = Part(
            process.key, process.rank, process.runs, source.total, list(needed.values()), source.key,
            source.schema, source.weights, source.columns, self.features, self.answers,
        )  # fmt: skip
        self._submit(process, "begin", dask_worker.begin, part, self.learn, *tables)
        release(cuts)

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
            self._submit(
                process, name, dask_worker.go_on, process.key, self.rows.key, number, values
            )

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
                rows = ", ".join(f"{first} to {last - 1}" for first, last in process.runs[:3])
                rows += " and others" if len(process.runs) > 3 else ""
                raise DataError(
                    f"the Dask worker {process.worker} has not answered pass {len(self.answers)} within "
                    f"{self.wait:g} seconds. It fits rows {rows}. It may be stuck or out of memory. "
                    'Allow more time with dask.config.set({"pellucid.timeout": seconds}).'
                )

    def _begin_again(self, process: _Process, alive: list[str]) -> None:
        failed = process.future.status == "error"
        self.losses.of_part(process.worker, f"; {process.future.exception()}" if failed else "")
        busy = [p.worker for p in self.processes if p is not process]
        process.worker = min(alive, key=busy.count)
        self._begin(process)

    def _agreed(self, results: list[bytes]) -> bytes:
        """The result, if all processes have learned the same."""
        self.report["restarts"] = self.losses.restarts
        found = [pickle.loads(result) for result in results]
        if len({digest for _, digest in found}) > 1:
            raise RuntimeError("the Dask workers fitted different models. Please report this bug.")
        return found[0][0]

    def close(self) -> None:
        """Let the workers forget this fit."""
        self.rows.release()
        for process in self.processes:
            release([process.future])
            if process.key:
                last = self.client.submit(
                    dask_worker.end, process.key, self.rows.key, workers=[process.worker], pure=False,
                    priority=10,
                )  # fmt: skip
                dask_client.fire_and_forget(last)


@contextmanager
def worker_fit(
    table: DaskTable, roles: Sequence[str], weights: str | None, learn: Callable[[Any, int], Any]
) -> Iterator[WorkerFit]:
    """A fit on workers, ready to `run`; `learn` is called there with their rows and their rank."""
    features, wait, losses = table.features_beside(roles), longest_wait(), Losses()
    rows = DaskRows(table, list(dict.fromkeys([*features, *roles])), weights, wait, losses)
    found = WorkerFit(table.client, rows, learn, tuple(features), wait, losses)
    try:
        found.cut()
        yield found
    finally:
        found.close()
