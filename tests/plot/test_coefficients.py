"""Coefficient paths, intervals and posteriors against closed forms, scikit-learn and statsmodels."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.stats import norm
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.linear_model import LogisticRegression as Theirs
from sklearn.linear_model import lasso_path

from pellucid import plot
from pellucid.data.datasets import load
from pellucid.errors import ParameterError
from pellucid.inspection import bootstrap
from pellucid.linear_model import (
    BayesianRegression,
    BayesianRidge,
    Lasso,
    LinearRegression,
    PoissonRegressor,
    Ridge,
)  # fmt: skip
from pellucid.tree import DecisionTreeClassifier
from tests.plot.reading import line_data, parsed, texts

X, Y = load_diabetes(return_X_y=True, as_frame=True)
Z = X.to_numpy()


def test_ridge_path():
    values = [0.01, 1.0, 100.0]
    display = plot.coefficient_path(Ridge(), X, Y, values=values)
    C = Z - Z.mean(axis=0)
    for alpha, found in zip(values, display.coefficients):
        expected = np.linalg.solve(C.T @ C + alpha * np.eye(10), C.T @ (Y - Y.mean()))
        np.testing.assert_allclose(found, expected, rtol=1e-8)
    frame = display.frame()
    assert frame["term"][:3] == ["age"] * 3
    assert frame["alpha"][:3] == values
    np.testing.assert_array_equal(np.reshape(frame["coefficient"], (10, 3)).T, display.coefficients)
    parsed(display)
    ax = display.plot().ax_
    assert ax.get_xscale() == "log"
    for line, path in zip(line_data(ax), display.coefficients.T):
        np.testing.assert_array_equal(line, np.column_stack([values, path]))


def test_lasso_path_begins_where_all_are_zero():
    display = plot.coefficient_path(Lasso(tol=1e-10), Z, Y.to_numpy())
    assert not display.coefficients[-1].any()
    assert np.count_nonzero(display.coefficients[-2]) >= 1
    _, expected, _ = lasso_path(
        Z - Z.mean(axis=0), Y - Y.mean(), alphas=display.values, tol=1e-10, max_iter=100_000
    )
    np.testing.assert_allclose(display.coefficients, expected.T[::-1], atol=0.05)


def test_lasso_path_of_a_frame_with_levels():
    tips = load("tips")
    display = plot.coefficient_path(Lasso(standardize=True, tol=1e-10), tips.X, tips.y)
    zero = ~display.coefficients.any(axis=1)
    assert zero[-1] and not zero[:-1].any(), "the last penalty is the smallest with nothing left"


def test_scaled_path():
    tips = load("tips")
    plain, scaled = (
        plot.coefficient_path(Ridge(), tips.X, tips.y, values=[1.0, 9.0], scaled=scaled)
        for scaled in (False, True)
    )
    bill, sex = (
        tips.X.column(name).to_numpy(zero_copy_only=False) for name in ("total_bill", "sex")
    )
    deviations = [bill.std(), *((sex == level).std() for level in ("Female", "Male"))]
    assert plain.names[:3] == ["total_bill", "sex=Female", "sex=Male"]
    np.testing.assert_allclose(scaled.coefficients[:, :3], plain.coefficients[:, :3] * deviations)
    assert "coefficient per standard deviation" in texts(parsed(scaled))
    iris, species = load_iris(return_X_y=True)
    theirs = Theirs(max_iter=5000)
    plain, scaled = (
        plot.coefficient_path(theirs, iris, species, values=[1.0], scaled=scaled)
        for scaled in (False, True)
    )
    expected = plain.coefficients * np.tile(iris.std(axis=0), 3)
    np.testing.assert_allclose(scaled.coefficients, expected)


def test_path_along_the_variance_of_a_prior():
    variances = [1.0, 100.0, 10_000.0]
    model = BayesianRegression(noise_variance=3000.0)
    display = plot.coefficient_path(model, X, Y, values=variances)
    assert display.parameter == "prior_variance"
    ridge = plot.coefficient_path(Ridge(), X, Y, values=[3000.0 / v for v in variances])
    np.testing.assert_allclose(display.coefficients, ridge.coefficients[::-1], rtol=1e-6)


def test_paths_of_other_parameters():
    X2, y2 = load_breast_cancer(return_X_y=True)
    model = Theirs(max_iter=5000)
    display = plot.coefficient_path(model, X2[:, :3], y2, values=[0.1, 1.0])
    assert display.parameter == "C"
    assert display.coefficients.shape == (2, 3)
    iris, species = load_iris(return_X_y=True)
    display = plot.coefficient_path(model, iris, species, values=[1.0])
    assert display.names[:5] == ["0: x0", "0: x1", "0: x2", "0: x3", "1: x0"]
    parsed(display)
    with pytest.raises(ParameterError, match="no parameter 'alpha or C'"):
        plot.coefficient_path(LinearRegression(), X, Y)
    with pytest.raises(ParameterError, match="at least one"):
        plot.coefficient_path(Ridge(), X, Y, values=[])


@pytest.mark.parametrize("level", [0.95, 0.5])
def test_intervals(level):
    display = plot.coefficients(LinearRegression().fit(X, Y), level=level)
    fit = sm.OLS(Y, sm.add_constant(X)).fit()
    expected = fit.conf_int(1 - level).to_numpy()[1:]
    frame = display.frame()
    assert frame["term"] == list(X.columns)
    np.testing.assert_allclose(frame["estimate"], fit.params[1:])
    np.testing.assert_allclose(np.column_stack([frame["low"], frame["high"]]), expected)
    parsed(display)
    ax = display.plot().ax_
    ends = np.array([segment[:, 0] for segment in ax.collections[0].get_segments()])
    np.testing.assert_allclose(ends, expected)
    assert [t.get_text() for t in ax.get_yticklabels()] == list(X.columns)
    whole = plot.coefficients(LinearRegression().fit(X, Y), intercept=True)
    assert whole.names[0] == "intercept"


def test_other_intervals():
    counts = np.round(Y / 50).to_numpy()
    display = plot.coefficients(PoissonRegressor(alpha=0).fit(X, counts))
    fit = sm.GLM(counts, sm.add_constant(X), sm.families.Poisson()).fit()
    np.testing.assert_allclose(display.low, fit.conf_int()[0][1:], rtol=1e-4, atol=1e-5)
    plain = plot.coefficients(Ridge().fit(X, Y))
    assert np.isnan(plain.low).all()
    assert "no standard errors" in plain.svg()
    found = bootstrap(Ridge(), X, Y, "coef_", n_resamples=20, random_state=0)
    boot = plot.CoefficientsDisplay.from_bootstrap(found)
    np.testing.assert_array_equal(boot.low, found.low)
    parsed(boot)
    with pytest.raises(ParameterError, match="has no coefficients"):
        plot.coefficients(DecisionTreeClassifier())


@pytest.mark.parametrize("model", [BayesianRidge(), BayesianRegression()])
def test_posterior(model):
    model.fit(X, Y)
    display = plot.posterior(model, terms=["bmi", "s5"])
    sigma = model.sigma_ if hasattr(model, "sigma_") else model.covariance_
    sd = np.sqrt(np.diag(sigma))
    frame = display.frame()
    for name in ("bmi", "s5"):
        own = np.array(frame["term"]) == name
        j = list(X.columns).index(name)
        x = np.array(frame["coefficient"])[own]
        density = norm.pdf(x, model.coef_[j], sd[j])
        np.testing.assert_allclose(np.array(frame["density"])[own], density)
    parsed(display)
    axes = display.plot().ax_
    np.testing.assert_allclose(line_data(axes[1])[0][:, 1], density)
    assert len(plot.posterior(model).names) == 6
    with pytest.raises(ParameterError, match="Unknown term 'bmo'"):
        plot.posterior(model, terms=["bmo"])
    with pytest.raises(ParameterError, match="Ridge has no posterior"):
        plot.posterior(Ridge().fit(X, Y))
