"""`map` and ordered `reduce` on one warm pool of threads, and `interruptible` for long loops.

Invariant: results stand in task order and are combined in task order; with several failing tasks
the error of the first one is raised; Ctrl-C stops the whole tree of tasks.
"""

import contextlib
import contextvars
import functools
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from pellucid.parallel.memory import relieve
from pellucid.parallel.stop import StopFlag, root_thread, set_root_thread, stop_all
from pellucid.parallel.threads import enter_pool, in_pool, move_apart, one_blas_thread, resolve_jobs

# Seconds of a first task from which a thread is sent to another CPU, which may be busy.
LONG = 3e-4

Task = TypeVar("Task")
Result = TypeVar("Result")


class _Pool:
    """Daemon threads that wait for jobs; it grows to the largest number ever needed."""

    def __init__(self) -> None:
        self.jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self.threads: list[threading.Thread] = []
        self.lock = threading.Lock()

    def start(self, jobs: Sequence[Callable[[], None]]) -> None:
        with self.lock:
            while len(self.threads) < len(jobs):
                thread = threading.Thread(target=self._work, name="pellucid", daemon=True)
                thread.start()
                self.threads.append(thread)
        for job in jobs:
            self.jobs.put(job)

    def _work(self) -> None:
        while True:
            self.jobs.get()()


_workers = _Pool()
_hops = _Pool()  # apart from the workers, so that a hop may open a parallel region


def _new_pools() -> None:
    global _workers, _hops
    _workers, _hops = _Pool(), _Pool()


if hasattr(os, "register_at_fork"):  # threads do not survive a fork
    os.register_at_fork(after_in_child=_new_pools)


def _run(pool: _Pool, body: Callable[[], None], copies: int) -> None:
    """Run `copies` of `body` in threads of `pool` and wait; Ctrl-C stops their whole tree."""
    finished: SimpleQueue[None] = SimpleQueue()
    ended: list[None] = []  # what counts: an interrupt can lose an item of the queue, not of this
    root = root_thread()

    def job(context: contextvars.Context) -> None:
        set_root_thread(root)
        try:
            context.run(body)  # what the caller watches, its workers report to
        finally:
            set_root_thread(None)
            ended.append(None)
            finished.put(None)

    pool.start([functools.partial(job, contextvars.copy_context()) for _ in range(copies)])
    interrupted: KeyboardInterrupt | None = None
    while True:
        try:
            while len(ended) < copies:
                if interrupted is not None:
                    stop_all(root)  # again, for flags made since
                _wait(finished)
            break
        except KeyboardInterrupt as stop:
            if interrupted is not None:
                raise
            interrupted = stop
    if interrupted is not None:
        raise interrupted


def _wait(finished: "SimpleQueue[None]") -> None:
    """Wait for a job to end, but return often: where a library installed its own handler of
    signals, Python's runs only between two steps of the interpreter, not inside `get`.
    """
    with contextlib.suppress(Empty):
        finished.get(timeout=0.1)


class _Region:
    """The state that the workers of one call share: the next task, and the first error."""

    def __init__(self, work: Callable[[int, Any], None], tasks: Sequence[Any], long: bool = False):
        self.work, self.tasks, self.long = work, tasks, long
        self.numbers = iter(range(len(tasks)))  # next() of a range iterator is atomic
        self.lock = threading.Lock()
        self.errors: dict[int, BaseException] = {}
        self.stop = StopFlag()
        self.cpus: set[int] = set()

    def __call__(self) -> None:
        enter_pool(True)
        try:
            start = time.perf_counter()
            if self.long or (self._one_task() and time.perf_counter() - start > LONG):
                with self.lock:
                    move_apart(self.cpus)
            while self._one_task():
                pass
        finally:
            enter_pool(False)

    def _one_task(self) -> bool:
        """Do the next task; False if there is none left, or no reason to do it."""
        if self.errors or self.stop.is_set():
            return False
        with self.lock:
            number = next(self.numbers, None)
        if number is None:
            return False
        try:
            self.work(number, self.tasks[number])
            relieve()
        except BaseException as error:
            self.errors[number] = error
        return True

    def finish(self) -> None:
        if self.errors:
            raise self.errors[min(self.errors)]
        self.stop.check()


def map(
    function: Callable[[Task], Result],
    tasks: Iterable[Task],
    n_jobs: int | None = None,
    *,
    long: bool = False,
) -> list[Result]:
    """`[function(task) for task in tasks]` on several threads, in task order.

    Threads that share a CPU are moved apart after a first task that took long, or before it if `long`.
    """
    tasks = list(tasks)
    alone = len(tasks) <= 1 and n_jobs is None
    threads = 1 if alone else min(resolve_jobs(n_jobs), len(tasks))
    with one_blas_thread():
        if threads <= 1:
            return [_relieved(function(task)) for task in tasks]
        results: list[Any] = [None] * len(tasks)

        def work(number: int, task: Task) -> None:
            results[number] = function(task)

        region = _Region(work, tasks, long)
        _run(_workers, region, threads)
        region.finish()
    return results


def _relieved(result: Result) -> Result:
    relieve()
    return result


class _Fold:
    """Combines partial results in block order as they arrive, so few of them wait in memory."""

    def __init__(self, partial: Callable, combine: Callable):
        self.partial, self.combine = partial, combine
        self.waiting: dict[int, Any] = {}
        self.total: Any = None
        self.next = 0
        self.busy = False
        self.lock = threading.Lock()

    def __call__(self, number: int, block: Any) -> None:
        part = self.partial(block)
        with self.lock:
            self.waiting[number] = part
            if self.busy:  # another thread is combining and will find this part
                return
            self.busy = True
        while True:
            with self.lock:
                if self.next not in self.waiting:
                    self.busy = False
                    return
                part = self.waiting.pop(self.next)
            self.total = part if self.next == 0 else self.combine(self.total, part)
            self.next += 1


def reduce(
    partial: Callable[[Task], Result],
    combine: Callable[[Result, Result], Result],
    blocks: Iterable[Task],
    n_jobs: int | None = None,
) -> Result:
    """Fold `partial(block)` with `combine` in block order; `combine` may change its first argument.

    One block is a direct call without a pool.
    """
    blocks = list(blocks)
    threads = min(resolve_jobs(n_jobs), len(blocks)) if len(blocks) > 1 else 1
    with one_blas_thread():
        if threads <= 1:
            total = partial(blocks[0])
            for block in blocks[1:]:
                total = combine(total, _relieved(partial(block)))
            return total
        fold = _Fold(partial, combine)
        region = _Region(fold, blocks)
        _run(_workers, region, threads)
        region.finish()
    return fold.total


def interruptible(function: Callable[..., Result], *args: Any) -> Result:
    """`function(*args)` in a warm thread while the main thread waits for it or for Ctrl-C.

    Ctrl-C sets every `StopFlag` made in this call tree, so a compiled loop that reads one returns,
    and `KeyboardInterrupt` is raised. Outside the main thread signals do not arrive: a plain call.
    """
    if threading.current_thread() is not threading.main_thread() or in_pool():
        return function(*args)
    results: list[Result] = []
    errors: list[BaseException] = []

    def body() -> None:
        try:
            results.append(function(*args))
        except BaseException as error:
            errors.append(error)

    _run(_hops, body, 1)
    if errors:
        raise errors[0]
    return results[0]
