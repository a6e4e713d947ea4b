"""From a table and settings to a plan that is ready to run, with the checks made on the way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pellucid.comparison.checks.catalogue import Findings, run_checks
from pellucid.comparison.planning.dataset import gather
from pellucid.comparison.planning.limits import within
from pellucid.comparison.planning.plan import Plan, make_plan
from pellucid.comparison.planning.settings import Settings
from pellucid.errors import DataError


def prepare(
    data: Any,
    settings: Settings,
    y: Any = None,
    extra: dict[str, Any] | None = None,
    note: Callable[[str], None] | None = None,
) -> tuple[Plan, Findings]:
    """Read, lock the test rows away, check the rest, leave useless columns out, plan within limits."""
    material = gather(data, settings, y, note)
    findings = run_checks(material, settings, make_plan(material, settings, extra).train)
    gone = findings.leave_out
    if len(gone) == len(material.columns):
        raise DataError(
            f"no column of {material.source} can help to predict {material.target!r}: all are "
            "constant, empty or identifiers."
        )
    return within(make_plan(material.without(gone), settings, extra)), findings
