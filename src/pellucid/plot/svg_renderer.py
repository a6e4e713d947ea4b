"""A picture as SVG, drawn with the parts of `pellucid.draw`.

Invariant: equal pictures give equal text; it is well-formed, loads nothing and has no style attributes.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import singledispatch

from pellucid.draw import axes, figure, svg
from pellucid.draw import label_text as words
from pellucid.draw.chart_settings import Settings, with_note
from pellucid.draw.heat_chart import heat_limits, heat_marks
from pellucid.draw.histogram_chart import steps_mark
from pellucid.draw.legend import fill_parts, hatch_definitions
from pellucid.draw.line_chart import band_mark, line_mark, read_bands, reference_marks
from pellucid.draw.number import coordinate, number
from pellucid.draw.points import evenly, left_out, runs
from pellucid.draw.region_chart import region_marks
from pellucid.draw.scatter_chart import MOST_POINTS, beside_points, point_marks
from pellucid.draw.style import PICTURE_CSS, dash
from pellucid.plot.colours import colour_of, value_limits
from pellucid.plot.extents import equal_limits, panel_limits, thinned_line
from pellucid.plot.legend_keys import panel_keys
from pellucid.plot.picture import (
    Area,
    Axis,
    Band,
    Bars,
    Heat,
    Intervals,
    Line,
    Mark,
    Numbers,
    Panel,
    Picture,
    Points,
    Regions,
    Rule,
    Segments,
    Steps,
    Text,
)  # fmt: skip

GAP = 24
WIDE = 520  # pixels from which a picture is not made smaller on a narrow page
MARKED_POINTS = 25  # as in `draw.line`
MOST_FILLED = 4  # overlapping histograms whose areas are tinted


def picture_svg(picture: Picture, style: bool = True) -> str:
    """One `<svg>` with all panels, its own title and description, and its style sheet."""
    parts = [_panel(panel, picture) for panel in picture.panels]
    sheet = f"<style>{PICTURE_CSS}</style>" if style else ""
    if len(parts) == 1:
        return parts[0][0].replace("</desc>", "</desc>" + sheet, 1)
    columns = max(picture.columns, 1)
    rows = [parts[i : i + columns] for i in range(0, len(parts), columns)]
    y = 26.0 if picture.title else 0.0
    width = max(sum(size[0] + GAP for _, size in row) - GAP for row in rows)
    placed = [svg.label(6, 20, picture.title, (width - 12) / 17, font_size=15, font_weight="600")]
    for row in rows:
        x = 0.0
        for text, size in row:
            placed.append(svg.group([text], transform=f"translate({x:g} {y:g})"))
            x += size[0] + GAP
        y += max(size[1] for _, size in row) + GAP / 2
    title = words.escape(words.clean(picture.title or picture.kind))
    head = [svg.element("title", title), svg.element("desc", words.escape(summary(picture))), sheet]
    body = "".join(head + (placed if picture.title else placed[1:]))
    return svg.element(
        "svg", body, xmlns="http://www.w3.org/2000/svg", viewBox=f"0 0 {width:g} {math.ceil(y)}",
        width=f"{width:g}", height=math.ceil(y), role="img", aria_label=picture.title or picture.kind,
        font_family="system-ui, sans-serif", font_size=svg.FONT, fill="currentColor",
    )  # fmt: skip


def panels_svg(picture: Picture) -> list[str]:
    """One `<svg>` per panel, without a style sheet, so that a page can wrap them."""
    drawn = [(_panel(panel, picture)[0], panel.width > WIDE) for panel in picture.panels]
    return [text.replace("<svg", '<svg class="pl-wide"', 1) if w else text for text, w in drawn]


def summary(picture: Picture) -> str:
    """A description for screen readers."""
    titles = [panel.title for panel in picture.panels if panel.title]
    return figure.describe(picture.kind, [], titles if len(picture.panels) > 1 else _names(picture))


def _names(picture: Picture) -> list[str]:
    return [key.label for panel in picture.panels for key in panel_keys(panel)]


def _panel(panel: Panel, picture: Picture) -> tuple[str, tuple[int, int]]:
    """The markup of a panel, and its width and height."""
    title = panel.title or (picture.title if len(picture.panels) == 1 else "")
    panel, thinned = _thinned(panel)
    settings = Settings(
        title=title, x_label=panel.x.label, y_label=panel.y.label, note=panel.note,
        width=panel.width, height=panel.height, x_dates=panel.x.dates, y_dates=panel.y.dates,
        tips=panel.tips,
    )  # fmt: skip
    settings = with_note(settings, left_out(_lines(panel), panel.x.log, panel.y.log), thinned)
    area = _layout(panel, settings)
    n_filled = 1 + max((m.index for m in panel.marks if isinstance(m, Bars)), default=-1)
    marks = [hatch_definitions(n_filled) if n_filled else ""]
    marks += [markup for mark in panel.marks for markup in draw(mark, area, panel)]
    clip = any(v is not None for a in (panel.x, panel.y) for v in (a.low, a.high)) or bool(n_filled)
    what = figure.describe(
        title or picture.kind, _spans(panel, area), [k.label for k in panel_keys(panel)]
    )
    return figure.picture(area, marks, what, clip), (panel.width, math.ceil(area.height))


def _lines(panel: Panel) -> dict[str, list[tuple[float, float]]]:
    shown = [mark for mark in panel.marks if isinstance(mark, (Line, Points))]
    return {str(i): list(zip(mark.x, mark.y)) for i, mark in enumerate(shown)}


def _spans(panel: Panel, area: axes.Panel) -> list[str]:
    ends = zip((panel.x, panel.y), panel_limits(panel), "xy")
    return [
        figure.span(axis.label or name, *limits)
        for axis, limits, name in ends
        if axis.names is None and axis.ticks
    ]


def _layout(panel: Panel, settings: Settings) -> axes.Panel:
    x, y = panel_limits(panel)
    area = axes.layout(
        _axis(panel.x, x), _axis(panel.y, y), settings, panel_keys(panel), panel.right_texts
    )
    for _ in range(3 if panel.equal else 0):  # other limits have other labels and leave other room
        ends = equal_limits(x, y, area.plot_width, area.plot_height)
        area = axes.layout(
            _axis(panel.x, ends[0]), _axis(panel.y, ends[1]), settings, panel_keys(panel)
        )
    return area


def _axis(axis: Axis, limits: tuple[float, float]) -> axes.Axis:
    names = None if axis.names is None else tuple(map(words.clean, axis.names))
    return axes.Axis(*limits, log=axis.log, names=names, grid=axis.grid, ticks=axis.ticks)


def _thinned(panel: Panel) -> tuple[Panel, str]:
    """At most `MOST_POINTS` points, and a note if some are left out; long lines look the same."""
    lines = (thinned_line(m, panel.x.log) if isinstance(m, Line) else m for m in panel.marks)
    panel = replace(panel, marks=tuple(lines))
    total = sum(len(mark.x) for mark in panel.marks if isinstance(mark, Points))
    if total <= MOST_POINTS:
        return panel, ""
    share = MOST_POINTS / total
    marks = tuple(_fewer(m, share) if isinstance(m, Points) else m for m in panel.marks)
    shown = sum(len(mark.x) for mark in marks if isinstance(mark, Points))
    return replace(panel, marks=marks), f"Showing {shown} of {total} points."


def _fewer(mark: Points, share: float) -> Points:
    kept = evenly(range(len(mark.x)), max(2, int(len(mark.x) * share)))
    columns = {
        name: [column[i] for i in kept] if column else ()
        for name in ("x", "y", "texts", "sizes", "values")
        for column in [getattr(mark, name)]
    }
    return replace(mark, **columns)  # type: ignore[arg-type]


# Marks ----------------------------------------------------------------------------------------


@singledispatch
def draw(mark: Mark, area: axes.Panel, panel: Panel) -> list[str]:
    """The markup of one mark."""
    raise NotImplementedError(type(mark).__name__)


@draw.register
def _line(mark: Line, area: axes.Panel, panel: Panel) -> list[str]:
    places = list(zip(mark.x, mark.y))
    if mark.reference:
        return reference_marks(area, {"": places})
    if not mark.thin and (mark.points or len(places) > MARKED_POINTS):
        return [line_mark(area, places, mark.index, words.clean(mark.name) or panel.y.label)]
    path = path_data(area, mark.x, mark.y)
    stroke = {"stroke": "currentColor", "stroke_width": "2", "stroke_dasharray": dash(mark.index)}
    if mark.thin:
        stroke |= {"stroke_width": "0.7", "stroke_dasharray": None, "opacity": "0.55"}
    return [svg.series_group(mark.index, [svg.element("path", d=path, fill="none", **stroke)])]


def path_data(area: axes.Panel, x: Numbers, y: Numbers, closed: bool = False) -> str:
    """The data of a path through points; NaN begins another line or polygon."""
    end = "z" if closed else ""
    return "".join(
        "M" + " ".join(f"{coordinate(px)} {coordinate(py)}" for px, py in run) + end
        for run in runs((area.x(a), area.y(b)) for a, b in zip(x, y))
    )


@draw.register
def _rule(mark: Rule, area: axes.Panel, panel: Panel) -> list[str]:
    stroke = {"stroke_dasharray": "1 3", "stroke_width": "1.5", "opacity": "0.75"}
    parts = []
    if mark.x is not None:
        parts.append(svg.segment(area.x(mark.x), 0, area.x(mark.x), area.plot_height, **stroke))
    if mark.y is not None:
        parts.append(svg.segment(0, area.y(mark.y), area.plot_width, area.y(mark.y), **stroke))
    return parts


@draw.register
def _band(mark: Band, area: axes.Panel, panel: Panel) -> list[str]:
    outline = read_bands({"": (mark.x, mark.low, mark.high)})[""]
    several = sum(isinstance(other, Band) for other in panel.marks) > 1
    return [band_mark(area, outline, mark.index, 0.1 if several else 0.18)]


@draw.register
def _points(mark: Points, area: axes.Panel, panel: Panel) -> list[str]:
    places = list(zip(mark.x, mark.y))
    if mark.values or mark.sizes:
        parts = _discs(mark, area)
    else:
        parts = _markers(mark, area, places)
    if mark.texts:
        others = [
            place
            for other in panel.marks
            if isinstance(other, Points) and other is not mark
            for place in zip(other.x, other.y)
        ]
        parts += beside_points(area, places, [words.clean(text) for text in mark.texts], others)
    return parts


def _markers(mark: Points, area: axes.Panel, places: list[tuple[float, float]]) -> list[str]:
    empty: list[list[tuple[float, float]]] = [[] for _ in range(mark.index)]
    parts = [part for part in point_marks(area, [*empty, places], mark.outline) if part]
    if mark.texts:
        tips = [
            f"{words.clean(text)}: {number(x, 3)}, {number(y, 3)}"
            for text, (x, y) in zip(mark.texts, places)
        ]
        where = [(area.x(x), area.y(y)) for x, y in places]
        parts.append(svg.points_with_tooltips(where, tips, 0, stroke_width="14", opacity="0"))
    return parts


def _discs(mark: Points, area: axes.Panel) -> list[str]:
    """Discs of their own size or colour."""
    n = len(mark.x)
    sizes = mark.sizes or [3.2] * n
    fills = [colour_of(v, *value_limits(mark.values)) for v in mark.values] or ["currentColor"] * n
    rim = {"stroke": "currentColor", "stroke_width": "0.8"} if mark.outline else {}
    discs = [
        svg.element("circle", cx=px, cy=py, r=float(size), fill=fill, **rim)
        for px, py, size, fill in zip(map(area.x, mark.x), map(area.y, mark.y), sizes, fills)
        if px == px and py == py and size > 0
    ]
    if mark.values:
        return [svg.group(discs, opacity="0.85")]
    return [svg.series_group(mark.index, discs, fill_opacity="0.7")]


@draw.register
def _bars(mark: Bars, area: axes.Panel, panel: Panel) -> list[str]:
    half, d = mark.width / 2, ""
    for at, start, end in zip(mark.at, mark.start, mark.end):
        along, across = (start, end), (at - half, at + half)
        xs, ys = (along, across) if mark.horizontal else (across, along)
        corner = [area.x(v) for v in xs] + [area.y(v) for v in ys]
        if not any(map(math.isnan, corner)):
            (a, b), (c, e) = sorted(corner[:2]), sorted(corner[2:])
            d += svg.rectangle_path(a, c, b - a, e - c)
    return [svg.series_group(mark.index, fill_parts(mark.index, d))] if d else []


@draw.register
def _steps(mark: Steps, area: axes.Panel, panel: Panel) -> list[str]:
    few = sum(isinstance(other, Steps) for other in panel.marks) <= MOST_FILLED
    return [steps_mark(area, list(mark.edges), list(mark.heights), mark.index, mark.solid, few)]


@draw.register
def _intervals(mark: Intervals, area: axes.Panel, panel: Panel) -> list[str]:
    lines, centres = [], []
    for at, centre, low, high in zip(mark.at, mark.centre, mark.low, mark.high):
        ends = [(low, at), (high, at), (centre, at)]
        if not mark.horizontal:
            ends = [(b, a) for a, b in ends]
        (x1, y1), (x2, y2), middle = (_place(area, x, y) for x, y in ends)
        if not any(map(math.isnan, (x1, y1, x2, y2))):
            lines.append((x1, y1, x2, y2))
        if not any(map(math.isnan, middle)):
            centres.append(middle)
    parts = [svg.segments(lines, stroke_width="2"), svg.points(centres, mark.index)]
    return [svg.series_group(mark.index, parts), *_interval_tips(mark, area, panel)]


def _interval_tips(mark: Intervals, area: axes.Panel, panel: Panel) -> list[str]:
    """Invisible bands with the numbers of their row as tooltips."""
    names = panel.y.names or ()
    if not panel.tips or not mark.horizontal or len(names) != len(mark.at):
        return []
    step, out = area.plot_height / len(names), []
    for k, (name, centre, low, high) in enumerate(zip(names, mark.centre, mark.low, mark.high)):
        if math.isfinite(centre):
            ends = f" ({number(low)} to {number(high)})" if low == low and high == high else ""
            title = svg.element(
                "title", words.escape(f"{words.clean(name)}: {number(centre)}{ends}")
            )
            d = svg.rectangle_path(0, k * step, area.plot_width, step)
            out.append(svg.element("path", title, d=d, opacity="0"))
    return out


def _place(area: axes.Panel, x: float, y: float) -> tuple[float, float]:
    """Pixels of a point; an infinite coordinate is at the edge of the plot."""
    px = (area.plot_width if x > 0 else 0.0) if math.isinf(x) else area.x(x)
    py = (0.0 if y > 0 else area.plot_height) if math.isinf(y) else area.y(y)
    return px, py


@draw.register
def _heat(mark: Heat, area: axes.Panel, panel: Panel) -> list[str]:
    rows = [list(row) for row in (mark.values if panel.y.names is not None else mark.values[::-1])]
    limits = heat_limits(rows, mark.limits, mark.diverging)
    texts = [[""] * len(row) for row in rows] if mark.texts == () else mark.texts
    return heat_marks(area, rows, texts, limits, mark.diverging, mark.index)


@draw.register
def _regions(mark: Regions, area: axes.Panel, panel: Panel) -> list[str]:
    codes = [[int(code) for code in row] for row in mark.codes]
    obstacles = [p for m in panel.marks if isinstance(m, Points) for p in zip(m.x, m.y)]
    names = [words.clean(name) for name in mark.classes]
    return region_marks(area, codes, mark.certainty or None, names, obstacles)


@draw.register
def _segments(mark: Segments, area: axes.Panel, panel: Panel) -> list[str]:
    widths = mark.widths or [1.5] * len(mark.x1)
    parts = []
    for x1, y1, x2, y2, width in zip(mark.x1, mark.y1, mark.x2, mark.y2, widths):
        ends = area.x(x1), area.y(y1), area.x(x2), area.y(y2)
        if any(map(math.isnan, ends)) or width <= 0:
            continue
        lines = [ends, *_head(*ends)] if mark.arrows else [ends]
        parts.append(svg.segments(lines, stroke_width=f"{width:.2g}"))
    if mark.index is None:
        return [svg.group(parts, opacity="0.75")]
    return [svg.series_group(mark.index, parts)]


def _head(x1: float, y1: float, x2: float, y2: float) -> list[tuple[float, float, float, float]]:
    """The two strokes of an arrow head."""
    angle = math.atan2(y2 - y1, x2 - x1)
    return [
        (x2, y2, x2 - 7 * math.cos(angle + turn), y2 - 7 * math.sin(angle + turn))
        for turn in (0.45, -0.45)
    ]


@draw.register
def _area(mark: Area, area: axes.Panel, panel: Panel) -> list[str]:
    d = path_data(area, mark.x, mark.y, closed=True)
    if not d:
        return []
    fill = svg.element("path", d=d, fill="currentColor", opacity=f"{mark.opacity:g}")
    rim = svg.element("path", d=d, fill="none", stroke="currentColor", stroke_width="1.5",
                      stroke_dasharray=dash(mark.index))  # fmt: skip
    return [svg.series_group(mark.index, [fill, rim])]


@draw.register
def _text(mark: Text, area: axes.Panel, panel: Panel) -> list[str]:
    look = {
        "text_anchor": mark.anchor,
        "font_size": mark.size,
        "font_weight": "600" if mark.bold else None,
    }
    return [
        svg.label(area.x(x), area.y(y) + mark.size * 0.35, words.clean(text), mark.em, **look)
        for x, y, text in zip(mark.x, mark.y, mark.texts)
    ]
