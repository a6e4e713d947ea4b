"""Numbers are short, sufficient and stand in line."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid.draw.number import column, coordinate, number, tick_labels

QUICK = settings(derandomize=True, deadline=None, max_examples=300)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.1 + 0.2, "0.3"),
        (-0.0, "0"),
        (9.9996, "10"),
        (999999.7, "1000000"),
        (12345678.9, "1.235e7"),
        (0.00012345, "0.0001234"),
        (0.00001, "1e-5"),
        (1e300, "1e300"),
        (5e-324, "4.941e-324"),
        (math.inf, "inf"),
        (-math.inf, "-inf"),
        (math.nan, "nan"),
        (None, ""),
        (True, "True"),
        (123456789, "123456789"),
        (np.float32(0.1), "0.1"),
        (np.int64(-3), "-3"),
        ("text", "text"),
    ],
)
def test_number(value, text):
    assert number(value) == text


@QUICK
@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(1, 10))
def test_number_has_its_digits(value, digits):
    text = number(value, digits)
    largest = 0.5000001 * 10.0 ** (1 - digits) * abs(value)
    assert abs(Fraction(text) - Fraction(value)) <= Fraction(largest) + Fraction(5e-324)
    assert len(text) <= digits + 9


@QUICK
@given(st.lists(st.floats(-1e7, 1e7), min_size=1, max_size=8))
def test_columns_keep_two_digits(values):
    for value, text in zip(values, column(values)):
        assert abs(float(text) - value) <= 0.051 * abs(value)


@QUICK
@given(st.lists(st.floats(1, 999), min_size=1, max_size=8), st.lists(st.just(0.0), max_size=2))
def test_columns_stand_in_line(values, zeros):
    texts = column(values + zeros)
    assert len({len(text.partition(".")[2]) for text in texts}) == 1


def test_columns_show_small_numbers_beside_large_ones():
    assert column([-0.0, 0.0]) == ["0", "0"]
    assert column([12.5, 0.033, 3.0]) == ["12.500", "0.033", "3.000"]
    assert column([1000.5, 0.0012345]) == ["1000.5", "0.001234"]
    assert column([123456.75, 0.5]) == ["123456.75", "0.50"]


def test_column_of_p_values():
    assert column([0.5, 0.034, 1e-16, 0.0]) == ["0.500", "0.034", "1e-16", "0.000"]
    assert column([1.0, 2.0]) == ["1", "2"]
    assert column([1, 2.5, None, "x"]) == ["1", "2.5", "", "x"]


@pytest.mark.parametrize(
    ("ticks", "labels", "note"),
    [
        ([0.0, 0.5, 1.0], ["0.0", "0.5", "1.0"], ""),
        ([0.0, 5000.0, 10000.0], ["0", "5k", "10k"], ""),
        ([1.5e6, 2e6], ["1.5M", "2.0M"], ""),
        ([-1e308, 0.0, 1e308], ["-1e308", "0", "1e308"], ""),
        ([1e-9, 2e-9], ["1e-9", "2e-9"], ""),
        ([0.0, 5e-6, 1e-5], ["0", "5e-6", "1e-5"], ""),
        ([0.0, 0.001], ["0.000", "0.001"], ""),
        ([1e8, 1e8 + 0.001], ["+0.000", "+0.001"], "(+ 100000000)"),
        ([3.0], ["3"], ""),
        ([], [], ""),
    ],
)
def test_tick_labels(ticks, labels, note):
    assert tick_labels(ticks) == (labels, note)


def test_coordinates_are_short():
    assert [coordinate(v) for v in (1.0, -0.01, 2.345, 100)] == ["1", "0", "2.3", "100"]
