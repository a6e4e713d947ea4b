"""Days since 1970 as dates: ticks at the start of days, months or years, with short labels.

Invariant: values outside the calendar (years before 1 or after 9999, NaN) are left as numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime, timedelta

from pellucid.draw.number import number

FIRST = datetime(1970, 1, 1)
LOWEST, HIGHEST = -719162.0, 2932896.0  # the years 1 and 9999
YEARS = tuple(m * 10**k for k in range(4) for m in (1, 2, 5))
MONTHS = (1, 2, 3, 6)
# Shorter steps, in seconds, with a label format that distinguishes neighbours.
SHORT = (
    *((s, "%H:%M:%S") for s in (1, 2, 5, 10, 20, 30)),
    *((60 * m, "%m-%d %H:%M") for m in (1, 2, 5, 10, 20, 30, 60, 120, 180, 360, 720)),
    *((86400 * d, "%Y-%m-%d") for d in (1, 2, 7, 14)),
)
MONTH = 30.4375  # days


def in_calendar(*days: float) -> bool:
    """Whether the calendar has all these days."""
    return all(LOWEST <= day <= HIGHEST for day in days)


def date(days: float) -> str:
    """A day as 2012-06-15; with its time where it has one.

    >>> date(15506.0), date(15506.5)
    ('2012-06-15', '2012-06-15 12:00')
    """
    if not in_calendar(days):
        return number(days)
    stamp = _stamp(days)
    if stamp.second:
        return f"{stamp:%Y-%m-%d %H:%M:%S}"
    return f"{stamp:%Y-%m-%d %H:%M}" if stamp.hour or stamp.minute else f"{stamp:%Y-%m-%d}"


def date_ticks(low: float, high: float, count: int) -> tuple[list[float], list[str]] | None:
    """At most `count` + 1 days from `low` to `high` and their labels; None if no step fits.

    >>> date_ticks(15340.0, 16800.0, 5)[1]
    ['2012', '2013', '2014', '2015']
    """
    if not in_calendar(low, high):
        return None
    least = (high - low) / max(count, 1)
    for seconds, form in SHORT:
        if seconds / 86400 >= least:
            return _labelled(_even(low, high, seconds), form)
    for months in MONTHS:
        if months * MONTH >= least:
            return _labelled(_months(low, high, months), "%Y-%m")
    years = next((y for y in YEARS if 12 * MONTH * y >= least), YEARS[-1])
    return _labelled(_months(low, high, 12 * years), "%Y")


def _stamp(days: float) -> datetime:
    return FIRST + timedelta(seconds=round(days * 86400))


def _even(low: float, high: float, seconds: int) -> Iterator[datetime]:
    step = seconds / 86400
    offset = 4.0 if seconds % (7 * 86400) == 0 else 0.0  # weeks begin on Mondays
    for k in range(math.ceil((low - offset) / step), math.floor((high - offset) / step) + 1):
        yield _stamp(offset + k * step)


def _months(low: float, high: float, step: int) -> Iterator[datetime]:
    start = _stamp(low)
    month = (12 * start.year + start.month - 1) // step * step
    while month < 12 * 10000:
        if month >= 12:
            stamp = datetime(month // 12, month % 12 + 1, 1)
            days = (stamp - FIRST).total_seconds() / 86400
            if days > high:
                return
            if days >= low:
                yield stamp
        month += step


def _labelled(stamps: Iterator[datetime], form: str) -> tuple[list[float], list[str]]:
    found = list(stamps)
    places = [(stamp - FIRST).total_seconds() / 86400 for stamp in found]
    return places, [f"{stamp:{form}}".zfill(4) for stamp in found]
