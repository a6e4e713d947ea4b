"""From a table and settings to a plan that is ready to run, and the findings of the checks.

The test set is drawn before the checks, because they must not see it; it depends on the target, the
groups and the times alone, so the plan draws the same rows again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pellucid.comparison.checks.catalogue import Findings, run_checks
from pellucid.comparison.planning.dataset import load_dataset
from pellucid.comparison.planning.limits import limit_work
from pellucid.comparison.planning.plan import Plan, hold_out, make_plan
from pellucid.comparison.planning.settings import Settings
from pellucid.errors import DataError


def prepare(
    data: Any,
    settings: Settings,
    y: Any = None,
    extra: dict[str, Any] | None = None,
    note: Callable[[str], None] | None = None,
) -> tuple[Plan, Findings]:
    """Read the table, check its training rows, exclude useless columns, plan within the limits."""
    dataset = load_dataset(data, settings, y, note)
    train = hold_out(dataset, settings)[0]
    findings = run_checks(dataset, settings, train)
    if len(findings.excluded) == len(dataset.columns):
        raise DataError(
            f"no column of {dataset.source} can help to predict {dataset.target!r}: all are "
            "constant, empty or row IDs."
        )
    plan = make_plan(dataset.without(findings.excluded), settings, extra)
    return limit_work(plan), findings
