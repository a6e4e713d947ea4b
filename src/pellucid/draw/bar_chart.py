"""Bar chart with horizontal bars: importances, coefficients, counts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

from pellucid.draw import svg
from pellucid.draw.axes import Axis, Panel, layout, numeric_axis
from pellucid.draw.chart_settings import Look, Settings, with_note
from pellucid.draw.figure import describe, finish, span
from pellucid.draw.label_text import clean
from pellucid.draw.legend import Key, fill_parts, hatch_definitions
from pellucid.draw.number import beside_marks
from pellucid.draw.points import read_columns
from pellucid.draw.scale import extent_with_zero

MOST_BARS = 60
ROW = 24


def bar(
    labels: Sequence[Any],
    series: Mapping[Any, Iterable[Any]],
    **look: Unpack[Look],
) -> str:
    """Horizontal bars from 0, one row per label, top to bottom in the given order.

    Parameters
    ----------
    labels : names of the rows; only the first 60 are drawn, and a note reports the others.
    series : name -> one value per label; several series are drawn side by side.
    """
    columns = read_columns(series, len(labels))
    names = [clean(label) for label in labels]
    shown = min(len(names), MOST_BARS)
    cut = f"Showing the first {shown} of {len(names)} bars." if shown < len(names) else ""
    ends = extent_with_zero(column[:shown] for column in columns.values())
    settings = with_note(Settings(**look), cut)
    thickness = ROW if len(columns) <= 1 else 8 + 13 * len(columns)
    if "height" not in look:
        settings = replace(settings, height=max(shown, 1) * thickness)
    panel = layout(
        numeric_axis(ends),
        Axis(names=tuple(names[:shown])),
        settings,
        [Key(name, i, "fill") for i, name in enumerate(columns)] if len(columns) > 1 else [],
        beside_marks(next(iter(columns.values()))[:shown]) if len(columns) == 1 else [],
    )
    marks = [
        hatch_definitions(len(columns)),
        *_marks(panel, columns, shown),
        _zero(panel, ends, shown),
    ]
    rows = [(name, *(c[i] for c in columns.values())) for i, name in enumerate(names)]
    facts = [f"{len(names)} bars", span(settings.x_label or "Values", *ends)]
    summary = describe("Bar chart", facts, list(columns))
    return finish(panel, marks, summary, [settings.y_label or "label", *columns], rows, True)


def _marks(panel: Panel, columns: Mapping[str, list[float]], shown: int) -> list[str]:
    step = panel.plot_height / max(shown, 1)
    thickness = step * 0.72 / max(len(columns), 1)
    marks = []
    for i, values in enumerate(columns.values()):
        offset = step * 0.14 + i * thickness
        d = "".join(
            _bar(panel.x(0.0), panel.x(value), row * step + offset, thickness)
            for row, value in enumerate(values[:shown])
        )
        if d:
            marks.append(svg.series_group(i, fill_parts(i, d)))
    return marks


def _bar(x1: float, x2: float, y: float, thickness: float) -> str:
    if math.isnan(x1) or math.isnan(x2):
        return ""
    return svg.rectangle_path(min(x1, x2), y, abs(x2 - x1), thickness)


def _zero(panel: Panel, ends: tuple[float, float], rows: int) -> str:
    if not ends[0] <= 0 <= ends[1] or not rows:
        return ""
    x = panel.x(0.0)
    return svg.segment(x, 0, x, panel.plot_height, opacity="0.6")
