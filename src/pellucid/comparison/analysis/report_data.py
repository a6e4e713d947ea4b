"""What a report tells beside the results: columns, truth, searches, single rows.

Invariant: a part that cannot be made is left out and noted; it never costs a score or a file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pellucid.comparison.analysis import example_rows as single
from pellucid.comparison.analysis.out_of_fold import searches
from pellucid.comparison.checks import profile as profiles
from pellucid.comparison.checks.catalogue import Findings
from pellucid.comparison.execution.fold_task import reason
from pellucid.comparison.execution.journal import Memory
from pellucid.comparison.planning.plan import Plan

NO_PROFILE: dict[str, Any] = {"target": None, "columns": [], "columns_left_out": 0, "plane": None}
PARTS = {  # of the kept model, by what its process calls them
    "rows": "the explanations of single rows",
    "learning": "the learning curve",
    "importances": "the importances of columns",
    "portrait": "the description of the model",
}


@dataclass
class Aside:
    """The parts of one run, and notes of those that failed."""

    plan: Plan
    findings: Findings
    notes: list[str] = field(default_factory=list)

    def attempt(self, what: str, make: Callable[[], Any], instead: Any) -> Any:
        """What `make` makes; if it fails a note and `instead`."""
        try:
            return make()
        except Exception as error:  # noted, and the results stand
            self.note(what, reason(error))
            return instead

    def note(self, what: str, why: str) -> None:
        self.notes.append(f"{what} could not be made: {why}. Scores and models are not affected.")

    def profile(self) -> dict[str, Any]:
        """Facts about the columns."""
        plan, alone = self.plan, self.findings.alone

        def make() -> dict[str, Any]:
            return profiles.profile(plan.material, plan.train, alone, plan.settings.seed)

        return self.attempt("the overview of the columns", make, dict(NO_PROFILE))

    def pick(self, answers: dict[str, Any] | None) -> dict[str, list[int]]:
        """Rows worth looking at, of the recommended model."""
        material = self.plan.material
        K, seed = len(material.classes or ()), self.plan.settings.seed
        if answers is None:
            return {}
        return self.attempt(
            "the choice of single rows", lambda: single.pick(material.y, answers, K, seed), {}
        )

    def failed_parts(self, ended: dict[str, Any]) -> None:
        """Notes of what the process of the kept model could not tell."""
        for name, why in ended.pop("untold", {}).items():
            self.note(PARTS.get(name, name), why)

    def details(
        self, memory: Memory, profile: dict[str, Any], picked: dict[str, list[int]], config: str
    ) -> dict[str, Any]:
        """All that a report needs beside the results."""
        material = self.plan.material

        def cells() -> dict[str, Any]:
            return {name: single.cells(material.table, rows) for name, rows in picked.items()}

        shown = self.attempt("the cells of single rows", cells, None)
        picked = {} if shown is None else picked
        return {
            "profile": profile,
            "fine": self.findings.fine,
            "y": material.y,
            "weights": material.weights,
            "classes": None if material.classes is None else [str(c) for c in material.classes],
            "numbers": material.rows,
            "search": self.attempt(
                "the table of searches", lambda: searches(self.plan, memory), {}
            ),
            "says": {
                c.id: c.entry.says if c.entry else "your own model" for c in self.plan.contenders
            },
            "picked": picked,
            "cells": shown or {},
            "config": config,
            "source": material.source,
        }
