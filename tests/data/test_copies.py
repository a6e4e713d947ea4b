"""Copies are dealt out as if they were rows of their own: integers, of the asked sizes, by that law."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pellucid.data import weighted_sampling

WEIGHTS = st.lists(st.integers(0, 5), min_size=1, max_size=12).map(lambda w: np.array(w, float))


def stream(seed=0):
    return np.random.default_rng(seed)


@given(WEIGHTS, st.integers(0, 99), st.floats(0, 1))
def test_held_back_copies_are_whole_and_as_many_as_asked(weights, seed, share):
    y = stream(seed).integers(0, 3, len(weights))
    held = weighted_sampling.held_back(
        weights, weighted_sampling.classes_of(y), lambda m: int(share * m), stream(seed)
    )
    assert (held == np.floor(held)).all() and (held >= 0).all() and (held <= weights).all()
    for k in range(3):
        assert held[y == k].sum() == int(share * weights[y == k].sum())


@given(WEIGHTS, st.integers(0, 99), st.integers(2, 6))
def test_parts_are_all_copies_and_as_large_as_each_other(weights, seed, parts):
    y = stream(seed).integers(0, 2, len(weights))
    dealt = np.array(list(weighted_sampling.dealt(weights, y, parts, stream(seed))))
    assert np.array_equal(dealt.sum(axis=0), weights)
    assert (dealt == np.floor(dealt)).all() and (dealt >= 0).all()
    assert np.ptp(dealt.sum(axis=1)) <= 1
    for k in range(2):  # keys keep their shares
        assert np.ptp(dealt[:, y == k].sum(axis=1)) <= 1


@pytest.mark.parametrize("weights", [np.ones(7), np.array([0.5, 2.0, 1.0, 0.5, 3.0, 1.0, 1.0])])
def test_rows_that_are_one_sample_each_go_whole(weights):
    held = weighted_sampling.held_back(weights, [np.arange(7)], lambda m: 3, stream())
    assert np.count_nonzero(held) == 3 and set(held[held > 0]) <= set(weights)
    first, second = weighted_sampling.dealt(weights, np.zeros(7), 2, stream())
    assert np.count_nonzero(first) == 4
    if (weights == 1).all():
        assert np.array_equal(first, weights * (np.arange(7) % 2 == 0))
    assert np.array_equal(first + second, weights)


def _law(draw, times=4000):
    """How often each number of copies of row 0 is drawn."""
    rng = stream(1)
    return np.bincount([int(draw(rng)[0]) for _ in range(times)], minlength=5) / times


def test_what_is_dealt_has_the_law_of_single_rows():
    """Four copies of one row and six of another: shuffled rows say how many come into a part."""
    weights, rows = np.array([4.0, 6.0]), np.repeat([0, 1], [4, 6])
    truth = _law(lambda rng: np.bincount(rng.permutation(rows)[:5], minlength=2))
    held = _law(lambda rng: weighted_sampling.held_back(weights, [np.arange(2)], lambda m: 5, rng))
    dealt = _law(lambda rng: next(iter(weighted_sampling.dealt(weights, np.zeros(2), 2, rng))))
    assert np.abs(held - truth).max() < 0.04
    assert np.abs(dealt - truth).max() < 0.04
    assert truth[0] > 0.01 and truth[4] > 0.01  # not the same share in each part


def test_weights_beyond_what_can_be_listed():
    weights = np.array([2e9, 1e9, 1.0])
    held = weighted_sampling.held_back(weights, [np.arange(3)], lambda m: m // 10, stream())
    assert np.allclose(held[:2] / weights[:2], 0.1, rtol=1e-3) and held[2] in (0, 1)
    dealt = np.array(list(weighted_sampling.dealt(weights, np.zeros(3), 10, stream())))
    assert np.array_equal(dealt.sum(axis=0), weights)
    assert np.allclose(dealt[:, :2] / weights[:2], 0.1, rtol=1e-3)
    assert weighted_sampling.copies_of(np.array([1e20, 1.0])) is None
