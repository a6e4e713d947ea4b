"""One finding of a check, and the table as the checks see it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.comparison.planning.dataset import Dataset, shown
from pellucid.data.raw_column import RawColumn


@dataclass(frozen=True)
class Finding:
    """One thing found: what, and what to do about it.

    leak : whether the columns may hold the answer, or be known only after it
    leave_out : whether the columns take no part in training
    """

    code: str
    level: str
    text: str
    action: str = ""
    columns: tuple[str, ...] = ()
    exclude: bool = False
    leak: bool = False

    def plain(self) -> dict[str, Any]:
        return {
            "code": self.code, "level": self.level, "text": self.text, "action": self.action,
            "columns": list(self.columns), "leak": self.leak,
        }  # fmt: skip


@dataclass(frozen=True)
class Facts:
    """The table as the checks see it, computed once."""

    dataset: Dataset
    rows: np.ndarray  # training rows: those of the test set are not looked at
    raw: dict[str, RawColumn]
    univariate: dict[str, float]
    cv: int
    repeated: int  # rows that repeat another one


def option(flag: str, name: str) -> str:
    """`--drop 'worst area'`: as a shell takes it; a name that is too long to type is not spelt out."""
    return f"{flag} {shlex.quote(name) if len(name) <= 60 else 'COLUMN'}"


def short(name: str) -> str:
    """A quoted name of bearable length."""
    return shown([repr(name)])


def sentence(names: list[str], one: str, many: str, rest: str) -> str:
    """`'a' is ...` or `'a', 'b' are ...`."""
    return f"{shown([repr(name) for name in names], 4)} {one if len(names) == 1 else many}{rest}"


def present(column: RawColumn) -> np.ndarray:
    """Which cells have a value."""
    if column.kind == "categorical":
        return column.values >= 0
    if column.kind == "text":
        return np.array([cell is not None for cell in column.values])
    return ~np.isnan(column.values)
