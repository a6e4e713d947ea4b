"""Where KMeans differs from scikit-learn on purpose; docs/differences.md points here."""

import numpy as np
import sklearn.cluster
from sklearn.datasets import load_iris

from pellucid.cluster import KMeans


def test_the_table_is_never_changed():
    X = load_iris().data
    before = X.copy()
    KMeans(3, copy_x=False, random_state=0).fit(X)
    assert (before == X).all()


def test_a_callable_sees_the_table_itself():
    seen = {}

    def init(X, k, random_state):
        seen[type(X)] = X.mean()
        return X[:k]

    X = load_iris().data
    KMeans(3, init=init, n_init=1).fit(X)
    assert abs(seen[np.ndarray] - X.mean()) < 0.05  # merged rows, not centred ones
    sklearn.cluster.KMeans(3, init=init, n_init=1).fit(X)
    assert abs(seen[np.ndarray]) < 1e-12


def test_tolerance_counts_weights(rng):
    X = np.concatenate([rng.standard_normal((60, 2)), [[500.0, 500.0]]])
    w = np.append(np.ones(60), 1e-12)  # next to no weight, next to all the variance
    C = X[:4]
    long = KMeans(4, init=C, tol=1e-4).fit(X, sample_weight=w)
    short = sklearn.cluster.KMeans(4, init=C, tol=1e-4).fit(X, sample_weight=w)
    assert long.n_iter_ > short.n_iter_
    assert long.n_iter_ == sklearn.cluster.KMeans(4, init=C, tol=0).fit(X, sample_weight=w).n_iter_


def test_verbose_prints_nothing(capsys):
    KMeans(3, verbose=2, random_state=0).fit(load_iris().data)
    assert capsys.readouterr() == ("", "")


def test_equal_rows_move_together():
    X = np.array([[0.0], [1.0], [9.0], [9.0]])
    model = KMeans(2, init=[[0.5], [99.0]], tol=0).fit(X)  # 9 fills the empty cluster at once
    assert model.labels_.tolist() == [0, 0, 1, 1]
    weighted = KMeans(2, init=[[0.5], [99.0]], tol=0).fit(X[:3], sample_weight=[1, 1, 2])
    assert (weighted.cluster_centers_ == model.cluster_centers_).all()
    assert weighted.n_iter_ == model.n_iter_
