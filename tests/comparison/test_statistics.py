"""Intervals and tests against closed forms, and against simulations where the truth is known."""

import numpy as np
import pytest
from scipy import stats

from pellucid.comparison.analysis import statistics
from pellucid.comparison.analysis.by_folds import LOSS, fold_difference, fold_interval
from pellucid.model_selection.folds import PlainFolds


def test_corrected_interval_is_the_formula():
    scores = [0.81, 0.79, 0.86, 0.80, 0.84]
    low, high = fold_interval(scores, ratio=0.25)
    error = np.sqrt(np.var(scores, ddof=1) * (1 / 5 + 0.25))
    half = stats.t.ppf(0.975, 4) * error
    assert (low, high) == pytest.approx((np.mean(scores) - half, np.mean(scores) + half), abs=1e-12)


def test_folds_that_are_drawn_again_tell_of_no_further_rows(rng):
    scores = 0.8 + 0.05 * rng.normal(size=20)
    half = stats.t.ppf(0.975, 4) * np.sqrt(np.var(scores, ddof=1) * (1 / 5 + 0.25))
    low, high = fold_interval(scores, 0.25, repeats=4)
    assert (low, high) == pytest.approx((scores.mean() - half, scores.mean() + half))


def test_interval_stays_within_the_bounds_of_its_metric():
    low, high = fold_interval([0.99, 1.0, 0.9], 0.5, bounds=(0.0, 1.0))
    assert high == 1.0 and 0.0 <= low < 0.9


def test_interval_without_a_score_is_undefined():
    assert np.isnan(fold_interval([0.9, float("nan"), 0.8], 0.25)).all()
    assert np.isnan(fold_interval([0.9], 0.25)).all()


def test_paired_p_is_the_corrected_t_test():
    a, b = np.array([0.9, 0.8, 0.85, 0.95]), np.array([0.7, 0.75, 0.8, 0.9])
    d = a - b
    t = d.mean() / np.sqrt(d.var(ddof=1) * (1 / 4 + 1 / 3))
    found = fold_difference(a, b, 1 / 3)
    assert found.p == pytest.approx(2 * stats.t.sf(abs(t), 3), abs=1e-12)
    assert found.mean == pytest.approx(d.mean()) and found.df == 3
    assert fold_difference(a, b, 1 / 3, sign=-1).mean == pytest.approx(-d.mean())


def test_equal_models_are_tied_and_constant_differences_are_not():
    assert fold_difference([0.5, 0.6], [0.5, 0.6], 1.0).p == 1.0
    assert fold_difference([0.5, 0.6, 0.7], [0.4, 0.5, 0.6], 0.5).p == 0.0
    assert np.isnan(fold_difference([0.5], [0.6], 1.0).p)


def test_losses_are_compared_and_bounded_by_their_ratios():
    good, bad = [1.0, 1.1, 0.9, 1.0, 1.05], [1e9, 3e12, 2e18, 5e10, 7e9]
    assert fold_difference(good, bad, 0.25).p > 0.3  # one fold drowns the others
    p = fold_difference(good, bad, 0.25, losses=True).p
    d = np.log(bad) - np.log(good)
    t = d.mean() / np.sqrt(d.var(ddof=1) * (1 / 5 + 1 / 4))
    assert p == pytest.approx(2 * stats.t.sf(t, 4), rel=1e-9) and p < 0.05
    low, high = fold_interval(bad, 0.25, LOSS)
    assert low > 0 and low * high == pytest.approx(np.mean(bad) ** 2)
    factor = np.exp(stats.t.ppf(0.975, 4) * np.std(np.log(good), ddof=1) * np.sqrt(0.45))
    assert fold_interval(good, 0.25, LOSS) == pytest.approx(
        (np.mean(good) / factor, np.mean(good) * factor)
    )
    assert fold_interval([0.0, 1.0], 1.0, LOSS)[0] == 0.0  # no logarithm of 0


def test_holm_is_holms_method():
    p = [0.01, 0.04, 0.03, float("nan"), 0.005]
    adjusted = statistics.holm(p)
    assert adjusted[:3] + adjusted[4:] == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert np.isnan(adjusted[3])


def test_the_rows_behind_a_score_by_metric():
    def sample(metric, *rows):
        return statistics.EffectiveSample(metric, rows)

    assert sample("accuracy", 30.0, 10.0).rows == 40
    # The mean of two recalls has the variance of a share among 4 / (1/30 + 1/10) rows.
    assert sample("balanced_accuracy", 30.0, 10.0).rows == pytest.approx(30)
    assert sample("f1", 30.0, 10.0).rows == 10
    assert sample("rmse").rows is None and sample("rmse").interval(2.0) == (2.0, 2.0)
    assert sample("roc_auc", 30.0, 10.0).interval(1.0) == statistics.auc_interval(1.0, 10, 30)


def test_wilson_is_wilsons_interval():
    from statsmodels.stats.proportion import proportion_confint

    for right, n in [(0, 10), (7, 10), (10, 10), (430, 500)]:
        expected = proportion_confint(right, n, method="wilson")
        assert statistics.wilson(right / n, n) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("auc", [0.0, 0.3, 0.5, 0.9, 1.0])
def test_auc_interval_holds_its_estimate_and_never_vanishes(auc):
    low, high = statistics.auc_interval(auc, 20, 30)
    assert 0 <= low <= auc <= high <= 1 and high - low > 0.05


def test_auc_interval_solves_newcombes_equation():
    low, high = statistics.auc_interval(0.9, 40, 60)
    for theta in (low, high):
        m = 49
        v = theta * (1 - theta) * (1 + m * (1 - theta) / (2 - theta) + m * theta / (1 + theta))
        assert abs(theta - 0.9) == pytest.approx(1.959964 * np.sqrt(v / 2400), rel=1e-5)


def test_bootstrap_of_a_mean_is_near_the_normal_interval(rng):
    x = rng.normal(size=400)
    low, high = statistics.bootstrap(lambda rows: x[rows].mean(), 400, rng)
    half = 1.96 * x.std() / 20
    assert (low, high) == pytest.approx((x.mean() - half, x.mean() + half), abs=0.02)


def test_percentiles_of_few_rows_reach_as_far_as_the_t_distribution(rng):
    """The tail is that of the normal distribution beyond t sqrt(n / (n - 1)) (Hesterberg 2015)."""
    x = rng.normal(size=6)
    low, high = statistics.bootstrap(lambda rows: x[rows].mean(), 6, np.random.default_rng(1))
    redrawn = np.random.default_rng(1)
    means = [x[redrawn.integers(0, 6, 6)].mean() for _ in range(1000)]
    tail = stats.norm.sf(stats.t.ppf(0.975, 5) * np.sqrt(6 / 5))
    assert 0.001 < tail < 0.01  # plain percentiles would take 0.025
    assert (low, high) == pytest.approx(tuple(np.quantile(means, [tail, 1 - tail])), abs=1e-12)


@pytest.mark.slow
def test_intervals_of_repeated_folds_cover(rng):
    """Squared errors of a mean, four times five folds: nominal 95 %, at least 90 % of 400 tables.

    As if all twenty folds were of different rows it would be 85 %.
    """
    inside = {4: 0, 1: 0}
    for _ in range(400):
        y, scores = rng.exponential(size=50), []
        for repeat in range(4):
            for train, test in PlainFolds(5, int(rng.integers(2**31)), repeat).split(y):
                scores.append(np.sqrt(((y[test] - y[train].mean()) ** 2).mean()))
        truth = np.sqrt(1 + (y.mean() - 1) ** 2)
        for repeats in inside:
            low, high = fold_interval(scores, 0.25, LOSS, repeats=repeats)
            inside[repeats] += low <= truth <= high
    assert inside[4] / 400 >= 0.90 and inside[4] - inside[1] > 0.02 * 400


def test_the_jackknife_of_a_mean_is_the_t_interval_of_groups(rng):
    x, groups = rng.normal(size=24), np.arange(24) % 6
    low, high = statistics.jackknife(lambda rows: x[rows].mean(), groups)
    means = np.array([x[groups == g].mean() for g in range(6)])
    half = stats.t.ppf(0.975, 5) * stats.sem(means)
    assert (low, high) == pytest.approx((means.mean() - half, means.mean() + half), abs=1e-12)
    nowhere = statistics.jackknife(lambda rows: x[rows].mean() if 0 in rows else np.nan, groups)
    assert np.isnan(nowhere).all()


def test_a_share_whose_rows_are_estimated_has_students_interval():
    z = stats.t.ppf(0.975, 7)
    for end in statistics.wilson(0.8, 30.0, df=7):
        assert abs(end - 0.8) == pytest.approx(z * np.sqrt(end * (1 - end) / 30))
