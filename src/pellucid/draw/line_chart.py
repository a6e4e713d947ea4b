"""Line chart: loss curves, ROC, calibration, learning curves, partial dependence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any, Unpack

from pellucid.draw import svg
from pellucid.draw.axes import Panel, layout, numeric_axis
from pellucid.draw.chart_settings import Look, Settings, with_note
from pellucid.draw.dates import date
from pellucid.draw.figure import describe, finish, shown, span
from pellucid.draw.label_text import clean
from pellucid.draw.legend import Key
from pellucid.draw.number import coordinate
from pellucid.draw.points import Points, left_out, read_series, runs, table_columns, thin_line
from pellucid.draw.scale import extent
from pellucid.draw.style import dash

Pair = tuple[Iterable[Any], Iterable[Any]]
MARKED_POINTS = 25  # shorter lines also show their points


def line(
    series: Mapping[Any, Pair],
    *,
    x_log: bool = False,
    y_log: bool = False,
    **look: Unpack[Look],
) -> str:
    """Lines through the points of each series.

    Parameters
    ----------
    series : name -> (x, y); NaN interrupts the line.
    x_log, y_log : logarithmic axes; a note counts the values that are not positive.
    """
    lines = read_series(series)
    settings = with_note(Settings(**look), left_out(lines, x_log, y_log))
    points = list(chain.from_iterable(lines.values()))
    x_extent = extent([[x for x, _ in points]], x_log)
    y_extent = extent([[y for _, y in points]], y_log)
    panel = layout(
        numeric_axis(x_extent, x_log, grid=False), numeric_axis(y_extent, y_log), settings,
        [Key(name, i, "line") for i, name in enumerate(lines)] if len(lines) > 1 else [],
    )  # fmt: skip
    marks = [line_mark(panel, points, i, name) for i, (name, points) in enumerate(lines.items())]
    facts = [
        span(settings.x_label or "x", *x_extent, settings.x_dates),
        span(settings.y_label or "y", *y_extent, settings.y_dates),
    ]
    rows = [
        (name, date(x) if settings.x_dates else x, y)
        for name, points in lines.items()
        for x, y in points
    ]
    columns = ["series", settings.x_label or "x", settings.y_label or "y"]
    return finish(panel, marks, describe("Line chart", facts, list(lines)), columns, rows)


def read_bands(bands: Mapping[Any, tuple[Iterable, Iterable, Iterable]]) -> dict[str, Points]:
    """The outline of each band: forwards along its lower edge, backwards along its upper one."""
    result = {}
    for name, (x, low, high) in bands.items():
        xs, lows, highs = table_columns(str(name), {"x": x, "low": low, "high": high})
        kept = [row for row in zip(xs, lows, highs) if all(v == v for v in row)]
        there = [(a, b) for a, b, _ in kept]
        result[clean(name)] = there + [(a, c) for a, _, c in reversed(kept)]
    return result


def line_mark(panel: Panel, points: Points, index: int, name: str) -> str:
    """One line; a short one has a marker with a tooltip at each point."""
    placed = [(panel.x(x), panel.y(y)) for x, y in points]
    stretches = runs(placed)
    alone = [run[0] for run in stretches if len(run) == 1]
    path = "".join(_path(run) for run in stretches if len(run) > 1)
    parts = []
    if path:
        stroke = {"stroke": "currentColor", "stroke_width": "2", "stroke_linejoin": "round"}
        parts.append(
            svg.element("path", d=path, fill="none", stroke_dasharray=dash(index), **stroke)
        )
    if len(placed) <= MARKED_POINTS and not panel.settings.tips:
        parts.append(svg.points([place for run in runs(placed) for place in run], index))
    elif len(placed) <= MARKED_POINTS:
        dates = panel.settings.x_dates, panel.settings.y_dates
        tooltips = [f"{name}: {shown(x, dates[0])}, {shown(y, dates[1])}" for x, y in points]
        parts.append(svg.points_with_tooltips(placed, tooltips, index))
    else:
        parts.append(svg.points(alone, index))
    return svg.series_group(index, parts)


def _path(run: Points) -> str:
    """Path data without the points that would be drawn at the same place."""
    pairs = [
        f"{coordinate(x)} {coordinate(y)}" for x, y in (thin_line(run) if len(run) > 500 else run)
    ]
    kept = [pair for i, pair in enumerate(pairs) if i == 0 or pair != pairs[i - 1]]
    return "M" + " ".join(corners(kept)) + ("h0" if len(kept) == 1 else "")


def corners(pairs: list[str]) -> list[str]:
    """Path data without the points inside a horizontal or vertical stretch of one direction."""
    kept = pairs[:2]
    for pair in pairs[2:]:
        (ax, ay), (bx, by), (x, y) = (map(float, text.split()) for text in (*kept[-2:], pair))
        level, upright = ay == by == y, ax == bx == x
        if (level and (bx - ax) * (x - bx) > 0) or (upright and (by - ay) * (y - by) > 0):
            kept[-1] = pair
        else:
            kept.append(pair)
    return kept


def band_mark(panel: Panel, outline: Points, index: int, opacity: float) -> str:
    """The area inside an outline."""
    placed = [(panel.x(x), panel.y(y)) for x, y in outline]
    stretches = runs(placed)
    if not stretches:
        return ""
    d = _path([point for run in stretches for point in run]) + "z"
    return svg.series_group(index, [svg.element("path", d=d, fill="currentColor", opacity=opacity)])


def reference_marks(panel: Panel, references: Mapping[str, Points]) -> list[str]:
    """Thin dotted lines in the colour of the text."""
    stroke = {"stroke": "currentColor", "stroke_width": "1.5", "stroke_dasharray": "1 3"}
    result = []
    for points in references.values():
        d = "".join(_path(run) for run in runs((panel.x(x), panel.y(y)) for x, y in points))
        if d:
            result.append(svg.element("path", d=d, fill="none", opacity="0.75", **stroke))
    return result
