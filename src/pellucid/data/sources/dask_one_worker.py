"""Fits by one worker of a Dask cluster, of models that visit the rows in an order of their own.

1. One worker takes the partitions into a scratch file, one after the other, as all workers compute them.
2. It fits the model as one process does, below its memory ceiling if the table does not fit into memory.
3. If it is lost, another worker begins again.

Invariant: the worker sees the rows in the order of the frame, so the model has the bits of one process.
"""

from __future__ import annotations

import pickle
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import distributed
import pyarrow as pa

from pellucid.data.sources import dask_client, dask_worker
from pellucid.data.sources.block_source import BlockSource
from pellucid.data.sources.dask_client import FAILED, FORGOTTEN, Losses, release
from pellucid.data.sources.dask_frames import AHEAD, DaskTable, late_partition, longest_wait
from pellucid.data.sources.dask_worker import Event
from pellucid.data.sources.spool import Spool, source_of_spool
from pellucid.errors import DataError
from pellucid.parallel.memory import SHARE, get_memory, limited_to
from pellucid.parallel.stop import stop_all
from pellucid.parallel.threads import giving

Learn = Callable[[BlockSource], Any]


class _LostError(Exception):
    """The worker of the fit is gone."""


@dataclass
class OneWorkerFit:
    """A fit in progress: the delayed partitions and what the chosen worker does."""

    client: Any
    parts: list[Any]
    columns: list[str]
    features: tuple[str, ...]
    learn: Learn
    wait: float
    losses: Losses = field(default_factory=Losses)
    worker: str = ""
    key: str = ""

    def run(self) -> tuple[bytes, dict[str, Any]]:
        """The pickled result of `learn`, and a report."""
        lost = self.losses.by_worker
        while True:
            workers = dask_client.workers(self.client, self.wait)
            self.worker = min(
                sorted(workers),
                key=lambda name: (lost[name], -(workers[name].get("memory_limit") or 0)),
            )
            self.key = f"pellucid-{uuid.uuid4().hex}"
            try:
                kind, _, value = self._attempt()
            except _LostError:
                time.sleep(FORGOTTEN)  # until Dask has forgotten the tasks
                continue
            finally:
                self._end()
            if kind == "error":
                raise pickle.loads(value)
            report = {"partitions": len(self.parts), "workers": 1}
            return value, report | {"restarts": self.losses.restarts}

    def _attempt(self) -> Event:
        """Let the worker take all partitions, then fit them."""
        import dask

        as_table = dask.delayed(
            dask_worker.as_table, pure=False
        )  # keys of their own in every attempt
        waiting: deque[tuple[int, Any]] = deque()
        last = None
        try:
            for number, part in enumerate(self.parts):
                table = self.client.compute(as_table(part, None, self.columns))
                last = self._submit(take, number, table, last)
                release([table])  # the task needs it, nobody else
                waiting.append((number, last))
                if len(waiting) > AHEAD:
                    self._taken(*waiting.popleft())
            while waiting:
                self._taken(*waiting.popleft())
            last = self._submit(fit, self.features, self.learn, last)
            return self._result(last, None)
        finally:
            release([last, *(future for _, future in waiting)])

    def _submit(self, task: Callable[..., Any], *arguments: Any) -> Any:
        return self.client.submit(
            task, self.key, *arguments, workers=[self.worker], pure=False, priority=10, retries=0
        )

    def _taken(self, number: int, future: Any) -> None:
        """Wait until a partition is in the scratch file."""
        kind, _, value = self._result(future, number)
        if kind == "error":
            raise pickle.loads(value)

    def _result(self, future: Any, number: int | None) -> Event:
        """The event of a task: of partition `number`, or of the fit for None."""
        since, seen = time.monotonic(), None
        while True:
            dask_client.wait_for([future])
            done = future.status == "finished"
            if done and (found := dask_client.results(self.client, [future], self.wait)):
                return cast(Event, found[0])
            facts = dask_client.workers(self.client, self.wait).get(self.worker)
            if future.status in (*FAILED, "lost") or facts is None:
                self._count_loss(future, number)
                raise _LostError
            reports = facts.get("last_seen") if number is None else None
            if reports != seen:
                since, seen = time.monotonic(), reports
            if time.monotonic() - since > self.wait:
                raise self._late(number)

    def _count_loss(self, future: Any, number: int | None) -> None:
        """Count the loss of the worker, or of those that computed a partition."""
        error: BaseException | None = future.exception() if future.status == "error" else None
        if isinstance(error, distributed.KilledWorker) and number is not None:
            self.losses.of_partition(number, error)
        elif error is None or isinstance(error, distributed.KilledWorker | KeyError):
            self.losses.of_part(self.worker)
        else:
            raise error

    def _late(self, number: int | None) -> DataError:
        if number is not None:
            return late_partition(number, self.wait)
        return DataError(
            f"the Dask worker {self.worker}, which fits all rows, has not reported to the scheduler for "
            f"{self.wait:g} seconds. It may be stuck or out of memory. "
            'Allow more time with dask.config.set({"pellucid.timeout": seconds}).'
        )

    def _end(self) -> None:
        """Let the worker forget this fit, and stop it if it still runs."""
        if self.worker in self.client.scheduler_info(n_workers=-1)["workers"]:
            dask_client.fire_and_forget(self._submit(end))


def one_worker_fit(
    table: DaskTable, roles: Sequence[str], learn: Learn
) -> tuple[bytes, dict[str, Any]]:
    """What `learn` finds in a source of all rows, on one worker of the table's client, and a report."""
    features = tuple(table.features_beside(roles))
    used = list(dict.fromkeys([*features, *roles]))
    parts = table.frame[used].to_delayed()
    return OneWorkerFit(table.client, parts, used, features, learn, longest_wait()).run()


# On the worker -------------------------------------------------------------------------------------


class _Rows:
    """The rows that this worker has taken, and the thread that fits them."""

    def __init__(self) -> None:
        self.spool = Spool()
        self.thread: threading.Thread | None = None
        self.event: Event = ("", "", b"")

    def fit(self, features: tuple[str, ...], learn: Learn) -> None:
        """Learn from the rows with the threads and the memory of this worker."""
        from distributed import get_worker

        worker = get_worker()
        most = worker.memory_manager.memory_limit
        limit = min(get_memory(), int(SHARE * most)) if most else get_memory()
        threads = worker.state.nthreads

        def work() -> None:
            try:
                source = source_of_spool("the Dask frame", self.spool)
                with limited_to(limit), giving(threads):
                    learned = learn(replace(source, features=features))
                self.event = ("done", "", pickle.dumps(learned))
            except BaseException as error:
                self.event = ("error", "", pickle.dumps(error))

        self.thread = threading.Thread(target=work, name="pellucid-fit", daemon=True)
        self.thread.start()
        self.thread.join()


_rows: dict[str, _Rows] = {}


def take(key: str, number: int, table: pa.Table, before: Event | None) -> Event:
    """Write a partition after those before it; `before` is the event of the last one."""
    try:
        own = _rows.setdefault(key, _Rows()) if number == 0 else _rows[key]
        own.spool.write(table.to_batches())
    except KeyError:  # this worker is not the one that took the partitions before
        raise
    except Exception as error:
        return "error", "", pickle.dumps(error)
    return "taken", "", b""


def fit(key: str, features: tuple[str, ...], learn: Learn, last: Event) -> Event:
    """Fit all rows; `last` is the event of the last partition."""
    own = _rows[key]
    own.fit(features, learn)
    return own.event


def end(key: str) -> None:
    """Forget the rows, and stop a fit that nobody waits for."""
    own = _rows.pop(key, None)
    if own is not None and own.thread is not None and own.thread.ident is not None:
        stop_all(own.thread.ident)
