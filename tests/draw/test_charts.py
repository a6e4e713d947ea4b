"""Marks stand where the data say: read back from the markup."""

import base64
import math
import re
import struct
import xml.etree.ElementTree as ET
import zlib

import numpy as np
import pytest

from pellucid import draw
from pellucid.draw.axes import checked_limits
from pellucid.draw.label_text import width
from pellucid.draw.points import evenly
from pellucid.errors import ParameterError
from tests.draw import charts

SVG = "{http://www.w3.org/2000/svg}"


def parsed(markup):
    return ET.fromstring(markup)


def colour_groups(markup, index):
    """Groups of marks of one series, without its key in the legend."""
    plot = [g for g in parsed(markup).iter(f"{SVG}g") if g.get("transform")][-1]
    return [g for g in plot.iter(f"{SVG}g") if g.get("class") == f"pl-c{index}"]


def paths(markup, index=0):
    return [p.get("d") for g in colour_groups(markup, index) for p in g.iter(f"{SVG}path")]


def places(d):
    """Starting points of the pieces of a path."""
    return [(float(x), float(y)) for x, y in re.findall(r"M(-?[\d.]+) (-?[\d.]+)", d)]


def rectangles(d):
    """(left, top, width, height) of every rectangle in a path."""
    number = r"(-?[\d.]+)"
    return [
        tuple(map(float, found))
        for found in re.findall(rf"M{number} {number}h{number}v{number}", d)
    ]


def texts(markup):
    return [
        (t.text or "") + "".join(child.tail or "" for child in t)
        for t in parsed(markup).iter(f"{SVG}text")
    ]


def image(markup):
    """Rows of palette indices, and the palette with opacity."""
    (element,) = parsed(markup).iter(f"{SVG}image")
    data = base64.b64decode(element.get("href").split(",")[1])
    chunks, at = {}, 8
    while at < len(data):
        (size,) = struct.unpack(">I", data[at : at + 4])
        chunks[data[at + 4 : at + 8]] = data[at + 8 : at + 8 + size]
        at += 12 + size
    width, height = struct.unpack(">II", chunks[b"IHDR"][:8])
    raw = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, width + 1)
    colours = np.frombuffer(chunks[b"PLTE"], np.uint8).reshape(-1, 3)
    return raw[:, 1:], colours, np.frombuffer(chunks[b"tRNS"], np.uint8)


# -- lines ------------------------------------------------------------------------------------


def test_lines_rise_with_the_data_and_stop_at_gaps():
    markup = draw.line({"a": ([0, 1, 2, 3, 4], [0, 1, math.nan, 1, 5])})
    line, *points = paths(markup)
    assert len(places(line)) == 2
    (x0, y0), (x1, y1), (x3, y3), (x4, y4) = [places(point)[0] for point in points]
    assert x0 < x1 < x3 < x4
    assert y0 > y1 == y3 > y4
    assert math.isclose(x1 - x0, (x3 - x1) / 2, abs_tol=0.11)
    assert math.isclose(y3 - y4, 4 * (y0 - y1), abs_tol=0.3)


def test_a_point_between_gaps_is_drawn():
    xs = list(range(100))
    ys = [math.nan if i in (49, 51) else 1.0 for i in xs]
    line, lonely = paths(draw.line({"a": (xs, ys)}))
    assert len(places(line)) == 2
    assert len(places(lonely)) == 1


def test_thinning_keeps_spikes():
    n = 100_000
    ys = [0.0] * n
    ys[12_345] = 7.0
    markup = draw.line({"a": (range(n), ys)})
    assert len(markup) < 30_000
    (line,) = paths(markup)
    top, *others = sorted({float(y) for _, y in re.findall(r"(-?[\d.]+) (-?[\d.]+)", line)})
    assert top < 20 and min(others) > 200


def test_log_axis_is_logarithmic_and_counts_what_it_cannot_show():
    markup = draw.line({"a": ([1, 10, 100], [1, 2, 3]), "b": ([0, -1], [1, 1])}, x_log=True)
    points = [places(point)[0] for point in paths(markup)[1:4]]
    assert math.isclose(points[1][0] - points[0][0], points[2][0] - points[1][0], abs_tol=0.2)
    assert "Not shown on the logarithmic axis: 2 values of 0 or less." in texts(markup)


def test_infinite_values_are_counted():
    assert "Not shown: 1 infinite value." in texts(draw.line({"a": ([0, 1], [1, math.inf])}))
    assert not any("Not shown" in t for t in texts(draw.line({"a": ([0, 1], [1, math.nan])})))


def test_series_differ_in_dash_and_marker():
    markup = draw.line({name: ([0, 1], [k, k]) for k, name in enumerate("abc")})
    dashes, shapes = set(), set()
    for i in range(3):
        line, points, *_ = (
            p for g in colour_groups(markup, i) for p in g.iter(f"{SVG}path")
        )  # fmt: skip
        dashes.add(line.get("stroke-dasharray"))
        shapes.add(re.sub(r"M-?[\d.]+ -?[\d.]+", "", points.get("d")[:20]))
    assert len(dashes) == len(shapes) == 3
    assert texts(markup)[:3] == ["a", "b", "c"]


def test_names_that_look_alike_stay_apart():
    markup = draw.line({"a": ([0], [0]), "a\u200b": ([1], [1])})
    assert texts(markup)[:2] == ["a", "a (2)"]


def test_bands_cover_what_lies_between():
    markup = charts.scatter({"a": ([0, 1], [1, 1])}, bands={"a": ([0, 1], [0, 0], [2, 2])})
    band, points = paths(markup)[:2]
    assert band.endswith("z")
    ys = [float(y) for _, y in re.findall(r"(-?[\d.]+) (-?[\d.]+)", band)]
    middle = places(points)[0][1]
    assert min(ys) < middle < max(ys)


def test_limits_clip():
    markup = charts.scatter({"a": ([0, 10], [0, 10])}, x_range=(0, 1), y_range=(0, 1))
    inner = [s for s in parsed(markup).iter(f"{SVG}svg") if s.get("overflow") == "hidden"]
    assert len(inner) == 1


@pytest.mark.parametrize("limits", [(1, 0), (math.nan, 1), (0, math.inf), (-1, 1)])
def test_impossible_limits_are_refused(limits):
    with pytest.raises(ParameterError, match="limits of an axis"):
        checked_limits(limits, log=True)


def test_unequal_columns_are_refused():
    with pytest.raises(ParameterError, match="'a' differ in length: x 2, y 1"):
        draw.line({"a": ([1, 2], [1])})


@pytest.mark.parametrize(("n", "limit"), [(0, 5), (5, 5), (6, 5), (1000, 7), (10, 2)])
def test_evenly_keeps_both_ends(n, limit):
    kept = evenly(range(n), limit)
    assert len(kept) == min(n, limit)
    assert kept == sorted(set(kept))
    if n:
        assert (kept[0], kept[-1]) == (0, n - 1)
        assert max(np.diff(kept), default=1) <= n / (limit - 1) + 1


# -- bars, intervals, histograms --------------------------------------------------------------


def test_bars_grow_from_zero_in_the_given_order():
    markup = draw.bar(["up", "down", "none"], {"v": [2.0, -1.0, math.nan]})
    (d,) = paths(markup)
    up, down = rectangles(d)
    assert up[1] < down[1]
    assert math.isclose(up[2], 2 * down[2], abs_tol=0.2)
    assert math.isclose(down[0] + down[2], up[0], abs_tol=0.2)
    assert [t for t in texts(markup) if t in ("up", "down", "none")] == ["up", "down", "none"]


def test_series_may_have_any_name():
    markup = draw.bar(["a"], {"labels": [1], "what": [2], "what\u200b": [3]})
    assert {"labels", "what", "what (2)"} <= set(texts(markup))
    with pytest.raises(ParameterError, match="'v' must have 1 values"):
        draw.bar(["a"], {"v": [1, 2]})


@pytest.mark.parametrize("value", [0.5, 123456.789, -1.23e-200])
def test_values_stand_right_of_the_plot(value):
    root = parsed(draw.bar(["a"], {"v": [value]}))
    plot = next(g for g in root.iter(f"{SVG}g") if g.get("transform"))
    axis = max(
        float(x)
        for p in plot.iter(f"{SVG}path")
        for x in re.findall(r"[ML](-?[\d.]+) ", p.get("d"))
    )
    text = list(plot.iter(f"{SVG}text"))[-1]
    assert text.text == draw.number(value, 3)
    assert float(text.get("x")) - width(text.text) * 13 >= axis


def test_many_bars_say_how_many():
    markup = draw.bar(range(100), {"v": range(100)})
    assert len(rectangles(paths(markup)[0])) == 60
    assert "Showing the first 60 of 100 bars." in texts(markup)


def test_histogram_columns_have_the_height_of_their_counts():
    markup = charts.histogram([0, 1, 3], {"v": [2, 4]})
    (d,) = paths(markup)
    first, second = rectangles(d)
    assert math.isclose(second[3], 2 * first[3], abs_tol=0.2)
    assert math.isclose(second[2] + 1, 2 * (first[2] + 1), abs_tol=0.3)
    assert first[1] + first[3] == second[1] + second[3]


def test_histogram_needs_one_count_per_interval():
    with pytest.raises(ParameterError, match="'v' must have 1 values"):
        charts.histogram([0, 1], {"v": [1, 2]})


# -- scatter, heat map, regions ---------------------------------------------------------------


def test_scatter_shows_every_point_or_says_how_many():
    few = charts.scatter({"a": ([0, 1, math.nan], [0, 1, 1])})
    assert len(places(paths(few)[0])) == 2
    many = charts.scatter({"a": (range(5000), range(5000)), "b": ([1], [1])})
    assert len(places(paths(many, 0)[0])) == 1999
    assert len(places(paths(many, 1)[0])) == 1
    assert "Showing 2000 of 5001 points." in texts(many)


def test_heat_map_cells():
    markup = charts.heatmap([[0, 10], [5, math.nan]], ["r0", "r1"], ["c0", "c1"])
    groups = colour_groups(markup, 0)
    strength = {}
    for group in groups:
        for left, top, *_ in rectangles(group[0].get("d")):
            strength[left > 50, top > 20] = float(group.get("opacity"))
    assert strength == {(True, False): 0.65, (False, True): pytest.approx(0.33, abs=0.02)}
    assert {"0", "10", "5"} <= set(texts(markup))


def test_heat_map_of_steps_has_round_numbers():
    steps = [str(k) for k in np.linspace(1.16, 51.37, 40)]
    values = np.arange(1600.0).reshape(40, 40)
    ends = {"x_range": (1.16, 51.37), "y_range": (0.8, 6.2)}
    shown = [
        t.text for t in parsed(charts.heatmap(values, steps, steps, **ends)).iter(f"{SVG}text")
    ]
    assert {"10", "50", "2.5", "5.0"} <= set(shown) and len(shown) < 25
    assert not set(shown) & set(steps)
    assert "rotate" not in charts.heatmap(values, steps, steps, table=False, **ends)
    with pytest.raises(ParameterError, match="limits of an axis"):
        charts.heatmap(values, steps, steps, x_range=(2.0, 1.0))


def test_heat_map_colours_stop_at_the_range():
    markup = charts.heatmap([[-9, 1, 9]], ["r"], ["a", "b", "c"], value_range=(0, 2))
    strengths = [float(g.get("opacity")) for g in colour_groups(markup, 0)]
    assert strengths == [pytest.approx(0.34, abs=0.03), 0.65]


def test_negative_cells_have_another_colour_and_a_stroke():
    names = [f"a long name {i}" for i in range(20)]
    matrix = np.full((20, 20), -0.5)
    matrix[0, 0] = 1.0
    markup = charts.heatmap(matrix, names, names, diverging=True)
    assert sum(len(rectangles(g[0].get("d"))) for g in colour_groups(markup, 1)) == 399
    strokes = [p for p in parsed(markup).iter(f"{SVG}path") if p.get("opacity") == "0.6"]
    assert max(len(places(p.get("d"))) for p in strokes) == 399


def test_large_heat_maps_are_images_the_right_way_up():
    matrix = np.zeros((40, 50))
    matrix[0, 49], matrix[39, 0], matrix[1, 1] = 1.0, -1.0, np.nan
    pixels, colours, opacity = image(charts.heatmap(matrix, range(40), range(50), diverging=True))
    assert pixels.shape == (40, 50)
    assert opacity[pixels[0, 49]] == opacity[pixels[39, 0]] == opacity.max()
    assert tuple(colours[pixels[0, 49]]) == (0x24, 0x56, 0xD6)
    assert tuple(colours[pixels[39, 0]]) == (0xC5, 0x5A, 0x00)
    assert pixels[1, 1] == 0
    assert opacity[pixels[20, 20]] == 0


def test_regions_are_drawn_bottom_up():
    grid = [[0] * 8, [0] * 8, [1] * 8, [1] * 8]
    sure = [[0.5] * 8, [1.0] * 8, [0.5] * 8, [math.nan] * 8]
    markup = charts.regions(grid, (0, 1), (0, 1), ["low", "high"], certainty=sure)
    pixels, colours, opacity = image(markup)
    assert tuple(colours[pixels[0, 0]]) == (0xC5, 0x5A, 0x00), "class 1 at the top"
    assert opacity[pixels[2, 0]] > opacity[pixels[3, 0]] == opacity[pixels[0, 0]]
    names = {
        t.text: float(t.get("y")) for t in parsed(markup).iter(f"{SVG}text") if t.get("font-weight")
    }
    assert names["high"] < 120 < names["low"]


def test_region_names_avoid_points():
    grid = [[0] * 40 for _ in range(40)]

    def name_place(points):
        markup = charts.regions(grid, (0, 1), (0, 1), ["only"], points={"only": points})
        (name,) = [t for t in parsed(markup).iter(f"{SVG}text") if t.get("font-weight") == "600"]
        size = max(float(p.get("width")) for p in parsed(markup).iter(f"{SVG}image"))
        return float(name.get("x")) / size, 1 - float(name.get("y")) / 240

    x, y = name_place(([], []))
    moved = name_place(([x - 0.05, x, x + 0.05], [y, y, y]))
    assert abs(moved[0] - x) > 0.1 or abs(moved[1] - y) > 0.1


# -- what all charts share --------------------------------------------------------------------


def test_table_and_style_can_be_left_out():
    bare = draw.line({"a": ([0, 1], [0, 1])}, table=False, style=False)
    assert bare.startswith("<svg")
    assert "<style" not in bare
    assert "<details" not in bare
    styled = parsed(draw.line({"a": ([0, 1], [0, 1])}, table=False))
    assert styled.find("style") is not None or styled.find(f"{SVG}style") is not None


def test_data_table_holds_the_numbers():
    root = parsed(draw.line({"a": ([1, 2], [0.5, 0.25])}, x_label="step", y_label="loss"))
    cells = [cell.text for cell in root.iter("td")]
    assert [head.text for head in root.iter("th")][:3] == ["series", "step", "loss"]
    assert cells == ["1", "0.50", "2", "0.25"]


def test_unknown_options_are_refused():
    with pytest.raises(TypeError, match="titel"):
        draw.line({}, titel="no")


def test_any_container_of_numbers():
    lists = charts.scatter({"a": ([1, 2], [3, 4])})
    assert (
        charts.scatter({"a": (np.array([1, 2]), np.array([3.0, 4.0], dtype=np.float32))}) == lists
    )
    assert charts.scatter({"a": (range(1, 3), (3, 4))}) == lists


# -- estimator card ---------------------------------------------------------------------------


def card(params, defaults):
    root = parsed(draw.estimator_card("Ridge", params, defaults, True, {}))
    return {row[0].text: row[2].text for row in root.findall("details/table/tbody/tr")}


@pytest.mark.parametrize(
    ("value", "default", "changed"),
    [
        (1, 1.0, False),
        (1.0, True, True),
        (math.nan, math.nan, False),
        (float("nan"), np.nan, False),
        ("l2", "l2", False),
        (None, "l2", True),
        (np.arange(3), np.arange(3), False),
        (np.arange(3), np.arange(4), True),
        (np.arange(3), None, True),
        ([1, 2], [1, 2], False),
        ((1, 2), [1, 2], True),
        ([np.arange(2)], [np.arange(2)], True),
    ],
)
def test_changed_parameters_are_marked_by_a_word(value, default, changed):
    assert card({"p": value}, {"p": default})["p"].startswith("changed, was ") == changed


def test_card_says_whether_it_is_fitted():
    fitted = draw.estimator_card(
        "Ridge", {"alpha": 1}, {"alpha": 1}, True, {"columns": 3}, "<svg/>"
    )
    assert ">fitted<" in fitted
    assert "<svg/>" in fitted
    assert "all defaults" in fitted
    assert ">not fitted<" in draw.estimator_card("Ridge", {}, {}, False, {})


def test_a_long_name_of_the_axis_is_moved_and_broken_before_it_is_cut():
    long = "adds to the score before softmax of Gentoo"
    assert long in texts(draw.bar(["island = Biscoe"], {"adds": [3.5]}, x_label=long, width=340))
    longer = f"{long} among all the others"
    first, second = texts(draw.bar(["island"], {"adds": [3.5]}, x_label=longer, width=340))[-2:]
    assert f"{first} {second}" == longer and max(map(width, (first, second))) * 13 <= 340
