"""Fitting below a memory ceiling: planned before it begins, reported afterwards."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

import pyarrow as pa

from pellucid.data.sources.block_source import AHEAD, CELLS, BlockSource
from pellucid.errors import MemoryLimitError, ScratchError
from pellucid.parallel.memory import (
    ROOM,
    ceiling,
    get_memory,
    release,
    resident,
    scratch_folder,
    shown_size,
)

# Batches on the way (as Arrow, as a block, waiting) and what solvers need beside large arrays.
WORK = (AHEAD + 3) * 8 * CELLS + ROOM
_report: ContextVar[dict[str, Any] | None] = ContextVar("_report", default=None)


def note(**facts: Any) -> None:
    """Add facts to the report of the fit that is going on, if it is one below a ceiling."""
    report = _report.get()
    if report is not None:
        report.update(facts)


@contextlib.contextmanager
def streaming(source: BlockSource) -> Iterator[dict[str, Any]]:
    """Work on a source below the memory ceiling: the report, complete at the end."""
    limit, columns = get_memory(), len(source.names)
    check_plan(source, limit)
    report: dict[str, Any] = {
        "source": source.name, "rows": source.n_rows, "columns": columns, "memory_limit": limit,
    }  # fmt: skip
    token = _report.set(report)
    start = time.perf_counter()
    try:
        with ceiling(limit) as usage:
            yield report
    finally:
        _report.reset(token)
    report["seconds"] = time.perf_counter() - start
    report["peak_memory"], report["scratch_bytes"] = usage.peak, usage.scratch


def check_plan(source: BlockSource, limit: int) -> None:
    """Refuse a ceiling or a scratch disk that is too small, before anything is read."""
    pa.default_memory_pool().release_unused()
    release()
    needed = resident() + WORK
    if limit < needed:
        raise MemoryLimitError(
            f"{shown_size(limit)} are too little to fit {source.name}: this process holds "
            f"{shown_size(resident())} already, and {shown_size(needed)} would do. Allow them with "
            "pellucid.set_memory or PELLUCID_MEMORY."
        )
    folder = scratch_folder()
    state = os.statvfs(folder)
    free, table = state.f_bavail * state.f_frsize, 8 * (source.n_rows or 0) * len(source.names)
    if table > free:
        raise ScratchError(
            f"{source.name} needs {shown_size(table)} of scratch space, but {folder} has "
            f"{shown_size(free)} left. Set PELLUCID_SCRATCH to a larger disk, or use fewer columns with "
            "pellucid.scan(..., features=[...])."
        )
