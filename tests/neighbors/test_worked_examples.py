"""Worked examples of nearest neighbours: votes, ties, rules that hold for every table."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from pellucid.dummy import DummyClassifier
from pellucid.neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestNeighbors


def test_three_against_two():
    """Neighbours B, S, B, S, B of K = 5: B."""
    X = np.arange(1.0, 6.0)[:, None]
    model = KNeighborsClassifier(5).fit(X, list("BSBSB"))
    assert model.predict([[0.0]])[0] == "B"
    assert model.predict_proba([[0.0]]).tolist() == [[0.6, 0.4]]
    assert model.kneighbors([[0.0]])[1].tolist() == [[0, 1, 2, 3, 4]]


def test_the_nearest_flower():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    assert KNeighborsClassifier(1).fit(X[:, :2], names).predict([[7.5, 4.0]])[0] == "virginica"


def test_an_odd_number_does_not_prevent_ties():
    """Five neighbours of three classes, 2-2-1: K is no multiple of 3, and yet two classes are equal.
    The lowest class wins, whatever the order of the rows."""
    X, y = np.array([[1.0], [-1.0], [1.1], [-1.1], [1.2]]), np.array(["c", "b", "b", "c", "a"])
    for order in (np.arange(5), np.arange(5)[::-1]):
        model = KNeighborsClassifier(5).fit(X[order], y[order])
        assert model.predict_proba([[0.0]]).tolist() == [[0.2, 0.4, 0.4]]
        assert model.predict([[0.0]])[0] == "b"


def test_all_rows_are_the_majority_and_one_row_is_itself():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 3, 60)
    all_rows = KNeighborsClassifier(60).fit(X, y)
    assert np.array_equal(all_rows.predict(X), DummyClassifier().fit(X, y).predict(X))
    assert KNeighborsClassifier(1).fit(X, y).score(X, y) == 1.0  # no point repeats


def test_shifts_leave_distances_and_scales_do_not():
    rng = np.random.default_rng(1)
    X = np.round(rng.normal(size=(80, 3)) * 64) / 64
    plain = NearestNeighbors().fit(X).kneighbors(X)
    far = X + np.array([1000.0, 0, -5])
    moved = NearestNeighbors().fit(far).kneighbors(far)
    assert np.array_equal(plain[0], moved[0])
    assert np.array_equal(plain[1], moved[1])
    wider = NearestNeighbors().fit(X * [100.0, 1, 1]).kneighbors(X * [100.0, 1, 1])
    assert not np.array_equal(plain[1], wider[1])
    same = NearestNeighbors(metric="mahalanobis").fit(X)
    other = NearestNeighbors(metric="mahalanobis", metric_params={"V": np.cov(X.T, ddof=0)}).fit(X)
    assert np.allclose(same.kneighbors(X)[0], other.kneighbors(X)[0], rtol=0.1)


@pytest.mark.parametrize(
    ("weights", "beta", "expected"),
    [
        ("uniform", 1.0, [1 / 3, 1 / 3, 1 / 3]),
        ("exp", 1.0, [0.7113318153, 0.1587195819, 0.1299486028]),
        ("rational", 1.0, [0.5079365079, 0.253968254, 0.2380952381]),
        ("rational", 2.0, [0.6830409357, 0.1707602339, 0.1461988304]),
        ("distance", 1.0, [0.6769230769, 0.1692307692, 0.1538461538]),
    ],
)
def test_each_neighbour_has_its_share(weights, beta, expected):
    """Distances 0.5, 2.0 and 2.2: the confidence is the sum of the shares of a class, and `explain`
    shows each of them."""
    X = [[0.5], [-2.0], [2.2]]
    model = KNeighborsRegressor(3, weights=weights, beta=beta).fit(X, [1.0, 1.0, 1.0])
    told = model.explain([[0.0]])
    assert told.distances[0].tolist() == pytest.approx([0.5, 2.0, 2.2])
    shares = dict(zip(told.rows[0].tolist(), told.votes[0, :, 0]))
    assert [shares[i] for i in range(3)] == pytest.approx(expected, abs=1e-9)
