"""Scatter chart: two columns, projections, score against time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Unpack

from . import svg
from .axes import Panel, layout, numeric_axis
from .figure import describe, finish, span
from .legend import Key
from .line_chart import Pair, data_extent, reference_marks
from .points import Points, evenly, left_out, read_series, runs
from .settings import Look, Settings, with_note
from .style import MARKERS

MOST_POINTS = 2000


def scatter(
    series: Mapping[Any, Pair],
    *,
    references: Mapping[Any, Pair] | None = None,
    x_log: bool = False,
    y_log: bool = False,
    x_range: tuple[float, float] | None = None,
    y_range: tuple[float, float] | None = None,
    **look: Unpack[Look],
) -> str:
    """One marker per point, another shape and colour per series.

    Parameters
    ----------
    series : name -> (x, y). Of more than 2000 points an even share of each series is drawn, and
        the note says so.
    references : name -> (x, y), drawn as thin dotted lines.
    x_log, y_log, x_range, y_range : as in `line`.
    """
    groups, thin = read_series(series), read_series(references or {})
    shown, sentence = thin_points(groups)
    settings = with_note(Settings(**look), left_out({**groups, **thin}, x_log, y_log), sentence)
    x_extent, y_extent = data_extent([*groups.values(), *thin.values()], x_log, y_log)
    keys = [Key(name, i, "point") for i, name in enumerate(groups)] if len(groups) > 1 else []
    panel = layout(
        numeric_axis(x_extent, x_range, x_log),
        numeric_axis(y_extent, y_range, y_log),
        settings,
        keys + [Key(name, 0, "reference") for name in thin],
    )
    marks = [*reference_marks(panel, thin), *point_marks(panel, shown.values())]
    facts = [span(settings.x_label or "x", *x_extent), span(settings.y_label or "y", *y_extent)]
    rows = [(name, x, y) for name, points in groups.items() for x, y in points]
    columns = ["series", settings.x_label or "x", settings.y_label or "y"]
    clip = x_range is not None or y_range is not None
    return finish(panel, marks, describe("Scatter chart", facts, list(groups)), columns, rows, clip)


def thin_points(groups: Mapping[str, Points]) -> tuple[dict[str, Points], str]:
    """At most `MOST_POINTS` points, and the sentence that says so."""
    total = sum(map(len, groups.values()))
    if total <= MOST_POINTS:
        return dict(groups), ""
    share = MOST_POINTS / total
    shown = {name: evenly(p, max(2, int(len(p) * share))) for name, p in groups.items()}
    n_shown = sum(map(len, shown.values()))
    return shown, f"Showing {n_shown} of {total} points."


def point_marks(panel: Panel, groups: Iterable[Points], outline: bool = False) -> list[str]:
    """One path per series; `outline` sets the points off from a coloured ground."""
    marks = []
    for i, points in enumerate(groups):
        placed = ((panel.x(x), panel.y(y)) for x, y in points)
        where = [point for run in runs(placed) for point in run]
        if outline:
            marks.append(svg.points(where, i, stroke="currentColor", stroke_width=_rim(i)))
        opacity = None if outline else "0.75"
        marks.append(svg.series_group(i, [svg.points(where, i)], opacity=opacity))
    return marks


def _rim(index: int) -> str:
    """Pen that leaves one pixel around the marker: a disc is drawn by the pen alone."""
    return "8.4" if MARKERS[index % len(MARKERS)] == "h0" else "2"
