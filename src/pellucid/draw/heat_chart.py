"""Heat map: confusion matrices, correlations, two-way partial dependence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pellucid.draw import label_text as words
from pellucid.draw import svg
from pellucid.draw.axes import Panel
from pellucid.draw.legend import Key
from pellucid.draw.number import coordinate, number
from pellucid.draw.png import data_address, png, red_green_blue
from pellucid.draw.style import PALETTE

STRONGEST = 0.65  # opacity; the page's text colour stays readable on top of it
LEVELS = 13  # steps of opacity on each side
MOST_ELEMENTS = 1024  # cells; more become an image


def heat_limits(
    matrix: list[list[float]], given: tuple[float, float] | None, diverging: bool
) -> tuple[float, float]:
    """The values at which the colour is weakest and strongest."""
    if given is not None:
        return float(given[0]), float(given[1])
    finite = [v for row in matrix for v in row if math.isfinite(v)]
    low, high = min(finite, default=0.0), max(finite, default=1.0)
    if diverging:
        high = max(abs(low), abs(high))
        low = -high
    return low, high


def heat_keys(low: float, high: float, diverging: bool, index: int = 0) -> list[Key]:
    if not diverging:
        return [Key(f"{number(low)} to {number(high)}", index, "ramp")]
    return [Key(f"0 to {number(high)}", 0, "ramp"), Key(f"0 to {number(low)}", 1, "minus ramp")]


def heat_marks(
    panel: Panel,
    matrix: list[list[float]],
    texts: Sequence[Sequence[Any]] | None,
    limits: tuple[float, float],
    diverging: bool,
    index: int = 0,
) -> list[str]:
    """The coloured cells, first row on top, and the texts inside them. Negative values of a diverging
    scale have the colour of series 1, all others that of series `index`."""
    levels = [[_level(v, *limits, diverging) for v in row] for row in matrix]
    shown = _texts(panel, matrix, texts, len(matrix), len(matrix[0]) if matrix else 0)
    return [_cells(panel, levels, index), *(shown or [_minus_signs(panel, levels)])]


def _level(value: float, low: float, high: float, diverging: bool) -> int | None:
    """-LEVELS .. LEVELS; None for NaN. Infinite values count as the limits."""
    if math.isnan(value):
        return None
    value = max(low, min(high, value))
    if diverging:
        largest = max(abs(low), abs(high))
        return round(value / largest * LEVELS) if largest > 0 else 0
    if high / 2 - low / 2 <= 0:
        return LEVELS if high > 0 else 0
    return round((value / 2 - low / 2) / (high / 2 - low / 2) * LEVELS)


def _cells(panel: Panel, levels: list[list[int | None]], index: int) -> str:
    if sum(map(len, levels)) > MOST_ELEMENTS:
        return _image(panel, levels, index)
    step_x, step_y = _steps(panel, levels)
    paths: dict[int, str] = {}
    empty = ""
    for i, row in enumerate(levels):
        for j, level in enumerate(row):
            cell = svg.rectangle_path(j * step_x + 0.5, i * step_y + 0.5, step_x - 1, step_y - 1)
            if level is None:
                empty += f"M{coordinate(j * step_x + 3)} {coordinate((i + 1) * step_y - 3)}"
                empty += f"L{coordinate((j + 1) * step_x - 3)} {coordinate(i * step_y + 3)}"
            elif level:
                paths[level] = paths.get(level, "") + cell
    parts = [
        svg.series_group(
            1 if level < 0 else index,
            [svg.element("path", d=paths[level], fill="currentColor")],
            opacity=_opacity(level),
        )
        for level in sorted(paths)
    ]
    if empty:
        parts.append(svg.element("path", d=empty, stroke="currentColor", opacity="0.3"))
    outline = svg.rectangle_path(0, 0, panel.plot_width, panel.plot_height)
    parts.append(svg.element("path", d=outline, fill="none", stroke="currentColor", opacity="0.3"))
    return "".join(parts)


def _minus_signs(panel: Panel, levels: list[list[int | None]]) -> str:
    """A minus sign in every negative cell, so that colour alone does not show the sign."""
    step_x, step_y = _steps(panel, levels)
    half = min(step_x, 12.0) / 4
    if sum(map(len, levels)) > MOST_ELEMENTS:
        return ""
    d = "".join(
        f"M{coordinate((j + 0.5) * step_x - half)} {coordinate((i + 0.5) * step_y)}"
        f"h{coordinate(2 * half)}"
        for i, row in enumerate(levels)
        for j, level in enumerate(row)
        if level is not None and level < 0
    )
    return svg.element("path", d=d, stroke="currentColor", opacity="0.6") if d else ""


def _steps(panel: Panel, levels: list[list[int | None]]) -> tuple[float, float]:
    n_columns = len(levels[0]) if levels else 1
    return panel.plot_width / max(n_columns, 1), panel.plot_height / max(len(levels), 1)


def _opacity(level: int) -> str:
    return f"{0.04 + (STRONGEST - 0.04) * abs(level) / LEVELS:.2f}"


def _image(panel: Panel, levels: list[list[int | None]], index: int) -> str:
    """Code 0 is empty, 1 .. 2 * LEVELS + 1 the levels from the most negative up."""
    palette = [(0, 0, 0, 0)]
    for level in range(-LEVELS, LEVELS + 1):
        alpha = round(255 * float(_opacity(level))) if level else 0
        colour = PALETTE[1 if level < 0 else index % len(PALETTE)]
        palette.append((*red_green_blue(colour), alpha))
    rows = [bytes(0 if v is None else v + LEVELS + 1 for v in row) for row in levels]
    return svg.element(
        "image",
        class_="pl-heat",
        href=data_address(png(rows, palette)),
        width=panel.plot_width,
        height=panel.plot_height,
        preserveAspectRatio="none",
    )


def _texts(
    panel: Panel,
    matrix: list[list[float]],
    texts: Sequence[Sequence[Any]] | None,
    n_rows: int,
    n_columns: int,
) -> list[str]:
    """The values inside the cells, if all of them fit."""
    if not n_rows or not n_columns:
        return []
    given = matrix if texts is None else texts
    shown = [[_cell_text(value) for value in row] for row in given]
    step_x, step_y = panel.plot_width / n_columns, panel.plot_height / n_rows
    widest = max(words.width(text) for row in shown for text in row) * svg.FONT
    if widest > step_x - 4 or step_y < svg.FONT + 2:
        return []
    return [
        svg.label((j + 0.5) * step_x, (i + 0.5) * step_y + 4.5, text, text_anchor="middle")
        for i, row in enumerate(shown)
        for j, text in enumerate(row)
        if text
    ]


def _cell_text(value: Any) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else number(value, 2 if abs(value) < 100 else 4)
    return words.clean(value)
