"""KMeans: the plain twin, scikit-learn from the same start, relations, bad input."""

import warnings

import numpy as np
import pytest
import scipy.sparse
import sklearn.cluster
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.datasets import load_digits, load_iris, load_wine, make_blobs

import pellucid
from pellucid.cluster import KMeans, row_distances
from pellucid.errors import ConvergenceWarning, DataError, ParameterError
from pellucid.mixture import GaussianMixture
from pellucid.plain import LloydKMeans
from tests.oracles import shared


def iris():
    return load_iris().data


def sets(rng):
    """name -> (X, k)"""
    return {
        "iris": (iris(), 3),
        "wine": (load_wine().data, 5),
        "digits": (load_digits().data, 10),
        "offset": (rng.standard_normal((500, 4)) + 1e8, 6),
        "column": (rng.standard_normal((400, 1)), 7),
        "blobs": (make_blobs(2000, 8, centers=30, random_state=0)[0], 30),
        "wide": (rng.standard_normal((60, 300)), 4),
    }


def starting_rows(X, k, rng):
    """Near rows, but with no row as near to two of them: ties are rounding in scikit-learn."""
    return X[rng.choice(len(X), k, replace=False)] + 1e-3 * rng.standard_normal((k, X.shape[1]))


def equal(ours, theirs):
    """Equal to 12 digits; a mean that is zero leaves rounding errors of the column's size."""
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-13 * np.abs(theirs).max())


NAMES = list(sets(np.random.default_rng(0)))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("weighted", [False, True])
def test_scikit_learn_from_the_same_start(name, weighted, rng):
    X, k = sets(rng)[name]
    C = starting_rows(X, k, rng)
    w = rng.random(len(X)) + 0.1 if weighted else None
    ours = KMeans(k, init=C, tol=0).fit(X, sample_weight=w)
    theirs = sklearn.cluster.KMeans(k, init=C, tol=0).fit(X, sample_weight=w)
    assert (ours.labels_ == theirs.labels_).all()
    assert ours.n_iter_ == theirs.n_iter_
    equal(ours.cluster_centers_, theirs.cluster_centers_)
    # scikit-learn subtracts a rounded mean first: at an offset of 1e8 it keeps 8 digits.
    digits = 1e-7 if name == "offset" else 1e-12
    assert ours.inertia_ == pytest.approx(theirs.inertia_, rel=digits)


@pytest.mark.parametrize("name", NAMES)
def test_tolerance_is_scikit_learns(name, rng):
    X, k = sets(rng)[name]
    C = starting_rows(X, k, rng)
    ours = KMeans(k, init=C, tol=1e-2).fit(X)
    theirs = sklearn.cluster.KMeans(k, init=C, tol=1e-2).fit(X)
    assert ours.n_iter_ == theirs.n_iter_
    equal(ours.cluster_centers_, theirs.cluster_centers_)
    assert (ours.labels_ == theirs.labels_).all()


@pytest.mark.parametrize("k", [1, 2, 5, 20])
@pytest.mark.parametrize("algorithm", ["lloyd", "elkan"])
def test_plain_twin(k, algorithm, rng):
    X = np.unique(rng.integers(0, 6, (60, 2)), axis=0).astype(float)  # many ties
    C = X[rng.choice(len(X), k, replace=False)]
    made = LloydKMeans(k, C).fit(X)  # means of integers are rounded once, so bits are equal
    ours = KMeans(k, init=C, tol=0, algorithm=algorithm).fit(X)
    assert (ours.cluster_centers_ == made.centers).all()
    assert (ours.labels_ == made.labels).all()
    assert ours.n_iter_ == len(made.trace)
    assert (ours.predict(X) == made.labels).all()


@pytest.mark.parametrize("k", [2, 3, 4, 5])
def test_r_best_of_many_starts(k):
    expected = shared.r_reference(f"kmeans_iris_k{k}")
    model = KMeans(k, n_init=30, random_state=0).fit(
        shared.frame("r_iris.csv").iloc[:, :4].to_numpy()
    )
    assert model.inertia_ == pytest.approx(expected["tot_withinss"], rel=1e-12)
    assert sorted(np.bincount(model.labels_)) == expected["sizes"]
    order = np.lexsort(model.cluster_centers_.T[::-1])
    theirs = np.array(expected["centers"])
    theirs = theirs[np.lexsort(theirs.T[::-1])]
    np.testing.assert_allclose(model.cluster_centers_[order], theirs, rtol=1e-12)


def test_r_on_scaled_columns():
    expected = shared.r_reference("kmeans_usarrests_scaled_k4")
    X = shared.frame("r_usarrests.csv").select_dtypes("number").to_numpy(dtype=float)
    Z = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    model = KMeans(4, n_init=30, random_state=0).fit(Z)
    assert model.inertia_ == pytest.approx(expected["tot_withinss"], rel=1e-12)
    assert sorted(np.bincount(model.labels_)) == sorted(expected["sizes"])


@pytest.mark.parametrize("way", ["distances", "products"])
def test_ways_and_algorithms_have_equal_bits(way, monkeypatch):
    X, _ = make_blobs(3000, 6, centers=12, random_state=1)
    expected = KMeans(12, random_state=0, n_init=2).fit(X)
    monkeypatch.setattr(row_distances, "PRODUCTS_FROM", 0 if way == "products" else 10**9)
    for algorithm in ("lloyd", "elkan"):
        model = KMeans(12, random_state=0, n_init=2, algorithm=algorithm).fit(X)
        assert (model.cluster_centers_ == expected.cluster_centers_).all()
        assert (model.labels_ == expected.labels_).all()
        assert model.inertia_ == expected.inertia_


def test_threads_have_equal_bits():
    X, _ = make_blobs(40_000, 20, centers=5, random_state=0)
    results = []
    for threads in (1, 2, 4):
        pellucid.set_threads(threads)
        model = KMeans(6, random_state=3).fit(X)
        results.append((model.cluster_centers_.tobytes(), model.inertia_, model.labels_.tobytes()))
    pellucid.set_threads(None)
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_weights_are_repetition_and_order_is_nothing(init, rng):
    X = rng.integers(0, 5, (200, 3)) + rng.random((200, 3)).round(1)
    w = rng.integers(0, 4, 200)
    repeated = np.repeat(X, w, axis=0)
    a = KMeans(4, init=init, random_state=1).fit(X, sample_weight=w)
    b = KMeans(4, init=init, random_state=1).fit(repeated)
    c = KMeans(4, init=init, random_state=1).fit(rng.permutation(repeated))
    for other in (b, c):
        assert (a.cluster_centers_ == other.cluster_centers_).all()
        assert a.inertia_ == other.inertia_
    assert (np.repeat(a.labels_, w) == b.labels_).all()
    assert (a.labels_ == a.predict(X)).all()  # rows without weight have a label too


def test_shift_and_rotation(rng):
    X, _ = make_blobs(300, 3, centers=4, random_state=2)
    base = KMeans(4, init=X[:4]).fit(X)
    Q = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    for move in (lambda A: A + 7.0, lambda A: -A, lambda A: A @ Q):
        moved = KMeans(4, init=move(X[:4])).fit(move(X))
        assert (moved.labels_ == base.labels_).all()
        np.testing.assert_allclose(moved.cluster_centers_, move(base.cluster_centers_), rtol=1e-10)


@pytest.mark.parametrize("power", [-900, -500, 500])
def test_scale_by_a_power_of_two_changes_no_bit(power):
    X = iris()
    base = KMeans(3, random_state=0).fit(X)
    model = KMeans(3, init=base.cluster_centers_).fit(X)
    scaled = KMeans(3, init=np.ldexp(base.cluster_centers_, power)).fit(np.ldexp(X, power))
    assert (scaled.cluster_centers_ == np.ldexp(model.cluster_centers_, power)).all()
    assert (scaled.labels_ == model.labels_).all()
    assert (scaled.transform(np.ldexp(X, power)) == np.ldexp(model.transform(X), power)).all()


@pytest.mark.parametrize("products_from", [0, 10**9])
def test_rows_far_beyond_the_centres(products_from, monkeypatch):
    monkeypatch.setattr(row_distances, "PRODUCTS_FROM", products_from)
    model = KMeans(2, init=[[-1.0, 0.0], [1.0, 0.0]]).fit([[-1.0, 0.0], [1.0, 0.0]])
    X = np.array([[1e200, 0.0], [-1e200, 1e199], [0.5, 0.0]])
    assert model.predict(X).tolist() == [0, 0, 1]  # from 1e200 on, 1 and -1 are as near
    assert model.score(X) == -np.inf
    distances = [[1e200] * 2, [1.0049875621120890e200] * 2, [1.5, 0.5]]
    np.testing.assert_allclose(model.transform(X), distances, rtol=1e-15)
    assert model.score(X[2:]) == -0.25


def test_inertia_that_no_float_holds_is_an_error():
    with pytest.raises(DataError, match="exceeds the largest float64"):
        KMeans(3, random_state=0).fit(np.ldexp(iris(), 900))


def test_sparse_is_dense(rng):
    X = rng.random((300, 40)) * (rng.random((300, 40)) < 0.1)
    start = rng.random((5, 40)) * 0.3
    dense = KMeans(5, init=start).fit(X)
    for kind in (scipy.sparse.csr_array, scipy.sparse.csc_matrix):
        model = KMeans(5, init=start).fit(kind(X))
        assert (model.labels_ == dense.labels_).all()
        np.testing.assert_allclose(model.cluster_centers_, dense.cluster_centers_, rtol=1e-14)
        assert model.inertia_ == pytest.approx(dense.inertia_, rel=1e-12)
        assert (model.predict(kind(X)) == dense.labels_).all()
        np.testing.assert_allclose(model.transform(kind(X)), dense.transform(X), atol=1e-6)
        assert model.score(kind(X)) == pytest.approx(dense.score(X))
    drawn = KMeans(5, random_state=0).fit(scipy.sparse.csr_array(X))
    assert drawn.inertia_ < 1.2 * dense.inertia_


def test_empty_clusters_as_scikit_learn():
    X, _ = make_blobs(200, 2, centers=3, random_state=0)
    C = np.vstack([X[:2], [[1e3, 1e3]]])  # nothing is near the third centre
    ours = KMeans(3, init=C).fit(X)
    theirs = sklearn.cluster.KMeans(3, init=C).fit(X)
    assert (ours.labels_ == theirs.labels_).all()
    equal(ours.cluster_centers_, theirs.cluster_centers_)
    C = np.vstack([X[:1], np.full((5, 2), 1e3) + np.arange(5)[:, None]])
    many = KMeans(6, init=C).fit(X)
    assert len(np.unique(many.labels_)) == 6


def test_a_cluster_that_nothing_can_fill_joins_the_biggest():
    X = np.repeat([[0.0], [10.0]], [3, 5], axis=0)
    C = np.array([[0.0], [10.0], [99.0]])
    with pytest.warns(ConvergenceWarning):
        model = KMeans(3, init=C).fit(X)
    assert model.cluster_centers_.tolist() == [[0.0], [10.0], [10.0]]


def test_history_and_status():
    model = KMeans(3, random_state=0, tol=0).fit(iris())
    objective = model.history_["objective"]
    assert len(objective) == model.n_iter_
    assert (np.diff(objective) <= 1e-12 * objective[0]).all()
    assert objective[-1] == pytest.approx(model.inertia_, rel=1e-13)
    assert model.history_["moved"][-1] == 0
    assert model.status_.code == "converged"
    with pytest.warns(ConvergenceWarning, match="max_iter=2 was not enough"):
        stopped = KMeans(3, init=iris()[:3], tol=0, max_iter=2).fit(iris())
    assert stopped.n_iter_ == 2
    assert (stopped.labels_ == stopped.predict(iris())).all()


def test_watching_replays_the_centres():
    with pellucid.watching() as watch:
        model = KMeans(3, random_state=0, tol=0).fit(iris())
    assert len(watch.steps) == model.n_iter_ + 1  # the first are the starting centers
    assert (watch.steps[-1].state["cluster_centers_"] == model.cluster_centers_).all()


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_more_clusters_than_distinct_points(init):
    X = np.repeat([[0.0, 1], [2, 3], [5, 5]], 4, axis=0)
    text = r"distinct clusters \(3\) found smaller than n_clusters \(5\)"
    with pytest.warns(ConvergenceWarning, match=text):
        model = KMeans(5, init=init, random_state=0).fit(X)
    assert model.inertia_ == 0.0
    assert np.isfinite(model.cluster_centers_).all() and model.cluster_centers_.shape == (5, 2)
    assert len(np.unique(model.labels_)) == 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert KMeans(3, init=init, random_state=0).fit(X).inertia_ == 0.0


@pytest.mark.parametrize("Model", [KMeans, GaussianMixture])
@pytest.mark.parametrize("first", [1.0, 1.3, 2.0])
def test_equal_rows_are_rows_whatever_their_weights(Model, first):
    """Without weights the same table is told to have few different rows, not few rows."""
    X, w = np.tile([[0.0], [1.0]], (3, 1)), np.r_[first, np.ones(5)]
    with pytest.warns(ConvergenceWarning, match=r"distinct clusters \(2\)|2 different rows"):
        Model(5, random_state=0).fit(X, sample_weight=w)
    with pytest.raises(DataError, match=r"n_samples ?= ?4"):
        Model(5, random_state=0).fit(X, sample_weight=np.r_[0.0, 0.0, 0.5, np.ones(3)])


def test_fewer_rows_than_clusters():
    with pytest.raises(DataError, match="n_samples=2 should be >= n_clusters=3"):
        KMeans(3).fit([[0.0], [1.0]])
    assert KMeans(3, random_state=0).fit([[0.0], [1.0], [2.0]]).inertia_ == 0.0


@pytest.mark.parametrize(
    ("init", "text"),
    [
        (np.zeros((2, 4)), r"\(2, 4\) does not match the number of clusters 3"),
        (np.zeros((3, 2)), r"\(3, 2\) does not match the number of features of the data 4"),
        (np.full((3, 4), np.nan), "NaN or infinity"),
        ([["a"] * 4] * 3, "must be numbers"),
        (lambda X, k, random_state: X[:2], "does not match the number of clusters"),
    ],
)
def test_bad_starts(init, text):
    model = KMeans(3, init=init)
    with pytest.raises(DataError, match=text):
        model.fit(iris())
    assert not hasattr(model, "cluster_centers_")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_clusters", 0), ("n_clusters", 2.5), ("init", "farthest"), ("n_init", 0),
        ("n_init", "often"), ("max_iter", 0), ("tol", -1.0), ("tol", "small"),
        ("random_state", -1), ("copy_x", 2), ("algorithm", "full"), ("verbose", "loud"),
    ],
)  # fmt: skip
def test_bad_parameters(name, value):
    with pytest.raises(ParameterError, match=f"The '{name}' parameter of KMeans must be"):
        KMeans(**{name: value}).fit(iris())


def test_n_init_beside_an_array_warns():
    with pytest.warns(RuntimeWarning, match="performing only one init"):
        KMeans(3, init=iris()[:3], n_init=5).fit(iris())


def test_callable_init_and_starts():
    calls = []

    def init(X, k, random_state):
        calls.append(random_state.randint(1000))
        return X[random_state.permutation(len(X))[:k]]

    KMeans(3, init=init, random_state=0).fit(iris())
    assert len(set(calls)) == 10
    assert KMeans(3, init="random", random_state=0)._n_starts() == 10
    assert KMeans(3)._n_starts() == 1


def test_score_and_names():
    model = KMeans(3, random_state=0).fit(iris())
    assert model.score(iris()) == pytest.approx(-model.inertia_, rel=1e-14)
    assert model.get_feature_names_out().tolist() == ["kmeans0", "kmeans1", "kmeans2"]
    frame = model.set_output(transform="pandas").transform(iris())
    assert list(frame.columns) == ["kmeans0", "kmeans1", "kmeans2"]


def test_frames_with_categories(rng):
    import pandas as pd

    frame = pd.DataFrame({"a": rng.standard_normal(50), "b": rng.choice(["x", "y"], 50)})
    model = KMeans(2, random_state=0).fit(frame)
    assert model.cluster_centers_.shape == (2, len(model.terms_))
    assert (model.predict(frame[["b", "a"]]) == model.labels_).all()


def test_saved_model_is_equal(tmp_path):
    model = KMeans(3, random_state=0).fit(iris())
    model.save(tmp_path / "m.pellucid")
    loaded = pellucid.load(tmp_path / "m.pellucid")
    assert (loaded.predict(iris()) == model.labels_).all()
    assert (loaded.transform(iris()) == model.transform(iris())).all()
    assert loaded.inertia_ == model.inertia_


cells = st.floats(allow_nan=False, allow_infinity=False, width=64)


@given(X=hnp.arrays(float, hnp.array_shapes(min_dims=2, max_dims=2, max_side=12), elements=cells))
def test_any_finite_table(X):
    model = KMeans(min(3, len(X)), random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            model.fit(X)
        except DataError as error:
            if len(X) == 1:
                assert "a minimum of 2 is required by KMeans: 1 sample is not enough" in str(error)
            else:
                assert "exceeds the largest float64" in str(error)
                assert np.abs(X).max() > 1e150
            return
    assert len(X) > 1
    assert np.isfinite(model.cluster_centers_).all() and np.isfinite(model.inertia_)
    assert (model.predict(X) == model.labels_).all()
    assert set(model.labels_) <= set(range(model.n_clusters))
