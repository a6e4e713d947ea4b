"""A comparison as Markdown, for pull requests and notes."""

from __future__ import annotations

from typing import Any

from pellucid.draw.label_text import clean
from pellucid.report import conclusion, terminal


def escaped(text: object, limit: int = 200) -> str:
    """Untrusted text, escaped for a Markdown table."""
    out = clean(text, limit)
    for character in "\\`*_{}[]<>#|":
        out = out.replace(character, "\\" + character)
    return out


def board(data: dict[str, Any], timings: dict[str, Any]) -> str:
    """Title, leaderboard, verdict, test set, checks."""
    plan, facts = data["plan"], data["data"]
    metric = plan["metric"]
    lines = [
        f"## {escaped(facts['name'], 60)}: {metric} of {plan['models']} models",
        "",
        f"{facts['rows']} rows, {len(facts['features'])} features, target "
        f"{escaped(facts['target'], 60)}; nested {terminal.folds(plan)} cross-validation on "
        f"{plan['train_rows']} rows.",
        "",
        "| | model | mean | 95 % interval | against the best | |",
        "|---|---|---|---|---|---|",
        *(_row(row, metric) for row in data["leaderboard"]),
        "",
    ]
    if any(conclusion.starred(row) for row in data["leaderboard"] if row["place"]):
        lines += [f"\\* {conclusion.STARRED}", ""]
    lines += [" ".join(terminal.verdict(data)), ""]
    lines += ["```text", *terminal.test_set(data, timings), "```"]
    if data["checks"]:
        lines.append("")
    for found in data["checks"]:
        lines.append(f"- {found['code']} ({found['level']}): {escaped(found['text'], 400)}")
    return "\n".join(lines) + "\n"


def _row(row: dict[str, Any], metric: str) -> str:
    name = escaped(row["model"], 40)
    if not row["place"]:
        reason = escaped(f"{row['status']}: {row['reason']}".rstrip(": "), 300)
        return f"| - | {name} | n/a | | | {reason} |"
    low, high = (terminal.score(v, metric) for v in row["ci"])
    against = conclusion.against(row).replace("<", "\\<").replace(conclusion.STAR, "\\*")
    mark = "=" if row["as_good"] else "x"
    use = "**recommended**" if row["recommended"] else "baseline" if row["baseline"] else ""
    mean = terminal.score(row["mean"], metric, 4)
    return f"| {mark} | {name} | {mean} | {low} - {high} | {against} | {use} |"
