"""One row of numbers per iteration: the history of a fit, and its steps for those who watch.

Invariant: a history has at most `HISTORY_ROWS` rows, the first and the last among them, and does not
depend on being watched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from pellucid.errors import ParameterError
from pellucid.records.watch import _scope
from pellucid.records.watched_step import Entry, Lazy, State, Words

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


class Recorder:
    """The history of a solver: one row of numbers per iteration.

    Parameters
    ----------
    source : name of the solver.
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
        scope = _scope.get()
        self._scope = self._fit = None
        if scope is not None and scope.fit is not None:  # else nobody knows whose numbers these are
            self._scope, self.source = scope, scope.fit.source
            self._fit = scope.fit if scope.watch.state else None

    @property
    def watched(self) -> bool:
        """Whether states are recorded."""
        return self._fit is not None

    @property
    def reports(self) -> bool:
        """Whether somebody watches, or sees the progress."""
        return self._scope is not None

    def skip(self) -> int:
        """Pass over the steps whose state is not kept: a compiled loop may run this number of
        iterations, at least 1, before the next step must be recorded. Only where `watched`."""
        assert self._fit is not None
        return self._fit.skip()

    def add(
        self,
        *,
        iteration: int,
        objective: float | None = None,
        state: Lazy = None,
        event: Lazy = None,
        sentence: Words = None,
        **more: float | None,
    ) -> None:
        """Note one iteration; `None` and columns left out become NaN.

        `state` (learned attributes, or what `converting` turns into them), `event` (facts of what
        happened) and `sentence` (a text, or a function of event and numbers) make a step. They are
        used only inside `watching(state=True)`; functions are called only for steps that are kept.
        """
        row = {"iteration": iteration, "objective": objective, **more}
        self._rows.append(row)
        if self._scope is None:
            return
        if state is not None or event is not None:
            self.step(iteration, state, event, sentence, objective=objective, **more)
        self.report(**row)

    def report(self, **row: Any) -> None:
        """Report progress alone, without a row of history."""
        if self._scope is not None:
            self._scope.watch._report({"source": self.source, "total": self.total, **row})

    def step(
        self,
        iteration: int,
        state: Lazy,
        event: Lazy = None,
        sentence: Words = None,
        **numbers: float | None,
    ) -> None:
        """Record a step for those who watch, without a row of history."""
        if self._fit is None or self._scope is None:
            return
        known = {name: float(value) for name, value in numbers.items() if value is not None}
        converts = self._scope.converts
        self._fit.add(Entry(int(iteration), known, state, event, sentence, converts))

    def derived_step(
        self,
        iteration: int,
        state: Callable[[], State],
        event: Callable[[], State],
        sentence: Words,
        numbers: dict[str, float],
        held: int = 0,
    ) -> None:
        """As `step`, for functions of what never changes again: they are called when somebody reads
        the step. `held` are the bytes that they keep in memory until then."""
        if self._fit is not None and self._scope is not None:
            known = {name: float(value) for name, value in numbers.items()}
            made = known, state, event, sentence, self._scope.converts
            self._fit.add(Entry(iteration, *made, derived=True, held=held))

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
        return {name: np.array([row.get(name) for row in rows], dtype=float) for name in names}


def thinned(**columns: np.ndarray) -> dict[str, np.ndarray]:
    """A history from whole columns; a long one is thinned evenly, as that of a `Recorder`."""
    n = len(columns["iteration"])
    if n <= HISTORY_ROWS:
        return columns
    kept = _Thinned(HISTORY_ROWS)
    for i in range(n):
        kept.append(i)
    return {name: column[kept.entries()] for name, column in columns.items()}


def joined(
    earlier: Mapping[str, np.ndarray], later: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """The history of a fit that continued an earlier one; where they overlap, the later one counts."""
    before = earlier["iteration"] < later["iteration"][0]

    def column(name: str) -> np.ndarray:
        parts = [
            part.get(name, np.full(len(part["iteration"]), np.nan)) for part in (earlier, later)
        ]
        return np.concatenate((parts[0][before], parts[1]))

    return thinned(**{name: column(name) for name in dict.fromkeys((*earlier, *later))})
