"""The ranges that the marks of a panel need on its axes, and lines with as many points as are seen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import singledispatch

import numpy as np

from pellucid.draw.axes import checked_limits
from pellucid.draw.scale import extent, padded, widen
from pellucid.plot.picture import (
    Area,
    Axis,
    Band,
    Bars,
    Intervals,
    Line,
    Mark,
    Panel,
    Points,
    Rule,
    Segments,
    Steps,
    Text,
)  # fmt: skip

MOST_ON_LINE = 5000  # points
Columns = tuple[list[float], list[float]]


@singledispatch
def values(mark: Mark) -> Columns:
    """All x and all y values of a mark; images fill the axes and have none."""
    return [], []


@values.register(Line)
@values.register(Points)
@values.register(Area)
@values.register(Text)
def _places(mark: Line | Points | Area | Text) -> Columns:
    return list(mark.x), list(mark.y)


@values.register
def _rule(mark: Rule) -> Columns:
    return [mark.x] if mark.x is not None else [], [mark.y] if mark.y is not None else []


@values.register
def _band(mark: Band) -> Columns:
    return list(mark.x), [*mark.low, *mark.high]


@values.register
def _bars(mark: Bars) -> Columns:
    half = mark.width / 2
    at = [*(a - half for a in mark.at), *(a + half for a in mark.at)]
    along = [0.0, *mark.start, *mark.end]
    return (along, at) if mark.horizontal else (at, along)


@values.register
def _steps(mark: Steps) -> Columns:
    return list(mark.edges), [0.0, *mark.heights]


@values.register
def _intervals(mark: Intervals) -> Columns:
    along = [*mark.centre, *mark.low, *mark.high]
    return (along, list(mark.at)) if mark.horizontal else (list(mark.at), along)


@values.register
def _segments(mark: Segments) -> Columns:
    return [*mark.x1, *mark.x2], [*mark.y1, *mark.y2]


def limits(axis: Axis, columns: Iterable[list[float]], tight: bool) -> tuple[float, float]:
    """The limits of an axis: given, or those of the data with some room (`tight`: without)."""
    if axis.names is not None:
        return -0.5, len(axis.names) - 0.5
    low, high = extent([*columns, [0.0] if axis.zero else []], axis.log)
    room = (low, high) if tight else padded(low, high, axis.log)
    ends = (room[0] if axis.low is None else axis.low, room[1] if axis.high is None else axis.high)
    return checked_limits(ends, axis.log)


def panel_limits(panel: Panel) -> tuple[tuple[float, float], tuple[float, float]]:
    """Limits of x and y; histograms reach the ends of the x axis."""
    columns = [values(mark) for mark in panel.marks]
    tight = any(isinstance(mark, Steps) for mark in panel.marks)
    return (
        limits(panel.x, [x for x, _ in columns], tight),
        limits(panel.y, [y for _, y in columns], False),
    )


def equal_limits(
    x: tuple[float, float], y: tuple[float, float], width: float, height: float
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Wider limits of one axis, so that one unit has the same length on both."""
    unit = max((x[1] - x[0]) / width, (y[1] - y[0]) / height)
    return _around(x, unit * width), _around(y, unit * height)


def _around(ends: tuple[float, float], length: float) -> tuple[float, float]:
    middle = (ends[0] + ends[1]) / 2
    return widen(middle - length / 2, middle + length / 2)


def thinned_line(line: Line, log: bool) -> Line:
    """Of a long line along x, the first, lowest, highest and last point of each of 1000 columns."""
    if len(line.x) <= MOST_ON_LINE:
        return line
    x, y = np.asarray(line.x), np.asarray(line.y)
    steps = np.diff(x)  # NaN and infinity are neither
    along = (steps >= 0).all() or (steps <= 0).all()
    if not along or not np.isfinite(y).all() or (log and x.min() <= 0):
        return line
    place = np.log(x) if log else x
    column = np.minimum((place - place.min()) / max(np.ptp(place), 1e-300) * 1000, 999).astype(int)
    first = np.flatnonzero(np.diff(column, prepend=-1))
    last = np.append(first[1:], len(x)) - 1
    order = np.lexsort((y, np.cumsum(np.diff(column, prepend=column[0]) != 0)))
    kept = np.unique(np.concatenate([first, last, order[first], order[last]]))
    return replace(line, x=x[kept], y=y[kept])
