"""Charts of the whole comparison: each function takes a part of a Summary and returns markup.

Invariant: this module only chooses what to show; all text passes through `draw`, which escapes it.
`tables=False` leaves out the data tables below the charts.
"""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from pellucid import draw, plot
from pellucid.draw.label_text import clean, distinct
from pellucid.draw.number import exponent
from pellucid.draw.points import evenly
from pellucid.plot import Display
from pellucid.plot.evaluation.probabilities import ClassHistogramDisplay
from pellucid.report import wording

NARROW = 340  # two or three charts side by side, or one on a phone
WIDE = 400
BROAD = 720  # one chart across the page
MOST_SERIES = 8
FEW = 10  # rows; a mean over fewer rows is shown with their number
MOST_POINTS = 150  # of a decision region; they repeat in every chart


def markup(text: str) -> Markup:
    """Markup from `draw`, which is escaped already; a bare picture is put into a figure."""
    if text.startswith("<svg"):
        return Markup(f'<figure class="pl">{text}</figure>')
    return Markup(text)


def figures(
    display: Display, tables: bool, height: int | None = None, note: str | None = None,
    width: int = NARROW,
) -> list[Markup]:  # fmt: skip
    """The panels of a display, which escapes all text, with the data table below the last one."""
    found = display.figures(width=width, height=height, note=note, table=tables)
    return [Markup(panel) for panel in found]


def figure(display: Display, tables: bool, height: int | None = None, **look: Any) -> Markup:
    """The only panel of a display."""
    return figures(display, tables, height, **look)[0]


def look_of(title: str, tables: bool, **more: Any) -> dict[str, Any]:
    """Keyword arguments of all charts; those without a data table have no tooltips either."""
    own = {"title": title, "width": NARROW, "table": tables, "tips": tables, "style": False}
    return {**own, **more}


# Leaderboard ----------------------------------------------------------------------------------


def board(summary: dict[str, Any], width: int, table: bool = True) -> Markup:
    """Means, intervals and fold scores; the range of the models as good as the best is shaded.

    A wide chart has room for titles, a narrow one shows ids.
    """
    metric = summary["plan"]["metric"]
    rows, far = _near(summary)
    label = "title" if width >= BROAD else "model"
    good = [row["mean"] for row in rows if row.get("as_good")]
    look = look_of(f"{wording.metric_name(metric)} of each model", table, width=width, tips=True)
    look["note"] = "Dot: mean. Line: 95 % interval. Ticks: folds. Shaded: as good as the best."
    look["note"] += far
    return markup(
        draw.intervals(
            [("▸ " if row["recommended"] else "") + row[label] for row in rows],
            [row["mean"] for row in rows],
            [or_nan(row["ci"][0]) for row in rows],
            [or_nan(row["ci"][1]) for row in rows],
            dots=[[or_nan(v) for v in row["folds"].get(metric, [])] for row in rows],
            band=(min(good), max(good)) if len(good) > 1 else None,
            x_label=wording.metric_name(metric),
            y_label="model",
            **look,
        )
    )


def _near(summary: dict[str, Any]) -> tuple[list[dict[str, Any]], str]:
    """The scored rows, without a baseline far away from all others, and a note about it."""
    rows = [row for row in summary["leaderboard"] if row["place"]]
    others = [row for row in rows if not row["baseline"]]
    ends = [v for row in others for v in (*row["ci"], row["mean"]) if v is not None]
    far = [row for row in rows if row["baseline"] and ends and _far(row["mean"], ends)]
    if not far or len(others) < 2:
        return rows, ""
    shown = wording.score(far[0]["mean"], summary["plan"]["metric"])
    return others, f" Not shown: the baseline ({wording.title_in_sentence(far[0])}, {shown})."


def _far(value: float, ends: list[float]) -> bool:
    room = max(ends) - min(ends)
    return value < min(ends) - room or value > max(ends) + room


def or_nan(value: float | None) -> float:
    return float("nan") if value is None else value


def score_by_time(summary: dict[str, Any], key: str, title: str) -> Markup | None:
    """Score against seconds, one named point per model."""
    metric = summary["plan"]["metric"]
    near, far = _near(summary)
    rows = [row for row in near if row.get(key)]
    if len(rows) < 3:
        return None
    groups: dict[str, list[Any]] = {"as good as the best": [], "not as good": []}
    for row in rows:
        groups["as good as the best" if row.get("as_good") else "not as good"].append(row)
    shown = {name: part for name, part in groups.items() if part}
    return markup(
        draw.scatter(
            {name: ([r[key] for r in p], [r["mean"] for r in p]) for name, p in shown.items()},
            names={name: [r["model"] for r in p] for name, p in shown.items()},
            x_log=True,
            x_label="seconds",
            y_label=wording.metric_name(metric),
            **look_of(title, True, width=WIDE, note=far.strip()),
        )
    )


# Regions, columns, rows, test -----------------------------------------------------------------


def region(
    found: dict[str, Any],
    row: dict[str, Any],
    tables: bool,
    scale: tuple[float, float] | None = None,
    dates: frozenset[str] = frozenset(),
) -> Markup:
    """Predictions of a model over two columns; `scale` is the range of the colours."""
    own = found["models"][row["model"]]
    x, y = found["x_edges"], found["y_edges"]
    limits = (x[0], x[-1]), (y[0], y[-1])
    look = {
        "labels": (found["x"], found["y"]),
        "dates": (found["x"] in dates, found["y"] in dates),
        "title": row["title"],
    }
    classes = own.get("classes")
    if not classes:
        display = plot.SurfaceDisplay.from_grid(own["grid"], limits, scale=scale, **look)
        return figure(display, tables, 220)
    points = [
        (point["x"], point["y"], str(point["label"]))
        for point in evenly(found.get("points") or [], MOST_POINTS)
    ]
    regions = plot.RegionsDisplay.from_grid(
        own["grid"], limits, classes, certainty=own.get("certainty"), points=points, **look
    )
    return figure(regions, tables, 220)


def _shown(shape: dict[str, Any]) -> dict[str, Any]:
    """Counts of the first classes, as many as a chart can show."""
    names = distinct(list(shape["counts"])[:MOST_SERIES], 30)
    return dict(zip(names, shape["counts"].values()))


def column(found: dict[str, Any], target: str) -> Markup | None:
    """A small chart of one column and the target."""
    shape = found.get("by_target")
    if not shape:
        return None
    look = look_of(clean(found["name"], 60), False, width=260)
    if shape["kind"] == "histogram":
        shown = _shown(shape)
        dates = found.get("kind") == "datetime"
        display = ClassHistogramDisplay(shown, shape["edges"], "", look["title"], dates=dates)
        return figure(display, False, 120, note=_outside(shape), width=260)
    if shape["kind"] == "levels":
        return markup(
            draw.bar(shape["labels"], _shown(shape), stacked=True, x_label="rows", **look)
        )
    few = [n is not None and n < FEW for n in shape.get("rows") or [None] * len(shape["labels"])]
    names = [
        f"{clean(label, 24)} ({shape['rows'][k]})" if few[k] else label
        for k, label in enumerate(shape["labels"])
    ]
    if any(few):
        look["note"] = f"In brackets: the number of rows if below {FEW}."
    label = f"mean of {clean(target, 30)}"
    return markup(draw.bar(names, {"mean": shape["means"]}, x_label=label, **look))


def _outside(shape: dict[str, Any]) -> str:
    n = shape.get("beyond") or 0
    return f"Not drawn: {wording.plural(n, 'row')} in the tails." if n else ""


def target(found: dict[str, Any], name: str) -> Markup:
    """Histogram of a numeric target."""
    look = look_of(f"Distribution of {clean(name, 60)}", True, width=WIDE, height=160)
    look |= {"x_label": clean(name, 60), "y_label": "training rows", "note": _outside(found)}
    return markup(draw.histogram(found["edges"], {"rows": found["counts"]}, **look))


def with_value(column: str, values: dict[str, Any]) -> str:
    """`island = Biscoe`, shortened to fit the label of a bar; the value is kept whole."""
    if column not in values:
        return column
    value = values[column]
    shown = " missing" if value is None else f" = {clean(value, 10)}"
    return clean(column, max(8, 22 - len(shown))) + shown


def contributions(row: dict[str, Any], columns: list[str], most: int = 10) -> Markup | None:
    """The largest contributions to the prediction of one row, labelled with the row's values."""
    ordered = sorted(row.get("contributions") or [], key=lambda pair: -abs(pair[1]))
    if not ordered or not ordered[0][1]:
        return None
    parts = [pair for pair in ordered if abs(pair[1]) > 1e-9 * abs(ordered[0][1])][:most]
    rest = len(row["cells"]) - len(parts)
    look = look_of(f"Contributions for row {row['row']}", False)
    about = f" of {clean(row['about'], 30)}" if row.get("about") else ""
    look["x_label"] = f"contribution to the {clean(row.get('scale') or 'prediction', 30)}{about}"
    if len(parts) == most and rest > 0:
        look["note"] = f"The {most} largest of {len(row['cells'])}; the total includes all."
    elif rest > 0:
        look["note"] = f"The other {rest} are zero." if rest > 1 else "The other one is zero."
    decimals = 2 - exponent(parts[0][1])  # three digits of the largest
    values = [round(amount, decimals) or amount for _, amount in parts]
    cells = dict(zip(columns, row["cells"]))
    return markup(
        draw.bar([with_value(name, cells) for name, _ in parts], {"contribution": values}, **look)
    )


def test(summary: dict[str, Any], width: int = WIDE, table: bool = True) -> Markup | None:
    """The scores on the test set and in cross-validation."""
    metric, found = summary["plan"]["metric"], summary["test"]
    row = next((r for r in summary["leaderboard"] if r["recommended"]), None)
    value = found["metrics"].get(metric)
    if row is None or value is None:
        return None
    names, middles = ["cross-validation", "test set"], [row["mean"], value]
    ends = [row["ci"], found["intervals"].get(metric) or [None, None]]
    base, note = found["baseline"].get(metric), ""
    known = [v for v in (*middles, *ends[0], *ends[1]) if v is not None]
    if base is not None and _far(base, known):  # would make the intervals too small to see
        note = f"Not shown: the baseline ({wording.score(base, metric)})."
    elif base is not None:
        names, middles, ends = [*names, "baseline"], [*middles, base], [*ends, [base, base]]
    return markup(
        draw.intervals(
            names,
            middles,
            [or_nan(e[0]) for e in ends],
            [or_nan(e[1]) for e in ends],
            x_label=wording.metric_name(metric),
            **look_of("Test set and cross-validation", table, width=width, note=note),
        )
    )
