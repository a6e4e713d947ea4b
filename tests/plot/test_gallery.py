"""Every display keeps the same promises: whole files, readable texts, the same numbers twice."""

import itertools
import re
import xml.etree.ElementTree as ET

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")
from matplotlib import pyplot

from pellucid.draw import label_text as words
from pellucid.draw import svg
from pellucid.draw.number import coordinate
from pellucid.plot import svg_renderer
from pellucid.plot.picture import Band, Bars, Heat, Intervals, Line, Points, Rule, Steps
from tests.plot.gallery import gallery
from tests.plot.reading import area_of, parsed

SVG = "{http://www.w3.org/2000/svg}"
GALLERY = dict(gallery())


@pytest.fixture(params=GALLERY)
def display(request):
    yield GALLERY[request.param]
    pyplot.close("all")


def test_the_data_are_a_table(display):
    frame = display.frame()
    assert len({len(column) for column in frame.values()}) == 1
    assert all(type(column) is list for column in frame.values())
    assert display.frame("pandas").shape == (len(next(iter(frame.values()))), len(frame))


def test_the_files_are_whole(display, tmp_path):
    root = parsed(display)
    drawn = " ".join(
        value for node in root.iter() for key, value in node.attrib.items() if key != "aria-label"
    )
    assert not re.search(r"\b(nan|inf)\b", drawn)
    html = display._repr_html_()
    figure = ET.fromstring(html)
    assert figure.find("details/table") is not None
    assert not {node.tag for node in figure.iter()} & {"script", "iframe", "a"}
    page = display.save(tmp_path / "x.html").read_text()
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    assert len(display.svg()) < 150_000
    assert display.svg() == display.svg()


def placed(root, dx=0.0, dy=0.0, anchor=None):
    """(x, y, anchor, element) of every text, in the coordinates of the picture."""
    for child in root:
        own = child.get("text-anchor", anchor)
        moved = re.match(r"translate\(([-\d.]+) ([-\d.]+)\)", child.get("transform", ""))
        shift = (float(moved[1]), float(moved[2])) if moved else (0.0, 0.0)
        if child.tag == f"{SVG}text":
            yield dx + float(child.get("x")), dy + float(child.get("y")), own, child
        yield from placed(child, dx + shift[0], dy + shift[1], own)


def boxes(root):
    """(left, right, top, bottom, text) of every text that is not turned."""
    for x, y, anchor, node in placed(root):
        if "rotate" not in node.get("transform", ""):
            text = (node.text or "") + "".join(child.tail or "" for child in node)
            size = float(node.get("font-size", 13))
            length = words.width(text) * size
            start = x - {"middle": length / 2, "end": length}.get(anchor, 0)
            yield start, start + length, y - 0.6 * size, y, text


def test_no_text_leaves_the_picture_or_covers_another(display):
    for markup in svg_renderer.panels_svg(display.picture()):
        root = ET.fromstring(markup)
        _, _, width, height = map(float, root.get("viewBox").split())
        found = list(boxes(root))
        for left, right, top, bottom, text in found:
            assert left >= -2, text
            assert right <= width + 6, text
            assert top > 0, text
            assert bottom <= height, text
        for a, b in itertools.combinations(found, 2):
            apart = a[1] <= b[0] or b[1] <= a[0] or a[3] <= b[2] or b[3] <= a[2]
            assert apart, (a, b)


def pairs(x, y, area):
    """Points of data as the SVG writes them."""
    return [
        f"{coordinate(area.x(a))} {coordinate(area.y(b))}"
        for a, b in zip(x, y)
        if a == a and b == b
    ]


def test_both_renderers_draw_the_same_numbers(display):
    """What matplotlib's artists hold is found in the SVG, at the place that its axes give it."""
    picture = display.picture()
    markups = svg_renderer.panels_svg(picture)
    axes = np.ravel(display.plot().ax_)
    checked = 0
    for panel, markup, ax in zip(picture.panels, markups, axes, strict=True):
        area = area_of(panel)
        limits = (ax.get_xlim(), ax.get_ylim())
        for axis, ends in zip((area.x, area.y), limits):
            if hasattr(axis, "low"):
                assert ends == pytest.approx((axis.low, axis.high))
        lines = list(ax.get_lines())
        for mark in panel.marks:
            if isinstance(mark, (Line, Rule)):
                line = lines.pop(0)
                if isinstance(mark, Line):
                    checked += check_line(line, area, markup)
            elif isinstance(mark, Intervals):
                lines.pop(0)
        checked += check_others(panel, ax, area, markup)
    assert checked > 0


def check_line(line, area, markup):
    """The ends and the extremes of a line; between them the SVG may leave out points."""
    x, y = map(np.asarray, line.get_data())
    inside = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    low, high = inside[y[inside].argmin()], inside[y[inside].argmax()]
    kept = sorted({inside[0], inside[-1], low, high})
    text = markup.replace("M", " ").replace("<", " ")
    missing = [p for p in pairs(x[kept], y[kept], area) if p not in text]
    # A horizontal or vertical stretch keeps its ends alone, so an extreme inside one may be absent.
    assert len(missing) <= len(kept) - 2, missing
    return 1


def check_others(panel, ax, area, markup):
    count = 0
    offsets = [c.get_offsets() for c in ax.collections if type(c).__name__ == "PathCollection"]
    for mark in panel.marks:
        if isinstance(mark, Points):
            data = np.asarray(offsets.pop(0))
            places = pairs(*data.T, area)
            if mark.values or mark.sizes:
                places = ['cx="{}" cy="{}"'.format(*place.split()) for place in places]
                assert all(place in markup for place in places)
            else:
                assert all(f"M{place}" in markup for place in places)
            count += len(data)
        if isinstance(mark, Heat):
            cells = len(mark.values) * len(mark.values[0])
            shown = [text.get_text() for text in ax.texts][:cells]
            drawn = [t for *_, t in boxes(ET.fromstring(markup))]
            assert drawn[len(drawn) - len(shown) :] == shown
            count += 1
    count += check_bars(panel, ax, area, markup)
    patches = [p for p in ax.patches if type(p).__name__ == "StepPatch"]
    for mark, patch in zip([m for m in panel.marks if isinstance(m, Steps)], patches):
        heights, edges, _ = patch.get_data()
        if not mark.solid:
            steps = "".join(
                f"V{coordinate(area.y(h))}H{coordinate(area.x(e))}"
                for h, e in zip(heights, edges[1:])
            )
            assert steps in markup
        else:  # bars with half a pixel of space on each side
            bars = [
                f"M{coordinate(area.x(e) + 0.5)} {coordinate(area.y(h))}h"
                for h, e in zip(heights, edges)
                if h
            ]
            assert all(bar in markup for bar in bars)
        count += 1
    segments = [c.get_segments() for c in ax.collections if type(c).__name__ == "LineCollection"]
    for lines in segments:
        for (x1, y1), (x2, y2) in lines:
            if x1 == x1 and y1 == y1:
                (start,), (end,) = pairs([x1], [y1], area), pairs([x2], [y2], area)
                assert f"M{start}L{end}" in markup
        count += len(lines)
    bands = [c for c in ax.collections if type(c).__name__ == "FillBetweenPolyCollection"]
    for mark, band in zip([m for m in panel.marks if isinstance(m, Band)], bands):
        outline = {tuple(v) for v in np.round(band.get_paths()[0].vertices, 9)}
        ends = [(mark.x[0], mark.low[0]), (mark.x[-1], mark.high[-1])]
        assert all(tuple(np.round(end, 9)) in outline for end in ends)
        assert all(place in markup for place in pairs(*zip(*ends), area))
        count += 1
    return count


def check_bars(panel, ax, area, markup):
    """The corners of every bar."""
    rectangles = [p for p in ax.patches if type(p).__name__ == "Rectangle"]
    expected = [m for m in panel.marks if isinstance(m, Bars) for _ in m.at]
    assert len(rectangles) == len(expected)
    for bar in rectangles:
        x, y = (
            (area.x(v) for v in bar.get_corners()[:, 0]),
            (area.y(v) for v in bar.get_corners()[:, 1]),
        )
        (left, *_, right), (top, *_, bottom) = sorted(x), sorted(y)
        assert svg.rectangle_path(left, top, right - left, bottom - top) in markup
    return len(rectangles)
