"""Every display of models: well-formed, the same numbers in SVG and matplotlib, readable names."""

import warnings
import xml.etree.ElementTree as ET

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")
from matplotlib import pyplot

from pellucid import plot
from pellucid.plot import svg_renderer
from pellucid.plot.models.model_marks import Outline, Rings, Shapes, joined
from pellucid.plot.picture import Area, Bars, Line, Panel, Picture, Points, Segments
from tests.plot.models import model_gallery
from tests.plot.reading import area_of, parsed, texts

EXAMPLES = dict(model_gallery.examples())


@pytest.fixture(autouse=True)
def no_open_figures():
    yield
    pyplot.close("all")


def _drawn(ax):
    """All points of lines, markers, polygons and segments of an Axes, as sets of rounded pairs."""
    parts = [np.column_stack(line.get_data()) for line in ax.get_lines()]
    parts += [np.asarray(c.get_offsets()) for c in ax.collections]
    parts += [
        p.vertices
        for c in ax.collections
        for p in c.get_paths()
        if type(c).__name__ == "LineCollection"
    ]
    parts += [patch.get_path().vertices for patch in ax.patches if hasattr(patch, "get_xy")
              and type(patch).__name__ == "Polygon"]  # fmt: skip
    return {tuple(point) for part in parts for point in np.round(np.asarray(part, dtype=float), 9)}


def _places(mark):
    if isinstance(mark, Segments):
        return np.vstack([np.column_stack([mark.x1, mark.y1]), np.column_stack([mark.x2, mark.y2])])
    return np.column_stack([mark.x, mark.y])


@pytest.mark.parametrize("name", EXAMPLES)
def test_svg_is_whole(name):
    display = EXAMPLES[name]
    root = parsed(display)
    shown = texts(root)
    assert "no data" not in shown
    values = [v for node in root.iter() for key, v in node.attrib.items() if key != "href"]
    assert not any("nan" in v.lower().split() for v in values)
    assert "prefers-color-scheme:dark" in display.svg()
    html = display._repr_html_()
    ET.fromstring(html.replace("&nbsp;", " "))
    assert "<table" in html
    frame = display.frame()
    assert len({len(column) for column in frame.values()}) == 1
    assert len(display.svg()) < 400_000


@pytest.mark.parametrize("name", EXAMPLES)
def test_matplotlib_has_the_numbers_of_the_picture(name):
    display = EXAMPLES[name]
    picture = display.picture()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph|.*missing from font|.*constrained_layout")
        display.plot()
        display.figure_.canvas.draw()
    axes = [display.ax_] if len(picture.panels) == 1 else list(display.ax_)
    for panel, ax in zip(picture.panels, axes):
        found = _drawn(ax)
        for mark in panel.marks:
            if isinstance(mark, Segments) and mark.arrows:
                continue
            if isinstance(mark, (Outline, Rings, Shapes, Points, Line, Area, Segments)):
                expected = np.round(_places(mark), 9)
                expected = expected[~np.isnan(expected).any(axis=1)]
                assert {tuple(p) for p in expected} <= found, type(mark).__name__
            if isinstance(mark, Bars):
                ends = {round(p.get_x() + p.get_width() if mark.horizontal else p.get_height(), 9)
                        for p in ax.patches if hasattr(p, "get_height")}  # fmt: skip
                assert {round(v, 9) for v in mark.end} <= ends


# The SVG of a tree is the chart of `pellucid.draw`; `test_diagrams` compares its nodes.
SINGLE = [
    name
    for name, display in EXAMPLES.items()
    if len(display.picture().panels) == 1 and not isinstance(display, plot.TreeDisplay)
]


@pytest.mark.parametrize("name", SINGLE)
def test_svg_has_the_numbers_of_the_picture(name):
    display = EXAMPLES[name]
    panel, text = display.picture().panels[0], display.svg()
    area = area_of(panel)
    for mark in panel.marks:
        if isinstance(mark, (Outline, Shapes)):
            assert svg_renderer.path_data(area, mark.x, mark.y, isinstance(mark, Shapes)) in text
        if isinstance(mark, Rings):
            for x, y in zip(mark.x, mark.y):
                assert f'cx="{svg_renderer.coordinate(area.x(x))}"' in text
                assert f'cy="{svg_renderer.coordinate(area.y(y))}"' in text


@pytest.mark.parametrize("name", [n for n in EXAMPLES if "twelve" in n])
def test_long_names_are_cut_with_their_whole_text_as_title(name):
    root = parsed(EXAMPLES[name])
    for node in root.iter():
        if node.tag.endswith("}text"):
            whole = [child.text for child in node if child.tag.endswith("}title")]
            drawn = "".join(node.itertext()).removeprefix(whole[0] if whole else "")
            assert len(drawn) <= 90
            assert ("…" in drawn) == bool(whole) or drawn.endswith("…")


def test_twelve_classes_differ():
    points = [
        m for m in EXAMPLES["scatter of twelve"].picture().panels[0].marks if isinstance(m, Points)
    ]
    assert len({m.index for m in points}) == len({m.name for m in points}) == 12
    shown = EXAMPLES["regions of twelve"].picture().panels[0].marks[0]
    assert len(set(shown.classes)) == 12


def test_one_legend_for_all_panels():
    shown = texts(parsed(EXAMPLES["pairs"]))
    assert shown.count("setosa") == 1
    assert shown.count("petal length (cm)") == 7
    shown = texts(parsed(EXAMPLES["gallery"]))
    assert "Five classifiers" in shown
    assert {"GaussianNB", "SVC", "LogisticRegression"} <= set(shown)


def test_marks_of_models():
    lines = joined([np.array([[0.0, 0], [1, 1]]), np.zeros((0, 2)), np.array([[2.0, 0], [3, 1]])])
    assert np.isnan(lines[2]).all()
    assert len(lines) == 5
    assert joined([]).shape == (0, 2)
    panel = Panel((Outline(*lines.T, name="boundary"), Rings([1], [0], "mean", filled=True),
                   Shapes([0, 1, 1], [0, 0, 1], "cell", 2)))  # fmt: skip
    svg = svg_renderer.picture_svg(Picture((panel,), "marks"))
    assert svg.count("M") >= 3
    assert {"boundary", "mean", "cell"} <= {
        "".join(n.itertext()) for n in ET.fromstring(svg).iter()
    }


def test_dates_on_an_axis():
    import pandas as pd

    days = pd.date_range("2024-01-01", periods=60)
    X = pd.DataFrame({"when": days, "x": np.arange(60.0)})
    from pellucid.linear_model import LinearRegression

    display = plot.fit(
        LinearRegression().fit(X, np.arange(60.0)), X, np.arange(60.0), column="when"
    )
    assert any("2024" in text for text in texts(parsed(display)))
    display.plot()
    display.figure_.canvas.draw()
    labels = [tick.get_text() for tick in display.ax_.get_xticklabels()]
    assert any("2024" in label for label in labels)
