"""The legend of a panel: one key per name and series."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pellucid.draw import label_text as words
from pellucid.draw.heat_chart import heat_keys, heat_limits
from pellucid.draw.legend import Key
from pellucid.draw.number import number
from pellucid.plot.colours import value_limits
from pellucid.plot.picture import (
    Area,
    Band,
    Bars,
    Heat,
    Intervals,
    Line,
    Mark,
    Panel,
    Points,
    Rule,
    Segments,
    Steps,
)

_SHAPES = {
    Line: "line", Points: "point", Bars: "fill", Steps: "line", Intervals: "line", Band: "fill",
    Segments: "solid", Area: "fill", Rule: "reference",
}  # fmt: skip


def value_ends(mark: Points) -> tuple[str, ...]:
    """Words for the lowest and the highest value of points that are coloured by number."""
    low, high = value_limits(mark.values)
    return (number(low), number(high)) if mark.ends is None else mark.ends


def shared_keys(panels: Sequence[Panel]) -> list[Key]:
    """One key per name and series of all panels; lines that are points elsewhere show both."""
    keys: dict[tuple[str, int], Key] = {}
    for key in (key for panel in panels for key in panel_keys(panel)):
        first = keys.setdefault((key.label, key.index), key)
        if {first.shape, key.shape} == {"line", "point"}:
            keys[key.label, key.index] = replace(first, shape="marked line")
    return list(keys.values())


def panel_keys(panel: Panel) -> list[Key]:
    """One key per name and series, in the order of the marks."""
    keys: dict[tuple[str, int], Key] = {}
    for mark in panel.marks:
        for key in _mark_keys(mark):
            keys.setdefault((key.label, key.index), key)
    return list(keys.values())


def _mark_keys(mark: Mark) -> list[Key]:
    if isinstance(mark, Heat):
        ends = heat_limits([list(row) for row in mark.values], mark.limits, mark.diverging)
        return heat_keys(*ends, mark.diverging, mark.index)
    name = words.clean(getattr(mark, "name", ""))
    if isinstance(mark, Points) and mark.values:
        if mark.ends == ():
            return []
        span = " to ".join(value_ends(mark))
        return [Key(f"{name}: {span}" if name else span, 0, "spectrum")]
    if not name:
        return []
    index = getattr(mark, "index", 0)
    if index is None or getattr(mark, "reference", False):
        return [Key(name, 0, getattr(mark, "key_shape", "reference"))]
    return [Key(name, index, getattr(mark, "key_shape", "") or _SHAPES[type(mark)])]
