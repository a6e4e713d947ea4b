"""A fit of k-means reads a large table in place: same bits as with a copy, a fraction of its memory."""

import tracemalloc

import pytest

from pellucid.cluster import KMeans, kmeans


@pytest.mark.parametrize("algorithm", ["lloyd", "elkan"])
@pytest.mark.parametrize("k", [5, 20])
def test_rows_read_in_place_give_the_same_bits(monkeypatch, rng, algorithm, k):
    X = rng.standard_normal((700, 9)) + rng.integers(0, 4, (700, 1))
    X[1], X[2] = X[0], X[0]  # merged
    w = rng.integers(0, 3, 700)
    fits = []
    for large in (1, 1 << 60):
        monkeypatch.setattr(kmeans, "LARGE", large)
        fits.append(KMeans(k, random_state=0, algorithm=algorithm).fit(X, sample_weight=w))
    in_place, copied = fits
    assert in_place.cluster_centers_.tobytes() == copied.cluster_centers_.tobytes()
    assert in_place.labels_.tobytes() == copied.labels_.tobytes()
    assert in_place.inertia_ == copied.inertia_


def test_a_large_table_is_not_copied(rng):
    """scikit-learn's fit takes twice the table beside it."""
    X = rng.standard_normal((kmeans.LARGE // 400 + 1, 50))
    model = KMeans(4, max_iter=2, tol=1e9, random_state=0)
    tracemalloc.start()
    model.fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.2 * X.nbytes
