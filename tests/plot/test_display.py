"""The base of displays: both renderers draw every kind of mark, files are whole, nothing leaks."""

import sys
import xml.etree.ElementTree as ET
from dataclasses import FrozenInstanceError

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")
from matplotlib import pyplot

from pellucid.errors import DataError, ParameterError, PellucidError, PellucidWarning
from pellucid.plot.display import Display
from pellucid.plot.picture import (
    Area,
    Axis,
    Band,
    Bars,
    Heat,
    Intervals,
    Line,
    Panel,
    Picture,
    Points,
    Regions,
    Rule,
    Segments,
    Steps,
    Text,
)  # fmt: skip
from tests.plot.reading import area_of, line_data, parsed, pixels, texts

X, Y = [0.0, 1.0, 2.0, 3.0], [1.0, 3.0, 2.0, 5.0]
NAMES = Axis(names=("a", "b", "a very long name of a class that has to be cut somewhere", "漢字"))
PANELS = {
    "line": Panel(
        (Line(X, Y, "one", 1), Line(X, X, "diagonal", reference=True), Rule(x=1.5), Rule(y=2))
    ),
    "line without points": Panel((Line(X, Y, points=False),)),
    "log": Panel((Line([1, 10, 100], [1e-3, 1, 0]),), Axis(log=True), Axis(log=True)),
    "band": Panel((Band(X, [0, 1, 1, 2], [2, 4, 3, 6], "95 %"), Line(X, Y))),
    "points": Panel((Points(X, Y, "a", 9, texts="pqrs", outline=True),), equal=True),
    "sizes": Panel((Points(X, Y, "weights", 0, sizes=[1, 2, 3, 0], outline=True),)),
    "values": Panel((Points(X, Y, "age", values=[1, np.nan, 3, 4]),)),
    "bars": Panel((Bars(range(4), [0] * 4, Y, name="n", index=1),), Axis("count"), NAMES),
    "columns": Panel((Bars(range(4), [0] * 4, Y, horizontal=False),), NAMES, Axis("count")),
    "histogram": Panel((Steps([0, 1, 2, 4], [3, 0, 2]),)),
    "histograms": Panel((Steps([0, 1, 2], [3, 1], False, "a"), Steps([0, 1, 2], [1, 2], False, "b", 1))),
    "intervals": Panel((Intervals(range(4), X, Y, [6] * 4), Rule(x=0)), Axis(), NAMES),
    "upright": Panel((Intervals(X, Y, [0] * 4, [6] * 4, horizontal=False),)),
    "heat": Panel((Heat(np.arange(16).reshape(4, 4) - 8, diverging=True),), NAMES, NAMES),
    "surface": Panel((Heat(np.arange(6).reshape(2, 3), ()),), Axis("x", 0, 3), Axis("y", 0, 2)),
    "regions": Panel(
        (Regions([[0, 0, 1], [0, 1, 1]], "ab", [[1, 0.9, 0.6], [0.5, 0.7, 1]]), Points([1], [1], "a")),
        Axis("x", 0, 3), Axis("y", 0, 2),
    ),
    "segments": Panel((Segments(X, Y, Y, X, [1, 2, 3, 0]),)),
    "arrows": Panel((Segments([0], [0], [1], [1], arrows=True, index=2),)),
    "area": Panel((Area([0, 1, 1], [0, 0, 1], "ellipse", 3),)),
    "text": Panel(
        (Text([0, 1], [0, 1], ["<b>", "x" * 200], "start", bold=True),),
        Axis(ticks=False), Axis(ticks=False),
    ),
}  # fmt: skip


class Shown(Display):
    def __init__(self, *panels, title="A picture"):
        self.panels, self.title = panels, title

    def picture(self):
        return Picture(self.panels, "Some marks", self.title)

    def columns(self):
        return {"x": np.array(X), "name": ["a", "b", "<c>", "d"]}


@pytest.fixture(autouse=True)
def no_open_figures():
    pyplot.close("all")
    yield
    pyplot.close("all")


@pytest.mark.filterwarnings("ignore:Glyph")  # the font of matplotlib lacks Chinese characters
@pytest.mark.parametrize("name", PANELS)
def test_every_mark_is_drawn_twice(name):
    display = Shown(PANELS[name])
    root = parsed(display)
    assert "no data" not in texts(root)
    assert "nan" not in "".join(v for node in root.iter() for v in node.attrib.values())
    figure, ax = pyplot.subplots()
    assert display.plot(ax) is display
    assert display.ax_ is ax
    assert display.figure_ is figure
    assert ax.has_data() or ax.texts or ax.images
    figure.canvas.draw()


def test_a_line_has_the_same_numbers_in_both():
    panel = PANELS["line without points"]
    root = parsed(Shown(panel))
    paths = [n.get("d") for n in root.iter() if n.get("stroke-width") == "2"]
    area = area_of(panel)
    expected = [(area.x(x), area.y(y)) for x, y in zip(X, Y)]
    np.testing.assert_allclose(pixels(paths[0]), expected, atol=0.06)
    pyplot.figure()
    ax = Shown(panel).plot().ax_
    np.testing.assert_array_equal(line_data(ax)[0], np.column_stack([X, Y]))
    low, high = ax.get_xlim()
    assert (low, high) == (area.x.low, area.x.high)


def test_several_panels_side_by_side():
    display = Shown(PANELS["line"], PANELS["bars"], PANELS["heat"])
    root = parsed(display)
    assert len([n for n in root.iter() if n.tag.endswith("svg")]) >= 4
    display.plot()
    assert len(display.ax_) == 3
    axes = pyplot.figure().subplots(3)
    assert list(display.plot(axes).ax_) == list(axes)
    alone = pyplot.figure().subplots()
    display.plot(alone)
    assert display.ax_ is alone
    assert len(alone.child_axes) == 3
    with pytest.raises(ParameterError, match=r"needs 3 Axes. Got 2"):
        display.plot(axes[:2])
    with pytest.raises(ParameterError, match="must be a matplotlib Axes"):
        display.plot("ax")
    html = display._repr_html_()
    assert html.count("<svg") >= 3
    assert "pl-panels" in html


def test_nothing_is_shown_and_nothing_global_changes(monkeypatch):
    monkeypatch.setattr(pyplot, "show", lambda *a, **k: pytest.fail("show was called"))
    before = dict(matplotlib.rcParams)
    ax = pyplot.figure().subplots()
    other = pyplot.figure()
    Shown(PANELS["points"]).plot(ax)
    assert pyplot.gcf() is other
    assert dict(matplotlib.rcParams) == before


def test_characters_that_the_font_lacks(tmp_path):
    display = Shown(PANELS["columns"])
    with pytest.warns(PellucidWarning, match="lacks some characters"):
        display.save(tmp_path / "x.png")
    display.save(tmp_path / "x.svg")


@pytest.mark.parametrize("suffix", ["svg", "html", "png", "SVG"])
def test_save(tmp_path, suffix):
    display = Shown(PANELS["line"], PANELS["area"])
    path = display.save(tmp_path / f"x.{suffix}")
    data = path.read_bytes()
    assert list(tmp_path.iterdir()) == [path]
    if suffix.lower() == "svg":
        ET.fromstring(data)
    elif suffix == "html":
        text = data.decode()
        assert text.startswith("<!doctype html>")
        assert "&lt;c&gt;" in text
        assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
        assert "<script" not in text
    else:
        assert data.startswith(b"\x89PNG")
        assert not pyplot.get_fignums()


def test_wrong_paths(tmp_path):
    with pytest.raises(ParameterError, match=r"saved as .svg, .png or .html. Got 'x.pdf'"):
        Shown(PANELS["line"]).save("x.pdf")
    with pytest.raises(DataError, match="cannot write"):
        Shown(PANELS["line"]).save(tmp_path / "no" / "x.svg")


def test_without_matplotlib(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    display = Shown(PANELS["line"])
    for call in (display.plot, lambda: display.save(tmp_path / "x.png")):
        with pytest.raises(PellucidError, match=r"pip install 'pellucid\[plot\]'"):
            call()
    display.save(tmp_path / "x.svg")


def test_frames_are_plain():
    frame = Shown(PANELS["line"]).frame()
    assert frame == {"x": X, "name": ["a", "b", "<c>", "d"]}
    assert all(type(v) is float for v in frame["x"])
    assert Shown(PANELS["line"]).frame("pandas").shape == (4, 2)
    assert "4 rows of x, name" in repr(Shown(PANELS["line"]))


def test_pictures_are_frozen():
    line = Line(np.array([1, 2]), [3, None])
    assert line.x == (1.0, 2.0)
    assert np.isnan(line.y[1])
    with pytest.raises(FrozenInstanceError):
        line.x = ()


def test_long_names_keep_their_whole_text_as_title():
    root = parsed(Shown(PANELS["bars"]))
    cut = [n for n in root.iter() if n.tag.endswith("text") and len(n)]
    assert cut, "no name was shortened"
    assert "that has to be cut somewhere" in "".join(cut[0].itertext())


def test_many_points_are_thinned_with_a_note():
    n = 5000
    points = Points(range(n), range(n), values=range(n), sizes=[2] * n)
    root = parsed(Shown(Panel((points,))))
    assert any("Showing 2000 of 5000 points." in text for text in texts(root))
    assert len([node for node in root.iter() if node.tag.endswith("circle")]) == 2000
    ax = Shown(Panel((points,))).plot().ax_
    assert len(ax.collections[0].get_offsets()) == n


def test_equal_axes():
    panel = Panel((Points([0, 10], [0, 1]),), equal=True)
    area = area_of(panel)
    assert (area.x(1) - area.x(0)) == pytest.approx(area.y(0) - area.y(1))


def test_sixty_four_series_differ():
    from pellucid.draw.style import PALETTE, marker

    looks = {(PALETTE[i % 8], marker(i)) for i in range(64)}
    assert len(looks) == 64
    marks = tuple(Points([i], [i], f"class {i}", i) for i in range(12))
    ax = Shown(Panel(marks)).plot().ax_
    seen = {
        (tuple(c.get_facecolors()[0]), c.get_paths()[0].vertices.tobytes()) for c in ax.collections
    }
    assert len(seen) == 12
    shown = texts(parsed(Shown(Panel(marks))))
    assert all(f"class {i}" in shown for i in range(12))


@pytest.mark.parametrize("turned", [False, True])
def test_long_lines_look_the_same_with_fewer_points(turned):
    from pellucid.plot.extents import panel_limits, thinned_line

    rng = np.random.default_rng(0)
    x, y = np.sort(rng.random(50_000)), rng.normal(size=50_000)
    line = Line(x[::-1] if turned else x, y, "noise", 3)
    short = thinned_line(line, False)
    assert 1000 < len(short.x) <= 4000
    assert (short.x[0], short.y[0]) == (line.x[0], line.y[0])
    assert (short.x[-1], short.y[-1]) == (line.x[-1], line.y[-1])
    assert panel_limits(Panel((short,))) == panel_limits(Panel((line,)))
    columns = np.minimum((x - x[0]) / (x[-1] - x[0]) * 1000, 999).astype(int)
    highest = {
        max(np.asarray(line.y)[:: -1 if turned else 1][columns == c]) for c in range(0, 1000, 50)
    }
    assert highest <= set(short.y)
    assert thinned_line(Line(y, x), False).x == tuple(y)  # not along x
    assert len(thinned_line(Line(x, np.where(x > 0.5, np.nan, y)), False).x) == 50_000
