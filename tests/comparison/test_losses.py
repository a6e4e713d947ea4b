"""Intervals of means of losses: what rows tell, what they cannot tell, and how often they hold."""

import numpy as np
import pytest
from scipy import stats

from pellucid.comparison.analysis import loss_intervals
from pellucid.comparison.analysis.holdout_scores import intervals
from pellucid.comparison.execution.worker_data import Predictions


def test_the_interval_of_a_mean_loss(rng):
    own = rng.normal(size=400) ** 2
    low, high = loss_intervals.mean_interval(own, rng)
    half = 1.96 * own.std() / 20
    assert (low, high) == pytest.approx((own.mean() - half, own.mean() + half), abs=0.06)
    assert own.mean() - low < high - own.mean()  # there is room for large ones
    assert loss_intervals.mean_interval(np.zeros(9), rng) == (0.0, 0.0)
    assert loss_intervals.mean_interval(3 * own, rng) == pytest.approx((3 * low, 3 * high), rel=0.1)


def test_one_more_loss_than_was_seen_is_among_the_redrawn(rng):
    own = rng.exponential(size=30)
    large, none = loss_intervals.UnseenLoss(4 * own.max()), loss_intervals.UnseenLoss(0.0)
    low, high = loss_intervals.mean_interval(own, np.random.default_rng(0), unseen=large)
    narrow = loss_intervals.mean_interval(own, np.random.default_rng(0), unseen=none)
    assert high > 1.1 * narrow[1] and low == pytest.approx(narrow[0], rel=0.1)


def test_one_outlier_leaves_an_upper_end():
    rng = np.random.default_rng(0)
    own = np.append(np.full(400, 1.0), 1e3) + np.arange(401) / 1e3
    low, high = loss_intervals.mean_interval(own, rng)
    reach = 2 * stats.t.ppf(0.975, 400) * own.std(ddof=1) / np.sqrt(401) / own.mean()
    assert np.exp(reach) < 20 and 0 < low < own.mean()
    assert own.mean() < high <= own.mean() * np.exp(reach) * (1 + 1e-6)
    own[-1] = 1e6
    low, high = loss_intervals.mean_interval(own, rng)
    assert own.mean() / 10 <= low and high <= own.mean() * 10 * (1 + 1e-12)


@pytest.mark.parametrize("power", [1, 2])
def test_errors_vary_at_least_as_normal_ones_above(power):
    """Equal errors tell of no spread; below, the rows alone decide."""
    alike = 1 + np.arange(25) / 1e4
    unseen = loss_intervals.beyond_errors(alike, power, 25.0)
    x = stats.norm.rvs(size=10**6, random_state=0)
    varies = (np.abs(x) ** power).std() / (np.abs(x) ** power).mean()
    assert unseen.error == pytest.approx(varies / 5, rel=0.01)
    assert unseen.loss == pytest.approx(2**power * alike.max())
    low, high = loss_intervals.mean_interval(alike, np.random.default_rng(0), unseen=unseen)
    assert low > 0.98 * alike.mean() and high > np.exp(1.96 * varies / 5) * alike.mean()


def test_a_mistake_that_was_not_made_is_counted():
    own, wrong = np.full(20, 0.01), np.full(20, 4.6)
    unseen = loss_intervals.beyond_mistakes(own + np.arange(20) / 1e5, wrong, np.ones(20))
    assert (unseen.mean, unseen.loss) == pytest.approx((4.8 / 21, 4.6), rel=0.01)
    assert unseen.error == pytest.approx(
        np.sqrt(21 / 20) * stats.sem([4.6] + [0.01] * 20) / 0.229, rel=0.05
    )
    seen = np.append(own[1:], 4.6)  # one that was made changes little
    again = loss_intervals.beyond_mistakes(seen, wrong, np.ones(20))
    assert again.loss == pytest.approx(9.2) and again.mean < 2 * seen.mean()


ERRORS = {  # draws n errors with a variance of 1
    "normal": lambda rng, n: rng.normal(size=n),
    "heavy tails": lambda rng, n: rng.standard_t(4, size=n) / np.sqrt(2),
    "skewed": lambda rng, n: rng.exponential(size=n) - 1,
    "log-normal": lambda rng, n: np.exp(rng.normal(size=n) - 1),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("errors", "n", "weighted"),
    [
        ("normal", 15, 0), ("heavy tails", 25, 0), ("heavy tails", 150, 1), ("skewed", 20, 0),
        ("skewed", 60, 0), ("log-normal", 20, 0), ("log-normal", 100, 0),
    ],
)  # fmt: skip
def test_intervals_of_squared_errors_cover(errors, n, weighted, rng):
    """Nominal 95 %, at least 90 % of 300 tables (by hand 92 to 98 % of 500)."""
    inside = 0
    for _ in range(300):
        w = rng.exponential(size=n) + 0.05 if weighted else np.ones(n)
        squares = ERRORS[errors](rng, n) ** 2
        unseen = loss_intervals.beyond_errors(squares, 2, w.sum() ** 2 / (w**2).sum())
        low, high = loss_intervals.mean_interval(squares, rng, 250, w, unseen)
        inside += low <= 1.0 <= high
    assert inside / 300 >= 0.90


def of_log_loss(y, p, groups=None):
    predictions = Predictions((p > 0.5) * 1, np.column_stack([1 - p, p]))
    return intervals(y, np.ones(len(y)), predictions, 2, {"log_loss": 0.1}, 0, groups)["log_loss"]


@pytest.mark.slow
@pytest.mark.parametrize("sharp", [1.0, 2.0])
def test_few_rows_without_a_mistake_do_not_promise_that_there_is_none(rng, sharp):
    """Log odds of 4 and more, right (1) or twice too sure (2): most tables of 20 rows are all right."""

    def draw(n):
        z = 4 * rng.choice([-1, 1], n) + rng.normal(size=n)
        y = (rng.random(n) < 1 / (1 + np.exp(-z))) * 1
        return y, 1 / (1 + np.exp(-sharp * z))

    y, p = draw(10**6)
    truth = -np.log(np.where(y == 1, p, 1 - p)).mean()
    found = [of_log_loss(*draw(20)) for _ in range(100)]
    assert np.mean([low <= truth <= high for low, high in found]) >= 0.9
