"""The settings that all charts share.

Invariant: the defaults are defined only here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypedDict


class Look(TypedDict, total=False):
    """Keyword arguments that every chart accepts."""

    title: str
    x_label: str
    y_label: str
    note: str
    width: int
    height: int
    table: bool
    style: bool
    tips: bool
    x_dates: bool
    y_dates: bool


@dataclass(frozen=True)
class Settings:
    """`Look` with its defaults; `height` is that of the plot without title and labels.

    tips: marks have tooltips.
    x_dates, y_dates: the numbers of that axis are days since 1970, shown as dates.
    """

    title: str = ""
    x_label: str = ""
    y_label: str = ""
    note: str = ""
    width: int = 460
    height: int = 240
    table: bool = True
    style: bool = True
    tips: bool = True
    x_dates: bool = False
    y_dates: bool = False


def with_note(settings: Settings, *sentences: str) -> Settings:
    """The settings with sentences added to the note."""
    return replace(settings, note=" ".join(filter(None, [settings.note, *sentences])))
