"""Values of leaves: exact sums of gradients and curvatures, rounded once, in any order of the rows."""

import math

import numpy as np
import pytest

from pellucid.ensemble import HistGradientBoostingRegressor
from pellucid.tree.histogram_bins import learn_bins
from pellucid.tree.histogram_grower import HistogramGrower, HistogramLimits


def grown(gradients, streamed):
    """(sum of g, sum of h) of the two leaves of a tree on one column, from their values."""
    n = len(gradients)
    x = np.repeat([0.0, 1.0], [n // 2, n - n // 2])[:, None]
    bins = learn_bins(x, np.zeros(1, np.uint8), np.zeros(1, np.int32), np.ones(n), 255)
    grower = HistogramGrower(
        bins, bins.words(x), HistogramLimits(min_curvature=0.0, max_leaves=2), 1,
        np.empty(0, np.int32), streamed=streamed,
    )  # fmt: skip
    raw = np.zeros((1, n))
    grower.grow(gradients[None], None, np.zeros(1, np.uint64), raw, 1.0)
    grower.growth.store()
    nodes = grower.growth.export()[0]
    leaves = np.flatnonzero(nodes["feature"] < 0)
    return nodes["value"][leaves], nodes["h"][leaves]


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("n", [64, 1_000, 3_001, 70_001])
@pytest.mark.parametrize("spread", [0, 8, 30])
def test_sums_of_leaves_are_rounded_once(n, spread, streamed):
    rng = np.random.default_rng([n, spread])
    g = rng.normal(size=n) * 10.0 ** -rng.uniform(0, spread, n)
    g[1 : n // 2] -= g[: n // 2 - 1]  # most of it cancels
    g[: n // 2] += 3.0  # so that there is a split
    h = rng.uniform(0.5, 2.0, n) * 10.0 ** -rng.uniform(0, spread / 4, n)
    values, curvatures = grown(np.column_stack((g, h)), streamed)
    for value, curvature, rows in zip(values, curvatures, (slice(0, n // 2), slice(n // 2, n))):
        assert curvature == math.fsum(h[rows])
        assert value == -math.fsum(g[rows]) / math.fsum(h[rows])


def test_order_of_rows_does_not_change_a_bit():
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(70_000, 3)), rng.uniform(0.1, 3.0, 70_000)
    y = X[:, 0] + rng.normal(size=70_000) * 10.0 ** rng.integers(-9, 3, 70_000)
    order = rng.permutation(70_000)
    models = [
        HistGradientBoostingRegressor(max_iter=3, early_stopping=False).fit(X[o], y[o], weights[o])
        for o in (order, np.sort(order))
    ]
    np.testing.assert_array_equal(*(model.predict(X) for model in models))
