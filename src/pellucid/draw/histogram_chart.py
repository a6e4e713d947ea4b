"""Histogram: counts over neighbouring intervals, of one or several groups."""

from __future__ import annotations

import math

from pellucid.draw import svg
from pellucid.draw.axes import Panel
from pellucid.draw.number import coordinate
from pellucid.draw.style import dash


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
