"""Scores of rows: against exact sums, alone and among others, with cells that are not finite."""

import math

import numpy as np
import pytest
from scipy.sparse import csr_array

from pellucid import parallel
from pellucid.errors import DataError
from pellucid.linear_model import Lasso, LogisticRegression
from pellucid.numerics import _scores, simd
from pellucid.numerics import linear_scores as linear_scores_module
from pellucid.numerics.linear_scores import linear_scores
from pellucid.svm import LinearSVC

BUILDS = {"plain": _scores, "fastest": simd.fastest(_scores)}


def table(n, p, dtype=np.float64):
    rng = np.random.default_rng(10 * n + p)
    return rng.normal(size=(n, p)).astype(dtype), rng.normal(size=p)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("p", [0, 1, 3, 7, 8, 9, 16, 37])
def test_scores_are_exact_sums_but_for_rounding(p, dtype):
    X, b = table(11, p, dtype)
    found = {name: np.empty(11) for name in BUILDS}
    for name, build in BUILDS.items():
        build.row_scores(X, b, 0.25, found[name])
    exact = [math.fsum([*(row * b).tolist(), 0.25]) for row in X.astype(float)]
    np.testing.assert_allclose(found["plain"], exact, rtol=1e-13, atol=1e-14)
    assert found["plain"].tobytes() == found["fastest"].tobytes()


@pytest.mark.parametrize("shape", [(5, 11), (40_003, 11)])
def test_a_row_has_the_same_bits_alone_and_for_any_number_of_threads(shape):
    X, b = table(*shape)
    whole = linear_scores(X, b, 0.5)
    for i in (0, 3, 4, len(X) - 1):
        assert linear_scores(X[i : i + 1], b, 0.5)[0] == whole[i]
    try:
        for n in (1, 2, 4):
            parallel.set_threads(n)
            assert linear_scores(X, b, 0.5).tobytes() == whole.tobytes()
    finally:
        parallel.set_threads(None)
    assert linear_scores(np.asfortranarray(X), b, 0.5).tobytes() == whole.tobytes()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("j", range(11))
def test_a_cell_that_is_not_finite_shows_where_the_coefficient_is_0(j, bad):
    X = table(6, 11)[0]
    X[2, j] = bad
    found = np.isfinite(linear_scores(X, np.zeros(11), 1.0))
    np.testing.assert_array_equal(found, np.arange(6) != 2)


def sparse_table(kind, n=50, p=9):
    rng = np.random.default_rng(5)
    X = csr_array(np.where(rng.random((n, p)) < 0.4, rng.normal(size=(n, p)), 0.0))
    X.indices, X.indptr = X.indices.astype(kind), X.indptr.astype(kind)
    return X


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("k", [0, 1, 2, 3, 4, 5])
def test_scores_of_sparse_rows_are_those_of_dense_ones(kind, k, monkeypatch):
    X, rng = sparse_table(kind), np.random.default_rng(6)
    coef = rng.normal(size=(k, 9)) if k else rng.normal(size=9)
    shift = rng.normal(size=k) if k else 0.25
    found = linear_scores(X, coef, shift)
    np.testing.assert_allclose(found, X.toarray() @ coef.T + shift, rtol=1e-13, atol=1e-14)
    monkeypatch.setattr(linear_scores_module, "loops", _scores)
    assert linear_scores(X, coef, shift).tobytes() == found.tobytes()
    empty = csr_array((3, 9))
    np.testing.assert_array_equal(
        linear_scores(empty, coef, shift), np.zeros((3, 9)) @ coef.T + shift
    )


@pytest.mark.parametrize("k", [0, 2, 4])
def test_blocks_of_sparse_rows_give_the_bits_of_single_rows(k):
    X = sparse_table(np.int32, n=70_000)
    coef = np.random.default_rng(7).normal(size=(k, 9) if k else 9)
    whole = linear_scores(X, coef, 0.5)
    for i in (0, 65_535, 65_536, 69_999):
        assert linear_scores(X[i : i + 1], coef, 0.5).tobytes() == whole[i : i + 1].tobytes()


def test_an_entry_that_is_not_finite_is_named_by_models_of_sparse_tables():
    X = sparse_table(np.int32)
    y = np.arange(50) % 2
    bad = X.copy()
    bad.data[3] = np.nan
    for model in (Lasso(alpha=1e6), LogisticRegression(), LinearSVC()):
        model.fit(X, y)
        with pytest.raises(DataError, match="NaN or infinity in its sparse data: row"):
            model.predict(bad)
