"""The memory ceiling, and large arrays beyond it in scratch files.

Invariant: inside `ceiling`, NumPy arrays of many bytes live in memory up to a budget and in nameless
scratch files beyond it. A chunk of such a file comes into memory when it is used, after those that came
first have left, so that the process stays below its limit (`scratch.h`). Arrays stay ordinary arrays,
so every algorithm gives the same bits.
"""

import contextlib
import errno
import os
import re
import tempfile
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pellucid.errors import ParameterError, ScratchError

UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12,
         "KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}  # fmt: skip
MORE = "--memory, PELLUCID_MEMORY or pellucid.set_memory"  # what sets the ceiling, in messages
SHARE = 0.5  # of the machine's memory, if no ceiling is set
SMALLEST, LARGEST = 2**20, 2**24  # bytes from which an array is large, by the ceiling
ROOM = 48 * 10**6  # for small arrays that come and go between two looks at the resident size
BUDGET = 0.25  # of what is free below the ceiling, for large arrays in memory
_chosen: int | None = None
_active: ContextVar[bool] = ContextVar("_active", default=False)
_own: ContextVar[int | None] = ContextVar("_own", default=None)  # of the calling context


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
    own = _own.get()
    if own is not None:
        return own
    if _chosen is not None:
        return _chosen
    text = os.environ.get("PELLUCID_MEMORY", "").strip()
    if text:
        return parse_size(text, "The environment variable PELLUCID_MEMORY")
    return int(SHARE * _machine())


@contextlib.contextmanager
def limited_to(limit: int) -> Iterator[None]:
    """The ceiling inside this context, whatever that of the process is."""
    token = _own.set(limit)
    try:
        yield
    finally:
        _own.reset(token)


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

    >>> shown_size(600_000_000), shown_size(3_200_000_000), shown_size(999_900_000)
    ('600 MB', '3.2 GB', '1000 MB')
    """
    for unit in ("TB", "GB", "MB", "KB"):
        if size >= UNITS[unit]:
            number = size / UNITS[unit]
            return f"{number:.3g} {unit}" if number < 999.5 else f"{number:.0f} {unit}"
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
            f"Allow more memory with {MORE}, or use a sample of the rows."
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
    """After a block of rows below a ceiling: make room if small arrays have taken too much."""
    if _active.get():
        _compiled().relieve()


def every(X: Any, stride: int) -> Any:
    """X[::stride]; below a ceiling a copy, so that X is read once."""
    return X[::stride].copy() if _active.get() else X[::stride]


def is_limited() -> bool:
    """Whether the calling context works under a ceiling."""
    return _active.get()


@dataclass
class Usage:
    """What a ceiling allowed and what was used, in bytes.

    planned : memory below which scratch arrays are held; what is left of the limit is for small arrays.
    peak, scratch : in memory and in scratch files at most. visited : read from scratch files.
    """

    limit: int
    planned: int = 0
    peak: int = 0
    scratch: int = 0
    visited: int = 0


@contextlib.contextmanager
def ceiling(limit: int) -> Iterator[Usage]:
    """Hold this process below `limit` bytes: large arrays made inside may be in scratch files."""
    _scratch = _compiled()
    _scratch.release()
    folder, held = scratch_folder(), limit - max(ROOM, limit // 12)
    budget = int(max(BUDGET * (held - _scratch.resident()), 0))
    large = min(max(limit // 64, SMALLEST), LARGEST)
    usage, most = Usage(limit, max(held, 0)), _most_resident()
    before = _scratch.set_handler(_scratch.capsule)
    token = _active.set(True)
    _scratch.begin(os.fsencode(folder), usage.planned, large, budget)
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
        _, usage.scratch, _, seen, usage.visited = _scratch.state()
        grown = _most_resident()
        usage.peak = grown if grown > most else seen
        _scratch.release()
        _scratch.end()


def _most_resident() -> int:
    """The largest resident size of this process so far; 0 where the system does not say."""
    with contextlib.suppress(OSError, StopIteration), open("/proc/self/status") as lines:
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
    return 0


def full(folder: str, code: int) -> ScratchError:
    """The error for a scratch folder that cannot hold more."""
    what = "is full" if code in (errno.ENOSPC, errno.EDQUOT) else f"failed ({os.strerror(code)})"
    return ScratchError(
        f"the scratch folder {folder} {what}. Nothing was left in it. Free some space, set "
        f"PELLUCID_SCRATCH to a larger disk, or allow more memory with {MORE}."
    )


def copy_into(target: np.ndarray, values: np.ndarray) -> None:
    """target[:] = values; faster below a ceiling if both are contiguous and have one dtype."""
    same = target.shape == values.shape and target.dtype == values.dtype
    flat = target.flags.c_contiguous and values.flags.c_contiguous
    if _active.get() and same and flat and not target.dtype.hasobject:
        _compiled().copy(target.reshape(-1).view(np.int8), values.reshape(-1).view(np.int8))
    else:
        target[:] = values
