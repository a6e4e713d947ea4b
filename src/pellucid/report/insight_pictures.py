"""Charts for some models only: partial dependence, regularization path, projection, support vectors.

Invariant: as in `pictures`, this module only chooses what to show; all text passes through `draw`,
which escapes it.
"""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from pellucid import draw
from pellucid.draw.label_text import clean, distinct
from pellucid.report import wording
from pellucid.report.pictures import MOST_SERIES, in_percent, look_of, markup, or_nan


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
    lines = {t: (found["x"], y) for t, y in zip(distinct(found["terms"], 40), found["y"])}
    values = [v for y in found["y"] for v in y if v is not None]
    ends = [min([0.0, *values]), max([0.0, *values])]
    word = "penalty strength" if found["param"] == "alpha" else "inverse penalty strength"
    note = f"The {len(lines)} largest coefficients." if len(lines) > 1 else ""
    if found["classes"] > 1:
        note += " Each is shown for the class where it is largest."
    return markup(
        draw.line(
            lines,
            references={"chosen": ([found["chosen"]] * 2, ends)},
            x_log=min(found["x"]) > 0,
            x_label=f"{found['param']}: {word}",
            y_label="coefficient per standard deviation",
            note=note.strip(),
            **look_of("Regularization path", tables, height=240),
        )
    )


def projection(found: dict[str, Any], labels: list[str], tables: bool) -> Markup:
    """Training rows projected on the discriminants."""
    names = distinct(labels, 40)
    if "edges" in found:
        look = look_of("Projection on the discriminant", tables, height=220)
        counts = {name: in_percent(part) for name, part in zip(names, found["counts"])}
        label = f"discriminant (above 0: {names[1]})"
        look |= {"x_label": label, "y_label": "% of each class"}
        return markup(draw.histogram(found["edges"], counts, **look))
    groups: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in names}
    for x, y, code in zip(found["x"], found["y"], found["codes"]):
        groups[names[code]][0].append(x)
        groups[names[code]][1].append(y)
    look = look_of("Projection on the discriminants", tables, height=240)
    shown = dict(list(groups.items())[:MOST_SERIES])
    return markup(
        draw.scatter(shown, x_label="first discriminant", y_label="second discriminant", **look)
    )


def support(found: dict[str, Any], labels: list[str], tables: bool) -> Markup:
    """Support vectors, and the rows without which the boundary would be the same."""
    rest = [n - v for n, v in zip(found["rows"], found["vectors"])]
    names = distinct(labels, 40) if labels else ["rows"]
    share = wording.percent(sum(found["vectors"]) / max(1, sum(found["rows"])))
    return markup(
        draw.bar(
            names,
            {"support vectors": found["vectors"], "other rows": rest},
            stacked=True,
            x_label="training rows",
            note=f"{share} of the training rows are support vectors; the model depends on no others.",
            **look_of("Support vectors", tables),
        )
    )


def dependence(
    part: dict[str, Any], found: dict[str, Any], labels: list[str], tables: bool
) -> Markup:
    """Partial dependence: the mean prediction against the values of one column."""
    names = distinct(labels, 40) or ["prediction"]
    lines = dict(zip(names, part["y"]))
    axis = "mean prediction" if not labels else "mean probability"
    if len(labels) == 2:
        lines, axis = {names[1]: part["y"][1]}, f"mean probability of {names[1]}"
    lines = dict(list(lines.items())[:MOST_SERIES])
    look = look_of(f"Partial dependence on {clean(part['name'], 40)}", tables)
    look["note"] = f"Mean over {found['rows']} rows with their other columns unchanged."
    if part["kind"] == "levels":
        return markup(
            draw.bar(part["x"], {k: [or_nan(v) for v in y] for k, y in lines.items()},
                     x_label=axis, **look)
        )  # fmt: skip
    series = {k: (part["x"], [or_nan(v) for v in y]) for k, y in lines.items()}
    look |= {"height": 200, "x_dates": part["kind"] == "datetime"}
    return markup(draw.line(series, x_label=part["name"], y_label=axis, **look))
