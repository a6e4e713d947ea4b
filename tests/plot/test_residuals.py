"""Residual pictures against statsmodels (leverage, Cook, lowess) and SciPy (quantiles)."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from matplotlib.text import Annotation
from scipy import stats
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression as Theirs
from sklearn.linear_model import Ridge as TheirRidge
from sklearn.model_selection import KFold, cross_val_predict

from pellucid import plot
from pellucid.errors import DataError
from pellucid.linear_model import LinearRegression, Ridge
from pellucid.plot.evaluation.lowess import lowess
from pellucid.tree import DecisionTreeRegressor
from tests.plot.reading import line_data, parsed

X, Y = load_diabetes(return_X_y=True)


def test_leverage_with_missing_values():
    """The model has a column that marks them, and the mean in their place."""
    rows = pd.DataFrame(X[:, :2], columns=["a", "b"])
    rows.loc[::7, "b"] = np.nan
    frame = plot.residuals(LinearRegression().fit(rows, Y), rows, Y).frame()
    design = np.column_stack([np.ones(len(Y)), rows["a"], rows["b"].fillna(0), rows["b"].isna()])
    influence = sm.OLS(Y, design).fit().get_influence()
    np.testing.assert_allclose(frame["leverage"], influence.hat_matrix_diag)
    np.testing.assert_allclose(frame["Cook's distance"], influence.cooks_distance[0], atol=1e-12)


def test_models_that_keep_missing_values_have_no_leverage():
    rows = pd.DataFrame(X[:, :2], columns=["a", "b"])
    rows.loc[::7, "b"] = np.nan
    shown = plot.residuals(DecisionTreeRegressor(max_depth=2).fit(rows, Y), rows, Y)
    assert shown.leverage is None
    assert len(shown.picture().panels) == 3


@pytest.mark.parametrize("model", [LinearRegression(), Theirs()])
def test_leverage_and_cook(model):
    frame = plot.residuals(model.fit(X, Y), X, Y).frame()
    influence = sm.OLS(Y, sm.add_constant(X)).fit().get_influence()
    np.testing.assert_allclose(frame["leverage"], influence.hat_matrix_diag)
    np.testing.assert_allclose(frame["standardised residual"], influence.resid_studentized_internal)
    np.testing.assert_allclose(frame["Cook's distance"], influence.cooks_distance[0], atol=1e-12)
    np.testing.assert_allclose(frame["residual"], Y - model.predict(X))


def test_leverage_without_intercept_and_with_categories():
    frame = plot.residuals(LinearRegression(fit_intercept=False).fit(X, Y), X, Y).frame()
    influence = sm.OLS(Y, X).fit().get_influence()
    np.testing.assert_allclose(frame["leverage"], influence.hat_matrix_diag)
    mixed = pd.DataFrame({"a": X[:, 0], "sex": np.where(X[:, 1] > 0, "f", "m"), "c": X[:, 2]})
    frame = plot.residuals(LinearRegression().fit(mixed, Y), mixed, Y).frame()
    dummies = np.column_stack([np.ones(len(Y)), mixed["a"], mixed["sex"] == "f", mixed["c"]])
    influence = sm.OLS(Y, dummies.astype(float)).fit().get_influence()
    np.testing.assert_allclose(frame["leverage"], influence.hat_matrix_diag)


@pytest.mark.parametrize("model", [Ridge(alpha=0.5), TheirRidge(alpha=0.5)])
def test_leverage_of_ridge(model):
    frame = plot.residuals(model.fit(X, Y), X, Y).frame()
    Z = X - X.mean(axis=0)
    hat = Z @ np.linalg.solve(Z.T @ Z + 0.5 * np.eye(10), Z.T) + 1 / len(Y)
    np.testing.assert_allclose(frame["leverage"], np.diag(hat))


def test_other_models_have_three_pictures():
    display = plot.residuals(DecisionTreeRegressor(max_depth=3).fit(X, Y), X, Y)
    assert display.leverage is None
    assert "leverage" not in display.frame()
    assert len(display.picture().panels) == 3
    r = display.residuals
    np.testing.assert_allclose(display.frame()["standardised residual"], r / r.std(ddof=1))


@pytest.mark.parametrize("n", [5, 10, 11, 200])
def test_normal_quantiles(n):
    rng = np.random.default_rng(n)
    display = plot.ResidualsDisplay.from_predictions(rng.normal(size=n), np.zeros(n))
    expected = stats.norm.ppf(
        (np.arange(1, n + 1) - (0.375 if n <= 10 else 0.5)) / (n + (0.25 if n <= 10 else 0))
    )
    order = np.argsort(display.standardized)
    np.testing.assert_allclose(display.quantiles[order], expected, atol=1e-12)


@pytest.mark.parametrize("share", [2 / 3, 0.3])
def test_lowess(share):
    rng = np.random.default_rng(0)
    x = rng.random(150)
    y = np.sin(6 * x) + rng.normal(scale=0.3, size=150)
    y[:5] += 6
    found = np.column_stack(lowess(x, y, share))
    np.testing.assert_allclose(found, sm.nonparametric.lowess(y, x, share, 3), atol=2e-3)


def test_lowess_of_few_values():
    assert lowess(np.ones(5), np.arange(5.0))[1].tolist() == [2.0] * 5
    assert np.isfinite(lowess(np.repeat([0.0, 1.0], 10), np.arange(20.0))[1]).all()
    assert len(lowess(np.arange(5000.0), np.arange(5000.0))[0]) == 400


def numbered(ax):
    """The texts beside points, without notes."""
    return {text.get_text() for text in ax.texts if isinstance(text, Annotation)}


def test_both_pictures_show_the_points():
    display = plot.residuals(LinearRegression().fit(X, Y), X, Y)
    parsed(display)
    axes = display.plot().ax_
    frame = display.frame()
    pairs = [
        ("fitted", "residual"), ("normal quantile", "standardised residual"),
        ("fitted", "root of |standardised residual|"), ("leverage", "standardised residual"),
    ]  # fmt: skip
    for ax, panel, (x, y) in zip(axes, display.picture().panels, pairs, strict=True):
        expected = {(round(a, 9), round(b, 9)) for a, b in zip(frame[x], frame[y])}
        offsets = np.vstack([c.get_offsets() for c in ax.collections])
        assert {(round(a, 9), round(b, 9)) for a, b in offsets.tolist()} == expected
        marks = [m for m in panel.marks if type(m).__name__ == "Points"]
        drawn = {(round(a, 9), round(b, 9)) for m in marks for a, b in zip(m.x, m.y)}
        assert drawn == expected
        assert numbered(ax) == set(marks[-1].texts)
    worst = {str(i) for i in np.argsort(-np.array(frame["Cook's distance"]))[:3]}
    assert numbered(axes[3]) == worst


def test_contours_of_cooks_distance():
    x = np.array([0, 1, 2, 3, 10.0])[:, None]
    y = np.array([0, 1.2, 1.9, 3.1, 2.0])
    axes = plot.residuals(LinearRegression().fit(x, y), x, y).plot().ax_
    curve = next(one for one in axes[3].get_lines() if one.get_label() == "Cook's distance 1")
    h, r = (values[np.isfinite(values)] for values in curve.get_data())
    assert len(h) > 10
    np.testing.assert_allclose(r**2 * h / (1 - h) / 2, 1.0)


def test_observed_against_fitted():
    model = LinearRegression().fit(X, Y)
    display = plot.observed_fitted(model, X, Y)
    assert display.frame() == {"fitted": model.predict(X).tolist(), "observed": Y.tolist()}
    parsed(display)
    ax = display.plot().ax_
    np.testing.assert_array_equal(
        ax.collections[0].get_offsets(), np.column_stack([model.predict(X), Y])
    )
    assert line_data(ax)[0][0, 0] == line_data(ax)[0][0, 1]
    folds = KFold(3)
    over = plot.observed_fitted(Theirs(), X, Y, cv=folds)
    np.testing.assert_allclose(over.fitted, cross_val_predict(Theirs(), X, Y, cv=folds))
    assert len(plot.residuals(Theirs(), X, Y, cv=3).residuals) == len(Y)


def test_unclear_input():
    with pytest.raises(DataError, match="must be numbers"):
        plot.PredictionErrorDisplay.from_predictions(["a", "b"], [1, 2])
    with pytest.raises(DataError, match=r"infinity \(row 1\)"):
        plot.PredictionErrorDisplay.from_predictions([1, 2], [1, np.inf])
    with pytest.raises(DataError, match="at least 3 rows"):
        plot.ResidualsDisplay.from_predictions([1, 2], [1, 2])
    perfect = plot.ResidualsDisplay.from_predictions(np.arange(5.0), np.arange(5.0))
    parsed(perfect)
    perfect.plot()
