"""The content of results.json, from the plan and the journal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pellucid.comparison.analysis.additions import describe_intervals, threshold
from pellucid.comparison.analysis.leaderboard import leaderboard
from pellucid.comparison.analysis.pairs import Comparison
from pellucid.comparison.analysis.verdict import Verdict
from pellucid.comparison.execution.journal import RunState
from pellucid.comparison.planning.plan import Plan
from pellucid.comparison.result import SCHEMA

TOO_GOOD = 0.9999  # R2 that real data hardly allow


def describe(
    plan: Plan,
    state: RunState,
    found: Comparison,
    checks: list[dict[str, Any]],
    final_fit: dict[str, Any],
    stopped: str,
    predictions: Mapping[str, Mapping[str, np.ndarray]],
) -> dict[str, Any]:
    """All results, without times, paths or host names."""
    from pellucid import __version__

    rows, reached = leaderboard(plan, state, found)
    best = reached.recommended
    own = None if best is None else predictions.get(best)
    return {
        "schema": SCHEMA,
        "pellucid": __version__,
        "data": describe_data(plan),
        "settings": plan.settings.affecting_results(),
        "plan": describe_plan(plan),
        "checks": checks,
        "leaderboard": rows,
        "recommended": best,
        "verdict": describe_verdict(plan, rows, reached),
        "pairs": found.matrix(list(reached.marks)),
        "test": describe_test(plan, final_fit, rows, best),
        "intervals": describe_intervals(plan, own, final_fit),
        "threshold": None if own is None else threshold(plan, own),
        "complete": not stopped,
        "stopped": stopped,
    }


def describe_data(plan: Plan) -> dict[str, Any]:
    """Facts about the table."""
    dataset = plan.dataset
    kinds = list(dataset.kinds.values())
    facts: dict[str, Any] = {
        "name": dataset.name,
        "sha256": dataset.sha256,
        "rows": len(dataset.y),
        "features": dataset.columns,
        "kinds": {kind: kinds.count(kind) for kind in sorted(set(kinds))},
        "target": dataset.target,
        "task": dataset.task,
        "task_why": dataset.task_why,
        "notes": list(dataset.notes),
    }
    if dataset.classes is not None:
        counts = np.bincount(dataset.y, minlength=len(dataset.classes))
        facts["classes"] = [
            {"label": str(label), "rows": int(count)}
            for label, count in zip(dataset.classes, counts)
        ]
    else:
        y = dataset.y
        facts["target_range"] = [float(y.min()), float(np.median(y)), float(y.max())]
    return facts


def describe_plan(plan: Plan) -> dict[str, Any]:
    """The decisions before the first fit."""
    return {
        "metric": plan.metric.name,
        "metric_why": plan.metric_why,
        "greater_is_better": plan.metric.greater_is_better,
        "metrics": list(plan.metrics),
        "folds": plan.folds_name,
        "n_folds": len(plan.folds),
        "ratio": plan.ratio,
        "cv": plan.settings.cv,
        "repeats": plan.repeats,
        "inner_folds": plan.inner,
        "search_rows": plan.search_rows,
        "train_rows": len(plan.train),
        "test_rows": len(plan.test),
        "test_why": plan.test_why,
        "models": len(plan.contenders),
        "fits": plan.n_fits,
    }


def describe_verdict(plan: Plan, rows: list[dict[str, Any]], reached: Verdict) -> dict[str, Any]:
    """The conclusion: the best model, those as good, the recommended one, and the rule."""
    scored = [row for row in rows if row["place"]]
    return {
        "best": reached.best,
        "as_good": [name for name, mark in reached.marks.items() if mark.as_good],
        "scored": len(scored),
        "recommended": reached.recommended,
        "margin": plan.settings.margin,
        "prefer": plan.settings.prefer,
        "too_good": [r["model"] for r in scored if r["metrics"].get("r2", 0.0) >= TOO_GOOD],
        "beats_baseline": reached.beats_baseline,
    }


def describe_test(
    plan: Plan, final_fit: dict[str, Any], rows: list[dict[str, Any]], best: str | None
) -> dict[str, Any] | None:
    """The test set: scores with intervals, and whether they agree with cross-validation."""
    if final_fit.get("kind") == "failed":
        return {"model": best, "failed": final_fit["why"]}
    test = final_fit.get("test")
    if test is None:
        return None
    name = plan.metric.name
    out = {
        "model": best,
        "rows": len(plan.test),
        "metrics": test["metrics"],
        "intervals": test["intervals"],
        "baseline": test["baseline"],
    }
    if plan.dataset.groups is not None:  # then the intervals count groups
        out["groups"] = len(np.unique(plan.dataset.groups[plan.test]))
    own = next(row for row in rows if row["model"] == best)
    if name in test["intervals"] and None not in own["ci"]:
        out["agrees"] = agrees(test["metrics"][name], test["intervals"][name], own)
    return out


def agrees(value: float, ends: list[float], own: dict[str, Any]) -> bool:
    """Whether the test score and the cross-validated score differ by no more than their uncertainty.

    The half-widths of the two intervals that face each other are added as squares, because the scores
    are independent.
    """
    above = value > own["mean"]
    facing = own["ci"][1] - own["mean"] if above else own["mean"] - own["ci"][0]
    back = value - ends[0] if above else ends[1] - value
    return bool(abs(value - own["mean"]) <= np.hypot(facing, back))
