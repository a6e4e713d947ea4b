"""Fitting below a memory ceiling: planned before it begins, reported afterwards."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

import pyarrow as pa

from pellucid.data.sources.block_source import AHEAD, CELLS, BlockSource
from pellucid.data.sources.find import is_large
from pellucid.errors import MemoryLimitError, ScratchError
from pellucid.parallel.memory import (
    MORE,
    ROOM,
    ceiling,
    get_memory,
    release,
    resident,
    scratch_folder,
    shown_size,
)
from pellucid.parallel.passes import Meter, metered
from pellucid.records import Recorder

# Batches on the way (as Arrow, as a block, waiting; Arrow keeps as much again for decoding) and what
# solvers need beside large arrays.
WORK = 2 * (AHEAD + 3) * 8 * CELLS + ROOM
_report: ContextVar[dict[str, Any] | None] = ContextVar("_report", default=None)


def note(**facts: Any) -> None:
    """Add facts to the report of the fit that is going on, if it is one below a ceiling."""
    report = _report.get()
    if report is not None:
        report.update(facts)


@contextlib.contextmanager
def streaming(source: BlockSource) -> Iterator[dict[str, Any]]:
    """Work on a source below the memory ceiling: the report, complete at the end."""
    limit = get_memory()
    check_plan(source, limit)
    report: dict[str, Any] = {
        "source": source.name, "rows": source.n_rows, "columns": len(source.names),
        "memory_limit": limit, "planned_scratch": _scratch_bytes(source), "seconds_reading": 0.0,
    }  # fmt: skip
    token = _report.set(report)
    start = time.perf_counter()
    try:
        with metered(Meter(source.n_rows or 0, _shown(source))) as meter, ceiling(limit) as usage:
            yield report
    finally:
        _report.reset(token)
    report["seconds"] = time.perf_counter() - start
    report["seconds_computing"] = report["seconds"] - report["seconds_reading"]
    report |= {
        "passes": meter.passes, "planned_memory": usage.planned, "peak_memory": usage.peak,
        "scratch_bytes": usage.scratch, "scratch_read": usage.visited,
    }  # fmt: skip


def _shown(source: BlockSource) -> Callable[..., None] | None:
    """What tells those who watch the fit about its passes; None if there is nobody."""
    recorder = Recorder()
    if not recorder.reports:
        return None

    def report(number: int, rows: int, n_rows: int, seconds_left: float) -> None:
        recorder.report(
            iteration=number, objective=None, rows=rows, n_rows=n_rows, seconds_left=seconds_left
        )

    return report


@contextlib.contextmanager
def below_ceiling(source: BlockSource) -> Iterator[None]:
    """Predict the rows of a source below the memory ceiling, if it does not fit into memory."""
    if not is_large(source):
        yield
        return
    check_memory(source, get_memory())
    with ceiling(get_memory()):
        yield


def check_memory(source: BlockSource, limit: int) -> None:
    """Refuse a ceiling that is too low, before anything is read."""
    pa.default_memory_pool().release_unused()
    release()
    needed = resident() + WORK
    if limit < needed:
        raise MemoryLimitError(
            f"{source.name} needs at least {shown_size(needed)} of memory, but {shown_size(limit)} are "
            f"allowed, of which this process holds {shown_size(resident())} already. Allow more with "
            f"{MORE}."
        )


def check_plan(source: BlockSource, limit: int) -> None:
    """Refuse a ceiling or a scratch disk that is too small for a fit, before anything is read."""
    check_memory(source, limit)
    folder = scratch_folder()
    state = os.statvfs(folder)
    free, table = state.f_bavail * state.f_frsize, _scratch_bytes(source)
    if table > free:
        raise ScratchError(
            f"{source.name} needs {shown_size(table)} of scratch space, but {folder} has "
            f"{shown_size(free)} left. Set PELLUCID_SCRATCH to a larger disk, or use fewer columns with "
            "pellucid.scan(..., features=[...])."
        )


def _scratch_bytes(source: BlockSource) -> int:
    """What the table needs in scratch files; models that reorder rows need up to as much again."""
    return 8 * (source.n_rows or 0) * len(source.names)
