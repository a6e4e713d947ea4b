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
    from pellucid.linear_model.proximal_newton import _jump

    rng = np.random.default_rng(1)
    A = rng.normal(size=(30, 6))
    H, g, l1 = A.T @ A, rng.normal(size=6), np.array([0.1, 0.1, 0.1, 0.1, 0.1, 0.0])
    b, d = np.array([5.0, -5.0, 5.0, 0.0, 5.0, 0.0]), np.zeros(6)

    def model(v):
        return g @ v + 0.5 * v @ H @ v + l1 @ np.abs(b + v)

    values = [model(d)]
    for _ in range(6):
        assert _jump(H, g, l1, b, d)
        values.append(model(d))
    assert all(np.diff(values) <= 1e-12) and values[-1] < values[0]
    used = (b + d != 0) | (l1 == 0)
    slope = (g + H @ d + l1 * np.sign(b + d))[used]
    np.testing.assert_allclose(slope, 0, atol=1e-10)
