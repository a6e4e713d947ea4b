"""Plain neighbors, support vectors, networks, clusters and maps against the library.

Neighbors and labels are equal; distances, gradients, centers to 1e-12; EM to 1e-9 after 15 steps; dual
objectives to 1e-8; affinities and steps of t-SNE to 1e-9, its points after ten steps to 1e-6.
"""

import numpy as np
import pytest

import pellucid
from pellucid import cluster, manifold, mixture, neighbors, neural_network, plain, svm
from pellucid.manifold import affinities
from pellucid.manifold.embedding import Divergence
from tests.plain.curved_tables import built_in, classes, numbers


def standardized(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def many_ties():
    X, y = classes(3, n=90)
    return np.round(X), y


def iris_in_millimeters():
    """Whole numbers, whose squared distances are exact, so that ties are ties."""
    X, y = built_in("iris")
    return np.round(10 * X), y


TABLES = {"two": lambda: classes(1), "ties": many_ties, "iris": iris_in_millimeters}
MARGINS = {
    "two": lambda: classes(1),
    "three": lambda: classes(2, K=3),
    "iris": lambda: built_in("iris"),
}


@pytest.mark.parametrize("k", [1, 4, 15])
@pytest.mark.parametrize("table", TABLES)
def test_nearest_neighbors(table, k):
    X, y = TABLES[table]()
    new = np.vstack([X[::3], X[::5] + 0.5])
    model = neighbors.KNeighborsClassifier(k).fit(X, y)
    made = plain.KNearestClassifier(k).fit(X, y)
    for mine, theirs in zip(made.kneighbors(new), model.kneighbors(new)):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(made.predict_proba(new), model.predict_proba(new), atol=1e-15)
    np.testing.assert_array_equal(made.predict(new), model.predict(new))


@pytest.mark.parametrize("table", ["smooth", "wide", "diabetes"])
def test_means_of_neighbors(table):
    made = {"smooth": lambda: numbers(1), "wide": lambda: numbers(2, d=8)}
    X, y = made[table]() if table in made else built_in(table, 4)
    new = X[::3] + 0.01 * X.std(axis=0)
    model = neighbors.KNeighborsRegressor(6).fit(X, y)
    made = plain.KNearestRegressor(6).fit(X, y)
    np.testing.assert_allclose(made.predict(new), model.predict(new), rtol=1e-12)


def test_a_kd_tree_skips_most_rows(rng):
    X = rng.normal(size=(2000, 2))
    tree = plain.KDTree(X)
    visited = []
    for x in rng.normal(size=(30, 2)):
        distances, rows = tree.query(x, 5)
        brute = np.sqrt(((X - x) ** 2).sum(axis=1))
        np.testing.assert_array_equal(rows, np.argsort(brute, kind="stable")[:5])
        np.testing.assert_allclose(distances, brute[rows], rtol=1e-15)
        visited.append(tree.visited)
    assert np.mean(visited) < 100


KERNELS = {
    "linear": {}, "rbf": {"gamma": 0.5}, "poly": {"gamma": 0.3, "degree": 2, "coef0": 1.0},
    "sigmoid": {"gamma": 0.05, "coef0": 0.0},
}  # fmt: skip


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("table", MARGINS)
def test_support_vectors(table, kernel):
    """All pairs of classes; the sigmoid kernel is not positive semi-definite, so minima may differ."""
    X, y = MARGINS[table]()
    X, settings = standardized(X), {"kernel": kernel, "C": 2.0, "tol": 1e-7, **KERNELS[kernel]}
    for second in np.unique(y)[1:]:
        rows = np.isin(y, [0, second])
        made = plain.SVM(**settings).fit(X[rows], y[rows])
        model = svm.SVC(**settings).fit(X[rows], y[rows])
        a = model.dual_coef_[0]
        K = made.kernel(model.support_vectors_, model.support_vectors_)
        dual = np.abs(a).sum() - 0.5 * a @ K @ a
        assert made.dual == pytest.approx(dual, abs=1e-8 * abs(dual))
        assert made.trace[-1]["dual"] == made.dual >= made.trace[0]["dual"]
        np.testing.assert_allclose(
            made.decision_function(X), model.decision_function(X), rtol=0, atol=1e-5
        )
        assert abs(made.alpha @ np.where(y[rows] == second, 1, -1)) < 1e-12


@pytest.mark.parametrize("table", MARGINS)
def test_votes_of_pairs(table):
    X, y = MARGINS[table]()
    settings = {"gamma": 0.5, "tol": 1e-6}
    made = plain.OneVsOneSVM(**settings).fit(X, y)
    model = svm.SVC(**settings, decision_function_shape="ovo").fit(X, y)
    np.testing.assert_array_equal(made.predict(X), model.predict(X))


# Networks ----------------------------------------------------------------------------------------

OUTPUTS = {"squared": "identity", "log": "logistic", "cross_entropy": "softmax"}


def pair(units, activation, loss, **settings):
    """A plain network and one of the library, with equal parameters."""
    made = plain.FeedForward(units, activation, loss, **settings)
    layers = [neural_network.Dense(k, activation) for k in units[1:-1]]
    layers.append(neural_network.Dense(units[-1], OUTPUTS[loss]))
    network = neural_network.Network(units[0], layers, loss)
    for part, given in zip([*network.coefs, *network.intercepts], [*made.W, *made.b]):
        part[...] = given
    return made, network


def targets(y, loss):
    if loss == "cross_entropy":
        return (y[:, None] == np.unique(y)).astype(float)
    return np.column_stack([y > 0, y > 1]).astype(float) if loss == "log" else y[:, None] * 1.0


@pytest.mark.parametrize("activation", ["identity", "relu", "logistic", "tanh"])
@pytest.mark.parametrize("loss", OUTPUTS)
def test_gradients_of_a_network(loss, activation):
    """Loops, matrices, the library and finite differences."""
    X, y = classes(4, n=25, K=3)
    Y = targets(y, loss)
    made, network = pair((3, 5, 4, Y.shape[1]), activation, loss)
    loops, matrices = made.gradient_by_loops(X, Y), made.gradient_by_matrices(X, Y)
    value, gradient = network.gradient(X, Y)
    theirs = network.views(gradient)
    assert made.loss(Y, made.forward(X)[0][-1]).mean() == pytest.approx(value, rel=1e-12)
    for part in (0, 1):
        for a, b, c in zip(loops[part], matrices[part], theirs[part]):
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-14)
            np.testing.assert_allclose(b, c, rtol=1e-11, atol=1e-14)
    for l, j, k in ((0, 1, 2), (1, 4, 3), (2, 0, 0)):
        values = []
        for step in (1e-6, -1e-6):
            made.W[l][j, k] += step
            values.append(made.loss(Y, made.forward(X)[0][-1]).mean())
            made.W[l][j, k] -= step
        assert matrices[0][l][j, k] == pytest.approx((values[0] - values[1]) / 2e-6, abs=1e-8)


TRAINED = {
    "squared": lambda: numbers(1), "log": lambda: classes(2, K=3),
    "cross_entropy": lambda: built_in("iris"),
}  # fmt: skip


@pytest.mark.parametrize("loss", TRAINED)
def test_training_of_a_network(loss):
    """Thirty steps of plain gradient descent from the same start."""
    X, y = TRAINED[loss]()
    X, Y = standardized(X), targets(y, loss)
    made, network = pair((X.shape[1], 6, Y.shape[1]), "tanh", loss, rate=0.2, steps=30)
    found = network.train(X, Y, solver="gd", rate=0.2, epochs=30, alpha=0.0)
    made.fit(X, Y)
    assert len(made.trace) == found.n_iter == 30
    assert made.trace[-1]["loss"] < 0.9 * made.trace[0]["loss"]
    for mine, theirs in zip([*made.W, *made.b], [*network.coefs, *network.intercepts]):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(made.predict(X), network.predict(X), atol=1e-10)


def test_number_of_parameters():
    made = plain.FeedForward((13, 8, 1))
    assert [W.size + b.size for W, b in zip(made.W, made.b)] == [112, 9]


# Clusters and maps -------------------------------------------------------------------------------

GROUPS = {
    "blobs": lambda: classes(1)[0] + 4 * (classes(1)[1][:, None]), "ties": lambda: many_ties()[0],
    "wine": lambda: standardized(built_in("wine")[0]),
}  # fmt: skip


@pytest.mark.parametrize("k", [2, 5])
@pytest.mark.parametrize("table", GROUPS)
def test_kmeans(table, k):
    X = GROUPS[table]()
    start = np.unique(X, axis=0)[:: len(np.unique(X, axis=0)) // k][:k]
    model = cluster.KMeans(k, init=start, tol=0).fit(X)
    made = plain.LloydKMeans(k, centers=start).fit(X)
    np.testing.assert_array_equal(made.labels, model.labels_)
    np.testing.assert_allclose(made.centers, model.cluster_centers_, rtol=1e-12, atol=1e-12)
    assert made.inertia == pytest.approx(model.inertia_, rel=1e-12)
    assert len(made.trace) == model.n_iter_
    assert (np.diff([step["inertia"] for step in made.trace]) <= 1e-9).all()


def test_an_empty_cluster_gets_the_farthest_row():
    X = np.array([[0.0], [1.0], [2.0], [9.0]])
    start = np.array([[1.0], [50.0], [60.0]])
    model = cluster.KMeans(3, init=start, tol=0).fit(X)
    made = plain.LloydKMeans(3, centers=start).fit(X)
    np.testing.assert_array_equal(made.labels, model.labels_)
    np.testing.assert_allclose(made.centers, model.cluster_centers_)


def test_starts_of_kmeans_are_rows_far_apart(rng):
    """Six distant groups: k-means++ starts in all of them, for nine of ten seeds."""
    X = np.repeat(100.0 * np.arange(6), 20)[:, None] + rng.normal(size=(120, 1))
    found = [len(np.unique(plain.LloydKMeans(6, seed=s).plus_plus(X) // 50)) for s in range(20)]
    assert np.mean(np.array(found) == 6) >= 0.9


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("table", ["blobs", "normal", "iris"])
def test_expectation_maximisation(table, K, rng):
    X = {"blobs": GROUPS["blobs"], "normal": lambda: rng.normal(size=(150, 2)),
         "iris": lambda: built_in("iris")[0]}[table]()  # fmt: skip
    means = X[:: len(X) // K][:K]
    start = np.linalg.inv(np.cov(X.T, bias=True))
    model = mixture.GaussianMixture(
        K, weights_init=np.full(K, 1 / K), means_init=means, precisions_init=np.stack([start] * K),
        tol=0.0, reg_covar=0.0, max_iter=15,
    )  # fmt: skip
    with pytest.warns(UserWarning, match="not enough"):
        model.fit(X)
    made = plain.GaussianMixtureEM(K, means, tol=0.0, max_iter=15).fit(X)
    np.testing.assert_allclose(made.pi, model.weights_, rtol=1e-9)
    np.testing.assert_allclose(made.mu, model.means_, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(made.Sigma, model.covariances_, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(made.predict_proba(X), model.predict_proba(X), atol=1e-9)
    bounds = [step["log-likelihood"] for step in made.trace]
    np.testing.assert_allclose(bounds, model.history_["log_likelihood"], rtol=1e-10)
    assert (np.diff(bounds) >= -1e-12).all()


MAPS = {
    "blobs": lambda: GROUPS["blobs"]()[:60], "normal": lambda: classes(7, n=50, d=5)[0],
    "iris": lambda: built_in("iris", 2)[0],
}  # fmt: skip


@pytest.mark.parametrize("table", MAPS)
def test_tsne(table):
    """Affinities, gradients, and every step of a descent. Steps amplify rounding until two descents
    differ, so each step starts from the points of the library; the first ten do not."""
    X = MAPS[table]() + 1e-3 * np.arange(len(MAPS[table]()))[:, None]  # no equal rows
    model = manifold.TSNE(perplexity=10, method="exact", max_iter=300)
    with pellucid.watching() as watch:
        model.fit(X)
    made = plain.ExactTSNE(perplexity=10, steps=10).fit(X)
    P = affinities.all_pairs(affinities.centred(X), 10.0, "euclidean", None)
    np.testing.assert_allclose(made.P, P, rtol=0, atol=1e-9 * P.max())
    KL, gradient = Divergence(made.P, 2, 0.0).gradient(made.Y, 3.0)
    mine = made.divergence_and_gradient(made.P, made.Y, 3.0)
    assert mine[0] == pytest.approx(KL, rel=1e-10)
    np.testing.assert_allclose(mine[1], gradient, rtol=0, atol=1e-12)
    points = [step.state["embedding_"] for step in watch.steps]
    assert len(points) == 301
    np.testing.assert_allclose(made.Y, points[10], rtol=0, atol=1e-6 * np.abs(points[10]).max())
    step = gain = None
    for t in range(1, 301):
        Y, _, gain, _ = made.move(t, P, points[t - 1], step, gain, model.learning_rate_)
        np.testing.assert_allclose(Y, points[t], rtol=0, atol=1e-9 * np.abs(Y).max())
        step = points[t] - points[t - 1]
