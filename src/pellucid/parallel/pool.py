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

import numpy as np

from pellucid.parallel import passes
from pellucid.parallel.blocks import row_blocks
from pellucid.parallel.shard import Shard, Tree, fold_all, shard
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
    """Run `copies` of `body` in threads of `pool` and wait; a signal stops their whole tree."""
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
    interrupted: BaseException | None = None  # whatever the handler of a signal raises
    while True:
        try:
            while len(ended) < copies:
                if interrupted is not None:
                    stop_all(root)  # again, for flags made since
                _wait(finished)
            break
        except BaseException as stop:
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
            passes.done(self.tasks[number])
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
    passes.begin(tasks)
    alone = len(tasks) <= 1 and n_jobs is None
    # Several processes exchange sums in one order: only blocks of rows, without sums, run at once.
    alone = alone or (shard() is not None and any(_rows_of(task) is None for task in tasks))
    threads = 1 if alone else min(resolve_jobs(n_jobs), len(tasks))
    with one_blas_thread():
        if threads <= 1:
            # A signal ends the loop of the main thread; in a worker only a flag does.
            stop = StopFlag() if in_pool() and len(tasks) > 1 else None
            return [_done(task, function(task), stop) for task in tasks]
        results: list[Any] = [None] * len(tasks)

        def work(number: int, task: Task) -> None:
            results[number] = function(task)

        region = _Region(work, tasks, long)
        _run(_workers, region, threads)
        region.finish()
    return results


def each(function: Callable[[Task], Result], tasks: list[Task]) -> list[Result]:
    """`map` for loops that call no BLAS: a single task costs nothing beyond itself."""
    return [function(tasks[0])] if len(tasks) == 1 else map(function, tasks)


def _done(task: Any, result: Result, stop: StopFlag | None = None) -> Result:
    if stop is not None:
        stop.check()
    passes.done(task)
    return result


class _Fold:
    """Combines partial results in block order as they arrive, so few of them wait in memory."""

    def __init__(self, partial: Callable, tree: Tree, starts: list[int]):
        self.partial, self.tree, self.starts = partial, tree, starts
        self.waiting: dict[int, Any] = {}
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
            self.tree.add(self.starts[self.next], part)
            self.next += 1


def _rows_of(block: Any) -> slice | None:
    """The rows of a task: a block, or a tuple that begins with one."""
    if isinstance(block, tuple) and block:
        block = block[0]
    return block if isinstance(block, slice) else None


def reduce(
    partial: Callable[[Task], Result],
    combine: Callable[[Result, Result], Result],
    blocks: Iterable[Task],
    n_jobs: int | None = None,
) -> Result:
    """Fold `partial(block)` with `combine` in block order; `combine` may change its first argument.

    Blocks of rows are folded in groups (`Tree`), and over all processes if several share the rows. One
    block is a direct call without a pool.
    """
    blocks = list(blocks)
    passes.begin(blocks)
    if len(blocks) == 1 and shard() is None:
        with one_blas_thread():
            return _done(blocks[0], partial(blocks[0]))
    threads = min(resolve_jobs(n_jobs), len(blocks)) if len(blocks) > 1 else 1
    rows = [_rows_of(block) for block in blocks]
    here = shard() if rows and rows[0] is not None else None
    starts = [0 if own is None else own.start for own in rows]
    if here is not None:
        starts = here.numbers(np.array(starts)).tolist()
    tree = Tree(combine, here)
    with one_blas_thread():
        if threads <= 1:
            for row, block in zip(starts, blocks):
                tree.add(row, _done(block, partial(block)))
        else:
            region = _Region(_Fold(partial, tree, starts), blocks)
            _run(_workers, region, threads)
            region.finish()
        return tree.total() if here is None else _exchanged(partial, combine, tree, here)


def _exchanged(partial: Callable, combine: Callable, tree: Tree, here: Shard) -> Any:
    if in_pool():
        raise RuntimeError(
            "sums over rows of several processes cannot run inside a pool of threads."
        )
    return fold_all(getattr(partial, "__qualname__", "sum"), tree, combine, here)


def sum_rows(values: np.ndarray) -> Any:
    """values.sum(axis=0), over fixed blocks of rows and over all processes that share the rows."""
    blocks = row_blocks(len(values), 1)
    return reduce(lambda rows: values[rows].sum(axis=0), lambda a, b: a + b, blocks)


def count_rows(codes: np.ndarray, weights: np.ndarray, size: int) -> np.ndarray:
    """Weight of the rows of each code 0..size-1, over all processes that share the rows."""
    return reduce(
        lambda rows: np.bincount(codes[rows], weights[rows], minlength=size).astype(float),
        lambda a, b: a + b,
        row_blocks(len(codes), 1),
    )


def interruptible(function: Callable[..., Result], *args: Any, short: bool = False) -> Result:
    """`function(*args)` in a warm thread while the main thread waits for it or for Ctrl-C.

    Ctrl-C sets every `StopFlag` made in this call tree, so a compiled loop that reads one returns,
    and `KeyboardInterrupt` is raised. Outside the main thread signals do not arrive: a plain call, as
    for a function whose compiled loops are all `short`.
    """
    if short or threading.current_thread() is not threading.main_thread() or in_pool():
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
