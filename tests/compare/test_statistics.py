"""Intervals and tests against closed forms, and against simulations where the truth is known."""

import numpy as np
import pytest
from scipy import stats

from pellucid.compare import statistics
from pellucid.model_selection import PlainFolds


def test_corrected_interval_is_the_formula():
    scores = [0.81, 0.79, 0.86, 0.80, 0.84]
    low, high = statistics.interval(scores, ratio=0.25)
    error = np.sqrt(np.var(scores, ddof=1) * (1 / 5 + 0.25))
    half = stats.t.ppf(0.975, 4) * error
    assert (low, high) == pytest.approx((np.mean(scores) - half, np.mean(scores) + half), abs=1e-12)


def test_folds_that_are_drawn_again_tell_of_no_further_rows(rng):
    scores = 0.8 + 0.05 * rng.normal(size=20)
    half = stats.t.ppf(0.975, 4) * np.sqrt(np.var(scores, ddof=1) * (1 / 5 + 0.25))
    low, high = statistics.interval(scores, 0.25, repeats=4)
    assert (low, high) == pytest.approx((scores.mean() - half, scores.mean() + half))
    found = statistics.standings({"a": scores}, 0.25, 1, (-np.inf, np.inf), repeats=4)["a"]
    assert (found.low, found.high) == (low, high)


def test_interval_stays_within_the_bounds_of_its_metric():
    low, high = statistics.interval([0.99, 1.0, 0.9], 0.5, bounds=(0.0, 1.0))
    assert high == 1.0 and 0.0 <= low < 0.9


def test_interval_without_a_score_is_undefined():
    assert np.isnan(statistics.interval([0.9, float("nan"), 0.8], 0.25)).all()
    assert np.isnan(statistics.interval([0.9], 0.25)).all()


def test_paired_p_is_the_corrected_t_test():
    a, b = np.array([0.9, 0.8, 0.85, 0.95]), np.array([0.7, 0.75, 0.8, 0.9])
    d = a - b
    t = d.mean() / np.sqrt(d.var(ddof=1) * (1 / 4 + 1 / 3))
    assert statistics.paired_p(a, b, 1 / 3) == pytest.approx(2 * stats.t.sf(abs(t), 3), abs=1e-12)


def test_equal_models_are_tied_and_constant_differences_are_not():
    assert statistics.paired_p([0.5, 0.6], [0.5, 0.6], 1.0) == 1.0
    assert statistics.paired_p([0.5, 0.6, 0.7], [0.4, 0.5, 0.6], 0.5) == 0.0


def test_losses_are_compared_and_bounded_by_their_ratios():
    good, bad = [1.0, 1.1, 0.9, 1.0, 1.05], [1e9, 3e12, 2e18, 5e10, 7e9]
    assert statistics.paired_p(good, bad, 0.25) > 0.3  # one fold drowns the others
    p = statistics.paired_p(good, bad, 0.25, losses=True)
    d = np.log(bad) - np.log(good)
    t = d.mean() / np.sqrt(d.var(ddof=1) * (1 / 5 + 1 / 4))
    assert p == pytest.approx(2 * stats.t.sf(t, 4), rel=1e-9) and p < 0.05
    found = statistics.standings({"a": good, "b": bad}, 0.25, -1, statistics.LOSS)
    assert found["a"].tied and not found["b"].tied
    low, high = statistics.interval(bad, 0.25, statistics.LOSS)
    assert low > 0 and low * high == pytest.approx(np.mean(bad) ** 2)
    factor = np.exp(stats.t.ppf(0.975, 4) * np.std(np.log(good), ddof=1) * np.sqrt(0.45))
    assert statistics.interval(good, 0.25, statistics.LOSS) == pytest.approx(
        (np.mean(good) / factor, np.mean(good) * factor)
    )
    assert statistics.interval([0.0, 1.0], 1.0, statistics.LOSS)[0] == 0.0  # no logarithm of 0


def test_holm_is_holms_method():
    p = [0.01, 0.04, 0.03, float("nan"), 0.005]
    adjusted = statistics.holm(p)
    assert adjusted[:3] + adjusted[4:] == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert np.isnan(adjusted[3])


def test_folds_that_score_alike_still_leave_doubt():
    scores = {"a": [1.0] * 5, "b": [0.95] * 5, "c": [0.5] * 5}
    behind = statistics.Behind("accuracy", (60.0, 40.0))
    found = statistics.standings(scores, 0.25, 1, (0.0, 1.0), behind=behind)
    assert (found["a"].low, found["a"].high) == pytest.approx(statistics.wilson(1.0, 100))
    assert found["a"].low < 0.97 and found["b"].low < 0.9 and found["b"].high > 0.97
    # Five rows of a hundred make the difference: the sign test of five.
    assert found["b"].p == pytest.approx(2 * 0.5**5) and found["b"].tied
    assert found["c"].p < 1e-9 and not found["c"].tied


def test_the_rows_behind_a_score_by_metric():
    def behind(metric, *rows):
        return statistics.Behind(metric, rows)

    assert behind("accuracy", 30.0, 10.0).rows == 40
    # The mean of two recalls has the variance of a share among 4 / (1/30 + 1/10) rows.
    assert behind("balanced_accuracy", 30.0, 10.0).rows == pytest.approx(30)
    assert behind("f1", 30.0, 10.0).rows == 10
    assert behind("rmse").rows is None and behind("rmse").interval(2.0) == (2.0, 2.0)
    assert behind("roc_auc", 30.0, 10.0).interval(1.0) == statistics.auc_interval(1.0, 10, 30)
    assert behind("roc_auc", 30.0, 10.0).least_p(0.1) == 0.0


def test_the_chance_to_be_better_does_not_contradict_the_board():
    scores = {"a": [1.0] * 5, "b": [0.95] * 5, "c": [0.9, 0.8, 0.95, 0.85, 0.9]}
    behind = statistics.Behind("accuracy", (60.0, 40.0))
    found = statistics.standings(scores, 0.25, 1, (0.0, 1.0), behind=behind)
    for name in "bc":
        chance = statistics.chance_better(scores["a"], scores[name], 0.25, False, behind)
        assert chance == pytest.approx(1 - found[name].p / 2)
        turned = statistics.chance_better(scores[name], scores["a"], 0.25, False, behind)
        assert chance + turned == pytest.approx(1)
    good, bad = [1.0, 1.1, 0.9, 1.0, 1.05], [1e9, 3e12, 2e18, 5e10, 7e9]
    assert statistics.chance_better(bad, good, 0.25, True, None) > 0.97  # the higher loss
    assert statistics.chance_better([1.0], [2.0], 1.0, False, None) is None


def test_what_a_constant_scores_is_exact():
    scores = {"a": [0.7, 0.8, 0.75], "constant": [0.5] * 3}
    behind = statistics.Behind("roc_auc", (20.0, 20.0))
    found = statistics.standings(
        scores, 0.5, 1, (0.0, 1.0), behind=behind, exact=frozenset(["constant"])
    )
    assert (found["constant"].low, found["constant"].high) == (0.5, 0.5)
    assert found["a"].high - found["a"].low > 0.1


def test_standings_mark_the_tied_and_turn_losses_round():
    scores = {
        "a": [1.0, 1.1, 0.9, 1.0, 1.05],
        "b": [1.0, 1.2, 0.8, 1.1, 1.0],
        "c": [9.0, 9.1, 9.2, 9.0, 9.1],
        "n": [float("nan")] * 5,
    }
    found = statistics.standings(scores, 0.25, sign=-1, bounds=(0.0, np.inf))
    assert [found[name].place for name in "abcn"] == [1, 2, 3, None]
    assert found["a"].tied and found["b"].tied and not found["c"].tied and not found["n"].tied
    assert found["a"].p is None and found["c"].p_holm < 0.001


def test_recommendation_is_the_simplest_of_the_tied_then_the_lower_loss():
    def place(tied):
        return statistics.Standing(0.9, 0.8, 1.0, 0.5, 0.5, tied, 1)

    standing = {
        "forest": place(True),
        "lda": place(True),
        "logistic": place(True),
        "nb": place(False),
    }
    ranks = {"forest": 5, "lda": 1, "logistic": 1, "nb": 1}
    loss = {"forest": 0.1, "lda": 0.3, "logistic": 0.2, "nb": 0.0}
    assert statistics.recommend(standing, ranks, loss) == "logistic"
    assert statistics.recommend(standing, ranks, {"lda": 0.3}) == "lda"  # unknown loss comes last
    assert statistics.recommend({}, {}, {}) is None


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


def fold_scores(rng, n, p, signal):
    """Accuracy of the nearest class mean on five folds of a small table, and on a large one."""

    def draw(n):
        y = rng.integers(0, 2, n)
        return rng.normal(size=(n, p)) + signal * y[:, None], y

    def fit_score(X, y, Xt, yt):
        means = [X[y == k].mean(axis=0) for k in (0, 1)]
        distance = [((Xt - m) ** 2).sum(axis=1) for m in means]
        return float(((distance[1] < distance[0]) == yt).mean())

    X, y = draw(n)
    folds = PlainFolds(5, int(rng.integers(2**31))).split(y)
    scores = [fit_score(X[a], y[a], X[b], y[b]) for a, b in folds]
    return scores, fit_score(X, y, *draw(4000))


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
            low, high = statistics.interval(scores, 0.25, statistics.LOSS, repeats=repeats)
            inside[repeats] += low <= truth <= high
    assert inside[4] / 400 >= 0.90 > inside[1] / 400


@pytest.mark.slow
@pytest.mark.parametrize(("n", "signal"), [(60, 0.4), (200, 0.6), (400, 0.2), (60, 2.0)])
def test_intervals_cover(n, signal, rng):
    """Nominal 95 %: the score on new rows lies inside in at least 90 % of 300 tables."""
    inside = 0
    for _ in range(300):
        scores, truth = fold_scores(rng, n, 5, signal)
        behind = statistics.Behind("accuracy", (n / 2, n / 2))
        found = statistics.standings({"a": scores}, 0.25, 1, (0.0, 1.0), behind=behind)["a"]
        inside += found.low <= truth <= found.high
    assert inside / 300 >= 0.90


def test_equally_good_models_are_rarely_called_different(rng):
    """The corrected test keeps its level where the plain t-test of folds would not."""
    wrong = plain = 0
    for _ in range(300):
        X = rng.normal(size=(60, 6))
        y = rng.integers(0, 2, 60)
        a, b = [], []
        for train, test in PlainFolds(5, int(rng.integers(2**31))).split(y):
            for scores, columns in ((a, slice(0, 3)), (b, slice(3, 6))):
                means = [X[train][y[train] == k, columns].mean(axis=0) for k in (0, 1)]
                far = [((X[test][:, columns] - m) ** 2).sum(axis=1) for m in means]
                scores.append(float(((far[1] < far[0]) == y[test]).mean()))
        wrong += statistics.paired_p(a, b, 0.25) < 0.05
        plain += stats.ttest_rel(a, b).pvalue < 0.05
    assert wrong / 300 <= 0.09  # 5 % and three standard errors
    assert plain > 1.5 * wrong


def test_the_baseline_is_asked_about_first_and_alone(rng):
    """Many models that are alike must not hide that all of them beat the baseline."""
    scores = {f"m{k}": 1.0 + 0.05 * rng.normal(size=5) for k in range(20)}
    scores["mean"] = 1.25 + 0.1 * rng.normal(size=5)
    alone = statistics.standings(scores, 0.25, -1, (0.0, np.inf), baseline="mean")
    among = statistics.standings(scores, 0.25, -1, (0.0, np.inf))
    assert alone["mean"].p_holm == alone["mean"].p < 0.05 < among["mean"].p_holm
    assert not alone["mean"].tied and among["mean"].tied
    assert all(alone[name].p_holm <= among[name].p_holm for name in scores if alone[name].p)


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
