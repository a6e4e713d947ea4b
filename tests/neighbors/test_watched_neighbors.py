"""Watched neighbour models: one step for each number of neighbours."""

import numpy as np
import pytest

import pellucid
from pellucid.errors import PellucidWarning
from pellucid.neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestNeighbors


@pytest.mark.parametrize("Model", [KNeighborsClassifier, KNeighborsRegressor])
def test_each_number_of_neighbours_is_a_step(Model):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] > 0) * 1
    with pellucid.watching() as watch:
        model = Model(4).fit(X, y)
    assert [step.state for step in watch.steps] == [{"n_neighbors": k} for k in (1, 2, 3, 4)]
    for k in (1, 2, 3, 4):
        assert np.array_equal(watch.model(k - 1).predict(X), Model(k).fit(X, y).predict(X))
        assert watch.model(k - 1).kneighbors(X)[0].shape == (60, k)
    assert model.n_neighbors == 4


def test_steps_have_the_distances_as_k_grows(monkeypatch):
    """From each row to the k-th nearest of the others, against all distances, sorted."""
    X = np.random.default_rng(1).normal(size=(6, 3))
    every = np.sort(np.sqrt(((X[:, None] - X) ** 2).sum(axis=2)), axis=1)
    for few in (6, 3):  # all rows, or a sample
        monkeypatch.setattr("pellucid.neighbors.k_steps.ROWS", few)
        with pellucid.watching() as watch:
            KNeighborsRegressor(6).fit(X, -X[:, 0])
        for k, step in enumerate(watch.steps[:5], start=1):
            rows = step.event["rows"]
            assert len(set(rows)) == few
            np.testing.assert_allclose(step.event["distances"], every[rows, k])
            np.testing.assert_allclose(step.numbers["mean_distance"], every[rows, k].mean())
            assert "at a mean distance of" in step.sentence
        assert "all rows" in watch.steps[5].sentence  # there are only five others


def test_a_search_alone_has_no_steps():
    said = pytest.warns(PellucidWarning, match="NearestNeighbors recorded no steps")
    with said, pellucid.watching() as watch:
        NearestNeighbors().fit(np.eye(9))
    assert watch.steps == []
