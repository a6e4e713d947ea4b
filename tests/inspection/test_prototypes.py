"""Prototypes against brute force over all sets, and against all single exchanges."""

from itertools import combinations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from pellucid.errors import ParameterError
from pellucid.inspection import prototypes, representatives
from tests.inspection.tables import CONTAINERS, mixed


def numeric_distances(X):
    return cdist(X / X.std(axis=0), X / X.std(axis=0), "cityblock")


def cost(D, rows):
    return D[:, list(rows)].min(axis=1).sum()


def test_no_exchange_is_better_and_most_are_the_best_of_all_sets():
    best = 0
    for seed in range(20):
        X = np.random.default_rng(seed).normal(size=(11, 2))
        D = numeric_distances(X)
        found = prototypes(X, 3)
        rows = found.rows.tolist()
        assert found.objective == pytest.approx(cost(D, rows))
        np.testing.assert_allclose(found.distances, D[:, rows].min(axis=1))
        for k in range(3):
            others = set(range(11)) - set(rows)
            swaps = [cost(D, [*rows[:k], new, *rows[k + 1 :]]) for new in others]
            assert min(swaps) >= found.objective - 1e-9
        everywhere = min(cost(D, rows) for rows in combinations(range(11), 3))
        assert found.objective <= 1.1 * everywhere
        best += found.objective <= everywhere + 1e-9
    assert best >= 15


def test_every_row_has_its_nearest_prototype():
    X = np.random.default_rng(0).normal(size=(200, 3))
    found = prototypes(X, 6, n_criticisms=4)
    D = numeric_distances(X)
    np.testing.assert_allclose(D[np.arange(200), found.rows[found.assignment]], found.distances)
    np.testing.assert_allclose(D[:, found.rows].min(axis=1), found.distances)
    assert found.counts.tolist() == sorted(found.counts, reverse=True)
    assert found.counts.sum() == 200
    assert (X[found.rows] == found.prototypes).all()
    assert found.criticisms[0] == found.distances.argmax()
    rest = np.minimum(found.distances, D[:, found.criticisms[0]])
    assert found.criticisms[1] == rest.argmax()


@pytest.mark.parametrize("container", CONTAINERS)
def test_any_columns_have_a_distance(container):
    frame, _ = mixed(60)
    found = prototypes(CONTAINERS[container](frame), 4, n_criticisms=2)
    D = np.zeros((60, 60))
    for name in frame:
        if name in ("place", "grade"):
            codes = frame[name].astype(object).fillna("?").to_numpy()
            D += codes[:, None] != codes
            continue
        values = frame[name].to_numpy()
        values = values.astype("datetime64[h]").astype(float) if name == "day" else values
        if name == "day":
            values = values / 24
        gap = np.isnan(values)
        own = np.abs(values[:, None] - values) / np.nanstd(values)
        D += np.where(gap[:, None] & gap, 0, np.where(gap[:, None] | gap, 1, own))
    assert found.objective == pytest.approx(cost(D, found.rows))
    table = found.frame()
    assert table["(kind)"] == ["prototype"] * 4 + ["criticism"] * 2
    assert table["place"][0] == frame["place"].iloc[found.rows[0]]
    assert len(found.frame("pandas")) == 6
    assert len(found.prototypes) == 4


def test_classes_have_prototypes_of_their_own():
    X = np.random.default_rng(0).normal(size=(100, 2))
    y = np.array(["a"] * 70 + ["b"] * 25 + ["c"] * 5)
    found = prototypes(X, 8, y)
    assert sorted(found.labels) == ["a"] * 5 + ["b"] * 2 + ["c"]
    assert (np.array(found.labels)[found.assignment] == y).all()
    with pytest.raises(ParameterError, match="y has 3 classes, but n is 2"):
        prototypes(X, 2, y)


def test_long_tables_choose_among_fewer_rows(monkeypatch):
    X = np.random.default_rng(0).normal(size=(400, 2))
    whole = prototypes(X, 5)
    monkeypatch.setattr(representatives, "MOST_DISTANCES", 400 * 100)
    monkeypatch.setattr(representatives, "FEWEST_CANDIDATES", 100)
    few = prototypes(X, 5)
    assert whole.objective <= few.objective < 1.1 * whole.objective
    assert (few.rows == prototypes(X, 5, random_state=0).rows).all()
    np.testing.assert_allclose(
        few.distances, numeric_distances(X)[:, few.rows].min(axis=1), atol=1e-9
    )


def test_numbers_of_rows_are_checked():
    X = [[0.0], [1.0]]
    for wrong in (0, 3, 1.5, True):
        with pytest.raises(ParameterError, match="n must be an int from 1 to 2"):
            prototypes(X, wrong)
    with pytest.raises(ParameterError, match="n_criticisms must be an int from 0 to 1"):
        prototypes(X, 1, n_criticisms=2)
