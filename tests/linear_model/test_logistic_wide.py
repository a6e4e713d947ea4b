"""Wide sparse tables: many rare levels or words, with weak and strong penalties."""

import numpy as np
import pytest
from scipy import sparse

from pellucid.linear_model import LogisticRegression


def words(n=600, p=1500, seed=0):
    """Rows of about ten words each; the frequent words come first, two in a hundred say something."""
    rng = np.random.default_rng(seed)
    chance = 5.0 / (np.arange(p) + 8.0)
    X = sparse.csr_array((rng.uniform(size=(n, p)) < chance).astype(float))
    effect = np.where(rng.uniform(size=p) < 0.05, rng.normal(size=p) * 2, 0.0)
    y = (X @ effect + rng.logistic(size=n) > 0).astype(int)
    return X, y


def worst_slope(model, X, y, C, l1_ratio):
    """How far the objective's slope is from what the penalty allows, over all coefficients."""
    r = model.predict_proba(X)[:, 1] - y
    b = model.coef_[0]
    g = X.T @ r + (1 - l1_ratio) / C * b
    lasso = l1_ratio / C
    return np.where(b != 0, np.abs(g + lasso * np.sign(b)), np.maximum(np.abs(g) - lasso, 0)).max()


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_ridge_needs_few_iterations(C):
    X, y = words()
    model = LogisticRegression(C=C).fit(X, y)
    assert model.status_.code == "converged" and model.n_iter_[0] <= 60
    exact = LogisticRegression(C=C, solver="lbfgs", tol=1e-9, max_iter=5000).fit(X, y)
    assert model.history_["objective"][-1] <= 1.01 * exact.history_["objective"][-1]
    assert worst_slope(exact, X, y, C, 0.0) < 1e-4


@pytest.mark.parametrize(("C", "l1_ratio"), [(0.1, 1.0), (1.0, 1.0), (1.0, 0.5), (100.0, 1.0)])
def test_lasso_is_exact_with_a_weak_penalty_too(C, l1_ratio):
    """With C=100 most rows are as good as certain: their curvature is nothing."""
    X, y = words()
    model = LogisticRegression(C=C, l1_ratio=l1_ratio).fit(X, y)
    assert model.status_.code == "converged" and model.n_iter_[0] <= 60
    assert worst_slope(model, X, y, C, l1_ratio) < 1e-7
    assert np.count_nonzero(model.coef_) < 750


def test_a_jump_solves_for_all_coefficients_at_once():
    from pellucid.linear_model._lasso.proximal_newton import _jump
    from pellucid.linear_model._lasso.quadratic_models import ByProducts, Entries

    rng = np.random.default_rng(1)
    A = rng.normal(size=(30, 6))
    H, g, l1 = A.T @ A, rng.normal(size=6), np.array([0.1, 0.1, 0.1, 0.1, 0.1, 0.0])
    b = np.array([5.0, -5.0, 5.0, 0.0, 5.0, 0.0])
    model = ByProducts(Entries(g, l1, b), H)
    values = [model.value(model.d)]
    for _ in range(6):
        assert _jump(model)
        values.append(model.value(model.d))
    assert all(np.diff(values) <= 1e-12) and values[-1] < values[0]
    d = model.d
    used = (b + d != 0) | (l1 == 0)
    slope = (g + H @ d + l1 * np.sign(b + d))[used]
    np.testing.assert_allclose(slope, 0, atol=1e-10)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("offset", [0.0, 1e4])
@pytest.mark.parametrize(
    ("K", "C", "intercept"), [(2, 1.0, True), (3, 100.0, True), (3, 1.0, False)]
)
def test_more_columns_than_rows_by_newton(container, offset, K, C, intercept):
    """The same optimum as L-BFGS on all columns finds when it may go on for long."""
    rng = np.random.default_rng(K)
    X = rng.normal(size=(60, 700)) + (offset if intercept else 0.0)
    y, w = rng.integers(K, size=60), rng.uniform(0.5, 2.0, size=60)
    own = LogisticRegression(C=C, fit_intercept=intercept).fit(container(X), y, w)
    slow = LogisticRegression(
        C=C, fit_intercept=intercept, solver="lbfgs", tol=1e-11, max_iter=20_000
    ).fit(X, y, w)
    assert own.n_iter_[0] < 30 and own.coef_.shape == slow.coef_.shape
    objective = [model.history_["objective"][-1] for model in (own, slow)]
    assert objective[0] <= objective[1] * (1 + 1e-12)
    assert np.allclose(own.coef_, slow.coef_, atol=1e-6 * np.abs(slow.coef_).max())
    assert np.allclose(own.predict_proba(X), slow.predict_proba(X), atol=1e-6)
    again = LogisticRegression(C=C, fit_intercept=intercept, warm_start=True).fit(X, y, w)
    coef = again.coef_.copy()
    assert again.fit(X, y, w).n_iter_[0] <= 2
    assert np.allclose(again.coef_, coef, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("C", [1.0, 1e6, 1e10, 1e20, 1e30])
def test_repeated_rows_with_any_penalty(C):
    """Directions of rounding, or held by a vanishing penalty alone, must not blow up."""
    X = np.repeat(np.random.default_rng(0).normal(size=(20, 900)), 2, axis=0)
    y = np.tile([0, 1], 20)
    y[:4], y[4:8] = 1, 0
    model = LogisticRegression(C=C).fit(X, y)
    assert model.status_.ok and np.linalg.norm(model.coef_) < 10
    chance = model.predict_proba(X)[:, 1]
    assert np.allclose(chance[8:], 0.5, atol=1e-3) or C == 1.0


def test_repeated_rows_are_solved_as_weights_are():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(220, 700)) * 10.0 ** rng.uniform(-2, 2, 700)
    y, weights = np.arange(220) % 3, 1 + np.arange(220) % 3
    found = LogisticRegression().fit(X, y, weights)
    again = LogisticRegression().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(
        again.coef_, found.coef_, rtol=0, atol=1e-9 * np.abs(found.coef_).max()
    )
