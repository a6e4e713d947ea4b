"""The sections of the report as views: what the templates place on the page.

Each function takes the Summary (and how much detail is wanted) and gives a dict of texts, lists and
charts. Invariant: numbers come from the Summary and are only formatted here; texts from the table
are passed on unescaped and unshortened, the templates do both.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Any

from pellucid.draw.number import number
from pellucid.report import pictures, words

MOST_COLUMNS = 200
BESIDE = {
    "classification": ("accuracy", "roc_auc", "log_loss"),
    "regression": ("r2", "mae", "rmse"),
}
LIGHTS = {"error": ("red", "✕"), "warning": ("amber", "!"), "note": ("grey", "i")}


@dataclass(frozen=True)
class Detail:
    """How much is shown; each step of the ladder in `html` gives some of it up."""

    tables: str = "all"  # data tables below the charts of: all cards, the recommended one, none
    cards: str = "all"  # all models, the tied ones, the recommended one, or none
    columns: int = 24  # pictures of columns
    rows: int = 100  # rows per group
    regions: bool = True
    said: str = ""

    def tables_of(self, model: str, best: str | None) -> bool:
        return self.tables == "all" or (self.tables == "recommended" and model == best)

    def shows(self, row: dict[str, Any]) -> bool:
        if self.cards in ("all", "none"):
            return self.cards == "all"
        if row["recommended"]:
            return True
        return self.cards == "tied" and bool(row.get("tied"))


def best_of(summary: dict[str, Any]) -> str | None:
    """Name of the recommended model."""
    return (summary.get("verdict") or {}).get("recommended")


def cell(text: Any, value: Any = None) -> dict[str, Any]:
    """A cell of a sortable table: what is shown, and what it sorts by."""
    return {"text": text, "value": text if value is None else value}


def answer(summary: dict[str, Any]) -> dict[str, Any]:
    """Sentences and the traffic light."""
    checks = [
        {**check, "light": LIGHTS[check["level"]][0], "mark": LIGHTS[check["level"]][1],
         "word": words.LEVELS[check["level"]]}
        for check in summary.get("checks") or []
    ]  # fmt: skip
    return {
        "sentences": summary.get("answer") or [],
        "checks": checks,
        "fine": summary.get("fine") or "",
        "partial": summary.get("complete") is False,
    }


# Data -----------------------------------------------------------------------------------------


def data(summary: dict[str, Any], detail: Detail) -> dict[str, Any]:
    """The table: columns, classes, the target against the columns."""
    facts = summary["data"]
    columns = facts.get("columns") or []
    strongest = sorted(columns, key=lambda c: -_strength(c.get("alone")))
    found = (pictures.column(c, facts["target"]) for c in strongest)
    charts = list(islice((chart for chart in found if chart), detail.columns))
    return {
        "facts": facts,
        "classes": _classes(facts),
        "range": facts.get("target_range") and [number(v) for v in facts["target_range"]],
        "columns": [_column(c, facts["task"]) for c in columns[:MOST_COLUMNS]],
        "hidden": max(0, len(columns) - MOST_COLUMNS),
        "alone": "AUC" if facts["task"] == "classification" else "R²",
        "charts": charts,
        "all_charts": len(charts) == len(columns),
    }


def _strength(alone: float | None) -> float:
    if alone is None:
        return -1.0
    return alone


def _classes(facts: dict[str, Any]) -> list[dict[str, Any]]:
    found = facts.get("classes") or []
    total = sum(c["rows"] for c in found) or 1
    ordered = sorted(found, key=lambda c: -c["rows"])
    return [
        {"label": c["label"], "rows": c["rows"], "share": words.percent(c["rows"] / total)}
        for c in ordered[:50]
    ]


def _column(found: dict[str, Any], task: str) -> list[dict[str, Any]]:
    values = ""
    if found.get("low") is not None and found.get("high") is not None:
        middle = "" if found.get("median") is None else f", middle {number(found['median'])}"
        values = f"{number(found['low'])} to {number(found['high'])}{middle}"
    elif found.get("levels"):
        values = words.listing([str(level["label"]) for level in found["levels"]], 4)
    alone = found.get("alone")
    missing = found.get("missing")
    return [
        cell(found["name"]),
        cell(found.get("kind") or ""),
        cell("" if missing is None else missing, missing or 0),
        cell(
            "" if found.get("distinct") is None else found["distinct"], found.get("distinct") or 0
        ),
        cell(values),
        cell(
            words.NOT_AVAILABLE if alone is None else f"{alone:.3f}", -1 if alone is None else alone
        ),
    ]


# Leaderboard ----------------------------------------------------------------------------------


def board(summary: dict[str, Any]) -> dict[str, Any]:
    """The plot, the table, those without a score, pairs, times."""
    plan = summary["plan"]
    metric = plan["metric"]
    beside = [m for m in BESIDE[summary["data"]["task"]] if m != metric][:2]
    scored = [row for row in summary["leaderboard"] if row["place"]]
    return {
        "metric": words.metric_name(metric),
        "meaning": words.metric_meaning(metric),
        "better": "higher" if plan["greater_is_better"] else "lower",
        "chart": pictures.board(summary) if scored else None,
        "heads": ["model", words.metric_name(metric), "95 % interval", "against the best",
                  *map(words.metric_name, beside), "fit", "predict"],
        "rows": [_board_row(row, metric, beside) for row in scored],
        "failed": [row for row in summary["leaderboard"] if not row["place"]],
        "notes": [(row["model"], note) for row in scored for note in row["notes"]],
        "pairs": _pairs(summary),
        "times": [chart for chart in (
            pictures.score_by_time(summary, "fit_seconds", "Score and time to fit"),
            pictures.score_by_time(summary, "predict_seconds", "Score and time to predict"),
        ) if chart],
    }  # fmt: skip


def _board_row(row: dict[str, Any], metric: str, beside: list[str]) -> dict[str, Any]:
    shown = [
        cell(row["model"]),
        cell(words.score(row["mean"], metric, 4), row["mean"]),
        cell(words.interval(row["ci"], metric), "" if row["ci"][0] is None else row["ci"][0]),
        cell(words.against(row), row["place"]),
    ]
    for name in beside:
        value = row["metrics"].get(name)
        shown.append(cell(words.score(value, name), "" if value is None else value))
    for key in ("fit_seconds", "predict_seconds"):
        value = row.get(key)
        shown.append(cell(words.seconds(value), "" if value is None else value))
    mark = "=" if row.get("tied") else "×"
    return {"cells": shown, "mark": mark, "best": row["recommended"], "tag": words.verdict(row)}


def _pairs(summary: dict[str, Any]) -> dict[str, Any] | None:
    found = summary.get("pairwise")
    if not found or len(found["models"]) < 2:
        return None
    models, better = found["models"], found["better"]
    rope = [width for width in found.get("rope") or [] if width > 0]
    return {
        "models": models,
        "rows": [
            [{"text": words.percent(share), "shade": _shade(share)} for share in row]
            for row in better
        ],
        "widths": [number(width) for width in rope],
        "tables": _rounded([better, *(found["within"][str(width)] for width in rope)]),
    }


def _rounded(tables: list[list[list[float | None]]]) -> list[list[list[float | None]]]:
    return [[[None if v is None else round(v, 3) for v in row] for row in t] for t in tables]


def _shade(share: float | None) -> str:
    return "" if share is None else f"s{min(9, int(share * 10))}"


# Cards and what was learned -------------------------------------------------------------------


def cards(summary: dict[str, Any], detail: Detail) -> list[dict[str, Any]]:
    """One card per model with answers, best first."""
    known, best = summary.get("cards") or {}, best_of(summary)
    metric = summary["plan"]["metric"]
    shown = [row for row in summary["leaderboard"] if row["model"] in known and detail.shows(row)]
    return [
        _card(row, known[row["model"]], metric, detail.tables_of(row["model"], best))
        for row in shown
    ]


def _card(row: dict[str, Any], card: dict[str, Any], metric: str, tables: bool) -> dict[str, Any]:
    return {
        "model": row["model"],
        "best": row["recommended"],
        "says": card.get("says") or "",
        "class": row.get("class") or "",
        "params": words.params(row.get("params")),
        "score": words.score(row.get("mean"), metric),
        "interval": words.interval(row.get("ci"), metric),
        "against": words.against(row) if row["place"] else row["status"],
        "notes": row["notes"],
        "confusion": _confusion(card.get("confusion")),
        "thresholds": _thresholds(card.get("thresholds")),
        "charts": [chart for chart in _card_charts(card, metric, tables) if chart],
        "edge": []
        if any("edge" in note for note in row["notes"])
        else (card.get("search") or {}).get("edge") or [],
        "failed": _failed_settings(card.get("search")),
    }


def _card_charts(card: dict[str, Any], metric: str, tables: bool) -> list[Any]:
    charts: list[Any] = []
    if card.get("roc"):
        charts.append(pictures.curve(card["roc"], "roc", tables))
    if card.get("pr"):
        charts.append(pictures.curve(card["pr"], "pr", tables))
    if card.get("calibration"):
        charts.append(pictures.calibration(card["calibration"], tables))
    charts += [pictures.probabilities(entry, tables) for entry in (card.get("histogram") or [])[:1]]
    if card.get("residuals"):
        charts += pictures.residuals(card["residuals"], tables)
    if card.get("search"):
        charts.append(pictures.search(card["search"], metric, tables))
    if card.get("learning"):
        charts.append(pictures.learning(card["learning"], metric, tables))
    return charts


def _failed_settings(search: dict[str, Any] | None) -> list[tuple[str, str]]:
    tried = (search or {}).get("candidates") or []
    return [(words.params(c["params"]), c["failed"]) for c in tried if c.get("failed")]


def _confusion(found: dict[str, Any] | None) -> dict[str, Any] | None:
    """Counts with shares of the true class; a picture instead of a table for many classes."""
    if not found:
        return None
    labels, counts = found["labels"], found["counts"]
    if len(labels) > 8:
        return {"picture": pictures.many_classes(labels, counts)}
    rows = []
    for label, row in zip(labels, counts):
        total = sum(row)
        shares = [count / total if total else None for count in row]
        rows.append(
            {"label": label, "cells": [
                {"count": n, "share": words.percent(s), "shade": _shade(s), "said": said,
                 "right": said == label}
                for n, s, said in zip(row, shares, labels)
            ]}
        )  # fmt: skip
    return {"labels": labels, "rows": rows}


def _thresholds(found: dict[str, Any] | None) -> dict[str, Any] | None:
    """The counts for the slider, and ten of them for those without JavaScript."""
    if not found or not found["rows"]:
        return None
    rows = found["rows"]
    marks = [min(rows, key=lambda row: abs(row[0] - k / 10)) for k in range(1, 10)]
    counts = [[round(cut, 5), *rest] for cut, *rest in rows]
    return {"class": found["class"], "rows": counts, "marks": marks}


def learned(summary: dict[str, Any], detail: Detail) -> list[dict[str, Any]]:
    """What each model took from the table."""
    known, best = summary.get("learned") or {}, best_of(summary)
    labels = [str(c["label"]) for c in summary["data"].get("classes") or []]
    out = []
    for row in summary["leaderboard"]:
        found = known.get(row["model"])
        if not found or not detail.shows(row):
            continue
        charts, tree = _learned_charts(found, labels, detail.tables_of(row["model"], best))
        if charts or tree:
            out.append(
                {"model": row["model"], "best": row["recommended"], "charts": charts, "tree": tree,
                 "groups": [words.listing(group) for group in found.get("groups") or []][:8]}
            )  # fmt: skip
    return out


def _learned_charts(
    found: dict[str, Any], labels: list[str], tables: bool
) -> tuple[list[Any], Any]:
    from pellucid.report.tree_picture import tree

    charts: list[Any] = []
    if found.get("coefficients"):
        charts += pictures.coefficients(found["coefficients"], tables)
    if found.get("importances"):
        charts.append(pictures.importances(found["importances"], tables))
    if found.get("history"):
        charts.append(pictures.history(found["history"], tables))
    drawn = tree(found["tree"], labels) if found.get("tree") else None
    return [chart for chart in charts if chart], drawn


def regions(summary: dict[str, Any]) -> dict[str, Any] | None:
    """Side by side on the same two columns."""
    found = summary.get("regions")
    if not found:
        return None
    order = [row["model"] for row in summary["leaderboard"] if row["model"] in found["models"]]
    return {
        "x": found["x"],
        "y": found["y"],
        "others": found.get("others") or "",
        "charts": [pictures.region(found, model, False) for model in order],
    }


# Rows, test, reproduce ------------------------------------------------------------------------


def rows(summary: dict[str, Any], detail: Detail) -> dict[str, Any] | None:
    """Single rows with what pushed their predictions."""
    found = summary.get("rows")
    if not found:
        return None
    groups = []
    for group in found["groups"]:
        shown = group["rows"][: detail.rows]
        if shown:
            groups.append({"name": group["name"], "rows": [_row(row, found) for row in shown],
                           "hidden": len(group["rows"]) - len(shown)})  # fmt: skip
    return {"model": found.get("model") or best_of(summary), "groups": groups}


def _row(row: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    shares = row.get("p") or {}
    likely = sorted(shares.items(), key=lambda pair: -(pair[1] or 0))[:3]
    return {
        "row": row["row"],
        "actual": _value(row["actual"]),
        "predicted": _value(row["predicted"]),
        "wrong": _value(row["actual"]) != _value(row["predicted"]) and bool(shares),
        "likely": [(label, words.percent(share)) for label, share in likely],
        "cells": list(zip(found["columns"], row["cells"]))[:60],
        "hidden": max(0, len(row["cells"]) - 60),
        "chart": pictures.contributions(row),
        "base": None if row.get("base") is None else number(row["base"], 3),
        "total": None if row.get("total") is None else number(row["total"], 3),
        "scale": row.get("scale") or "",
    }


def _value(value: Any) -> str:
    return number(value, 4) if isinstance(value, float) else str(value)


def test(summary: dict[str, Any]) -> dict[str, Any]:
    """The locked part."""
    plan, found = summary["plan"], summary.get("test")
    view = {"rows": plan["test_rows"], "why": plan["test_why"], "failed": None, "metrics": []}
    if not found:
        return view
    if "failed" in found:
        return {**view, "failed": found["failed"], "model": found.get("model")}
    view["metrics"] = [
        (words.metric_name(name), words.score(value, name),
         words.interval(found["intervals"].get(name), name),
         words.score(found["baseline"].get(name), name))
        for name, value in found["metrics"].items()
    ]  # fmt: skip
    return {
        **view,
        "model": found["model"],
        "chart": pictures.test(summary),
        "foretold": found.get("foretold"),
        "openings": found.get("openings") or 1,
        "confusion": _confusion(found.get("confusion")),
    }


def reproduce(summary: dict[str, Any], detail: Detail) -> dict[str, Any]:
    """How to get the same numbers again, and what this report does not show."""
    found = summary.get("reproduce") or {}
    seconds = found.get("seconds") or {}
    limits = [*(found.get("limits") or []), *([detail.said] if detail.said else [])]
    return {
        **{key: found.get(key) for key in ("command", "config", "seed", "sha256")},
        "versions": found.get("versions") or {},
        "total": words.seconds(found["total_seconds"]) if found.get("total_seconds") else "",
        "seconds": [
            [cell(model), *(cell(words.seconds(s.get(k)), s.get(k)) for k in
                            ("search", "fit", "predict"))]
            for model, s in seconds.items()
        ],
        "failures": found.get("failures") or [],
        "limits": limits,
    }  # fmt: skip
