"""TSNE: affinities, slopes, the tree, scikit-learn's path, and what it refuses."""

import numpy as np
import pytest
import sklearn.manifold
from scipy.spatial.distance import squareform
from sklearn.datasets import load_digits, load_iris
from sklearn.manifold import _t_sne, trustworthiness
from sklearn.metrics import pairwise_distances

import pellucid
from pellucid.errors import ConvergenceWarning, DataError
from pellucid.manifold import TSNE, _loops, affinities, embedding
from pellucid.manifold.embedding import Divergence, State, components
from tests.manifold import plain


def test_affinities_have_the_perplexity(rng):
    D = rng.random((6, 40)) * 10.0 ** rng.integers(-6, 7, (6, 1))
    out = np.empty_like(D)
    _loops.affinities(D, 0, False, 7.5, out)
    np.testing.assert_allclose(out.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose([plain.perplexity(row) for row in out], 7.5, rtol=1e-8)
    order = np.argsort(D, axis=1)
    assert (np.diff(np.take_along_axis(out, order, axis=1), axis=1) <= 0).all()


def test_affinities_are_those_of_scikit_learn():
    X = load_iris().data
    P = affinities.all_pairs(affinities.centred(X), 30.0, "euclidean", None)
    theirs = squareform(_t_sne._joint_probabilities(pairwise_distances(X, squared=True), 30.0, 0))
    assert np.abs(P - theirs).max() < 1e-7 and P.sum() == pytest.approx(1)  # they search to 1e-5
    near = affinities.of_neighbours(affinities.centred(X), 30.0, "euclidean", None)
    assert (near != near.T).nnz == 0 and near.sum() == pytest.approx(1)
    everyone = affinities.of_neighbours(affinities.centred(X), 55.0, "euclidean", None).toarray()
    whole = affinities.all_pairs(affinities.centred(X), 55.0, "euclidean", None)
    np.testing.assert_allclose(everyone, whole, atol=1e-12)  # 3 * 55 neighbours are all


@pytest.mark.parametrize("metric", ["manhattan", "cosine", "chebyshev"])
def test_other_metrics(metric):
    X = load_iris().data[:60]
    D = pairwise_distances(X, metric=metric)
    start = 1e-4 * np.random.default_rng(0).normal(size=(60, 2))
    # Small steps without exaggeration: rounding of the distances is not magnified.
    options = {"init": start, "perplexity": 10, "max_iter": 250}
    options |= {"early_exaggeration": 1.0, "learning_rate": 10.0}
    one = TSNE(metric=metric, **options).fit(X)
    other = TSNE(metric="precomputed", **options).fit(D)
    assert one.kl_divergence_ == pytest.approx(other.kl_divergence_, rel=1e-4)
    P = affinities.all_pairs(X, 10.0, metric, None)
    np.testing.assert_allclose(P, affinities.all_pairs(D, 10.0, "precomputed", None), atol=1e-12)


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_slopes_are_derivatives(rng, d):
    """In three and more dimensions scikit-learn's slope is not quite that of its divergence."""
    P = affinities.all_pairs(affinities.centred(rng.normal(size=(12, 4))), 4.0, "euclidean", None)
    Y, goal = rng.normal(size=(12, d)), Divergence(P, d, 0.0)
    value, slope = goal.gradient(Y)
    assert value == pytest.approx(plain.divergence(P, Y), rel=1e-10)
    for i, f in [(0, 0), (5, d - 1), (11, 0)]:
        step = np.zeros_like(Y)
        step[i, f] = 1e-5
        found = (goal.gradient(Y + step)[0] - goal.gradient(Y - step)[0]) / 2e-5
        assert slope[i, f] == pytest.approx(found, abs=1e-8)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_a_tree_that_opens_every_group_is_exact(rng, d):
    Y = np.concatenate([rng.normal(size=(40, d)), np.zeros((3, d)), rng.normal(size=(5, d)) * 1e-9])
    tree, repel = _loops.Tree(Y), np.empty_like(Y)
    Z = tree.repulsion(0, len(Y), float(max(d - 1, 1)), 0.0, repel)
    expected = plain.repulsion(Y)
    assert expected[1] == pytest.approx(Z, rel=1e-12)
    np.testing.assert_allclose(repel, expected[0], atol=1e-12)
    assert sorted(tree.order) == list(range(len(Y)))


@pytest.mark.parametrize("points", ["equal", "line of powers", "grid"])
def test_the_tree_stays_small(points):
    n = 2000
    if points == "equal":
        Y = np.ones((n, 2))
    elif points == "grid":
        Y = np.column_stack([np.arange(n) % 40, np.arange(n) // 40]).astype(float)
    else:
        Y = np.column_stack([2.0 ** -(np.arange(n) / 2), np.zeros(n)])
    tree = _loops.Tree(Y)
    assert tree.nodes <= 2 * n


def test_groups_are_as_near_the_truth_as_scikit_learns():
    X = affinities.centred(load_digits().data[:300])
    P = affinities.of_neighbours(X, 20.0, "euclidean", None)
    Y = TSNE(method="exact", perplexity=20, max_iter=500).fit(X).embedding_
    truth = Divergence(P.toarray(), 2, 0.5).gradient(Y)[1]
    single = P.astype(np.float32)
    for angle in (0.2, 0.5, 0.8):
        ours = Divergence(P, 2, angle).gradient(Y)[1]
        theirs = _t_sne._kl_divergence_bh(
            Y.ravel().astype(np.float32), single, 1, len(X), 2, angle=angle, num_threads=1
        )[1].reshape(Y.shape)
        assert np.linalg.norm(ours - truth) <= np.linalg.norm(theirs - truth)


def test_steps_are_those_of_scikit_learn():
    X = affinities.centred(load_iris().data)
    P, start = affinities.all_pairs(X, 30.0, "euclidean", None), components(X, 2)
    state, goal = State.begin(start), Divergence(P, 2, 0.5)
    for _ in range(40):
        state.move(goal.gradient(state.Y, 1.0, False)[1], 0.5, 50.0)
    theirs = _t_sne._gradient_descent(
        _t_sne._kl_divergence, start.ravel(), 0, 40, n_iter_check=1000, momentum=0.5,
        learning_rate=50.0, args=[squareform(P), 1, len(X), 2],
    )[0].reshape(-1, 2)  # fmt: skip
    np.testing.assert_allclose(state.Y, theirs, atol=1e-8)


@pytest.fixture(scope="module")
def their_picture():
    return sklearn.manifold.TSNE(method="exact", random_state=0).fit(load_iris().data)


@pytest.mark.parametrize("method", ["exact", "barnes_hut"])
def test_pictures_are_near_those_of_scikit_learn(method, their_picture):
    """Rounding sends both to other minima, so this bounds the gap, it does not order them.

    By hand, 44 pairs (six tables of 150 to 500 rows, perplexity 8 to 50, equal starts or principal
    components): trustworthiness +0.0004 +- 0.0003, divergence -0.0026 +- 0.0022, ours minus theirs.
    """
    X = load_iris().data
    ours = TSNE(method=method, random_state=0).fit(X)
    theirs = their_picture
    assert ours.kl_divergence_ < theirs.kl_divergence_ * 1.08
    gap = trustworthiness(X, ours.embedding_) - trustworthiness(X, theirs.embedding_)
    assert gap > -0.01
    values = ours.history_["objective"][ours.history_["iteration"] > 300]
    assert values[-1] <= values[0]


def test_rows_without_groups_are_spread_out(rng):
    """Exaggerated attraction draws them together until the slope vanishes: that is not the end."""
    X = rng.standard_normal((120, 20))
    options = {"perplexity": 20, "learning_rate": 5.0, "max_iter": 250}
    drawn = TSNE(**options).fit(X)
    assert drawn.history_["gradient_norm"][:3].min() < 1e-7 and drawn.n_iter_ == 250
    assert np.ptp(drawn.embedding_, axis=0).min() > 5
    plainly = TSNE(early_exaggeration=1.0, **options).fit(X)
    assert drawn.kl_divergence_ < plainly.kl_divergence_ * 1.05


def test_groups_far_apart_stay_apart(rng):
    X = np.concatenate([rng.normal(size=(40, 5)) + 30 * k for k in range(3)])
    Y = TSNE(perplexity=10, random_state=0).fit_transform(X)
    own = np.repeat(np.arange(3), 40)
    D = pairwise_distances(Y) + np.diag(np.full(120, np.inf))
    assert (own[D.argmin(axis=1)] == own).all()


@pytest.mark.parametrize("method", ["exact", "barnes_hut"])
def test_equal_bits_for_any_number_of_threads_and_any_run(rng, method):
    X = rng.normal(size=(300, 4))
    options = {"method": method, "max_iter": 250, "init": "random", "random_state": 3}
    one, two, again = (TSNE(n_jobs=k, **options).fit(X).embedding_ for k in (1, 2, 2))
    assert one.tobytes() == two.tobytes() == again.tobytes()
    assert (TSNE(**options | {"random_state": 4}).fit(X).embedding_ != one).any()


def test_units_do_not_matter(rng):
    X = rng.normal(size=(50, 3))
    options = {"perplexity": 8, "max_iter": 350}
    one = TSNE(**options).fit(X).embedding_
    assert (TSNE(**options).fit(X * 2.0**500).embedding_ == one).all()


@pytest.mark.parametrize("metric", ["cosine", "correlation"])
@pytest.mark.parametrize("power", [-1000, 1000])
def test_units_do_not_matter_to_angles(rng, metric, power):
    X = rng.normal(size=(20, 3))
    found = affinities.all_pairs(np.ldexp(X, power), 5.0, metric, None)
    assert (found == affinities.all_pairs(X, 5.0, metric, None)).all()


def test_rows_without_a_distance_are_named(rng):
    X = rng.normal(size=(20, 3))
    X[4] = 0.0
    with pytest.raises(DataError, match="between rows 0 and 4 is nan"):
        TSNE(perplexity=5, metric="cosine").fit(X)


def test_too_large_steps_are_said(rng):
    with pytest.warns(ConvergenceWarning, match="points diverged"):
        model = TSNE(perplexity=5, learning_rate=1e300).fit(rng.normal(size=(30, 3)))
    assert np.isfinite(model.embedding_).all()


@pytest.mark.parametrize("rate", [2e3, 1e5, 1e12])
def test_pictures_worse_than_points_at_one_place_are_said(rate):
    X = load_iris().data
    P = affinities.all_pairs(affinities.centred(X), 30.0, "euclidean", None)
    together = (P[P > 0] * np.log(P[P > 0] * len(X) * (len(X) - 1))).sum()
    with pytest.warns(ConvergenceWarning, match=r"if all points coincided.*Lower learning_rate"):
        model = TSNE(learning_rate=rate, max_iter=400, method="exact").fit(X)
    assert model.status_.code == "diverged" and model.kl_divergence_ > together
    assert f"points coincided, {together:.3g}" in model.status_.message
    good = TSNE(max_iter=400, method="exact").fit(X)
    assert good.status_.ok and good.kl_divergence_ < 0.2 * together


def test_too_few_steps_for_a_picture_are_said():
    X = np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 1]])
    with pytest.warns(ConvergenceWarning, match="if all points coincided.*Increase max_iter"):
        model = TSNE(perplexity=1.0, max_iter=250).fit(X)
    assert model.status_.code == "max_iter"
    assert TSNE(perplexity=1.0, max_iter=500).fit(X).status_.ok


def test_verbose_prints_nothing(rng, capsys):
    TSNE(perplexity=3, max_iter=400, verbose=2).fit(rng.normal(size=(10, 2)))
    assert capsys.readouterr() == ("", "")


def test_iterations_are_counted(rng):
    model = TSNE(perplexity=3, max_iter=400, min_grad_norm=0.0).fit(rng.normal(size=(10, 2)))
    assert model.n_iter_ == 400


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"perplexity": 20.0}, r"perplexity \(20.0\) must be less than n_samples \(20\)"),
        ({"n_components": 4}, "at most 3.*exact"),
        ({"metric": "precomputed"}, 'init="pca" cannot'),
        ({"metric": "precomputed", "init": "random"}, "square distance matrix"),
        ({"init": np.zeros((3, 2))}, r"shape \(20, 2\)"),
        ({"metric": lambda a, b: -1.0}, "rows 0 and 0 is -1"),
        ({"metric": "mahalanobis", "metric_params": {"V": 3}}, "cannot be used with these data"),
    ],
)
def test_bad_input_is_named(rng, options, words):
    with pytest.raises(DataError, match=words):
        TSNE(**{"perplexity": 5.0} | options).fit(rng.normal(size=(20, 3)))


@pytest.mark.parametrize("metric", ["seuclidean", "mahalanobis"])
def test_variances_of_a_metric_are_those_of_all_rows(rng, metric):
    """From 257 rows on there are several blocks, which must not have variances of their own."""
    X = rng.normal(size=(600, 3))
    X[:300, 0] *= 100
    V = X.var(axis=0, ddof=1)
    given = {"V": V} if metric == "seuclidean" else {"VI": np.linalg.inv(np.cov(X.T))}
    P = [
        affinities.all_pairs(X, 10.0, metric, affinities.with_estimates(X, metric, params))
        for params in (None, given)
    ]
    np.testing.assert_allclose(P[0], P[1], rtol=1e-7)
    still = np.column_stack((X[:40], np.ones(40)))  # tells no rows apart, and has no variance
    assert np.isfinite(TSNE(metric=metric, perplexity=5.0).fit(still).embedding_).all()


def test_sparse_distances_hold_no_other_neighbours():
    """The affinities of a graph of the nearest neighbours are those of all distances."""
    from sklearn.neighbors import KNeighborsTransformer

    X = load_iris().data[:60] + 1e-3 * np.random.default_rng(0).normal(size=(60, 4))
    graph = KNeighborsTransformer(n_neighbors=20, mode="distance").fit_transform(X)
    options = {"init": "random", "random_state": 0, "perplexity": 5, "max_iter": 250}
    options |= {"early_exaggeration": 1.0, "learning_rate": 10.0}
    dense = TSNE(metric="precomputed", **options).fit(pairwise_distances(X))
    sparse = TSNE(metric="precomputed", **options).fit(graph)
    assert sparse.kl_divergence_ == pytest.approx(dense.kl_divergence_, rel=1e-3)
    with pytest.raises(DataError, match="31 neighbors are required"):
        TSNE(metric="precomputed", **options | {"perplexity": 10}).fit(graph)
    with pytest.raises(TypeError, match="method='exact' needs the distances of all pairs"):
        TSNE(metric="precomputed", method="exact", **options).fit(graph)


def test_each_step_says_the_divergence(rng):
    """Between two checks, the one of the last check: it is measured every 50 steps."""
    with pellucid.watching() as watch:
        TSNE(perplexity=5, max_iter=400, random_state=0).fit(rng.normal(size=(40, 3)))
    steps = watch.steps
    values = [float(step.state["kl_divergence_"]) for step in steps]
    assert all(f"{value:.4g}" in step.sentence for value, step in zip(values, steps))
    assert len(set(values)) == 10  # at the start, at eight checks, and of the result


def test_components_have_positive_largest_entries(rng):
    X = affinities.centred(rng.normal(size=(40, 3)) * [1.0, 4.0, 2.0])
    axes = np.linalg.lstsq(X, components(X, 2), rcond=None)[0].T
    assert (axes[np.arange(2), np.abs(axes).argmax(axis=1)] > 0).all()


def test_centring_does_not_overflow_beside_zeros():
    Z = affinities.centred(np.array([[1.7e308, 0.0], [1.7e308, 1.0], [1.6e308, 0.0]]))
    assert np.isfinite(Z).all() and 0.5 <= np.abs(Z).max() <= 1.0


def test_groups_are_opened_by_their_size_over_the_distance(rng):
    Y = rng.normal(size=(60, 2)) * 0.05
    tree, repel = _loops.Tree(Y), np.empty_like(Y)
    tree.repulsion(0, len(Y), 1.0, 1e-3, repel)
    np.testing.assert_allclose(repel, plain.repulsion(Y)[0], rtol=0, atol=1e-11)


def test_boxes_are_split_in_the_middle():
    Y, repel = np.array([[0.0], [4.0], [10.0]]), np.empty((3, 1))
    _loops.Tree(Y).repulsion(0, 3, 1.0, 0.9, repel)
    w = 1 / (1 + 8.0**2)  # 0 and 4 are a group of size 5, 8 from the third point: 5 / 8 < 0.9
    assert repel[2, 0] == pytest.approx(2 * w * w * 8.0, rel=1e-14)


def test_attraction_is_exaggerated_for_the_first_steps(rng, monkeypatch):
    monkeypatch.setattr(embedding, "EXPLORATION", 2)
    asked, gradient = [], Divergence.gradient
    monkeypatch.setattr(
        Divergence,
        "gradient",
        lambda goal, Y, e=1.0, m=True: asked.append(e) or gradient(goal, Y, e, m),
    )
    P = affinities.all_pairs(affinities.centred(rng.normal(size=(30, 3))), 5.0, "euclidean", None)
    settings = embedding.Settings(10.0, 12.0, 4, 300, 0.0, 0.5)
    embedding.embed(P, rng.normal(size=(30, 2)) * 1e-4, settings)
    assert asked[:4] == [12.0, 12.0, 1.0, 1.0]


@pytest.mark.parametrize("n", [2, 1000, 65_536, 400_000])
def test_distances_of_many_rows_are_taken_in_small_blocks(monkeypatch, n):
    """Ctrl-C ends a fit between blocks, so a block of 256 rows would not do for any number of rows."""

    class Taken(Exception):
        pass

    def take(work, tasks):
        raise Taken(tasks)

    monkeypatch.setattr(affinities.parallel, "map", take)
    with pytest.raises(Taken) as taken:
        affinities.of_neighbours(np.zeros((n, 1)), 0.0, "euclidean", None)
    blocks = taken.value.args[0]
    ends = [0, *(rows.stop for rows in blocks)]
    assert [rows.start for rows in blocks] == ends[:-1] and ends[-1] == n
    assert max(rows.stop - rows.start for rows in blocks) * n <= 2**25
