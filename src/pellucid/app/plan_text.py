"""`pellucid compare --plan`: what a run would do, and the source of every setting."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from pellucid.app.messages import as_json_text
from pellucid.comparison.execution.journal import plain
from pellucid.comparison.planning import limits, time_estimate
from pellucid.comparison.results_json import describe_data, describe_plan
from pellucid.draw.label_text import clean
from pellucid.parallel import get_threads
from pellucid.report import terminal
from pellucid.report.screen import PIPED, grid, wrapped


def plan_facts(plan: Any, findings: Any) -> dict[str, Any]:
    """The plan as plain data."""
    return {
        "settings": {
            name: {"value": value, "source": plan.settings.sources[name]}
            for name, value in plan.settings.values.items()
        },
        "data": describe_data(plan),
        "plan": describe_plan(plan),
        "estimated_seconds": time_estimate.seconds(plan),
        "limits": dict(limits.describe_limits(plan)),
        "checks": findings.plain(),
        "models": [
            {
                "model": c.id,
                "candidates": c.n_planned,
                "skipped": c.skipped,
                # The values of each searched parameter, in the order of the candidates.
                "space": {
                    name: list(dict.fromkeys(candidate[name] for candidate in c.candidates))
                    for name in (c.candidates[0] if c.candidates else ())
                },
            }
            for c in plan.contenders
        ],
    }


def effective(plan: Any) -> dict[str, str]:
    """The effective values of settings that were not given, on this table and machine."""
    material, jobs = plan.dataset, plan.settings.jobs or get_threads()
    memory = limits.process_memory(plan.settings, jobs) / 1e9
    two = material.classes is not None and len(material.classes) == 2
    return {
        "target": material.target,
        "task": f"auto: {material.task}",
        "metric": f"auto: {plan.metric.name}",
        "test": "no file",
        "encoding": "detected",
        "positive": str(material.classes[-1]) if two else "not used (only for two classes)",
        "models": "all",
        "select": "all",
        "time_limit": "no limit",
        "model_timeout": f"no time limit; at most {plan.model_timeout:g} s of estimated work",
        "memory_limit": f"{memory:.1f} GB (free memory)" if memory else "no limit",
        "intervals": "auto: cv+, or plain if the file would grow by more than 50 MB",
        "jobs": f"{jobs} (one per CPU)",
        **dict.fromkeys(("group", "time", "weights", "id", "drop"), "no column"),
        **dict.fromkeys(("exclude", "ignore"), "none"),
    }


def limit_lines(plan: Any, width: int) -> list[str]:
    """The limits as text."""
    lines: list[str] = []
    for name, text in limits.describe_limits(plan):
        head = "        " if lines else "limits  "
        lines += wrapped(f"{name}: {text}", head, "          ", width)
    return lines


def plan_text(plan: Any, findings: Any, format_: str, width: int = PIPED) -> str:
    """The plan as text or JSON."""
    facts = plan_facts(plan, findings)
    if format_ == "json":
        return as_json_text(plain(facts), indent=1) + "\n"
    lines = terminal.data_line(facts["data"], width)
    lines += terminal.check_lines(facts["checks"], findings.fine, width)
    lines += terminal.plan_lines(
        facts["plan"], plan.settings.effort, time_estimate.describe_estimate(plan), "", width
    )
    why = f"{facts['plan']['metric']}: {facts['plan']['metric_why']}"
    text = f"{facts['plan']['inner_folds']} inner folds | metric {why}"
    lines += wrapped(text, "        ", "        ", width) + limit_lines(plan, width)
    values = effective(plan)
    settings = [
        [name, shown(entry["value"], values.get(name, "none")), entry["source"]]
        for name, entry in facts["settings"].items()
    ]
    lines += ["", *grid(["setting", "value", "from"], settings, width, wraps=["value", "from"])]
    models = [
        [m["model"], "", f"skipped: {m['skipped']}"]
        if m["skipped"]
        else [m["model"], str(m["candidates"]), searched(m["space"])]
        for m in facts["models"]
    ]
    heads = ["model", "candidates", "search"]
    lines += ["", *grid(heads, models, width, wraps=["search"], right=["candidates"])]
    return "\n".join(lines) + "\n"


def shown(value: Any, otherwise: str) -> str:
    """A given value, or the effective one."""
    if value is None or value == () or value == "auto":
        return clean(otherwise)
    return clean(", ".join(map(str, value)) if isinstance(value, tuple) else value, 4000)


def searched(space: dict[str, Any], starred: Collection[str] = ()) -> str:
    """A search space on one line; `starred` parameters are marked."""
    parts = [f"{k}{'*' if k in starred else ''} {_few(v)}" for k, v in space.items()]
    return "; ".join(parts) or "no settings to tune"


def _few(values: list[Any]) -> str:
    texts = [f"{v:g}" if isinstance(v, float) else str(v) for v in values]
    return ", ".join(texts) if len(texts) <= 4 else f"{texts[0]} .. {texts[-1]} ({len(texts)})"
