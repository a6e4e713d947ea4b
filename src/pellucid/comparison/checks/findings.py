"""A finding of a check, and the data that the checks examine."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.comparison.planning.dataset import Dataset
from pellucid.data.raw_column import RawColumn


@dataclass(frozen=True)
class Finding:
    """What a check found, and what to do about it.

    leak : whether the columns may leak the target, or be known only after it
    exclude : whether the columns are excluded from the features
    """

    code: str
    level: str
    text: str
    action: str = ""
    columns: tuple[str, ...] = ()
    exclude: bool = False
    leak: bool = False

    def plain(self) -> dict[str, Any]:
        """The finding in results.json."""
        facts = {name: value for name, value in vars(self).items() if name != "exclude"}
        return facts | {"columns": list(self.columns)}


@dataclass(frozen=True)
class Facts:
    """The data that the checks examine, computed once."""

    dataset: Dataset
    rows: np.ndarray  # training rows; the checks do not see the test set
    raw: dict[str, RawColumn]
    univariate: dict[str, float]  # score of each column as the only predictor
    cv: int
    repeated: int  # number of rows that repeat an earlier row


def option(flag: str, name: str) -> str:
    """`--drop 'worst area'`, quoted for a shell; a very long name is replaced by COLUMN."""
    return f"{flag} {shlex.quote(name) if len(name) <= 60 else 'COLUMN'}"


def short(name: str) -> str:
    """A quoted name, cut if it is long."""
    quoted = repr(name)
    return quoted if len(quoted) <= 60 else quoted[:57] + "..."


def some(names: list[str], most: int = 4) -> str:
    """Some of the names, including the last one, and their number."""
    if len(names) <= most:
        return ", ".join(map(short, names))
    first = ", ".join(map(short, names[: most - 1]))
    return f"{first}, ..., {short(names[-1])} ({len(names)} columns)"


def on_columns(
    code: str,
    level: str,
    names: list[str],
    verbs: str,
    rest: str,
    action: str = "",
    exclude: bool = False,
) -> Iterator[Finding]:
    """A finding on columns, if there are any: `'a' is ...` or `'a', 'b' are ...` for `is/are`."""
    if names:
        verb = verbs.split("/")[len(names) > 1]
        yield Finding(code, level, f"{some(names)} {verb} {rest}", action, tuple(names), exclude)
