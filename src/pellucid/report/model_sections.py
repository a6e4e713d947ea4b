"""The cards of single models as views: out-of-fold predictions, search, and what a model learned.

Invariant: as in `sections`, numbers come from the Summary and are only formatted.
"""

from __future__ import annotations

from typing import Any

from pellucid.draw.number import number
from pellucid.report import conclusion, insight_pictures, model_pictures, wording
from pellucid.report.views import Detail, chosen_first, id_beside_title, shade, target_value


def models(summary: dict[str, Any], detail: Detail) -> list[dict[str, Any]]:
    """One card per model that has predictions or was fitted; the recommended model comes first."""
    cards, fits = summary.get("cards") or {}, summary.get("learned") or {}
    metric, out = summary["plan"]["metric"], []
    for row in chosen_first(summary):
        model = row["model"]
        if not detail.shows(row) or (model not in cards and model not in fits):
            continue
        bands = detail.extras == "all" or row["recommended"]
        view = _card(row, cards.get(model) or {}, metric, detail.tables_of(row), bands)
        learned = None if row["baseline"] else _learned(fits.get(model), row, summary, detail)
        steps = summary.get("replay") if row["recommended"] else None
        out.append(view | {"learned": learned, "replay": steps})
    return out


def _card(
    row: dict[str, Any], card: dict[str, Any], metric: str, tables: bool, bands: bool
) -> dict[str, Any]:
    at_edge = any("edge" in note for note in row["notes"])  # one of the notes names it already
    return {
        "title": row["title"],
        "id": id_beside_title(row),
        "best": row["recommended"],
        "description": card.get("says") or "",
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
        "edge": [] if at_edge else (card.get("search") or {}).get("edge") or [],
        "failed": [
            (wording.params(c["params"]), c["failed"])
            for c in (card.get("search") or {}).get("candidates") or []
            if c.get("failed")
        ],
    }


def _card_charts(card: dict[str, Any], metric: str, tables: bool, bands: bool) -> list[Any]:
    cut = default_cut(card.get("thresholds"))
    charts: list[Any] = [
        model_pictures.curve(card[kind], kind, tables, cut, bands)
        for kind in ("roc", "pr")
        if card.get(kind)
    ]
    if card.get("calibration"):
        charts.append(model_pictures.calibration(card["calibration"], tables))
    if card.get("histogram"):
        charts.append(model_pictures.probabilities(card["histogram"], tables))
    if card.get("residuals"):
        charts += model_pictures.residuals(card["residuals"], tables, bands)
    if card.get("search"):
        charts.append(model_pictures.search(card["search"], metric, tables))
    if card.get("learning"):
        charts.append(model_pictures.learning(card["learning"], metric, tables))
    return charts


def confusion_table(found: dict[str, Any] | None) -> dict[str, Any] | None:
    """Counts and shares of each actual class; a heat map instead of a table for many classes."""
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
                {"count": n, "share": wording.percent(s), "shade": shade(s), "predicted": predicted,
                 "right": predicted == label}
                for n, s, predicted in zip(row, shares, labels)
            ]}
        )  # fmt: skip
    return {"labels": labels, "rows": rows}


def default_cut(found: dict[str, Any] | None) -> list[float] | None:
    """The counts at the first threshold from 0.5 on, where the slider starts."""
    rows = (found or {}).get("rows") or []
    return next((row for row in rows if row[0] >= 0.5), rows[-1] if rows else None)


def _thresholds(found: dict[str, Any] | None) -> dict[str, Any] | None:
    """The counts for the slider, and nine of them for readers without JavaScript."""
    if not found or not found["rows"]:
        return None
    rows = found["rows"]
    marks = [min(rows, key=lambda row: abs(row[0] - k / 10)) for k in range(1, 10)]
    counts = [[round(cut, 5), *rest] for cut, *rest in rows]
    return {"class": found["class"], "rows": counts, "marks": marks}


def _learned(
    found: dict[str, Any] | None, row: dict[str, Any], summary: dict[str, Any], detail: Detail
) -> dict[str, Any] | None:
    """What a model took from the training rows; None if there is nothing to show."""
    if not found:
        return None
    labels = [str(c["label"]) for c in summary["data"].get("classes") or []]
    tables = detail.tables_of(row)
    charts, tree = _learned_charts(found, labels, tables)
    dependences = 4 if row["recommended"] else 2 if detail.extras == "all" else 0
    charts += insight_pictures.charts(found, labels, tables, dependences)
    near = _neighbours(found.get("neighbours"))
    if not (charts or tree or near):
        return None
    groups = [wording.listing(group) for group in found.get("groups") or []][:8]
    return {
        "charts": charts, "tree": tree, "classes": labels, "neighbours": near, "groups": groups,
    }  # fmt: skip


def _neighbours(found: list[dict[str, Any]] | None) -> list[dict[str, Any]]:
    """Example rows with their nearest neighbours, as texts."""
    return [
        {"row": entry["row"], "actual": target_value(entry["actual"]), "near": [
            (near["row"], number(near["distance"], 3), target_value(near["actual"]))
            for near in entry["near"]
        ]}
        for entry in found or []
    ]  # fmt: skip


def correlated(summary: dict[str, Any]) -> str:
    """Columns that correlate strongly with another one, as check D008 found them."""
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
        charts += model_pictures.history(found["history"], tables)
    drawn = tree(found["tree"], labels, tables) if found.get("tree") else None
    return [chart for chart in charts if chart], drawn
