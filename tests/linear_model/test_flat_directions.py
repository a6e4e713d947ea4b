"""Directions along which the objective is nearly flat, and starts from another model."""

import numpy as np
import pytest
from sklearn.base import clone

from pellucid.linear_model import (
    GammaRegressor,
    LogisticRegression,
    Perceptron,
    PoissonRegressor,
    SGDClassifier,
    SGDRegressor,
)


@pytest.mark.parametrize("C", [1e6, 1e8, 1e10, 1e12])
@pytest.mark.parametrize("n", [300, 5000])
def test_dependent_columns_with_a_weak_penalty_converge(n, C):
    """Along the flat direction steps are rounding over the penalty: they need not shrink."""
    rng = np.random.default_rng(0)
    g, x = rng.integers(0, 4, n), rng.normal(size=(n, 2))
    X = np.column_stack([np.eye(4)[g], x])
    y = (rng.random(n) < 1 / (1 + np.exp(-(x[:, 0] + g - 1.5)))).astype(int)
    model = LogisticRegression(C=C).fit(X, y)
    assert model.status_.ok and model.n_iter_[0] < 60
    free = LogisticRegression(C=np.inf).fit(X, y)
    assert np.allclose(model.predict_proba(X), free.predict_proba(X), atol=1e-4)


@pytest.mark.parametrize("model", [
    LogisticRegression(), LogisticRegression(solver="lbfgs"), LogisticRegression(l1_ratio=0.5),
    LogisticRegression(solver="gd", max_iter=100_000, tol=1e-9), PoissonRegressor(),
    GammaRegressor(),
], ids=repr)  # fmt: skip
def test_a_warm_start_forgets_an_intercept_no_longer_wanted(model):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4)) + 2
    y = rng.integers(1, 3, 60)
    cold = clone(model).set_params(fit_intercept=False).fit(X, y)
    warm = model.set_params(warm_start=True).fit(X, y).set_params(fit_intercept=False).fit(X, y)
    assert np.all(warm.intercept_ == 0)
    assert np.allclose(warm.coef_, cold.coef_, atol=2e-3 * np.abs(cold.coef_).max())


@pytest.mark.parametrize("Model", [Perceptron, SGDClassifier, SGDRegressor])
def test_a_walk_goes_on_without_the_intercept(Model):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)) + 2, rng.integers(1, 3, 60)
    model = Model(warm_start=True, random_state=0, eta0=0.01).fit(X, y)
    assert np.any(model.intercept_ != 0)
    assert np.all(model.set_params(fit_intercept=False).fit(X, y).intercept_ == 0)
