"""How a solver ended, and what it hands back.

Invariant: every solver returns a `Solution` whose status says whether it is the requested one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid.records.fields import require

# Codes after which the solution is the requested one; every other code is a reason to warn.
OK_CODES = frozenset({"ok", "converged", "early_stopped"})
_CODE = re.compile(r"[a-z][a-z0-9_]{0,63}")


@dataclass(frozen=True)
class Status:
    """How a solver ended: a code for programs, a message and a suggestion for people.

    Parameters
    ----------
    code : lower-case identifier. `"ok"` (direct solution), `"converged"` and `"early_stopped"`
        mean that the solution is the requested one; any other code (`"max_iter"`, `"diverged"`,
        `"stopped"`, ...) names what happened instead.
    message : what happened and what it means for the user, as one sentence.
    suggestion : what to try; empty if there is nothing to do.

    Examples
    --------
    >>> status = Status("max_iter", "100 iterations were not enough.", "Scale the columns.")
    >>> status.ok
    False
    >>> print(status)
    100 iterations were not enough. Scale the columns.
    """

    code: str
    message: str
    suggestion: str = ""

    def __post_init__(self) -> None:
        for name in ("code", "message", "suggestion"):
            require(isinstance(getattr(self, name), str), self, name, "a string")
        valid = self.code in OK_CODES or _CODE.fullmatch(self.code) is not None
        require(valid, self, "code", "a lower-case identifier")

    @property
    def ok(self) -> bool:
        return self.code in OK_CODES

    def __str__(self) -> str:
        return f"{self.message} {self.suggestion}".strip()


@dataclass(frozen=True, eq=False)
class Solution:
    """What every solver returns: the answer, how it ended, one row per iteration, iterations."""

    x: Any
    status: Status
    history: dict[str, np.ndarray]
    n_iter: int
