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
from pellucid.errors import ParameterError

MOST_BARS = 60
ROW = 24


def bar(
    labels: Sequence[Any],
    series: Mapping[Any, Iterable[Any]],
    *,
    stacked: bool = False,
    x_range: tuple[float, float] | None = None,
    **look: Unpack[Look],
) -> str:
    """Horizontal bars from 0, one row per label, top to bottom in the given order.

    Parameters
    ----------
    labels : names of the rows; only the first 60 are drawn, and a note reports the others.
    series : name -> one value per label; several series are drawn side by side, or end to end.
    stacked : draw the series end to end; values must not be negative.
    x_range : limits of the axis; by default 0 and the data.
    """
    columns = read_columns(series, len(labels))
    if stacked and any(v < 0 for values in columns.values() for v in values):
        raise ParameterError("Stacked bars cannot show negative values.")
    names = [clean(label) for label in labels]
    shown = min(len(names), MOST_BARS)
    cut = f"Showing the first {shown} of {len(names)} bars." if shown < len(names) else ""
    bars = _stacked(columns) if stacked else {n: [(0.0, v) for v in c] for n, c in columns.items()}
    ends = extent_with_zero([v for bar in b[:shown] for v in bar] for b in bars.values())
    settings = with_note(Settings(**look), cut)
    thickness = ROW if stacked or len(columns) <= 1 else 8 + 13 * len(columns)
    if "height" not in look:
        settings = replace(settings, height=max(shown, 1) * thickness)
    panel = layout(
        numeric_axis(ends, x_range, False),
        Axis(names=tuple(names[:shown])),
        settings,
        [Key(name, i, "fill") for i, name in enumerate(columns)] if len(columns) > 1 else [],
        beside_marks(next(iter(columns.values()))[:shown]) if len(columns) == 1 else [],
    )
    marks = [
        hatch_definitions(len(columns)),
        *_marks(panel, bars, shown, stacked),
        _zero(panel, ends, shown),
    ]
    rows = [(name, *(c[i] for c in columns.values())) for i, name in enumerate(names)]
    facts = [f"{len(names)} bars", span(settings.x_label or "Values", *ends)]
    summary = describe("Bar chart", facts, list(columns))
    return finish(panel, marks, summary, [settings.y_label or "label", *columns], rows, True)


def _stacked(columns: Mapping[str, list[float]]) -> dict[str, list[tuple[float, float]]]:
    n = max((len(column) for column in columns.values()), default=0)
    used = [0.0] * n
    result = {}
    for name, column in columns.items():
        ends = [used[i] + (v if math.isfinite(v) else 0.0) for i, v in enumerate(column)]
        result[name] = list(zip(used, ends))
        used = ends
    return result


def _marks(
    panel: Panel, bars: Mapping[str, list[tuple[float, float]]], shown: int, stacked: bool
) -> list[str]:
    step = panel.plot_height / max(shown, 1)
    thickness = step * 0.72 / (1 if stacked else max(len(bars), 1))
    marks = []
    for i, pairs in enumerate(bars.values()):
        offset = step * 0.14 + (0 if stacked else i * thickness)
        d = "".join(
            _bar(panel.x(start), panel.x(end), row * step + offset, thickness)
            for row, (start, end) in enumerate(pairs[:shown])
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
