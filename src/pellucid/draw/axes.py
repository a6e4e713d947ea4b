"""The frame of a chart: title, legend, axes with ticks and grid, note.

Invariant: the sizes of all texts are estimated first and the plot gets the rest, so labels neither
overlap nor leave the picture; marks are drawn in the coordinates of the plot, origin top left.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from pellucid.draw import label_text as words
from pellucid.draw import legend, svg
from pellucid.draw.chart_settings import Settings
from pellucid.draw.dates import date_ticks
from pellucid.draw.number import number, tick_labels
from pellucid.draw.scale import Band, Linear, Log, padded, widen
from pellucid.errors import ParameterError

MARGIN = 6.0
BOLD = 1.12  # bold letters are wider
ROTATED = 88.0  # longest label, in pixels, under a slanted axis
SLANT = math.radians(40)


@dataclass(frozen=True)
class Axis:
    """A numeric axis from `low` to `high`, or one band per entry of `names`."""

    low: float = 0.0
    high: float = 1.0
    log: bool = False
    names: tuple[str, ...] | None = None
    grid: bool = True
    dates: bool = False
    ticks: bool = True  # without: neither numbers nor a line

    def scale(self, start: float, stop: float) -> Linear | Log | Band:
        if self.names is not None:
            return Band(len(self.names), start, stop)
        return (Log if self.log else Linear)(self.low, self.high, start, stop)


def checked_limits(limits: tuple[float, float], log: bool = False) -> tuple[float, float]:
    """The given limits, if they are valid."""
    low, high = float(limits[0]), float(limits[1])
    if not (math.isfinite(low) and math.isfinite(high) and low <= high and (low > 0 or not log)):
        kind = "positive, finite" if log else "finite"
        raise ParameterError(f"The limits of an axis must be {kind} and increasing. Got {limits}.")
    return widen(low, high, log)


def numeric_axis(extent: tuple[float, float], log: bool = False, grid: bool = True) -> Axis:
    """An axis from the data's extent with some padding."""
    return Axis(*padded(*extent, log), log=log, grid=grid)


@dataclass(frozen=True)
class Panel:
    """Scales of the plot, and the markup around it."""

    settings: Settings
    x: Linear | Log | Band
    y: Linear | Log | Band
    left: float
    top: float
    plot_width: float
    plot_height: float
    height: float
    parts: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Ticks:
    """Positions in data units with their labels, and the offset note of the axis."""

    places: list[float]
    labels: list[str]
    note: str = ""


def layout(
    x: Axis,
    y: Axis,
    settings: Settings,
    keys: Sequence[legend.Key] = (),
    right_texts: Sequence[str] = (),
) -> Panel:
    """Place everything around the plot; `right_texts` are at the right end of the y bands."""
    height = float(settings.height)
    x, y = replace(x, dates=settings.x_dates), replace(y, dates=settings.y_dates)
    y_ticks = _y_ticks(y, height)
    left = _left_margin(x, y, y_ticks, settings)
    right = _right_margin(right_texts)
    plot_width = max(settings.width - left - right, 40.0)
    x_ticks = _x_ticks(x, plot_width)
    parts: list[str] = []
    top = _head(parts, settings, keys, y_ticks.note)
    x_scale, y_scale = x.scale(0.0, plot_width), _y_scale(y, height)
    inside = [
        *_x_axis(x, x_scale, x_ticks, plot_width, height),
        *_y_axis(y, y_scale, y_ticks, left, plot_width),
        *_right_column(y_scale, right_texts, plot_width + right - 2),
    ]
    parts.append(svg.group(inside, transform=f"translate({left:.1f} {top:.1f})"))
    bottom = top + height + _below(x, x_ticks, plot_width)
    bottom = _foot(parts, settings, x_ticks.note, left, plot_width, bottom)
    return Panel(settings, x_scale, y_scale, left, top, plot_width, height, bottom, parts)


def _y_scale(axis: Axis, height: float) -> Linear | Log | Band:
    """Numbers grow upwards, bands are listed downwards."""
    return axis.scale(0.0, height) if axis.names is not None else axis.scale(height, 0.0)


def _head(parts: list[str], settings: Settings, keys: Sequence[legend.Key], offset: str) -> float:
    """Title, legend and name of the y axis; returns where the plot begins."""
    y = MARGIN
    em = (settings.width - 2 * MARGIN) / svg.TITLE_FONT
    for line in words.wrap(words.clean(settings.title), em / BOLD, 2) if settings.title else ():
        y += svg.LINE + 1
        parts.append(svg.label(MARGIN, y - 4, line, font_size=svg.TITLE_FONT, font_weight="600"))
    y = legend.draw(parts, keys, settings.width - 2 * MARGIN, MARGIN, y)
    name = " ".join(filter(None, [words.clean(settings.y_label), offset]))
    if name:
        y += svg.LINE
        parts.append(svg.label(MARGIN, y - 4, name, em, opacity="0.8"))
    return y + 8


def _foot(
    parts: list[str], settings: Settings, offset: str, left: float, plot_width: float, y: float
) -> float:
    """Name of the x axis and the note; returns the height of the picture."""
    em = (settings.width - 2 * MARGIN) / svg.FONT
    name = " ".join(filter(None, [words.clean(settings.x_label), offset]))
    for line in words.wrap(name, em, 2) if name else ():
        y += svg.LINE
        half = words.width(line) * svg.FONT / 2 + MARGIN
        middle = min(max(left + plot_width / 2, half), settings.width - half)
        parts.append(svg.label(middle, y - 4, line, text_anchor="middle", opacity="0.8"))
    for line in words.wrap(words.clean(settings.note, 400), em, 4) if settings.note else ():
        y += svg.LINE
        parts.append(svg.label(MARGIN, y - 3, line, opacity="0.8"))
    return y + MARGIN


def _y_ticks(axis: Axis, height: float) -> _Ticks:
    if not axis.ticks:
        return _Ticks([], [])
    if axis.names is not None:
        return _band_ticks(axis.names, height / max(len(axis.names), 1))
    return _numeric_ticks(axis, axis.scale(height, 0.0), max(5, int(height / 30)))


def _x_ticks(axis: Axis, plot_width: float) -> _Ticks:
    if not axis.ticks:
        return _Ticks([], [])
    if axis.names is not None:
        return _band_ticks(axis.names, plot_width / max(len(axis.names), 1))
    scale = axis.scale(0.0, plot_width)
    for count in range(max(5, int(plot_width / 50)), 1, -1):
        ticks = _numeric_ticks(axis, scale, count)
        pixels = [
            _inside(scale(t), name, plot_width) for t, name in zip(ticks.places, ticks.labels)
        ]
        if _apart(pixels, ticks.labels):
            return ticks
    return _Ticks(ticks.places[:1], ticks.labels[:1], ticks.note)


def _band_ticks(names: Sequence[str], step: float) -> _Ticks:
    """Every band labelled, or every second, third ... if the bands are thinner than the text."""
    stride = max(1, math.ceil((svg.FONT + 1) / max(step, 1e-9)))
    places = range(0, len(names), stride)
    return _Ticks([float(i) for i in places], [names[i] for i in places])


def _numeric_ticks(axis: Axis, scale: Linear | Log | Band, count: int) -> _Ticks:
    assert not isinstance(scale, Band)
    found = date_ticks(axis.low, axis.high, count) if axis.dates else None
    if found is not None:
        return _Ticks(*found)
    places = scale.ticks(count)
    if axis.log and len(places) > 1 and places[-1] > places[0] * 1.999:
        return _Ticks(places, [number(place) for place in places])
    return _Ticks(places, *tick_labels(places))


def _apart(pixels: Sequence[float], labels: Sequence[str]) -> bool:
    halves = [words.width(label) * svg.FONT / 2 for label in labels]
    gaps = [pixels[i + 1] - halves[i + 1] - pixels[i] - halves[i] for i in range(len(pixels) - 1)]
    return all(gap >= 8 for gap in gaps)


def _left_margin(x: Axis, y: Axis, ticks: _Ticks, settings: Settings) -> float:
    widest = max((words.width(label) for label in ticks.labels), default=0.0) * svg.FONT
    share = 0.42 if y.names is not None else 0.3
    left = min(widest, settings.width * share) + MARGIN + 8
    if x.names is not None and _slanted(x, settings.width - left):
        left = max(left, _longest(x) * math.cos(SLANT) * 0.9)
    return left


def _right_margin(texts: Sequence[str]) -> float:
    widest = max((words.width(text) for text in texts), default=0.0) * svg.FONT
    return max(widest + 12 if texts else 0.0, 16.0)


def _longest(axis: Axis) -> float:
    """Longest band label in pixels, as it will be drawn when slanted."""
    names = axis.names or ()
    return min(max((words.width(name) for name in names), default=0.0) * svg.FONT, ROTATED)


def _slanted(axis: Axis, plot_width: float) -> bool:
    names = axis.names or ()
    widest = max((words.width(name) for name in names), default=0.0) * svg.FONT
    return bool(names) and widest > plot_width / len(names) - 6


def _below(axis: Axis, ticks: _Ticks, plot_width: float) -> float:
    if not ticks.labels:
        return 4.0
    if axis.names is None or not _slanted(axis, plot_width):
        return 22.0
    return _longest(axis) * math.sin(SLANT) + 20


def _x_axis(
    axis: Axis, scale: Linear | Log | Band, ticks: _Ticks, plot_width: float, height: float
) -> list[str]:
    parts: list[str] = []
    if not axis.ticks:
        return parts
    if axis.names is not None:
        slanted = _slanted(axis, plot_width)
        for place, name in zip(ticks.places, ticks.labels):
            parts.append(_band_label(scale(place), height, name, slanted))
        return parts
    pixels = [scale(place) for place in ticks.places]
    names = [
        svg.label(_inside(px, label, plot_width), height + 17, label)
        for px, label in zip(pixels, ticks.labels)
    ]
    if axis.grid:
        parts.append(svg.segments([(px, 0, px, height) for px in pixels], opacity="0.13"))
    parts.append(svg.group(names, text_anchor="middle"))
    parts.append(svg.segment(0, height, plot_width, height, opacity="0.6"))
    return parts


def _inside(px: float, label: str, plot_width: float) -> float:
    """Shift the last label to the left where it would leave the picture."""
    half = words.width(label) * svg.FONT / 2
    return min(px, plot_width + 14 - half)


def _band_label(px: float, height: float, name: str, slanted: bool) -> str:
    if not slanted:
        return svg.label(px, height + 17, name, text_anchor="middle")
    turn = f"rotate(-{math.degrees(SLANT):.0f} {px:.1f} {height + 14:.1f})"
    em = ROTATED / svg.FONT
    return svg.label(px, height + 14, name, em, text_anchor="end", transform=turn)


def _y_axis(
    axis: Axis, scale: Linear | Log | Band, ticks: _Ticks, left: float, plot_width: float
) -> list[str]:
    parts: list[str] = []
    em = (left - MARGIN - 8) / svg.FONT + 0.01
    pixels = [scale(place) for place in ticks.places]
    if axis.grid and axis.names is None:
        for strength, zero in (("0.13", False), ("0.5", True)):
            own = [py for py, place in zip(pixels, ticks.places) if (place == 0) is zero]
            parts.append(svg.segments([(0, py, plot_width, py) for py in own], opacity=strength))
    names = [svg.label(-8, py + 4.5, label, em) for py, label in zip(pixels, ticks.labels)]
    return [*parts, svg.group(names, text_anchor="end")]


def _right_column(scale: Linear | Log | Band, texts: Sequence[str], x: float) -> list[str]:
    return [
        svg.label(x, scale(float(i)) + 4.5, text, text_anchor="end") for i, text in enumerate(texts)
    ]
