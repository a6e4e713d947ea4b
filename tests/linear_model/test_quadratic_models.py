"""The quadratic model of a proximal Newton step: by rows it is what it is by products of columns."""

import time

import numpy as np
import pytest
from scipy import sparse

from pellucid.data import Table
from pellucid.linear_model import LogisticRegression
from pellucid.linear_model._lasso.proximal_newton import _jump
from pellucid.linear_model._lasso.quadratic_models import (
    ByProducts,
    ByRows,
    Columns,
    Entries,
    RowCurvature,
)
from pellucid.linear_model._logistic.l1 import Task, equal_columns
from pellucid.numerics.row_blocks import Rows
from tests.oracles import shared


def levels(n, sizes, seed=0):
    """One-hot columns of several categorical columns with many levels."""
    rng = np.random.default_rng(seed)
    parts = [np.eye(size)[rng.integers(size, size=n)] for size in sizes]
    return np.hstack(parts), rng


def pair(q, container, seed=0):
    """The same model in both forms."""
    X, rng = levels(40, (20, 15), seed)
    n, p = X.shape
    P = np.ascontiguousarray(rng.dirichlet(np.ones(q + 1), size=n)[:, :q])
    w = rng.uniform(0.5, 2, n)
    cls, column = np.divmod(np.arange(q * (p + 1)), p + 1)
    entries = Entries(
        rng.normal(size=len(cls)), np.where(column == p, 0.0, 0.1),
        np.where(rng.random(len(cls)) < 0.5, 0.0, rng.normal(size=len(cls))),
    )  # fmt: skip
    A = np.column_stack([X, np.ones(n)])
    bends = w[:, None, None] * (P[:, :, None] * np.eye(q) - P[:, :, None] * P[:, None, :])
    H = np.einsum("ia,ikl,ib->kalb", A, bends, A).reshape(q * (p + 1), -1)
    ridge = np.full(len(H), 0.01)
    columns = Columns.of(container(X))
    rows = RowCurvature(w[:, None] * P, P)
    assert np.allclose(rows.diagonal(columns).ravel(), np.diagonal(H), rtol=1e-12)
    H = H + np.diag(ridge)
    by_rows = ByRows(entries, columns, rows, column, cls, ridge, np.diagonal(H).copy())
    return ByProducts(entries, H), by_rows


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("q", [1, 3])
def test_both_forms_answer_alike(q, container):
    products, rows = pair(q, container)
    assert np.isclose(products.reach, rows.reach, rtol=1e-12)
    used = np.arange(0, len(products.d), 3)
    assert np.allclose(products.curvature(used), rows.curvature(used), rtol=1e-12, atol=1e-13)
    for _ in range(3):
        assert products.sweep(0.0, 2) == rows.sweep(0.0, 2)
        assert np.allclose(products.d, rows.d, rtol=1e-10, atol=1e-11)
        assert np.allclose(products.gradient(), rows.gradient(), rtol=1e-10, atol=1e-11)
        assert np.isclose(products.value(products.d), rows.value(rows.d), rtol=1e-12)
        assert _jump(products) and _jump(rows)
        assert np.allclose(products.d, rows.d, rtol=1e-8, atol=1e-9)


def conditions(X, y, w, model, C):
    """How far each gradient exceeds the penalty."""
    Z = X @ model.coef_.T + model.intercept_
    if len(model.classes_) == 2:
        R = (1 / (1 + np.exp(-Z)) - (y == 1)[:, None]) * w[:, None]
    else:
        E = np.exp(Z - Z.max(axis=1, keepdims=True))
        R = (E / E.sum(axis=1, keepdims=True) - np.eye(Z.shape[1])[y]) * w[:, None]
    G, B = R.T @ X, model.coef_
    off = np.where(B != 0, np.abs(G + np.sign(B) / C), np.maximum(np.abs(G) - 1 / C, 0))
    return max(off.max(), np.abs(R.sum(axis=0)).max())


@pytest.mark.parametrize(("K", "C"), [(2, 0.3), (2, 100.0), (3, 1.0), (3, 50.0)])
def test_many_levels_reach_the_optimum(K, C):
    """More coefficients than rows, equal columns among them: the optimality conditions hold."""
    X, rng = levels(150, (140, 130, 60), K)
    y, w = rng.integers(K, size=150), rng.integers(1, 3, size=150).astype(float)
    model = LogisticRegression(l1_ratio=1.0, solver="saga", C=C, max_iter=1000)
    model.fit(sparse.csr_array(X), y, w)
    assert model.status_.code == "converged"
    assert conditions(X, y, w, model, C) < 1e-7
    again = np.repeat(np.arange(150), w.astype(int))
    other = LogisticRegression(l1_ratio=1.0, solver="saga", C=C, max_iter=1000)
    other.fit(sparse.csr_array(X[again]), y[again])
    value, repeated = (m.history_["objective"][-1] for m in (model, other))
    assert np.isclose(value, repeated, rtol=1e-9)


def test_names_and_tickets_with_a_weak_penalty_are_quick():
    """1,900 levels and words of 650 passengers; many columns are equal."""
    data = shared.frame("titanic3.csv").iloc[::2]
    X = data[["pclass", "name", "sex", "age", "sibsp", "parch", "ticket", "fare", "cabin"]]
    table = Table(kinds={"name": "text", "ticket": "categorical", "cabin": "categorical"})
    model = LogisticRegression(
        l1_ratio=1.0, C=100.0, solver="saga", max_iter=1000, standardize=True, table=table
    )
    began = time.process_time()
    model.fit(X, data["survived"].to_numpy())
    assert model.status_.code == "converged" and np.count_nonzero(model.coef_) < 400
    assert time.process_time() - began < 4


def test_threads_change_no_bit():
    X, rng = levels(200, (150, 120), 2)
    y = rng.integers(3, size=200)
    found = [
        LogisticRegression(l1_ratio=1.0, C=30.0, n_jobs=jobs, max_iter=1000)
        .fit(sparse.csr_array(X), y)
        .coef_
        for jobs in (1, 3)
    ]
    assert np.array_equal(*found)


@pytest.mark.parametrize("l1_ratio", [1.0, 0.4])
def test_equal_columns_are_one_column(l1_ratio):
    """Their coefficients are shared out: squares evenly; absolute values cost the same anyhow."""
    X, rng = levels(80, (12, 6), 3)
    y = rng.integers(2, size=80)
    doubled = sparse.csr_array(np.hstack([X, X[:, [0, 3, 3]]]))
    own = LogisticRegression(l1_ratio=l1_ratio, C=5.0, max_iter=1000).fit(doubled, y)
    if l1_ratio == 1.0:
        plain = LogisticRegression(l1_ratio=1.0, C=5.0, max_iter=1000).fit(sparse.csr_array(X), y)
        assert np.allclose(own.decision_function(doubled), plain.decision_function(X), atol=1e-6)
        assert not own.coef_[0, -3:].any()
    else:
        dense = LogisticRegression(l1_ratio=l1_ratio, C=5.0, max_iter=1000)
        dense.fit(doubled.toarray(), y)
        assert np.allclose(own.coef_, dense.coef_, atol=1e-6)
        assert own.coef_[0, 3] == own.coef_[0, -1] == own.coef_[0, -2]


def test_equal_columns_need_equal_penalties():
    X, _ = levels(30, (5,), 4)
    table, none = Rows(sparse.csr_array(np.hstack([X, X[:, :1]]))), np.zeros(6)
    l1 = np.array([1.0, 1, 1, 1, 1, 2])
    y = np.zeros(30, dtype=np.int32)
    assert equal_columns(Task(table, y, np.ones(30), 2, l1, none, True, None)) is None
    same = equal_columns(Task(table, y, np.ones(30), 2, np.ones(6), none, True, None))
    assert same is not None and same.first.tolist() == [0, 1, 2, 3, 4]
    B = np.array([[1.0, 0, 0, 0, 0, 2, 7]])
    assert same.inward(B).tolist() == [[3, 0, 0, 0, 0, 7]]
    assert same.outward(same.inward(B)).tolist() == [[3, 0, 0, 0, 0, 0, 7]]


def test_sweeps_bring_back_no_coefficient_that_a_jump_made_0(monkeypatch):
    # Only all levels of a column together can move far here: their sum is nearly free.
    rng = np.random.default_rng(12)
    codes = rng.integers(4, size=(400, 6))
    total = codes.sum(axis=1) - 8 * (codes[:, 0] == 0) + rng.normal(0, 0.4, 400)
    y = np.digitize(total, np.quantile(total, [0.5, 0.8, 0.93]))
    X = np.hstack([np.eye(4)[own] for own in codes.T])
    rounds, sweep = {}, ByProducts.sweep

    def counted(self, *options):
        rounds[self] = rounds.get(self, 0) + 1
        return sweep(self, *options)

    monkeypatch.setattr(ByProducts, "sweep", counted)
    model = LogisticRegression(C=100.0, l1_ratio=1.0, max_iter=1000).fit(X, y)
    assert model.status_.ok
    assert max(rounds.values()) <= 20  # of 60
