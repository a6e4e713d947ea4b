"""Charts of the whole comparison: each function takes a part of a Summary and returns markup.

Invariant: this module only chooses what to show; the displays of `plot` draw it and escape all text.
`tables=False` leaves out the data tables below the charts.
"""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from pellucid import plot
from pellucid.draw.label_text import clean, distinct
from pellucid.draw.points import evenly
from pellucid.plot import Display
from pellucid.report import wording

NARROW = 340  # two or three charts side by side, or one on a phone
WIDE = 400
BROAD = 720  # one chart across the page
MOST_SERIES = 8
FEW = 10  # rows; a mean over fewer rows is shown with their number
MOST_POINTS = 150  # of a decision region; they repeat in every chart


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


# Leaderboard ----------------------------------------------------------------------------------


def board(summary: dict[str, Any], width: int, table: bool = True) -> Markup:
    """Means, intervals and fold scores; the range of the models as good as the best is shaded.

    A wide chart has room for titles, a narrow one shows ids.
    """
    metric = summary["plan"]["metric"]
    rows, far = _near(summary)
    label = "title" if width >= BROAD else "model"
    good = [row["mean"] for row in rows if row.get("as_good")]
    note = "Dot: mean. Line: 95 % interval. Ticks: folds. Shaded: as good as the best."
    display = plot.ScoresDisplay(
        [("▸ " if row["recommended"] else "") + row[label] for row in rows],
        [row["mean"] for row in rows],
        *([or_nan(row["ci"][end]) for row in rows] for end in (0, 1)),
        folds=[[or_nan(v) for v in row["folds"].get(metric, [])] for row in rows],
        shaded=(min(good), max(good)) if len(good) > 1 else None,
        score=wording.metric_name(metric),
        title=f"{wording.metric_name(metric)} of each model",
        note=note + far,
    )
    return figure(display, table, width=width)


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
    display = plot.ScatterDisplay.from_points(
        {
            name: ([r[key] for r in part], [r["mean"] for r in part], [r["model"] for r in part])
            for name, part in groups.items()
            if part
        },
        ("seconds", wording.metric_name(metric)),
        title=title,
        log=True,
    )
    return figure(display, True, 240, note=far.strip(), width=WIDE)


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
    title = clean(found["name"], 60)
    if shape["kind"] == "histogram":
        shown = _shown(shape)
        dates = found.get("kind") == "datetime"
        display = plot.HistogramDisplay(shown, shape["edges"], "", title, dates=dates)
        return figure(display, False, 120, note=_outside(shape), width=260)
    if shape["kind"] == "levels":
        levels = plot.BarsDisplay(shape["labels"], _shown(shape), "rows", title, stacked=True)
        return figure(levels, False, width=260)
    few = [n is not None and n < FEW for n in shape.get("rows") or [None] * len(shape["labels"])]
    names = [
        f"{clean(label, 24)} ({shape['rows'][k]})" if few[k] else label
        for k, label in enumerate(shape["labels"])
    ]
    note = f"In brackets: the number of rows if below {FEW}." if any(few) else ""
    label = f"mean of {clean(target, 30)}"
    means = {"mean": [or_nan(value) for value in shape["means"]]}
    return figure(plot.BarsDisplay(names, means, label, title, note=note), False, width=260)


def _outside(shape: dict[str, Any]) -> str:
    n = shape.get("beyond") or 0
    return f"Not drawn: {wording.plural(n, 'row')} in the tails." if n else ""


def target(found: dict[str, Any], name: str) -> Markup:
    """Histogram of a numeric target."""
    title = f"Distribution of {clean(name, 60)}"
    display = plot.HistogramDisplay(
        {"training rows": found["counts"]}, found["edges"], clean(name, 60), title
    )
    return figure(display, True, 160, note=_outside(found), width=WIDE)


def with_value(column: str, values: dict[str, Any]) -> str:
    """`island = Biscoe`, shortened to fit the label of a bar; the value is kept whole."""
    if column not in values:
        return column
    value = values[column]
    shown = " missing" if value is None else f" = {clean(value, 10)}"
    return clean(column, max(8, 22 - len(shown))) + shown


def contributions(row: dict[str, Any], columns: list[str]) -> Markup | None:
    """From the baseline to the prediction of one row, labelled with the row's values."""
    ordered = sorted(row.get("contributions") or [], key=lambda pair: -abs(pair[1]))
    if not ordered or not ordered[0][1]:
        return None
    parts = [pair for pair in ordered if abs(pair[1]) > 1e-9 * abs(ordered[0][1])]
    rest = len(row["cells"]) - len(parts)
    about = f" of {clean(row['about'], 30)}" if row.get("about") else ""
    note = ""
    if rest > 0:
        note = f"The other {rest} are zero." if rest > 1 else "The other one is zero."
    cells = dict(zip(columns, row["cells"]))
    display = plot.WaterfallDisplay(
        [with_value(name, cells) for name, _ in parts], [amount for _, amount in parts],
        row.get("base") or 0.0, f"{clean(row.get('scale') or 'prediction', 30)}{about}",
        f"Contributions for row {row['row']}",
    )  # fmt: skip
    return figure(display, False, note=note)


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
    display = plot.ScoresDisplay(
        names, middles, *([or_nan(pair[end]) for pair in ends] for end in (0, 1)),
        score=wording.metric_name(metric), label="rows", title="Test set and cross-validation",
    )  # fmt: skip
    return figure(display, table, note=note, width=width)
