"""The specification of a picture: marks in data coordinates inside panels with two axes.

Invariant: a picture is frozen and holds plain numbers and texts. Both renderers, SVG and matplotlib,
draw from it, so they show the same numbers.

A series has an `index`, which decides its colour, dash and marker in both renderers; a mark without
one has the colour of the text. A mark with a `name` has an entry in the legend. On an axis with
`names`, positions 0, 1, 2, ... are the middles of the bands; a y axis lists its names downwards.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from pellucid.draw.points import floats

# Sequences or arrays when a mark is made; tuples of floats or texts afterwards.
Numbers = Any
Matrix = Any
Texts = Any


def _numbers(values: Any) -> tuple[float, ...]:
    if isinstance(values, np.ndarray):
        return tuple(values.astype(float).tolist())
    return tuple(floats(values))


_PLAIN = {
    "Numbers": _numbers,
    "Matrix": lambda rows: tuple(map(_numbers, rows)),
    "Texts": lambda texts: tuple(map(str, texts)),
}


@dataclass(frozen=True)
class Mark:
    """Base of all marks: makes sequences plain and frozen."""

    def __post_init__(self) -> None:
        for field in fields(self):
            plain = _PLAIN.get(str(field.type))
            if plain is not None:
                object.__setattr__(self, field.name, plain(getattr(self, field.name)))


@dataclass(frozen=True)
class Line(Mark):
    """A line through points; NaN interrupts it. Short lines also show their points."""

    x: Numbers
    y: Numbers
    name: str = ""
    index: int = 0
    reference: bool = False  # thin and dotted, in the colour of the text
    points: bool = True  # False: never show the points of a short line
    thin: bool = False  # thin and pale, without points: one of many lines


@dataclass(frozen=True)
class Rule(Mark):
    """A thin dotted line across the panel, at one value of x or of y."""

    x: float | None = None
    y: float | None = None
    name: str = ""


@dataclass(frozen=True)
class Band(Mark):
    """The area between `low` and `high`, pale."""

    x: Numbers
    low: Numbers
    high: Numbers
    name: str = ""
    index: int = 0


@dataclass(frozen=True)
class Points(Mark):
    """One marker per point.

    texts: written beside the points where there is room, and shown as tooltips.
    sizes: radius of each point in pixels; the points are then discs.
    values: a number per point that decides its colour, from blue (low) to orange (high).
    ends: words for the lowest and highest value in the legend; None: the numbers. () has no legend.
    outline: a line around each marker, which separates it from a coloured background.
    """

    x: Numbers
    y: Numbers
    name: str = ""
    index: int = 0
    texts: Texts = ()
    sizes: Numbers = ()
    values: Numbers = ()
    outline: bool = False
    ends: Texts | None = None


@dataclass(frozen=True)
class Bars(Mark):
    """Rectangles from `start` to `end` at the positions `at`, `width` wide.

    Horizontal bars grow along x and stand at positions of the y axis.
    """

    at: Numbers
    start: Numbers
    end: Numbers
    width: float = 0.72
    horizontal: bool = True
    name: str = ""
    index: int = 0


@dataclass(frozen=True)
class Steps(Mark):
    """A histogram: `heights` between consecutive `edges`; solid columns, or an outline."""

    edges: Numbers
    heights: Numbers
    solid: bool = True
    name: str = ""
    index: int = 0


@dataclass(frozen=True)
class Intervals(Mark):
    """A point at `centre` and a line from `low` to `high`, at each position `at`."""

    at: Numbers
    centre: Numbers
    low: Numbers
    high: Numbers
    horizontal: bool = True
    name: str = ""
    index: int = 0


@dataclass(frozen=True)
class Heat(Mark):
    """One cell per value, with a stronger colour for larger values; NaN cells stay empty.

    On an axis with names, the first row is on top. On a numeric axis the cells divide the range of
    the axis into equal steps and the first row is at the smallest y.
    diverging: negative values have another colour.
    index: number of the series whose colour the values have.
    limits: values at which the colour is weakest and strongest; those of the data by default.
    texts: written into the cells if all of them fit; by default the values. () writes nothing.
    """

    values: Matrix
    texts: tuple[tuple[str, ...], ...] | None = None
    diverging: bool = False
    limits: tuple[float, float] | None = None
    index: int = 0


@dataclass(frozen=True)
class Regions(Mark):
    """Decision regions: a class code per cell, rows from the smallest y upwards.

    certainty: the probability of the predicted class per cell; a higher one has a stronger colour.
    """

    codes: Matrix
    classes: Texts
    certainty: Matrix = ()


@dataclass(frozen=True)
class Segments(Mark):
    """Straight lines from (x1, y1) to (x2, y2); `widths` in pixels; `arrows` have a head."""

    x1: Numbers
    y1: Numbers
    x2: Numbers
    y2: Numbers
    widths: Numbers = ()
    arrows: bool = False
    name: str = ""
    index: int | None = None


@dataclass(frozen=True)
class Area(Mark):
    """A closed outline, filled with a pale colour."""

    x: Numbers
    y: Numbers
    name: str = ""
    index: int = 0
    opacity: float = 0.15


@dataclass(frozen=True)
class Text(Mark):
    """Texts at points; `anchor` is "start", "middle" or "end". `em` cuts longer ones."""

    x: Numbers
    y: Numbers
    texts: Texts
    anchor: str = "middle"
    size: int = 12
    bold: bool = False
    em: float = 40.0


@dataclass(frozen=True)
class Axis:
    """An axis with numbers, or with one band per name.

    low, high: limits; those of the data with some room by default.
    zero: the data's limits include 0.
    ticks: False for an axis without numbers and line (diagrams).
    dates: the numbers are days since 1970, shown as dates.
    """

    label: str = ""
    low: float | None = None
    high: float | None = None
    log: bool = False
    names: tuple[str, ...] | None = None
    zero: bool = False
    grid: bool = True
    ticks: bool = True
    dates: bool = False


@dataclass(frozen=True)
class Panel:
    """Marks between two axes.

    equal: one unit has the same length on both axes.
    tips: points of short lines have tooltips in SVG.
    """

    marks: tuple[Mark, ...]
    x: Axis = Axis()
    y: Axis = Axis()
    title: str = ""
    note: str = ""
    width: int = 420
    height: int = 240
    equal: bool = False
    right_texts: tuple[str, ...] = ()  # at the right end of the bands of the y axis
    tips: bool = True


@dataclass(frozen=True)
class Picture:
    """Panels side by side, `columns` of them in each row.

    kind: what the picture shows, in a few words, for people who cannot see it.
    """

    panels: tuple[Panel, ...]
    kind: str
    title: str = ""
    columns: int = 2
