"""The fitted line or curve of a model over one column, with the rows of a table."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from pellucid.draw.label_text import distinct
from pellucid.errors import DataError, ParameterError, PellucidError
from pellucid.plot.display import as_function
from pellucid.plot.models.answers import (
    MOST_CLASSES,
    Answers,
    answers,
    check_fitted,
    classes_of,
    codes_of,
    rows_of,
)
from pellucid.plot.models.base import ModelDisplay
from pellucid.plot.models.model_marks import Outline, xy
from pellucid.plot.models.plane import Source, source
from pellucid.plot.picture import Axis, Band, Line, Mark, Panel, Picture, Points

RUG = 0.045  # distance between the rows of two classes below the curves


class FitDisplay(ModelDisplay):
    """The prediction of a regressor, or the probabilities of a classifier, along one column.

    `frame()` has one row for each point of the curve; `low` and `high` are the ends of the interval of
    the mean, for models that have one.

    Examples
    --------
    >>> from pellucid import plot
    >>> from pellucid.linear_model import LinearRegression
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [1.0, 3.0, 4.0, 8.0]
    >>> display = plot.fit(LinearRegression().fit(X, y), X, y, resolution=3)
    >>> list(display.frame())
    ['x0', 'prediction', 'low', 'high']
    """

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any = None,
        *,
        column: Any = None,
        level: float = 0.95,
        resolution: int = 300,
        title: str | None = None,
    ) -> Self:
        """The curve of a fitted model.

        Parameters
        ----------
        model : a fitted regressor or classifier.
        X : the table whose rows are shown, with the columns of the training table; or a path to it.
        y : the target of the rows, or the name of its column in X. None shows the curve alone.
        column : the column of the x axis, by name or position; the others stay at their median or most
            frequent value. None takes the only column of numbers.
        level : of the interval of the mean, for models that have one.
        resolution : number of points of the curve.
        title : the title; None is the name of the model's class.
        """
        owner = "plot.fit"
        check_fitted(model, owner)
        classes = classes_of(model, owner)
        X, target = rows_of(X, y)
        table = source(X, owner)
        j = _column(table, column)
        values = table.values(j)
        present = values[np.isfinite(values)]
        if not len(present):
            raise DataError(f"{owner}: column {table.names[j]!r} contains no numbers.")
        x = np.linspace(present.min(), present.max(), max(int(resolution), 2))
        rows = table.rows(len(x), {j: x})
        found = answers(model, rows, classes, owner)
        name = table.names[j]
        if classes is None:
            marks, data, label = _regression(model, rows, x, found, values, target, level)
        else:
            marks, data, label = _classification(x, found, values, target)
        note = (
            "Other columns: at their median or most frequent value." if len(table.names) > 1 else ""
        )
        if "low" in data:
            note = f"Shaded: {100 * level:g} % interval of the mean. {note}".strip()
        dated = table.columns[j].kind == "datetime"
        panel = Panel(
            tuple(marks), x=Axis(name, dates=dated), y=Axis(label),
            title=title or type(model).__name__, note=note, width=460, height=280,
        )  # fmt: skip
        return cls(Picture((panel,), kind=f"{label} against {name}"), {name: x.tolist()} | data)


def _column(table: Source, column: Any) -> int:
    if column is not None:
        return table.position(column)
    if len(table.numeric) != 1:
        have = "no column" if not table.numeric else f"{len(table.numeric)} columns"
        raise ParameterError(
            f"plot.fit shows one column of numbers, but the table has {have} of numbers."
            + (" Choose one with column=..." if table.numeric else "")
        )
    return table.numeric[0]


def _regression(
    model: Any,
    rows: Any,
    x: np.ndarray,
    found: Answers,
    values: np.ndarray,
    target: Any,
    level: float,
) -> tuple[list[Mark], dict[str, list[float]], str]:
    marks: list[Mark] = []
    data = {"prediction": found.values.tolist()}
    ends = _mean_interval(model, rows, level)
    if ends is not None:
        data |= {"low": ends[:, 0].tolist(), "high": ends[:, 1].tolist()}
        marks.append(Band(x, *xy(ends), index=1))
    if target is not None:
        marks.append(Points(values, target.astype(float), name="rows", index=0))
    marks.append(Outline(x, found.values, name="prediction", index=1, width=2.0))
    return marks, data, "prediction" if target is None else "target and prediction"


def _mean_interval(model: Any, rows: Any, level: float) -> np.ndarray | None:
    """The ends (n, 2) of the interval of the mean, if the model can compute them."""
    if not hasattr(model, "predict_interval"):
        return None
    try:
        ends = np.asarray(model.predict_interval(rows, level=level, kind="mean"), dtype=float)
    except (PellucidError, TypeError):  # no inference with a penalty, or another signature
        return None
    return ends if ends.shape == (len(ends), 2) and np.isfinite(ends).all() else None


def _classification(
    x: np.ndarray, found: Answers, values: np.ndarray, target: Any
) -> tuple[list[Mark], dict[str, list[float]], str]:
    classes = found.classes or ()
    names = distinct(classes)
    proba = (
        np.eye(MOST_CLASSES)[found.values, : len(classes)] if found.proba is None else found.proba
    )
    shown = range(1, 2) if len(classes) == 2 else range(len(classes))
    what = "predicted" if found.proba is None else "probability of"
    marks: list[Mark] = [
        Line(x, proba[:, k], name=f"{what} {names[k]}", index=k, points=False) for k in shown
    ]
    if target is not None:
        codes = codes_of(target, classes)
        for k, name in enumerate(names):
            own = values[codes == k]
            height = float(k) if len(classes) == 2 else -RUG * (k + 1)
            marks.append(Points(own, np.full(len(own), height), name=name, index=k))
    data = {f"{what} {classes[k]}": proba[:, k].tolist() for k in shown}
    if len(classes) == 2:
        return marks, data, f"{what} {names[1]}"
    return marks, data, "probability" if found.proba is not None else "predicted class"


fit = as_function("fit", FitDisplay.from_estimator)
