"""Data of the report besides the results: columns, target, searches, example rows.

Invariant: a part that fails is left out with a note; it never affects a score or a file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pellucid.comparison.analysis import example_rows as single
from pellucid.comparison.analysis.out_of_fold import searches
from pellucid.comparison.checks import profile as profiles
from pellucid.comparison.checks.catalogue import Findings
from pellucid.comparison.execution.candidate_choice import reason
from pellucid.comparison.execution.journal import RunState
from pellucid.comparison.planning.plan import Plan

NO_PROFILE: dict[str, Any] = {"target": None, "columns": [], "columns_left_out": 0, "plane": None}
PARTS = {  # of the final model, by the key of the message
    "rows": "the explanation of example rows",
    "learning": "the learning curve",
    "replay": "the replay of the fit",
    "changes": "the search for changes of example rows",
    "importances": "the importances of the columns",
    "portrait": "the description of the model",
}


@dataclass
class ReportData:
    """The parts of one run, and notes about those that failed."""

    plan: Plan
    findings: Findings
    notes: list[str] = field(default_factory=list)

    def attempt(self, what: str, make: Callable[[], Any], instead: Any) -> Any:
        """The result of `make`; if it fails, `instead` and a note."""
        try:
            return make()
        except Exception as error:  # the results are valid without it
            self.note(what, reason(error))
            return instead

    def note(self, what: str, why: str) -> None:
        self.notes.append(f"{what} failed: {why}. Scores and models are not affected.")

    def profile(self) -> dict[str, Any]:
        """Facts about the columns."""
        plan, known = self.plan, self.findings.univariate
        return self.attempt(
            "the overview of the columns",
            lambda: profiles.profile(plan.dataset, plan.train, known, plan.settings.seed),
            dict(NO_PROFILE),
        )

    def pick(self, predictions: dict[str, Any] | None) -> dict[str, list[int]]:
        """Example rows of the recommended model."""
        dataset = self.plan.dataset
        K, seed = len(dataset.classes or ()), self.plan.settings.seed
        if predictions is None:
            return {}
        return self.attempt(
            "the choice of example rows", lambda: single.pick(dataset.y, predictions, K, seed), {}
        )

    def failed_parts(self, final_fit: dict[str, Any]) -> None:
        """Add notes on the parts that failed in the final fit."""
        for name, why in final_fit.pop("failed_parts", {}).items():
            self.note(PARTS.get(name, name), why)

    def details(
        self, state: RunState, profile: dict[str, Any], picked: dict[str, list[int]], config: str
    ) -> dict[str, Any]:
        """All data of the report besides the results."""
        dataset = self.plan.dataset
        shown = self.attempt(
            "the cells of example rows",
            lambda: {name: single.cells(dataset.table, rows) for name, rows in picked.items()},
            {},
        )
        return {
            "profile": profile,
            "fine": self.findings.fine,
            "y": dataset.y,
            "weights": dataset.weights,
            "classes": None if dataset.classes is None else [str(c) for c in dataset.classes],
            "numbers": dataset.rows,
            "search": self.attempt("the table of searches", lambda: searches(self.plan, state), {}),
            "says": {
                c.id: c.entry.description if c.entry else "your own model"
                for c in self.plan.contenders
            },
            "picked": picked if shown else {},
            "cells": shown,
            "config": config,
            "source": dataset.source,
        }
