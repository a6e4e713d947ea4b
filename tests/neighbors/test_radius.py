"""Votes of all rows within a radius, and rows that have no neighbour."""

import numpy as np
import pytest
from sklearn import neighbors as peer

from pellucid.errors import DataError, ParameterError
from pellucid.neighbors import (
    KNeighborsClassifier,
    RadiusNeighborsClassifier,
    RadiusNeighborsRegressor,
    queries,
)


@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("algorithm", ["kd_tree", "brute"])
def test_equal_to_scikit_learn(weights, algorithm):
    rng = np.random.default_rng(0)
    X, Q = rng.normal(size=(300, 3)), rng.normal(size=(60, 3))
    y, z = rng.integers(0, 3, 300), rng.normal(size=300)
    ours = RadiusNeighborsClassifier(2.5, weights=weights, algorithm=algorithm).fit(X, y)
    theirs = peer.RadiusNeighborsClassifier(2.5, weights=weights).fit(X, y)
    assert np.allclose(ours.predict_proba(Q), theirs.predict_proba(Q), atol=1e-12)
    own = RadiusNeighborsRegressor(2.5, weights=weights, algorithm=algorithm).fit(X, z)
    other = peer.RadiusNeighborsRegressor(2.5, weights=weights).fit(X, z)
    assert np.allclose(own.predict(Q), other.predict(Q), atol=1e-12)


def test_rows_without_neighbours():
    X, y = [[0.0], [1.0], [2.0]], ["a", "b", "b"]
    model = RadiusNeighborsClassifier(1.5).fit(X, y)
    with pytest.raises(DataError, match=r"sample 1.*outlier_label"):
        model.predict([[0.0], [50.0]])
    named = RadiusNeighborsClassifier(1.5, outlier_label="a").fit(X, y)
    assert named.predict([[50.0]])[0] == "a"
    often = RadiusNeighborsClassifier(1.5, outlier_label="most_frequent").fit(X, y)
    assert often.predict_proba([[50.0]]).tolist() == [[0.0, 1.0]]
    found = often.explain([[50.0], [0.0]])
    assert found.rows.tolist() == [[-1, -1], [0, 1]]
    assert found.gap() < 1e-12
    with pytest.raises(ParameterError, match="outlier_label"):
        RadiusNeighborsClassifier(outlier_label="z").fit(X, y)
    with pytest.raises(DataError, match="sample 0"):
        RadiusNeighborsRegressor(1.5).fit(X, [1.0, 2.0, 3.0]).predict([[50.0]])


def test_predictions_hold_few_lists_at_once(monkeypatch):
    """All rows lie within the radius: the lists of all queries would hold every pair."""
    rng = np.random.default_rng(0)
    X, y, z = rng.normal(size=(200, 2)), rng.integers(0, 3, 200), rng.normal(size=200)
    whole = [
        RadiusNeighborsClassifier(99.0, weights="exp").fit(X, y).predict_proba(X),
        RadiusNeighborsRegressor(99.0, weights=lambda d: d + 1).fit(X, z).predict(X),
    ]
    held = []
    plain = queries.RadiusQueries._radius_votes

    def counted(self, part):
        found = plain(self, part)
        held.append(len(found.lists.rows))
        return found

    monkeypatch.setattr(queries, "ENTRIES", 1000)
    monkeypatch.setattr(queries.RadiusQueries, "_radius_votes", counted)
    parts = [
        RadiusNeighborsClassifier(99.0, weights="exp").fit(X, y).predict_proba(X),
        RadiusNeighborsRegressor(99.0, weights=lambda d: d + 1).fit(X, z).predict(X),
    ]
    assert max(held) == 1000
    assert all(np.array_equal(a, b) for a, b in zip(whole, parts))
    with pytest.raises(DataError, match="sample 7:"):
        RadiusNeighborsRegressor(1.5).fit(X, z).predict(np.vstack([X[:7], [[99.0, 0]]]))


def test_classifiers_have_one_target():
    for Model in (KNeighborsClassifier, RadiusNeighborsClassifier):
        with pytest.raises(DataError, match="1d array"):
            Model().fit(np.zeros((6, 1)), np.zeros((6, 2)))
