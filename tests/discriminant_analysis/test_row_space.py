"""More columns than rows: the row-space solutions are those of the p x p definitions."""

import time

import numpy as np
import pytest

from pellucid import load
from pellucid.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
    linear_solvers,
    qda,
)
from pellucid.discriminant_analysis.class_covariances import whitened
from pellucid.discriminant_analysis.row_space import whitened_rows

pytestmark = pytest.mark.filterwarnings("ignore::pellucid.errors.ConvergenceWarning")


def table(n=40, p=70, K=3, seed=0, levels=False, offset=0.0):
    """Correlated numbers, or 0/1 columns with equal and constant ones among them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) @ (np.eye(p) + 0.3 * rng.normal(size=(p, p))) + offset
    if levels:
        X = (X > 1.0).astype(float)
        X[:, 5], X[:, 6] = X[:, 4], 0.0
    y = np.arange(n) % K
    X[:, :4] += y[:, None]
    return X, y, rng.integers(1, 4, size=n).astype(float), rng


def dense_answer(monkeypatch, model, X, y, w):
    """The same model by matrices of columns x columns."""
    with monkeypatch.context() as patched:
        patched.setattr(linear_solvers, "wide", lambda problem: False)
        patched.setattr(qda, "wide", lambda problem: False)
        return model.fit(X, y, sample_weight=w)


@pytest.mark.parametrize("offset", [0.0, 300.0])
@pytest.mark.parametrize("levels", [False, True])
@pytest.mark.parametrize("priors", [None, [0.2, 0.5, 0.3]])
@pytest.mark.parametrize(
    "params",
    [
        {"solver": "svd"},
        {"solver": "lsqr"},
        {"solver": "lsqr", "shrinkage": "auto"},
        {"solver": "lsqr", "shrinkage": 0.3},
        {"solver": "lsqr", "shrinkage": 1.0},
    ],
)
def test_lda_is_what_its_definition_says(monkeypatch, params, priors, levels, offset):
    X, y, w, rng = table(levels=levels, offset=offset)
    made = [LinearDiscriminantAnalysis(priors=priors, **params) for _ in range(2)]
    own = made[0].fit(X, y, sample_weight=w)
    other = dense_answer(monkeypatch, made[1], X, y, w)
    new = X[:7] + 0.1 * rng.normal(size=(7, X.shape[1]))
    size = np.abs(other.coef_).max()
    assert np.allclose(own.coef_, other.coef_, rtol=1e-8, atol=1e-9 * size)
    scores, wanted = own.decision_function(new), other.decision_function(new)
    assert np.allclose(scores, wanted, rtol=1e-8, atol=1e-8 * np.abs(wanted).max())
    if "covariance_" in vars(other):
        assert np.allclose(own.covariance_, other.covariance_, rtol=1e-10, atol=1e-12)
    assert own.status_.code == other.status_.code
    if params["solver"] == "svd":
        assert np.allclose(np.abs(own.transform(new)), np.abs(other.transform(new)), rtol=1e-7)


def test_lda_with_shrinkage_solves_its_equations():
    """C b_k = m_k to the last digits, with the covariance that is kept."""
    X, y, w, _ = table(n=60, p=200)
    model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").fit(X, y, sample_weight=w)
    means = model.means_ - model.shift_
    assert np.allclose(model.coef_ @ model.covariance_, means, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("levels", [False, True])
@pytest.mark.parametrize("reg_param", [0.0, 0.1, 0.9, 1.0])
def test_qda_is_what_its_definition_says(monkeypatch, reg_param, levels, K):
    X, y, w, rng = table(K=K, levels=levels)
    made = [QuadraticDiscriminantAnalysis(reg_param=reg_param, store_covariance=True) for _ in "ab"]
    own = made[0].fit(X, y, sample_weight=w)
    other = dense_answer(monkeypatch, made[1], X, y, w)
    new = X[:9] + 0.3 * rng.normal(size=(9, X.shape[1]))
    scores, wanted = own.decision_function(new), other.decision_function(new)
    assert np.allclose(scores, wanted, rtol=1e-9, atol=1e-9 * np.abs(wanted).max())
    assert np.allclose(own.log_det_, other.log_det_, rtol=1e-9)
    assert np.allclose(own.covariance_, other.covariance_, rtol=1e-10, atol=1e-12)
    assert np.allclose(own.means_, other.means_) and own.span_ is not None
    for k, (values, axes) in enumerate(zip(own.scalings_, own.rotations_)):
        assert np.allclose(values, other.scalings_[k][: len(values)], rtol=1e-8)
        assert np.allclose(own.covariance_[k] @ axes, axes * values, atol=1e-7)


@pytest.mark.parametrize("reg_param", [0.0, 0.1])
def test_qda_explains_and_is_saved(tmp_path, reg_param):
    X, y, w, _ = table()
    model = QuadraticDiscriminantAnalysis(reg_param=reg_param).fit(X, y, sample_weight=w)
    told = model.explain(X[:5])
    joint = model.decision_function(X[:5])
    assert np.allclose(told.base + told.contributions.sum(axis=1), joint, rtol=1e-7)
    model.save(tmp_path / "model.pellucid")
    again = load(tmp_path / "model.pellucid")
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    "model",
    [
        LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
        QuadraticDiscriminantAnalysis(reg_param=0.1),
        QuadraticDiscriminantAnalysis(),
    ],
)
def test_weights_are_repetition(model):
    X, y, w, _ = table(n=30, p=120)
    again = np.repeat(np.arange(30), w.astype(int))
    own = model.fit(X, y, sample_weight=w).decision_function(X)
    repeated = model.fit(X[again], y[again]).decision_function(X)
    assert np.allclose(own, repeated, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize(
    "model",
    [
        LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
        LinearDiscriminantAnalysis(solver="lsqr"),
        QuadraticDiscriminantAnalysis(reg_param=0.1),
        QuadraticDiscriminantAnalysis(),
    ],
)
def test_thousands_of_columns_are_quick(model):
    """No matrix of columns x columns is factored."""
    X, y, _, _ = table(n=60, p=8, K=4)
    X = np.hstack([X, np.random.default_rng(1).normal(size=(60, 2000))])
    began = time.process_time()
    model.fit(X, y).predict_proba(X)
    assert time.process_time() - began < 1.0


def test_whitening_has_the_largest_variance_first_and_names_only_columns_outside():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(50, 3)) @ np.array([[1, 0.9, 0], [0, 0.5, 0], [0, 0, 1]])
    cov = np.cov(X.T)
    W, flat = whitened(cov, 1e-9)
    np.testing.assert_allclose(W.T @ cov @ W, np.eye(3), atol=1e-12)
    lengths = np.linalg.norm(W * np.sqrt(np.diagonal(cov))[:, None], axis=0)
    assert (np.diff(lengths) > 0).all() and flat.size == 0
    W, outside = whitened_rows(np.column_stack([X[:, 0], X[:, 0], X[:, 2]]), 1e-9)
    assert W.shape == (3, 2) and outside.tolist() == [0, 1]  # column 2 has a direction of its own
