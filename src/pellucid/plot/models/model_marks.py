"""Marks of displays of models, and how both renderers draw them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.draw import axes, svg
from pellucid.draw.legend import hatched_areas
from pellucid.plot import extents, matplotlib_marks, svg_renderer
from pellucid.plot.colours import series_colour
from pellucid.plot.picture import Mark, Numbers, Panel


@dataclass(frozen=True)
class Outline(Mark):
    """A line of `width` pixels, which NaN interrupts; without index in the colour of the text."""

    x: Numbers
    y: Numbers
    name: str = ""
    index: int | None = None
    width: float = 1.8
    dotted: bool = False
    opacity: float = 0.9

    @property
    def key_shape(self) -> str:
        """How the legend shows it."""
        if self.dotted:
            return "reference"
        return "plain" if self.index is None else "solid"


@dataclass(frozen=True)
class Rings(Mark):
    """Circles of one radius (pixels) in the colour of the text, empty or filled.

    movable: in SVG they have the class `pl-ring` and the size of the plot as data, so that a page can
    move them.
    """

    x: Numbers
    y: Numbers
    name: str = ""
    radius: float = 6.5
    filled: bool = False
    movable: bool = False
    index: None = None

    @property
    def key_shape(self) -> str:
        """How the legend shows it."""
        return "disc" if self.filled else "ring"


@dataclass(frozen=True)
class Shapes(Mark):
    """Polygons of one series, filled without a rim; NaN separates them."""

    x: Numbers
    y: Numbers
    name: str = ""
    index: int = 0
    opacity: float = 0.25
    key_shape: str = "area"


def joined(parts: list[np.ndarray]) -> np.ndarray:
    """Lines or polygons (points, 2) one after the other, with NaN between them."""
    kept = [row for part in parts if len(part) for row in (part, np.full((1, 2), np.nan))]
    return np.vstack(kept[:-1]) if kept else np.zeros((0, 2))


def xy(points: np.ndarray) -> tuple[Any, Any]:
    """The two columns of points (n, 2)."""
    return points[:, 0], points[:, 1]


def ends_of(lines: np.ndarray) -> tuple[Any, Any, Any, Any]:
    """x1, y1, x2 and y2 of straight lines (n, 4)."""
    return lines[:, 0], lines[:, 1], lines[:, 2], lines[:, 3]


def columns_of(places: Sequence[tuple[float, float, str]]) -> tuple[Any, Any, Any]:
    """x, y and the text of each place."""
    x, y, texts = zip(*places)
    return x, y, texts


@extents.values.register(Outline)
@extents.values.register(Rings)
@extents.values.register(Shapes)
def _places(mark: Outline | Rings | Shapes) -> extents.Columns:
    return list(mark.x), list(mark.y)


def _coloured(index: int | None, parts: list[str], opacity: float) -> list[str]:
    shown = None if opacity >= 1 else f"{opacity:g}"
    if index is None:
        return [svg.group(parts, opacity=shown)]
    return [svg.series_group(index, parts, opacity=shown)]


@svg_renderer.draw.register
def _svg_outline(mark: Outline, area: axes.Panel, panel: Panel) -> list[str]:
    d = svg_renderer.path_data(area, mark.x, mark.y)
    pen = {"stroke": "currentColor", "stroke_width": f"{mark.width:g}", "stroke_linejoin": "round"}
    dots = {"stroke_dasharray": "2 3"} if mark.dotted else {}
    path = svg.element("path", d=d, fill="none", **pen, **dots)
    return _coloured(mark.index, [path], mark.opacity) if d else []


@svg_renderer.draw.register
def _svg_rings(mark: Rings, area: axes.Panel, panel: Panel) -> list[str]:
    places = [(area.x(x), area.y(y)) for x, y in zip(mark.x, mark.y)]
    data: dict[str, Any] = {}
    if mark.movable:
        size = {"data_width": area.plot_width, "data_height": area.plot_height}
        data = {"class_": "pl-ring", **size}
    circles = [
        svg.element("circle", cx=x, cy=y, r=float(mark.radius), **data)
        for x, y in places
        if x == x and y == y
    ]
    pen = {"fill": "currentColor"} if mark.filled else {"fill": "none", "stroke": "currentColor"}
    return [svg.group(circles, **pen, stroke_width="2.5" if mark.movable else "1.4")]


@svg_renderer.draw.register
def _svg_shapes(mark: Shapes, area: axes.Panel, panel: Panel) -> list[str]:
    d = svg_renderer.path_data(area, mark.x, mark.y, closed=True)
    path = svg.element("path", d=d, fill="currentColor")
    hatching = hatched_areas([(mark.index, d)])
    return [*_coloured(mark.index, [path], mark.opacity), *hatching] if d else []


def _pen(index: int | None) -> Any:
    return matplotlib_marks.text_colour() if index is None else series_colour(index)


def _named(mark: Any) -> dict[str, str]:
    return {"label": mark.name} if mark.name else {}


@matplotlib_marks.draw.register
def _ax_outline(mark: Outline, ax: Any, panel: Panel) -> None:
    look = {
        "linewidth": mark.width,
        "alpha": mark.opacity,
        "linestyle": ":" if mark.dotted else "-",
    }
    ax.plot(mark.x, mark.y, color=_pen(mark.index), **look, **_named(mark))


@matplotlib_marks.draw.register
def _ax_rings(mark: Rings, ax: Any, panel: Panel) -> None:
    colour = _pen(None)
    face = colour if mark.filled else "none"
    ax.scatter(mark.x, mark.y, s=3 * mark.radius**2, facecolors=face, edgecolors=colour, zorder=4,
               linewidths=1.2, **_named(mark))  # fmt: skip


@matplotlib_marks.draw.register
def _ax_shapes(mark: Shapes, ax: Any, panel: Panel) -> None:
    points = np.column_stack([mark.x, mark.y])
    gaps = np.flatnonzero(np.isnan(points[:, 0]))
    look = {"color": _pen(mark.index), "alpha": mark.opacity, "linewidth": 0}
    for k, part in enumerate(np.split(points, gaps)):
        corners = part[~np.isnan(part[:, 0])]
        ax.fill(*corners.T, **look, **(_named(mark) if k == 0 else {}))
        if matplotlib_marks.area_hatch(mark.index):
            ax.fill(*corners.T, **matplotlib_marks.hatching(mark.index))
