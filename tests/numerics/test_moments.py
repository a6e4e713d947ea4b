"""Moments, covariances and Bayes' rule."""

from fractions import Fraction

import numpy as np
import pytest

from pellucid import parallel
from pellucid.numerics import bayes, covariance
from pellucid.numerics.class_moments import class_moments
from pellucid.numerics.moments import moments, weighted_mean


def test_moments_against_fractions_at_an_offset():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) + 1e8
    w = rng.integers(0, 3, 60).astype(float)
    found = moments(X, w)
    rows = [[Fraction(v) for v in row] for row in X.tolist()]
    total = sum(Fraction(v) for v in w.tolist())
    mean = [sum(Fraction(v) * r[j] for v, r in zip(w.tolist(), rows)) / total for j in range(2)]
    for i in range(2):
        assert abs(found.mean[i] - float(mean[i])) <= 2e-8
        for j in range(2):
            exact = sum(
                Fraction(v) * (r[i] - mean[i]) * (r[j] - mean[j]) for v, r in zip(w.tolist(), rows)
            )
            assert found.scatter[i, j] == pytest.approx(float(exact), rel=1e-13)


def test_chunked_equals_whole_and_variances_are_the_diagonal():
    rng = np.random.default_rng(1)
    X, w = rng.normal(size=(30_000, 20)) * 5 + 100, rng.uniform(0.5, 2, 30_000)
    found, slim = moments(X, w), moments(X, w, full=False)
    mean = np.average(X, axis=0, weights=w)
    np.testing.assert_allclose(found.mean, mean, rtol=1e-14)
    np.testing.assert_allclose(
        found.scatter, (X - mean).T @ ((X - mean) * w[:, None]), rtol=1e-10, atol=1e-8
    )
    np.testing.assert_allclose(slim.variance, found.variance, rtol=1e-13)
    merged = moments(X[:777], w[:777]).merge(moments(X[777:], w[777:]))
    np.testing.assert_allclose(merged.covariance(), found.covariance(), rtol=1e-11, atol=1e-12)


def test_empty_groups_merge():
    X = np.array([[1.0, 2.0], [3.0, 5.0]])
    nobody, both = moments(X, np.zeros(2)), moments(X, np.ones(2))
    assert nobody.merge(both) is both and both.merge(nobody) is both


def test_equal_bits_for_any_number_of_threads():
    rng = np.random.default_rng(2)
    X, w = rng.normal(size=(20_000, 30)), np.ones(20_000)
    bits = set()
    for threads in [1, 2, 4]:
        parallel.set_threads(threads)
        found = moments(X, w)
        bits.add(found.mean.tobytes() + found.scatter.tobytes())
    parallel.set_threads(None)
    assert len(bits) == 1
    np.testing.assert_allclose(found.covariance(), np.cov(X.T, bias=True), atol=1e-13)


def test_shrunk_covariances_equal_the_peer():
    peer = pytest.importorskip("sklearn.covariance")
    X = np.random.default_rng(3).normal(size=(30, 8)) @ np.diag(np.arange(1.0, 9.0)) + 50
    ones = np.ones(30)
    S = moments(X, ones).covariance()
    np.testing.assert_allclose(S, peer.empirical_covariance(X))
    np.testing.assert_allclose(covariance.shrunk(S, 0.2), peer.shrunk_covariance(S, 0.2))
    centred = X - X.mean(axis=0)
    (S, shrinkage), (T, other) = covariance.ledoit_wolf(X, ones), peer.ledoit_wolf(centred)
    assert 0 < shrinkage < 1
    assert shrinkage == pytest.approx(other, rel=1e-12)
    np.testing.assert_allclose(S, T, rtol=1e-11, atol=1e-12)


def test_weights_in_shrinkage_mean_repetition():
    rng = np.random.default_rng(4)
    X, w = rng.normal(size=(20, 4)), rng.integers(0, 4, 20)
    S, s = covariance.ledoit_wolf(X, w.astype(float))
    T, t = covariance.ledoit_wolf(np.repeat(X, w, axis=0), np.ones(w.sum()))
    assert s == pytest.approx(t, rel=1e-12)
    np.testing.assert_allclose(S, T, rtol=1e-12, atol=1e-14)


def test_bayes_rule_of_two_gaussians():
    # Bernoulli table of the tests: joints .09375 and .015625 give (6/7, 1/7).
    density = np.log(np.array([[0.1875, 0.03125]]))
    np.testing.assert_allclose(bayes.posterior(density, np.array([0.5, 0.5])), [[6 / 7, 1 / 7]])


def test_bayes_rule_survives_underflow_and_impossible_rows():
    density = np.array([[-1e5, -1e5 - 1], [-np.inf, -2.0], [-np.inf, -np.inf]])
    prior = np.array([0.3, 0.7])
    found = bayes.posterior(density, prior)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    np.testing.assert_allclose(found[0, 0], 0.3 / (0.3 + 0.7 * np.exp(-1)))
    np.testing.assert_allclose(found[1:], [[0, 1], prior])
    assert bayes.posterior(density[:1], np.array([0.0, 1.0])).tolist() == [[0, 1]]


def test_means_of_numbers_whose_sum_overflows():
    values = np.array([[1.0e308, -1.5e308], [1.5e308, 0.0], [1.1e308, -0.3e308]])
    w = np.array([3.0, 1.0, 4.0])
    exact = [float(sum(Fraction(a) * Fraction(v) for a, v in zip(w, x)) / 8) for x in values.T]
    np.testing.assert_allclose(weighted_mean(values, w), exact, rtol=1e-15)
    assert weighted_mean(np.full(5, 1.7e308), np.ones(5)) == 1.7e308


@pytest.mark.parametrize("form", ["diagonal", "own", "shared"])
def test_class_moments_of_parts_with_as_many_classes_as_columns(form):
    """Then the products of all classes together have the shape of the means."""
    rng = np.random.default_rng(0)
    X, y, w = rng.normal(size=(60, 3)), np.arange(60) % 3, rng.uniform(0.5, 2.0, 60)
    X[30:] += 5.0
    codes = y.astype(np.int32)
    parts = [class_moments(X[a], codes[a], w[a], 3, form) for a in (slice(30), slice(30, None))]
    found, whole = parts[0].merge(parts[1]), class_moments(X, codes, w, 3, form)
    centred = [X[y == k] - np.average(X[y == k], axis=0, weights=w[y == k]) for k in range(3)]
    own = np.array([(R.T * w[y == k]) @ R for k, R in enumerate(centred)])
    wanted = {"own": own, "shared": own.sum(axis=0), "diagonal": own.diagonal(axis1=1, axis2=2)}
    for one in (found, whole):
        np.testing.assert_allclose(one.scatter, wanted[form], rtol=1e-12, atol=1e-12)
