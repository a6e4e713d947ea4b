"""Colours of numbers and of series, the same in both renderers."""

from __future__ import annotations

import math
from collections.abc import Iterable

from pellucid.draw.scale import extent
from pellucid.draw.style import PALETTE, between


def series_colour(index: int) -> str:
    """The colour of a series."""
    return PALETTE[index % len(PALETTE)]


def value_limits(values: Iterable[float]) -> tuple[float, float]:
    """Smallest and largest finite value."""
    return extent([list(values)])


def colour_of(value: float, low: float, high: float) -> str:
    """From blue at `low` to orange at `high`; grey for a value that is not finite."""
    if not math.isfinite(value):
        return "#808080"
    return between(min(1.0, max(0.0, (value - low) / (high - low))))
