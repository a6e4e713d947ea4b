"""Differences from scikit-learn that concern one class alone; docs/differences.md points here."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, is_regressor
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as SklearnLDA
from sklearn.linear_model import RANSACRegressor
from sklearn.neighbors import BallTree, KDTree
from sklearn.neighbors import NearestNeighbors as SklearnNeighbors

import pellucid
from pellucid.cluster import KMeans
from pellucid.discriminant_analysis import LinearDiscriminantAnalysis
from pellucid.dummy import DummyClassifier, DummyRegressor
from pellucid.errors import DataError, DataTypeError, ParameterError
from pellucid.linear_model import LinearRegression
from pellucid.neighbors import KNeighborsClassifier, NearestNeighbors
from pellucid.svm import SVC, SVR, OneClassSVM


def test_dummy_constant_may_be_any_label():
    y = np.array([0.0, 2.0, 2.0])
    model = DummyClassifier(strategy="constant", constant=2.0).fit(np.zeros((3, 1)), y)
    assert model.predict(np.zeros((2, 1))).tolist() == [2.0, 2.0]
    with pytest.raises(DataError, match="present in the training data"):
        DummyClassifier(strategy="constant", constant=-0.5).fit(np.zeros((3, 1)), y)


def test_dummy_classifier_has_one_dense_target():
    model = DummyClassifier().fit(np.zeros((3, 1)), [0, 1, 1])
    assert not hasattr(model, "sparse_output_")
    with pytest.raises(DataError, match="1d array"):
        DummyClassifier().fit(np.zeros((3, 1)), np.zeros((3, 2)))


def test_fits_are_watched_from_outside():
    rows = []
    with pellucid.watching(state=False, progress=rows.append):
        model = KMeans(n_clusters=2, n_init=1, random_state=0).fit(np.arange(12.0).reshape(6, 2))
    assert not hasattr(model, "set_callbacks")
    assert {"source", "iteration", "objective"} <= set(rows[0])


def test_dummies_need_a_table():
    for Model in (DummyClassifier, DummyRegressor):
        with pytest.raises(DataTypeError, match="not a table"):
            Model().fit(None, [0, 1, 1])


def test_answers_are_float64_whatever_comes_in(rng):
    X = rng.normal(size=(30, 3)).astype(np.float32)
    model = LinearRegression().fit(X, X[:, 0])
    assert model.coef_.dtype == model.predict(X).dtype == np.float64
    assert KMeans(2, n_init=1, random_state=0).fit(X).transform(X).dtype == np.float64


def test_estimators_are_recognised_without_inheritance(rng):
    """By tags and methods, so that fits need no scikit-learn; RANSAC asks for its own class."""
    X = rng.normal(size=(40, 2))
    y = X[:, 0] + 0.01 * rng.normal(size=40)
    model = LinearRegression()
    assert not isinstance(model, BaseEstimator) and is_regressor(model)
    with pytest.raises(ValueError, match="min_samples"):
        RANSACRegressor(model).fit(X, y)
    found = RANSACRegressor(model, min_samples=3, random_state=0).fit(X, y)
    assert abs(found.estimator_.coef_[0] - 1) < 0.05


def test_representations_follow_the_signature():
    assert repr(KMeans(3, tol=0.5, n_init=2)) == "KMeans(n_clusters=3, n_init=2, tol=0.5)"
    assert repr(SVC(tol=0.5, kernel="linear", C=2)) == "SVC(C=2, kernel='linear', tol=0.5)"


def test_axes_of_discriminants_are_those_of_scikit_learn_up_to_sign(rng):
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 4)) + 2.0 * np.eye(3, 4)[y]
    own, peer = (Model().fit_transform(X, y) for Model in (LinearDiscriminantAnalysis, SklearnLDA))
    signs = np.sign((own * peer).sum(axis=0))
    np.testing.assert_allclose(own, signs * peer, atol=1e-10)


def test_support_vectors_are_arrays(rng):
    X = csr_array(rng.poisson(0.5, size=(40, 3)).astype(float))
    y = np.arange(40) % 2
    for model in (SVC(kernel="linear"), SVR(kernel="linear"), OneClassSVM(kernel="linear")):
        model.fit(X, y)
        for name in ("support_vectors_", "dual_coef_", "coef_"):
            assert isinstance(getattr(model, name), np.ndarray)


@pytest.mark.parametrize("Tree", [KDTree, BallTree])
def test_trees_of_scikit_learn_give_their_rows(Tree, rng):
    X, y, queries = rng.normal(size=(50, 3)), np.repeat([0, 1], 25), rng.normal(size=(9, 3))
    for metric in ("euclidean", "manhattan"):
        for given, tree in ((metric, Tree(X, metric=metric)), (metric, X)):
            distance, index = NearestNeighbors(metric=given).fit(tree).kneighbors(queries, 4)
            theirs = SklearnNeighbors(metric=metric).fit(Tree(X, metric=metric))
            assert np.allclose(distance, theirs.kneighbors(queries, 4)[0])
            assert (index == theirs.kneighbors(queries, 4)[1]).all()
    assert (
        KNeighborsClassifier().fit(Tree(X), y).predict(X)
        == KNeighborsClassifier().fit(X, y).predict(X)
    ).all()
    with pytest.raises(ParameterError, match="manhattan"):
        NearestNeighbors().fit(Tree(X, metric="manhattan"))
