"""Hashing: an honest recall, exact distances, exact search where it does not pay, safe files."""

import numpy as np
import pytest

import pellucid
from pellucid.errors import ModelFileError, PellucidWarning
from pellucid.neighbors import (
    KNeighborsClassifier,
    NearestNeighbors,
    RadiusNeighborsClassifier,
    _loops,
    hashing,
)


def clusters(n, d=20, seed=0):
    """Many small clouds: what hashing is for."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(99).normal(size=(1500, d)) * 3
    return centres[rng.integers(0, 1500, n)] + rng.normal(size=(n, d)) * 0.45


@pytest.fixture(scope="module")
def X():
    return clusters(40_000)


def test_recall_is_that_of_held_out_queries(X):
    Q = clusters(500, seed=1)
    model = NearestNeighbors(n_neighbors=5, algorithm="lsh").fit(X)
    assert model.search_ == "lsh"
    exact = NearestNeighbors(n_neighbors=5, algorithm="brute").fit(X)
    near, found = model.kneighbors(Q)
    truth = exact.kneighbors(Q)[1]
    hits = np.mean([len(set(a) & set(b)) / 5 for a, b in zip(found, truth)])
    assert abs(hits - model.recall_) < 0.05
    assert model.recall_ >= 0.7
    assert hits < 1 or model.recall_ > 0.97
    assert np.allclose(near, np.sqrt(((Q[:, None] - X[found]) ** 2).sum(axis=2)))
    assert (np.diff(near, axis=1) >= 0).all()


def test_it_is_exact_where_it_does_not_pay():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 30)), rng.integers(0, 2, 3000)
    with pytest.warns(PellucidWarning, match="is not used, because .*exact instead"):
        model = KNeighborsClassifier(algorithm="lsh").fit(X, y)
    assert (model.search_, model.recall_) == ("exact", 1.0)
    exact = KNeighborsClassifier(algorithm="brute").fit(X, y)
    assert np.array_equal(model.predict_proba(X[:200]), exact.predict_proba(X[:200]))
    with pytest.warns(PellucidWarning, match="within a radius"):
        assert RadiusNeighborsClassifier(9.0, algorithm="lsh").fit(X, y).search_ == "exact"
    works = "for the metrics 'euclidean', .*'mahalanobis', but the metric is 'manhattan'"
    with pytest.warns(PellucidWarning, match=works):
        KNeighborsClassifier(algorithm="lsh", metric="manhattan").fit(X, y)


def test_a_query_with_too_few_candidates_is_searched_exactly(X):
    """3000 neighbours are more than the buckets of a query hold."""
    model = NearestNeighbors(algorithm="lsh").fit(X)
    exact = NearestNeighbors(algorithm="brute").fit(X)
    found, truth = (one.kneighbors(X[:5], 3000) for one in (model, exact))
    assert np.array_equal(found[1], truth[1])
    assert found[0].tobytes() == truth[0].tobytes()


def test_more_neighbours_than_recall_was_measured_for_are_searched_exactly(X):
    model = NearestNeighbors(n_neighbors=5, algorithm="lsh").fit(X)
    exact = NearestNeighbors(n_neighbors=5, algorithm="brute").fit(X)
    Q = clusters(200, seed=1)
    assert model.search_ == "lsh"
    assert np.array_equal(model.kneighbors(Q, 30)[1], exact.kneighbors(Q, 30)[1])
    model.set_params(n_neighbors=30)
    assert np.array_equal(model.kneighbors(Q)[1], exact.kneighbors(Q, 30)[1])
    assert not np.array_equal(model.kneighbors(Q, 5)[1], exact.kneighbors(Q, 5)[1])


def test_candidates_follow_the_plain_loop():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    buckets = hashing.build(X)
    Q = rng.normal(size=(20, 4))
    keys = buckets.keys(Q, 4)
    near, rows = np.full((20, 3), np.inf), np.full((20, 3), 2**31 - 1, dtype=np.int32)
    counts = buckets.search(X, Q, near, rows, 4, np.full(20, -1, np.int32), np.zeros(1, np.int32))
    _loops.sort(near, rows)
    for i in range(20):
        found = {
            int(r)
            for b in keys[i]
            for r in buckets.members[buckets.starts[b] : buckets.starts[b + 1]]
        }
        assert counts[i] == len(found)
        order = sorted(found, key=lambda r: (((Q[i] - X[r]) ** 2).sum(), r))[:3]
        assert rows[i, : len(order)].tolist() == order
    own = buckets.keys(X, 1)
    for table in range(hashing.TABLES):  # every row lies in its own bucket
        b = own[:, table]
        assert all(
            i in buckets.members[buckets.starts[b[i]] : buckets.starts[b[i] + 1]] for i in (0, 7)
        )


@pytest.mark.parametrize("part", ["members", "starts", "thresholds", "probes", "recall_"])
def test_forged_files_are_refused(part, tmp_path, monkeypatch):
    monkeypatch.setattr(hashing, "DEAREST", 0.0)
    X = clusters(1500, d=3)
    model = NearestNeighbors(algorithm="lsh").fit(X)
    path = tmp_path / "m.pellucid"
    model.save(path)
    assert np.array_equal(pellucid.load(path).kneighbors(X[:50])[1], model.kneighbors(X[:50])[1])
    model.recall_ = 1.0  # as honest as any other
    model.save(path)
    assert pellucid.load(path).recall_ == 1.0
    if part == "recall_":
        model.recall_ = 7.0
    elif part == "probes":
        model.buckets_["probes"] = 10**6
    else:
        model.buckets_[part] = model.buckets_[part] + 1 if part != "thresholds" else np.zeros(3)
    model.save(path)
    with pytest.raises(ModelFileError):
        pellucid.load(path)
