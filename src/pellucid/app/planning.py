"""`pellucid compare --plan`: what would be done, and where every setting comes from."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from pellucid.compare import estimate, limits
from pellucid.compare.describe import describe_data, describe_plan
from pellucid.compare.journal import plain
from pellucid.draw.table import text_table
from pellucid.report import terminal


def plan_facts(plan: Any, findings: Any) -> dict[str, Any]:
    """The plan as plain data."""
    return {
        "settings": {
            name: {"value": value, "source": plan.settings.sources[name]}
            for name, value in plan.settings.values.items()
        },
        "data": describe_data(plan),
        "plan": describe_plan(plan),
        "estimated_seconds": estimate.seconds(plan),
        "limits": dict(limits.told(plan)),
        "checks": findings.plain(),
        "models": [
            {
                "model": c.id,
                "candidates": len(c.candidates) if c.most is None else c.most,
                "skipped": c.skipped,
                "space": _space(c.candidates),
            }
            for c in plan.contenders
        ],
    }


def _space(candidates: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """The values of each parameter that is searched, in the order of the candidates."""
    names = candidates[0] if candidates else {}
    return {name: list(dict.fromkeys(c[name] for c in candidates)) for name in names}


def plan_text(plan: Any, findings: Any, format_: str) -> str:
    """The plan for a reader, or as JSON."""
    facts = plan_facts(plan, findings)
    if format_ == "json":
        return json.dumps(plain(facts), ensure_ascii=False, indent=1) + "\n"
    lines = terminal.data_line(facts["data"])
    lines += terminal.check_lines(facts["checks"], findings.fine)
    lines += terminal.plan_lines(facts["plan"], plan.settings.effort, estimate.told(plan), "")
    lines.append(
        f"        {facts['plan']['inner_folds']} inner folds | metric {facts['plan']['metric']}: "
        f"{facts['plan']['metric_why']}"
    )
    settings = [
        [name, _shown(entry["value"]), entry["source"]] for name, entry in facts["settings"].items()
    ]
    lines += ["", text_table(["setting", "value", "from"], settings)]
    lines += ["", text_table(["limit", "value"], [list(one) for one in facts["limits"].items()])]
    models = [
        [m["model"], m["candidates"] if not m["skipped"] else "", _searched(m)]
        for m in facts["models"]
    ]
    lines += ["", text_table(["model", "candidates", "search"], models)]
    return "\n".join(lines) + "\n"


def _shown(value: Any) -> str:
    if value is None or value == ():
        return "-"
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def _searched(model: dict[str, Any]) -> str:
    if model["skipped"]:
        return f"skipped: {model['skipped']}"
    return searched(model["space"])


def searched(space: dict[str, Any], starred: Collection[str] = ()) -> str:
    """A search space in one line."""
    parts = [f"{k}{'*' if k in starred else ''} {_few(v)}" for k, v in space.items()]
    return "; ".join(parts) or "nothing to choose"


def _few(values: list[Any]) -> str:
    texts = [f"{v:g}" if isinstance(v, float) else str(v) for v in values]
    return ", ".join(texts) if len(texts) <= 4 else f"{texts[0]} .. {texts[-1]} ({len(texts)})"
