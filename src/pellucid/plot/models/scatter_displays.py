"""Tables as points: scatter of two columns, all pairs of columns, and three columns in perspective."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from pellucid.errors import DataError, ParameterError
from pellucid.plot.display import as_function
from pellucid.plot.models.answers import rows_of
from pellucid.plot.models.base import ModelDisplay
from pellucid.plot.models.geometry import View
from pellucid.plot.models.grouping import grouped_points, groups_of
from pellucid.plot.models.plane import Source, directions, plane, source
from pellucid.plot.models.projection import cube_marks, placed, plain_axes, unit_cube
from pellucid.plot.picture import Axis, Mark, Panel, Picture, Points, Steps

DEFAULT_COLUMNS, MOST_COLUMNS = 6, 12  # of pairs: the square of it are the panels
BINS = 16


class ScatterDisplay(ModelDisplay):
    """Rows of a table on two columns, or on its first two discriminant or principal directions.

    Examples
    --------
    >>> from pellucid import plot
    >>> display = plot.scatter([[1.0, 2.0], [2.0, 1.0]], ["a", "b"])
    >>> display.frame()
    {'x0': [1.0, 2.0], 'x1': [2.0, 1.0], 'y': ['a', 'b']}
    """

    @classmethod
    def from_table(
        cls, X: Any, y: Any = None, *, columns: Any = None, title: str | None = None,
        labels: Sequence[str] | None = None,
    ) -> Self:  # fmt: skip
        """The scatter of a table; see `scatter`. `labels` are other names of the two axes."""
        X, target = rows_of(X, y)
        found = groups_of(target)
        where = plane(source(X, "plot.scatter"), columns, None if found is None else found[1])
        labels = where.labels if labels is None else labels
        x, y_axis = (
            Axis(label, dates=where.dates.get(f"{name}_dates", False))
            for name, label in zip("xy", labels)
        )
        note = "" if where.basis is None else where.note
        panel = Panel(grouped_points(where.points, target), x, y_axis, title=title or "", note=note,
                      width=460, height=320)  # fmt: skip
        data: dict[str, Any] = dict(zip(labels, where.points.T))
        if target is not None:
            data["y"] = target
        return cls(Picture((panel,), kind="Scatter of rows"), data)

    @classmethod
    def from_points(
        cls, groups: Mapping[str, tuple[Any, Any, Any]], labels: tuple[str, str], *,
        title: str = "", log: bool = False,
    ) -> Self:  # fmt: skip
        """Groups of named points: name of a group -> (x, y, names of its points).

        Parameters
        ----------
        labels : names of the two axes.
        log : whether the x axis is logarithmic.
        """
        several = len(groups) > 1
        marks = tuple(
            Points(x, y, name if several else "", i, texts)
            for i, (name, (x, y, texts)) in enumerate(groups.items())
        )
        panel = Panel(marks, Axis(labels[0], log=log), Axis(labels[1]), title=title)
        rows = [(*row, name) for name, part in groups.items() for row in zip(*part)]
        x, y, texts, names = map(list, zip(*rows)) if rows else ([], [], [], [])
        data = {"name": texts, "group": names, labels[0]: x, labels[1]: y}
        return cls(Picture((panel,), kind="Scatter of named points"), data)


def _chosen(table: Source, columns: Any, most: int) -> list[int]:
    """Positions of the columns of a display; the first columns of numbers by default."""
    if columns is None:
        return table.numeric[: min(most, DEFAULT_COLUMNS)]
    found = [table.position(which) for which in columns]
    if len(found) > most or len(set(found)) < len(found):
        raise ParameterError(
            f"The 'columns' parameter of {table.owner} must name at most {most} different columns."
        )
    return found


class PairsDisplay(ModelDisplay):
    """Every pair of columns as a scatter, with the histogram of each column on the diagonal.

    `frame()` has the columns that are shown, and y.

    Examples
    --------
    >>> from pellucid import plot
    >>> from pellucid.data.datasets import load
    >>> iris = load("iris")
    >>> display = plot.pairs(iris.X, iris.y)
    >>> len(display.picture().panels)
    16
    """

    _one_grid = True

    @classmethod
    def from_table(
        cls, X: Any, y: Any = None, *, columns: Any = None, title: str | None = None
    ) -> Self:
        """The pairs of a table.

        Parameters
        ----------
        X : the table, or a path to it.
        y : classes or numbers that colour the rows, or the name of a column of X.
        columns : names or positions of at most 12 columns (144 panels); None takes the first six columns
            of numbers, and the title says so if there are more.
        title : the title.
        """
        X, target = rows_of(X, y)
        table = source(X, "plot.pairs")
        places = _chosen(table, columns, MOST_COLUMNS)
        if len(places) < 2:
            raise DataError("plot.pairs needs at least two columns of numbers.")
        panels = tuple(_pair_panel(table, i, j, target) for i in places for j in places)
        if title is None and columns is None and len(table.numeric) > len(places):
            title = f"The first {len(places)} of {len(table.numeric)} columns of numbers"
        picture = Picture(panels, "Pairs of columns", title=title or "", columns=len(places))
        data: dict[str, Any] = {table.names[j]: table.values(j) for j in places}
        if target is not None:
            data["y"] = target
        return cls(picture, data)


def _pair_panel(table: Source, row: int, column: int, target: Any) -> Panel:
    x = Axis(table.names[column])
    if row == column:
        return Panel(_histograms(table.values(row), target), x, Axis("rows"), width=200, height=130)
    marks = grouped_points(table.matrix([column, row]), target)
    return Panel(marks, x, Axis(table.names[row]), width=200, height=130)


def _histograms(values: np.ndarray, target: Any) -> tuple[Mark, ...]:
    present = values[np.isfinite(values)]
    edges = np.histogram_bin_edges(present, BINS)
    found = groups_of(target)
    if found is None:
        return (Steps(edges, np.histogram(present, edges)[0]),)
    names, codes = found
    return tuple(
        Steps(edges, np.histogram(values[(codes == k) & np.isfinite(values)], edges)[0],
              solid=False, name=name, index=k)
        for k, name in enumerate(names)
    )  # fmt: skip


class Scatter3DDisplay(ModelDisplay):
    """Rows on three columns or directions, in a parallel projection.

    Examples
    --------
    >>> from pellucid import plot
    >>> display = plot.scatter3d([[1.0, 2.0, 3.0], [2.0, 1.0, 0.0]], ["a", "b"])
    >>> list(display.frame())
    ['x0', 'x1', 'x2', 'y']
    """

    @classmethod
    def from_table(
        cls,
        X: Any,
        y: Any = None,
        *,
        columns: Any = None,
        azimuth: float = -60.0,
        elevation: float = 25.0,
        title: str | None = None,
    ) -> Self:
        """The scatter of three columns.

        Parameters
        ----------
        X : the table, or a path to it.
        y : classes or numbers that colour the rows, or the name of a column of X.
        columns : three columns of numbers. None shows the first three discriminant directions (principal
            directions without classes) if the table has more than three columns of numbers.
        azimuth, elevation : direction of the view in degrees.
        title : the title.
        """
        X, target = rows_of(X, y)
        table = source(X, "plot.scatter3d")
        rows, names = _three(table, columns, target)
        view = View(azimuth, elevation)
        low, high = unit_cube(rows)
        flat, depth = view(placed(rows, low, high))
        order = np.argsort(depth, kind="stable")
        shown = grouped_points(flat[order], None if target is None else target[order], outline=True)
        marks = (*cube_marks(view, names, low, high), *shown)
        panel = Panel(marks, *plain_axes(), title=title or "", width=480, height=400, equal=True)
        data: dict[str, Any] = dict(zip(names, rows.T))
        if target is not None:
            data["y"] = target
        return cls(Picture((panel,), kind="Scatter of three columns"), data)


def _three(table: Source, columns: Any, target: Any) -> tuple[np.ndarray, list[str]]:
    """Coordinates of the rows and their names: three columns, or directions of more than three."""
    if columns is None and len(table.numeric) > 3:
        found = groups_of(target)
        points, _, names, _ = directions(table, None if found is None else found[1], 3)
        return points, names
    places = _chosen(table, columns, 3)
    if len(places) != 3:
        raise DataError(
            f"plot.scatter3d needs three columns of numbers. Got {len(places)}: choose them with "
            "columns=[...]."
        )
    return table.matrix(places), [table.names[j] for j in places]


def scatter(
    X: Any, y: Any = None, *, columns: Any = None, title: str | None = None
) -> ScatterDisplay:
    """The rows of a table on two columns or directions.

    Parameters
    ----------
    X : the table, or a path to it.
    y : classes or numbers that colour the rows, or the name of a column of X.
    columns : two columns of numbers. None shows the first two discriminant directions (principal
        directions without classes) if the table has more than two columns of numbers.
    title : the title.
    """
    return ScatterDisplay.from_table(X, y, columns=columns, title=title)


pairs = as_function("pairs", PairsDisplay.from_table)
scatter3d = as_function("scatter3d", Scatter3DDisplay.from_table)
