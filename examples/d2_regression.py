"""D2, chapters on regression: a book that builds methods from scratch."""

import warnings
from functools import cache

import numpy as np

from examples.figures import Figure, data_file, run
from pellucid import formula
from pellucid.data import datasets
from pellucid.linear_model import (
    BayesianRegression,
    Lasso,
    LassoCV,
    LinearRegression,
    PoissonRegressor,
    Ridge,
    RidgeCV,
)
from pellucid.metrics import mean_squared_error
from pellucid.model_selection import KFold, cross_val_predict


@cache
def boston():
    """13 columns, and the median values."""
    data = datasets.load("boston", path=data_file("boston.csv"))
    return np.column_stack([data.X[name].to_numpy() for name in data.features]), data.y


def standard(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def slope():
    rng = np.random.RandomState(123)
    x, e = rng.randn(20), rng.randn(20)
    return LinearRegression().fit(x[:, None], -4 + 2 * x + e).coef_[0]


def residual_variance():
    X, y = boston()
    return ((y - LinearRegression().fit(X, y).predict(X)) ** 2).sum() / (506 - 13 - 1)


def bayesian(entries):
    X, y = boston()
    model = BayesianRegression(11.8, 10.0, intercept_variance=10.0).fit(X, y)
    return np.append(model.intercept_, model.coef_)[:entries]


def poisson(**options):
    X, y = boston()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return PoissonRegressor(alpha=0, **options).fit(standard(X), y)


def poisson_descent():
    model = poisson(solver="gd", step=1e-5 * 506, max_iter=1000, tol=1e-300)
    return np.append(model.intercept_, model.coef_)[:3]


def deviance():
    X, y = boston()
    mu = poisson().predict(standard(X))
    return float(2 * (y * np.log(y / mu) - y + mu).sum())


def ridge_errors():
    """Mean squared error over all rows, each predicted by the fold that did not train on it."""
    X, y = boston()
    predicted = [cross_val_predict(Ridge(alpha=a), X, y, cv=KFold(5)) for a in (0.0, 1.0, 10.0)]
    return [mean_squared_error(y, each) for each in predicted]


def zeros_of_lasso():
    X, y = boston()
    return int((Lasso(alpha=1e4 / 506).fit(standard(X), y).coef_ == 0).sum())


def chosen(model):
    return model(alphas=[0.01, 1.0, 100.0]).fit(*boston()).alpha_


FIGURES = [
    Figure("D2", "slope of 20 points (recomputed)", 1.8865673118774786, slope, digits=1e-12),
    Figure("D2", "Boston: CRIM, ZN, INDUS", [-0.108, 0.046, 0.021],
           lambda: LinearRegression().fit(*boston()).coef_[:3], digits=5e-4),
    Figure("D2", "Boston: residual variance", 11.8, residual_variance, "erratum", 22.51785483324),
    Figure("D2", "Boston: rows cut at 50 (recomputed)", 16, lambda: int((boston()[1] == 50).sum())),
    Figure("D2", "RidgeCV chooses", 0.01, lambda: chosen(RidgeCV)),
    Figure("D2", "LassoCV chooses", 1.0, lambda: chosen(LassoCV)),
    Figure("D2", "ridge: errors of 5 folds, 0/1/10 (recomputed)", [37.08305, 35.220178, 33.351799],
           ridge_errors),
    Figure("D2", "lasso above lambda_max: zeros", "small, not 0", zeros_of_lasso, "erratum", 13),
    Figure("D2", "Bayesian, s2 = 11.8, tau = 10 (recomputed)", [14.26197174, -0.09799468, 0.04839736],
           lambda: bayesian(3)),
    Figure("D2", "Poisson: 1000 steps of 1e-5 (recomputed)", [3.049486, -0.086281, 0.025351],
           poisson_descent, digits=2e-6),
    Figure("D2", "Poisson: deviance", 623.038, deviance, "erratum", 359.2707487627, digits=1e-3),
    Figure("D2", "tip ~ total_bill + C(day): slope (recomputed)", 0.104672796,
           lambda: formula.ols("tip ~ total_bill + C(day)", datasets.load("tips").table).params[
               "total_bill"], digits=1e-9),
]  # fmt: skip

run(__name__, FIGURES)
