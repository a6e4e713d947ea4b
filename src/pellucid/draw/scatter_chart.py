"""Scatter chart: two columns, projections, score against time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Unpack

from pellucid.draw import label_text as words
from pellucid.draw import svg
from pellucid.draw.axes import Panel, layout, numeric_axis
from pellucid.draw.chart_settings import Look, Settings, with_note
from pellucid.draw.figure import describe, finish, span
from pellucid.draw.legend import Key
from pellucid.draw.line_chart import Pair, data_extent, reference_marks
from pellucid.draw.number import number
from pellucid.draw.points import Points, evenly, left_out, read_series, runs
from pellucid.draw.style import marker

MOST_POINTS = 2000
LONGEST_NAME, SMALL = 14.0, 11  # em and pixels of a name beside its point


def scatter(
    series: Mapping[Any, Pair],
    *,
    names: Mapping[Any, Sequence[Any]] | None = None,
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
    series : name -> (x, y). Of more than 2000 points, an even share of each series is drawn, and a
        note reports the number.
    names : name of a series -> the name of each of its points, written beside the point if there
        is room; the data table has all of them.
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
    called = [words.clean(n) for part in series for n in (names or {}).get(part, ())]
    marks = [*reference_marks(panel, thin), *point_marks(panel, shown.values())]
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


def point_marks(panel: Panel, groups: Iterable[Points], outline: bool = False) -> list[str]:
    """One path per series; `outline` separates the points from a coloured background."""
    marks = []
    for i, points in enumerate(groups):
        placed = ((panel.x(x), panel.y(y)) for x, y in points)
        where = [point for run in runs(placed) for point in run]
        if outline:
            marks.append(svg.points(where, i, stroke="currentColor", stroke_width=_rim(i)))
        opacity = None if outline else "0.75"
        marks.append(svg.series_group(i, [svg.points(where, i)], opacity=opacity))
    return marks


def beside_points(
    panel: Panel, points: Points, names: Sequence[str], others: Iterable[tuple[float, float]] = ()
) -> list[str]:
    """Each name beside, above or below its point if it covers nothing there; otherwise left out.

    `others` are further points, without names, that must not be covered.
    """
    places = [(panel.x(x), panel.y(y)) for x, y in points]
    around = [*places, *((panel.x(x), panel.y(y)) for x, y in others)]
    taken = [(x - 4, y - 4, x + 4, y + 4) for x, y in around if x == x and y == y]
    marks = []
    for (x, y), name in zip(places, names):
        if x != x or y != y:
            continue
        em = words.width(words.fit(name, LONGEST_NAME))
        free = (box for box in _boxes(x, y, em * SMALL) if _fits(panel, box, taken))
        box = next(free, None)
        if box is not None:
            taken.append(box)
            size = {"font_size": SMALL}
            marks.append(svg.label(box[0], box[3] - 3, name, LONGEST_NAME, **size))
    return marks


Box = tuple[float, float, float, float]


def _boxes(x: float, y: float, width: float) -> list[Box]:
    half = SMALL / 2 + 1
    return [
        (x + 6, y - half, x + 6 + width, y + half),
        (x - 6 - width, y - half, x - 6, y + half),
        (x - width / 2, y - 6 - 2 * half, x + width / 2, y - 6),
        (x - width / 2, y + 6, x + width / 2, y + 6 + 2 * half),
        (x + 5, y - 3 - 2 * half, x + 5 + width, y - 3),
        (x - 5 - width, y - 3 - 2 * half, x - 5, y - 3),
    ]


def _fits(panel: Panel, box: Box, taken: Iterable[Box]) -> bool:
    left, top, right, bottom = box
    if left < 0 or top < 0 or right > panel.plot_width or bottom > panel.plot_height:
        return False
    return not any(left < c and a < right and top < d and b < bottom for a, b, c, d in taken)


def _rim(index: int) -> str:
    """Pen that leaves one pixel around the marker: a disc is drawn by the pen alone."""
    return "8.4" if marker(index) == "h0" else "2"
