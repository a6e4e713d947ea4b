"""Charts of one kind of mark each, so that the tests can read the marks of `pellucid.draw` back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from typing import Any, Unpack

from pellucid.draw import label_text as words
from pellucid.draw import svg
from pellucid.draw.axes import Axis, Panel, checked_limits, layout, numeric_axis
from pellucid.draw.chart_settings import Look, Settings, with_note
from pellucid.draw.figure import describe, finish, shown, span
from pellucid.draw.heat_chart import heat_keys, heat_limits, heat_marks
from pellucid.draw.histogram_chart import steps_mark
from pellucid.draw.legend import Key
from pellucid.draw.line_chart import Pair, band_mark, read_bands, reference_marks
from pellucid.draw.number import number
from pellucid.draw.points import (
    Points,
    evenly,
    floats,
    left_out,
    read_columns,
    read_series,
)
from pellucid.draw.region_chart import region_marks
from pellucid.draw.scale import extent, extent_with_zero
from pellucid.draw.scatter_chart import MOST_POINTS, beside_points, point_marks


def scatter(
    series: Mapping[Any, Pair],
    *,
    names: Mapping[Any, Sequence[Any]] | None = None,
    references: Mapping[Any, Pair] | None = None,
    bands: Mapping[Any, tuple[Iterable, Iterable, Iterable]] | None = None,
    x_log: bool = False,
    y_log: bool = False,
    x_range: tuple[float, float] | None = None,
    y_range: tuple[float, float] | None = None,
    **look: Unpack[Look],
) -> str:
    """One marker per point, another shape and colour per series.

    Parameters
    ----------
    series : name -> (x, y). Of more than 2000 points, an even share of each series is drawn, and a
        note reports the number.
    names : name of a series -> the name of each of its points, written beside the point if there
        is room; the data table has all of them.
    references : name -> (x, y), drawn as thin dotted lines.
    bands : name -> (x, low, high), shaded.
    x_log, y_log : logarithmic axes.
    x_range, y_range : limits of the axes; the data's by default.
    """
    groups, thin = read_series(series), read_series(references or {})
    shown, sentence = thin_points(groups)
    settings = with_note(Settings(**look), left_out({**groups, **thin}, x_log, y_log), sentence)
    shades = read_bands(bands or {})
    points = [p for part in (groups, thin, shades) for one in part.values() for p in one]
    x_extent = extent([[x for x, _ in points]], x_log)
    y_extent = extent([[y for _, y in points]], y_log)
    keys = [Key(name, i, "point") for i, name in enumerate(groups)] if len(groups) > 1 else []
    panel = layout(
        _limited(x_extent, x_range, x_log),
        _limited(y_extent, y_range, y_log),
        settings,
        keys + [Key(name, 0, "reference") for name in thin],
    )
    called = [words.clean(n) for part in series for n in (names or {}).get(part, ())]
    marks = [band_mark(panel, outline, 0, 0.18) for outline in shades.values()]
    marks += [*reference_marks(panel, thin), *point_marks(panel, shown.values())]
    if called and settings.tips:
        marks.append(_tooltips(panel, [p for part in groups.values() for p in part], called))
    if called:
        marks += beside_points(panel, [p for part in groups.values() for p in part], called)
    facts = [
        span(settings.x_label or "x", *x_extent, settings.x_dates),
        span(settings.y_label or "y", *y_extent, settings.y_dates),
    ]
    rows: list[tuple] = [(name, x, y) for name, points in groups.items() for x, y in points]
    columns = ["series", settings.x_label or "x", settings.y_label or "y"]
    if called:
        rows = [(name, *row) for name, row in zip(called, rows)]
        columns.insert(0, "name")
    clip = x_range is not None or y_range is not None
    return finish(panel, marks, describe("Scatter chart", facts, list(groups)), columns, rows, clip)


def _limited(data: Any, limits: tuple[float, float] | None, log: bool) -> Axis:
    return (
        numeric_axis(data, log) if limits is None else Axis(*checked_limits(limits, log), log=log)
    )


def _tooltips(panel: Panel, points: Points, called: Sequence[str]) -> str:
    """Invisible discs with the names of the points as tooltips."""
    texts = [f"{name}: {number(x, 3)}, {number(y, 3)}" for name, (x, y) in zip(called, points)]
    places = [(panel.x(x), panel.y(y)) for x, y in points]
    return svg.points_with_tooltips(places, texts, 0, stroke_width="14", opacity="0")


def thin_points(groups: Mapping[str, Points]) -> tuple[dict[str, Points], str]:
    """At most `MOST_POINTS` points, and a note if some are left out."""
    total = sum(map(len, groups.values()))
    if total <= MOST_POINTS:
        return dict(groups), ""
    share = MOST_POINTS / total
    shown = {name: evenly(p, max(2, int(len(p) * share))) for name, p in groups.items()}
    n_shown = sum(map(len, shown.values()))
    return shown, f"Showing {n_shown} of {total} points."


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
    settings = Settings(**look)
    tops = extent_with_zero(groups.values())
    x_extent = extent([borders])
    panel = layout(
        Axis(*x_extent, grid=False),
        numeric_axis(tops),
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


def regions(
    grid: Sequence[Iterable[Any]],
    x_range: tuple[float, float],
    y_range: tuple[float, float],
    classes: Sequence[Any],
    *,
    points: Mapping[Any, Pair] | None = None,
    certainty: Sequence[Iterable[Any]] | None = None,
    **look: Unpack[Look],
) -> str:
    """Coloured regions with their class names written inside, and points on top.

    Parameters
    ----------
    grid : class codes 0 .. K-1 at the middles of equal cells; rows from the smallest y upwards.
    x_range, y_range : limits of the grid.
    classes : K names, at most 31.
    points : class name -> (x, y); drawn in the class's colour and marker.
    certainty : the probability of the predicted class per cell; a higher one has a stronger colour.
    """
    codes = [[int(code) for code in row] for row in grid]
    names = list(read_series(dict.fromkeys(classes, ((), ()))))
    placed = dict(points or {})
    groups = read_series({key: placed.pop(key, ((), ())) for key in classes} | placed)
    shown, sentence = thin_points(groups)
    settings = with_note(Settings(**look), left_out(groups, False, False), sentence)
    keys = [Key(name, i, "point") for i, name in enumerate(groups)]
    x_axis, y_axis = (Axis(*checked_limits(r), grid=False) for r in (x_range, y_range))
    panel = layout(x_axis, y_axis, settings, keys)
    marks = [
        *region_marks(panel, codes, certainty, names, list(chain.from_iterable(shown.values()))),
        *point_marks(panel, shown.values(), outline=True),
    ]
    shares = [sum(row.count(k) for row in codes) for k in range(len(names))]
    total = max(sum(shares), 1)
    rows = [(name, 100 * share / total) for name, share in zip(names, shares)]
    facts = [
        span(settings.x_label or "x", *x_range, settings.x_dates),
        span(settings.y_label or "y", *y_range, settings.y_dates),
    ]
    summary = describe("Decision regions", facts, names)
    return finish(panel, marks, summary, ["class", "share of the area (%)"], rows, clip=True)


def heatmap(
    values: Sequence[Iterable[Any]],
    rows: Sequence[Any],
    columns: Sequence[Any],
    *,
    texts: Sequence[Sequence[Any]] | None = None,
    diverging: bool = False,
    value_range: tuple[float, float] | None = None,
    x_range: tuple[float, float] | None = None,
    y_range: tuple[float, float] | None = None,
    **look: Unpack[Look],
) -> str:
    """One cell per row and column, with a stronger colour for larger values; NaN cells stay empty.

    Parameters
    ----------
    values : matrix, a sequence of rows.
    rows, columns : names of the rows (top to bottom) and columns.
    texts : what to write into the cells instead of the values.
    diverging : negative values in another colour, strongest at the largest absolute value.
    value_range : values at which the colour is weakest and strongest; the data's by default.
    x_range, y_range : limits of the columns and rows, if they are equal steps of a number; that axis
        then has a few round numbers instead of all names. The first row is at the upper end.
    """
    matrix = [floats(row) for row in values]
    row_names, column_names = tuple(map(words.clean, rows)), tuple(map(words.clean, columns))
    low, high = heat_limits(matrix, value_range, diverging)
    settings = Settings(**look)
    if "height" not in look:
        settings = replace(settings, height=_height(len(rows), len(columns)))
    panel = layout(
        _axis(column_names, x_range),
        _axis(row_names, y_range),
        settings,
        heat_keys(low, high, diverging),
    )
    marks = heat_marks(panel, matrix, texts, (low, high), diverging)
    summary = describe(
        "Heat map",
        [f"{len(rows)} rows and {len(columns)} columns", span("Values", low, high)],
    )
    table = [(name, *row) for name, row in zip(row_names, matrix)]
    return finish(panel, marks, summary, [settings.y_label or "row", *column_names], table)


def _axis(names: tuple[str, ...], ends: tuple[float, float] | None) -> Axis:
    return Axis(names=names) if ends is None else Axis(*checked_limits(ends), grid=False)


def _height(n_rows: int, n_columns: int) -> int:
    return max(60, min(34 * n_rows, 340)) if n_rows else 60
