"""Curves of a fit: objective, gradient norm, parameter norm, learning rate by iteration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from pellucid.errors import ParameterError
from pellucid.plot.display import Display
from pellucid.plot.picture import Axis, Line, Panel, Picture

FIRST = ("objective", "gradient_norm", "parameter_norm", "learning_rate", "validation_score")
MANY_TIMES = 100.0  # largest over smallest value from which an axis is logarithmic
_KEPT = ("iteration", "fit", "source")


class HistoryDisplay(Display):
    """One curve per number that a fit records at each iteration.

    Parameters
    ----------
    runs : name of each fit -> its columns, with `iteration` and one column per number.
    columns : the numbers to show; all of them by default.

    Examples
    --------
    >>> from pellucid.linear_model import LogisticRegression
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1]
    >>> model = LogisticRegression().fit(X, y)
    >>> display = HistoryDisplay.from_estimator(model, columns=["objective", "gradient_norm"])
    >>> list(display.frame())
    ['fit', 'iteration', 'objective', 'gradient_norm']
    """

    def __init__(
        self, runs: Mapping[str, Mapping[str, Any]], columns: Sequence[str] | None = None
    ) -> None:
        self.runs = {
            name: {key: np.asarray(values) for key, values in run.items()}
            for name, run in runs.items()
        }
        known = dict.fromkeys(
            key for run in self.runs.values() for key in run if _drawable(key, run[key])
        )
        found = [key for key in FIRST if key in known] + [k for k in known if k not in FIRST]
        for key in columns or ():
            if key not in known:
                raise ParameterError(
                    f"The fit did not record {key!r}. It recorded: {', '.join(found)}."
                )
        self.shown = list(columns) if columns is not None else found
        if not self.shown:
            raise ParameterError("The fit recorded no numbers by iteration.")

    @classmethod
    def from_estimator(cls, model: Any, *, columns: Sequence[str] | None = None) -> Self:
        """From the `history_` of a fitted model; scikit-learn's `loss_curve_` is used as well."""
        name, history = type(model).__name__, getattr(model, "history_", None)
        if history is None:
            curve = getattr(model, "loss_curve_", None)
            if curve is None:
                raise ParameterError(
                    f"{name} has no history_. Fit it first; if it is fitted, it is not iterative."
                )
            history = {"iteration": np.arange(1, len(curve) + 1), "objective": curve}
        return cls({name: history}, columns)

    @classmethod
    def from_watch(cls, watch: Any, *, columns: Sequence[str] | None = None) -> Self:
        """From the steps that `pellucid.watching` recorded, one curve per fit."""
        runs: dict[str, dict[str, list[Any]]] = {}
        for step in watch.steps:
            run = runs.setdefault(f"{step.source} ({step.fit})", {"iteration": []})
            n = len(run["iteration"])
            run["iteration"].append(step.iteration)
            for key, value in _numbers(step).items():
                run.setdefault(key, [np.nan] * n).append(value)
            for values in run.values():
                values.extend([np.nan] * (n + 1 - len(values)))
        if not runs:
            raise ParameterError("The watch recorded no steps.")
        names = {key: key.rpartition(" (")[0] for key in runs}
        if len(runs) == 1:
            return cls({names[key]: run for key, run in runs.items()}, columns)
        return cls(runs, columns)

    def columns(self) -> dict[str, Any]:
        lengths = [len(run["iteration"]) for run in self.runs.values()]
        found: dict[str, Any] = {
            "fit": np.repeat(list(self.runs), lengths).tolist(),
            "iteration": np.concatenate([run["iteration"] for run in self.runs.values()]),
        }
        for key in self.shown:
            parts = [
                run.get(key, np.full(n, np.nan)) for run, n in zip(self.runs.values(), lengths)
            ]
            found[key] = np.concatenate(parts)
        return found

    def picture(self) -> Picture:
        panels = tuple(self._panel(key) for key in self.shown)
        return Picture(panels, "Numbers by iteration", f"Fit of {', '.join(self.runs)}")

    def _panel(self, key: str) -> Panel:
        several = len(self.runs) > 1
        lines = tuple(
            Line(run["iteration"], run[key], name if several else "", i)
            for i, (name, run) in enumerate(self.runs.items())
            if key in run
        )
        label = key.replace("_", " ")
        log = _logarithmic([value for line in lines for value in line.y])
        width = 420 if len(self.shown) < 3 else 360
        return Panel(
            lines, Axis("iteration", grid=False), Axis("", log=log), title=label.capitalize(),
            width=width, height=200,
        )  # fmt: skip


def _drawable(key: str, values: np.ndarray) -> bool:
    return key not in _KEPT and values.dtype.kind in "biuf" and bool(np.isfinite(values).any())


def _logarithmic(values: Sequence[float]) -> bool:
    """Whether positive numbers span so much that a linear axis hides the smaller ones."""
    known = [value for value in values if np.isfinite(value)]
    return min(known) > 0 and max(known) > MANY_TIMES * min(known)


def _numbers(step: Any) -> dict[str, float]:
    """The numbers of a step, with the norm of its coefficients."""
    found = {key: float(value) for key, value in step.numbers.items()}
    coef = step.state.get("coef_") if step.state else None
    if coef is not None and "parameter_norm" not in found:
        parts = [np.ravel(coef), np.ravel(step.state.get("intercept_", 0.0))]
        found["parameter_norm"] = float(np.linalg.norm(np.concatenate(parts)))
    return found


def history(model_or_watch: Any, *, columns: Sequence[str] | None = None) -> HistoryDisplay:
    """Loss, gradient norm, parameter norm, learning rate, ... by iteration.

    Parameters
    ----------
    model_or_watch : a fitted iterative model, or what `pellucid.watching()` returned.
    columns : the numbers to show; all of them by default.
    """
    if hasattr(model_or_watch, "steps") and not hasattr(model_or_watch, "fit"):
        return HistoryDisplay.from_watch(model_or_watch, columns=columns)
    return HistoryDisplay.from_estimator(model_or_watch, columns=columns)
