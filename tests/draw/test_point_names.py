"""Names beside the points of a scatter chart: all in the table, drawn only where they cover nothing."""

import re

from pellucid.draw.label_text import width
from pellucid.draw.scatter_chart import SMALL
from tests.draw.charts import scatter

NAMED = re.compile(
    rf'<text x="([-\d.]+)" y="([-\d.]+)" font-size="{SMALL}">(?:<title>.*?</title>)?([^<]*)<'
)


def drawn(chart):
    return [(float(x), float(y), name) for x, y, name in NAMED.findall(chart)]


def test_points_far_apart_all_get_their_names():
    chart = scatter(
        {"a": ([0, 10], [0, 10]), "b": ([5], [3])},
        names={"a": ["first", "second"], "b": ["<third>"]},
    )
    assert {name for *_, name in drawn(chart)} == {"first", "second", "&lt;third&gt;"}
    rows = re.findall(r'<th scope="row">(.*?)</th><td>(.*?)</td>', chart)
    assert rows == [("first", "a"), ("second", "a"), ("&lt;third&gt;", "b")]


def test_names_never_cover_each_other_and_none_is_lost_from_the_table():
    names = [f"model number {k}" for k in range(40)]
    xs, ys = [k % 7 for k in range(40)], [(k * k) % 11 for k in range(40)]
    chart = scatter({"all": (xs, ys)}, names={"all": names})
    boxes = [(x, y - SMALL, x + width(name) * SMALL, y) for x, y, name in drawn(chart)]
    assert 3 < len(boxes) < 40
    for i, (a, b, c, d) in enumerate(boxes):
        assert not any(a < r and x < c and b < s and y < d for x, y, r, s in boxes[:i])
    assert all(name in chart for name in names)


def test_a_point_that_is_not_drawn_has_no_name():
    chart = scatter({"a": ([1, None, 3], [1, 2, 3])}, names={"a": ["x1", "x2", "x3"]})
    assert {name for *_, name in drawn(chart)} == {"x1", "x3"}


def test_without_names_nothing_changes():
    assert '<th scope="col">name' not in scatter({"a": ([1, 2], [1, 2])})
