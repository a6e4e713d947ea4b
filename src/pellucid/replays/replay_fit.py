"""`replay`: a fit as a page that plays its steps; `Replay` holds it."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pellucid.data.intake import RawTable
from pellucid.data.io.whole_file import write_whole
from pellucid.data.opening import opened
from pellucid.data.targets import as_vector, check_lengths
from pellucid.draw.label_text import clean
from pellucid.draw.style import PALETTE
from pellucid.errors import DataError, ParameterError, PellucidError
from pellucid.plot.models.plane import Source, source
from pellucid.records import Step, Watch, WatchedFit, watching
from pellucid.replays.page import embedded, packed, page
from pellucid.replays.panels import shortened
from pellucid.replays.recording import Recording
from pellucid.replays.scenes import panels_of

BUDGET = 260_000  # bytes of the packed frames; with more, fewer steps are shown
FEWEST = 40  # steps that are shown in any case


@dataclass(frozen=True, eq=False, repr=False)
class Replay:
    """A fit that can be played: `html()` is one offline page, `save(path)` writes it.

    In a notebook it shows itself. `frames` has everything that the page shows as plain data: the
    sentences and numbers of the steps, and the panels.
    """

    frames: dict[str, Any]

    def __repr__(self) -> str:
        return f"Replay({self.frames['title']!r}, {len(self.frames['sentences'])} steps)"

    def html(self) -> str:
        """The page as one text; it needs no network."""
        return page(self.frames)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file that ends in .html; a failure leaves an existing file as it was."""
        if not os.fspath(path).endswith((".html", ".htm")):
            raise ParameterError(
                "A replay is saved as HTML. Use a path that ends in .html instead of "
                f"{os.fspath(path)!r}."
            )
        write_whole(Path(path), self.html())

    def _repr_html_(self) -> str:
        rows = sum(1.0 if panel.get("wide") else 0.5 for panel in self.frames["panels"])
        return embedded(self.html(), self.frames["title"], 260 + 400 * math.ceil(rows))


def replay(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    columns: Sequence[Any] | None = None,
    test: tuple[Any, Any] | None = None,
    title: str | None = None,
    max_steps: int = 500,
) -> Replay:
    """Play a fit step by step: what the model looked like after each step, and what happened.

    Parameters
    ----------
    model : an estimator, which is cloned and fitted on X and y while its steps are recorded; or
        what `pellucid.watching()` recorded (the last fit with steps), or one of its `fits`. The
        rows must then be those of the fit.
    X : the training table.
    y : the target, or the name of its column; for a model without a target, labels that colour the
        rows.
    columns : names (or positions) of one or two numeric columns. The regions are drawn over them,
        and the loss over their coefficients. None chooses: the only two, the two most important of
        a model with importances, else the first two discriminant or principal directions.
    test : (X, y) of rows that the fit does not see; their error is drawn beside that of the
        training rows.
    title : heading of the page; None takes the name of the class.
    max_steps : largest number of steps that are shown; longer fits, and those whose page would be
        larger than about 300 KB, are thinned evenly. The page says how many steps are shown.

    Examples
    --------
    >>> import pellucid
    >>> from pellucid.linear_model import LogisticRegression
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["no", "yes", "no", "yes"]
    >>> pellucid.replay(LogisticRegression(solver="newton"), X, y)  # doctest: +ELLIPSIS
    Replay('LogisticRegression, step by step', ... steps)
    """
    if max_steps < 2:
        raise ParameterError(f"The 'max_steps' parameter must be at least 2. Got {max_steps}.")
    name = clean(y, 40) if isinstance(y, str) else "y"
    X, y = opened(X, y)
    fit, notes = _watched(model, X, y, max_steps)
    table = source(X, "replay")
    target = None if y is None else _target(y, table.raw)
    tested = None
    if test is not None:
        other = opened(*test)
        rows = source(other[0], "replay").raw
        tested = rows, _target(other[1], rows)
    heading = clean(title if title is not None else f"{fit.source}, step by step", 200)
    steps, chosen = fit.steps, _positions(columns, table)
    while True:
        steps, more = _thinned(steps, max_steps)
        recording = Recording(fit, steps, table, target, chosen, tested, name)
        _check_rows(recording)
        frames = _frames(recording, heading, notes + more)
        if len(steps) <= FEWEST or len(packed(frames)) <= BUDGET:
            return Replay(frames)
        max_steps = max(FEWEST, len(steps) // 2)


def _frames(recording: Recording, title: str, notes: list[str]) -> dict[str, Any]:
    names = dict.fromkeys(name for step in recording.steps for name in step.numbers)
    numbers: dict[str, Any] = {"iteration": recording.iterations}
    for name in names:
        numbers[name.replace("_", " ")] = shortened(recording.numbers(name), 7)
    panels = panels_of(recording)
    for name, values in recording.errors.items():
        label = "share of wrong labels" if recording.is_classifier else "root mean squared error"
        numbers[f"{label}, {name}"] = shortened(values, 7)
    return {
        "title": title,
        "notes": notes,
        "palette": list(PALETTE),
        "sentences": [recording.sentence(i) for i in range(len(recording.steps))],
        "numbers": numbers,
        "panels": panels,
    }


def _watched(model: Any, X: Any, y: Any, max_steps: int) -> tuple[WatchedFit, list[str]]:
    """The fit to show: recorded already, or made now from a clone."""
    if isinstance(model, WatchedFit):
        return _usable(model), []
    if isinstance(model, Watch):
        fits = [fit for fit in model.fits if fit.steps]
        if not fits:
            raise PellucidError(
                "Nothing was recorded: the watch has no steps. Fit an iterative model inside "
                "`with pellucid.watching() as watch:`."
            )
        many = [f"{len(fits)} fits were recorded; this is the last one."] if len(fits) > 1 else []
        return _usable(fits[-1]), many
    if not hasattr(model, "_at_step"):
        raise ParameterError(
            "The first argument of replay must be an estimator of Pellucid, or what "
            f"pellucid.watching() recorded. Got {type(model).__name__}."
        )
    own = model.__sklearn_clone__()
    with warnings.catch_warnings(), watching(max_states=max_steps) as watch:
        warnings.filterwarnings("ignore", ".*recorded no steps")  # an error says so below
        own.fit(X) if own._target == "none" else own.fit(X, y)
    return _usable(watch.fits[0]), []


def _usable(fit: WatchedFit) -> WatchedFit:
    if not fit.steps:
        reason = getattr(type(fit.estimator), "_no_steps", "this fit has no iterations.")
        raise PellucidError(f"{fit.source} recorded no steps: {reason} There is nothing to replay.")
    if fit.estimator is None:
        raise PellucidError(f"The fit of {fit.source} was not completed, so it cannot be replayed.")
    return fit


def _target(y: Any, rows: RawTable) -> np.ndarray:
    found = as_vector(y)
    check_lengths(rows.n_rows, len(found))
    return found


def _thinned(steps: list[Step], limit: int) -> tuple[list[Step], list[str]]:
    """At most `limit` steps, evenly spaced, the first and the last among them."""
    if len(steps) > limit:
        steps = [
            steps[k] for k in np.unique(np.linspace(0, len(steps) - 1, limit).round().astype(int))
        ]
    last = steps[-1].iteration - steps[0].iteration + 1
    if last > len(steps) * 1.5:
        return steps, [f"{len(steps)} of {last} steps are shown, evenly spaced."]
    return steps, []


def _positions(columns: Any, table: Source) -> tuple[int, ...]:
    """Positions of the chosen columns, which must be numeric."""
    if columns is None:
        return ()
    wanted = [columns] if isinstance(columns, str | int) else list(columns)
    if not 1 <= len(wanted) <= 2:
        raise ParameterError(
            f"The 'columns' parameter of replay must name one or two columns. Got {columns!r}."
        )
    return tuple(table.position(name) for name in wanted)


def _check_rows(recording: Recording) -> None:
    """The rows must be those of the fit, as far as that can be seen."""
    expected, n = recording.final.n_features_in_, recording.rows.n_rows
    if recording.rows.n_columns != expected:
        raise DataError(
            f"X has {recording.rows.n_columns} columns, but the recorded model was fitted on "
            f"{expected}. Pass the training table to replay."
        )
    if recording.y is None and recording.final._target != "none":
        raise DataError(f"The replay of {recording.fit.source} needs y, the target of the fit.")
    for step in recording.steps:
        for used in (step.event.get("row"), step.event.get("rows"), step.state.get("support_")):
            if used is not None and np.size(used) > 1 and np.max(used) >= n:
                raise DataError(
                    f"The recorded fit used row {int(np.max(used))}, but X has {n} rows. Pass the "
                    "training table to replay."
                )
