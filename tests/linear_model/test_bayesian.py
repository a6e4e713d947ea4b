"""Bayesian regressions: closed forms, scikit-learn, predictive sd, coverage."""

import mpmath
import numpy as np
import pytest
import sklearn.linear_model
from scipy.special import ndtri

from pellucid.errors import DataError
from pellucid.linear_model import BayesianRegression, BayesianRidge
from tests.oracles import shared

X4, Y4 = np.array([[1.0], [2.0], [3.0], [4.0]]), np.array([2.0, 3.0, 5.0, 8.0])
BOSTON_MEAN = [
    *(14.26197174, -0.09799468, 0.04839736, -0.01041433, 2.64452157, -5.5637727, 4.94190763),
    *(-0.00704805, -1.14318749, 0.22541465, -0.01116255, -0.60875824, 0.01250895, -0.47400488),
]
BOSTON_SD = [
    *(2.32748342, 0.02375156, 0.00993037, 0.0438196, 0.61152884, 1.96865572, 0.25257404),
    *(0.00941107, 0.13785635, 0.04684377, 0.00270424, 0.08375579, 0.0018958, 0.03548253),
]


def test_small_vector():
    model = BayesianRegression(2.0, 10.0, intercept_variance=10.0).fit(X4, Y4)
    np.testing.assert_allclose(model.intercept_, -0.2384500745, atol=1e-10)
    np.testing.assert_allclose(model.coef_, [1.9001490313], atol=1e-10)
    expected = [[0.3129657228, -0.7451564829], [-0.7451564829, 2.2503725782]]
    np.testing.assert_allclose(model.covariance_, expected, atol=1e-10)
    _, sd = model.predict([[2.5]], return_std=True)
    assert sd[0] == pytest.approx(1.5750002957, abs=1e-10)


def test_boston_vector():
    table = shared.frame("boston.csv")
    X, y = table.drop(columns="MEDV").to_numpy(float), table["MEDV"].to_numpy(float)
    model = BayesianRegression(11.8, 10.0, intercept_variance=10.0).fit(X, y)
    np.testing.assert_allclose(np.append(model.intercept_, model.coef_), BOSTON_MEAN, atol=1e-7)
    sd = np.sqrt(np.diagonal(model.covariance_))
    np.testing.assert_allclose(np.roll(sd, 1), BOSTON_SD, atol=1e-7)
    fit, spread = model.predict(X[:3], return_std=True)
    np.testing.assert_allclose(fit, [29.68456509, 24.61981851, 30.89214674], atol=1e-7)
    np.testing.assert_allclose(spread, [3.46233531, 3.45349634, 3.45486277], atol=1e-7)
    for tau, first in ((100.0, (31.37638906, -0.10567336)), (1.0, (2.62865646, -0.09376823))):
        other = BayesianRegression(11.8, tau, intercept_variance=tau).fit(X, y)
        np.testing.assert_allclose([other.intercept_, other.coef_[0]], first, atol=1e-7)


@pytest.mark.parametrize("shape", [(30, 4), (6, 10)])
@pytest.mark.parametrize("free", [np.inf, 3.0, None])
def test_posterior_is_the_closed_form(shape, free):
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=shape) + 100, rng.integers(1, 4, shape[0]).astype(float)
    y = X @ rng.normal(size=shape[1]) + rng.normal(size=shape[0])
    options = {"fit_intercept": False} if free is None else {"intercept_variance": free}
    model = BayesianRegression(0.5, 2.0, **options).fit(X, y, w)
    A = X if free is None else np.column_stack([X, np.ones(len(X))])
    prior = np.full(A.shape[1], 0.5)
    if free is not None:
        prior[-1] = 1 / free
    C = np.linalg.inv(A.T @ (A * w[:, None]) / 0.5 + np.diag(prior))
    b = C @ (A.T @ (w * y)) / 0.5
    found = model.coef_ if free is None else np.append(model.coef_, model.intercept_)
    np.testing.assert_allclose(found, b, rtol=1e-6, atol=1e-6)
    size = A.shape[1]
    np.testing.assert_allclose(model.covariance_[:size, :size], C, rtol=1e-6, atol=1e-8)
    new = rng.normal(size=(5, shape[1])) + 100
    B = new if free is None else np.column_stack([new, np.ones(5)])
    expected = np.sqrt(np.einsum("ij,jk,ik->i", B, C, B) + 0.5)
    np.testing.assert_allclose(model.predict(new, return_std=True)[1], expected, rtol=1e-6)


def test_sd_is_smallest_near_the_mean_of_the_rows_and_knows_no_origin():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(50, 3))
    y = X @ [1.0, -2.0, 0.5] + rng.normal(size=50)
    for model in (BayesianRegression(1.0, 4.0), BayesianRidge()):
        near = model.fit(X, y).predict(X, return_std=True)
        far = model.fit(X + 1e5, y).predict(X + 1e5, return_std=True)
        np.testing.assert_allclose(far[0], near[0], rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(far[1], near[1], rtol=1e-7)
        middle = model.fit(X, y).predict(X.mean(axis=0)[None], return_std=True)[1][0]
        assert middle < near[1].min()


@pytest.mark.parametrize("shape", [(80, 5), (10, 25)])
@pytest.mark.parametrize("intercept", [True, False])
def test_evidence_is_scikit_learns(shape, intercept):
    from sklearn.linear_model import BayesianRidge as Theirs

    rng = np.random.default_rng(2)
    X, w = rng.normal(size=shape) + 3, rng.uniform(0.5, 2, shape[0])
    y = X @ rng.normal(size=shape[1]) + rng.normal(size=shape[0])
    options = {"fit_intercept": intercept, "compute_score": True, "max_iter": 3000}
    ours = BayesianRidge(**options).fit(X, y, w)
    theirs = Theirs(**options, tol=1e-14).fit(X, y, w)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-6)
    for name in ("alpha_", "lambda_", "intercept_"):
        found, expected = getattr(ours, name), getattr(theirs, name)
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-9)
    np.testing.assert_allclose(ours.sigma_, theirs.sigma_, rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(ours.scores_[-1], theirs.scores_[-1], rtol=1e-8)
    np.testing.assert_allclose(ours.scores_[:3], theirs.scores_[:3], rtol=1e-8)
    sd = ours.predict(X, return_std=True)[1] ** 2
    b0 = 1 / (ours.alpha_ * w.sum()) if intercept else 0.0
    np.testing.assert_allclose(sd - b0, theirs.predict(X, return_std=True)[1] ** 2, rtol=1e-6)


def test_constant_target_and_perfect_fit():
    X = np.random.default_rng(4).normal(size=(20, 3))
    still = BayesianRidge().fit(X, np.full(20, 7.0))
    np.testing.assert_allclose(still.predict(X), 7.0, rtol=1e-9)
    assert still.predict(X, return_std=True)[1].max() < 0.01
    sure = BayesianRidge().fit(X, X @ [1.0, 2.0, 3.0])
    np.testing.assert_allclose(sure.coef_, [1.0, 2.0, 3.0], rtol=1e-6)


def test_flat_prior_needs_independent_columns():
    X = np.column_stack([X4, 2 * X4])
    with pytest.raises(DataError, match="no finite variance"):
        BayesianRegression(1.0, np.inf).fit(X, Y4)
    model = BayesianRegression(1.0, np.inf).fit(X4, Y4)
    np.testing.assert_allclose([model.coef_[0], model.intercept_], [2.0, -0.5], rtol=1e-12)


def test_summary_of_the_posterior():
    model = BayesianRegression(2.0, 10.0, intercept_variance=10.0).fit(X4, Y4)
    table = model.summary(level=0.9).frame()
    assert table["term"] == ["intercept", "x0"]
    sd = np.sqrt(0.3129657228)
    assert table["sd"][1] == pytest.approx(sd, abs=1e-9)
    assert table["high"][1] - table["low"][1] == pytest.approx(2 * 1.6448536 * sd, rel=1e-6)


def test_intervals_cover_what_the_prior_draws():
    """Truth by construction: coefficients drawn from the prior, rows from the model."""
    rng = np.random.default_rng(5)
    X, new = rng.normal(size=(12, 3)) + 2, rng.normal(size=(1, 3)) + 2
    hits = np.zeros(2)
    runs = 800
    for _ in range(runs):
        b = rng.normal(size=3) * np.sqrt(2.0)
        y = X @ b + 5 + rng.normal(size=12)
        model = BayesianRegression(1.0, 2.0).fit(X, y)
        mean = float(new[0] @ b + 5)
        for j, (kind, truth) in enumerate((("mean", mean), ("observation", mean + rng.normal()))):
            low, high = model.predict_interval(new, 0.9, kind=kind)[0]
            hits[j] += low <= truth <= high
    assert np.abs(hits / runs - 0.9).max() < 4 * np.sqrt(0.09 / runs)


def test_parameters_without_effect(capsys):
    X, before = X4.copy(), X4.copy()
    model = BayesianRidge(copy_X=False, verbose=True).fit(X, Y4)
    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(model.coef_, BayesianRidge().fit(X, Y4).coef_)
    assert capsys.readouterr().out == ""


def precise_posterior(X, y, intercept_variance, asked):
    """Noise 1, prior 2: means of the coefficients, sd of x . b + b0, to 50 digits."""
    constant = [] if intercept_variance is None else [1]
    with mpmath.workdps(50):
        A, B = (mpmath.matrix([[*map(float, row), *constant] for row in T]) for T in (X, asked))
        G = A.T * A
        for j in range(X.shape[1]):
            G[j, j] += 0.5
        if constant:
            G[X.shape[1], X.shape[1]] += mpmath.mpf(1) / intercept_variance
        C = G**-1
        b = C * (A.T * mpmath.matrix(y.tolist()))
        rows = [B[i, :] for i in range(len(asked))]
        sd = [float(mpmath.sqrt((row * C * row.T)[0])) for row in rows]
        return np.array([float(v) for v in b[: X.shape[1]]]), np.array(sd)


@pytest.mark.parametrize("far", [1e4, 1e6, 1e8])
@pytest.mark.parametrize("variance", [None, 3.0])
def test_columns_far_from_the_origin_keep_their_digits(far, variance):
    rng = np.random.default_rng(0)
    near = rng.normal(size=(30, 4))
    X, y = near + far, near @ [1.0, 2.0, 3.0, 4.0] + rng.normal(size=30)
    options = {"fit_intercept": False} if variance is None else {"intercept_variance": variance}
    model = BayesianRegression(1.0, 2.0, **options).fit(X, y)
    coef, sd = precise_posterior(X, y, variance, X[:5])
    rtol = 1e-15 * far if variance is None else 1e-13
    np.testing.assert_allclose(model.coef_, coef, rtol=rtol)
    ends = model.predict_interval(X[:5], kind="mean")
    np.testing.assert_allclose(np.diff(ends)[:, 0] / 2 / ndtri(0.975), sd, rtol=rtol)


def test_evidence_without_an_intercept_keeps_its_digits():
    rng = np.random.default_rng(0)
    near = rng.normal(size=(30, 4))
    for far, rtol in ((1e4, 1e-10), (1e6, 1e-8)):
        X, y = near + far, near @ [1.0, 2.0, 3.0, 4.0] + rng.normal(size=30)
        model = BayesianRidge(fit_intercept=False).fit(X, y)
        known = BayesianRegression(1 / model.alpha_, 1 / model.lambda_, fit_intercept=False)
        known.fit(X, y)
        np.testing.assert_allclose(model.coef_, known.coef_, rtol=rtol)
        both = (m.predict_interval(X, kind="mean") - m.predict(X)[:, None] for m in (model, known))
        np.testing.assert_allclose(*both, rtol=1e-3 * rtol * far)


@pytest.mark.parametrize("intercept", [True, False])
def test_summary_of_the_evidence_shows_the_posterior(intercept):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2)) + 5
    y = X @ [1.0, -2.0] + rng.normal(size=40)
    model = BayesianRidge(fit_intercept=intercept, standardize=intercept).fit(X, y)
    table = model.summary(level=0.9)
    frame = {name: np.array(values) for name, values in table.frame().items()}
    sd = np.sqrt(np.diagonal(model.sigma_))
    np.testing.assert_allclose(frame["sd"][-2:], sd, rtol=1e-10)
    np.testing.assert_allclose(frame["high"] - frame["mean"], ndtri(0.95) * frame["sd"], rtol=1e-9)
    assert dict(table.header) == {"alpha": model.alpha_, "lambda": model.lambda_}
    if intercept:  # the prediction at the origin is the intercept
        ends = model.predict_interval(np.zeros((1, 2)), 0.9, kind="mean")[0]
        np.testing.assert_allclose([frame["low"][0], frame["high"][0]], ends, rtol=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
def test_a_table_of_constant_columns_is_fitted_as_in_scikit_learn(intercept):
    X, y = np.full((10, 2), float(intercept)), np.arange(10.0)
    model = BayesianRidge(fit_intercept=intercept).fit(X, y)
    theirs = sklearn.linear_model.BayesianRidge(fit_intercept=intercept).fit(X, y)
    for name in ("alpha_", "lambda_", "coef_", "sigma_", "intercept_"):
        np.testing.assert_allclose(getattr(model, name), getattr(theirs, name), rtol=1e-9)
