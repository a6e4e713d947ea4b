"""The loops against the definition, and one build against the other."""

import numpy as np
import pytest

from pellucid.mixture import _loops
from pellucid.mixture.covariance_types import CovarianceType, log_determinants
from tests.mixture import plain


def problem(rng, n, p, K, kind):
    X, w = rng.normal(size=(n, p)), rng.integers(1, 4, n).astype(float)
    means, weights = rng.normal(size=(K, p)), rng.dirichlet(np.ones(K))
    A = rng.normal(size=(1 if kind == "tied" else K, p, p + 3))
    S = A @ A.transpose(0, 2, 1)
    if kind == "diag":
        S = np.diagonal(S, axis1=1, axis2=2)[:, None, :].copy()
    roots = CovarianceType(kind, np.ones(p), 0.0).roots(S)
    matrices = np.stack([np.diag(s[0]) for s in S]) if kind == "diag" else S
    logs = np.log(weights) + log_determinants(roots, K) - 0.5 * p * np.log(2 * np.pi)
    return X, w, weights, means, np.broadcast_to(matrices, (K, p, p)), roots, logs


@pytest.mark.parametrize("kind", ["full", "tied", "diag"])
@pytest.mark.parametrize(("n", "p", "K"), [(1, 1, 1), (31, 3, 2), (70, 5, 4), (64, 1, 3)])
def test_expectation_is_that_of_the_definition(rng, kind, n, p, K):
    X, w, weights, means, matrices, roots, logs = problem(rng, n, p, K, kind)
    mass, first, second = (
        np.zeros(K),
        np.zeros((K, p)),
        CovarianceType(kind, np.ones(p), 0.0).empty(K),
    )
    bound = _loops.expect(
        X, w, means, roots, logs, mass, first, second, np.zeros(1, dtype=np.int32)
    )
    expected = plain.moments(X, w, weights, means, matrices)
    if kind == "diag":
        wanted = np.diagonal(expected[3], axis1=1, axis2=2)[:, None, :]
    else:
        wanted = np.tril(expected[3].sum(axis=0)[None] if kind == "tied" else expected[3])
    assert bound == pytest.approx(expected[0], rel=1e-12)
    np.testing.assert_allclose(mass, expected[1], rtol=1e-11)
    np.testing.assert_allclose(first, expected[2], rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(second, wanted, rtol=1e-9, atol=1e-11)
    out = np.empty((n, K))
    _loops.joint(X, means, roots, logs, out)
    np.testing.assert_allclose(out, plain.joint(X, weights, means, matrices), rtol=1e-10)


@pytest.mark.parametrize("kind", ["full", "diag"])
def test_both_builds_have_equal_bits(rng, kind):
    X, w, _, means, _, roots, logs = problem(rng, 203, 7, 3, kind)
    found = []
    for wide in (False, True):
        _loops.use_wide(wide)
        parts = np.zeros(3), np.zeros((3, 7)), CovarianceType(kind, np.ones(7), 0.0).empty(3)
        stop = np.zeros(1, dtype=np.int32)
        bound = _loops.expect(X, w, means, roots, logs, *parts, stop)
        found.append([np.array(bound), *parts])
    assert all(a.tobytes() == b.tobytes() for a, b in zip(*found))


def test_a_set_flag_stops_the_loop(rng):
    X, w, _, means, _, roots, logs = problem(rng, 500, 2, 2, "full")
    parts = np.zeros(2), np.zeros((2, 2)), np.zeros((2, 2, 2))
    _loops.expect(X, w, means, roots, logs, *parts, np.ones(1, dtype=np.int32))
    assert parts[0].sum() == 0
