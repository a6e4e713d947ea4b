"""PCA against 60 digits: at least 12 of ours are right, bad units and offsets included."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from pellucid.decomposition import PCA
from pellucid.decomposition.centred import Centred, OutOfRange
from tests.decomposition import exact


def sets():
    rng = np.random.default_rng(7)
    correlated = rng.standard_normal((40, 5)) @ rng.standard_normal((5, 5))
    return {
        "correlated": correlated,
        "offset 1e8": rng.standard_normal((40, 4)) * [1, 2, 3, 4] + 1e8,
        "offsets": rng.standard_normal((30, 3)) * [1, 1e-3, 10] + [1e10, -1e6, 3],
        "units": correlated * [1e-8, 1, 1e5, 1e-3, 1e9],
        "near collinear": np.column_stack([correlated, correlated[:, 0] + 1e-5 * rng.random(40)]),
        "sorted": np.sort(rng.exponential(size=(60, 3)), axis=0) ** 3,
        "jump": np.concatenate([np.zeros((10, 2)), 1e6 + rng.standard_normal((30, 2)) * [1, 5]]),
        "iris": load_iris().data[::3],
        "wine": load_wine().data[::4],
        "breast cancer": load_breast_cancer().data[::9, :12],
    }


# Directions in which well-scaled columns almost cancel: float64 has no more digits to give.
POOR = {"near collinear": 9.5, "jump": 11.5}


@pytest.mark.parametrize("name", sets())
@pytest.mark.parametrize("solver", ["auto", "full"])
def test_twelve_digits(name, solver):
    X = sets()[name]
    values, axes, means = exact.components(X)
    model = PCA(svd_solver=solver).fit(X)
    assert exact.relative_digits(model.explained_variance_, values) >= POOR.get(name, 12)
    assert min(map(exact.digits, model.components_, axes)) >= 12
    assert exact.relative_digits(model.mean_, means) >= 14
    ratio = [v / sum(values) for v in values]
    assert exact.relative_digits(model.explained_variance_ratio_, ratio) >= POOR.get(name, 12)


@pytest.mark.parametrize("name", sets())
def test_twelve_digits_of_a_few(name):
    X = sets()[name]
    values, axes, _ = exact.components(X)
    model = PCA(1).fit(X)
    assert exact.relative_digits(model.explained_variance_, values[:1]) >= 12
    assert exact.digits(model.components_[0], axes[0]) >= 12
    noise = sum(values[1:]) / (len(values) - 1)
    assert exact.relative_digits([model.noise_variance_], [noise]) >= 11


def test_weights():
    rng = np.random.default_rng(3)
    X, w = rng.standard_normal((30, 4)) * [1, 2, 3, 4] + 1e6, rng.integers(1, 5, 30)
    values, axes, means = exact.components(X, w)
    model = PCA().fit(X, sample_weight=w)
    assert exact.relative_digits(model.explained_variance_, values) >= 12
    assert min(map(exact.digits, model.components_, axes)) >= 12
    assert exact.relative_digits(model.mean_, means) >= 15
    assert model.n_samples_ == w.sum()


def test_gram_and_triangle_agree_where_both_hold(rng):
    X = rng.standard_normal((500, 6)) + 1e4
    table = Centred(X, rng.random(500))
    gram, mean = table.gram(), table.mean
    R = table.triangle()
    np.testing.assert_allclose(R.T @ R, gram, rtol=0, atol=1e-12 * np.trace(gram))
    np.testing.assert_allclose(table.mean, mean, rtol=1e-15)
    V = rng.standard_normal((6, 2))
    np.testing.assert_allclose(table.times_gram(V), gram @ V, atol=1e-11 * np.trace(gram))
    assert table.squares() == pytest.approx(np.trace(gram), rel=1e-13)
    whole = table.centred_copy()
    np.testing.assert_allclose(whole.T @ whole, gram, atol=1e-12 * np.trace(gram))


def test_a_shift_far_from_the_mean_is_mended(rng):
    """The sample of rows misses the bulk of the table: the second pass starts from the mean."""
    n = 8192
    X = rng.standard_normal((n, 2)) + 1e9
    X[:: n // 2048] = 0.0
    X = np.column_stack([X, rng.standard_normal(n)])
    table = Centred(X, np.ones(n))
    assert np.abs(table.shift[:2]).max() == 0.0
    gram = table.gram()
    assert np.abs(table.correction[:2]).max() < 1.0
    whole = table.centred_copy()
    np.testing.assert_allclose(gram, whole.T @ whole, rtol=1e-13, atol=1e-13 * gram.max())


@pytest.mark.parametrize("middle", [0.0, 0.5, 100.0])
def test_facts_save_work_but_no_digits(middle, rng):
    """With means near 0 blocks are not copied; an outlier that only looks like spread is noticed."""
    X = rng.standard_normal((5000, 3)) * [1, 2, 3] + middle
    X[0] = -1000.0
    stats = SimpleNamespace(mean=X.mean(axis=0), low=X.min(axis=0), high=X.max(axis=0))
    table = Centred(X, np.ones(5000), stats)
    assert table.plain
    assert np.shares_memory(table.block(slice(0, 9)), X)
    gram = table.gram()
    assert table.plain == (middle < 100)
    expected = Centred(X, np.ones(5000)).centred_copy()
    np.testing.assert_allclose(gram, expected.T @ expected, rtol=1e-13, atol=1e-14 * gram.max())


@pytest.mark.parametrize("power", [-600, 600])
def test_triangles_of_extreme_cells_are_refused_whatever_the_weights(power):
    X = np.ldexp(np.random.default_rng(0).standard_normal((20, 3)), power)
    with pytest.raises(OutOfRange), np.errstate(all="ignore"):
        Centred(X, np.full(20, 4.0), checked=True).triangle()
