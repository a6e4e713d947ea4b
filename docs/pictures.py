"""Draws the pictures of README and docs into docs/img, with Pellucid's own models and displays.

Run `python -m docs pictures` after a change to `plot` or to a model that is shown. The tests draw all
pictures again and compare them with the files. The pictures of the gallery are written by the code on
its own page.
"""

import contextlib
import re
from dataclasses import replace
from pathlib import Path

from pellucid import plot
from pellucid.data import datasets
from pellucid.draw.style import style_sheet
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
    return f'{opening} class="pl" color="{INK}">{style_sheet()}{paper}{rest}</svg>\n'


def regions() -> str:
    """Two columns of the penguins, and the predictions of a softmax regression in their plane."""
    penguins = datasets.load("penguins")
    columns = ["flipper_length_mm", "bill_length_mm"]
    X, y = penguins.X.select(columns), penguins.y
    model = LogisticRegression(C=100).fit(X, y)
    display = plot.regions(
        model, X, y, resolution=110, title="Predicted penguin species, darker where more probable"
    )
    panel = replace(display.picture().panels[0], width=640, height=300)
    return picture_svg(Picture((panel,), "Decision regions"), style=False)


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


def gallery(folder: Path) -> None:
    """Run the code of gallery.md, which saves its pictures, in a folder."""
    page = (FOLDER.parent / "gallery.md").read_text(encoding="utf-8")
    names: dict[str, object] = {}
    with contextlib.chdir(folder):
        for block in re.findall(r"^```python\n(.*?)^```", page, re.M | re.S):
            exec(block, names)


def main() -> None:
    """Draw all pictures."""
    (FOLDER / "gallery").mkdir(parents=True, exist_ok=True)
    for name, make in PICTURES.items():
        (FOLDER / name).write_text(standalone(make()))
    gallery(FOLDER / "gallery")


if __name__ == "__main__":
    main()
