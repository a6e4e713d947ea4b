"""One step of k-means, of a mixture and of t-SNE at a time, against NumPy."""

import numpy as np
import pytest

import pellucid
from pellucid.cluster import KMeans
from pellucid.manifold import TSNE
from pellucid.mixture import GaussianMixture


def clouds(scale=1000.0):
    """Three groups; some rows occur twice."""
    rng = np.random.default_rng(4)
    X = np.concatenate([rng.normal(size=(40, 2)) + at for at in ([0, 0], [3, 1], [-2, 4])])
    return scale * np.concatenate((X, X[:15]))


def watched(model, X, **options):
    with pellucid.watching(**options) as watch:
        model.fit(X)
    return watch


@pytest.mark.parametrize("options", [{}, {"init": "random", "n_init": 4}, {"algorithm": "elkan"}])
def test_a_step_of_k_means(options):
    X = clouds()
    model = KMeans(4, random_state=3, tol=0, **options)
    plain = KMeans(4, random_state=3, tol=0, **options).fit(X)
    watch = watched(model, X)
    assert np.array_equal(plain.cluster_centers_, model.cluster_centers_)
    assert [step.iteration for step in watch.steps] == list(range(model.n_iter_ + 1))
    for before, step in zip(watch.steps, watch.steps[1:]):
        distances = ((X[:, None] - before.state["cluster_centers_"]) ** 2).sum(axis=2)
        labels = distances.argmin(axis=1)
        assert np.array_equal(labels, step.state["labels_"])
        means = np.array([X[labels == k].mean(axis=0) for k in range(4)])
        assert step.state["cluster_centers_"] == pytest.approx(means)
        assert step.numbers["objective"] == pytest.approx(distances.min(axis=1).sum())
        assert step.event["sizes"] == pytest.approx(np.bincount(labels, minlength=4))
        inertia = ((X - means[labels]) ** 2).sum()
        assert step.state["inertia_"] == pytest.approx(inertia)
    assert step.state["inertia_"] == model.inertia_
    nearest = ((X[:, None] - watch.steps[0].state["cluster_centers_"]) ** 2).sum(axis=2).argmin(1)
    assert np.array_equal(watch.model(0).predict(X), nearest)


def test_states_of_k_means_are_on_the_original_scale():
    X = clouds(1.0)
    ordinary = watched(KMeans(3, init=X[:3]), X).steps
    extreme = watched(KMeans(3, init=np.ldexp(X[:3], 450)), np.ldexp(X, 450)).steps
    for a, b in zip(ordinary, extreme, strict=True):
        assert np.array_equal(
            np.ldexp(a.state["cluster_centers_"], 450), b.state["cluster_centers_"]
        )
        inertia = pytest.approx(b.state["inertia_"], rel=1e-13, nan_ok=True)
        assert np.ldexp(a.state["inertia_"], 900) == inertia


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
@pytest.mark.parametrize("n_init", [1, 3])
def test_a_step_of_expectation_maximisation(kind, n_init):
    X = clouds()
    options = {"covariance_type": kind, "n_init": n_init, "init_params": "random", "max_iter": 12}
    model = GaussianMixture(3, random_state=1, reg_covar=0.0, tol=0.0, **options)
    plain = GaussianMixture(3, random_state=1, reg_covar=0.0, tol=0.0, **options)
    with pytest.warns(UserWarning, match="not enough"):
        watch = watched(model, X)
    with pytest.warns(UserWarning, match="not enough"):
        plain.fit(X)
    assert np.array_equal(plain.means_, model.means_)
    assert len(watch.steps) == 13
    for i, step in enumerate(watch.steps[1:]):
        old = watch.model(i)
        R = old.predict_proba(X)
        mass = R.sum(axis=0)
        means = R.T @ X / mass[:, None]
        moved = X[:, None] - means
        full = np.einsum("ik,ikp,ikq->kpq", R, moved, moved)
        expected = {
            "full": full / mass[:, None, None],
            "tied": full.sum(axis=0) / len(X),
            "diag": np.einsum("kpp->kp", full) / mass[:, None],
            "spherical": np.einsum("kpp->k", full) / mass / 2,
        }[kind]
        assert step.state["weights_"] == pytest.approx(mass / len(X))
        assert step.state["means_"] == pytest.approx(means)
        assert step.state["covariances_"] == pytest.approx(expected, rel=1e-6, abs=1e-3)
        assert step.numbers["log_likelihood"] == pytest.approx(old.score(X))
        assert watch.model(i + 1).lower_bound_ == step.numbers["log_likelihood"]
    for name, value in step.state.items():
        assert np.array_equal(value, getattr(model, name)), name


def test_points_of_every_step():
    X = clouds(1.0)
    model = TSNE(perplexity=8, max_iter=260, random_state=2)
    plain, watch = TSNE(perplexity=8, max_iter=260, random_state=2).fit(X), watched(model, X)
    assert np.array_equal(plain.embedding_, model.embedding_)
    assert list(plain.history_["objective"]) == list(model.history_["objective"])
    assert len(watch.steps) == 261  # at each of 260 gradients, and at the end
    first = watch.steps[0].state["embedding_"]
    assert first[:, 0].std() < 1e-3  # principal components, scaled down
    assert np.array_equal(watch.steps[-1].state["embedding_"], model.embedding_)
    assert watch.steps[-1].state["kl_divergence_"] == model.kl_divergence_
    move = np.linalg.norm(watch.steps[1].state["embedding_"] - first)
    assert 0 < move < np.inf and watch.model(5).embedding_.shape == (len(X), 2)


def test_points_of_rows_that_were_left_out():
    X = clouds(1.0)
    X[3, 0] = np.nan
    model = TSNE(perplexity=8, max_iter=250, table=pellucid.Table(missing="drop"))
    state = watched(model, X, max_states=5).steps[-1].state
    assert np.isnan(state["embedding_"][3]).all()
    assert np.array_equal(state["embedding_"], model.embedding_, equal_nan=True)
