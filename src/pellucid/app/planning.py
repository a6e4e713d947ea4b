"""`pellucid compare --plan`: what would be done, and where every setting comes from."""

from __future__ import annotations

import json
from collections.abc import Collection
from typing import Any

from pellucid.compare import estimate
from pellucid.compare.describe import describe_data, describe_plan
from pellucid.compare.journal import plain
from pellucid.draw.text import clean
from pellucid.report import terminal
from pellucid.report.screen import PIPED, grid, wrapped


def plan_facts(plan: Any, findings: Any) -> dict[str, Any]:
    """The plan as plain data."""
    return {
        "settings": {
            name: {"value": value, "source": plan.settings.sources[name]}
            for name, value in plan.settings.values.items()
        },
        "limits": limits(plan),
        "data": describe_data(plan),
        "plan": describe_plan(plan),
        "estimated_seconds": estimate.seconds(plan),
        "checks": findings.plain(),
        "models": [
            {
                "model": c.id,
                "candidates": len(c.candidates),
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


def limits(plan: Any) -> dict[str, float | None]:
    """Every limit of a run as it will be used: seconds, gigabytes, processes; None: no limit."""
    from pellucid.compare.session import spare_memory
    from pellucid.parallel import get_threads

    settings = plan.settings
    jobs = settings.jobs or get_threads()
    model, rounds = plan.model_timeout, len(plan.folds) + 1
    memory = settings.memory_limit or spare_memory() / jobs / 1e9
    return {
        "time_limit": settings.time_limit,
        "model_timeout": model,
        "fold_timeout": None if model is None else model / rounds,
        "memory_limit": memory or None,
        "jobs": jobs,
    }


def effective(plan: Any) -> dict[str, str]:
    """What a setting that nobody gave comes to on this table and this machine."""
    known, material, effort = limits(plan), plan.material, plan.settings.effort
    two = material.classes is not None and len(material.classes) == 2
    memory = known["memory_limit"]
    return {
        "target": material.target,
        "task": f"auto: {material.task}",
        "metric": f"auto: {plan.metric.name}",
        "test": "no file",
        "encoding": "detected",
        "positive": str(material.classes[-1]) if two else "not used (not two classes)",
        "models": "all",
        "select": "all",
        "time_limit": "no limit",
        "model_timeout": f"{_seconds(known['model_timeout'])} (of effort {effort})",
        "memory_limit": "no limit" if memory is None else f"{memory:.1f} GB (what is free)",
        "jobs": f"{known['jobs']:g} (one per CPU)",
        **dict.fromkeys(("group", "time", "weights", "id", "drop"), "no column"),
        **dict.fromkeys(("exclude", "ignore"), "none"),
    }


def _seconds(value: float | None) -> str:
    return "no limit" if value is None else f"{value:g} s"


def limit_words(plan: Any) -> list[tuple[str, str]]:
    """All limits of a run, by name, in words."""
    known = limits(plan)
    fold, memory = known["fold_timeout"], known["memory_limit"]
    each = "" if fold is None else f", about {fold:.3g} s for each fold and for the final fit"
    room = "no limit" if memory is None else f"{memory:.1f} GB"
    return [
        ("whole run", f"{_seconds(known['time_limit'])} (--time-limit)"),
        ("one model", f"{_seconds(known['model_timeout'])}{each} (--model-timeout)"),
        ("memory of one model", f"{room} (--memory-limit)"),
        ("processes", f"{known['jobs']:g} (--jobs)"),
    ]


def limit_lines(plan: Any, width: int) -> list[str]:
    """The limits for a reader."""
    lines: list[str] = []
    for name, text in limit_words(plan):
        head = "        " if lines else "limits  "
        lines += wrapped(f"{name}: {text}", head, "          ", width)
    return lines


def plan_text(plan: Any, findings: Any, format_: str, width: int = PIPED) -> str:
    """The plan for a reader, or as JSON."""
    facts = plan_facts(plan, findings)
    if format_ == "json":
        return json.dumps(plain(facts), ensure_ascii=False, indent=1) + "\n"
    lines = terminal.data_line(facts["data"], width)
    lines += terminal.check_lines(facts["checks"], findings.fine, width)
    told = estimate.told(plan)
    lines += terminal.plan_lines(facts["plan"], plan.settings.effort, told, "", width)
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
        [m["model"], "" if m["skipped"] else str(m["candidates"]), _searched(m)]
        for m in facts["models"]
    ]
    heads = ["model", "candidates", "search"]
    lines += ["", *grid(heads, models, width, wraps=["search"], right=["candidates"])]
    return "\n".join(lines) + "\n"


def shown(value: Any, otherwise: str) -> str:
    """A value that was given, else what happens without one."""
    if value is None or value == () or value == "auto":
        return clean(otherwise)
    return clean(", ".join(map(str, value)) if isinstance(value, tuple) else value, 4000)


def _searched(model: dict[str, Any]) -> str:
    if model["skipped"]:
        return f"skipped: {model['skipped']}"
    return searched(model["space"])


def searched(space: dict[str, Any], starred: Collection[str] = ()) -> str:
    """A search space in one line."""
    parts = [f"{k}{'*' if k in starred else ''} {_few(v)}" for k, v in space.items()]
    return "; ".join(parts) or "no settings to tune"


def _few(values: list[Any]) -> str:
    texts = [f"{v:g}" if isinstance(v, float) else str(v) for v in values]
    return ", ".join(texts) if len(texts) <= 4 else f"{texts[0]} .. {texts[-1]} ({len(texts)})"
