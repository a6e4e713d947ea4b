"""Decision regions, and surfaces of probabilities or predictions.

Invariant: the grid is made of cell centres, and its values are exactly what the model predicts there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from pellucid.draw.label_text import distinct
from pellucid.errors import ParameterError, shown
from pellucid.plot.display import as_function
from pellucid.plot.models.answers import (
    Answers,
    answers,
    check_fitted,
    classes_of,
    codes_of,
    rows_of,
)
from pellucid.plot.models.base import ModelDisplay
from pellucid.plot.models.contours import contour_lines
from pellucid.plot.models.model_marks import Outline, joined, xy
from pellucid.plot.models.plane import Plane, plane, source
from pellucid.plot.picture import Axis, Heat, Mark, Panel, Picture, Points, Regions

RESOLUTION = 100
LEVELS = 7  # contour lines of a surface of predictions


class Grid:
    """Predictions at the centres of equal cells of a plane."""

    def __init__(
        self, model: Any, where: Plane, classes: tuple[Any, ...] | None, resolution: int, owner: str
    ) -> None:
        self.limits = where.limits()
        self.x, self.y = (_centres(ends, resolution) for ends in self.limits)
        self.flat_x = np.tile(self.x, resolution)
        self.flat_y = np.repeat(self.y, resolution)
        table = where.table(self.flat_x, self.flat_y)
        self.found: Answers = answers(model, table, classes, owner)
        self.table = table

    def shaped(self, values: np.ndarray) -> np.ndarray:
        return values.reshape(len(self.y), len(self.x))

    def axes(self, where: Plane) -> tuple[Axis, Axis]:
        x, y = (
            Axis(label, *ends, grid=False, dates=where.dates.get(f"{name}_dates", False))
            for name, label, ends in zip("xy", where.labels, self.limits)
        )
        return x, y


def _centres(ends: tuple[float, float], n: int) -> np.ndarray:
    edges = np.linspace(*ends, n + 1)
    return (edges[:-1] + edges[1:]) / 2


def class_points(
    points: np.ndarray, codes: np.ndarray | None, names: list[str], outline: bool = True
) -> tuple[Points, ...]:
    """One series per class; rows without a known class are left out."""
    if codes is None:
        return (Points(points[:, 0], points[:, 1], outline=outline),)
    return tuple(
        Points(*xy(points[codes == k]), name=name, index=k, outline=outline)
        for k, name in enumerate(names)
    )


def check_resolution(resolution: Any, owner: str) -> int:
    if not isinstance(resolution, int | np.integer) or not 2 <= resolution <= 1000:
        raise ParameterError(
            f"The 'resolution' parameter of {owner} must be an integer from 2 to 1000. "
            f"Got {shown(resolution)} instead."
        )
    return int(resolution)


class RegionsDisplay(ModelDisplay):
    """Decision regions: the predicted class over a plane, and the rows of a table.

    A stronger colour means a higher probability of the predicted class. `frame()` has one row for
    each cell of the grid: its centre, the predicted class and, if the model has probabilities, that
    of the predicted class.

    Examples
    --------
    >>> from pellucid import plot
    >>> from pellucid.data.datasets import load
    >>> from pellucid.discriminant_analysis import LinearDiscriminantAnalysis
    >>> iris = load("iris")
    >>> model = LinearDiscriminantAnalysis().fit(iris.X, iris.y)
    >>> display = plot.regions(model, iris.X, iris.y, resolution=20)
    >>> sorted(display.frame())
    ['discriminant direction 1', 'discriminant direction 2', 'predicted', 'probability']
    >>> display.svg()[:4]
    '<svg'
    """

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any = None,
        *,
        columns: Any = None,
        resolution: int = RESOLUTION,
        title: str | None = None,
    ) -> Self:
        """Regions of a fitted classifier or clusterer.

        Parameters
        ----------
        model : any fitted model whose `predict` gives classes or clusters.
        X : the table whose rows are shown, with the columns of the training table; or a path to it.
        y : the classes of the rows, or the name of their column in X. None draws the rows in one colour.
        columns : two columns of numbers, by name or position; the others stay at their median or most
            frequent value. None shows the plane of the first two discriminant directions (principal
            directions without y) if the table has more than two columns of numbers.
        resolution : number of cells along each axis.
        title : the title; None is the name of the model's class.
        """
        owner = "plot.regions"
        check_fitted(model, owner)
        classes = classes_of(model, owner)
        if classes is None:
            raise ParameterError(
                f"{owner} needs a model that predicts classes, but {type(model).__name__} predicts "
                "numbers. Use plot.surface."
            )
        X, target = rows_of(X, y)
        codes = None if target is None else codes_of(target, classes)
        where = plane(source(X, owner), columns, codes)
        grid = Grid(model, where, classes, check_resolution(resolution, owner), owner)
        panel = region_panel(grid, where, codes, title or type(model).__name__)
        return cls(Picture((panel,), kind="Decision regions"), grid_columns(grid, where))

    @classmethod
    def from_grid(
        cls, codes: Any, limits: Limits, classes: Sequence[Any], *, labels: tuple[str, str],
        certainty: Any = None, points: Sequence[tuple[float, float, str]] = (),
        dates: tuple[bool, bool] = (False, False), title: str = "",
    ) -> Self:  # fmt: skip
        """From predictions that are known.

        Parameters
        ----------
        codes : position of the predicted class in each cell, rows from the smallest y upwards.
        limits : (low, high) of x and of y.
        classes : names of the classes.
        labels : names of the axes.
        certainty : probability of the predicted class in each cell.
        points : (x, y, class) of the rows shown.
        dates : whether x and y are days since 1970, shown as dates.
        title : the title.
        """
        names = distinct(classes)
        marks: list[Mark] = [Regions(codes, names, () if certainty is None else certainty)]
        for k, label in enumerate(map(str, classes)):
            x, y = ([point[axis] for point in points if point[2] == label] for axis in (0, 1))
            marks += [Points(x, y, name=names[k], index=k, outline=True)] if x else []
        panel = Panel(tuple(marks), *_given_axes(limits, labels, dates), title=title)
        data = _cells(limits, labels, [[names[int(k)] for k in row] for row in codes])
        return cls(Picture((panel,), kind="Decision regions"), data)


Limits = tuple[tuple[float, float], tuple[float, float]]


def _given_axes(
    limits: Limits, labels: tuple[str, str], dates: tuple[bool, bool]
) -> tuple[Axis, Axis]:
    x, y = (
        Axis(label, *ends, grid=False, dates=are_dates)
        for label, ends, are_dates in zip(labels, limits, dates)
    )
    return x, y


def _cells(limits: Limits, labels: tuple[str, str], values: Any) -> dict[str, list[Any]]:
    """One row per cell of a grid: its centre and its value."""
    n_y, n_x = len(values), len(values[0])
    x, y = _centres(limits[0], n_x), _centres(limits[1], n_y)
    return {
        labels[0]: np.tile(x, n_y).tolist(),
        labels[1]: np.repeat(y, n_x).tolist(),
        "predicted": [value for row in values for value in row],
    }


def region_panel(
    grid: Grid, where: Plane, codes: np.ndarray | None, title: str, named: bool = True, **look: Any
) -> Panel:
    """The regions with the rows on top; `named` writes the classes into the regions."""
    names = distinct(grid.found.classes or ())
    certainty = grid.found.certainty
    inside = names if named else [""] * len(names)
    shares = () if certainty is None else grid.shaped(certainty)
    area = Regions(grid.shaped(grid.found.values), inside, shares)
    marks = (area, *class_points(where.points, codes, names))
    settings: dict[str, Any] = {"note": where.note, "width": 460, "height": 300} | look
    return Panel(marks, *grid.axes(where), title=title, **settings)


def grid_columns(grid: Grid, where: Plane) -> dict[str, list[Any]]:
    """The data of a grid: its centres and what the model predicts there."""
    found = grid.found
    columns: dict[str, list[Any]] = {
        where.labels[0]: grid.flat_x.tolist(),
        where.labels[1]: grid.flat_y.tolist(),
    }
    if found.classes is None:
        return columns | {"predicted": found.values.tolist()}
    columns["predicted"] = [found.classes[k] for k in found.values]
    if found.certainty is not None:
        columns["probability"] = found.certainty.tolist()
    return columns


class SurfaceDisplay(ModelDisplay):
    """The probability of a class, or the prediction of a regressor, over a plane.

    `frame()` has one row for each cell of the grid. Lines join points of equal value.

    Examples
    --------
    >>> from pellucid import plot
    >>> from pellucid.linear_model import LogisticRegression
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [2.0, 3.0], [3.0, 2.0]], [0, 0, 1, 1]
    >>> display = plot.surface(LogisticRegression().fit(X, y), X, y, resolution=10)
    >>> list(display.frame())
    ['x0', 'x1', 'probability of 1']
    """

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any = None,
        *,
        of: Any = None,
        columns: Any = None,
        resolution: int = RESOLUTION,
        title: str | None = None,
    ) -> Self:
        """Surface of a fitted classifier with probabilities, or of a regressor.

        Parameters
        ----------
        model : a fitted classifier with `predict_proba`, or a fitted regressor.
        X : the table whose rows are shown, with the columns of the training table; or a path to it.
        y : the target of the rows, or the name of its column in X. None shows no rows.
        of : the class whose probability is shown; None is the last class.
        columns, resolution, title : as in `regions`.
        """
        owner = "plot.surface"
        check_fitted(model, owner)
        classes = classes_of(model, owner)
        X, target = rows_of(X, y)
        codes = None if target is None or classes is None else codes_of(target, classes)
        where = plane(source(X, owner), columns, codes)
        grid = Grid(model, where, classes, check_resolution(resolution, owner), owner)
        values, what = _surface_values(grid.found, of, type(model).__name__)
        z = grid.shaped(values)
        marks: list[Mark] = [
            Heat(z, texts=(), limits=(0.0, 1.0) if classes else None), *_level_lines(grid, z, classes)
        ]  # fmt: skip
        if codes is not None:
            marks += class_points(where.points, codes, distinct(classes or ()))
        elif target is not None:
            marks.append(Points(*xy(where.points), name="rows", outline=True))
        panel = Panel(
            tuple(marks), *grid.axes(where), title=title or f"{type(model).__name__}: {what}",
            note=where.note, width=460, height=300,
        )  # fmt: skip
        table = dict(list(grid_columns(grid, where).items())[:2]) | {what: values.tolist()}
        return cls(Picture((panel,), kind=f"Surface of {what}"), table)

    @classmethod
    def from_grid(
        cls, values: Any, limits: Limits, *, labels: tuple[str, str],
        scale: tuple[float, float] | None = None, dates: tuple[bool, bool] = (False, False),
        title: str = "",
    ) -> Self:  # fmt: skip
        """From predictions that are known; the parameters are those of `RegionsDisplay.from_grid`.

        Parameters
        ----------
        values : prediction in each cell, rows from the smallest y upwards.
        scale : values at which the colour is weakest and strongest; those of the data by default.
        """
        heat = Heat(values, texts=(), limits=scale)
        panel = Panel((heat,), *_given_axes(limits, labels, dates), title=title)
        return cls(Picture((panel,), kind="Surface of predictions"), _cells(limits, labels, values))


def _surface_values(found: Answers, of: Any, owner: str) -> tuple[np.ndarray, str]:
    if found.classes is None:
        if of is not None:
            raise ParameterError(f"The 'of' parameter names a class, but {owner} predicts numbers.")
        return found.values, "prediction"
    if found.proba is None:
        raise ParameterError(
            f"plot.surface needs probabilities, but {owner} has none. Use plot.regions."
        )
    k = len(found.classes) - 1 if of is None else int(codes_of([of], found.classes)[0])
    if k < 0:
        raise ParameterError(
            f"The 'of' parameter of plot.surface must be one of the classes "
            f"{', '.join(map(shown, found.classes))}. Got {shown(of)} instead."
        )
    return found.proba[:, k], f"probability of {found.classes[k]}"


def _level_lines(grid: Grid, z: np.ndarray, classes: tuple[Any, ...] | None) -> list[Outline]:
    """The line of probability 1/2, or evenly spaced levels of a prediction."""
    levels = [0.5] if classes else np.linspace(z.min(), z.max(), LEVELS + 2)[1:-1].tolist()
    return [level_line(grid.x, grid.y, z, level) for level in levels if z.min() < level < z.max()]


def level_line(
    x: np.ndarray, y: np.ndarray, z: np.ndarray, level: float, name: str = "", thin: bool = True
) -> Outline:
    """All contour lines of one level as one mark, with NaN between them."""
    return Outline(*xy(joined(contour_lines(x, y, z, level))), name=name, dotted=thin, width=1.5)


regions = as_function("regions", RegionsDisplay.from_estimator)
surface = as_function("surface", SurfaceDisplay.from_estimator)
