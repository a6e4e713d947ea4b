"""The sections of the report as views, which the templates place on the page.

Each function takes the Summary (and the level of detail) and returns a dict of texts, lists and charts.
Invariant: numbers come from the Summary and are only formatted here; texts from the table are passed on
as they are, and the templates escape and shorten them.
"""

from __future__ import annotations

from itertools import islice
from typing import Any

from pellucid.draw.dates import date
from pellucid.draw.number import number
from pellucid.report import conclusion, pictures, wording
from pellucid.report.model_sections import confusion_table
from pellucid.report.views import (
    Detail,
    cell,
    chosen_first,
    id_beside_title,
    name_of,
    shade,
    target_value,
)

MOST_COLUMNS = 200
GROUPS = {
    "worst mistakes": "Largest errors",
    "most uncertain": "Most uncertain predictions",
    "random": "Random rows",
}
LIGHTS = {"error": ("red", "✕"), "warning": ("amber", "!"), "note": ("grey", "i")}


def answer(summary: dict[str, Any]) -> dict[str, Any]:
    """The answer in sentences, the test score in short, and the data checks."""
    checks = [
        {**check, "light": LIGHTS[check["level"]][0], "mark": LIGHTS[check["level"]][1]}
        for check in summary.get("checks") or []
    ]  # fmt: skip
    return {
        "sentences": summary.get("answer") or [],
        "leaks": [check for check in checks if check["leak"]],
        "test": _test_in_short(summary),
        "checks": checks,
        "fine": summary.get("fine") or "",
        "partial": summary.get("complete") is False,
        "too_good": wording.too_good(summary.get("verdict") or {}),
    }


def _test_in_short(summary: dict[str, Any]) -> dict[str, Any] | None:
    """The score on the test set, with its interval and a small chart."""
    found, metric = summary.get("test"), summary["plan"]["metric"]
    value = None if not found or "failed" in found else found["metrics"].get(metric)
    if found is None or value is None:
        return None
    ends = found["intervals"].get(metric)
    return {
        "metric": wording.metric_name(metric),
        "score": wording.score(value, metric),
        "interval": wording.interval(ends, metric) if ends else "",
        "rows": found.get("rows") or summary["plan"]["test_rows"],
        "openings": found.get("openings") or 1,
        "agreement": wording.AGREEMENT[wording.agreement(summary)],
        "disagrees": wording.disagrees(summary),
        "chart": pictures.test(summary, pictures.NARROW, False),
    }


# Data -----------------------------------------------------------------------------------------


def data(summary: dict[str, Any], detail: Detail) -> dict[str, Any]:
    """The table: classes or range of the target, features, charts of features and target."""
    facts = summary["data"]
    columns = facts.get("columns") or []
    strongest = sorted(columns, key=lambda c: 1.0 if c.get("alone") is None else -c["alone"])
    found = (pictures.column(c, facts["target"]) for c in strongest)
    charts = list(islice((chart for chart in found if chart), detail.columns))
    return {
        "facts": facts,
        "classes": _classes(facts),
        "target_chart": pictures.target(facts["target_histogram"], facts["target"])
        if facts.get("target_histogram")
        else None,
        "range": facts.get("target_range") and [number(v) for v in facts["target_range"]],
        "columns": [_column(c, facts["task"]) for c in columns[:MOST_COLUMNS]],
        "hidden": max(0, len(columns) - MOST_COLUMNS) + (facts.get("columns_left_out") or 0),
        "metric": "AUC" if facts["task"] == "classification" else "R²",
        "charts": charts,
        "all_charts": len(charts) == len(facts["features"]),
    }


def _classes(facts: dict[str, Any]) -> list[dict[str, Any]]:
    found = facts.get("classes") or []
    total = sum(c["rows"] for c in found) or 1
    ordered = sorted(found, key=lambda c: -c["rows"])
    return [
        {"label": c["label"], "rows": c["rows"], "share": wording.percent(c["rows"] / total)}
        for c in ordered[:50]
    ]


def _column(found: dict[str, Any], task: str) -> list[dict[str, Any]]:
    values = ""
    text = date if found.get("kind") == "datetime" else number
    if found.get("low") is not None and found.get("high") is not None:
        middle = "" if found.get("median") is None else f", median {text(found['median'])}"
        values = f"{text(found['low'])} to {text(found['high'])}{middle}"
    elif found.get("levels"):
        values = wording.listing([str(level["label"]) for level in found["levels"]], 4)
    counts = [found.get(name) for name in ("missing", "distinct")]
    alone = found.get("alone")
    shown = cell(wording.NOT_AVAILABLE, -1) if alone is None else cell(f"{alone:.3f}", alone)
    return [
        cell(found["name"]),
        cell(found.get("kind") or ""),
        *(cell("" if count is None else f"{count:,}", count or 0) for count in counts),
        cell(values),
        shown,
    ]


# Leaderboard ----------------------------------------------------------------------------------


def board(summary: dict[str, Any]) -> dict[str, Any]:
    """The chart, the table, models without a score, pairwise comparisons, run times."""
    plan = summary["plan"]
    metric = plan["metric"]
    beside = wording.beside(summary["data"]["task"], metric)
    scored = [row for row in summary["leaderboard"] if row["place"]]
    return {
        "metric": wording.metric_name(metric),
        "meaning": wording.METRICS.get(metric, ("", ""))[1],
        "better": "higher" if plan["greater_is_better"] else "lower",
        "charts": [pictures.board(summary, width) for width in (pictures.BROAD, pictures.WIDE)]
        if scored else [],
        "heads": ["model", wording.metric_name(metric), "95 % interval", "against the best",
                  *map(wording.metric_name, beside), "fit", "predict"],
        "rows": [_board_row(row, metric, beside) for row in scored],
        "legend": conclusion.legend(summary),
        "star": conclusion.STARRED if any(map(conclusion.starred, scored)) else "",
        "rule": conclusion.rule(summary),
        "mute": any(map(wording.gives_no_probabilities, scored)),
        "failed": [row for row in summary["leaderboard"] if not row["place"]],
        "notes": [(row["title"], note) for row in scored for note in row["notes"]],
        "pairs": _pairs(summary),
        "times": [chart for chart in (
            pictures.score_by_time(summary, "fit_seconds", "Score by fit time"),
            pictures.score_by_time(summary, "predict_seconds", "Score by prediction time"),
        ) if chart],
    }  # fmt: skip


def _board_row(row: dict[str, Any], metric: str, beside: list[str]) -> dict[str, Any]:
    shown = [
        cell(row["title"]),
        cell(wording.score(row["mean"], metric), row["mean"]),
        cell(wording.interval(row["ci"], metric), "" if row["ci"][0] is None else row["ci"][0]),
        cell(conclusion.against(row), row["place"]),
    ]
    texts = [
        (row["metrics"].get(name), wording.score(row["metrics"].get(name), name)) for name in beside
    ]
    texts += [(row.get(k), wording.seconds(row.get(k))) for k in ("fit_seconds", "predict_seconds")]
    shown += [cell(text, "" if value is None else value) for value, text in texts]
    mark = "=" if row.get("as_good") else "×"
    return {
        "cells": shown, "mark": mark, "best": row["recommended"], "tag": wording.verdict(row),
        "id": id_beside_title(row),
    }  # fmt: skip


def _pairs(summary: dict[str, Any]) -> dict[str, Any] | None:
    found = summary.get("pairwise")
    if not found or len(found["models"]) < 2:
        return None
    models, better = found["models"], found["better"]
    rope = [width for width in found.get("rope") or [] if width > 0]
    return {
        "models": models,
        "rows": [
            [{"text": wording.percent(unsure(share)), "shade": shade(share)} for share in row]
            for row in better
        ],
        "widths": [number(width) for width in rope],
        "tables": [
            [[None if v is None else round(unsure(v) or 0.0, 3) for v in row] for row in table]
            for table in (better, *(found["within"][str(width)] for width in rope))
        ],
    }


def unsure(share: float | None) -> float | None:
    """A probability away from 0 and 1: a finite sample is never certain."""
    return None if share is None else min(max(share, 0.001), 0.999)


def regions(summary: dict[str, Any]) -> dict[str, Any] | None:
    """Predictions of all models over the same two columns."""
    found = summary.get("regions")
    if not found:
        return None
    shown = [row for row in chosen_first(summary) if row["model"] in found["models"]]
    order = [row["model"] for row in shown]
    scale = _one_scale(found, order, summary["data"].get("target_range"))
    return {
        "x": found["x"],
        "y": found["y"],
        "others": found.get("others") or "",
        "charts": [pictures.region(found, row, False, scale, dates(summary)) for row in shown],
        "shaded": any(found["models"][model].get("certainty") for model in order),
        "points": any(found["models"][model].get("classes") for model in order),
    }


def dates(summary: dict[str, Any]) -> frozenset[str]:
    """Names of the columns that hold dates."""
    columns = summary["data"].get("columns") or []
    return frozenset(c["name"] for c in columns if c.get("kind") == "datetime")


def _one_scale(
    found: dict[str, Any], models: list[str], target: list[float] | None
) -> tuple[float, float] | None:
    """The range of most predictions within the range of the target; None for classes."""
    if target is None:
        return None
    grids = (found["models"][model]["grid"] for model in models)
    values = sorted(v for grid in grids for row in grid for v in row if v is not None)
    few = len(values) // 50  # cut off at both ends, because one model may extrapolate wildly
    low, high = max(values[few], target[0]), min(values[-1 - few], target[-1])
    return (low, high) if low < high else None


# Rows, test set, reproducibility --------------------------------------------------------------


def rows(summary: dict[str, Any], detail: Detail) -> dict[str, Any] | None:
    """Example rows with the contributions of their columns."""
    found = summary.get("rows")
    if not found:
        return None
    groups = [
        {"name": GROUPS.get(group["name"], group["name"]),
         "rows": [_row(row, found) for row in group["rows"][: detail.rows]],
         "hidden": max(0, len(group["rows"]) - detail.rows)}
        for group in found["groups"]
        if group["rows"][: detail.rows]
    ]  # fmt: skip
    return {
        "model": name_of(summary, summary["verdict"]["recommended"]),
        "groups": groups,
        "all": _searchable(found.get("all"), summary, detail),
    }


def _searchable(
    found: dict[str, Any] | None, summary: dict[str, Any], detail: Detail
) -> dict[str, Any] | None:
    """The rows that the search covers, as lists, and a description of them."""
    if not found or not detail.searchable:
        return None
    lists = {key: found[key] and found[key][: detail.searchable]
             for key in ("row", "actual", "predicted", "p")}  # fmt: skip
    labels = [str(c["label"]) for c in summary["data"].get("classes") or []]
    known, total = len(lists["row"]), found["rows"]
    which = wording.plural(total, "training row")
    if known < total:
        which = f"the {known:,} training rows with the largest errors, of {total:,}"
    elif total > 1:
        which = f"all {which}"
    about = f"probability of {labels[1] if len(labels) == 2 else 'the prediction'}"
    about = "" if lists["p"] is None else about  # the head of the column of probabilities
    return {"which": which, "labels": labels, "data": {**lists, "about": about}}


def _row(row: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    shares = row.get("p") or {}
    likely = sorted(shares.items(), key=lambda pair: -(pair[1] or 0))[:3]
    return {
        "row": row["row"],
        "actual": target_value(row["actual"]),
        "predicted": target_value(row["predicted"]),
        "wrong": target_value(row["actual"]) != target_value(row["predicted"]) and bool(shares),
        "likely": [(label, wording.percent(share)) for label, share in likely],
        "cells": list(zip(found["columns"], row["cells"]))[:60],
        "hidden": max(0, len(row["cells"]) - 60),
        "chart": pictures.contributions(row, found["columns"]),
        "changes": _changes(row.get("changes")),
        "base": None if row.get("base") is None else number(row["base"], 3),
        "total": None if row.get("total") is None else number(row["total"], 3),
        "scale": row.get("scale") or "",
    }


def _changes(found: dict[str, Any] | None) -> dict[str, Any] | None:
    """What would change the prediction of a row, as texts."""
    if found is None:
        return None
    middle, goal = found["threshold"], ""
    if middle is not None:
        side = "below" if found["before"] >= middle else "at least"
        goal = f"{side} {number(middle, 4)}, the median of the training rows"
    return {
        "before": target_value(found["before"]),
        "goal": goal,
        "found": [(target_value(one["prediction"]), one["columns"]) for one in found["found"]],
    }


def test(summary: dict[str, Any]) -> dict[str, Any]:
    """The test set."""
    plan, found = summary["plan"], summary.get("test")
    view = {"rows": plan["test_rows"], "why": plan["test_why"], "failed": None, "metrics": []}
    partial = summary.get("complete") is False
    view["unused_why"] = "the run is not complete" if partial else "no model has a score"
    if not found:
        return view
    if "failed" in found:
        return {**view, "failed": found["failed"], "model": name_of(summary, found["model"])}
    view["metrics"] = [
        (wording.metric_name(name), wording.score(value, name),
         wording.interval(found["intervals"].get(name), name),
         wording.score(found["baseline"].get(name), name))
        for name, value in found["metrics"].items()
    ]  # fmt: skip
    return {
        **view,
        "model": name_of(summary, found["model"]),
        "chart": pictures.test(summary),
        "agreement": wording.AGREEMENT[wording.agreement(summary)],
        "exact": wording.EXACT if wording.exact(found) else "",
        "interval": wording.intervals(summary),
        "threshold": wording.threshold(summary),
        "openings": found.get("openings") or 1,
        "confusion": confusion_table(found.get("confusion")),
    }


def reproduce(summary: dict[str, Any], detail: Detail) -> dict[str, Any]:
    """How to get the same numbers again, failures, and limitations."""
    found = summary.get("reproduce") or {}
    seconds = found.get("seconds") or {}
    limits = [*(found.get("limits") or []), *([detail.note] if detail.note else [])]
    return {
        **{key: found.get(key) for key in ("command", "config", "seed", "sha256")},
        "versions": found.get("versions") or {},
        "total": wording.seconds(found["total_seconds"]) if found.get("total_seconds") else "",
        "seconds": [
            [cell(model), *(cell(wording.seconds(s.get(k)), s.get(k)) for k in
                            ("search", "fit", "predict"))]
            for model, s in seconds.items()
        ],
        "failures": found.get("failures") or [],
        "limits": limits,
    }  # fmt: skip
