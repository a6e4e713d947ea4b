"""One row of numbers per iteration, and the means to watch them.

Invariant: a history has at most `HISTORY_ROWS` rows, the first and the last among them; parameter
states are copied only inside `watching`, and only for fits started in the same context.
"""

from __future__ import annotations

import contextlib
import contextvars
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from pellucid.errors import ParameterError

HISTORY_ROWS = 10_000


class _Thinned:
    """A list that keeps at most `limit` entries: first, last, and an even subset between."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept: list[Any] = []
        self._stride = 1
        self._n = 0
        self._last: Any = None

    def append(self, entry: Any) -> None:
        if self._n % self._stride == 0:
            if len(self._kept) == self._limit - 1:  # one place is reserved for the last entry
                self._kept = self._kept[::2]
                self._stride *= 2
            if self._n % self._stride == 0:
                self._kept.append(entry)
        self._last = entry
        self._n += 1

    def entries(self) -> list[Any]:
        if self._n == 0 or (self._n - 1) % self._stride == 0:
            return list(self._kept)
        return [*self._kept, self._last]


class Watch:
    """What `watching()` collects; `states` is the list of recorded parameter states."""

    def __init__(
        self, state: bool, progress: Callable[[dict[str, Any]], object] | None, max_states: int
    ) -> None:
        self.state = state
        self.progress = progress
        self._max_states = max_states
        self._tracks: list[_Thinned] = []
        self._lock = threading.RLock()  # `progress` may look at `states`

    def _track(self) -> _Thinned:
        track = _Thinned(self._max_states)
        with self._lock:
            self._tracks.append(track)
        return track

    def _report(self, row: dict[str, Any]) -> None:
        if self.progress is not None:
            with self._lock:
                token = _watch.set(None)  # what it fits itself is not watched
                try:
                    self.progress(row)
                finally:
                    _watch.reset(token)

    @property
    def states(self) -> list[dict[str, Any]]:
        """One dict per recorded state: `source`, `iteration`, and copies of the parameters."""
        with self._lock:
            return [entry for track in self._tracks for entry in track.entries()]


_watch: contextvars.ContextVar[Watch | None] = contextvars.ContextVar(
    "pellucid_watch", default=None
)


@contextlib.contextmanager
def watching(
    state: bool = True,
    progress: Callable[[dict[str, Any]], object] | None = None,
    *,
    max_states: int = 1000,
) -> Iterator[Watch]:
    """Record the parameters of every iteration of the fits inside the block, or show progress.

    Parameters
    ----------
    state : keep a copy of the parameters per iteration in `watch.states`.
    progress : called with one dict per iteration (`source`, `iteration`, `total`, `objective`,
        and what else the solver reports), one call at a time, possibly from a worker thread. An
        exception raised by it stops the fit.
    max_states : per fit, longer tracks are thinned evenly; the first and last state stay.

    Only fits started in this thread (and in the worker threads of these fits) are watched.

    Examples
    --------
    >>> with watching() as watch:
    ...     recorder = Recorder("descent")
    ...     recorder.add(iteration=0, objective=2.5, state={"coef": np.array([1.0])})
    >>> watch.states
    [{'source': 'descent', 'iteration': 0, 'coef': array([1.])}]
    """
    if max_states < 2:
        raise ParameterError(f"The 'max_states' parameter must be at least 2. Got {max_states}.")
    watch = Watch(state, progress, max_states)
    token = _watch.set(watch)
    try:
        yield watch
    finally:
        _watch.reset(token)


class Recorder:
    """The history of a solver: one row of numbers per iteration.

    Parameters
    ----------
    source : name shown by progress bars and kept with parameter states.
    total : number of iterations allowed, if known; passed on to progress bars.

    Examples
    --------
    >>> recorder = Recorder()
    >>> recorder.add(iteration=0, objective=2.0)
    >>> recorder.add(iteration=1, objective=1.5, step=0.5)
    >>> recorder.history()["step"]
    array([nan, 0.5])
    """

    def __init__(self, source: str = "", total: int | None = None) -> None:
        self.source = source
        self.total = total
        self._rows = _Thinned(HISTORY_ROWS)
        self._watch = _watch.get()
        watch = self._watch
        self._track = watch._track() if watch is not None and watch.state else None

    def add(
        self,
        *,
        iteration: int,
        objective: float | None = None,
        state: Mapping[str, Any] | Callable[[], Mapping[str, Any]] | None = None,
        **more: float | None,
    ) -> None:
        """Note one iteration; `None` and columns left out become NaN.

        `state` (a mapping of parameters, or a function that returns one) is copied, and only
        inside `watching(state=True)`.
        """
        row = {"iteration": iteration, "objective": objective, **more}
        self._rows.append(row)
        if self._watch is None:
            return
        if self._track is not None and state is not None:
            values = state() if callable(state) else state
            copies = {name: np.array(value) for name, value in values.items()}
            self._track.append({"source": self.source, "iteration": iteration, **copies})
        self._watch._report({"source": self.source, "total": self.total, **row})

    def extend(self, **columns: Any) -> None:
        """Note many iterations at once, from the arrays that a compiled loop filled."""
        arrays = {name: np.asarray(column, dtype=float) for name, column in columns.items()}
        lengths = {len(array) for array in arrays.values()}
        if "iteration" not in arrays or len(lengths) != 1:
            raise ParameterError("Recorder.extend needs 'iteration' and columns of equal length.")
        for values in zip(*arrays.values()):
            self.add(**dict(zip(arrays, values)))

    def history(self) -> dict[str, np.ndarray]:
        """The rows as equal-length 1-D float arrays; long histories are thinned evenly."""
        rows = self._rows.entries()
        names = dict.fromkeys(name for row in rows for name in row)
        names = names or {"iteration": None, "objective": None}
        return {name: np.array([_number(row.get(name)) for row in rows]) for name in names}


def joined(
    earlier: Mapping[str, np.ndarray], later: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """The history of a fit that continued an earlier one; where they overlap, the later one counts."""
    before = earlier["iteration"] < later["iteration"][0]
    n, kept = int(before.sum()) + len(later["iteration"]), _Thinned(HISTORY_ROWS)
    for i in range(n):
        kept.append(i)

    def column(name: str) -> np.ndarray:
        parts = [
            part.get(name, np.full(len(part["iteration"]), np.nan)) for part in (earlier, later)
        ]
        return np.concatenate((parts[0][before], parts[1]))[kept.entries()]

    return {name: column(name) for name in dict.fromkeys((*earlier, *later))}


def _number(value: Any) -> float:
    return np.nan if value is None else float(value)
