"""Means and deviations of columns: of any size, dense or sparse, by weight."""

import numpy as np
import pytest
import scipy.sparse as sp

from pellucid.numerics.units import deviations


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_means_and_deviations_of_any_size(rng, container):
    X = np.where(rng.random((50, 6)) < 0.5, rng.normal(3, 1, (50, 6)), 0.0)
    weights = rng.random(50) + 0.1
    expected = np.average(X, axis=0, weights=weights)
    spread = np.sqrt(np.average((X - expected) ** 2, axis=0, weights=weights))
    units = np.array([1.0, 1e-200, 1e200, 1e307, 1e5, 0.0])
    mean, deviation = deviations(container(X * units), weights)
    np.testing.assert_allclose(mean, expected * units, rtol=1e-12)
    np.testing.assert_allclose(deviation[:5], (spread * units)[:5], rtol=1e-12)
    assert deviation[5] == 1.0


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_constant_columns_have_no_deviation(container):
    X = np.tile([0.1, 1e8 + 0.3, -7.0], (30, 1))
    mean, deviation = deviations(container(X), np.linspace(0.1, 3, 30))
    np.testing.assert_allclose(mean, X[0], rtol=1e-14)
    assert (deviation == 1.0).all()
    assert (deviations(container(np.zeros((4, 2))), np.ones(4))[1] == 1.0).all()
