"""Nystroem: exact on its sample, as in scikit-learn, and the substitute for large kernel machines."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn import datasets
from sklearn.kernel_approximation import Nystroem as Peer
from sklearn.metrics.pairwise import pairwise_kernels

import pellucid
from pellucid.errors import DataError, ModelFileError, PellucidWarning
from pellucid.kernel_approximation import Nystroem
from pellucid.svm import SVC, SVR, LinearSVC, OneClassSVM, cost_estimate

KERNELS = {
    "rbf": {"gamma": 0.3},
    "linear": {},
    "poly": {"gamma": 0.2, "degree": 2, "coef0": 1.5},
    "polynomial": {"gamma": 0.2, "degree": 2, "coef0": 1.5},
    "sigmoid": {"gamma": 0.01, "coef0": 0.1},
    "cosine": {},
}


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels_of_scikit_learn(kernel):
    """With all rows in the sample the products are the kernel itself."""
    X = np.random.default_rng(0).normal(size=(40, 5))
    given = KERNELS[kernel]
    T = Nystroem(kernel, n_components=40, random_state=0, **given).fit_transform(X)
    K = pairwise_kernels(X, metric=kernel, filter_params=True, **given)
    S = T @ T.T
    if kernel == "sigmoid":  # not positive semi-definite: compare with scikit-learn's own columns
        S, K = S, Peer(kernel, n_components=40, **given).fit_transform(X)
        K = K @ K.T
    assert np.allclose(S, K, atol=1e-6)


def test_columns_from_a_given_sample():
    """The columns of scikit-learn with the same sample, but for the choice of rows."""
    X = np.random.default_rng(1).normal(size=(200, 4))
    ours = Nystroem(gamma=0.2, n_components=30, random_state=3).fit(X)
    assert np.array_equal(ours.components_, X[ours.component_indices_])
    theirs = Peer(gamma=0.2, n_components=30)
    theirs.fit(ours.components_)
    T, P = ours.transform(X), theirs.transform(X)
    assert np.allclose(T @ T.T, P @ P.T, atol=1e-7)


def test_sparse_and_callable():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((60, 10)) < 0.3, rng.normal(size=(60, 10)), 0.0)
    dense = Nystroem(n_components=20, random_state=0).fit_transform(X)
    thin = Nystroem(n_components=20, random_state=0).fit_transform(csr_array(X))
    own = Nystroem(
        lambda a, b: np.exp(-0.1 * ((a - b) ** 2).sum()), n_components=20, random_state=0
    )
    assert np.allclose(dense, thin, atol=1e-10)
    assert np.allclose(dense, own.fit_transform(X), atol=1e-10)


def test_never_more_components_than_rows():
    X = np.repeat(np.arange(5.0)[:, None], 4, axis=0)
    model = Nystroem(n_components=100, random_state=0).fit(X)
    assert model.transform(X).shape == (20, 5)


def test_a_substitute_for_large_machines(monkeypatch):
    X, y = datasets.make_moons(1500, noise=0.2, random_state=0)
    basis = Nystroem(gamma=1.0, n_components=60, random_state=0)
    close = LinearSVC(C=10).fit(basis.fit_transform(X[:1000]), y[:1000])
    exact = SVC(gamma=1.0).fit(X[:1000], y[:1000])
    linear = LinearSVC().fit(X[:1000], y[:1000]).score(X[1000:], y[1000:])
    found = close.score(basis.transform(X[1000:]), y[1000:])
    assert found > exact.score(X[1000:], y[1000:]) - 0.01 > linear + 0.05
    assert (
        cost_estimate.estimate(10_000, 20, 200).seconds
        < 1
        < cost_estimate.estimate(200_000, 20, 200).seconds
    )
    monkeypatch.setattr(cost_estimate, "PATIENCE", 1e-6)
    with pytest.warns(PellucidWarning, match="Nystroem.*LinearSVC.*max_time"):
        SVC().fit(X[:100], y[:100])


@pytest.mark.parametrize("Model", [SVC, SVR, OneClassSVM])
def test_the_cost_of_a_machine_follows_from_a_trial(monkeypatch, Model):
    """Labels that follow nothing make every row a support vector: a trial fit shows it beforehand."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 2))
    easy, hard = X[:, 0] if Model is SVR else (X[:, 0] > 0).astype(int), rng.integers(0, 3, 1200)
    given = ({"nu": 0.01}, {"nu": 0.9}) if Model is OneClassSVM else ({}, {})
    monkeypatch.setattr(cost_estimate, "PILOT", 300)
    paces: list[tuple[float, float]] = []
    told = cost_estimate.preview
    monkeypatch.setattr(
        cost_estimate, "preview", lambda *a: paces.append(a[-1]()) if a[1] > 600 else told(*a)
    )
    for y, options in zip((easy, hard), given):
        Model(**options).fit(X, y)
    assert paces[0][0] < 0.45 and paces[1][0] > 0.75
    monkeypatch.setattr(cost_estimate, "preview", told)
    seconds = [cost_estimate.estimate(1200, 2, 200, 1.0, pace).seconds for pace in paces]
    assert seconds[1] > 1.5 * seconds[0]
    monkeypatch.setattr(cost_estimate, "PATIENCE", np.sqrt(seconds[0] * seconds[1]))
    Model(**given[0]).fit(X, easy)
    with pytest.warns(PellucidWarning, match="kernel values: about"):
        Model(**given[1]).fit(X, hard)


def test_bad_input(tmp_path):
    with pytest.raises(DataError, match="exceeds"):
        Nystroem("linear").fit(np.eye(3) * 1e200)
    with pytest.raises(ValueError, match="'kernel' parameter of Nystroem"):
        Nystroem("chi3").fit(np.eye(3))
    model = Nystroem(random_state=0).fit(np.eye(3))
    model.normalization_ = model.normalization_[:2]
    model.save(tmp_path / "m.pellucid")
    with pytest.raises(ModelFileError):
        pellucid.load(tmp_path / "m.pellucid")
