"""Where PCA differs from scikit-learn on purpose; docs/differences.md points here."""

import numpy as np
import pytest
import scipy.sparse
import sklearn.decomposition
from sklearn.datasets import load_iris

from pellucid.decomposition import PCA


def test_the_table_is_never_changed():
    X = load_iris().data
    before = X.copy()
    PCA(copy=False, svd_solver="full").fit(X)
    assert (before == X).all()


def test_automatic_is_exact(rng):
    X = rng.standard_normal((600, 550))
    exact = np.linalg.svd(X - X.mean(axis=0), compute_uv=False)[:5]
    ours = PCA(5).fit(X).singular_values_
    theirs = sklearn.decomposition.PCA(5, random_state=0).fit(X).singular_values_
    np.testing.assert_allclose(ours, exact, rtol=1e-13)
    assert np.abs(theirs / exact - 1).max() > 1e-6


def test_whitening_does_not_change_the_model():
    X = load_iris().data
    expected = np.cov(X.T)
    np.testing.assert_allclose(PCA(whiten=True).fit(X).get_covariance(), expected, atol=1e-13)
    theirs = sklearn.decomposition.PCA(whiten=True).fit(X).get_covariance()
    assert np.abs(theirs - expected).max() > 1


def test_noise_of_wide_tables_does_not_depend_on_the_solver(rng):
    X = rng.standard_normal((20, 50))
    noise = [
        PCA(3, svd_solver=solver, random_state=0).fit(X).noise_variance_
        for solver in ("auto", "full", "covariance_eigh", "arpack")
    ]
    np.testing.assert_allclose(noise, noise[0], rtol=1e-12)


@pytest.mark.parametrize("normalizer", ["QR", "LU", "none"])
def test_random_directions_are_always_orthonormal(normalizer):
    X = load_iris().data
    arguments = {"svd_solver": "randomized", "random_state": 0}
    model = PCA(2, power_iteration_normalizer=normalizer, **arguments).fit(X)
    assert (model.components_ == PCA(2, **arguments).fit(X).components_).all()


def test_sparse_tables_have_all_components(rng):
    X = scipy.sparse.csr_array(rng.random((30, 6)) * (rng.random((30, 6)) < 0.5))
    assert PCA().fit(X).n_components_ == 6
    near = PCA(2, svd_solver="randomized", random_state=0).fit(X)
    np.testing.assert_allclose(
        near.explained_variance_, PCA(2).fit(X).explained_variance_, rtol=1e-9
    )
