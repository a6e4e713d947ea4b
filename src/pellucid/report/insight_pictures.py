"""Charts for some models only: partial dependence, regularization path, projection, support vectors.

Invariant: as in `pictures`, this module only chooses what to show; `plot` draws it and escapes all text.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from markupsafe import Markup

from pellucid import plot
from pellucid.draw.label_text import clean, distinct
from pellucid.inspection import PartialDependence
from pellucid.report import wording
from pellucid.report.pictures import MOST_SERIES, figure, or_nan


def charts(found: dict[str, Any], labels: list[str], tables: bool, columns: int) -> list[Markup]:
    """All charts that a model has; partial dependence on at most `columns` columns."""
    out: list[Markup] = []
    if found.get("path"):
        out.append(path(found["path"], tables))
    if found.get("projection"):
        out.append(projection(found["projection"], labels, tables))
    if found.get("support"):
        out.append(support(found["support"], labels, tables))
    parts = (found.get("dependence") or {}).get("columns") or []
    return out + [dependence(p, found["dependence"], labels, tables) for p in parts[:columns]]


def path(found: dict[str, Any], tables: bool) -> Markup:
    """Coefficients against the penalty; the chosen value is marked."""
    names = distinct(found["terms"], 40)
    note = f"The {len(names)} largest coefficients." if len(names) > 1 else ""
    if found["classes"] > 1:
        note += " Each is shown for the class where it is largest."
    rows = [[or_nan(v) for v in row] for row in zip(*found["y"])]
    label = "coefficient per standard deviation"
    display = plot.CoefficientPathDisplay(
        found["x"], rows, names, found["param"], found["chosen"], label
    )
    return figure(display, tables, 240, note=note.strip())


def projection(found: dict[str, Any], labels: list[str], tables: bool) -> Markup:
    """Training rows projected on the discriminants."""
    names = distinct(labels, 40)
    if "edges" in found:
        display = plot.ProjectionHistogramDisplay(
            dict(zip(names, found["counts"])), found["edges"],
            f"discriminant (above 0: {names[1]})", "Projection on the discriminant",
        )  # fmt: skip
        return figure(display, tables, 220)
    scatter = plot.ScatterDisplay.from_table(
        np.column_stack([found["x"], found["y"]]), [names[code] for code in found["codes"]],
        title="Projection on the discriminants", labels=("first discriminant", "second discriminant"),
    )  # fmt: skip
    return figure(scatter, tables, 240)


def support(found: dict[str, Any], labels: list[str], tables: bool) -> Markup:
    """Support vectors, and the rows without which the boundary would be the same."""
    rest = [n - v for n, v in zip(found["rows"], found["vectors"])]
    names = distinct(labels, 40) if labels else ["rows"]
    share = wording.percent(sum(found["vectors"]) / max(1, sum(found["rows"])))
    display = plot.BarsDisplay(
        names, {"support vectors": found["vectors"], "other rows": rest}, "training rows",
        "Support vectors", stacked=True,
        note=f"{share} of the training rows are support vectors; the model depends on no others.",
    )  # fmt: skip
    return figure(display, tables)


def dependence(
    part: dict[str, Any], found: dict[str, Any], labels: list[str], tables: bool
) -> Markup:
    """Partial dependence: the mean prediction against the values of one column."""
    lines, classes = part["y"], distinct(labels, 40)[:MOST_SERIES] or None
    if len(labels) == 2:
        lines, classes = lines[1:], distinct(labels, 40)[1:]
    average = np.array([[or_nan(v) for v in line] for line in lines[:MOST_SERIES]])
    grid = np.array(part["x"], dtype=object if part["kind"] == "levels" else float)
    one = PartialDependence(
        (clean(part["name"], 40),), (grid,), average, None, None if classes is None else tuple(classes),
        (part["kind"] == "levels",),
    )  # fmt: skip
    note = f"Mean over {found['rows']} rows with their other columns unchanged."
    display = plot.PartialDependenceDisplay([one], dates=part["kind"] == "datetime")
    return figure(display, tables, 200, note=note)
