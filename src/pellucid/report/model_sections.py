"""Cards of single models and what each of them learned, as views.

Invariant: as in `sections`: numbers come from the Summary and are only formatted.
"""

from __future__ import annotations

from typing import Any

from pellucid.draw.number import number
from pellucid.report import conclusion, insight_pictures, model_pictures, wording
from pellucid.report.views import Detail, best_of, chosen_first, shade


def cards(summary: dict[str, Any], detail: Detail) -> list[dict[str, Any]]:
    """One card per model with answers, best first."""
    known, best = summary.get("cards") or {}, best_of(summary)
    metric = summary["plan"]["metric"]
    shown = [row for row in chosen_first(summary) if row["model"] in known and detail.shows(row)]
    return [
        _card(
            row,
            known[row["model"]],
            metric,
            detail.tables_of(row["model"], best),
            detail.bands_of(row["model"], best),
        )
        for row in shown
    ]


def _card(
    row: dict[str, Any], card: dict[str, Any], metric: str, tables: bool, bands: bool
) -> dict[str, Any]:
    return {
        "model": row["model"],
        "best": row["recommended"],
        "says": card.get("says") or "",
        "class": row.get("class") or "",
        "params": wording.params(row["params"]) if row.get("params") else "",
        "score": wording.score(row.get("mean"), metric),
        "interval": wording.interval(row.get("ci"), metric),
        "against": conclusion.against(row) if row["place"] else row["status"],
        "notes": row["notes"],
        "confusion": confusion_table(card.get("confusion")),
        "recalls": model_pictures.recalls(card.get("confusion")),
        "thresholds": _thresholds(card.get("thresholds")),
        "charts": [chart for chart in _card_charts(card, metric, tables, bands) if chart],
        "edge": []
        if any("edge" in note for note in row["notes"])
        else (card.get("search") or {}).get("edge") or [],
        "failed": _failed_settings(card.get("search")),
    }


def _card_charts(card: dict[str, Any], metric: str, tables: bool, bands: bool) -> list[Any]:
    charts: list[Any] = []
    cut = default_cut(card.get("thresholds"))
    curves = [kind for kind in ("roc", "pr") if card.get(kind)]
    charts += [model_pictures.curve(card[kind], kind, tables, cut, bands) for kind in curves]
    if card.get("calibration"):
        charts.append(model_pictures.calibration(card["calibration"], tables))
    if card.get("histogram"):
        charts.append(model_pictures.probabilities(card["histogram"], tables))
    if card.get("residuals"):
        charts += model_pictures.residuals(card["residuals"], tables)
    if card.get("search"):
        charts.append(model_pictures.search(card["search"], metric, tables))
    if card.get("learning"):
        charts.append(model_pictures.learning(card["learning"], metric, tables))
    return charts


def _failed_settings(search: dict[str, Any] | None) -> list[tuple[str, str]]:
    tried = (search or {}).get("candidates") or []
    return [(wording.params(c["params"]), c["failed"]) for c in tried if c.get("failed")]


def confusion_table(found: dict[str, Any] | None) -> dict[str, Any] | None:
    """Counts with shares of the actual class; a picture instead of a table for many classes."""
    if not found:
        return None
    labels, counts = found["labels"], found["counts"]
    if len(labels) > 8:
        return {"picture": model_pictures.many_classes(labels, counts)}
    rows = []
    for label, row in zip(labels, counts):
        total = sum(row)
        shares = [count / total if total else None for count in row]
        rows.append(
            {"label": label, "cells": [
                {"count": n, "share": wording.percent(s), "shade": shade(s), "said": said,
                 "right": said == label}
                for n, s, said in zip(row, shares, labels)
            ]}
        )  # fmt: skip
    return {"labels": labels, "rows": rows}


def default_cut(found: dict[str, Any] | None) -> list[float] | None:
    """The counts at the threshold that the page starts with: the first from 0.5 on."""
    rows = (found or {}).get("rows") or []
    return next((row for row in rows if row[0] >= 0.5), rows[-1] if rows else None)


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
    for row in chosen_first(summary):
        found = known.get(row["model"])
        if not found or row["baseline"] or not detail.shows(row):
            continue
        tables = detail.tables_of(row["model"], best)
        charts, tree = _learned_charts(found, labels, tables)
        charts += insight_pictures.charts(
            found, labels, tables, detail.dependences_of(row["recommended"])
        )
        near = _neighbours(found.get("neighbours"))
        if charts or tree or near:
            out.append(
                {"model": row["model"], "best": row["recommended"], "charts": charts, "tree": tree,
                 "classes": labels, "neighbours": near,
                 "groups": [wording.listing(group) for group in found.get("groups") or []][:8]}
            )  # fmt: skip
    return out


def _neighbours(found: list[dict[str, Any]] | None) -> list[dict[str, Any]]:
    """Rows with those nearest to them, as texts."""
    return [
        {"row": entry["row"], "actual": _target(entry["actual"]), "near": [
            (near["row"], number(near["distance"], 3), _target(near["actual"]))
            for near in entry["near"]
        ]}
        for entry in found or []
    ]  # fmt: skip


def _target(value: Any) -> str:
    return number(value, 4) if isinstance(value, float) else str(value)


def alike(summary: dict[str, Any]) -> str:
    """Columns that say nearly the same as another one: models share their weight between them."""
    for check in summary.get("checks") or []:
        if check["code"] == "D008" and check.get("columns"):
            return wording.listing(check["columns"], 8)
    return ""


def _learned_charts(
    found: dict[str, Any], labels: list[str], tables: bool
) -> tuple[list[Any], Any]:
    from pellucid.report.tree_picture import tree

    charts: list[Any] = []
    if found.get("coefficients"):
        charts += model_pictures.coefficients(found["coefficients"], tables)
    if found.get("importances"):
        charts.append(model_pictures.importances(found["importances"], tables))
    if found.get("history"):
        charts.append(model_pictures.history(found["history"], tables))
    drawn = tree(found["tree"], labels, tables) if found.get("tree") else None
    return [chart for chart in charts if chart], drawn
