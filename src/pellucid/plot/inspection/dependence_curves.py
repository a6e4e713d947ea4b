"""Partial dependence and individual conditional expectation: numbers, levels and pairs of columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Self

import numpy as np

from pellucid.draw.number import number
from pellucid.errors import ParameterError, shown
from pellucid.inspection import PartialDependence
from pellucid.inspection import partial_dependence as dependence_of
from pellucid.inspection.cells import Cells
from pellucid.plot.display import Display, as_function
from pellucid.plot.picture import Axis, Heat, Intervals, Line, Mark, Panel, Picture, Points

MOST_LINES = 50  # rows whose lines are drawn
MOST_PANELS = 9  # if no columns are named
MOST_LEVELS = 24
PAIR_RESOLUTION = 20  # values of each column of a pair, unless given
MOST_TEXTS = 8  # levels of both columns of a pair up to which cells have numbers
SHARES = (0.1, 0.9)  # of the rows, around levels


class PartialDependenceDisplay(Display):
    """Mean predictions as one column, or two, change; and the lines of single rows (ICE).

    Parameters
    ----------
    found : results of `pellucid.inspection.partial_dependence`, one per panel.
    dates : whether numbers of the columns are days since 1970, shown as dates.

    Examples
    --------
    >>> from pellucid.linear_model import LinearRegression
    >>> X, y = [[0.0, 5.0], [1.0, 7.0], [2.0, 5.0], [3.0, 6.0]], [0.0, 1.0, 2.0, 3.0]
    >>> model = LinearRegression().fit(X, y)
    >>> frame = PartialDependenceDisplay.from_estimator(model, X, [0]).frame()
    >>> frame["value"], [round(value, 2) for value in frame["prediction"]]
    ([0.0, 1.0, 2.0, 3.0], [0.0, 1.0, 2.0, 3.0])
    """

    def __init__(self, found: Sequence[PartialDependence], dates: bool = False) -> None:
        self.found, self.dates = list(found), dates
        if not self.found:
            raise ParameterError("A picture of partial dependence needs at least one column.")
        self._lines = [_chosen(one) for one in self.found]

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, features: Any = None, *, kind: str = "average", **options: Any
    ) -> Self:
        """Predict with one column, or a pair, set to each value of a grid.

        Parameters
        ----------
        features : columns or pairs of columns, one panel each; None for the 9 columns along which
            the mean prediction changes most.
        kind : "average", "individual" (lines of 50 rows) or "both".
        options : further ones of `pellucid.inspection.partial_dependence`.
        """
        if features is None:
            names = Cells(X).names
            every = [dependence_of(model, X, name, kind=kind, **options) for name in names]
            ranges = [np.ptp(one.mean, axis=-1).max() for one in every]
            best = sorted(range(len(every)), key=lambda j: -ranges[j])[:MOST_PANELS]
            return cls([every[j] for j in sorted(best)])
        if isinstance(features, (str, int, np.integer)):
            features = [features]
        if not isinstance(features, (list, tuple, np.ndarray)):
            raise ParameterError(
                f"features must be a list of columns. Got {shown(features)} instead."
            )
        found = []
        for one in features:
            pair = isinstance(one, (list, tuple)) and len(one) == 2
            own = {"grid_resolution": PAIR_RESOLUTION} if pair else {}
            found.append(dependence_of(model, X, one, kind=kind, **own | options))
        return cls(found)

    def columns(self) -> dict[str, Any]:
        parts: list[dict[str, list[Any]]] = []
        for one, rows in zip(self.found, self._lines):
            if one.average is not None:
                parts.append(_part(one, one.average, None))
            if one.individual is not None:
                parts += [_part(one, one.individual[:, i], int(i)) for i in rows]
        columns = {name: [v for part in parts for v in part[name]] for name in parts[0]}
        for name in ("value", "value 2"):
            if len({isinstance(v, float) for v in columns[name]}) > 1:
                columns[name] = [None if v is None else _text(v) for v in columns[name]]
        return {
            name: values for name, values in columns.items() if any(v is not None for v in values)
        }

    def picture(self) -> Picture:
        limits = self._limits()
        panels = [
            panel
            for one, rows in zip(self.found, self._lines)
            for panel in (
                _pair(one) if len(one.features) == 2 else [_curve(one, rows, limits, self.dates)]
            )
        ]
        title = "Partial dependence"
        if len(panels) > 1:
            panels = [replace(panel, width=300, height=170) for panel in panels]
        elif len(self.found[0].features) == 1:
            panels = [replace(panels[0], title=f"{title} on {self.found[0].features[0]}")]
        return Picture(tuple(panels), title, title, columns=3)

    def _limits(self) -> tuple[float, float]:
        """One range of predictions for all panels of single columns."""
        values = [
            np.ravel(part)
            for one, rows in zip(self.found, self._lines)
            if len(one.features) == 1
            for part in (one.average, None if one.individual is None else one.individual[:, rows])
            if part is not None
        ]
        if not values:
            return 0.0, 1.0
        every = np.concatenate(values)
        if not np.isfinite(every).any():
            return 0.0, 1.0
        low, high = np.nanmin(every), np.nanmax(every)
        room = 0.05 * (high - low) or 0.5
        return float(low - room), float(high + room)


def _chosen(one: PartialDependence) -> np.ndarray:
    """Rows whose lines are drawn: evenly spaced in the order of their mean predictions."""
    if one.individual is None or len(one.features) == 2:
        return np.arange(0)
    order = np.argsort(one.individual[-1].mean(axis=1), kind="stable")
    steps = np.linspace(0, len(order) - 1, min(MOST_LINES, len(order)))
    return np.sort(order[np.rint(steps).astype(int)])


def _part(one: PartialDependence, values: np.ndarray, row: int | None) -> dict[str, list[Any]]:
    """The lines of the table for the mean, or for one row."""
    K = len(values)
    mesh = np.meshgrid(*(np.arange(len(grid)) for grid in one.grid_values), indexing="ij")
    points = [_plain(grid, at.ravel()) for grid, at in zip(one.grid_values, mesh)]
    n = len(points[0])
    second: tuple[Any, list[Any]] = (None, [None] * n)
    if len(points) == 2:
        second = (one.features[1], points[1])
    labels = [None] if one.classes is None else one.classes
    return {
        "column": [one.features[0]] * (n * K),
        "value": points[0] * K,
        "column 2": [second[0]] * (n * K),
        "value 2": second[1] * K,
        "class": [label for label in labels for _ in range(n)],
        "row": [row] * (n * K),
        "prediction": values.ravel().tolist(),
    }


def _plain(grid: np.ndarray, at: np.ndarray) -> list[Any]:
    plain: list[Any] = grid[at].tolist()
    return plain


def _text(value: Any) -> str:
    """A cell of a column that has numbers and levels, without loss."""
    return value.isoformat(" ") if isinstance(value, datetime) else str(value)


def _label(one: PartialDependence) -> str:
    if one.classes is None:
        return "prediction"
    return f"probability of {one.classes[0]}" if len(one.classes) == 1 else "probability"


def _curve(
    one: PartialDependence, rows: np.ndarray, limits: tuple[float, float], dates: bool
) -> Panel:
    """A panel of one column: lines along numbers and dates, intervals at levels."""
    name, grid = one.features[0], one.grid_values[0]
    if not one.categorical[0]:
        places, are_dates = _along(grid)
        note = ""
        if one.individual is not None:
            note = f"Thin lines: {len(rows)} of {len(one.individual[0])} rows."
        return _panel(
            one,
            _lines(one, rows, places),
            Axis(name, grid=False, dates=dates or are_dates),
            limits,
            note,
        )
    if len(grid) > MOST_LEVELS:
        raise ParameterError(
            f"Column {name!r} has {len(grid)} levels, but a picture shows at most {MOST_LEVELS}."
        )
    note = "Lines: 80 % of the rows." if one.individual is not None else ""
    axis = Axis(name, names=tuple(map(_text, grid)), grid=False)
    return _panel(one, _at_levels(one), axis, limits, note)


def _panel(
    one: PartialDependence, marks: list[Mark], x: Axis, limits: tuple[float, float], note: str
) -> Panel:
    return Panel(
        tuple(marks), x, Axis(_label(one), *limits), title=one.features[0], note=note, height=240
    )


def _along(grid: np.ndarray) -> tuple[np.ndarray, bool]:
    """Positions along x, and whether they are dates, as days since 1970."""
    if grid.dtype != object:
        return grid, False
    stamps = np.array(grid.tolist(), dtype="datetime64[us]")
    return (stamps - np.datetime64("1970-01-01", "us")) / np.timedelta64(1, "D"), True


def _lines(one: PartialDependence, rows: np.ndarray, places: np.ndarray) -> list[Mark]:
    """The lines of rows, and of the mean, per class."""
    K = len(one.mean)
    marks: list[Mark] = []
    for k in range(K):
        name = "" if K == 1 or one.classes is None else str(one.classes[k])
        if one.individual is not None:
            ends = np.full((len(rows), 1), np.nan)
            x = np.tile(np.append(places, np.nan), len(rows))
            y = np.hstack([one.individual[k][rows], ends]).ravel()
            marks.append(Line(x, y, name if one.average is None else "", k, thin=True))
        if one.average is not None:
            alone = one.individual is None or K > 1
            marks.append(
                Line(
                    places,
                    one.average[k],
                    name if alone else "mean",
                    k if alone else 1,
                    points=False,
                )
            )
    return marks


def _at_levels(one: PartialDependence) -> list[Mark]:
    """The mean at each level and, around it, the predictions of 80 % of the rows."""
    K = len(one.mean)
    at = np.arange(len(one.grid_values[0]), dtype=float)
    marks: list[Mark] = []
    for k in range(K):
        name = "" if K == 1 or one.classes is None else str(one.classes[k])
        places = at + (0.0 if K == 1 else 0.5 * (k / (K - 1) - 0.5))
        if one.individual is None:
            marks.append(Points(places, one.mean[k], name, k))
            continue
        low, high = np.quantile(one.individual[k], SHARES, axis=0)
        marks.append(Intervals(places, one.mean[k], low, high, False, name, k))
    return marks


def _pair(one: PartialDependence) -> list[Panel]:
    """A panel of two columns per class: the first along x, the second along y."""
    x, y = (_heat_axis(one, k) for k in (0, 1))
    few = y.names is not None and max(map(len, one.grid_values)) <= MOST_TEXTS
    panels = []
    for k, matrix in enumerate(one.mean):
        title = " and ".join(one.features)
        if one.classes is not None:
            title = f"p({one.classes[k]}): {title}"
        texts = tuple(tuple(number(v, 3) for v in row) for row in matrix.T) if few else ()
        panels.append(Panel((Heat(matrix.T, texts),), x, y, title=title, height=300))
    return panels


def _heat_axis(one: PartialDependence, k: int) -> Axis:
    """Equal steps of numbers as an axis of numbers; other values as names."""
    grid = one.grid_values[k]
    even = not one.categorical[k] and grid.dtype != object and len(grid) > 1
    if even and np.allclose(np.diff(grid), grid[1] - grid[0], rtol=1e-6):
        half = float(grid[1] - grid[0]) / 2
        return Axis(one.features[k], float(grid[0]) - half, float(grid[-1]) + half, grid=False)
    return Axis(one.features[k], names=tuple(map(_text, grid)), grid=False)


partial_dependence = as_function("partial_dependence", PartialDependenceDisplay.from_estimator)
