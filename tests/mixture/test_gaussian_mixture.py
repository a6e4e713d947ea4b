"""GaussianMixture: scikit-learn from the same start, R, the floor, and what it refuses."""

import warnings

import numpy as np
import pytest
import sklearn.mixture
from sklearn.datasets import load_iris, load_wine

from pellucid import load
from pellucid.errors import ConvergenceWarning, DataError
from pellucid.mixture import GaussianMixture
from pellucid.mixture.em import Moments
from tests.oracles import shared

TYPES = ("full", "tied", "diag", "spherical")
LEARNED = ("weights_", "means_", "covariances_", "precisions_", "precisions_cholesky_")


def start(X, K, kind, rows):
    p = X.shape[1]
    precision = np.diag(1 / X.var(axis=0))
    precisions = {
        "full": np.stack([precision] * K), "tied": precision,
        "diag": np.tile(np.diag(precision), (K, 1)), "spherical": np.full(K, np.trace(precision) / p),
    }  # fmt: skip
    return {
        "n_components": K, "covariance_type": kind, "weights_init": np.full(K, 1 / K),
        "means_init": X[rows], "precisions_init": precisions[kind],
    }  # fmt: skip


def quiet(model, X, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, **more)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("table", ["iris", "wine"])
def test_equal_to_scikit_learn_from_the_same_start(kind, table):
    X = (load_iris if table == "iris" else load_wine)().data[:, :4]
    options = start(X, 3, kind, [0, 70, 130]) | {"reg_covar": 0.0, "tol": 1e-7, "max_iter": 300}
    ours = quiet(GaussianMixture(**options), X)
    theirs = quiet(sklearn.mixture.GaussianMixture(**options), X)
    assert ours.n_iter_ == theirs.n_iter_ and ours.converged_ == theirs.converged_
    for name in LEARNED:
        a, b = getattr(ours, name), getattr(theirs, name)
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10 * np.abs(b).max(), err_msg=name)
    np.testing.assert_allclose(ours.lower_bounds_, theirs.lower_bounds_, rtol=1e-11)
    np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X), rtol=1e-10)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-10)
    assert (ours.predict(X) == theirs.predict(X)).all()
    assert ours.bic(X) == pytest.approx(theirs.bic(X), rel=1e-12)
    assert ours.aic(X) == pytest.approx(theirs.aic(X), rel=1e-12)


@pytest.mark.parametrize(
    ("key", "kind"), [("VII", "spherical"), ("EEE", "tied"), ("VVV", "full"), ("VVI", "diag")]
)
@pytest.mark.parametrize("K", [2, 3])
def test_optimum_of_r(key, kind, K):
    """mclust stops at a local optimum of its own: ours is that one, or a better one."""
    expected = shared.r_reference(f"mclust_faithful_{key}_G{K}")
    X = shared.frame("r_faithful.csv")[["eruptions", "waiting"]].to_numpy()
    means = np.array(expected["mean"])
    options = {"means_init": means, "weights_init": expected["pro"], "tol": 1e-13}
    model = GaussianMixture(K, covariance_type=kind, max_iter=20_000, random_state=0, **options)
    model = quiet(model, X)
    found = model.score(X) * len(X)
    if np.allclose(model.means_, means, rtol=1e-2):
        assert found == pytest.approx(expected["loglik"], rel=1e-5)
        assert found >= expected["loglik"] - 1e-8
        np.testing.assert_allclose(model.means_, means, rtol=2e-3)
        np.testing.assert_allclose(model.weights_, expected["pro"], atol=2e-3)
    else:
        assert found > expected["loglik"]
    assert model._n_parameters() == expected["df"]


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("init", ["kmeans", "random", "random_from_data", "k-means++"])
def test_likelihood_never_falls(rng, kind, init):
    X = np.concatenate([rng.normal(size=(60, 3)), np.repeat(rng.normal(size=(3, 3)), 5, axis=0)])
    model = GaussianMixture(6, covariance_type=kind, init_params=init, tol=0.0, random_state=1)
    model = quiet(model.set_params(max_iter=150), X)
    bounds = np.array(model.lower_bounds_)
    assert (np.diff(bounds) >= -1e-11 * np.abs(bounds[1:])).all()
    assert (model.history_["log_likelihood"] == bounds).all()


@pytest.mark.parametrize("kind", ["full", "diag"])
def test_floor_is_a_share_of_the_variance_of_the_data(rng, kind):
    X = np.concatenate([rng.normal(size=(50, 2)), np.full((50, 2), 3.0)]) * [1.0, 1e5]
    model = quiet(GaussianMixture(2, covariance_type=kind, reg_covar=1e-4, random_state=0), X)
    tight = int(np.argmin(model.covariances_.reshape(2, -1)[:, 0]))
    found = model.covariances_[tight]
    expected = 1e-4 * X.var(axis=0)
    np.testing.assert_allclose(np.diag(found) if kind == "full" else found, expected, rtol=1e-6)


def test_units_do_not_matter(rng):
    X = rng.normal(size=(80, 3)) + np.repeat(np.eye(3)[:2] * 4, 40, axis=0)
    factor = 2.0 ** np.array([0, 30, -40])
    rows = {"means_init": X[[0, 70]], "weights_init": [0.5, 0.5], "random_state": 0}
    one = GaussianMixture(2, precisions_init=[np.eye(3)] * 2, **rows).fit(X)
    rows["means_init"] = rows["means_init"] * factor
    scaled = [np.diag(factor**-2.0)] * 2
    other = GaussianMixture(2, precisions_init=scaled, **rows).fit(X * factor)
    np.testing.assert_allclose(one.means_ * factor, other.means_, rtol=1e-12)
    np.testing.assert_allclose(
        one.covariances_ * np.outer(factor, factor), other.covariances_, rtol=1e-11
    )
    far = GaussianMixture(
        2, precisions_init=[np.eye(3)] * 2, **rows | {"means_init": X[[0, 70]] + 1e7}
    )
    np.testing.assert_allclose(far.fit(X + 1e7).covariances_, one.covariances_, rtol=1e-6)


@pytest.mark.parametrize("kind", TYPES)
def test_explanations_are_log_ratios_of_the_shares(kind):
    """They add up, and removing a column from clouds with diagonal shapes removes its part."""
    X = load_iris().data
    model = quiet(GaussianMixture(3, covariance_type=kind, random_state=0), X)
    said = model.explain(X)
    assert said.scale == "log-odds" and said.contributions.shape == (150, 4, 3)
    np.testing.assert_allclose(said.base + said.contributions.sum(1), said.prediction, rtol=1e-12)
    shares = model.predict_proba(X)
    sure = shares.min(axis=1) > 1e-200
    ratio = np.log(shares[sure, 2]) - np.log(shares[sure, 0])
    np.testing.assert_allclose(
        said.prediction[sure, 2] - said.prediction[sure, 0], ratio, rtol=1e-9
    )
    if kind in ("diag", "spherical"):
        variance = np.broadcast_to(np.reshape(model.covariances_, (3, -1)), (3, 4))
        apart = (X[:, None] - model.means_) ** 2 / variance
        parts = -0.5 * (apart[:, 1] - apart[:, 0])
        found = said.contributions[:, :, 1] - said.contributions[:, :, 0]
        np.testing.assert_allclose(found, parts, rtol=1e-9, atol=1e-9)


def test_truth_by_construction(rng):
    truth = GaussianMixture(2, means_init=[[0, 0], [6, 0]], random_state=3)
    truth.fit(np.concatenate([rng.normal(size=(200, 2)), rng.normal([6, 0], size=(200, 2))]))
    X, labels = truth.sample(20_000)
    again = GaussianMixture(2, means_init=truth.means_, random_state=0).fit(X)
    np.testing.assert_allclose(again.means_, truth.means_, atol=0.05)
    np.testing.assert_allclose(again.covariances_, truth.covariances_, atol=0.08)
    assert (truth.predict(X) == labels).mean() > 0.99


@pytest.mark.parametrize("kind", TYPES)
def test_samples_have_the_covariance_of_the_model(rng, kind):
    A = rng.normal(size=(3, 3))
    model = GaussianMixture(1, covariance_type=kind, random_state=0)
    model.fit(rng.normal(size=(300, 3)) @ A)
    X, labels = model.sample(60_000)
    again = GaussianMixture(1, covariance_type=kind).fit(X)
    scale = np.abs(model.covariances_).max()
    np.testing.assert_allclose(again.covariances_, model.covariances_, atol=0.03 * scale)
    assert set(labels) == {0}


def test_warm_start_goes_on():
    X = load_iris().data
    options = {"random_state": 0, "tol": 1e-9, "reg_covar": 0.0}
    whole = quiet(GaussianMixture(3, max_iter=20, **options), X)
    parts = quiet(GaussianMixture(3, max_iter=10, warm_start=True, **options), X)
    quiet(parts, X)
    np.testing.assert_allclose(parts.means_, whole.means_, rtol=1e-11)
    assert parts.lower_bound_ == pytest.approx(whole.lower_bound_, rel=1e-12)


def test_no_iterations_give_the_start():
    X = load_iris().data
    model = GaussianMixture(3, max_iter=0, means_init=X[[0, 70, 130]], random_state=0).fit(X)
    assert model.n_iter_ == 0
    np.testing.assert_allclose(model.means_, X[[0, 70, 130]], rtol=1e-14)


def test_weights_are_repetition(rng):
    X = rng.normal(size=(50, 2))
    w = rng.integers(0, 4, 50)
    one = quiet(GaussianMixture(3, random_state=0), X, sample_weight=w)
    other = quiet(GaussianMixture(3, random_state=0), np.repeat(X, w, axis=0))
    np.testing.assert_allclose(one.means_, other.means_, rtol=1e-10)


def test_more_components_than_different_rows_is_said():
    X = np.array([[0.0, 1.0], [2.0, 1.5]] * 5)
    with pytest.warns(ConvergenceWarning, match="2 different rows"):
        model = GaussianMixture(3, random_state=0).fit(X)
    assert np.isfinite(model.score_samples(X)).all()


def test_iterations_that_do_not_suffice_are_said():
    with pytest.warns(ConvergenceWarning, match="max_iter=1 was not enough"):
        GaussianMixture(3, max_iter=1, random_state=0).fit(load_iris().data)


def test_verbose_prints_nothing(capsys):
    quiet(GaussianMixture(2, verbose=2, random_state=0), load_iris().data)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_components": 200}, "n_samples >= n_components"),
        ({"weights_init": [0.5, 0.6]}, "normalized"),
        ({"weights_init": [1.5, -0.5]}, "range"),
        ({"weights_init": [1.0]}, "shape"),
        ({"means_init": [[0.0, 1.0]]}, "shape"),
        ({"means_init": np.full((2, 4), np.nan)}, "NaN"),
        ({"precisions_init": np.zeros((2, 4, 4))}, "positive-definite"),
        ({"precisions_init": np.eye(4)}, "shape"),
        ({"means_init": np.full((2, 4), 1e200), "reg_covar": 0.0}, "too far|singular"),
    ],
)
def test_bad_input_is_named(options, words):
    with pytest.raises(DataError, match=words):
        GaussianMixture(**{"n_components": 2, "random_state": 0} | options).fit(load_iris().data)


def test_without_a_floor_a_collapsed_component_is_named():
    X = np.array([[0.0], [0.0], [0.0], [5.0], [6.0], [7.0]])
    with pytest.raises(DataError, match=r"component \d is singular.*reg_covar"):
        GaussianMixture(2, reg_covar=0.0, means_init=[[0.0], [6.0]], random_state=0).fit(X)


@pytest.mark.parametrize("kind", TYPES)
def test_precisions_to_start_from_have_their_covariances(rng, kind):
    X = rng.normal(size=(60, 2))
    A = np.array([[2.0, 0.5], [0.5, 1.0]])
    given = {
        "full": [A, 2 * A],
        "tied": A,
        "diag": [[2.0, 1.0], [4.0, 3.0]],
        "spherical": [2.0, 5.0],
    }
    options = {"weights_init": [0.5, 0.5], "precisions_init": given[kind], "covariance_type": kind}
    model = GaussianMixture(2, max_iter=0, means_init=[[0, 0], [1, 1]], **options).fit(X)
    P = np.asarray(given[kind])
    expected = np.linalg.inv(P) if kind in ("full", "tied") else 1 / P
    np.testing.assert_allclose(model.covariances_, expected, rtol=1e-12)
    # A component that no row speaks for keeps what it was given.
    model = quiet(GaussianMixture(2, means_init=[[0, 0], [1e3, 1e3]], **options), X)
    np.testing.assert_allclose(model.weights_, [1, 0], atol=1e-12)
    if kind != "tied":
        np.testing.assert_allclose(model.covariances_[1], expected[1], rtol=1e-12)


def test_warm_start_with_other_covariances_is_refused(rng):
    X = rng.normal(size=(60, 2))
    for kind in TYPES:
        for other in TYPES:  # two components of two columns: "tied" and "diag" look alike
            model = quiet(GaussianMixture(2, covariance_type=kind, warm_start=True), X)
            model.set_params(covariance_type=other)
            if kind == other:
                quiet(model, X)
            else:
                with pytest.raises(DataError, match=f"covariance_type='{other}'"):
                    model.fit(X)


def test_identical_rows_with_fractional_weights_are_counted_once():
    X = np.repeat([[0.0, 1.0], [5.0, 2.0], [9.0, 7.0]], 4, axis=0)
    with pytest.warns(ConvergenceWarning, match="3 different rows"):
        GaussianMixture(4, random_state=0).fit(X, sample_weight=np.linspace(0.5, 1.3, 12))


def test_a_stored_mixture_of_two_is_loaded_and_draws_with_rounded_weights(tmp_path):
    model = GaussianMixture(3, random_state=0).fit(load_iris().data)
    model.weights_ = np.array([0.5, 0.5, 1e-9]) * (1 + 4e-7)
    model.save(tmp_path / "mixture.pellucid")
    again = load(tmp_path / "mixture.pellucid")
    np.testing.assert_array_equal(again.sample(50)[0], model.sample(50)[0])


def test_sums_of_two_blocks_add_up():
    a, b = (Moments(v, np.full(2, v), np.full((2, 3), v), np.full((2, 3), v)) for v in (1.0, 4.0))
    both = a.merge(b)
    assert both.bound == 5.0
    assert all((part == 5.0).all() for part in (both.mass, both.first, both.second))
