"""Watching fits: what `pellucid.watching` records, and how a fit says what its states mean.

Invariant: a watched fit keeps at most `max_states` steps (and at most `STATE_BYTES` bytes), the first
and the last among them; the last state equals the fitted model to the bit. Only the outermost fit of a
context is watched. Outside `watching` nothing is converted, copied or kept.
"""

from __future__ import annotations

import contextlib
import contextvars
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pellucid.errors import ParameterError, PellucidError, PellucidWarning, shown, warn
from pellucid.records.frames import frame
from pellucid.records.status import Status
from pellucid.records.watched_step import Convert, Entry, Step, copied, entry_of, same

STATE_BYTES = 2**28  # memory for the states of one fit; longer fits are thinned further


class WatchedFit:
    """The steps of one fit: `estimator` is a copy of the fitted model (None if the fit failed or
    belongs to no model), `steps` the recorded steps in order."""

    def __init__(self, watch: Watch, number: int, source: str, owned: bool) -> None:
        self.estimator: Any = None
        self.source = source  # name of the class
        self._number, self._owned = number, owned
        self._limit, self._lock, self._chosen = watch._max_states, watch._lock, watch._keep
        self._kept: list[Step] = []
        self._places: list[int] = []  # their positions among all steps
        self._sizes: list[int] = []
        self._bytes = 0  # their sum
        self._last: Entry | None = None  # the newest entry, if it is not kept
        self._stride, self._n = 1, 0
        self._iteration = 0  # of the newest step

    def __repr__(self) -> str:
        return f"WatchedFit({self.source!r}, {len(self.steps)} steps)"

    @property
    def steps(self) -> list[Step]:
        with self._lock:
            last = [] if self._last is None else [self._last.computed(self._number, self.source)]
            return self._kept + last

    def skip(self) -> int:
        """Pass over the steps that are not kept; number of steps to the next one that is, at least 1."""
        with self._lock:
            passed = -self._n % self._stride
            ahead = [k - self._iteration - 1 for k in self._chosen if k > self._iteration]
            passed = min([passed, *ahead]) if self._n else passed
            self._n += passed
            self._iteration += passed
            return passed + 1

    def add(self, entry: Entry) -> None:
        with self._lock:
            chosen = entry.iteration in self._chosen
            while (keep := self._n % self._stride == 0) and not chosen and self._full():
                self._thin()
            self._n += 1
            self._iteration = entry.iteration
            if not keep and not chosen:
                if not self._owned:  # nobody closes it, so its state must not change
                    step = entry.computed(self._number, self.source)
                    entry = replace(entry, state=step.state, event=step.event, converts=())
                self._last = entry
                return
            self._last = None
            self._kept.append(entry.computed(self._number, self.source))
            self._places.append(self._n - 1)
            self._sizes.append(self._kept[-1].n_bytes)
            self._bytes += self._sizes[-1]
            if self._bytes > STATE_BYTES and len(self._kept) > 1:
                newest = self._kept[-1]
                self._thin()
                self._last = None if self._kept[-1] is newest else entry_of(newest)

    def _full(self) -> bool:
        """Whether there is no room for one more, beside the newest step (of thinned ones) and those
        that were asked for."""
        return len(self._kept) >= self._limit - (self._stride > 1) - self._missing()

    def _missing(self) -> int:
        """How many of the iterations that were asked for may still come."""
        return sum(k > self._iteration for k in self._chosen)

    def _thin(self) -> None:
        """Keep every second step, and those that were asked for."""
        self._stride *= 2
        rows = [
            row
            for row in zip(self._kept, self._places, self._sizes)
            if row[1] % self._stride == 0 or row[0].iteration in self._chosen
        ]
        kept, places, sizes = zip(*rows)
        self._kept, self._places, self._sizes = list(kept), list(places), list(sizes)
        self._bytes = sum(sizes)

    def close(self, model: Any) -> None:
        """Take over the fitted model; where its attributes differ from the last state, they are a step
        of their own (averaging, restoring the best epoch, choosing among equal solutions)."""
        with self._lock:
            self._kept, self._last = self.steps, None
            self.estimator = model._working_copy()
            if not self._kept:
                return
            last, own = self._kept[-1], vars(self.estimator)
            state = {name: own.get(name, value) for name, value in last.state.items()}
            if all(same(value, last.state[name]) for name, value in state.items()):
                return
            self._kept = self._kept[: self._limit - 1]
            copies = {name: copied(value) for name, value in state.items()}
            status = own.get("status_")
            sentence = (
                f"The fitted model. {status.message if isinstance(status, Status) else ''}".strip()
            )
            event = {**last.event, "finished": True}
            self._kept.append(replace(last, facts=(copies, event), words=sentence))


class Watch:
    """What `watching()` collects: `fits`, their `steps`, a table of them, and models of single steps."""

    def __init__(
        self, state: bool, progress: Callable[[dict[str, Any]], object] | None, max_states: int,
        keep: frozenset[int] = frozenset(),
    ) -> None:  # fmt: skip
        self.state = state
        self.progress = progress
        self._max_states, self._keep = max_states, keep
        self._fits: list[WatchedFit] = []
        self._lock = threading.RLock()  # `progress` may look at `steps`

    def _open(self, source: str, owned: bool) -> WatchedFit:
        with self._lock:
            self._fits.append(WatchedFit(self, len(self._fits), source, owned))
            return self._fits[-1]

    def _report(self, row: dict[str, Any]) -> None:
        if self.progress is not None:
            with self._lock, unwatched():  # what it fits itself is not watched
                self.progress(row)

    @property
    def fits(self) -> list[WatchedFit]:
        """One entry per fit of the block, in the order in which the fits began."""
        with self._lock:
            return list(self._fits)

    @property
    def steps(self) -> list[Step]:
        """The steps of all fits, fit by fit."""
        return [step for fit in self.fits for step in fit.steps]

    def frame(self, backend: str | None = None) -> Any:
        """One row per step: fit, source, iteration, objective and all other numbers (else NaN)."""
        steps = self.steps
        names = dict.fromkeys(["objective", *(name for step in steps for name in step.numbers)])
        columns: dict[str, list[Any]] = {
            name: [getattr(step, name) for step in steps] for name in ("fit", "source", "iteration")
        }
        columns |= {name: [step.numbers.get(name, np.nan) for step in steps] for name in names}
        return frame(columns, backend)

    def model(self, i: int) -> Any:
        """A fitted model with the state of step i of `steps` (negative: from the end).

        It predicts, explains and can be saved. Its `history_` and `n_iter_` end with the step.
        """
        steps = self.steps
        if not -len(steps) <= i < len(steps):
            raise ParameterError(f"There is no step {i}: {len(steps)} steps were recorded.")
        step = steps[i]
        fit = self.fits[step.fit]
        if fit.estimator is None:
            raise PellucidError(
                f"Step {i} belongs to no fitted model, because the fit of {step.source} was not "
                "completed or was made by a function. Use `watch.steps` to see its states."
            )
        copies = {name: copied(value) for name, value in step.state.items()}
        model = fit.estimator._at_step(copies)
        last = fit.steps[-1]
        return model if step is last else _as_of(model, step, last)


def _as_of(model: Any, step: Step, last: Step) -> Any:
    """The model without what it learned after the step: inference, history, number of iterations."""
    own, k, end = vars(model), _count(step), _count(last)
    own.pop("inference_", None)
    history = own.get("history_")
    counted = np.asarray(history["iteration"] if isinstance(history, dict) else ())
    if counted.size and counted[-1] == end:
        rows = counted <= k
        own["history_"] = {name: np.asarray(column)[rows] for name, column in history.items()}
    n_iter = own.get("n_iter_")
    if n_iter is not None and np.size(n_iter) == 1 and np.max(n_iter) == end:
        own["n_iter_"] = np.full_like(n_iter, k) if isinstance(n_iter, np.ndarray) else k
    if "status_" in own:
        own["status_"] = Status("step", f"The model after step {step.iteration} of a longer fit.")
    return model


def _count(step: Step) -> int:
    """The number of a step as history and `n_iter_` count it: by epochs, if it has one."""
    return int(step.event.get("epoch", step.iteration))


@dataclass(frozen=True, eq=False)
class _Scope:
    """What a fit in this context finds: the watch, the open fit, and how to convert states."""

    watch: Watch
    fit: WatchedFit | None = None
    inner: bool = False  # whether fits inside the open one are recorded in its place
    converts: tuple[Convert, ...] = ()


_scope: contextvars.ContextVar[_Scope | None] = contextvars.ContextVar(
    "pellucid_watch", default=None
)


@contextlib.contextmanager
def watching(
    state: bool = True,
    progress: bool | Callable[[dict[str, Any]], object] | None = None,
    *,
    max_states: int = 500,
    keep: Iterable[int] = (),
) -> Iterator[Watch]:
    """Record the steps of the fits inside the block, or show their progress.

    Parameters
    ----------
    state : keep the learned attributes after each step in `watch.steps`. A model whose fit has no
        steps gives a warning.
    progress : True for one line of text in a terminal or notebook; or a function that is called with
        one dict per iteration (`source`, `iteration`, `total`, `objective`, and what else the solver
        reports), one call at a time, possibly from a worker thread. An exception raised by it stops
        the fit. Below a memory ceiling it is also called during each pass over the table, with
        `iteration` (the pass), `rows`, `n_rows` and `seconds_left`.
    max_states : largest number of steps that are kept per fit; longer fits are thinned evenly, and
        the first and the last step stay.
    keep : iterations whose steps stay however long the fit is, such as [50_000, 100_000]; at most
        `max_states` - 2 of them.

    Only fits started in this thread (and in the worker threads of these fits) are watched. Models
    that are fitted inside another model, for example in an ensemble, are part of its fit.

    Examples
    --------
    >>> import pellucid
    >>> from pellucid.linear_model import LogisticRegression
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["no", "yes", "no", "yes"]
    >>> with pellucid.watching() as watch:
    ...     model = LogisticRegression(solver="gd", max_iter=50, tol=0.01).fit(X, y)
    >>> len(watch.steps) == len(model.history_["iteration"])
    True
    >>> watch.steps[0].state
    {'coef_': array([[0.]]), 'intercept_': array([0.])}
    >>> watch.model(0).predict_proba([[7.0]])
    array([[0.5, 0.5]])
    """
    if max_states < 2:
        raise ParameterError(f"The 'max_states' parameter must be at least 2. Got {max_states}.")
    chosen = _iterations(keep, max_states - 2)
    if progress is True:
        from pellucid.records.progress_line import ProgressLine

        show: Any = ProgressLine.for_stderr()
    else:
        show = progress or None
    watch = Watch(state, show, max_states, chosen)
    token = _scope.set(_Scope(watch))
    try:
        yield watch
    finally:
        _scope.reset(token)
        if progress is True and show is not None:
            show.end()


def _iterations(keep: Iterable[int], most: int) -> frozenset[int]:
    found = [keep] if isinstance(keep, str) or not isinstance(keep, Iterable) else list(keep)
    if not all(isinstance(k, int | np.integer) and k >= 0 for k in found) or len(found) > most:
        raise ParameterError(
            f"The 'keep' parameter must be a list of at most {most} iterations, counted from 0. "
            f"Got {shown(keep)} instead."
        )
    return frozenset(map(int, found))


class _Within:
    """A block with another scope."""

    def __init__(self, scope: _Scope | None) -> None:
        self._new = scope

    def __enter__(self) -> None:
        self._token = _scope.set(self._new)

    def __exit__(self, *error: object) -> None:
        _scope.reset(self._token)


_AS_IT_IS = contextlib.nullcontext()


def unwatched() -> contextlib.AbstractContextManager[None]:
    """A block whose fits are not recorded: folds, trial fits, fits of a sample to start from."""
    return _AS_IT_IS if _scope.get() is None else _Within(None)


def converting(convert: Convert) -> contextlib.AbstractContextManager[None]:
    """A block whose states are converted before they are kept: from the solver's numbers to learned
    attributes. Inner blocks convert first. Nothing is called unless somebody watches."""
    scope = _scope.get()
    if scope is None or not scope.watch.state:
        return _AS_IT_IS
    return _Within(replace(scope, converts=(convert, *scope.converts)))


def converting_x(convert: Callable[[np.ndarray], np.ndarray]) -> Any:
    """The same for the flat vector `x` of a solver, which stays `x` in other units."""
    return converting(lambda state: {**state, "x": convert(state["x"])})


def is_watched() -> bool:
    """Whether states are recorded in this context."""
    scope = _scope.get()
    return scope is not None and scope.watch.state


def fitting(estimator: Any) -> contextlib.AbstractContextManager[None]:
    """The block of a model's fit (or of a function, by its name): the outermost one in `watching`
    collects the steps.

    A fit inside it is not recorded, unless the outer class sets `_records_inner_fits`.
    """
    scope = _scope.get()
    if scope is None:
        return _AS_IT_IS
    if scope.fit is None:
        return _recorded(estimator, scope)
    return _AS_IT_IS if scope.inner else _Within(None)


@contextlib.contextmanager
def _recorded(estimator: Any, scope: _Scope) -> Iterator[None]:
    if isinstance(estimator, str):
        with _Within(_Scope(scope.watch, scope.watch._open(estimator, owned=False))):
            yield
        return
    kind = type(estimator)
    fit = scope.watch._open(kind.__name__, owned=True)
    with _Within(_Scope(scope.watch, fit, kind._records_inner_fits)):
        yield
    fit.close(estimator)
    if scope.watch.state and not fit.steps:
        warn(f"{kind.__name__} recorded no steps in watching(): {kind._no_steps}", PellucidWarning)
