"""Every mark of a picture drawn into matplotlib's Axes, with the colours and shapes of the SVG."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from pellucid.draw import label_text as words
from pellucid.draw.heat_chart import STRONGEST, heat_limits
from pellucid.draw.legend import area_hatch, short_name
from pellucid.draw.number import number
from pellucid.draw.png import red_green_blue
from pellucid.draw.region_chart import class_runs, region_colours, region_pixels
from pellucid.draw.style import DASHES, MARKERS, PALETTE, marker
from pellucid.plot.colours import colour_of, series_colour, value_limits
from pellucid.plot.extents import panel_limits
from pellucid.plot.picture import (
    Area,
    Band,
    Bars,
    Heat,
    Intervals,
    Line,
    Mark,
    Panel,
    Points,
    Regions,
    Rule,
    Segments,
    Steps,
    Text,
)  # fmt: skip

_MARKERS = dict(zip(MARKERS, ("o", "s", "^", "D", "v", "P", "h", "X")))
_HATCHES = ("", "--", "||", "//", "++")  # as in the SVG
MARKED_POINTS = 25
LONGEST = 28  # characters of a name on an axis or beside a point
WIDEST = 18.0  # em of a name in a legend


def hatching(index: int) -> dict[str, Any]:
    """How the lines on a pale area of series `index` are drawn."""
    look = {"facecolor": "none", "edgecolor": series_colour(index), "linewidth": 0}
    return {**look, "hatch": _HATCHES[area_hatch(index)]}


def _label(mark: Any) -> dict[str, str]:
    return {"label": words.clean(mark.name)} if mark.name else {}


def legend_text(label: str) -> str:
    """A name as the legend shows it; the artist keeps the whole one."""
    return short_name(label, WIDEST)


def _dash(index: int) -> Any:
    pattern = DASHES[index % len(DASHES)]
    return (0, tuple(float(v) / 2 for v in pattern.split())) if pattern else "-"


def _marker(index: int) -> str:
    return _MARKERS[marker(index)]


_DOTTED = {"linestyle": (0, (1, 3)), "linewidth": 1.5, "alpha": 0.75}


def text_colour() -> Any:
    from matplotlib import rcParams

    return rcParams["text.color"]


@singledispatch
def draw(mark: Mark, ax: Any, panel: Panel) -> None:
    """Draw one mark."""
    raise NotImplementedError(type(mark).__name__)


@draw.register
def _line(mark: Line, ax: Any, panel: Panel) -> None:
    if mark.reference:
        ax.plot(mark.x, mark.y, color=text_colour(), **_DOTTED, **_label(mark))
        return
    if mark.thin:
        thin = {"linewidth": 0.7, "alpha": 0.55}
        ax.plot(mark.x, mark.y, color=series_colour(mark.index), **thin, **_label(mark))
        return
    shape = _marker(mark.index) if mark.points and len(mark.x) <= MARKED_POINTS else None
    ax.plot(
        mark.x, mark.y, color=series_colour(mark.index), linestyle=_dash(mark.index), linewidth=2,
        marker=shape, markersize=5, **_label(mark),
    )  # fmt: skip


@draw.register
def _rule(mark: Rule, ax: Any, panel: Panel) -> None:
    if mark.x is not None:
        ax.axvline(mark.x, color=text_colour(), **_DOTTED, **_label(mark))
    if mark.y is not None:
        ax.axhline(mark.y, color=text_colour(), **_DOTTED, **_label(mark))


@draw.register
def _band(mark: Band, ax: Any, panel: Panel) -> None:
    colour = series_colour(mark.index)
    ax.fill_between(
        mark.x, mark.low, mark.high, color=colour, alpha=0.18, linewidth=0, **_label(mark)
    )


@draw.register
def _points(mark: Points, ax: Any, panel: Panel) -> None:
    if mark.values:
        ends = value_limits(mark.values)
        look: dict[str, Any] = {"c": [colour_of(v, *ends) for v in mark.values]}
    else:
        look = {"color": series_colour(mark.index), **_label(mark)}
    shape = "o" if mark.sizes or mark.values else _marker(mark.index)
    area = [max(size, 0.0) ** 2 * 3 for size in mark.sizes] if mark.sizes else 22
    rim = {"edgecolors": text_colour(), "linewidths": 0.6} if mark.outline else {"linewidths": 0}
    ax.scatter(mark.x, mark.y, s=area, marker=shape, alpha=0.8, zorder=3, **look, **rim)
    for x, y, text in zip(mark.x, mark.y, mark.texts):
        shown = words.clean(text, LONGEST)
        ax.annotate(shown, (x, y), (5, 3), textcoords="offset points", fontsize="small")


@draw.register
def _bars(mark: Bars, ax: Any, panel: Panel) -> None:
    length = np.asarray(mark.end) - np.asarray(mark.start)
    look = {"color": series_colour(mark.index), "alpha": 0.85, **_label(mark)}
    if mark.index % len(_HATCHES):
        look |= {"hatch": _HATCHES[mark.index % len(_HATCHES)], "edgecolor": "white"}
    if mark.horizontal:
        ax.barh(mark.at, length, height=mark.width, left=mark.start, **look)
    else:
        ax.bar(mark.at, length, width=mark.width, bottom=mark.start, **look)


@draw.register
def _steps(mark: Steps, ax: Any, panel: Panel) -> None:
    colour = series_colour(mark.index)
    if mark.solid:
        ax.stairs(mark.heights, mark.edges, fill=True, color=colour, alpha=0.85, **_label(mark))
        return
    ax.stairs(
        mark.heights, mark.edges, color=colour, linewidth=2, linestyle=_dash(mark.index),
        **_label(mark),
    )  # fmt: skip


@draw.register
def _intervals(mark: Intervals, ax: Any, panel: Panel) -> None:
    colour, centre = series_colour(mark.index), np.asarray(mark.centre)
    lines = (ax.hlines if mark.horizontal else ax.vlines)(
        mark.at, mark.low, mark.high, color=colour, linewidth=2
    )
    lines.set_label("_")
    x, y = (centre, mark.at) if mark.horizontal else (mark.at, centre)
    ax.plot(x, y, color=colour, linestyle="none", marker=_marker(mark.index), **_label(mark))


@draw.register
def _heat(mark: Heat, ax: Any, panel: Panel) -> None:
    values = np.asarray(mark.values, dtype=float)
    low, high = heat_limits(values.tolist(), mark.limits, mark.diverging)
    (x1, x2), (y1, y2) = panel_limits(panel)
    downwards = panel.y.names is not None
    ends = (x1, x2, y2, y1) if downwards else (x1, x2, y1, y2)
    origin = "upper" if downwards else "lower"
    ax.imshow(
        values, cmap=_colour_map(mark.diverging, mark.index), vmin=low, vmax=max(high, low + 1e-300),
        extent=ends, origin=origin, aspect="auto", interpolation="nearest",
    )  # fmt: skip
    if downwards and mark.texts != () and values.size <= 400:
        texts = [[number(v, 3) for v in row] for row in mark.values]
        for i, row in enumerate(texts if mark.texts is None else mark.texts):
            for j, text in enumerate(row):
                ax.text(j, i, text, ha="center", va="center")


def _colour_map(diverging: bool, index: int = 0) -> Any:
    """From transparent to the colour, so that the text stays readable on any background."""
    from matplotlib.colors import LinearSegmentedColormap

    def ends(colour: str) -> list[tuple[float, ...]]:
        plain = tuple(part / 255 for part in red_green_blue(colour))
        return [(*plain, 0.0), (*plain, STRONGEST)]

    high = ends(series_colour(index))
    colours = [*ends(PALETTE[1])[::-1], *high] if diverging else high
    places = [0, 0.5, 0.5, 1] if diverging else [0, 1]
    return LinearSegmentedColormap.from_list("pellucid", list(zip(places, colours)))


@draw.register
def _regions(mark: Regions, ax: Any, panel: Panel) -> None:
    codes = [[int(code) for code in row] for row in mark.codes]
    k = len(mark.classes)
    pixels = [list(row) for row in region_pixels(codes, mark.certainty or None, k)]
    image = np.asarray(region_colours(k), dtype=np.uint8)[np.asarray(pixels)]
    (x1, x2), (y1, y2) = panel_limits(panel)
    ax.imshow(
        image, extent=(x1, x2, y1, y2), origin="lower", aspect="auto", interpolation="nearest"
    )
    x, y = np.linspace(x1, x2, len(codes[0]) + 1), np.linspace(y1, y2, len(codes) + 1)
    for code in range(len(PALETTE), k):  # colours that were used before
        for i, first, last in class_runs(codes, code):
            a, b = x[first], x[last]
            ax.fill([a, b, b, a], [y[i], y[i], y[i + 1], y[i + 1]], **hatching(code))


@draw.register
def _segments(mark: Segments, ax: Any, panel: Panel) -> None:
    from matplotlib.collections import LineCollection

    colour = text_colour() if mark.index is None else series_colour(mark.index)
    widths = list(mark.widths) or [1.5] * len(mark.x1)
    lines = list(
        zip(zip(mark.x1, mark.y1, strict=True), zip(mark.x2, mark.y2, strict=True), strict=True)
    )
    if not mark.arrows:
        drawn = LineCollection(lines, linewidths=widths, colors=[colour])
        drawn.set(**_label(mark))
        ax.add_collection(drawn)
        return
    for (start, end), width in zip(lines, widths):
        arrow = {"arrowstyle": "->", "color": colour, "linewidth": width}
        ax.annotate("", xy=end, xytext=start, arrowprops=arrow)


@draw.register
def _area(mark: Area, ax: Any, panel: Panel) -> None:
    colour = series_colour(mark.index)
    ax.fill(mark.x, mark.y, color=colour, alpha=mark.opacity, **_label(mark))
    ax.plot(
        [*mark.x, *mark.x[:1]], [*mark.y, *mark.y[:1]], color=colour, linewidth=1.5,
        linestyle=_dash(mark.index),
    )  # fmt: skip


@draw.register
def _text(mark: Text, ax: Any, panel: Panel) -> None:
    side = {"start": "left", "middle": "center", "end": "right"}[mark.anchor]
    for x, y, text in zip(mark.x, mark.y, mark.texts):
        shown = words.fit(words.clean(text), mark.em)
        weight = "bold" if mark.bold else "normal"
        ax.text(
            x,
            y,
            shown,
            ha=side,
            va="center",
            fontsize=mark.size * 0.75,
            fontweight=weight,
            clip_on=True,
        )
