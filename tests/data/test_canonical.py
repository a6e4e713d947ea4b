"""Canonical rows: weight k, k copies and shuffled rows are one problem; loops equal their twins."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from pellucid.data import InputSpec, _loops, prepare
from pellucid.data.canonical import row_hash

SPEC = InputSpec("Model", target="classes", rows="canonical")


def canonical(X, y, weights=None, spec=SPEC):
    return prepare(X, y, weights, None, None, spec)[0]


@given(st.integers(0, 10_000), st.sampled_from(["matrix", "codes"]))
def test_weights_copies_and_order_are_one_problem(seed, layout):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (12, 2)).astype(float)
    y, w = rng.integers(0, 2, 12), rng.integers(0, 4, 12)
    y[:2], w[:2] = (0, 1), 1
    shuffled = rng.permutation(np.repeat(np.arange(12), w))
    spec = InputSpec("Model", target="classes", rows="canonical", layout=layout)
    a, b = canonical(X, y, w, spec), canonical(X[shuffled], y[shuffled], None, spec)
    assert np.array_equal(a.X, b.X) and np.array_equal(a.y, b.y)
    assert np.array_equal(a.weights, b.weights)
    assert a.total == w.sum()
    kept = a.position >= 0
    assert np.array_equal(kept, w > 0)
    assert np.array_equal(a.X[a.position[kept]], X[kept])


def test_sparse_and_dense_rows_have_one_order():
    X = np.random.default_rng(0).integers(0, 2, (50, 6)).astype(float)
    assert np.array_equal(row_hash(X), row_hash(sp.csr_array(X)))
    assert np.array_equal(row_hash(X), row_hash(np.asfortranarray(X)))


def test_hash_separates_rows_and_ignores_the_sign_of_zero():
    X = np.random.default_rng(1).normal(size=(5000, 3))
    assert len(np.unique(row_hash(X))) == 5000
    assert row_hash(np.array([[0.0, np.nan]])) == row_hash(np.array([[-0.0, -np.nan]]))
    assert row_hash(np.array([[1.0, 2.0]])) != row_hash(np.array([[2.0, 1.0]]))


@pytest.mark.parametrize("n, p", [(1, 1), (7, 3), (1000, 17)])
def test_loops_equal_their_plain_twins(n, p):
    rng = np.random.default_rng(n)
    X, w = rng.normal(size=(n, p)), rng.random(n)
    total, low, high = np.zeros(p), np.full(p, np.inf), np.full(p, -np.inf)
    _loops.column_facts(X, w, total, low, high)
    expected = np.zeros(p)
    for i in range(n):
        expected += w[i] * X[i]
    assert np.array_equal(total, expected)
    assert np.array_equal(low, X.min(axis=0)) and np.array_equal(high, X.max(axis=0))
    out = np.empty((n, p), order="F")
    assert _loops.to_columns(X, out) == 0.0
    assert np.array_equal(out, X)
    X[-1, -1] = np.inf
    assert np.isnan(_loops.to_columns(X, out))


def _mix(value):
    if np.isnan(value):
        bits = 0x7FF8000000000000
    else:
        bits = int(np.float64(value + 0.0).view(np.uint64))
    mask = 2**64 - 1
    bits ^= bits >> 32
    bits = bits * 0xD6E8FEB86659FD93 & mask
    return bits ^ bits >> 29


def test_hash_loop_equals_its_plain_twin():
    X = np.array([[1.5, -0.0], [np.nan, 1e-310], [np.inf, -3.0]])
    c = np.array([3, 2**63 + 5], dtype=np.uint64)
    expected = [sum(int(cj) * _mix(x) for cj, x in zip(c, row, strict=True)) % 2**64 for row in X]
    for order in "CF":
        out = np.zeros(3, dtype=np.uint64)
        _loops.hash_rows(np.asarray(X, order=order), c, out)
        assert out.tolist() == expected
