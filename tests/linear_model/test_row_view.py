"""A view of rows gives the bits of a reordered copy, without one."""

import tracemalloc

import numpy as np
import pytest

from pellucid.data import problem as problems
from pellucid.data.canonical import canonical, canonical_view
from pellucid.data.problem import InputSpec, prepare
from pellucid.data.row_view import RowView
from pellucid.linear_model import Perceptron, SGDClassifier, SGDRegressor
from pellucid.linear_model.base import column_means

MODELS = [
    SGDRegressor(max_iter=3, tol=None, random_state=0),
    SGDRegressor(tol=9.0, n_iter_no_change=2, early_stopping=True, random_state=0),
    SGDClassifier(max_iter=3, tol=None, random_state=0),
    SGDClassifier(tol=9.0, n_iter_no_change=2, early_stopping=True, average=True, random_state=0),
    Perceptron(max_iter=3, tol=None, random_state=0),
]


def sample(model, n=9000, p=6):
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(n, p)), rng.integers(0, 3, n).astype(float)
    X[n // 2 :: 5] = X[0]
    y = X[:, 0] + 0.3 * rng.normal(size=n)
    y[n // 2 :: 5] = y[0]
    return X, (y if isinstance(model, SGDRegressor) else np.digitize(y, [-0.5, 0.5])), w


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_bits_of_a_copy(model, monkeypatch):
    X, y, w = sample(model)
    in_its_place = model.fit(X, y, sample_weight=w)
    coef, means = in_its_place.coef_.tobytes(), in_its_place.means_
    order = np.random.default_rng(1).permutation(len(X))
    again = model.fit(X[order], y[order], sample_weight=w[order])
    assert again.coef_.tobytes() == coef and again.means_.tobytes() == means.tobytes()
    monkeypatch.setattr(problems.canonical, "canonical_view", lambda problem, _: canonical(problem))
    copied = model.fit(X, y, sample_weight=w)
    assert copied.coef_.tobytes() == coef
    np.testing.assert_allclose(copied.means_, means, rtol=1e-12)


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_the_table_is_not_copied(model):
    X, y, _ = sample(model, p=200)
    model.fit(X[:500], y[:500])  # modules are loaded
    tracemalloc.start()
    model.fit(X, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < X.nbytes / 4


def test_a_view_is_the_rows_of_the_table():
    rng = np.random.default_rng(2)
    table, places = rng.normal(size=(50, 3)), rng.permutation(50)[:20].astype(np.int32)
    X, plain = RowView(table, places), table[places]
    assert X.shape == (20, 3) and np.array_equal(X[3:9], plain[3:9])
    assert len(X) == 20 and np.array_equal(X[:, 1], plain[:, 1])
    some = np.array([4, 1, 1])
    assert np.array_equal(X[some][:], plain[some])
    np.testing.assert_allclose(X @ np.ones(3), plain @ np.ones(3), rtol=1e-15)
    np.testing.assert_allclose(X @ np.ones((3, 2)), plain @ np.ones((3, 2)), rtol=1e-15)
    w = rng.uniform(size=20)
    np.testing.assert_allclose(column_means(X, w), w @ plain / w.sum(), rtol=1e-13)


@pytest.mark.parametrize("fractions", [False, True])
def test_a_canonical_view_is_the_canonical_copy(fractions):
    X, y, w = sample(MODELS[0], 300)
    w = w + 0.5 if fractions else w
    problem, _ = prepare(X, y, w, None, None, InputSpec("Model", target="numbers"))
    copy, there = canonical(problem), canonical_view(problem)
    assert np.array_equal(there.X[:], copy.X) and np.array_equal(there.y, copy.y)
    assert np.array_equal(there.weights, copy.weights)
    assert (there.n < problem.n) == (not fractions)
