"""From data to pixels: linear, logarithmic and band scales, and the ticks that people expect.

Invariant: scales are strictly increasing in the data (towards `stop`), take every finite double
without overflow, and give NaN for what they cannot place (NaN, infinity, logarithm of x <= 0).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from dataclasses import dataclass

SMALLEST_SPAN = 1e-290  # narrower than this, divisions would run out of exponents
LARGEST = sys.float_info.max
ROOM = 0.04  # share of an interval left free on each side
_FAR = 1e5  # pixels; what lies further away is drawn there, outside the clipped plot


def extent(columns: Iterable[Iterable[float]], log: bool = False) -> tuple[float, float]:
    """Smallest and largest finite value, widened if they coincide; (0, 1) without any value."""
    low, high = math.inf, -math.inf
    for column in columns:
        for value in column:
            if math.isfinite(value) and (value > 0 or not log):
                low, high = min(low, value), max(high, value)
    if low > high:
        return (1.0, 10.0) if log else (0.0, 1.0)
    return widen(low, high, log)


def widen(low: float, high: float, log: bool = False) -> tuple[float, float]:
    """An interval that is never too narrow to be divided into ticks."""
    if log:
        if math.log10(high) - math.log10(low) < 1e-6:
            low, high = max(low / 2, 5e-324), min(high * 2, LARGEST)
        return low, high
    largest = max(abs(low), abs(high))
    if high / 2 - low / 2 <= max(largest * 1e-13, SMALLEST_SPAN):
        half = max(largest * 0.05, SMALLEST_SPAN) if largest > SMALLEST_SPAN else 0.5
        low, high = max(low - half, -LARGEST), min(high + half, LARGEST)
    return low, high


def extent_with_zero(columns: Iterable[Iterable[float]]) -> tuple[float, float]:
    """As `extent` for marks that grow from 0; (0, 1) if nothing differs from 0."""
    values = [v for column in columns for v in column if math.isfinite(v) and v != 0]
    return extent([[0.0, *values]]) if values else (0.0, 1.0)


def padded(low: float, high: float, log: bool = False) -> tuple[float, float]:
    """The interval with a little room on both sides, which does not reach across 0."""
    if log:
        bottom, top = math.log10(low), math.log10(high)
        room = (top - bottom) * ROOM
        return max(10 ** max(bottom - room, -323.3), 5e-324), min(
            10 ** min(top + room, 308.25), LARGEST
        )
    room = (high / 2 - low / 2) * (2 * ROOM)
    bottom, top = max(low - room, -LARGEST), min(high + room, LARGEST)
    return (0.0 if bottom < 0 <= low else bottom), (0.0 if high <= 0 < top else top)


def nice_step(low: float, high: float, count: int) -> tuple[int, int]:
    """Step `m * 10**e`, m in {1, 2, 5}, that cuts the interval into at most `count` parts."""
    raw = (high / 2 - low / 2) / count * 2
    power = math.floor(math.log10(raw))
    for multiple in (1, 2, 5):
        if float(f"{multiple}e{power}") >= raw * (1 - 1e-9):
            return multiple, power
    return 1, power + 1


def linear_ticks(low: float, high: float, count: int = 5) -> list[float]:
    """The multiples of a nice step inside [low, high], each the double nearest to its decimal."""
    multiple, power = nice_step(low, high, count)
    step = float(f"{multiple}e{power}")
    first, last = math.ceil(low / step) - 1, math.floor(high / step) + 1
    ticks = (float(f"{k * multiple}e{power}") for k in range(first, last + 1))
    return [tick + 0.0 for tick in ticks if low <= tick <= high]


def log_ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Powers of ten inside [low, high]; for short intervals also 2 and 5, or linear ticks."""
    bottom, top = math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 1
    decades = [p for p in range(bottom, top + 1) if low <= _power(p) <= high]
    if len(decades) >= 3:
        stride = next(s for s in _STRIDES if len(decades) <= s * (count + 1))
        return [_power(p) for p in decades if p % stride == 0]
    multiples = [float(f"{m}e{p}") for p in range(bottom, top + 1) for m in (1, 2, 5)]
    inside = [tick for tick in multiples if low <= tick <= high]
    return inside if len(inside) >= 2 else linear_ticks(low, high, count)


_STRIDES = (1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 700)


def _power(p: int) -> float:
    return float(f"1e{p}") if p < 309 else math.inf


@dataclass(frozen=True)
class Linear:
    """Pixels between `start` and `stop` for data between `low` and `high`."""

    low: float
    high: float
    start: float
    stop: float

    def __call__(self, value: float) -> float:
        if not math.isfinite(value):
            return math.nan
        share = (value / 2 - self.low / 2) / (self.high / 2 - self.low / 2)
        return _near(self.start + share * (self.stop - self.start))

    def ticks(self, count: int) -> list[float]:
        return linear_ticks(self.low, self.high, count)


@dataclass(frozen=True)
class Log:
    """As `Linear`, in the logarithm."""

    low: float
    high: float
    start: float
    stop: float

    def __call__(self, value: float) -> float:
        if not (value > 0 and math.isfinite(value)):
            return math.nan
        bottom, top = math.log10(self.low), math.log10(self.high)
        share = (math.log10(value) - bottom) / (top - bottom)
        return _near(self.start + share * (self.stop - self.start))

    def ticks(self, count: int) -> list[float]:
        return log_ticks(self.low, self.high, count)


@dataclass(frozen=True)
class Band:
    """`n` equal bands between `start` and `stop`; a scale of positions 0 .. n-1."""

    n: int
    start: float
    stop: float

    @property
    def step(self) -> float:
        return abs(self.stop - self.start) / max(self.n, 1)

    def __call__(self, position: float) -> float:
        """Middle of the band."""
        return self.start + (position + 0.5) * (self.stop - self.start) / max(self.n, 1)


def _near(pixel: float) -> float:
    return max(-_FAR, min(_FAR, pixel))
