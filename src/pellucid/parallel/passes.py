"""Passes over a table below a memory ceiling: how many there were, and how far the present one is.

A pass is one call of `parallel.map` or `parallel.reduce` whose tasks are slices of rows, from the first
one on, of at least half the table: rows that are held back, or dropped, leave fewer than all.
Invariant: counting changes nothing that a fit computes; without a meter it costs one lookup a call.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from pellucid.parallel.memory import relieve

SECONDS = 0.1  # between two reports


class Meter:
    """Counts passes over a table of `n_rows` rows; `report` gets the pass, its rows so far and in all,
    and seconds left."""

    def __init__(self, n_rows: int, report: Callable[..., object] | None = None) -> None:
        self.n_rows, self.passes, self._report = n_rows, 0, report
        self._lock, self._began, self._next = threading.Lock(), 0.0, 0.0
        self._rows = self._all = 0  # of the present pass

    def begin(self, rows: int) -> None:
        """A pass over that number of rows begins."""
        with self._lock:
            self.passes += 1
            self._rows, self._all, self._began = 0, rows, time.monotonic()

    def add(self, rows: int) -> None:
        """Some rows of the present pass are done, if it is not over."""
        with self._lock:
            if self._rows == self._all:
                return
            self._rows = min(self._rows + rows, self._all)
            now = time.monotonic()
            if self._report is None or (now < self._next and self._rows < self._all):
                return
            self._next = now + SECONDS
            rows, number, n_rows = self._rows, self.passes, self._all
            left = (now - self._began) * (n_rows - rows) / max(rows, 1)
        self._report(number=number, rows=rows, n_rows=n_rows, seconds_left=left)


_meter: ContextVar[Meter | None] = ContextVar("_meter", default=None)


@contextmanager
def metered(meter: Meter) -> Iterator[Meter]:
    """Count the passes inside the block."""
    token = _meter.set(meter)
    try:
        yield meter
    finally:
        _meter.reset(token)


def begin(tasks: Sequence[Any]) -> None:
    """Before the tasks of a call, which may be a pass."""
    meter = _meter.get()
    if meter is None or not tasks or not isinstance(tasks[-1], slice):
        return
    if 2 * tasks[-1].stop >= meter.n_rows and tasks[0].start == 0:
        meter.begin(tasks[-1].stop)


def done(task: Any) -> None:
    """After a task below a ceiling: count its rows, and make room."""
    relieve()
    meter = _meter.get()
    if meter is not None and isinstance(task, slice):
        meter.add(task.stop - task.start)
