"""One finding of a check, and the table as the checks see it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.compare.material import Material, shown
from pellucid.data.cells import RawColumn


@dataclass(frozen=True)
class Finding:
    """One thing found: what, and what to do about it."""

    code: str
    level: str
    text: str
    action: str = ""
    columns: tuple[str, ...] = ()
    leave_out: bool = False

    def plain(self) -> dict[str, Any]:
        return {
            "code": self.code, "level": self.level, "text": self.text, "action": self.action,
            "columns": list(self.columns),
        }  # fmt: skip


@dataclass(frozen=True)
class Facts:
    """The table as the checks see it, computed once."""

    material: Material
    rows: np.ndarray  # training rows: the locked ones are not looked at
    raw: dict[str, RawColumn]
    alone: dict[str, float]
    cv: int
    repeated: int  # rows that repeat another one


def option(flag: str, name: str) -> str:
    """`--drop 'worst area'`: as a shell takes it; a name that is too long to type is not spelt out."""
    return f"{flag} {shlex.quote(name) if len(name) <= 60 else 'COLUMN'}"


def short(name: str) -> str:
    """A quoted name of bearable length."""
    return shown([repr(name)])
