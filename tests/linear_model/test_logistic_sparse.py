"""Logistic regression with L1 and elastic-net penalties: the optimum, exact zeros, bad units."""

import numpy as np
import pytest
import sklearn.linear_model as theirs
from scipy.sparse import csr_matrix
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from pellucid.errors import ParameterError
from pellucid.linear_model import LogisticRegression
from pellucid.linear_model._lasso._prox import quadratic_lasso


def standardised(load):
    X, y = load(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


DATA = {"two classes": standardised(load_breast_cancer), "three": standardised(load_wine)}


def slopes(model, X, y):
    """Gradient of the summed loss by coefficients and intercepts."""
    Z = model.decision_function(X)
    K = len(model.classes_)
    if K == 2:
        R = (1 / (1 + np.exp(-Z)) - y)[:, None]
    else:
        R = np.exp(Z - Z.max(axis=1, keepdims=True))
        R = R / R.sum(axis=1, keepdims=True) - np.eye(K)[y]
    return R.T @ X, R.sum(axis=0)


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("r", [1.0, 0.5, 0.05])
def test_conditions_of_the_optimum(name, C, r):
    """Slope = -penalty where a coefficient is not 0, within it where it is 0, 0 for intercepts."""
    X, y = DATA[name]
    model = LogisticRegression(C=C, l1_ratio=r).fit(X, y)
    assert model.status_.code == "converged"
    G, g0 = slopes(model, X, y)
    b, strength = model.coef_, 1 / C
    smooth = G + strength * (1 - r) * b
    small = 1e-7 * len(y)
    assert np.max(np.abs(g0)) < small
    assert np.max(np.abs(smooth + strength * r * np.sign(b))[b != 0], initial=0) < small
    assert np.max(np.abs(smooth)[b == 0], initial=0) <= strength * r + small


@pytest.mark.parametrize("name", DATA)
def test_equal_to_scikit_learns_optimum(name):
    X, y = DATA[name]
    ours = LogisticRegression(C=0.1, l1_ratio=0.7).fit(X, y)
    saga = theirs.LogisticRegression(C=0.1, l1_ratio=0.7, solver="saga", tol=1e-9, max_iter=20_000)
    saga.fit(X, y)
    assert np.allclose(ours.coef_, saga.coef_, atol=1e-6)
    assert np.array_equal(ours.coef_ != 0, saga.coef_ != 0)


def test_strong_penalty_leaves_the_intercept_alone():
    X, y = DATA["two classes"]
    share = y.mean()
    largest = np.abs(X.T @ (y - share)).max()
    model = LogisticRegression(C=0.999 / largest, l1_ratio=1).fit(X, y)
    assert not model.coef_.any()
    assert model.intercept_[0] == pytest.approx(np.log(share / (1 - share)), rel=1e-9)
    assert LogisticRegression(C=1.01 / largest, l1_ratio=1).fit(X, y).coef_.any()


def test_bad_units_change_nothing():
    """Columns in other units, with the penalty of each in its own: here only offsets, which are free."""
    X, y = DATA["two classes"]
    base = LogisticRegression(C=0.1, l1_ratio=1).fit(X, y)
    moved = LogisticRegression(C=0.1, l1_ratio=1).fit(X + 1e4, y)
    assert np.allclose(base.coef_, moved.coef_, atol=1e-6)


def test_sparse_table_gives_the_same():
    X, y = DATA["two classes"]
    X = np.where(np.abs(X) < 1, 0.0, X)
    dense = LogisticRegression(C=0.1, l1_ratio=1).fit(X, y)
    sparse = LogisticRegression(C=0.1, l1_ratio=1).fit(csr_matrix(X), y)
    assert np.allclose(dense.coef_, sparse.coef_, atol=1e-8)


def test_more_columns_than_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 400))
    y = (X[:, 0] - X[:, 1] + 0.3 * rng.normal(size=60) > 0).astype(int)
    model = LogisticRegression(C=0.3, l1_ratio=1).fit(X, y)
    assert {0, 1} <= set(np.flatnonzero(model.coef_[0]))
    assert np.count_nonzero(model.coef_) < 60
    G, _ = slopes(model, X, y)
    assert np.abs(G).max() <= 1 / 0.3 + 1e-6


def test_objective_never_rises():
    X, y = DATA["three"]
    history = LogisticRegression(C=1, l1_ratio=1).fit(X, y).history_
    assert np.all(np.diff(history["objective"]) <= 1e-9)
    assert {"gradient_norm", "parameter_norm", "nonzero"} <= set(history)


@pytest.mark.parametrize("solver", ["newton", "lbfgs", "gd", "sag"])
def test_solvers_without_absolute_values_say_what_works(solver):
    with pytest.raises(ParameterError, match="saga"):
        LogisticRegression(l1_ratio=0.5, solver=solver).fit([[0.0], [1.0]], [0, 1])


def test_coordinate_descent_equals_its_plain_twin():
    rng = np.random.default_rng(1)
    A = rng.normal(size=(30, 6))
    H, g, b = A.T @ A, rng.normal(size=6) * 10, rng.normal(size=6)
    strength = np.full(6, 3.0)
    d, Hd = np.zeros(6), np.zeros(6)
    quadratic_lasso(H, g, strength, b, d, Hd, 0.0, 500)
    plain = np.zeros(6)
    for _ in range(500):
        for i in range(6):
            target = b[i] + plain[i] - (g[i] + H[i] @ plain) / H[i, i]
            plain[i] = np.sign(target) * max(abs(target) - 3.0 / H[i, i], 0) - b[i]
    assert np.allclose(d, plain, atol=1e-12)
    assert np.allclose(Hd, H @ d, atol=1e-10)


def test_as_fast_without_an_intercept():
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(l1_ratio=1.0, fit_intercept=False).fit(X, y)
    assert model.status_.ok and model.n_iter_[0] < 20 and not model.intercept_.any()
    G, _ = slopes(model, X, y)
    used = model.coef_ != 0
    assert np.abs(G + np.sign(model.coef_))[used].max() < 1e-6 and np.abs(G).max() < 1 + 1e-6
