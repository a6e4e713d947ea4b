"""What fits on a Dask cluster ask of their client: workers, results of tasks, and a count of losses.

Invariant: futures are released by name, never left to the garbage collector. Dask keeps the tasks of a
future that lives on in the traceback of an error: it would compute them again after every lost worker,
and would answer the next fit of the same frame with their stored error.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import distributed

from pellucid.data.sources.dask_frames import late_partition
from pellucid.errors import DataError

LOOK = 0.1  # seconds between two looks at the list of workers
FORGOTTEN = 0.5  # seconds in which Dask forgets a task
LOSSES = 20  # of workers that a fit tolerates
FAILED = ("error", "cancelled")
fire_and_forget: Any = distributed.fire_and_forget
_wait: Any = distributed.wait


def workers(client: Any, wait: float) -> dict[str, Any]:
    """What is known of the workers, by address; waits for one if there is none.

    The scheduler is asked which there are: what the client knows of them can be seconds old.
    """
    deadline = time.monotonic() + wait
    while not (found := client.nthreads()):
        if time.monotonic() > deadline:
            raise DataError(f"the Dask cluster has had no worker for {wait:g} seconds.")
        time.sleep(LOOK)
    known = client.scheduler_info(n_workers=-1)["workers"]
    return {worker: known.get(worker, {}) for worker in found}


def wait_for(futures: Iterable[Any], seconds: float = LOOK) -> None:
    """Wait until all tasks have ended, at most some seconds."""
    with suppress(TimeoutError, CancelledError):
        _wait(list(futures), timeout=seconds)


def results(client: Any, futures: Sequence[Any], wait: float) -> list[Any]:
    """Results of finished tasks; none if a worker is lost before all are here.

    Dask goes on waiting for those until they are released. Cancelled, it would leave the tasks that wait
    for them alone, and print their errors.
    """
    deadline = time.monotonic() + wait
    asked = asyncio.run_coroutine_threadsafe(
        client.gather(futures, asynchronous=True), client.loop.asyncio_loop
    )
    while time.monotonic() < deadline:
        try:
            return list(asked.result(LOOK))
        except TimeoutError:
            if asked.done() or any(future.status != "finished" for future in futures):
                break
        except Exception:  # the tasks themselves raise nothing
            return []
    return []


def release(futures: Iterable[Any]) -> None:
    """Let Dask forget these tasks and their results."""
    for future in futures:
        if future is not None:
            future.release()


def forget(futures: Iterable[Any]) -> None:
    """Release failed tasks and wait until Dask has forgotten them and their errors."""
    release(futures)
    time.sleep(FORGOTTEN)


def killed(future: Any) -> BaseException | None:
    """Dask's error that a task has lost several workers; None if the task was cancelled.

    An error that the task itself has raised is raised here.
    """
    error: BaseException | None = future.exception() if future.status == "error" else None
    if error is None or isinstance(error, distributed.KilledWorker):
        return error
    raise error


@dataclass
class Losses:
    """Workers that were lost during a fit; too many of them are an error."""

    by_worker: Counter[str] = field(default_factory=Counter)
    restarts: int = 0  # of a part of the rows or of a partition

    def of_part(self, worker: str, why: str = "") -> None:
        """A worker that fitted rows was lost."""
        self.by_worker[worker] += 1
        self.restarts += 1
        if self.by_worker.total() > LOSSES:
            raise DataError(
                f"workers of the Dask cluster were lost {LOSSES} times during this fit (the last: "
                f"{worker}{why}). They may have too little memory for their rows."
            )

    def of_partition(self, number: int, error: BaseException | None) -> None:
        """The workers that Dask let compute a partition, one after the other, were lost."""
        tries = getattr(error, "allowed_failures", 0) + 1
        worker = getattr(error, "last_worker", None)
        self.by_worker[worker.address if worker else ""] += tries
        self.restarts += 1
        if self.by_worker.total() > LOSSES:
            last = f" The last was {worker.address}." if worker else ""
            raise DataError(
                f"partition {number} of the Dask frame could not be computed: the workers that tried "
                f"were lost.{last} It may need more memory than a worker has: use smaller "
                "partitions (frame.repartition), and persist a persisted frame again."
            ) from error


def computed(
    client: Any, future: Any, number: int, wait: float, losses: Losses, again: Callable[[], Any]
) -> Any:
    """The result of a task on a partition; `again` asks for it anew if its workers were lost."""
    deadline = time.monotonic() + wait
    while True:
        wait_for([future])
        if future.status == "finished" and (found := results(client, [future], wait)):
            release([future])
            return found[0]
        if future.status in FAILED:
            losses.of_partition(number, killed(future))
            forget([future])
            future, deadline = again(), time.monotonic() + wait
        elif time.monotonic() > deadline:
            release([future])
            raise late_partition(number, wait)
