"""Dates on axes: where the ticks stand, how they read, and that every chart understands them."""

import re
from datetime import date as day

import pytest

from pellucid import draw, plot
from pellucid.draw.dates import date, date_ticks
from tests.draw import charts

START = (day(2012, 1, 1) - day(1970, 1, 1)).days


@pytest.mark.parametrize(("days", "labels"), [
    (4 * 365.25, ["2012", "2013", "2014", "2015", "2016"]),
    (364, ["2012-01", "2012-04", "2012-07", "2012-10"]),
    (61, ["2012-01-09", "2012-01-23", "2012-02-06", "2012-02-20"]),
    (5, ["2012-01-01", "2012-01-02", "2012-01-03", "2012-01-04", "2012-01-05", "2012-01-06"]),
    (0.5, ["01-01 00:00", "01-01 03:00", "01-01 06:00", "01-01 09:00", "01-01 12:00"]),
    (30 * 365.25, ["2015", "2020", "2025", "2030", "2035", "2040"]),
])  # fmt: skip
def test_labels_are_as_long_as_the_span_needs(days, labels):
    places, found = date_ticks(START, START + days, 6 if days > 5000 else 5)
    assert found == labels
    assert places == sorted(places) and places[0] >= START and places[-1] <= START + days


def test_ticks_stand_where_the_calendar_turns():
    places, labels = date_ticks(START, START + 1500, 4)
    assert [date(place) for place in places] == [f"{label}-01-01" for label in labels]


def test_what_no_calendar_holds_stays_a_number():
    assert date_ticks(-1e7, 1e7, 5) is None and date_ticks(0, float("nan"), 5) is None
    assert date(1e9) == "1e9"
    assert "nan" not in draw.line({"a": ([-1e7, 1e7], [0, 1])}, x_dates=True)


def dated_charts():
    days = [START + 40.0 * k for k in range(21)]
    grid = [[0, 1]] * 2
    return {
        "line": draw.line({"a": (days, days)}, x_dates=True, y_dates=True),
        "scatter": charts.scatter({"a": (days, days)}, x_dates=True, y_dates=True),
        "histogram": charts.histogram(days, {"a": range(20)}, x_dates=True),
        "regions": charts.regions(
            grid, (days[0], days[-1]), (days[0], days[-1]), ["a", "b"], x_dates=True, y_dates=True
        ),
        "heatmap": charts.heatmap(
            grid, "ab", "cd", x_range=(days[0], days[-1]), y_range=(days[0], days[-1]),
            x_dates=True, y_dates=True,
        ),
    }  # fmt: skip


@pytest.mark.parametrize("name", list(dated_charts()))
def test_every_chart_shows_dates_and_no_day_numbers(name):
    markup = dated_charts()[name]
    shown = re.findall(r"<text[^>]*>([^<]*)</text>", markup)
    assert [text for text in shown if re.fullmatch(r"2012-\d\d|201[34](-\d\d)?", text)]
    assert not [text for text in shown if re.fullmatch(r"1[56][.\d]*k", text)]
    assert "from 2012-01-01" in markup or name == "heatmap", "the description too"


def test_points_and_rows_tell_a_pointer_what_they_are():
    line = draw.line({"a <b>": ([START, START + 400.0], [0.25, 0.5])}, x_dates=True)
    assert "<title>a &lt;b&gt;: 2012-01-01, 0.25</title>" in line
    named = charts.scatter({"a": ([1.0], [2.0])}, names={"a": ["<x>"]})
    assert "<title>&lt;x&gt;: 1, 2</title>" in named
    nan = float("nan")
    rows = plot.ScoresDisplay(["<tree>", "none"], [0.5, nan], [0.4, nan], [0.6, nan])
    told = rows.svg()
    assert "<title>&lt;tree&gt;: 0.5 (0.4 to 0.6)</title>" in told and told.count("<title>") == 2
    assert rows.figures(table=False)[0].count("<title>") == 1
