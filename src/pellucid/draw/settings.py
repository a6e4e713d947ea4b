"""What every chart can be told about its looks.

Invariant: the defaults stand here only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypedDict


class Look(TypedDict, total=False):
    """Keyword arguments that every chart understands."""

    title: str
    x_label: str
    y_label: str
    note: str
    width: int
    height: int
    table: bool
    style: bool


@dataclass(frozen=True)
class Settings:
    """`Look` with its defaults; `height` is that of the plot without title and labels."""

    title: str = ""
    x_label: str = ""
    y_label: str = ""
    note: str = ""
    width: int = 460
    height: int = 240
    table: bool = True
    style: bool = True


def with_note(settings: Settings, *sentences: str) -> Settings:
    """The settings with sentences added to the note."""
    return replace(settings, note=" ".join(filter(None, [settings.note, *sentences])))
