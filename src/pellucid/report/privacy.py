"""A Summary without any cell of the table, for readers who may not see the data.

Invariant: the result has column names, class labels, counts, scores and what models learned from
numbers, but no cell, no level of a categorical column, no minimum or maximum and no individual row.
`reproduce.limits` lists what was removed.
"""

from __future__ import annotations

import copy
from typing import Any

NOTE = (
    "Written with --no-rows: individual rows, values and levels of columns, ranges, residuals, partial "
    "dependence, projections, neighbours and decision regions are left out. Column names and class "
    "labels are kept."
)
OF_COLUMNS = ("low", "median", "high", "levels", "rest", "by_target")


def without_rows(summary: dict[str, Any]) -> dict[str, Any]:
    """A copy without the content of the table."""
    if summary.get("no_rows"):
        return summary
    out = copy.deepcopy(summary)
    out["rows"] = out["regions"] = out["replay"] = None
    for key in ("target_range", "target_histogram"):
        out["data"].pop(key, None)
    for column in out["data"].get("columns") or []:
        for key in OF_COLUMNS:
            column.pop(key, None)
    for card in (out.get("cards") or {}).values():
        card.pop("residuals", None)
    kinds = {c["name"]: c.get("kind") for c in out["data"].get("columns") or []}
    for learned in (out.get("learned") or {}).values():
        _without_levels(learned, out["data"]["features"], kinds)
    out["reproduce"] = {**(out.get("reproduce") or {})}
    out["reproduce"]["limits"] = [*(out["reproduce"].get("limits") or []), NOTE]
    out["no_rows"] = True
    return out


def _without_levels(learned: dict[str, Any], features: list[str], kinds: dict[str, Any]) -> None:
    """Remove levels from the names of terms and the conditions of trees."""
    for name in ("dependence", "projection", "neighbours"):
        learned[name] = None
    for name in ("coefficients", "path"):
        if learned.get(name):
            learned[name]["terms"] = _anonymous(learned[name]["terms"], features)
    for name in ("way", "row"):
        (learned.get("tree") or {}).pop(name, None)
    for node in (learned.get("tree") or {}).get("nodes", []):
        if node.get("column") is not None and kinds.get(node["column"], "") != "number":
            dated = kinds.get(node["column"]) == "datetime"
            node["test"] = f"{node['column']}: {'up to a date' if dated else 'in a set of levels'}"


def _anonymous(terms: list[str], features: list[str]) -> list[str]:
    known, counts, out = set(features), dict[str, int](), []
    longest = sorted(features, key=len, reverse=True)
    for term in terms:
        owner = term if term in known else next((f for f in longest if term.startswith(f)), None)
        if owner == term:
            out.append(term)
            continue
        name = owner or "column"
        counts[name] = counts.get(name, 0) + 1
        out.append(f"{name}, level {counts[name]}")
    return out
