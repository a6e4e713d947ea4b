"""Histogram: counts over neighbouring intervals, of one or several groups."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any, Unpack

from pellucid.draw import svg
from pellucid.draw.axes import Axis, Panel, layout, numeric_axis
from pellucid.draw.chart_settings import Look, Settings
from pellucid.draw.figure import describe, finish, shown, span
from pellucid.draw.legend import Key
from pellucid.draw.number import coordinate
from pellucid.draw.points import floats, read_columns
from pellucid.draw.scale import extent, extent_with_zero
from pellucid.draw.style import dash
from pellucid.errors import ParameterError


def histogram(
    edges: Iterable[Any],
    counts: Mapping[Any, Iterable[Any]],
    **look: Unpack[Look],
) -> str:
    """One group: filled columns. Several: outlines, each with its own dash.

    Parameters
    ----------
    edges : n + 1 increasing numbers.
    counts : name of the group -> n counts or densities.
    """
    borders = floats(edges)
    groups = read_columns(counts, max(len(borders) - 1, 0))
    if not all(a < b for a, b in pairwise(borders)) or not all(map(math.isfinite, borders)):
        raise ParameterError("The edges of a histogram must be finite and increasing.")
    settings = Settings(**look)
    tops = extent_with_zero(groups.values())
    x_extent = extent([borders])
    panel = layout(
        Axis(*x_extent, grid=False),
        numeric_axis(tops, None, False),
        settings,
        [Key(name, i, "line") for i, name in enumerate(groups)] if len(groups) > 1 else [],
    )
    single = len(groups) == 1
    marks = [
        steps_mark(panel, borders, values, i, single) for i, values in enumerate(groups.values())
    ]
    dates = settings.x_dates
    bins = [f"{shown(a, dates)} to {shown(b, dates)}" for a, b in pairwise(borders)]
    rows = [(name, *(values[i] for values in groups.values())) for i, name in enumerate(bins)]
    facts = [f"{len(bins)} intervals", span(settings.x_label or "x", *x_extent, dates)]
    facts.append(span(settings.y_label or "count", *tops))
    summary = describe("Histogram", facts, list(groups))
    return finish(panel, marks, summary, [settings.x_label or "interval", *groups], rows)


def steps_mark(
    panel: Panel,
    borders: list[float],
    values: list[float],
    index: int,
    single: bool,
    fill: bool = True,
) -> str:
    """The columns of one group, solid if it is the only one, otherwise outlined."""
    pixels = [panel.x(border) for border in borders]
    tops = [panel.y(v) if math.isfinite(v) else panel.plot_height for v in values]
    if single:
        d = "".join(
            svg.rectangle_path(a + 0.5, top, max(b - a - 1, 0.5), panel.plot_height - top)
            for a, b, top in zip(pixels, pixels[1:], tops)
            if top < panel.plot_height
        )
        parts = [svg.element("path", d=d, fill="currentColor", fill_opacity="0.85")] if d else []
        return svg.series_group(index, parts)
    if not tops:
        return ""
    steps = "".join(f"V{coordinate(t)}H{coordinate(x)}" for t, x in zip(tops, pixels[1:]))
    ground = coordinate(panel.plot_height)
    d = f"M{coordinate(pixels[0])} {ground}{steps}V{ground}"
    area = svg.element("path", d=d + "z", fill="currentColor", opacity="0.12")
    parts = [
        area if fill else "",
        svg.element(
            "path",
            d=d,
            fill="none",
            stroke="currentColor",
            stroke_width="2",
            stroke_dasharray=dash(index),
        ),
    ]
    return svg.series_group(index, parts)
