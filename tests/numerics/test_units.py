"""Means and deviations of columns: of any size, dense or sparse, by weight."""

import warnings
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp

from pellucid.linear_model import Lasso, Ridge, SGDRegressor
from pellucid.numerics.column_scaling import can_be_centred, deviations, rescaled


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


def test_numbers_of_a_sparse_table_that_are_seldom_0_can_be_centred():
    X = sp.csr_array(np.array([[5.0, 0.0, 1.0], [6.0, 0.0, 1.0], [7.0, 3.0, 0.0], [0.0] * 3]))
    schema = SimpleNamespace(measured=np.array([True, True, False]))
    assert can_be_centred(X, schema).tolist() == [True, False, False]
    assert can_be_centred(X.toarray(), schema).all()
    shift, scale = np.array([4.5, 0.0, 0.0]), np.array([2.0, 3.0, 1.0])
    inside = rescaled(X, shift, scale)
    np.testing.assert_array_equal(inside.toarray(), (X.toarray() - shift) / scale)
    assert inside.nnz == 7 and inside.indices.dtype == X.indices.dtype
    assert rescaled(X, 0 * shift, scale).nnz == X.nnz


@pytest.mark.parametrize(
    "model",
    [
        SGDRegressor(standardize=True, random_state=0),
        Lasso(alpha=0.01, standardize=True),
        Ridge(alpha=0.01, standardize=True),
    ],
    ids=lambda model: type(model).__name__,
)
def test_years_beside_many_levels_are_learned(model):
    """300 levels make the encoded table sparse; small steps diverged on 2000 / 10 as a column."""
    rng = np.random.default_rng(0)
    year = rng.normal(2000.0, 10.0, 900)
    X = pa.table({"year": year, "level": [f"v{k}" for k in rng.integers(0, 300, 900)]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert model.fit(X, year).score(X, year) > 0.99
