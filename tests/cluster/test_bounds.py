"""KMeans: rows that bounds leave out would not have changed their label."""

import numpy as np
import pytest

from pellucid.cluster import KMeans


@pytest.mark.parametrize("seed", range(6))
def test_centres_that_travel_far_end_where_those_of_plain_lloyd_do(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(600, 2)) * [8.0, 3.0] + rng.integers(0, 5, size=(600, 1)) * 20.0
    C = X[np.argsort(X[:, 0])[:6]]  # all starts on one side: they have a long way
    found = KMeans(6, init=C, n_init=1, tol=0.0, max_iter=500).fit(X)
    for _ in range(500):
        labels = ((X[:, None] - C) ** 2).sum(axis=2).argmin(axis=1)
        C = np.array([X[labels == k].mean(axis=0) for k in range(6)])
    np.testing.assert_array_equal(found.labels_, labels)
    np.testing.assert_allclose(found.cluster_centers_, C, rtol=1e-12, atol=1e-12)


def test_of_equally_good_starts_the_first_is_kept():
    X = np.array([[0.0, 1.0], [4.0, 2.0], [9.0, 9.0], [3.0, 7.0]])
    for seed in range(5):
        one = KMeans(4, n_init=1, random_state=seed).fit(X)
        several = KMeans(4, n_init=6, random_state=seed).fit(X)
        np.testing.assert_array_equal(several.cluster_centers_, one.cluster_centers_)


def test_a_row_midway_between_centres_goes_to_the_first():
    """In the second round 6 lies midway between 2 and 10: no bound may keep it with the second."""
    X = np.zeros((400, 2))
    X[:, 0] = np.repeat([0.0, 4.0, 6.0, 14.0], 100)
    X[:, 1] = np.tile(np.arange(-49.5, 50), 4) * 2.0**-30  # different rows, equal distances
    model = KMeans(2, init=np.array([[0.0, 0.0], [10.0, 0.0]]), n_init=1, tol=0.0).fit(X)
    np.testing.assert_array_equal(model.labels_, np.repeat([0, 0, 0, 1], 100))
