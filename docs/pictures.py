"""Draws the pictures of README and docs into docs/img, with Pellucid's own models and charts.

Run `python -m docs pictures` after a change to `draw` or to a model that is shown. The tests draw all
pictures again and compare them with the files.
"""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from pellucid import draw, plot
from pellucid.data import datasets
from pellucid.linear_model import LinearRegression, LogisticRegression
from pellucid.naive_bayes import GaussianNB
from pellucid.neighbors import KNeighborsClassifier
from pellucid.plot.picture import Picture
from pellucid.plot.svg_renderer import picture_svg

FOLDER = Path(__file__).resolve().parent / "img"
INK, PAPER, EDGE = "#1c2430", "#ffffff", 14


def standalone(figure: str) -> str:
    """The SVG of a figure with its styles inside, in fixed colours: an `img` inherits none."""
    start, end = figure.index("<svg"), figure.rindex("</svg>")
    opening, rest = figure[start:end].split(">", 1)
    *_, wide, high = re.search(r'viewBox="([^"]+)"', opening).group(1).split()
    wide, high = float(wide) + 2 * EDGE, float(high) + 2 * EDGE
    box = f'viewBox="-{EDGE} -{EDGE} {wide:g} {high:g}" width="{wide:g}" height="{high:g}"'
    opening = re.sub(r'viewBox="[^"]+" width="[^"]+" height="[^"]+"', box, opening)
    paper = f'<rect x="-{EDGE}" y="-{EDGE}" width="100%" height="100%" rx="8" fill="{PAPER}"/>'
    return f'{opening} class="pl" color="{INK}">{draw.style_sheet()}{paper}{rest}</svg>\n'


def regions() -> str:
    """Two columns of the penguins, and the predictions of a softmax regression in their plane."""
    penguins = datasets.load("penguins")
    columns = ["flipper_length_mm", "bill_length_mm"]
    X, y = penguins.X.select(columns), penguins.y
    model = LogisticRegression(C=100).fit(X, y)
    (left, right), (low, high) = ranges = (170.0, 234.0), (31.0, 61.0)
    wide, tall = 128, 90
    x = left + (np.arange(wide) + 0.5) * (right - left) / wide
    y_axis = low + (np.arange(tall) + 0.5) * (high - low) / tall
    grid = np.column_stack([np.tile(x, tall), np.repeat(y_axis, wide)])
    shares = model.predict_proba(grid)
    both = np.column_stack([X[name].to_numpy() for name in columns])
    points = {name: both[y == name].T for name in model.classes_}
    return draw.regions(
        shares.argmax(axis=1).reshape(tall, wide),
        *ranges,
        model.classes_.tolist(),
        points={name: (p[0].tolist(), p[1].tolist()) for name, p in points.items()},
        certainty=shares.max(axis=1).reshape(tall, wide),
        title="Predicted penguin species, darker where more probable",
        x_label="flipper length (mm)",
        y_label="bill length (mm)",
        width=640,
        height=300,
    )


def displays() -> str:
    """Four displays of `pellucid.plot` side by side."""
    penguins, tips = datasets.load("penguins"), datasets.load("tips")
    bills = penguins.X.select(["bill_length_mm", "bill_depth_mm"])
    bayes, ols = GaussianNB().fit(bills, penguins.y), LinearRegression().fit(tips.X, tips.y)
    shown = [
        plot.confusion_matrix(bayes, bills, penguins.y),
        plot.probability_histogram(bayes, bills, penguins.y, pos_label="Chinstrap"),
        plot.validation_curve(
            KNeighborsClassifier(), bills, penguins.y, "n_neighbors", [1, 3, 9, 27, 81], cv=5,
            scoring="error",
        ),
        plot.coefficients(ols),
    ]  # fmt: skip
    pictures = [display.picture() for display in shown]
    panels = [replace(p.panels[0], title=p.title, height=200) for p in pictures]
    return picture_svg(Picture(tuple(panels), "Four displays"), style=False)


PICTURES = {"displays.svg": displays, "regions.svg": regions}


def main() -> None:
    """Draw all pictures."""
    FOLDER.mkdir(exist_ok=True)
    for name, make in PICTURES.items():
        (FOLDER / name).write_text(standalone(make()))


if __name__ == "__main__":
    main()
