"""Distances from class means and Bayes' rule: compiled loops against plain ones, build for build."""

import numpy as np
import pytest

from pellucid.numerics import _densities, _groups, bayes, densities
from pellucid.numerics.class_moments import class_moments
from pellucid.numerics.simd import builds

BUILDS, SUMS = builds(_densities), builds(_groups)


def table(n, p, K, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)) * 10, rng.normal(size=(K, p)), rng.normal(size=(K, p, p))


def distances(X, means, W):
    """Of densities without a constant."""
    found, fine = densities.whitened_log_density(X, means, W, np.zeros(len(means)))
    assert fine
    return -2 * found


def plain_lengths(X, means, W):
    return np.array([[sum(z * z for z in (x - m) @ w) for m, w in zip(means, W)] for x in X])


@pytest.mark.parametrize("n", [1, 7, 8, 21])
@pytest.mark.parametrize("p", [1, 3, 4, 9, 16])
def test_lengths_are_the_plain_ones(n, p):
    X, means, W = table(n, p, 3)
    expected = plain_lengths(X, means, W)
    half = np.stack([densities.triangular(w) for w in W])
    assert all(np.all(np.triu(w, 1) == 0) for w in half)
    for white in (W, half):
        np.testing.assert_allclose(distances(X, means, white), expected, rtol=1e-12)
    narrow = W[:, :, : max(1, p - 2)]
    np.testing.assert_allclose(
        distances(X, means, narrow), plain_lengths(X, means, narrow), rtol=1e-12
    )


def test_both_builds_give_equal_bits():
    X, means, W = table(37, 13, 3, 1)
    tiles, begin = densities._tiled(W)
    constant, found = np.array([0.1, -2.0, 3.0]), []
    for build in BUILDS:
        a, b, c = (np.empty((37, 3)) for _ in range(3))
        room, failed = np.empty((2, 13, 8)), np.empty(37, dtype=np.uint8)
        build.whitened_log_density(X, means, tiles, begin, constant, 1e290, room, a)
        build.normal_log_density(X, means, means**2, constant, 1e290, b)
        build.normalise(a, constant, False, c, failed)
        found.append((a.tobytes(), b.tobytes(), c.tobytes()))
    assert len(set(found)) == 1


def test_both_builds_of_the_sums_give_equal_bits():
    X, means, _ = table(37, 13, 3, 2)
    y, w = np.arange(37, dtype=np.int32) % 3, np.linspace(0.1, 3, 37)
    found = []
    for build in SUMS:
        squares, slips, sums, total = (np.zeros((3, 13)) for _ in range(4))
        build.square_by_class(X, y, w, means, squares, slips)
        build.sum_by_class(X, y, w, sums, total[:, 0].copy())
        found.append((squares.tobytes(), slips.tobytes(), sums.tobytes()))
    assert len(set(found)) == 1


def test_a_row_does_not_depend_on_its_neighbours():
    X, means, W = table(100, 11, 2, 2)
    whole = distances(X, means, W)
    for rows in (slice(0, 1), slice(3, 12), slice(50, 100)):
        np.testing.assert_array_equal(distances(X[rows], means, W), whole[rows])


@pytest.mark.parametrize("p", [1, 7, 8, 20])
def test_normal_densities_are_the_plain_ones(p):
    X, means, _ = table(30, p, 4, 3)
    constant = np.array([0.0, 1.0, -2.0, 5.0])
    expected = [[-0.5 * (sum((x - m) ** 2 * m**2) + c) for m, c in zip(means, constant)] for x in X]
    found, fine = densities.normal_log_density(X, means, means**2, constant)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert fine


def test_densities_say_where_a_distance_is_cut_or_none():
    X, means, W = table(20, 5, 2, 4)
    X[3, 1], X[7, 4], X[9, 0] = 1e200, np.nan, np.inf
    for found, fine in (
        densities.normal_log_density(X, means, means**2, np.zeros(2)),
        densities.whitened_log_density(X, means, W, np.zeros(2)),
    ):
        assert not fine
        assert np.isnan(found[7]).all() and not (found[9] > -0.5 * densities.LARGEST).any()
        assert (found[3] == -0.5 * densities.LARGEST).all()
        np.testing.assert_array_equal(np.isfinite(found[[0, 1, 2, 19]]), True)


def plain_posterior(joint, prior):
    """Row by row; where no class can be, the prior."""
    out = []
    for row in joint:
        top = max(row)
        if not np.isfinite(top) or np.isnan(row).any():
            out.append(prior / prior.sum())
        else:
            e = np.exp(row - top)
            out.append(e / e.sum())
    return np.array(out)


def test_normalising_is_the_plain_one():
    rng = np.random.default_rng(4)
    density = rng.normal(size=(200, 3)) * rng.choice([1, 1e3, 1e100], size=(200, 1))
    density[::7, 1] = -np.inf
    density[::31] = -np.inf
    density[5, 0], density[6, 2] = np.nan, np.inf
    prior = np.array([0.2, 0.3, 0.5])
    with np.errstate(divide="ignore"):
        expected = plain_posterior(density + np.log(prior), prior)
        found = bayes.posterior(density, prior)
        np.testing.assert_allclose(found, expected, rtol=1e-13)
        np.testing.assert_allclose(
            np.exp(bayes.log_posterior(density, prior)), expected, rtol=1e-9, atol=1e-300
        )
    np.testing.assert_array_equal(bayes.leading_class(density, prior), found.argmax(axis=1))


def test_the_leading_class_is_that_of_the_probabilities_at_ties():
    """Scores that differ by less than the last digit of a probability."""
    rng = np.random.default_rng(5)
    base = rng.normal(size=(4000, 1)) * rng.choice([1e-3, 1, 1e3], size=(4000, 1))
    Z = base + rng.integers(-3, 4, size=(4000, 3)) * 10.0 ** rng.integers(-19, -12, size=(4000, 1))
    prior = np.full(3, 1 / 3)
    codes = bayes.leading_class(Z, prior)
    np.testing.assert_array_equal(codes, bayes.posterior(Z, prior).argmax(axis=1))
    assert len(set(codes)) == 3


def test_one_score_leads_if_it_is_positive():
    Z = np.array([-1.0, 1e-30, 2.0, 0.0])
    codes = bayes.leading(Z, lambda rows: np.column_stack([1 - Z[rows], Z[rows]]))
    assert codes.tolist() == [0, 0, 1, 0]


@pytest.mark.parametrize("arranged", ["as drawn", "by class", "far first rows", "constant"])
def test_moments_of_classes_in_one_visit(arranged):
    """Digits do not depend on which rows come first."""
    rng = np.random.default_rng(6)
    X, y, w = rng.normal(size=(3000, 4)) + 1e6, rng.integers(0, 3, 3000), rng.uniform(1, 2, 3000)
    if arranged == "by class":
        order = np.argsort(y, kind="stable")
        X, y, w = X[order], y[order], w[order]
    elif arranged == "far first rows":
        X[:256] += 1e9
    elif arranged == "constant":
        X[:, 1] = 0.1
    found = class_moments(np.ascontiguousarray(X), y.astype(np.int32), w, 3, "diagonal")
    for k in range(3):
        rows, share = X[y == k].astype(np.longdouble), w[y == k].astype(np.longdouble)
        mean = (share[:, None] * rows).sum(axis=0) / share.sum()
        scatter = (share[:, None] * (rows - mean) ** 2).sum(axis=0)
        np.testing.assert_allclose(found.mean[k], mean.astype(float), rtol=1e-14)
        np.testing.assert_allclose(found.scatter[k], scatter.astype(float), rtol=1e-11, atol=1e-18)


@pytest.mark.parametrize(
    "scores", [[0.0, 1e-14, -1.0], [2.0, 2.0, 2.0], [-1.0, 3.0, 2.0], [5.0, 5.0, 6.0]]
)
def test_a_single_row_leads_as_among_many(scores):
    def chances(rows):
        Z = np.exp(np.tile(scores, (len(rows), 1)))
        return Z / Z.sum(axis=1, keepdims=True)

    many = bayes.leading(np.tile(scores, (100, 1)), chances)
    assert (many == bayes.leading(np.array([scores]), chances)[0]).all()
    asked = []
    bayes.leading(np.array([[np.nan, 1.0, 0.0]]), lambda rows: asked.append(rows) or np.eye(3)[:1])
    assert asked  # what is not a number is not decided here
