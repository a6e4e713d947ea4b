"""Decision regions over two columns: the predicted class and its probability."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from pellucid.draw import label_text as words
from pellucid.draw import svg
from pellucid.draw.axes import Panel
from pellucid.draw.legend import hatched_areas
from pellucid.draw.png import data_address, png, red_green_blue
from pellucid.draw.points import Points, evenly
from pellucid.draw.style import PALETTE

MOST_PLACES, MOST_OBSTACLES = 100, 150  # looked at when a class name is placed
SHADES = 8  # steps of certainty
WEAKEST, STRONGEST = 25, 105  # opacity of a region, out of 255

MOST_CLASSES = 31  # colours of a picture


def region_marks(
    panel: Panel,
    codes: list[list[int]],
    certainty: Sequence[Iterable[Any]] | None,
    names: list[str],
    points: Points,
) -> list[str]:
    """The coloured regions, and the names of the classes inside them, away from `points`."""
    image = _image(panel, codes, certainty, len(names))
    if not image:
        return []
    hatching = hatched_areas((k, _cells(panel, codes, k)) for k in range(len(PALETTE), len(names)))
    return [image, *hatching, *_names(panel, codes, names, points)]


def _cells(panel: Panel, codes: list[list[int]], k: int) -> str:
    """The cells of one class as a path: one rectangle per run of cells in a row."""
    tall, wide = panel.plot_height / len(codes), panel.plot_width / len(codes[0])
    return "".join(
        svg.rectangle_path(
            first * wide, panel.plot_height - (i + 1) * tall, (last - first) * wide, tall
        )
        for i, first, last in class_runs(codes, k)
    )


def class_runs(codes: list[list[int]], k: int) -> Iterator[tuple[int, int, int]]:
    """(row, first, last + 1) of every run of cells of class k."""
    for i, row in enumerate(codes):
        j = 0
        for code, run in groupby(row):
            n = len(list(run))
            if code == k:
                yield i, j, j + n
            j += n


def region_colours(k: int) -> list[tuple[int, int, int, int]]:
    """The colours of `k` classes, each in `SHADES` steps of certainty."""
    return [
        (
            *red_green_blue(PALETTE[i % len(PALETTE)]),
            WEAKEST + (STRONGEST - WEAKEST) * shade // (SHADES - 1),
        )
        for i in range(k)
        for shade in range(SHADES)
    ]


def region_pixels(
    codes: list[list[int]], certainty: Sequence[Iterable[Any]] | None, k: int
) -> list[bytes]:
    """The place of every cell in `region_colours`."""
    if certainty is None:
        return [bytes(code * SHADES + SHADES // 2 for code in row) for row in codes]
    return [
        bytes(code * SHADES + _shade(float(p), k) for code, p in zip(row, shares))
        for row, shares in zip(codes, certainty)
    ]


def _image(
    panel: Panel, codes: list[list[int]], certainty: Sequence[Iterable[Any]] | None, k: int
) -> str:
    if not codes or not codes[0]:
        return ""
    rows = region_pixels(codes, certainty, k)
    return svg.element(
        "image",
        href=data_address(png(rows[::-1], region_colours(k))),
        width=panel.plot_width,
        height=panel.plot_height,
        preserveAspectRatio="none",
        image_rendering="pixelated",
    )


def _shade(certainty: float, k: int) -> int:
    """0 for a guess (1 / k), the last shade for certainty 1."""
    share = (certainty - 1 / k) / (1 - 1 / k) if k > 1 else 1.0
    return max(0, min(SHADES - 1, int(share * SHADES))) if share == share else 0


def _names(panel: Panel, codes: list[list[int]], names: list[str], points: Points) -> list[str]:
    """Each class name inside its region, away from points, if the region has room for it."""
    if not codes or not codes[0]:
        return []
    step_x, step_y = panel.plot_width / len(codes[0]), panel.plot_height / len(codes)
    taken = [(panel.x(x), panel.y(y)) for x, y in evenly(points, MOST_OBSTACLES)]
    cells: dict[int, list[tuple[float, float, float]]] = {}
    for i, row in enumerate(_depths(codes)):
        for j, depth in enumerate(row):
            room = depth * min(step_x, step_y)
            if room >= 0.75 * svg.FONT:
                place = ((j + 0.5) * step_x, panel.plot_height - (i + 0.5) * step_y, room)
                cells.setdefault(codes[i][j], []).append(place)
    taken = [(a, b) for a, b in taken if a == a and b == b]
    return [
        _name(names[k], evenly(cells[k], MOST_PLACES), taken, panel.plot_width)
        for k in sorted(cells)
    ]


def _name(
    name: str, places: list[tuple[float, float, float]], taken: Points, plot_width: float
) -> str:
    half = words.width(name) * svg.FONT / 2

    def freedom(place: tuple[float, float, float]) -> float:
        x, y, room = place
        nearest = min([abs(x - a) / 2 + abs(y - b) for a, b in taken], default=room)
        return min(nearest, room, half)

    x, y, room = max(places, key=freedom)
    em = max(2 * room / svg.FONT, 6.0)
    reach = min(half, em * svg.FONT / 2) + 2
    x = min(max(x, reach), max(plot_width - reach, reach))  # a name stays inside the plot
    return svg.label(x, y + 4.5, name, em, text_anchor="middle", font_weight="600")


def _depths(codes: list[list[int]]) -> list[list[int]]:
    """Chessboard distance of every cell to the nearest cell of another class or the edge."""
    height, width = len(codes), len(codes[0])
    depth = [
        [min(i, j, height - 1 - i, width - 1 - j) + 1 for j in range(width)] for i in range(height)
    ]
    for i in range(height):
        _sweep(codes[i], depth[i], codes[i - 1] if i else None, depth[i - 1], range(width))
    for i in range(height - 1, -1, -1):
        below = i + 1 if i + 1 < height else None
        other = None if below is None else codes[below]
        _sweep(codes[i], depth[i], other, depth[below or 0], range(width - 1, -1, -1))
    return depth


def _sweep(
    row: list[int], depth: list[int], other: list[int] | None, beside: list[int], order: range
) -> None:
    """One row, from the row before it in the sweep and from the cell before."""
    last, step, width = None, order.step, len(row)
    for j in order:
        code, best = row[j], depth[j]
        if last is not None:
            best = min(best, depth[last] + 1 if row[last] == code else 1)
        if other is not None:
            for k in (j - step, j, j + step):
                if 0 <= k < width:
                    near = beside[k] + 1 if other[k] == code else 1
                    if near < best:
                        best = near
        depth[j], last = best, j
