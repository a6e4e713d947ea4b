"""Dot-and-interval chart: scores or coefficients with their uncertainty, one row each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Unpack

from pellucid.draw import svg
from pellucid.draw.axes import Axis, Panel, layout, numeric_axis
from pellucid.draw.chart_settings import Look, Settings, with_note
from pellucid.draw.figure import describe, finish, span
from pellucid.draw.label_text import clean, escape
from pellucid.draw.number import beside_marks, coordinate, number
from pellucid.draw.points import floats, table_columns
from pellucid.draw.scale import extent

MOST_ROWS = 60
ROW = 24


def intervals(
    labels: Sequence[Any],
    centre: Iterable[Any],
    low: Iterable[Any],
    high: Iterable[Any],
    *,
    dots: Sequence[Iterable[Any]] | None = None,
    band: tuple[float, float] | None = None,
    reference: float | None = None,
    x_log: bool = False,
    x_range: tuple[float, float] | None = None,
    **look: Unpack[Look],
) -> str:
    """A dot at `centre` and a line from `low` to `high` per label, top to bottom.

    Parameters
    ----------
    labels : names of the rows; only the first 60 are drawn, and a note reports the others.
    centre, low, high : one value per label; a row without a finite centre keeps its label.
    dots : per label the single results (folds), drawn as short ticks.
    band : range of the axis to shade, for instance of the models as good as the best.
    reference : value marked by a dotted line, for instance 0.
    x_log, x_range : as in `line`.
    """
    _, middles, lows, highs = table_columns(
        "intervals", {"labels": range(len(labels)), "centre": centre, "low": low, "high": high}
    )
    names = [clean(label) for label in labels]
    single = [floats(values) for values in dots] if dots is not None else []
    shown = min(len(names), MOST_ROWS)
    cut = f"Showing the first {shown} of {len(names)} rows." if shown < len(names) else ""
    extra = [v for v in (*(band or ()), reference) if v is not None]
    ends = extent([middles[:shown], lows[:shown], highs[:shown], *single[:shown], extra], x_log)
    settings = with_note(Settings(**look), cut)
    if "height" not in look:
        settings = replace(settings, height=max(shown, 1) * ROW)
    panel = layout(
        numeric_axis(ends, x_range, x_log),
        Axis(names=tuple(names[:shown])),
        settings,
        right_texts=["n/a" if text == "nan" else text for text in beside_marks(middles[:shown])],
    )
    marks = [
        *_behind(panel, band, reference),
        _strokes(panel, single[:shown]),
        _rows(panel, middles[:shown], lows[:shown], highs[:shown]),
        *(
            _tooltips(panel, list(zip(names, middles, lows, highs))[:shown])
            if settings.tips
            else ()
        ),
    ]
    rows = list(zip(names, middles, lows, highs))
    facts = [f"{len(names)} rows", span(settings.x_label or "Values", *ends)]
    summary = describe("Dot-and-interval chart", facts)
    columns = [settings.y_label or "label", "centre", "low", "high"]
    return finish(panel, marks, summary, columns, rows, x_range is not None)


def _behind(panel: Panel, band: tuple[float, float] | None, reference: float | None) -> list[str]:
    parts = []
    if band is not None:
        x1, x2 = sorted((panel.x(float(band[0])), panel.x(float(band[1]))))
        d = svg.rectangle_path(x1, 0, x2 - x1, panel.plot_height)
        parts.append(svg.element("path", d=d, fill="currentColor", opacity="0.1"))
    if reference is not None and not math.isnan(panel.x(float(reference))):
        x = panel.x(float(reference))
        stroke = {"stroke_dasharray": "1 3", "stroke_width": "1.5", "opacity": "0.75"}
        parts.append(svg.segment(x, 0, x, panel.plot_height, **stroke))
    return parts


def _strokes(panel: Panel, single: list[list[float]]) -> str:
    d = "".join(
        f"M{coordinate(panel.x(value))} {coordinate(panel.y(row) - 7)}v14"
        for row, values in enumerate(single)
        for value in values
        if not math.isnan(panel.x(value))
    )
    if not d:
        return ""
    return svg.element("path", d=d, stroke="currentColor", opacity="0.45", fill="none")


def _rows(panel: Panel, middles: list[float], lows: list[float], highs: list[float]) -> str:
    lines, points = "", []
    for row, (middle, low, high) in enumerate(zip(middles, lows, highs)):
        y = panel.y(float(row))
        x, x1, x2 = panel.x(middle), _end(panel, low), _end(panel, high)
        if not (math.isnan(x1) or math.isnan(x2)):
            lines += f"M{coordinate(x1)} {coordinate(y)}L{coordinate(x2)} {coordinate(y)}"
        if not math.isnan(x):
            points.append((x, y))
    parts = []
    if lines:
        parts.append(svg.element("path", d=lines, stroke="currentColor", stroke_width="2.5"))
    parts.append(svg.points(points, 0, stroke_width="9"))
    return svg.series_group(0, parts)


def _tooltips(panel: Panel, rows: list[tuple[str, float, float, float]]) -> list[str]:
    """Invisible bands with the numbers of their row as tooltips."""
    out = []
    for k, (name, middle, low, high) in enumerate(rows):
        if not math.isfinite(middle):
            continue
        ends = f" ({number(low)} to {number(high)})" if low == low and high == high else ""
        title = svg.element("title", escape(f"{name}: {number(middle)}{ends}"))
        d = svg.rectangle_path(0, panel.y(float(k)) - ROW / 2, panel.plot_width, ROW)
        out.append(svg.element("path", title, d=d, opacity="0"))
    return out


def _end(panel: Panel, value: float) -> float:
    """An infinite end of an interval goes to the edge of the plot."""
    if math.isinf(value):
        return panel.plot_width if value > 0 else 0.0
    return panel.x(value)
