"""The order of times that are written as text: 31/12/2019, Jan 05 2018, 2018-1-5 10:30, 2018Q3, ...

Each text is parsed by itself, except that the whole column decides whether 01/02/2018 starts with the
day: by a number above 12. Invariant: a text that is ambiguous or unreadable is an error that quotes it
and shows how to write it. Texts are never sorted alphabetically.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np

from pellucid.errors import DataError

MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip
WRITE = "Write times as 2019-12-31 or 2019-12-31 23:59:59."
_CLOCK = re.compile(
    r"(?:^|[T\s,]+)(\d{1,2}):(\d\d)(?::(\d\d)(?:[.,](\d{1,6})\d*)?)?"
    r"\s*([ap]\.?m\.?)?\s*(Z|UTC|GMT|[+-]\d\d:?\d\d)?$",
    re.I,
)
_WEEKDAY = re.compile(r"^(mon|tue|wed|thu|fri|sat|sun)[a-z]*\.?,?\s+", re.I)
_NAME = r"(?P<name>[a-z]{3,9})\.?"
_DAY, _YEAR = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?", r"(?P<year>\d{4})"
_FORMS = [
    re.compile(form, re.I)
    for form in (
        _YEAR + r"([-/.\s])(?P<month>\d{1,2})(?:\2(?P<day>\d{1,2}))?",
        _YEAR + r"(?P<month>\d\d)(?P<day>\d\d)",
        r"(?P<a>\d{1,2})([-/.\s])(?P<b>\d{1,2})\2" + _YEAR,
        r"(?P<month>\d{1,2})[-/.\s]" + _YEAR,
        rf"(?:{_DAY}[-/.\s]+)?{_NAME}[-/.,\s]+{_YEAR}",
        rf"{_NAME}[-/.\s]*{_DAY}[-/.,\s]+{_YEAR}",
        rf"{_YEAR}[-/.\s]+{_NAME}(?:[-/.\s]+{_DAY})?",
    )
]
_PERIOD = re.compile(r"(\d{4})[-/.\s]?([QWH])(\d{1,2})|([QWH])(\d{1,2})[-/.\s]?(\d{4})", re.I)


def are_times(texts: Sequence[str]) -> bool:
    """Whether every text is a date or a period, even if the order of day and month is unclear."""
    try:
        return all(_period(text) is not None or bool(_parts("", text)) for text in texts)
    except DataError:
        return False


def ranks(name: str, texts: Sequence[str]) -> np.ndarray:
    """The rank of each text in time; equal times have equal ranks."""
    found = [_period(text) for text in texts]
    letters = {letter for letter, _, _ in filter(None, found)}
    if all(found) and len(letters) == 1:
        moments = [year * 100 + count for _, year, count in filter(None, found)]
    else:
        parts = [_parts(name, text) for text in texts]
        first = _first(name, texts, parts)
        moments = [_moment(name, text, own, first) for text, own in zip(texts, parts)]
    return np.unique(np.array(moments, dtype=np.int64), return_inverse=True)[1].astype(float)


def _period(text: str) -> tuple[str, int, int] | None:
    """Letter, year and number of a quarter, half-year or week: 2018Q3, Q3 2018, 2018-W07."""
    match = _PERIOD.fullmatch(text.strip())
    if match is None:
        return None
    year, letter, count, *turned = match.groups()
    if year is None:
        letter, count, year = turned
    most = {"Q": 4, "H": 2, "W": 53}[letter.upper()]
    return (letter.upper(), int(year), int(count)) if 1 <= int(count) <= most else None


def _parts(name: str, text: str) -> dict[str, str]:
    """The parts of a date as written."""
    day = _WEEKDAY.sub("", _CLOCK.sub("", text.strip()))
    for form in _FORMS:
        match = form.fullmatch(day)
        if match is not None:
            return {part: word for part, word in match.groupdict().items() if word is not None}
    raise _unreadable(name, text)


def _unreadable(name: str, text: str) -> DataError:
    return DataError(
        f"column {name!r} contains {text[:40]!r}, which cannot be read as a time. {WRITE}"
    )


def _first(name: str, texts: Sequence[str], parts: list[dict[str, str]]) -> str:
    """Whether day or month comes first in dates such as 31/12/2019; some row must show it."""
    pairs = [(text, own) for text, own in zip(texts, parts) if "a" in own]
    day = next((text for text, own in pairs if int(own["a"]) > 12), None)
    month = next((text for text, own in pairs if int(own["b"]) > 12), None)
    if day is not None and month is not None:
        raise DataError(
            f"column {name!r} contains {day[:40]!r}, which starts with the day, and {month[:40]!r}, "
            f"which starts with the month. {WRITE}"
        )
    unclear = next((text for text, own in pairs if int(own["a"]) != int(own["b"])), None)
    if unclear is not None and day is None and month is None:
        raise DataError(
            f"column {name!r} is ambiguous: {unclear[:40]!r} may start with the day or the month, and "
            f"no row shows which. {WRITE}"
        )
    return "month" if month is not None else "day"


def _moment(name: str, text: str, parts: dict[str, str], first: str) -> int:
    """Microseconds since the year 1."""
    if "a" in parts:
        pair = (parts["a"], parts["b"])
        day, month = pair if first == "day" else pair[::-1]
    else:
        day, month = parts.get("day", "1"), parts.get("month", "0")
    word = parts.get("name", "-").lower()
    named = next((k for k, full in enumerate(MONTHS, 1) if full.startswith(word)), int(month))
    try:
        since = datetime(int(parts["year"]), named, int(day)) - datetime.min + _clock(text)
    except ValueError:
        raise _unreadable(name, text) from None
    return since // timedelta(microseconds=1)


def _clock(text: str) -> timedelta:
    """Time of day in UTC; 0 if there is none."""
    match = _CLOCK.search(text.strip())
    if match is None:
        return timedelta(0)
    hour, minute, second, fraction, half, zone = match.groups()
    hours, minutes, seconds = int(hour), int(minute), int(second or 0)
    if hours > (12 if half else 24) or minutes > 59 or seconds > 60:
        raise ValueError
    if half:
        hours = hours % 12 + (12 if half[0] in "pP" else 0)
    if zone and zone[0] in "+-":
        hours -= int(zone[:3])
        minutes -= int(zone[0] + zone[-2:])
    micro = int((fraction or "0").ljust(6, "0"))
    return timedelta(hours=hours, minutes=minutes, seconds=seconds, microseconds=micro)
