"""A comparison as the output of a notebook cell: answer, test score, warnings, leaderboard.

Invariant: the texts come from the functions that the report uses; everything is escaped.
"""

from __future__ import annotations

from typing import Any

from pellucid.draw import html_table, style_sheet, svg
from pellucid.draw.label_text import clean, escape
from pellucid.draw.text_table import fact_list
from pellucid.report import conclusion, pictures, wording

MORE = 'Full report: result.report("report.html").'


def card(data: dict[str, Any], timings: dict[str, Any]) -> str:
    """HTML of the content of results.json and timings.json."""
    name, target = (clean(data["data"][key], 60) for key in ("name", "target"))
    state = "complete" if data["complete"] else "partial: stopped early"
    head = svg.element("span", escape(f"{name}: predicting {target}"), class_="pl-name")
    head += svg.element("span", state, class_="pl-state")
    first, *others = conclusion.answer(data)
    parts = [
        style_sheet(),
        svg.element("div", head),
        _paragraph(first, "pl-title"),
        *(_paragraph(text, "pl-warn") for text in _warnings(data)),
        _paragraph(" ".join(others)) if others else "",
        fact_list({"test set": _test(data, timings), "checks": _checks(data)}),
        _board(data),
        _paragraph(MORE, "pl-note"),
    ]
    return svg.element("div", "".join(parts), class_="pl pl-card pl-result")


def _paragraph(text: str, style: str | None = None) -> str:
    return svg.element("p", escape(clean(text, 2000)), class_=style)


def _warnings(data: dict[str, Any]) -> list[str]:
    """Reasons to distrust the scores."""
    leaks = [found for found in data["checks"] if found["leak"]]
    texts = [f"Check for target leakage ({found['code']}): {found['text']}." for found in leaks]
    texts = [text.replace("..", ".") for text in texts]
    too_good = wording.too_good(data["verdict"])
    if too_good:
        texts.append(too_good)
    test = data["test"]
    if test and "failed" not in test and wording.disagrees(data):
        texts.append(wording.AGREEMENT[wording.agreement(data)])
    return texts


def _test(data: dict[str, Any], timings: dict[str, Any]) -> str:
    test, plan = data["test"], data["plan"]
    if test is None:
        if not plan["test_rows"]:
            return f"none: {plan['test_why']}"
        return f"{wording.plural(plan['test_rows'], 'row')}, not used yet"
    if "failed" in test:
        return f"{test['model']} could not be fitted: {test['failed']}"
    metric = plan["metric"]
    ends = test["intervals"].get(metric)
    inside = f" (95 % interval {wording.interval(ends, metric)})" if ends else ""
    times = timings.get("openings", 1)
    used = "used once" if times <= 1 else f"used {times} times: treat the score as optimistic"
    score = f"{wording.metric_name(metric)} {wording.score(test['metrics'].get(metric), metric)}{inside}"
    rows = wording.plural(test["rows"], "row")
    return f"{score} on {rows}, {used}. {wording.AGREEMENT[wording.agreement(data)]}".strip()


def _checks(data: dict[str, Any]) -> str:
    found = [f for f in data["checks"] if f["level"] in ("error", "warning")]
    if not found:
        return "no warnings"
    texts = [f"{f['code']} {clean(f['text'], 160).rstrip('.')}" for f in found[:6]]
    more = f"; and {len(found) - 6} more" if len(found) > 6 else ""
    return "; ".join(texts) + more


def _board(data: dict[str, Any]) -> str:
    """The chart of the scores, and a table below it."""
    scored = [row for row in data["leaderboard"] if row["place"]]
    picture = pictures.board(data, pictures.BROAD, table=False) if scored else ""
    metric = data["plan"]["metric"]
    cells = [_row(row, metric) for row in data["leaderboard"]]
    heads = ["model", "id", wording.metric_name(metric), "95 % interval", "against the best", ""]
    table = html_table(heads, cells, style=False)
    label = svg.element("summary", f"Leaderboard: {wording.plural(len(cells), 'model')}")
    return f"{picture}{svg.element('details', label + table)}"


def _row(row: dict[str, Any], metric: str) -> list[str]:
    if not row["place"]:
        return [row["title"], row["model"], wording.NOT_AVAILABLE, "", row["status"], row["reason"]]
    return [
        row["title"], row["model"], wording.score(row["mean"], metric),
        wording.interval(row["ci"], metric), conclusion.against(row), wording.verdict(row),
    ]  # fmt: skip
