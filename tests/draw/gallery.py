"""One example of every chart, table and card: `python -m tests.draw.gallery > page.html` shows them.

The tests hold all of them to the same rules; people look at them in light, dark, wide and narrow.
"""

import math
import random

from pellucid import draw
from tests.draw import charts

SPECIES = ["Adelie", "Chinstrap", "Gentoo"]
LONG = "a very long column name indeed, longer than any label should be"
HOSTILE = [
    "<script>alert(1)</script>",
    "\"quotes\" & 'apostrophes' ]]> -->",
    "مرحبا بالعالم \u202eevil",
    "👩‍👩‍👧‍👦 family",
    "x" * 10_000,
    "a\x00b\x1b[31mc\ud800\ufffe",
    "漢字かな交じり文の列名",
    "",
]


def _wave(n, phase=0.0, noise=0.0, seed=0):
    rng = random.Random(seed)
    return [math.exp(-i / n * 3) + phase + noise * rng.gauss(0, 1) for i in range(n)]


def _cloud(n, cx, cy, seed):
    rng = random.Random(seed)
    return [rng.gauss(cx, 1) for _ in range(n)], [rng.gauss(cy, 1) for _ in range(n)]


def _regions():
    grid, sure = [], []
    for i in range(60):
        y = -4 + 8 * (i + 0.5) / 60
        row = [(math.hypot(-4 + 8 * (j + 0.5) / 80, y) - 2, y) for j in range(80)]
        grid.append([0 if r < 0 else 1 + (v > 0) for r, v in row])
        sure.append([0.34 + 0.66 * min(1, abs(r)) for r, v in row])
    points = {
        name: _cloud(40, x, y, k)
        for k, (name, x, y) in enumerate(
            [("setosa", 0, 0), ("versicolor", 0, -3), ("virginica", 0, 3)]
        )
    }
    return charts.regions(
        grid, (-4, 4), (-4, 4), list(points), points=points, certainty=sure,
        title="Where the model predicts which species", x_label="petal length (standardised)",
        y_label="petal width (standardised)",
    )  # fmt: skip


def lines():
    steps = list(range(40))
    yield "line", draw.line(
        {"training": (steps, _wave(40)), "validation": (steps, _wave(40, 0.1, 0.02))},
        title="Loss by iteration", x_label="iteration", y_label="cross-entropy",
    )  # fmt: skip
    n = 5000
    yield "log lines", draw.line(
        {
            f"step size {10.0**-k:g}": (range(1, n + 1), [10 ** (-k * i / n * 6) for i in range(n)])
            for k in range(6)
        },
        x_log=True, y_log=True, title="Gradient norm, both axes logarithmic", x_label="iteration",
    )  # fmt: skip
    gap = [1.0, 2.0, math.nan, 2.5, math.nan, 3.0, 4.0, math.inf]
    yield "gaps", draw.line({"with gaps": (range(8), gap)}, title="Gaps stay gaps")
    yield "offset", draw.line(
        {"time": ([1e8 + i / 1000 for i in range(5)], [3, 4, 2, 5, 4])}, title="Far from zero",
        x_label="seconds",
    )  # fmt: skip
    yield (
        "many lines",
        draw.line(
            {f"model number {k}": (range(30), _wave(30, k / 10)) for k in range(16)},
            title="Sixteen lines",
        ),
    )
    yield (
        "long ticks",
        draw.line({"a": ([0, 1e-5], [0, 1e-5])}, title="Long ticks"),
    )
    yield (
        "crowded",
        draw.line(
            {"a": ([1234.5, 1234.5008], [0, 1])},
            width=300,
            title="Crowded",
        ),
    )
    yield (
        "narrow",
        draw.line(
            {"a": ([1234.5, 1235.5], [-0.00012, 0.00012])}, width=220, height=90, title="Narrow"
        ),
    )
    yield "huge range", draw.line({"a": ([1e-300, 1.0, 1e300], [-1e308, 0, 1e308])}, title="Huge")
    yield (
        "huge log",
        draw.line(
            {"a": ([1e-300, 1.0, 1e300], [1e-300, 1.0, 1e300])},
            x_log=True,
            y_log=True,
            title="Huge, log",
        ),
    )


def bars():
    yield "bar", draw.bar(
        ["worst area", "worst concave points", "mean texture", "area error", LONG],
        {"importance": [0.412, 0.233, 0.101, 0.022, 0.0004]}, title="Permutation importance",
        x_label="loss of accuracy when shuffled",
    )  # fmt: skip
    yield (
        "signed bar",
        draw.bar(
            ["intercept", "age", "income"], {"coef": [-1.25, 0.5, 2.75]}, title="Coefficients"
        ),
    )
    yield "grouped bar", draw.bar(
        ["Adelie", "Chinstrap", "Gentoo"],
        {"training": [120, 50, 95], "test": [30, 18, 24], "new": [12, 9, 31], "other": [5, 40, 3]},
        title="Rows per class", x_label="rows",
    )  # fmt: skip
    yield "many bars", draw.bar([f"column {i}" for i in range(100)], {"v": range(100, 0, -1)})
    edges = [i / 20 for i in range(21)]
    bell = [math.exp(-(((e - 0.6) / 0.2) ** 2)) * 100 for e in edges[:-1]]
    yield (
        "histogram",
        charts.histogram(edges, {"score": bell}, title="Scores", x_label="probability"),
    )
    yield "histograms", charts.histogram(
        edges, {"benign": bell, "malignant": bell[::-1], "unknown": [20.0] * 20},
        title="Scores by class", x_label="probability of malignant", y_label="rows",
    )  # fmt: skip


def planes():
    yield "scatter", charts.scatter(
        {name: _cloud(60, k * 2, k, k) for k, name in enumerate([*SPECIES, "new"])},
        references={"boundary": ([-2, 8], [4, -1])}, title="Penguins",
        x_label="bill length (mm)", y_label="bill depth (mm)",
    )  # fmt: skip
    yield (
        "large scatter",
        charts.scatter({"all": _cloud(20_000, 0, 0, 0)}, title="Twenty thousand points"),
    )
    counts = [[50, 2, 0], [3, 44, 5], [0, 1, 52]]
    yield "confusion", charts.heatmap(
        counts, SPECIES, SPECIES, title="Confusion matrix", x_label="predicted", y_label="true",
        texts=[[f"{c} ({100 * c / sum(row):.0f} %)" for c in row] for row in counts],
    )  # fmt: skip
    names = [f"column {i}" for i in range(12)]
    corr = [[math.cos(i - j) if (i + j) % 11 else math.nan for j in range(12)] for i in range(12)]
    yield "correlation", charts.heatmap(corr, names, names, diverging=True, title="Correlations")
    big = [[math.sin(i / 9) * math.cos(j / 9) for j in range(60)] for i in range(50)]
    yield (
        "large heat map",
        charts.heatmap(
            big, range(50), range(60), diverging=True, title="Partial dependence of two columns"
        ),
    )
    yield "regions", _regions()


def odd():
    yield "empty line", draw.line({}, title="Nothing")
    yield "no points", draw.line({"a": ([], [])}, title="No points")
    yield "one point", draw.line({"a": ([3], [7])}, title="One point", x_label="x", y_label="y")
    yield "empty scatter", charts.scatter({})
    yield "one scatter", charts.scatter({"a": ([0], [0])})
    yield "empty bar", draw.bar([], {"a": []})
    yield "one bar", draw.bar(["only"], {"a": [5]})
    yield "empty histogram", charts.histogram([], {})
    yield "one interval histogram", charts.histogram([0, 1], {"a": [3]})
    yield "empty heat map", charts.heatmap([], [], [])
    yield "one cell", charts.heatmap([[2]], ["r"], ["c"])
    yield "one region", charts.regions([[0]], (0, 1), (0, 1), ["only"])
    yield "all nan", draw.line({"a": ([math.nan] * 3, [math.nan] * 3)}, y_log=True)


def hostile():
    n = len(HOSTILE)
    long = {
        "title": HOSTILE[0] + HOSTILE[4],
        "x_label": HOSTILE[2],
        "y_label": HOSTILE[1],
        "note": HOSTILE[4],
    }
    yield "hostile line", draw.line({h: ([0, 1], [k, 1]) for k, h in enumerate(HOSTILE)}, **long)
    yield "hostile scatter", charts.scatter({h: ([k], [k]) for k, h in enumerate(HOSTILE)}, **long)
    yield "hostile bar", draw.bar(HOSTILE, {HOSTILE[0]: range(n), HOSTILE[1]: range(n)}, **long)
    yield "hostile histogram", charts.histogram([0, 1], {h: [1] for h in HOSTILE}, **long)
    square = [[i * j for j in range(n)] for i in range(n)]
    yield "hostile heat map", charts.heatmap(square, HOSTILE, HOSTILE, **long)
    yield "hostile texts", charts.heatmap([[1, 2]], [HOSTILE[0]], HOSTILE[:2], texts=[HOSTILE[:2]])
    yield (
        "hostile regions",
        charts.regions(
            [[0, 1, 2, 3]] * 4,
            (0, 1),
            (0, 1),
            HOSTILE[:4],
            points={HOSTILE[5]: ([0.5], [0.5])},
            **long,
        ),
    )
    yield (
        "hostile table",
        draw.html_table(
            HOSTILE,
            [HOSTILE, HOSTILE],
            title=HOSTILE[0],
            notes=HOSTILE,
            facts=dict.fromkeys(HOSTILE, HOSTILE[0]),
        ),
    )
    yield (
        "hostile card",
        draw.estimator_card(
            HOSTILE[0], {h: h for h in HOSTILE}, {}, True, dict.fromkeys(HOSTILE, HOSTILE[0])
        ),
    )


def tables():
    rows = [
        ["intercept", 12.5, 0.25, 50.0, 1e-16],
        ["age", 0.033, 0.011, 3.0, 0.0034],
        ["income", None, None, None, None],
    ]
    yield "table", draw.html_table(
        ["term", "coef", "std err", "t", "p"], rows, title="Ordinary least squares",
        facts={"rows": 569, "R²": 0.87654}, notes=["income is a combination of other columns."],
    )  # fmt: skip
    chart = draw.line(
        {"objective": (range(12), _wave(12))},
        title="Objective by iteration",
        height=120,
        style=False,
    )
    yield "card", draw.estimator_card(
        "LogisticRegression", {"C": 0.5, "max_iter": 100, "penalty": "l2"},
        {"C": 1.0, "max_iter": 100, "penalty": "l2"}, True,
        {"columns": 30, "classes": "benign, malignant", "iterations": 12}, chart,
    )  # fmt: skip
    yield "unfitted card", draw.estimator_card("PCA", {}, {}, False, {})


def trees():
    node = draw.Node
    penguins = [
        node("flipper_length_mm <= 206.50", 333, (0.44, 0.2, 0.36), 1, 4),
        node("bill_length_mm <= 43.35", 208, (0.69, 0.3, 0.01), 2, 3),
        node("Adelie", 145, (0.97, 0.03, 0.0), hidden=3),
        node("Chinstrap", 63, (0.06, 0.92, 0.02)),
        node("Gentoo", 125, (0.02, 0.04, 0.94)),
    ]
    yield "tree", draw.tree(penguins, SPECIES, path=[0, 1, 3], title="Penguins")
    yield "tree of numbers", draw.tree([node("2.50", 10, (0.5,))], note="one leaf", table=False)
    strange = [node(HOSTILE[0], 3, (0.5, 0.5), 1, 2), *(node(t, 1, (1.0,)) for t in HOSTILE[2:4])]
    yield "hostile tree", draw.tree(strange, HOSTILE[:2], title=HOSTILE[1])


def gallery():
    """Pairs of name and markup."""
    for part in (lines, bars, planes, trees, tables, odd, hostile):
        yield from part()


def page():
    figures = "".join(f"<section>{markup}</section>" for _, markup in gallery())
    look = (
        "body{margin:16px;font-family:system-ui,sans-serif;color:#1b1b1b;background:#fff}"
        "main{display:flex;flex-wrap:wrap;gap:24px}section{max-width:100%}"
        "@media(prefers-color-scheme:dark){body{color:#e8e8e8;background:#121212}}"
    )
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<style>{look}</style><title>Gallery</title>"
    )
    return (
        f'<!doctype html><html lang="en"><head>{head}</head>'
        f"<body><main>{figures}</main></body></html>"
    )


if __name__ == "__main__":
    print(page())
