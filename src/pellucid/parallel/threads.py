"""How many threads may run, and BLAS held to one thread.

Invariant: a thread that already is one of many workers (ours, joblib's, multiprocessing's, Dask's)
gets one thread; so the number of busy threads never multiplies.
"""

import contextlib
import ctypes
import os
import sys
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

from pellucid.errors import ParameterError
from pellucid.parallel.shard import shard

_can_move = hasattr(os, "sched_setaffinity")
# Number of the CPU that runs the calling thread, if the system reports it.
_cpu_here = getattr(ctypes.CDLL(None), "sched_getcpu", None) if _can_move else None
_lock = threading.Lock()
_inside = threading.local()
_chosen: int | None = None
# Goes with the context into the thread of an interruptible call.
_jobs: ContextVar[int | None] = ContextVar("_jobs", default=None)
# Threads that a worker of Dask gives to a fit.
_given: ContextVar[int | None] = ContextVar("_given", default=None)


def set_threads(n: int | None) -> None:
    """Set the number of threads that Pellucid uses in this process; `None` restores the default.

    The default is the environment variable PELLUCID_NUM_THREADS, else the CPUs this process may
    run on. Results have equal bits for every number of threads.
    """
    global _chosen
    if n is not None and (isinstance(n, bool) or not hasattr(n, "__index__") or n < 1):
        raise ParameterError(
            f"The number of threads must be an int >= 1 or None. Got {n!r} instead."
        )
    _chosen = None if n is None else int(n)


def get_threads() -> int:
    """Number of threads that a parallel region started here would use."""
    if in_pool():
        return 1
    jobs = _jobs.get()
    if jobs is not None:
        return jobs
    if _chosen is not None:
        return _chosen
    here, given = shard(), _given.get()
    if here is not None:
        return here.threads
    if given is not None:
        return given
    if _in_foreign_worker():
        return 1
    text = os.environ.get("PELLUCID_NUM_THREADS", "").strip()
    if not text:
        return _cpus()
    if not text.isdigit() or int(text) < 1:
        raise ParameterError(
            "The environment variable PELLUCID_NUM_THREADS must be an int >= 1. "
            f"Got {text!r} instead."
        )
    return int(text)


def resolve_jobs(n_jobs: int | None) -> int:
    """Threads for an `n_jobs` parameter: None is the default, -1 all CPUs, -2 all but one."""
    if n_jobs is None:
        return get_threads()
    if isinstance(n_jobs, bool) or not hasattr(n_jobs, "__index__") or n_jobs == 0:
        raise ParameterError(
            f"The 'n_jobs' parameter must be an int other than 0, or None. Got {n_jobs!r} instead."
        )
    alone = shard() is None and _given.get() is None
    if in_pool() or (alone and _in_foreign_worker()):
        return 1
    return int(n_jobs) if n_jobs > 0 else max(1, _cpus() + 1 + int(n_jobs))


@contextlib.contextmanager
def using(n_jobs: int | None) -> Iterator[None]:
    """Parallel regions inside, if they name no number themselves, use `n_jobs` threads."""
    token = _jobs.set(None if n_jobs is None else resolve_jobs(n_jobs))
    try:
        yield
    finally:
        _jobs.reset(token)


@contextlib.contextmanager
def giving(threads: int) -> Iterator[None]:
    """A fit inside may use that many threads, although it runs in a worker of Dask."""
    token = _given.set(threads)
    try:
        yield
    finally:
        _given.reset(token)


def in_pool() -> bool:
    """Whether the calling thread is a worker of our own pool."""
    return getattr(_inside, "pool", False)


def enter_pool(inside: bool) -> None:
    """Mark the calling thread as a worker of our own pool, or not."""
    _inside.pool = inside


def _cpus() -> int:
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


def move_apart(taken: set[int]) -> None:
    """Move to another CPU if another worker runs on this one, and note where this thread runs.

    On a busy machine two threads that wake on one CPU may share it for longer than their work
    takes (measured: slower than one thread). Nothing stays tied to a CPU.
    """
    if _cpu_here is None:
        return
    if _cpu_here() in taken:
        allowed = os.sched_getaffinity(0)
        free = allowed - taken
        with contextlib.suppress(OSError):  # CPUs may have been taken away meanwhile
            if free:
                os.sched_setaffinity(0, free)
                os.sched_setaffinity(0, allowed)
    taken.add(_cpu_here())


def _in_foreign_worker() -> bool:
    process = sys.modules.get("multiprocessing.process")
    if process is not None and process.parent_process() is not None:
        return True
    joblib = sys.modules.get("joblib.parallel")
    if joblib is not None and (joblib.get_active_backend()[0].nesting_level or 0) > 0:
        return True
    dask = sys.modules.get("distributed.worker")
    return dask is not None and hasattr(dask.thread_state, "execution_state")


# Packages that bring their own copy of BLAS: when one of them is loaded, the list is made again.
_BLAS_OWNERS = ("numpy", "scipy.linalg", "scipy.sparse.linalg", "scipy.optimize", "torch")


class _Blas:
    """One loaded BLAS: reads and sets its number of threads, from any thread.

    OpenBLAS is called directly, which takes less than a microsecond. The way through threadpoolctl is
    for the others: it lets the first thread that calls it keep control and silently ignores the
    others, so its memory of that thread is cleared before and after.
    """

    def __init__(self, blas: Any) -> None:
        self.path = blas.filepath
        self.blas = blas
        self.get = blas.get_num_threads
        self.set = self._set_politely
        for prefix in ("", "scipy_"):
            for suffix in ("", "64_", "_64"):
                name = f"{prefix}openblas_{{}}_num_threads{suffix}"
                if hasattr(blas.dynlib, name.format("set")):
                    self.get = getattr(blas.dynlib, name.format("get"))
                    self.set = getattr(blas.dynlib, name.format("set"))

    def _set_politely(self, threads: int) -> None:
        clear = getattr(self.blas, "clear_controlling_thread", lambda force: None)
        clear(force=True)
        self.blas.set_num_threads(threads)
        clear(force=True)


_libraries: tuple[tuple[bool, ...], list[_Blas]] | None = None
_modules = 0  # number of loaded modules when the list was last looked at
_limits: list[tuple[_Blas, int]] = []
_depth = 0


def _blas_libraries() -> list[_Blas]:
    global _libraries, _modules
    if _libraries is not None and len(sys.modules) == _modules:
        return _libraries[1]
    _modules = len(sys.modules)
    loaded = tuple(owner in sys.modules for owner in _BLAS_OWNERS)
    if _libraries is None or _libraries[0] != loaded:
        from threadpoolctl import ThreadpoolController

        known = {blas.path: blas for blas in (_libraries[1] if _libraries else ())}
        found = ThreadpoolController().select(user_api="blas").lib_controllers
        _libraries = (loaded, [known.get(lib.filepath) or _Blas(lib) for lib in found])
    return _libraries[1]


class one_blas_thread(contextlib.ContextDecorator):
    """Context, or decorator, that holds BLAS to one thread: more would change the order of sums, so
    the bits.

    The limit is one number per process, so nested and concurrent regions are counted: the first
    one sets it and the last one restores it.
    """

    __slots__ = ()

    def __enter__(self) -> None:
        global _depth
        with _lock:
            if _depth == 0 or len(sys.modules) != _modules:  # else all are limited already
                _limit()
            _depth += 1

    def __exit__(self, *error: object) -> None:
        global _depth
        with _lock:
            _depth -= 1
            if _depth == 0:
                while _limits:
                    blas, threads = _limits.pop()
                    if threads != 1:
                        blas.set(threads)


def _limit() -> None:
    """Hold every BLAS that is loaded by now to one thread."""
    libraries = _blas_libraries()
    if len(_limits) == len(libraries):
        return
    limited = {id(blas) for blas, _ in _limits}
    for blas in libraries:
        if id(blas) not in limited:
            threads = blas.get()
            _limits.append((blas, threads))
            if threads != 1:
                blas.set(1)


def _after_fork() -> None:
    global _lock, _chosen, _depth, _inside
    _lock = threading.Lock()
    _inside = threading.local()
    _jobs.set(None)
    _chosen = 1 if _chosen == 1 else None  # a server that chose 1 means its workers, too
    _depth = 0
    while _limits:
        blas, threads = _limits.pop()
        blas.set(threads)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
