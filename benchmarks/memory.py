"""Peak memory of one fit: how far the resident set of a fresh child rises above its start.

Arrays of C code do not show in Python's own accounting, so the kernel's high-water mark is read
(Linux only; elsewhere the answer is None). The child comes from a fork server that has imported
the peers but computed nothing; it draws the sample, fits on a few rows to load what is imported
late, resets the mark and fits.
"""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
from pathlib import Path
from typing import Any

from benchmarks import workload as registry
from benchmarks.samples import Sample

_STATUS = Path("/proc/self/status")
_RESET = Path("/proc/self/clear_refs")
_PATIENCE = 600.0


def peak_bytes(key: str, who: str, n: int) -> int | None:
    """Bytes above the start while `who` fits workload `key` at n rows; None if not measurable."""
    if not _RESET.exists():
        return None
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["sklearn.ensemble", "sklearn.linear_model", "sklearn.datasets"])
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_measure, args=(sender, key, who, n), daemon=True)
    child.start()
    sender.close()
    try:
        found = receiver.recv() if receiver.poll(_PATIENCE) else None
    except EOFError:  # the child died; the race itself will tell why
        found = None
    child.kill()
    child.join()
    return found


def _measure(sender: Any, key: str, who: str, n: int) -> None:
    entry = registry.find(key)
    sample = entry.source.sample(n)
    few = _first_rows(sample, 600)
    registry.fit(entry.contender(who, few, **entry.in_memory), few)
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    try:
        _RESET.write_text("5")
    except OSError:
        sender.send(None)
        return
    start = _resident("VmRSS")
    registry.fit(entry.contender(who, sample, **entry.in_memory), sample)
    sender.send(max(0, _resident("VmHWM") - start))


def _first_rows(sample: Sample, rows: int) -> Sample:
    y = None if sample.y is None else sample.y[:rows]
    return Sample(sample.X[:rows], y, sample.X_test, sample.y_test)


def _resident(field: str) -> int:
    for line in _STATUS.read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"{_STATUS} has no {field}")
