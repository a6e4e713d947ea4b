"""The processes that do the fits: started from a fork server, kept warm, given one order at a time.

An order is a function and its task. A member that ended an order well takes the next one, so that
the cost of a process (fork, pages, threads) is paid once and not for each (model, fold). A member
that failed, was told to stop, was killed or died is replaced. Invariant: an order finds nothing of
the one before it but loaded modules and warm pools, so answers do not depend on who gave them.
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

SOCKET_PATH = 103  # bytes that the path of a socket may have on every system
SOCKET_NAME = "/pymp-XXXXXXXX/listener-XXXXXXXX"  # what Python adds to the temporary folder
PRELOAD = "pellucid.comparison.execution.preload"

_loaded: set[str] = set()  # what the running fork server has loaded


def _context() -> Any:
    return multiprocessing.get_context("forkserver")


def warm_up(more: Iterable[str] = ()) -> None:
    """Start the fork server now, so that it loads while this process reads the table.

    `more` are modules that the user's own models need. A server that lacks one is started anew.
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
    """Children must not run the user's script again: hide it while one is started."""
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
    """The server listens in a temporary folder: not in one whose path is too long for a socket."""
    usual = tempfile.tempdir
    if not _short_enough(tempfile.gettempdir()):
        places = (os.environ.get("XDG_RUNTIME_DIR", ""), "/tmp", "/var/tmp", "/dev/shm")
        fit = [p for p in places if p and _short_enough(p) and os.access(p, os.W_OK | os.X_OK)]
        if not fit:
            raise DataError(
                f"the path of the temporary folder {tempfile.gettempdir()} is too long for sockets: "
                "set TMPDIR to a shorter one."
            )
        tempfile.tempdir = fit[0]
    try:
        get_temp_dir()  # made once for this process, and kept
    finally:
        tempfile.tempdir = usual


def _short_enough(folder: str) -> bool:
    return len(os.fsencode(folder + SOCKET_NAME)) <= SOCKET_PATH


def worker_loop(channel: Any) -> None:
    """A member's life: Ctrl-C is the parent's to handle, no parent no member, one order at a time."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    while True:
        try:
            order = channel.recv()
        except (EOFError, OSError):
            return
        except ImportError as error:  # of the model's module, which was there when the run began
            channel.send({"kind": "failed", "why": f"{type(error).__name__}: {error}"})
            continue
        if order != "stop":  # one that came when the work was done already
            function, task, family = order
            if family:
                from pellucid.comparison.execution.preload import (
                    load_package,  # the fork server has loaded it
                )

                load_package(family)
            function(task, channel)


def _end_with(parent: Any) -> None:
    parent.join()
    os._exit(1)


def limit_memory(most: float) -> None:
    """No more than `most` bytes of data in this process beyond what it has now; 0: no limit."""
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
    """One process and the channel to it; `main` if it has loaded the user's script."""

    process: Any
    channel: Any
    main: bool

    def end(self) -> None:
        """At once."""
        self.process.kill()
        self.process.join()
        self.channel.close()


@dataclass
class WorkerPool:
    """Members without an order wait in `idle`; `close` ends them."""

    idle: list[Worker] = field(default_factory=list)

    def order(self, function: Callable[..., None], task: Any, model: Any) -> Worker:
        """Give an order to a member that waits, or to a new one. `model` may be the user's own."""
        main = b"__main__" in pickle.dumps(model)
        family = ".".join(type(model).__module__.split(".")[:2])
        order = (function, task, family if family in ESTIMATORS else "")
        waiting = next((m for m in self.idle if m.main == main), None)
        if waiting is not None:
            self.idle.remove(waiting)
            try:
                waiting.channel.send(order)
                return waiting
            except OSError:  # it died while it waited
                waiting.end()
        worker = self.start_worker(main)
        worker.channel.send(order)
        return worker

    def start_worker(self, main: bool = False) -> Worker:
        """Start a member."""
        context = _context()
        ours, theirs = context.Pipe()
        process = context.Process(target=worker_loop, args=(theirs,), daemon=True)
        with _empty_main(keep=main):
            process.start()
        theirs.close()
        return Worker(process, ours, main)

    def close(self) -> None:
        """End those that wait."""
        for worker in self.idle:
            worker.end()
        self.idle.clear()


@dataclass
class PendingResult:
    """One order whose answer comes in parts: the first one counts, the others are beside it.

    `timeout` seconds are for the first part, `more` for the others; `stop()` ends the waiting.
    """

    worker: Worker
    timeout: float
    more: float
    stop: Callable[[], bool]

    def answer(self, latest: float = float("inf")) -> dict[str, Any]:
        """All parts that came in time, joined; the last one holds `told`. What is beside the first
        part is not waited for beyond the moment `latest`."""
        try:
            if not self.comes(self.timeout):
                why = "stopped" if self.stop() else f"it took more than {self.timeout:.0f} s"
                return {"kind": "failed", "why": why}
            found = self.worker.channel.recv()
            with suppress(EOFError, OSError):  # it may die after what counts
                now = time.monotonic()
                end = min(now + self.more, max(latest, now + 0.2))
                while found["kind"] == "done" and "complete" not in found:
                    if not self.comes(end - time.monotonic()):
                        break
                    found |= self.worker.channel.recv()
            return found
        except (EOFError, OSError):
            return {"kind": "failed", "why": "its process ended"}
        finally:
            self.worker.end()

    def comes(self, seconds: float) -> bool:
        """Whether another part comes within so many seconds."""
        end = time.monotonic() + seconds
        while not self.stop():
            if self.worker.channel.poll(0.1):
                return True
            if time.monotonic() > end:
                return False
        return False
