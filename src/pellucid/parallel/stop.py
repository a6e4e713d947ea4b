"""The stop flag: how Ctrl-C and deadlines reach loops that hold no Python objects.

Invariant: a flag belongs to the thread at the root of the call tree in which it was made; an
interrupt of that thread sets every flag of its tree, however deep in worker threads, and no other.
"""

import os
import threading
import weakref

import numpy as np

_lock = threading.Lock()
# Plain references: the callback of a WeakSet would swallow a Ctrl-C that arrives while it runs.
_live: "list[weakref.ref[StopFlag]]" = []
_thread = threading.local()


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()  # another thread may have held it
    _live.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def root_thread() -> int:
    """Identity of the thread in which the user's call began."""
    return getattr(_thread, "root", None) or threading.get_ident()


def set_root_thread(root: int | None) -> None:
    """Make the calling worker thread part of the tree that began in thread `root`."""
    _thread.root = root


def stop_all(root: int) -> None:
    """Set every live flag of the call tree that began in thread `root`."""
    with _lock:
        flags = [reference() for reference in _live]
    for flag in flags:
        if flag is not None and flag.root == root:
            flag.set()


class StopFlag:
    """One int32 that compiled loops read: not 0 means stop and return.

    Make one per call, hand `flag.array` to the loop, and call `flag.check()` when it returns.
    """

    __slots__ = ("__weakref__", "array", "root")

    def __init__(self) -> None:
        self.array = np.zeros(1, dtype=np.int32)
        self.root = root_thread()
        with _lock:
            _live[:] = [other for other in _live if other() is not None]
            _live.append(weakref.ref(self))

    def set(self) -> None:
        """Ask the loops that read this flag to return."""
        self.array[0] = 1

    def is_set(self) -> bool:
        """Whether a stop was requested."""
        return bool(self.array[0])

    def check(self) -> None:
        """Raise `KeyboardInterrupt` if the flag is set: a result after a stop is not a result."""
        if self.array[0]:
            raise KeyboardInterrupt
