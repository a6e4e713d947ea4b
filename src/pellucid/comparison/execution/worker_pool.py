"""The worker processes that do the fits: started by a fork server, reused, given one task at a time.

A task is a function and its argument. A worker that completed a task takes the next one, so that the
cost of a process (fork, pages, threads) is paid once and not for each (model, fold). A worker that
failed, was stopped, was killed or died is replaced. Invariant: a task inherits nothing from the one
before it except imported modules and thread pools, so results do not depend on the worker.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import tempfile
import threading
import time
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import forkserver
from multiprocessing.util import get_temp_dir
from typing import Any

from pellucid.errors import DataError
from pellucid.names import ESTIMATORS

SOCKET_PATH = 103  # bytes of a socket path that every system allows
SOCKET_NAME = "/pymp-XXXXXXXX/listener-XXXXXXXX"  # what Python appends to the temporary folder
PRELOAD = "pellucid.comparison.execution.preload"

_loaded: set[str] = set()  # modules that the running fork server has imported


def _context() -> Any:
    return multiprocessing.get_context("forkserver")


def warm_up(more: Iterable[str] = ()) -> None:
    """Start the fork server now, so that it imports modules while this process reads the table.

    `more` are modules that the user's own models need. A server without one of them is restarted.
    """
    wanted = {PRELOAD, *more} - {"__main__"}
    if not wanted <= _loaded:
        end = getattr(forkserver._forkserver, "_stop", None)
        if _loaded and end is not None:
            end()
        _loaded.update(wanted)
        _context().set_forkserver_preload(sorted(_loaded))
    _choose_folder_of_sockets()
    with _empty_main():
        forkserver.ensure_running()


@contextmanager
def _empty_main(keep: bool = False) -> Iterator[None]:
    """Hide the user's script while a worker starts, so that the worker does not run it again."""
    if keep:
        yield
        return
    before = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = before


def _choose_folder_of_sockets() -> None:
    """Make the fork server use a temporary folder whose path is short enough for a socket."""
    usual = tempfile.tempdir
    if not _short_enough(tempfile.gettempdir()):
        places = (os.environ.get("XDG_RUNTIME_DIR", ""), "/tmp", "/var/tmp", "/dev/shm")
        fit = [p for p in places if p and _short_enough(p) and os.access(p, os.W_OK | os.X_OK)]
        if not fit:
            raise DataError(
                f"the path of the temporary folder {tempfile.gettempdir()} is too long for sockets. "
                "Set TMPDIR to a shorter path."
            )
        tempfile.tempdir = fit[0]
    try:
        get_temp_dir()  # created once per process
    finally:
        tempfile.tempdir = usual


def _short_enough(folder: str) -> bool:
    return len(os.fsencode(folder + SOCKET_NAME)) <= SOCKET_PATH


def worker_loop(channel: Any) -> None:
    """Main loop of a worker: one task at a time, until the parent ends; the parent handles Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    while True:
        try:
            message = channel.recv()
        except (EOFError, OSError):
            return
        except ImportError as error:  # the model's module has disappeared since the run began
            channel.send({"kind": "failed", "why": f"{type(error).__name__}: {error}"})
            continue
        if message != "stop":  # a stop that arrived after the task had ended
            function, task, family = message
            if family:  # the fork server has loaded the module of this import
                from pellucid.comparison.execution.preload import load_package

                load_package(family)
            function(task, channel)


def _end_with(parent: Any) -> None:
    parent.join()
    os._exit(1)


def limit_memory(most: float) -> None:
    """Allow this process at most `most` bytes of data more than it has now; 0: no limit."""
    if not most:
        return
    import resource

    with open("/proc/self/status") as status:
        used = next((line.split()[1] for line in status if line.startswith("VmData")), "0")
    limit = int(used) * 1024 + int(most)
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))


@dataclass
class Worker:
    """A process and the channel to it; `main`: whether it has imported the user's script."""

    process: Any
    channel: Any
    main: bool

    def end(self) -> None:
        """Kill the process."""
        self.process.kill()
        self.process.join()
        self.channel.close()


@dataclass
class WorkerPool:
    """The workers; `idle` are those without a task."""

    idle: list[Worker] = field(default_factory=list)

    def submit(self, function: Callable[..., None], task: Any, model: Any) -> Worker:
        """Give a task to an idle worker, or to a new one; `model` may be the user's own."""
        main = b"__main__" in pickle.dumps(model)
        family = ".".join(type(model).__module__.split(".")[:2])
        message = (function, task, family if family in ESTIMATORS else "")
        waiting = next((m for m in self.idle if m.main == main), None)
        if waiting is not None:
            self.idle.remove(waiting)
            try:
                waiting.channel.send(message)
                return waiting
            except OSError:  # it died while idle
                waiting.end()
        worker = self.start_worker(main)
        worker.channel.send(message)
        return worker

    def start_worker(self, main: bool = False) -> Worker:
        """Start a worker."""
        context = _context()
        ours, theirs = context.Pipe()
        process = context.Process(target=worker_loop, args=(theirs,), daemon=True)
        with _empty_main(keep=main):
            process.start()
        theirs.close()
        return Worker(process, ours, main)

    def close(self) -> None:
        """Kill the idle workers."""
        for worker in self.idle:
            worker.end()
        self.idle.clear()


def collect_parts(
    worker: Worker, timeout: float, more: float, stop: Callable[[], bool], latest: float
) -> dict[str, Any]:
    """The result of a task that arrives in parts: an essential first part, then optional ones.

    All parts that arrive in time are merged; the last one has the key "complete". The first part has
    `timeout` seconds, the others have `more` but not beyond the time `latest`. Waiting ends if `stop()`
    is true.
    """

    def arrives(end: float) -> bool:
        while not stop():
            if worker.channel.poll(0.1):
                return True
            if time.monotonic() > end:
                return False
        return False

    try:
        if not arrives(time.monotonic() + timeout):
            why = "stopped" if stop() else f"it took more than {timeout:.0f} s"
            return {"kind": "failed", "why": why}
        found = worker.channel.recv()
        with suppress(EOFError, OSError):  # it may die after the essential part
            now = time.monotonic()
            end = min(now + more, max(latest, now + 0.2))
            while found["kind"] == "done" and "complete" not in found and arrives(end):
                found |= worker.channel.recv()
        return found
    except (EOFError, OSError):
        return {"kind": "failed", "why": "its process ended"}
    finally:
        worker.end()
