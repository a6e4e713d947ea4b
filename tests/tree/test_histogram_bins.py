"""Bins of long columns: thresholds without a full sort, and the bin of a value by a grid."""

import numpy as np
import pytest

from pellucid.tree import _histogram, histogram_bins
from pellucid.tree._presort import number_bins

COLUMNS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "heavy tails": lambda rng, n: rng.standard_cauchy(n),
    "repeated": lambda rng, n: np.round(rng.normal(size=n), 2),
    "half zeros": lambda rng, n: np.where(rng.random(n) < 0.5, 0.0, rng.exponential(size=n)),
    "sorted": lambda rng, n: np.sort(rng.random(n)),
    "huge": lambda rng, n: rng.normal(size=n) * 1e307,
    "both ends": lambda rng, n: rng.choice([-1.7e308, 1.7e308], n) * rng.random(n),
    "tiny": lambda rng, n: rng.integers(-2000, 2000, n) * 5e-324,
    "one far value": lambda rng, n: np.append(rng.random(n - 1), 1e300),
}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("max_bins", [3, 64, 255])
def test_selected_thresholds_are_those_of_sorted_values(name, max_bins):
    values = COLUMNS[name](np.random.default_rng(0), 70_001)
    found = histogram_bins._thresholds(values.copy(), None, max_bins)
    wanted = histogram_bins._even_thresholds(np.sort(values), max_bins)
    np.testing.assert_array_equal(found, wanted)
    assert len(wanted) > 1


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("max_bins", [2, 17, 255])
def test_bins_count_the_thresholds_below(name, max_bins):
    values = COLUMNS[name](np.random.default_rng(1), 5_000)
    thresholds = histogram_bins._even_thresholds(np.sort(values), max_bins)
    asked = np.concatenate((values, thresholds, [0.0, -1.7e308, 1.7e308, np.nan]))
    cells = np.zeros((len(asked), 4), dtype=np.uint8)
    number_bins(asked, thresholds, cells, 2)
    wanted = np.searchsorted(thresholds, asked, side="left")
    wanted[-1] = len(thresholds) + 1
    np.testing.assert_array_equal(cells[:, 2], wanted)
    assert not cells[:, [0, 1, 3]].any()


def test_without_thresholds_there_is_one_bin():
    cells = np.zeros((2, 4), dtype=np.uint8)
    number_bins(np.array([3.0, np.nan]), np.empty(0), cells, 0)
    assert cells[:, 0].tolist() == [0, 1]


def test_a_growth_that_cannot_begin_frees_only_what_it_has():
    with pytest.raises(AttributeError):
        _histogram.Growth(None)
