"""Scatter chart: two columns, projections, score against time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pellucid.draw import label_text as words
from pellucid.draw import svg
from pellucid.draw.axes import Panel
from pellucid.draw.points import Points, runs
from pellucid.draw.style import marker

MOST_POINTS = 2000
LONGEST_NAME, SMALL = 14.0, 11  # em and pixels of a name beside its point


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
