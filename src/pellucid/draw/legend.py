"""The legend above a plot: one key per series, wrapped to the width of the picture.

Invariant: a key shows dash, marker or hatching as well as colour.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pellucid.draw import label_text as words
from pellucid.draw import svg
from pellucid.draw.style import PALETTE, dash, spectrum

SAMPLE = 26.0
MOST_KEYS = 24
WIDEST, WIDEST_OF_FEW, FEW = 15.0, 24.0, 4  # em; number of keys


@dataclass(frozen=True)
class Key:
    """What a series looks like.

    `shape` is line, solid, point, fill, area, ramp or spectrum in the colour of the series; plain (a
    solid line), ring, disc or reference in the colour of the text.
    """

    label: str
    index: int
    shape: str


def draw(parts: list[str], keys: Sequence[Key], width: float, left: float, y: float) -> float:
    """Append the keys to `parts` in rows below `y`; returns where the next row would begin."""
    if not keys:
        return y
    x, y = left, y + svg.LINE
    shown = list(keys) if len(keys) <= MOST_KEYS else list(keys[: MOST_KEYS - 1])
    em = WIDEST_OF_FEW if len(shown) <= FEW else WIDEST
    for key in shown:
        text = short_name(key.label, min(em, (width - SAMPLE) / svg.FONT))
        needed = SAMPLE + words.width(text) * svg.FONT + 12
        if x > left and x + needed > left + width:
            x, y = left, y + svg.LINE
        parts.append(_sample(key, x, y - 8))
        parts.append(svg.cut_label(x + SAMPLE, y - 3.5, key.label, text))
        x += needed
    if len(shown) < len(keys):
        more = f"and {len(keys) - len(shown)} more"
        if x + words.width(more) * svg.FONT > left + width:
            x, y = left, y + svg.LINE
        parts.append(svg.label(x, y - 3.5, more, opacity="0.8"))
    return y + 2


def short_name(label: str, em: float) -> str:
    """The label cut to `em`; a number in brackets at its end stays.

    >>> short_name("a very long name of a class (AUC 0.95)", 15)
    'a very long na… (AUC 0.95)'
    """
    head, bracket, tail = label.rpartition(" (")
    room = em - words.width(bracket + tail)
    if not bracket or not tail.endswith(")") or room < 4:
        return words.fit(label, em)
    return words.fit(head, room) + bracket + tail


def _sample(key: Key, x: float, y: float) -> str:
    if key.shape == "reference":
        line = svg.segment(x, y, x + 20, y, stroke_dasharray="1 3", stroke_width="1.5")
        return svg.group([line], opacity="0.75")
    if key.shape in ("ring", "disc"):
        fill = "none" if key.shape == "ring" else "currentColor"
        return svg.element("circle", cx=x + 10, cy=y, r=4.5, fill=fill, stroke="currentColor")
    if key.shape in ("solid", "plain"):
        line = svg.segment(x, y, x + 20, y, stroke_width="2")
        return line if key.shape == "plain" else svg.series_group(key.index, [line])
    if key.shape in ("line", "marked line"):
        line = svg.segment(x, y, x + 20, y, stroke_width="2", stroke_dasharray=dash(key.index))
        marker = [svg.points([(x + 10, y)], key.index)] if key.shape == "marked line" else []
        return svg.series_group(key.index, [line, *marker])
    if key.shape == "point":
        return svg.series_group(key.index, [svg.points([(x + 10, y)], key.index)])
    if key.shape == "area":
        d = svg.rectangle_path(x, y - 6, 20, 11)
        pale = svg.element("path", d=d, fill="currentColor", fill_opacity="0.35")
        rim = svg.element("path", d=d, fill="none", stroke="currentColor")
        return svg.series_group(key.index, [pale, rim]) + "".join(hatched_areas([(key.index, d)]))
    if key.shape == "spectrum":
        return svg.group(
            svg.element("path", d=svg.rectangle_path(x + 4 * i, y - 6, 4, 11), fill=colour)
            for i, colour in enumerate(spectrum(5))
        )
    if key.shape in ("ramp", "minus ramp"):
        cells = [
            svg.element(
                "path",
                d=svg.rectangle_path(x + 5 * i, y - 6, 5, 11),
                opacity=f"{0.13 * (i + 1):.2f}",
            )
            for i in range(4)
        ]
        minus = svg.segment(x + 7, y - 0.5, x + 13, y - 0.5, opacity="0.6")
        ramp = svg.series_group(key.index, cells, fill="currentColor")
        return ramp + minus if key.shape == "minus ramp" else ramp
    return svg.series_group(key.index, fill_parts(key.index, svg.rectangle_path(x, y - 6, 20, 11)))


# Hatching of filled series: nothing, then lines in four directions. The same definitions are
# in every chart that needs them, so it does not matter which of them a browser takes.
_HATCHES = (None, "M0 3h6", "M3 0v6", "M-1 1l2-2M0 6l6-6M5 7l2-2", "M0 0h6M0 0v6")


def fill_parts(index: int, d: str) -> list[str]:
    """A filled path in the style of series `index`."""
    solid = svg.element("path", d=d, fill="currentColor", fill_opacity="0.85")
    kind = index % len(_HATCHES)
    if _HATCHES[kind] is None:
        return [solid]
    light = svg.element("path", d=d, fill="currentColor", fill_opacity="0.4")
    hatch = svg.element("path", d=d, fill=f"url(#pl-hatch-{kind})")
    outline = svg.element("path", d=d, fill="none", stroke="currentColor")
    return [light, hatch, outline]


def area_hatch(index: int) -> int:
    """Which hatching a pale area of series `index` has: none until the colours begin again."""
    return index // len(PALETTE) % len(_HATCHES)


def hatched_areas(paths: Iterable[tuple[int, str]]) -> list[str]:
    """The hatching of pale areas, given as (series, path data), with its definitions."""
    parts = [
        svg.series_group(k, [svg.element("path", d=d, fill=f"url(#pl-hatch-{area_hatch(k)})")])
        for k, d in paths
        if area_hatch(k) and d
    ]
    return [hatch_definitions(len(_HATCHES)), *parts] if parts else []


def hatch_definitions(n_series: int) -> str:
    """Patterns for the first `n_series` filled series."""
    patterns = [
        svg.element(
            "pattern",
            svg.element("path", d=lines, stroke="currentColor", stroke_opacity="0.55", fill="none"),
            id=f"pl-hatch-{kind}",
            width=6,
            height=6,
            patternUnits="userSpaceOnUse",
        )
        for kind, lines in enumerate(_HATCHES[: max(n_series, 1)])
        if lines is not None
    ]
    return svg.element("defs", "".join(patterns)) if patterns else ""
