"""The inverted index finds what all pairs of dense rows find, ties by row."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from pellucid.neighbors import NearestNeighbors, inverted, neighbor_search


@pytest.mark.parametrize("kind", inverted.KINDS)
@pytest.mark.parametrize("counts", [True, False])
def test_all_pairs(counts, kind):
    rng = np.random.default_rng(0)
    X = rng.poisson(0.15, (300, 50)).astype(float)  # many ties
    X = X if counts else X * rng.normal(size=X.shape)
    X[7] = 0.0
    Q = np.vstack([X[:20], np.zeros(50), 3.0 * X[40:60]])
    near, rows = np.full((41, 9), np.inf), np.full((41, 9), 2**31 - 1, dtype=np.int32)
    inverted.search(kind, csr_array(X), Q, near, rows, [slice(0, 30), slice(30, 41)], None)
    D = (np.abs(Q[:, None] - X) ** (2 if kind == "squared" else 1)).sum(axis=2)
    expected = np.argsort(D, axis=1, kind="stable")[:, :9]
    np.testing.assert_allclose(near, np.take_along_axis(D, expected, axis=1), rtol=1e-12)
    if counts:
        np.testing.assert_array_equal(rows, expected)


def test_unsorted_repeated_and_empty_cells():
    table = csr_array((np.ones(4), [3, 1, 1, 0], [0, 3, 3, 4]), shape=(3, 5))
    near, rows = np.full((2, 3), np.inf), np.full((2, 3), 2**31 - 1, dtype=np.int32)
    inverted.search("squared", table, csr_array((2, 5)), near, rows, [slice(0, 2)], None)
    assert rows.tolist() == [[1, 2, 0]] * 2 and near.tolist() == [[0.0, 1.0, 5.0]] * 2


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
def test_large_sparse_tables_use_it(monkeypatch, metric):
    monkeypatch.setattr(neighbor_search, "DENSE_CELLS", 10)
    rng = np.random.default_rng(1)
    X = rng.poisson(0.3, (80, 30)).astype(float)
    X *= rng.uniform(size=X.shape)
    sparse = NearestNeighbors(n_neighbors=4, metric=metric).fit(csr_array(X))
    dense = NearestNeighbors(n_neighbors=4, metric=metric).fit(X)
    expected = dense.kneighbors(X[:10])
    monkeypatch.setattr("pellucid.neighbors._loops.screen", None)
    monkeypatch.setattr("pellucid.neighbors._loops.scan", None)
    for queries in (csr_array(X), X):
        found = sparse.kneighbors(queries)
        np.testing.assert_array_equal(found[1][:10], expected[1])
        np.testing.assert_allclose(found[0][:10], expected[0], atol=1e-12)
