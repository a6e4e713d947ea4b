"""The memory ceiling, and large arrays beyond it in scratch files.

Invariant: inside `ceiling`, NumPy arrays of many bytes live in memory up to a budget and in nameless
scratch files beyond it; whenever the process holds more than its limit, the pages of these files are
dropped from memory. Arrays stay ordinary arrays, so every algorithm gives the same bits.
"""

import contextlib
import errno
import os
import re
import tempfile
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pellucid.errors import ParameterError, ScratchError

UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
         "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}  # fmt: skip
SHARE = 0.5  # of the machine's memory, if no ceiling is set
SMALLEST, LARGEST = 2**20, 2**24  # bytes from which an array is large, by the ceiling
ROOM = (
    64 * 10**6
)  # what may be touched between two looks at the resident size, small arrays included
BUDGET = 0.25  # of what is free below the ceiling, for large arrays in memory
_SCATTERED = 256  # rows far apart between two looks at the resident size
_chosen: int | None = None
_active: ContextVar[bool] = ContextVar("_active", default=False)


def set_memory(limit: int | str | None) -> None:
    """Set how much memory a fit may use in this process: bytes, or a text such as "2GB".

    Tables from files, data sets and databases that do not fit are fitted with scratch files; the result
    is the same. `None` restores the default: the environment variable PELLUCID_MEMORY, else half of the
    machine's memory.
    """
    global _chosen
    _chosen = None if limit is None else parse_size(limit, "The memory limit")


def get_memory() -> int:
    """The memory ceiling in bytes."""
    if _chosen is not None:
        return _chosen
    text = os.environ.get("PELLUCID_MEMORY", "").strip()
    if text:
        return parse_size(text, "The environment variable PELLUCID_MEMORY")
    return int(SHARE * _machine())


def parse_size(size: int | str, what: str) -> int:
    """Bytes in a number or a text such as "600MB" or "1.5 GiB".

    >>> parse_size("600MB", "limit"), parse_size("1.5 GiB", "limit"), parse_size(42, "limit")
    (600000000, 1610612736, 42)
    """
    if isinstance(size, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*([KMGT]?I?B?)\s*", size.upper())
        unit = "" if found is None else found[2] + "B" * (found[2][-1:] in ("K", "M", "G", "T"))
        if found is not None and unit in UNITS and float(found[1]) > 0:
            return int(float(found[1]) * UNITS[unit])
    elif not isinstance(size, bool) and hasattr(size, "__index__") and size > 0:
        return int(size)
    raise ParameterError(
        f'{what} must be a number of bytes > 0 or a text such as "600MB" or "2GB". Got {size!r} '
        "instead."
    )


def shown_size(size: float) -> str:
    """Bytes as people write them.

    >>> shown_size(600_000_000), shown_size(3_200_000_000)
    ('600 MB', '3.2 GB')
    """
    for unit in ("TB", "GB", "MB", "KB"):
        if size >= UNITS[unit]:
            return f"{size / UNITS[unit]:.3g} {unit}"
    return f"{int(size)} bytes"


def _machine() -> int:
    """Memory of the machine, or of its container if that has less; no bound on Windows."""
    if os.name == "nt":  # no scratch files there: every table is read into memory
        return 2**62
    most = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for place in ("memory.max", "memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError, ValueError):
            most = min(most, int(Path("/sys/fs/cgroup", place).read_text()))
    return most


def scratch_folder() -> str:
    """Where scratch files go: PELLUCID_SCRATCH, else the system's folder for temporary files."""
    folder = os.environ.get("PELLUCID_SCRATCH") or tempfile.gettempdir()
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ScratchError(
            f"the scratch folder {folder} cannot be written. Set PELLUCID_SCRATCH to another folder."
        )
    return folder


def _compiled() -> Any:
    """The compiled allocator, which needs the memory maps of POSIX."""
    try:
        from pellucid.parallel import _scratch
    except ImportError:
        raise ScratchError(
            "this table does not fit below the memory ceiling, and scratch files need Linux or macOS. "
            "Allow more memory with pellucid.set_memory, or use a sample of the rows."
        ) from None
    return _scratch


def resident() -> int:
    """Bytes of this process in memory; 0 where the system does not say."""
    return 0 if os.name == "nt" else _compiled().resident()


def release() -> None:
    """Give pages of scratch arrays, and free memory, back to the system."""
    from pellucid.parallel import _scratch

    _scratch.release()


def relieve() -> None:
    """After a block of rows below a ceiling: drop pages of scratch arrays if there are too many."""
    if _active.get():
        from pellucid.parallel import _scratch

        _scratch.relieve()


def every(X: Any, stride: int) -> Any:
    """X[::stride]; below a ceiling a copy, made a few rows at a time.

    A row of a scratch file that is not in memory brings its neighbours along (64 KB of them).
    """
    if not _active.get() or not isinstance(X, np.ndarray):
        return X[::stride]
    out = np.empty((-(-len(X) // stride), *X.shape[1:]), dtype=X.dtype)
    for start in range(0, len(out), _SCATTERED):
        rows = slice(start * stride, (start + _SCATTERED) * stride, stride)
        out[start : start + _SCATTERED] = X[rows]
        _relieve_now()
    return out


def gather(X: np.ndarray, rows: np.ndarray, out: np.ndarray) -> None:
    """out[:] = X[rows] below a ceiling: in parts, each read in the order in which X stands on disk."""
    part = max(get_memory() // 16 // max(X[:1].nbytes, 1), 4096)
    for start in range(0, len(rows), part):
        wanted = rows[start : start + part]
        order = np.argsort(wanted, kind="stable")
        block = np.empty((len(wanted), *X.shape[1:]), dtype=X.dtype)
        for first in range(0, len(order), _SCATTERED * 16):
            some = order[first : first + _SCATTERED * 16]
            block[some] = X[wanted[some]]
            _relieve_now()
        target = out[start : start + part]
        for own, values in [(target, block)] if out.flags.c_contiguous else zip(target.T, block.T):
            copy_into(own, values)


def _relieve_now() -> None:
    from pellucid.parallel import _scratch

    _scratch.relieve(True)


def is_limited() -> bool:
    """Whether the calling context works under a ceiling."""
    return _active.get()


@dataclass
class Usage:
    """What a ceiling allowed and what was used: bytes in memory and in scratch files at most."""

    limit: int
    peak: int = 0
    scratch: int = 0


@contextlib.contextmanager
def ceiling(limit: int) -> Iterator[Usage]:
    """Hold this process below `limit` bytes: large arrays made inside may be in scratch files."""
    _scratch = _compiled()
    _scratch.release()
    folder, held = scratch_folder(), limit - max(ROOM, limit // 8)
    budget = int(max(BUDGET * (held - _scratch.resident()), 0))
    large = min(max(limit // 64, SMALLEST), LARGEST)
    _scratch.configure(os.fsencode(folder), max(held, 0), large, budget)
    usage, stop = Usage(limit), np.zeros(1, dtype=np.int32)

    def watch() -> None:
        usage.peak = _scratch.watch(stop)

    watcher = threading.Thread(target=watch, name="pellucid-memory", daemon=True)
    before = _scratch.set_handler(_scratch.capsule)
    token = _active.set(True)
    watcher.start()
    try:
        yield usage
    except MemoryError as error:
        failed = _scratch.state()[2]
        if failed:
            raise full(folder, failed) from error
        raise
    finally:
        _active.reset(token)
        _scratch.set_handler(before)
        stop[0] = 1
        watcher.join()
        usage.scratch = _scratch.state()[1]
        _scratch.release()


def full(folder: str, code: int) -> ScratchError:
    """The error for a scratch folder that cannot hold more."""
    what = "is full" if code in (errno.ENOSPC, errno.EDQUOT) else f"failed ({os.strerror(code)})"
    return ScratchError(
        f"the scratch folder {folder} {what}. Nothing was left in it. Free some space, set "
        "PELLUCID_SCRATCH to a larger disk, or allow more memory with pellucid.set_memory."
    )


def copy_into(target: np.ndarray, values: np.ndarray) -> None:
    """target[:] = values; faster for a contiguous target in scratch that has the dtype of the values."""
    same = target.shape == values.shape and target.dtype == values.dtype
    if not (_active.get() and same and target.flags.c_contiguous):
        target[:] = values
        return
    flat = np.ascontiguousarray(values).reshape(-1).view(np.int8)
    _compiled().write(target.reshape(-1).view(np.int8), flat)
