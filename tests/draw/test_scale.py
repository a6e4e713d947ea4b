"""Scales are monotone and ticks are nice over the whole range of doubles."""

import math
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pellucid.draw.number import tick_labels
from pellucid.draw.scale import (
    Band,
    Linear,
    Log,
    extent,
    extent_with_zero,
    linear_ticks,
    log_ticks,
    padded,
)

QUICK = settings(derandomize=True, deadline=None, max_examples=300)
FINITE = st.floats(allow_nan=False, allow_infinity=False)
ORDINARY = st.floats(-1e6, 1e6)
POSITIVE = st.floats(min_value=5e-324, allow_infinity=False)


def interval(numbers):
    return st.tuples(numbers, numbers).map(lambda pair: extent([pair]))


@QUICK
@given(interval(FINITE) | interval(ORDINARY), st.integers(2, 12))
def test_linear_ticks(ends, count):
    low, high = ends
    ticks = linear_ticks(low, high, count)
    assert len(ticks) <= count + 1
    assert len(ticks) >= (2 if count >= 5 else 0)
    assert all(low <= tick <= high for tick in ticks)
    assert all(a < b for a, b in pairwise(ticks))


@QUICK
@given(interval(ORDINARY), st.integers(5, 12))
def test_linear_ticks_are_multiples_of_1_2_or_5(ends, count):
    ticks = [Fraction(repr(tick)) for tick in linear_ticks(*ends, count)]
    steps = {b - a for a, b in pairwise(ticks)}
    assert len(steps) == 1
    (step,) = steps
    power = Fraction(10) ** math.floor(math.log10(step) + 1e-9)
    assert step / power in {1, 2, 5}
    assert all((tick / step).denominator == 1 for tick in ticks)


@QUICK
@given(interval(FINITE) | interval(ORDINARY), st.integers(5, 12))
def test_labels_tell_ticks_apart(ends, count):
    ticks = linear_ticks(*ends, count)
    labels, _ = tick_labels(ticks)
    assert len(set(labels)) == len(ticks)
    assert max(map(len, labels)) <= 12


@QUICK
@given(interval(ORDINARY), st.integers(5, 12))
def test_labels_say_the_value(ends, count):
    """Read back, a label is its tick: `12k` is 12000, and an offset is added."""
    ticks = linear_ticks(*ends, count)
    labels, note = tick_labels(ticks)
    offset = Fraction(note.strip("(+) ")) if note else Fraction(0)
    units = {"k": 1000, "M": 10**6}
    for tick, label in zip(ticks, labels):
        unit = units.get(label[-1], 1)
        value = Fraction(label.rstrip("kM")) * unit + offset
        assert abs(value - Fraction(repr(tick))) <= Fraction(abs(tick)) / 10**12 + Fraction(
            1, 10**300
        )


@QUICK
@given(st.tuples(POSITIVE, POSITIVE).map(lambda pair: extent([pair], log=True)), st.integers(3, 10))
def test_log_ticks(ends, count):
    low, high = ends
    ticks = log_ticks(low, high, count)
    assert 1 <= len(ticks) <= 3 * count
    assert all(low <= tick <= high for tick in ticks)
    assert all(a < b for a, b in pairwise(ticks))
    if math.log10(high) - math.log10(low) > 3:
        assert all(
            math.isclose(math.log10(t), round(math.log10(t)), abs_tol=1e-9)
            for t in ticks
            if t > 1e-307
        )


def test_ticks_of_the_whole_range_of_doubles():
    assert log_ticks(1e-300, 1e300, 6) == [1e-300, 1e-200, 1e-100, 1.0, 1e100, 1e200, 1e300]
    assert linear_ticks(-1e308, 1e308, 5) == [-1e308, -5e307, 0.0, 5e307, 1e308]
    assert linear_ticks(0, 1, 5) == [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]


@QUICK
@given(interval(FINITE) | interval(ORDINARY), FINITE, FINITE)
def test_linear_scale_is_monotone(ends, a, b):
    scale = Linear(*ends, 0.0, 300.0)
    assert scale(ends[0]) == 0
    assert math.isclose(scale(ends[1]), 300)
    low, high = sorted((a, b))
    assert scale(low) <= scale(high)
    upwards = Linear(*ends, 300.0, 0.0)
    assert upwards(low) >= upwards(high)


@QUICK
@given(st.tuples(POSITIVE, POSITIVE).map(lambda p: extent([p], log=True)), POSITIVE, POSITIVE)
def test_log_scale_is_monotone(ends, a, b):
    scale = Log(*ends, 0.0, 300.0)
    low, high = sorted((a, b))
    assert scale(low) <= scale(high)
    assert math.isclose(scale(ends[0]), 0, abs_tol=1e-6)
    assert math.isclose(scale(ends[1]), 300)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_scales_place_only_what_they_can(value):
    assert math.isnan(Linear(0, 1, 0, 100)(value))
    assert math.isnan(Log(1, 10, 0, 100)(value))
    assert math.isnan(Log(1, 10, 0, 100)(0.0))
    assert math.isnan(Log(1, 10, 0, 100)(-1.0))


@given(st.integers(1, 50))
def test_bands_share_the_axis(n):
    band = Band(n, 0.0, 120.0)
    middles = [band(i) for i in range(n)]
    assert math.isclose(middles[0], band.step / 2)
    assert math.isclose(middles[-1], 120 - band.step / 2)


def test_extent_ignores_what_cannot_be_drawn():
    assert extent([[math.nan, 3, math.inf], [-2]]) == (-2, 3)
    assert extent([]) == (0, 1)
    assert extent([[-1, 0, 10, 1000]], log=True) == (10, 1000)
    assert extent([[-1, 0]], log=True) == (1, 10)
    assert extent_with_zero([[2, 5]]) == (0, 5)
    assert extent_with_zero([[0.0, math.nan]]) == (0, 1)


@QUICK
@given(FINITE)
def test_a_single_value_gets_an_axis(value):
    low, high = extent([[value]])
    assert low <= value <= high
    assert low < high
    assert len(linear_ticks(low, high, 5)) >= 2


@QUICK
@given(interval(FINITE))
def test_room_contains_the_data_and_stops_at_zero(ends):
    low, high = padded(*ends)
    assert low <= ends[0]
    assert ends[1] <= high
    assert math.isfinite(low)
    assert math.isfinite(high)
    assume(ends[0] >= 0)
    assert low >= 0
