"""Charts of the report: each function takes a piece of a Summary and gives markup from `draw`.

Invariant: nothing is computed here but the choice of what to show; all text passes through `draw`,
which escapes it. `tables=False` leaves the data tables below the charts out.
"""

from __future__ import annotations

import itertools
from typing import Any

from markupsafe import Markup

from pellucid import draw
from pellucid.draw.points import evenly
from pellucid.draw.text import clean
from pellucid.report import words

NARROW = 340  # two or three charts beside each other, or one on a telephone
WIDE = 400
MOST_SERIES = 8
MOST_POINTS = 150  # of a decision region: they repeat in every picture


def _markup(text: str) -> Markup:
    """What `draw` makes is escaped already; a bare picture gets the frame that fits it in."""
    if text.startswith("<svg"):
        return Markup(f'<figure class="pl">{text}</figure>')
    return Markup(text)


def _look(title: str, tables: bool, **more: Any) -> dict[str, Any]:
    return {"title": title, "width": NARROW, "table": tables, "style": False, **more}


# Leaderboard ----------------------------------------------------------------------------------


def board(summary: dict[str, Any]) -> Markup:
    """Means, intervals and fold scores, the tied stretch shaded."""
    metric = summary["plan"]["metric"]
    rows, away = _near(summary)
    tied = [row["mean"] for row in rows if row.get("tied")]
    look = _look(f"{words.metric_name(metric)} of each model", True, width=WIDE)
    look["note"] = "Dot: mean. Line: 95 % interval. Strokes: folds. Shaded: tied with the best."
    look["note"] += away
    return _markup(
        draw.intervals(
            [("▸ " if row["recommended"] else "") + row["model"] for row in rows],
            [row["mean"] for row in rows],
            [_or_nan(row["ci"][0]) for row in rows],
            [_or_nan(row["ci"][1]) for row in rows],
            dots=[[_or_nan(v) for v in row["folds"].get(metric, [])] for row in rows],
            band=(min(tied), max(tied)) if len(tied) > 1 else None,
            x_label=words.metric_name(metric),
            y_label="model",
            **look,
        )
    )


def _near(summary: dict[str, Any]) -> tuple[list[dict[str, Any]], str]:
    """The scored rows without a baseline so far away that the others would become one blot."""
    rows = [row for row in summary["leaderboard"] if row["place"]]
    others = [row for row in rows if not row["baseline"]]
    ends = [v for row in others for v in (*row["ci"], row["mean"]) if v is not None]
    far = [row for row in rows if row["baseline"] and ends and _far(row["mean"], ends)]
    if not far or len(others) < 2:
        return rows, ""
    shown = words.score(far[0]["mean"], summary["plan"]["metric"])
    return others, f" Far outside: {far[0]['model']}, which ignores the columns ({shown})."


def _far(value: float, ends: list[float]) -> bool:
    room = max(ends) - min(ends)
    return value < min(ends) - room or value > max(ends) + room


def _or_nan(value: float | None) -> float:
    return float("nan") if value is None else value


def score_by_time(summary: dict[str, Any], key: str, title: str) -> Markup | None:
    """Score over seconds, one named point per model."""
    metric = summary["plan"]["metric"]
    near, away = _near(summary)
    rows = [row for row in near if row.get(key)]
    if len(rows) < 2:
        return None
    groups: dict[str, list[Any]] = {"tied with the best": [], "worse": []}
    for row in rows:
        groups["tied with the best" if row.get("tied") else "worse"].append(row)
    shown = {name: part for name, part in groups.items() if part}
    return _markup(
        draw.scatter(
            {name: ([r[key] for r in p], [r["mean"] for r in p]) for name, p in shown.items()},
            names={name: [r["model"] for r in p] for name, p in shown.items()},
            x_log=True,
            x_label="seconds",
            y_label=words.metric_name(metric),
            **_look(title, True, width=WIDE, note=away.strip()),
        )
    )


# Cards ----------------------------------------------------------------------------------------


def curve(found: list[dict[str, Any]], kind: str, tables: bool) -> Markup | None:
    """ROC or precision and recall: mean over the folds, shaded from the lowest to the highest."""
    entries = [entry for entry in found if entry.get("mean")][:MOST_SERIES]
    if not entries:
        return None
    roc = kind == "roc"
    series = {clean(e["class"], 40): (e["mean"]["x"], e["mean"]["y"]) for e in entries}
    bands = {clean(e["class"], 40): _band(e) for e in entries if len(entries) == 1 and _band(e)}
    references = {"guessing": ([0, 1], [0, 1])} if roc else None
    if not roc and len(entries) == 1 and entries[0].get("share") is not None:
        references = {"guessing": ([0, 1], [entries[0]["share"]] * 2)}
    return _markup(
        draw.line(
            series,
            bands=bands,
            references=references,
            x_range=(0, 1),
            y_range=(0, 1),
            x_label="false alarms among the others" if roc else "found (recall)",
            y_label="found (recall)" if roc else "right (precision)",
            note="Shaded: lowest to highest fold." if bands else "",
            **_look("ROC curve" if roc else "Precision and recall", tables, height=220),
        )
    )


def _band(entry: dict[str, Any]) -> tuple[Any, Any, Any] | None:
    """From the lowest to the highest fold, where the folds share the abscissae of the mean."""
    mean, folds = entry["mean"], entry.get("folds") or []
    if "low" in mean:
        return mean["x"], mean["low"], mean["high"]
    if len(folds) < 2 or any(len(fold["y"]) != len(mean["x"]) for fold in folds):
        return None
    levels = list(zip(*(fold["y"] for fold in folds)))
    return mean["x"], [min(level) for level in levels], [max(level) for level in levels]


def calibration(found: list[dict[str, Any]], tables: bool) -> Markup | None:
    """Promised against observed shares."""
    entries = [entry for entry in found if entry.get("bins")][:MOST_SERIES]
    if not entries:
        return None
    series = {
        clean(e["class"], 40): (
            [b["predicted"] for b in e["bins"]],
            [b["observed"] for b in e["bins"]],
        )
        for e in entries
    }
    first = entries[0]
    note = f"Brier {first['brier']:.3f}, mean gap (ECE) {first['ece']:.3f}."
    if len(entries) == 1:
        counts = ", ".join(str(b["rows"]) for b in first["bins"])
        note += f" Rows per point: {counts}."
    return _markup(
        draw.line(
            series,
            references={"honest": ([0, 1], [0, 1])},
            x_range=(0, 1),
            y_range=(0, 1),
            x_label="promised probability",
            y_label="observed share",
            note=note if len(entries) == 1 else "",
            **_look("Do probabilities keep their word?", tables, height=220),
        )
    )


def probabilities(entry: dict[str, Any], tables: bool) -> Markup:
    """Histogram of the probability of one class, by true class."""
    counts = {clean(name, 40): values for name, values in entry["counts"].items()}
    return _markup(
        draw.histogram(
            entry["edges"],
            counts,
            x_label=f"probability of {clean(entry['class'], 30)}",
            y_label="rows",
            **_look("How sure it is, by true class", tables, height=220),
        )
    )


def residuals(found: dict[str, Any], tables: bool) -> tuple[Markup, Markup]:
    """Actual over predicted, and the mistake over the prediction."""
    said, true = found["predicted"], found["actual"]
    ends = [min([*said, *true]), max([*said, *true])]
    cut = found["shown"] < found["rows"]
    note = f"{found['shown']} of {found['rows']} rows, spread evenly." if cut else ""
    first = draw.scatter(
        {"rows": (said, true)},
        references={"perfect": (ends, ends)},
        x_label="predicted",
        y_label="actual",
        note=note,
        **_look("Predicted and actual", tables, height=220),
    )
    second = draw.scatter(
        {"rows": (said, [a - b for a, b in zip(true, said)])},
        references={"no mistake": ([min(said), max(said)], [0, 0])},
        x_label="predicted",
        y_label="actual minus predicted",
        note=note,
        **_look("Mistakes", tables, height=220),
    )
    return _markup(first), _markup(second)


def search(found: dict[str, Any], metric: str, tables: bool) -> Markup | None:
    """Every setting that was tried, with its range over the inner folds."""
    tried = found["candidates"]
    if len(tried) < 2:
        return None
    return _markup(
        draw.intervals(
            [
                words.params(c["params"]) + (f" (chosen {c['chosen']}×)" if c.get("chosen") else "")
                for c in tried
            ],
            [_or_nan(c["mean"]) for c in tried],
            [_or_nan(c.get("low")) for c in tried],
            [_or_nan(c.get("high")) for c in tried],
            x_label=words.metric_name(metric),
            y_label="setting",
            note="Dot: mean over the inner folds. Line: lowest to highest.",
            **_look("Settings that were tried", tables),
        )
    )


def learning(found: dict[str, Any], metric: str, tables: bool) -> Markup:
    """Score over the number of training rows."""
    return _markup(
        draw.line(
            {
                "rows it has not seen": (found["rows"], found["test"]),
                "rows it learned from": (found["rows"], found["train"]),
            },
            x_label="training rows",
            y_label=words.metric_name(metric),
            **_look("Would more rows help?", tables, height=220),
        )
    )


# What was learned -----------------------------------------------------------------------------


def coefficients(found: dict[str, Any], tables: bool, most: int = 20) -> list[Markup]:
    """Weights by class, largest first; on the scale of standardised columns where known."""
    scaled = found.get("scaled")
    values = scaled or found["values"]
    out = []
    for k, row in enumerate(values[:6]):
        order = sorted(range(len(row)), key=lambda j: -abs(row[j] or 0.0))[:most]
        classes = found.get("classes") or []
        towards = f" towards {clean(classes[k], 40)}" if k < len(classes) else ""
        note = f"The {most} largest of {len(row)}." if len(row) > most else ""
        look = _look(f"Weights{towards}", tables, note=note)
        look["x_label"] = "per standard deviation of the column" if scaled else "per unit"
        terms = [found["terms"][j] for j in order]
        low, high = (found.get(f"scaled_{end}" if scaled else end) for end in ("low", "high"))
        if low and high:
            parts = ([_or_nan(part[k][j]) for j in order] for part in (values, low, high))
            out.append(_markup(draw.intervals(terms, *parts, reference=0.0, **look)))
        else:
            out.append(_markup(draw.bar(terms, {"weight": [row[j] for j in order]}, **look)))
    return out


def importances(found: dict[str, Any], tables: bool, most: int = 20) -> Markup:
    """How much each column matters, with its interval where known."""
    values = found["values"]
    order = sorted(range(len(values)), key=lambda j: -(values[j] or 0.0))[:most]
    names = [found["columns"][j] for j in order]
    look = _look("How much each column matters", tables)
    method = clean(found.get("method") or "", 200)
    cut = f"The {most} largest of {len(values)}." if len(values) > most else ""
    look["note"] = " ".join(
        filter(None, [f"{method[:1].upper()}{method[1:]}." if method else "", cut])
    )
    look["x_label"] = "importance"
    if found.get("low") and found.get("high"):
        parts = ([_or_nan(found[k][j]) for j in order] for k in ("values", "low", "high"))
        return _markup(draw.intervals(names, *parts, reference=0.0, **look))
    return _markup(draw.bar(names, {"importance": [values[j] for j in order]}, **look))


def history(found: dict[str, Any], tables: bool) -> Markup | None:
    """What the optimiser did."""
    steps, loss = found.get("iteration"), found.get("objective")
    if not steps or not loss or len(steps) < 2:
        return None
    values = [v for v in loss if v is not None]
    return _markup(
        draw.line(
            {"objective": (steps, [_or_nan(v) for v in loss])},
            x_label="iteration",
            y_label="objective",
            y_log=bool(values) and min(values) > 0 and max(values) > 30 * min(values),
            **_look("The way to the solution", tables, height=200),
        )
    )


# Regions, columns, rows, test -----------------------------------------------------------------


def region(found: dict[str, Any], model: str, tables: bool) -> Markup:
    """Where a model says what, on the plane of two columns."""
    own = found["models"][model]
    ends = [(found[f"{a}_edges"][0], found[f"{a}_edges"][-1]) for a in ("x", "y")]
    look = _look(model, tables, x_label=found["x"], y_label=found["y"], height=220)
    classes = own.get("classes")
    if not classes:
        rows = own["grid"][::-1]
        names = [words.number(v, 3) for v in _places(found["y_edges"], len(rows))][::-1]
        columns = [words.number(v, 3) for v in _places(found["x_edges"], len(rows[0]))]
        return _markup(draw.heatmap(rows, names, columns, **look))
    points: dict[str, tuple[list[float], list[float]]] = {}
    for point in evenly(found.get("points") or [], MOST_POINTS):
        xs, ys = points.setdefault(str(point["label"]), ([], []))
        xs.append(point["x"])
        ys.append(point["y"])
    known = {label: points[label] for label in map(str, classes) if label in points}
    certainty = own.get("certainty")
    return _markup(
        draw.regions(own["grid"], *ends, classes, points=known, certainty=certainty, **look)
    )


def _places(edges: list[float], n: int) -> list[float]:
    """The middles of n cells, from their edges or as they are."""
    if len(edges) == n:
        return edges
    return [(a + b) / 2 for a, b in itertools.pairwise(edges)]


def column(found: dict[str, Any], target: str) -> Markup | None:
    """The target against one column: a small picture."""
    shape = found.get("by_target")
    if not shape:
        return None
    look = _look(clean(found["name"], 60), False, width=260, height=120)
    if shape["kind"] == "histogram":
        counts = {clean(k, 30): v for k, v in list(shape["counts"].items())[:MOST_SERIES]}
        return _markup(draw.histogram(shape["edges"], counts, y_label="rows", **look))
    del look["height"]
    if shape["kind"] == "levels":
        counts = {clean(k, 30): v for k, v in list(shape["counts"].items())[:MOST_SERIES]}
        return _markup(draw.bar(shape["labels"], counts, stacked=True, x_label="rows", **look))
    label = f"mean of {clean(target, 30)}"
    return _markup(draw.bar(shape["labels"], {"mean": shape["means"]}, x_label=label, **look))


def contributions(row: dict[str, Any], most: int = 10) -> Markup | None:
    """What pushed the prediction of one row up and down."""
    parts = sorted(row.get("contributions") or [], key=lambda pair: -abs(pair[1]))[:most]
    if not parts:
        return None
    more = len(row["cells"]) - len(parts)
    look = _look(f"Why row {row['row']}", False)
    about = f" of {clean(row['about'], 30)}" if row.get("about") else ""
    look["x_label"] = f"adds to the {clean(row.get('scale') or 'prediction', 30)}{about}"
    if more > 0:
        look["note"] = f"The {most} largest of {len(row['cells'])}; all are in the total."
    values = [amount for _, amount in parts]
    return _markup(draw.bar([name for name, _ in parts], {"adds": values}, **look))


def test(summary: dict[str, Any]) -> Markup | None:
    """The locked part beside what the folds foretold."""
    metric, found = summary["plan"]["metric"], summary["test"]
    row = next((r for r in summary["leaderboard"] if r["recommended"]), None)
    value = found["metrics"].get(metric)
    if row is None or value is None:
        return None
    names, middles = ["foretold by the folds", "locked rows"], [row["mean"], value]
    ends = [row["ci"], found["intervals"].get(metric) or [None, None]]
    base = found["baseline"].get(metric)
    if base is not None:
        names, middles, ends = [*names, "baseline"], [*middles, base], [*ends, [base, base]]
    return _markup(
        draw.intervals(
            names,
            middles,
            [_or_nan(e[0]) for e in ends],
            [_or_nan(e[1]) for e in ends],
            x_label=words.metric_name(metric),
            **_look("The locked rows", True, width=WIDE),
        )
    )


def many_classes(labels: list[str], counts: list[list[int]]) -> Markup:
    """Confusion of many classes as a heat map: true classes down, predicted ones across."""
    look = _look("True class (down) and predicted class (across)", True, width=WIDE)
    return _markup(draw.heatmap(counts, labels, labels, y_label="true class", **look))
