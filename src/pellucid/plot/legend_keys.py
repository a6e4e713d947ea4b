"""The legend of a panel: one key per name and series."""

from __future__ import annotations

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
        return heat_keys(*ends, mark.diverging)
    name = words.clean(getattr(mark, "name", ""))
    if isinstance(mark, Points) and mark.values:
        low, high = value_limits(mark.values)
        span = f"{number(low)} to {number(high)}"
        return [Key(f"{name}: {span}" if name else span, 0, "spectrum")]
    if not name:
        return []
    index = getattr(mark, "index", 0)
    if index is None or getattr(mark, "reference", False):
        return [Key(name, 0, getattr(mark, "key_shape", "reference"))]
    return [Key(name, index, getattr(mark, "key_shape", "") or _SHAPES[type(mark)])]
