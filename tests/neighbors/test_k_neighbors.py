"""Nearest neighbours against plain brute force, ties, weights, metrics, extremes and bad input."""

import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn import neighbors as peer
from sklearn.datasets import load_iris

import pellucid
from pellucid.errors import DataError, ModelFileError, ParameterError
from pellucid.neighbors import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    NearestNeighbors,
    _loops,
    _tree,
    _within,
    neighbor_search,
)
from tests.oracles import shared

DISTANCES = {
    "euclidean": lambda a, b: np.sqrt(((a - b) ** 2).sum(-1)),
    "sqeuclidean": lambda a, b: ((a - b) ** 2).sum(-1),
    "manhattan": lambda a, b: np.abs(a - b).sum(-1),
    "chebyshev": lambda a, b: np.abs(a - b).max(-1),
    "minkowski": lambda a, b: (np.abs(a - b) ** 3).sum(-1) ** (1 / 3),
    "hamming": lambda a, b: (a != b).mean(-1),
}


def brute(metric, X, y, Q, k):
    """Distances and rows by (distance, y, row); distances equal up to rounding are equal."""
    D = DISTANCES[metric](Q[:, None], X[None])
    order = np.array([np.lexsort((np.arange(len(X)), y, row.round(9))) for row in D])[:, :k]
    return np.take_along_axis(D, order, axis=1), order


@pytest.mark.parametrize("metric", DISTANCES)
@pytest.mark.parametrize("algorithm", ["kd_tree", "brute"])
@pytest.mark.parametrize("table", ["normal", "grid", "wide", "identical", "float32"])
def test_equal_to_brute_force(metric, algorithm, table):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 20 if table == "wide" else 3))
    X = {"grid": np.round(2 * X), "identical": X * 0 + 1.5, "float32": X.astype(np.float32)}.get(
        table, X
    )
    y = rng.integers(0, 4, 400)
    Q = np.vstack([X[:25], X[25:50] + 0.25])
    model = KNeighborsClassifier(7, metric=metric, p=3, algorithm=algorithm).fit(X, y)
    distances, rows = model.kneighbors(Q)
    near, expected = brute(metric, X.astype(float), y, Q.astype(float), 7)
    assert np.allclose(distances, near, rtol=1e-12, atol=1e-13)
    assert np.array_equal(rows, expected)


@pytest.mark.parametrize("algorithm", ["kd_tree", "brute"])
def test_near_duplicates_at_a_large_offset(algorithm):
    rng = np.random.default_rng(0)
    X = 1e8 + rng.integers(0, 1000, size=(900, 4)) * 2.0**-20
    model = NearestNeighbors(n_neighbors=4, algorithm=algorithm).fit(X)
    distances, rows = model.kneighbors(X[:100])
    D = DISTANCES["sqeuclidean"]((X[:100] - 1e8)[:, None], (X - 1e8)[None])  # without rounding
    expected = np.array([np.lexsort((np.arange(900), row)) for row in D])[:, :4]
    assert np.array_equal(rows, expected)
    assert np.allclose(distances**2, np.take_along_axis(D, expected, axis=1), rtol=1e-12)


@pytest.mark.parametrize("metric", DISTANCES)
@pytest.mark.parametrize("algorithm", ["kd_tree", "brute"])
def test_large_offsets_duplicates_and_shuffled_rows(metric, algorithm):
    """Differences of these numbers are exact, so the oracle is too; equal rows keep their order by y."""
    rng = np.random.default_rng(4)
    small = rng.integers(0, 6, size=(500, 3)) * 0.25
    X, y = 1e8 + small, rng.integers(0, 4, 500)
    Q, shuffle = X[:40] + 0.125, rng.permutation(500)
    model = KNeighborsClassifier(9, metric=metric, p=3, algorithm=algorithm).fit(X, y)
    distances, rows = model.kneighbors(Q)
    near, expected = brute(metric, small, y, small[:40] + 0.125, 9)
    assert np.allclose(distances, near, rtol=1e-12)
    assert np.array_equal(rows, expected)
    other = KNeighborsClassifier(9, metric=metric, p=3, algorithm=algorithm)
    other.fit(X[shuffle], y[shuffle])
    assert np.array_equal(model.predict_proba(Q), other.predict_proba(Q))


MEMORY = """
from pathlib import Path
import numpy as np
from pellucid.neighbors import KNeighborsClassifier
rng = np.random.default_rng(0)
X, y, Q = rng.normal(size=(50_000, 3)), rng.integers(0, 2, 50_000), rng.normal(size=(200_000, 3))
model = KNeighborsClassifier(5).fit(X, y)
assert model.predict(Q).shape == (200_000,)
# Not ru_maxrss: that begins with the peak of the process which started this one.
peak = next(l for l in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in l)
print(int(peak.split()[1]) / 1024)
"""


@pytest.mark.slow
def test_memory_stays_below_a_gigabyte():
    """200,000 queries against 50,000 rows: all distances at once would take 80 GB."""
    done = subprocess.run(
        [sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True
    )
    assert float(done.stdout) < 1000


def test_both_builds_of_the_loops_and_all_ways_have_equal_bits():
    rng = np.random.default_rng(1)
    X, Q = rng.normal(size=(3000, 7)), rng.normal(size=(300, 7))
    found = []
    inside = []
    for wide in (True, False):
        _loops.use_wide(wide)
        _within.use_wide(wide)
        _tree.use_wide(wide)
        for algorithm in ("kd_tree", "brute"):
            model = NearestNeighbors(n_neighbors=9, algorithm=algorithm).fit(X)
            found += [model.kneighbors(Q), model.kneighbors(Q[:10])]
            inside.append(model.radius_neighbors(Q, 2.0))
    _loops.use_wide(True)
    _within.use_wide(True)
    _tree.use_wide(True)
    for distances, rows in inside[1:]:
        for a, b in zip([*distances, *rows], [*inside[0][0], *inside[0][1]]):
            assert a.tobytes() == b.tobytes()
    for distances, rows in found:
        m = len(rows)
        assert distances.tobytes() == found[0][0][:m].tobytes()
        assert np.array_equal(rows, found[0][1][:m])


def hard_table(kind, rng):
    """Rows and queries whose scores in single precision say little."""
    d = {"narrow": 1, "broad": 40}.get(kind, 8)
    X, Q = rng.normal(size=(2000, d)), rng.normal(size=(200, d))
    if kind == "clusters":  # a leaf is 1e-30 wide, or a point
        X = X[:8].repeat(250, axis=0)
        X[:, 0] *= 1 + 1e-13 * rng.integers(0, 9, 2000)
        X[:, 1] = np.repeat(np.arange(8) % 2, 250) * rng.integers(0, 9, 2000) * 1e-30
        Q = X[rng.permutation(2000)[:200]] + 1e-14
    if kind == "offset":
        X, Q = 1e9 + np.round(X, 3), 1e9 + np.round(Q, 3)
    if kind == "far":
        Q[::2] *= 1e38
    if kind == "small":
        X, Q = X * 1e-100, Q * 1e-100
    return X, Q


@pytest.mark.parametrize("kind", ["narrow", "broad", "clusters", "offset", "far", "small"])
def test_groups_of_queries_in_a_tree_find_what_single_ones_find(kind, monkeypatch):
    monkeypatch.setattr(neighbor_search, "SHARE", 2.0)
    X, Q = hard_table(kind, np.random.default_rng(0))
    model = NearestNeighbors(n_neighbors=6, algorithm="kd_tree").fit(X)
    distances, rows = model.kneighbors(Q)
    plain = NearestNeighbors(n_neighbors=6, algorithm="brute").fit(X)
    for first in range(0, len(Q), neighbor_search.FEW):
        part = slice(first, first + neighbor_search.FEW)
        near, expected = plain.kneighbors(Q[part])
        assert near.tobytes() == distances[part].tobytes()
        assert np.array_equal(expected, rows[part])


def extreme_table(case, rng):
    X, Q = rng.normal(size=(600, 3)), rng.normal(size=(40, 3))
    if case == "a query far away":
        Q[7] = 1e300
    if case == "rows far away":
        X[5], X[9], X[11] = 1e300, -1e300, 3e200
        Q[3] = 2e300
    if case == "tiny rows":
        X, Q = X * 1e-200, Q * 1e-200
        Q[3] = 0.5
    if case == "tiny clusters":
        X = X * 1e-190
        X[:300] += 1.0
        X[:300, 0] = 1 + np.arange(300) * 1e-3
        Q = X[::15] * 1.001
    return X, Q


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "case", ["a query far away", "rows far away", "tiny rows", "tiny clusters"]
)
@pytest.mark.parametrize("algorithm", ["kd_tree", "brute", "sparse"])
@pytest.mark.parametrize("p", [1, 2, 3, np.inf])
def test_numbers_whose_powers_are_none(case, algorithm, p):
    """Overflow and underflow of one distance must not reach another: long doubles know them all."""
    X, Q = extreme_table(case, np.random.default_rng(0))
    apart = np.abs(Q[:, None].astype(np.longdouble) - X)
    size = apart.max(axis=2, keepdims=True)
    powers = np.longdouble(1 if np.isinf(p) else p)
    true = size[..., 0]
    if np.isfinite(p):
        true = true * ((apart / np.where(size > 0, size, 1)) ** powers).sum(axis=2) ** (1 / powers)
    read = scipy.sparse.csr_array if algorithm == "sparse" else np.asarray
    way = "brute" if algorithm == "sparse" else algorithm
    model = NearestNeighbors(n_neighbors=4, p=p, algorithm=way).fit(read(X))
    distances, rows = model.kneighbors(read(Q))
    expected = np.sort(true, axis=1)[:, :4]
    assert np.allclose(np.take_along_axis(true, rows, axis=1)[:, 3] / expected[:, 3], 1, rtol=1e-12)
    assert np.allclose(distances[:, 3] / expected[:, 3], 1, rtol=1e-12)
    alone = model.kneighbors(read(Q[7:9]))  # no query knows of the others
    assert np.array_equal(alone[0], distances[7:9]) and np.array_equal(alone[1], rows[7:9])
    for radius in (1.5, 1e-190, 1e200):
        counts = [len(found) for found in model.radius_neighbors(read(Q), radius)[0]]
        assert counts == (true <= radius).sum(axis=1).tolist()


@pytest.mark.parametrize("weights", ["distance", "exp", "rational"])
def test_equal_weighted_votes_go_to_the_lowest_class(weights):
    """Three rows of each class at each distance: the same weights must have the same sums."""
    for seed in range(60):
        near = np.random.default_rng(seed).uniform(1, 3, 5)
        X, y = np.repeat(near, 6)[:, None], np.tile([0, 0, 0, 1, 1, 1], 5)
        model = KNeighborsClassifier(30, weights=weights).fit(X, y)
        assert model.predict_proba([[0.0]]).tolist() == [[0.5, 0.5]]
        assert model.predict([[0.0]]) == [0]


def test_errors_of_r():
    entry = shared.r_reference("knn_synth")
    known, asked = (shared.frame(f"mass_synth_{part}.csv") for part in ("tr", "te"))
    for k, errors in zip(entry["k"], entry["test_errors"]):
        model = KNeighborsClassifier(k).fit(known[["xs", "ys"]], known["yc"])
        assert (model.predict(asked[["xs", "ys"]]) != asked["yc"]).sum() == errors


def test_neighbours_of_iris():
    """Query (7.5, 4.0) in sepal length and width."""
    X, y = load_iris(return_X_y=True)
    X = X[:, :2]
    model = KNeighborsClassifier(5).fit(X, y)
    distances, rows = model.kneighbors([[7.5, 4.0]])
    assert rows.tolist() == [[117, 131, 109, 125, 50]]
    assert np.allclose(distances, [[0.282843, 0.447214, 0.5, 0.8544, 0.943398]], atol=1e-6)
    assert model.predict_proba([[7.5, 4.0]]).tolist() == [[0.0, 0.2, 0.8]]
    thirty = KNeighborsClassifier(30).fit(X, y).predict_proba([[7.5, 4.0]])
    assert np.allclose(thirty, [[0, 0.233333, 0.766667]], atol=1e-6)
    city = KNeighborsClassifier(1, metric="manhattan").fit(X, y)
    distance, row = city.kneighbors([[7.5, 4.0]])
    assert row[0, 0] == 117
    assert distance[0, 0] == pytest.approx(0.4)
    same = (X[:, None] == X[None]).all(axis=2)  # the class of most equal rows
    most = [np.bincount(y[rows]).argmax() for rows in same]
    assert KNeighborsClassifier(1).fit(X, y).score(X, y) == np.mean(most == y)


def test_all_rows_as_neighbours_are_the_majority():
    X, y = load_iris(return_X_y=True)
    y = np.where(np.arange(150) < 70, 1, y)
    assert set(KNeighborsClassifier(150).fit(X, y).predict(X)) == {1}


@pytest.mark.parametrize(
    ("weights", "beta", "expected"),
    [
        ("uniform", 1.0, [1 / 3, 1 / 3, 1 / 3]),
        ("exp", 1.0, [0.7113318153, 0.1587195819, 0.1299486028]),
        ("rational", 1.0, [0.5079365079, 0.253968254, 0.2380952381]),
        ("rational", 2.0, [0.6830409357, 0.1707602339, 0.1461988304]),
        ("distance", 1.0, [0.6769230769, 0.1692307692, 0.1538461538]),
        (lambda d: 1 / d, 1.0, [0.6769230769, 0.1692307692, 0.1538461538]),
    ],
)
def test_weights_of_neighbours(weights, beta, expected):
    X, y = [[0.5], [-2.0], [2.2]], ["-", "+", "+"]
    model = KNeighborsClassifier(3, weights=weights, beta=beta).fit(X, y)
    confidence = model.predict_proba([[0.0]])[0]
    assert confidence[list(model.classes_).index("-")] == pytest.approx(expected[0], abs=1e-9)
    assert model.predict([[0.0]])[0] == ("+" if weights == "uniform" else "-")
    own = KNeighborsRegressor(3, weights=weights, beta=beta).fit(X, [1.0, 10.0, 100.0])
    assert own.predict([[0.0]])[0] == pytest.approx(np.dot(expected, [1, 10, 100]), rel=1e-8)


def test_rows_at_distance_zero_decide_alone():
    model = KNeighborsRegressor(3, weights="distance").fit([[0.0], [0.0], [1.0]], [1.0, 2.0, 9.0])
    assert model.predict([[0.0]])[0] == 1.5


def test_shuffled_rows_give_the_same_answers():
    rng = np.random.default_rng(5)
    X = rng.integers(0, 4, size=(600, 3)).astype(float)
    y, z = rng.integers(0, 3, 600), rng.normal(size=600).round(1)
    Q, order = rng.integers(0, 4, size=(200, 3)).astype(float), rng.permutation(600)
    for weights in ("uniform", "distance"):
        a = KNeighborsClassifier(4, weights=weights).fit(X, y).predict_proba(Q)
        b = KNeighborsClassifier(4, weights=weights).fit(X[order], y[order]).predict_proba(Q)
        assert np.array_equal(a, b)
        a = KNeighborsRegressor(4, weights=weights).fit(X, z).predict(Q)
        b = KNeighborsRegressor(4, weights=weights).fit(X[order], z[order]).predict(Q)
        assert np.array_equal(a, b)


def test_equal_votes_go_to_the_lowest_class():
    model = KNeighborsClassifier(2).fit([[0.0], [2.0]], ["b", "a"])
    assert model.predict([[1.0]])[0] == "a"


def test_mahalanobis_estimates_its_covariance():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 3)) @ rng.normal(size=(3, 3)) + 50
    V = np.cov(X.T, ddof=0)
    given = KNeighborsClassifier(5, metric="mahalanobis", metric_params={"V": V})
    y = rng.integers(0, 2, 300)
    theirs = peer.NearestNeighbors(
        n_neighbors=5, metric="mahalanobis", metric_params={"VI": np.linalg.inv(V)}
    ).fit(X)
    ours = given.fit(X, y).kneighbors(X[:50])[0]
    assert np.allclose(ours, theirs.kneighbors(X[:50])[0], atol=1e-9)
    inverse = KNeighborsClassifier(metric="mahalanobis", metric_params={"VI": np.linalg.inv(V)})
    assert np.allclose(ours, inverse.fit(X, y).kneighbors(X[:50])[0], atol=1e-9)
    estimated = KNeighborsClassifier(5, metric="mahalanobis").fit(X, y).kneighbors(X[:50])[0]
    assert np.allclose(ours, estimated, rtol=0.2, atol=1e-9)
    far = X * [1e6, 1.0, 1e-6]
    with pytest.raises(DataError, match="positive definite"):
        KNeighborsClassifier(metric="mahalanobis", metric_params={"V": np.ones((3, 3))}).fit(far, y)


def test_cosine_is_that_of_scikit_learn():
    rng = np.random.default_rng(8)
    X, Q = rng.normal(size=(200, 5)), rng.normal(size=(40, 5))
    ours = NearestNeighbors(metric="cosine").fit(X).kneighbors(Q)
    theirs = peer.NearestNeighbors(metric="cosine").fit(X).kneighbors(Q)
    assert np.allclose(ours[0], theirs[0], atol=1e-12)
    assert np.array_equal(ours[1], theirs[1])
    zero = NearestNeighbors(n_neighbors=3, metric="cosine").fit([[0.0, 0], [1, 0], [0, 2.0]])
    assert zero.kneighbors([[0.0, 0.0]])[0].tolist() == [[0.0, 1.0, 1.0]]


def test_gower_by_hand():
    X = pd.DataFrame({"size": [0.0, 10.0, np.nan, 4.0], "colour": ["red", "blue", "red", "blue"]})
    model = KNeighborsClassifier(4, metric="gower").fit(X, [0, 1, 0, 1])
    distances, rows = model.kneighbors(pd.DataFrame({"size": [1.0], "colour": ["red"]}))
    # size / 10 and colour, averaged over the columns that both rows have
    assert dict(zip(rows[0], distances[0].round(12))) == {0: 0.05, 1: 0.95, 2: 0.0, 3: 0.65}


def test_standardised_columns():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(200, 3)) * [1e-3, 1.0, 1e5]
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    y = rng.normal(size=200)
    own = KNeighborsRegressor(standardize=True).fit(X, y)
    assert np.array_equal(own.kneighbors(X)[1], KNeighborsRegressor().fit(Z, y).kneighbors(Z)[1])


def test_levels_keep_their_unit():
    """Only numbers are divided: a rare level is as far from the others as a common one."""
    rng = np.random.default_rng(4)
    x, level = rng.normal(size=100) * 1e4, np.array(["rare"] * 4 + ["usual"] * 48 + ["other"] * 48)
    own = NearestNeighbors(n_neighbors=100, standardize=True).fit(
        pd.DataFrame({"x": x, "l": level})
    )
    distances, rows = own.kneighbors(pd.DataFrame({"x": x, "l": level}))
    z = (x[:, None] - x[None]) / x.std()
    plain = np.sqrt(z**2 + 2.0 * (level[:, None] != level[None]))
    assert np.allclose(distances, np.take_along_axis(plain, rows, axis=1), atol=1e-12)


def test_callable_and_precomputed():
    rng = np.random.default_rng(6)
    X, Q = rng.normal(size=(60, 3)), rng.normal(size=(15, 3))
    y = rng.integers(0, 3, 60)
    plain = KNeighborsClassifier(4, metric="manhattan").fit(X, y)
    own = KNeighborsClassifier(4, metric=lambda a, b: np.abs(a - b).sum()).fit(X, y)
    D = DISTANCES["manhattan"](X[:, None], X[None])
    given = KNeighborsClassifier(4, metric="precomputed").fit(D, y)
    E = DISTANCES["manhattan"](Q[:, None], X[None])
    assert np.array_equal(plain.kneighbors(Q)[1], own.kneighbors(Q)[1])
    assert np.array_equal(plain.kneighbors(Q)[1], given.kneighbors(E)[1])
    assert np.array_equal(plain.kneighbors()[1], given.kneighbors()[1])
    with pytest.raises(DataError, match="square"):
        KNeighborsClassifier(2, metric="precomputed").fit(E, y[:15])


def test_neighbours_of_the_training_rows_leave_themselves_out():
    X = np.array([[0.0], [0.0], [0.0], [5.0]])
    model = NearestNeighbors(n_neighbors=1).fit(X)
    assert model.kneighbors(return_distance=False).ravel().tolist() == [1, 0, 0, 0]
    graph = model.kneighbors_graph(mode="distance").toarray()
    assert graph[3].tolist() == [5.0, 0, 0, 0]
    rows = model.radius_neighbors(radius=1.0, return_distance=False)
    assert [list(r) for r in rows] == [[1, 2], [0, 2], [0, 1], []]


def test_radius_is_that_of_scikit_learn():
    rng = np.random.default_rng(7)
    X, Q = rng.normal(size=(800, 3)), rng.normal(size=(30, 3))
    ours = NearestNeighbors(radius=0.7).fit(X).radius_neighbors(Q)
    theirs = peer.NearestNeighbors(radius=0.7).fit(X).radius_neighbors(Q, sort_results=True)
    for i in range(30):
        assert np.array_equal(ours[1][i], theirs[1][i])


def test_identical_points_and_grids_take_bounded_time():
    grid = np.stack(np.meshgrid(np.arange(300.0), np.arange(300.0)), axis=-1).reshape(-1, 2)
    start = time.perf_counter()
    for X in (np.ones((100_000, 3)), grid, np.arange(100_000.0)[:, None]):
        model = NearestNeighbors(algorithm="kd_tree").fit(X)
        distances, rows = model.kneighbors(X[:2000])
        assert distances[0, 0] == 0
        if X[0, 0] == X[-1, 0]:
            assert rows[0].tolist() == [0, 1, 2, 3, 4]
    assert time.perf_counter() - start < 30  # a walk through all rows would take minutes


def test_sparse_tables():
    from scipy.sparse import csr_array

    rng = np.random.default_rng(9)
    X = np.where(rng.random((500, 120)) < 0.1, rng.normal(size=(500, 120)), 0.0)
    dense = NearestNeighbors(algorithm="brute").fit(X).kneighbors(X[:50])
    thin = NearestNeighbors(algorithm="brute").fit(csr_array(X)).kneighbors(csr_array(X[:50]))
    assert np.array_equal(dense[1], thin[1])


def test_large_sparse_tables_are_spread_out_in_chunks(monkeypatch):
    from scipy.sparse import csr_array

    monkeypatch.setattr(neighbor_search, "DENSE_CELLS", 10)
    rng = np.random.default_rng(9)
    X = np.where(rng.random((500, 60)) < 0.2, rng.normal(size=(500, 60)), 0.0)
    for metric in ("euclidean", "manhattan"):
        dense = NearestNeighbors(algorithm="brute", metric=metric).fit(X)
        thin = NearestNeighbors(algorithm="brute", metric=metric).fit(csr_array(X))
        assert isinstance(thin.rows_, tuple)
        for a, b in zip(dense.kneighbors(X[:50]), thin.kneighbors(csr_array(X[:50]))):
            assert np.array_equal(a, b)
        ours = thin.radius_neighbors(csr_array(X[:5]), radius=5.0)
        assert np.array_equal(ours[1][0], dense.radius_neighbors(X[:5], radius=5.0)[1][0])


@pytest.mark.parametrize("sparse", [False, True])
def test_few_copies_of_rows_exist_at_once(monkeypatch, sparse):
    """Rows are visited some at a time, wide ones fewer at once: the answers keep their bits."""
    from scipy.sparse import csr_array

    rng = np.random.default_rng(3)
    X, Q = rng.integers(0, 3, size=(900, 40)) * 0.5, rng.normal(size=(70, 40))
    if sparse:
        monkeypatch.setattr(neighbor_search, "DENSE_CELLS", 100)
    X, Q = (csr_array(X), csr_array(Q)) if sparse else (X, Q)
    model = NearestNeighbors(n_neighbors=7, algorithm="brute").fit(X)
    whole = [*model.kneighbors(Q), *model.radius_neighbors(Q, 7.0)]
    monkeypatch.setattr(neighbor_search, "CELLS", 4000)
    monkeypatch.setattr(neighbor_search, "HALVES", 9000)
    held = [len(scored.__defaults__[0]) for scored in model._index().scored()]
    assert held == [2] * 7 + [1]  # chunks of 64 rows, for each group of copies
    assert len(neighbor_search.query_blocks(900, 40)) == 9
    parts = [*model.kneighbors(Q), *model.radius_neighbors(Q, 7.0)]
    assert whole[0].tobytes() == parts[0].tobytes() and np.array_equal(whole[1], parts[1])
    assert sum(map(len, whole[2])) > 70
    for a, b in zip([*whole[2], *whole[3]], [*parts[2], *parts[3]], strict=True):
        assert a.tobytes() == b.tobytes()


@pytest.mark.parametrize(
    "options", [{"algorithm": "brute"}, {}, {"metric": lambda a, b: abs(a - b).sum()}]
)
def test_rows_belong_to_the_model(options):
    rng = np.random.default_rng(5)
    X, y, Q = rng.normal(size=(600, 3)), rng.integers(0, 3, 600), rng.normal(size=(20, 3))
    model = KNeighborsClassifier(**options).fit(X, y)
    before = model.kneighbors(Q)
    X[:], y[:] = 0.0, 1
    for a, b in zip(before, model.kneighbors(Q)):
        assert a.tobytes() == b.tobytes()
    assert len(set(model.predict(Q))) > 1


def test_several_targets():
    rng = np.random.default_rng(1)
    X, Y = rng.normal(size=(80, 2)), rng.normal(size=(80, 2))
    ours = KNeighborsRegressor().fit(X, Y).predict(X)
    assert np.allclose(ours, peer.KNeighborsRegressor().fit(X, Y).predict(X), atol=1e-13)


def test_explanations_name_the_neighbours():
    model = KNeighborsClassifier(2).fit([[0.0], [1.0], [9.0]], ["a", "b", "a"])
    found = model.explain([[0.2]])
    assert found.rows.tolist() == [[0, 1]]
    assert found.votes[0, :, 0].tolist() == [0.0, 0.5]


def test_bad_input_is_named():
    X, y = np.arange(6.0)[:, None], [0, 1, 0, 1, 0, 1]
    with pytest.raises(DataError, match="n_neighbors=9"):
        KNeighborsClassifier(9).fit(X, y)
    with pytest.raises(DataError, match="n_samples_fit = 6"):
        NearestNeighbors().fit(X).kneighbors(X, 7)
    with pytest.raises(ParameterError, match="n_neighbors"):
        NearestNeighbors().fit(X).kneighbors(X, 0)
    with pytest.raises(ParameterError, match="mode"):
        NearestNeighbors().fit(X).kneighbors_graph(X, mode="strange")
    with pytest.raises(ParameterError, match="metric_params"):
        KNeighborsClassifier(metric="manhattan", metric_params={"V": 1}).fit(X, y)
    with pytest.raises(ParameterError, match="standardize"):
        KNeighborsClassifier(metric="gower", standardize=True).fit(X, y)
    with pytest.raises(DataError, match="no positive weight"):
        KNeighborsClassifier(2, weights=lambda d: d * 0).fit(X, y).predict(X)
    with pytest.raises(DataError, match="returned 'far', but a distance must be one number"):
        KNeighborsClassifier(2, metric=lambda a, b: "far").fit(X, y).predict(X)
    with pytest.raises(DataError, match="returned nan, but a distance"):
        KNeighborsClassifier(2, metric=lambda a, b: np.nan).fit(X, y).predict(X)
    gaps = np.abs(X - X.T)
    with pytest.raises(DataError, match="contains NaN"):
        KNeighborsClassifier(2, metric="precomputed").fit(np.where(gaps == 1, np.nan, gaps), y)
    known = KNeighborsClassifier(2, metric="precomputed").fit(gaps, y)
    with pytest.raises(DataError, match="NaN"):
        known.predict(np.where(gaps == 1, np.nan, gaps))
    with pytest.raises(DataError, match=r"returned -1\.0, but a distance must be at least 0"):
        KNeighborsClassifier(2, metric=lambda a, b: -1.0).fit(X, y).predict(X)


@pytest.mark.parametrize("part", ["order_", "rows_", "codes_", "order", "boxes", "least", "depth"])
def test_forged_files_are_refused(part, tmp_path):
    rng = np.random.default_rng(0)
    model = KNeighborsClassifier(algorithm="kd_tree").fit(rng.normal(size=(200, 2)), [0, 1] * 100)
    path = tmp_path / "model.pellucid"
    where = vars(model) if part.endswith("_") else model.tree_
    if part == "depth":
        where[part] = 60
    elif part == "boxes":
        where[part] = where[part] * 0.5
    elif part == "order_":
        where[part] = where[part] // 2
    elif part in ("order", "least", "codes_"):
        where[part] = where[part] + 1000
    else:
        where[part] = where[part][:50]
    model.save(path)
    with pytest.raises(ModelFileError):
        pellucid.load(path)


@pytest.mark.parametrize("columns", [3, 12])
def test_trees_that_leave_few_rows_out_give_way_to_products(monkeypatch, columns):
    """Both find the same rows to the last bit; grids make ties."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 32 if columns == 3 else 4, size=(3000, columns)) / 4 + 1e6
    model = NearestNeighbors(n_neighbors=7, algorithm="kd_tree").fit(X)
    used = []
    way = neighbor_search.Index._by_products
    monkeypatch.setattr(
        neighbor_search.Index, "_by_products", lambda index: used.append(1) or way(index)
    )
    found = model.kneighbors(X)
    assert bool(used) == (columns == 12)
    monkeypatch.setattr(neighbor_search, "SHARE", 2.0 if columns == 12 else -1.0)
    other = model.kneighbors(X)
    assert all(np.array_equal(a, b) for a, b in zip(found, other)) and used


def test_mahalanobis_does_not_depend_on_units():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 2))
    y = (X[:, 1] + 0.1 * rng.normal(size=300) > 0).astype(int)
    near = KNeighborsClassifier(metric="mahalanobis")
    distances, rows = near.fit(X, y).kneighbors(X[:50])
    far = near.fit(X * [1e12, 1e-9] + [1e13, 0.0], y).kneighbors(
        X[:50] * [1e12, 1e-9] + [1e13, 0.0]
    )
    np.testing.assert_allclose(far[0], distances, rtol=1e-3, atol=1e-3)
    assert (far[1] == rows).mean() > 0.99


@pytest.mark.parametrize("scale", [(1.0, 1e-7), (1e7, 1e-1), (1e-8, 1e8)])
def test_a_given_covariance_of_any_units_is_taken_as_it_is(scale):
    rng = np.random.default_rng(6)
    X = rng.normal(size=(60, 2)) * scale
    V = np.array([[1.0, 0.3], [0.3, 2.0]]) * np.outer(scale, scale)
    gap = (X[:9, None] - X) / scale
    inverse = np.linalg.inv([[1.0, 0.3], [0.3, 2.0]])
    truth = np.sort(np.sqrt(np.einsum("ijk,kl,ijl->ij", gap, inverse, gap)), axis=1)[:, :4]
    for given in ({"V": V}, {"VI": inverse / np.outer(scale, scale)}):
        model = KNeighborsClassifier(4, metric="mahalanobis", metric_params=given)
        found = model.fit(X, np.arange(60) % 2).kneighbors(X[:9])[0]
        np.testing.assert_allclose(found, truth, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("mode", ["connectivity", "distance"])
def test_the_graph_of_a_radius_is_that_of_scikit_learn(mode):
    X = np.random.default_rng(7).normal(size=(60, 2))
    ours, theirs = NearestNeighbors(radius=0.8).fit(X), peer.NearestNeighbors(radius=0.8).fit(X)
    for rows, radius in ((None, None), (X[:9] + 0.1, None), (X[:9], 0.3)):
        expected = theirs.radius_neighbors_graph(rows, radius, mode=mode)
        found = ours.radius_neighbors_graph(rows, radius, mode=mode)
        assert found.shape == expected.shape
        np.testing.assert_allclose(found.toarray(), expected.toarray(), atol=1e-12)


def test_sparse_precomputed_distances_hold_no_other_neighbours(tmp_path):
    """A stored 0 is a distance of 0; a pair that is not stored is no neighbour."""
    from sklearn.neighbors import KNeighborsTransformer

    X, y = load_iris(return_X_y=True)
    keeper = KNeighborsTransformer(n_neighbors=10, mode="distance").fit(X[::2])
    graph, queries = keeper.transform(X[::2]), keeper.transform(X[1::2])
    theirs = peer.KNeighborsClassifier(5, metric="precomputed").fit(graph, y[::2])
    model = KNeighborsClassifier(5, metric="precomputed").fit(graph, y[::2])
    model.save(tmp_path / "model")
    for one in (model, pellucid.load(tmp_path / "model")):
        np.testing.assert_array_equal(one.predict(queries), theirs.predict(queries))
        np.testing.assert_allclose(one.kneighbors(queries)[0], theirs.kneighbors(queries)[0])
        np.testing.assert_allclose(one.kneighbors()[0], theirs.kneighbors()[0])
    others = NearestNeighbors(metric="precomputed").fit(graph)
    theirs = peer.NearestNeighbors(metric="precomputed").fit(graph)
    for radius in (0.2, np.inf):
        ours = others.radius_neighbors(queries, radius)[0]
        for a, b in zip(ours, theirs.radius_neighbors(queries, radius)[0]):
            np.testing.assert_allclose(a, np.sort(b))
    with pytest.raises(DataError, match="only 11 neighbors"):
        model.kneighbors(queries, 40)


def test_the_diagonal_of_sparse_distances_need_not_be_stored():
    X = np.random.default_rng(0).normal(size=(20, 2))
    graph = NearestNeighbors(n_neighbors=4).fit(X).kneighbors_graph(mode="distance")
    model = NearestNeighbors(n_neighbors=4, metric="precomputed").fit(graph)
    np.testing.assert_array_equal(
        model.kneighbors_graph(mode="distance").toarray(), graph.toarray()
    )


def test_without_x_the_training_rows_are_predicted_by_the_others():
    X, y = load_iris(return_X_y=True)
    y = y.astype(float)
    X = X + 1e-3 * np.random.default_rng(0).normal(size=X.shape)
    for name, options in {
        "KNeighborsClassifier": {"n_neighbors": 3},
        "RadiusNeighborsClassifier": {"radius": 2.0},
        "KNeighborsRegressor": {"n_neighbors": 3, "weights": "distance"},
        "RadiusNeighborsRegressor": {"radius": 2.0},
    }.items():
        model = getattr(pellucid.neighbors, name)(**options).fit(X, y)
        other = getattr(peer, name)(**options).fit(X, y)
        np.testing.assert_allclose(model.predict(None), other.predict(None))
        assert model.score(None, y) == pytest.approx(other.score(None, y))


def test_an_infinite_radius_holds_every_row():
    X, y = load_iris(return_X_y=True)
    model = pellucid.neighbors.RadiusNeighborsRegressor(np.inf).fit(X, y)
    np.testing.assert_allclose(model.predict(X[:2]), y.mean())
    assert len(NearestNeighbors(radius=np.inf).fit(X).radius_neighbors(X[:1])[0][0]) == len(X)


@pytest.mark.parametrize("columns", [512, 10**9], ids=["narrow panels", "panels of other files"])
def test_a_file_says_how_wide_rows_are_packed(columns, tmp_path, monkeypatch):
    """Files of models with the panels of narrow tables are read as they were written."""
    rng = np.random.default_rng(0)
    X, queries = rng.normal(size=(150, 600)), rng.normal(size=(20, 600))
    with monkeypatch.context() as patch:
        patch.setattr(neighbor_search, "NARROW", (8, columns))
        model = NearestNeighbors().fit(X)
        model.save(tmp_path / "m.pellucid")
    distance, rows = pellucid.load(tmp_path / "m.pellucid").kneighbors(queries)
    expected = np.linalg.norm(queries[:, None] - X, axis=2)
    np.testing.assert_array_equal(rows, np.argsort(expected, axis=1)[:, :5])
    np.testing.assert_allclose(distance, np.sort(expected, axis=1)[:, :5], rtol=1e-12)
