"""Intervals of the locked test part, with and without weights; what is kept beside them."""

import numpy as np
import pytest

from pellucid.comparison.analysis import loss_intervals, statistics
from pellucid.comparison.analysis.holdout_scores import intervals
from pellucid.comparison.analysis.model_details import NO_TIME
from pellucid.comparison.execution.worker_data import Predictions
from pellucid.comparison.final_fit import details_incomplete
from pellucid.model_selection.metrics import METRICS


def classes(rng, n=80, K=2):
    y = rng.integers(0, K, n)
    said = rng.dirichlet(np.ones(K), n) + 0.5 * np.eye(K)[y]
    proba = said / said.sum(axis=1, keepdims=True)
    return y, Predictions(proba.argmax(axis=1), proba)


def scored(y, w, predictions, K, *names):
    said = {"labels": predictions.labels, "numbers": predictions.labels}
    whole = (np.arange(K),) if K else ()
    values = {
        name: METRICS[name].compute(y, said.get(METRICS[name].needs, predictions.proba), w, *whole)
        for name in names
    }
    return values, intervals(y, w, predictions, K, values, seed=0)


@pytest.mark.parametrize("K", [2, 3])
def test_equal_weights_change_nothing(rng, K):
    y, predictions = classes(rng, K=K)
    names = ("accuracy", "roc_auc", "log_loss", "f1")
    plain = scored(y, np.ones(80), predictions, K, *names)[1]
    heavy = scored(y, np.full(80, 3.0), predictions, K, *names)[1]
    for name in names:
        assert heavy[name] == pytest.approx(plain[name], rel=1e-9)


def test_rows_of_no_weight_are_as_if_absent(rng):
    y, predictions = classes(rng)
    w = rng.integers(0, 2, 80).astype(float)
    kept = predictions.part(w > 0)
    names = ("accuracy", "roc_auc", "log_loss")
    with_them = scored(y, w, predictions, 2, *names)[1]
    without = scored(y[w > 0], np.ones(int(w.sum())), kept, 2, *names)[1]
    for name in names:
        assert with_them[name] == pytest.approx(without[name], rel=1e-9)


def test_unequal_weights_widen_every_interval_and_hold_the_weighted_value(rng):
    y, predictions = classes(rng)
    w = np.where(rng.random(80) < 0.2, 20.0, 1.0)
    names = ("accuracy", "roc_auc", "log_loss", "average_precision")
    plain = scored(y, np.ones(80), predictions, 2, *names)[1]
    values, found = scored(y, w, predictions, 2, *names)
    for name in names:
        low, high = found[name]
        assert low <= values[name] <= high
        assert high - low > 1.3 * (plain[name][1] - plain[name][0])
    assert statistics.effective_rows(w) < 40 and found["accuracy"] == pytest.approx(
        statistics.wilson(values["accuracy"], w.sum() ** 2 / (w**2).sum())
    )


def test_a_weighted_mean_of_losses_has_its_textbook_error(rng):
    """The bootstrap is centred on the error of a ratio of sums (Cochran 1977, 6.13)."""
    own, w = rng.normal(size=500) ** 2, rng.uniform(0.2, 3.0, 500)
    mean = np.average(own, weights=w)
    error = np.sqrt((w**2 * (own - mean) ** 2).sum() * 500 / 499) / w.sum()
    assert loss_intervals.mean_error(own, w) == pytest.approx(error)
    low, high = loss_intervals.mean_interval(own, rng, weights=w)
    assert (low, high) == pytest.approx((mean - 1.96 * error, mean + 1.96 * error), abs=0.08)
    assert mean - low < high - mean


def test_numbers_with_weights(rng):
    y = rng.normal(size=60)
    predictions = Predictions(y + rng.normal(size=60))
    w = rng.uniform(0.5, 2.0, 60)
    values, found = scored(y, w, predictions, 0, "rmse", "mae", "r2")
    for name in ("rmse", "mae", "r2"):
        assert found[name][0] < values[name] < found[name][1]
    exact = scored(y, w, Predictions(y), 0, "rmse", "mae")[1]
    assert exact == {"rmse": [0.0, 0.0], "mae": [0.0, 0.0]}


def test_the_doubt_of_r2_is_at_least_that_of_its_errors(rng):
    y = rng.normal(size=40)
    predictions = Predictions(y + rng.standard_t(3, size=40) / 3)
    found = scored(y, np.ones(40), predictions, 0, "rmse", "r2")[1]
    high, low = 1 - np.square(found["rmse"]) / y.var()
    assert found["r2"][0] <= low + 0.05 * (high - low) and found["r2"][1] >= high - 0.02


def test_what_has_no_value_has_no_interval(rng):
    y, predictions = classes(rng)
    assert intervals(y, np.ones(80), predictions, 2, {"log_loss": float("nan")}, 0) == {}


def test_a_killed_last_round_is_noticed():
    assert details_incomplete({"portrait": {}})
    assert details_incomplete({"portrait": {"tree": None, "tree_why": NO_TIME}})
    assert not details_incomplete(
        {"portrait": {"tree": None, "tree_why": "ValueError: no", "history": None}}
    )


@pytest.mark.slow
def test_percentiles_of_few_rows_are_taken_far_enough_out(rng):
    """Means of eight normal rows: nominal 95 %, plain percentiles hold about 87 % of them."""
    n, tables, inside, plainly = 8, 400, 0, 0
    for _ in range(tables):
        x = rng.normal(size=n)
        low, high = statistics.bootstrap(lambda rows, x=x: x[rows].mean(), n, rng, draws=400)
        inside += low <= 0.0 <= high
        means = x[rng.integers(0, n, (400, n))].mean(axis=1)
        plainly += np.quantile(means, 0.025) <= 0.0 <= np.quantile(means, 0.975)
    assert inside / tables >= 0.91 and inside - plainly > 0.02 * tables


@pytest.mark.parametrize("K", [2, 3])
def test_all_right_is_not_certain(K):
    y = np.arange(60) % K
    names = ("accuracy", "balanced_accuracy", "f1", "average_precision", "roc_auc")
    for name, (low, high) in scored(y, np.ones(60), Predictions(y, np.eye(K)[y]), K, *names)[
        1
    ].items():
        assert high == pytest.approx(1.0) and 0.8 < low < 0.97, name


def grouped(rng, G=15, size=12, spread=1.5, K=2):
    """Groups of rows that are right together or wrong together."""
    groups = np.repeat(np.arange(G), size)
    y = rng.integers(0, K, G * size)
    ease = spread * rng.normal(size=G)[groups]
    right = rng.random(G * size) < 1 / (1 + np.exp(-0.8 - ease))
    labels = np.where(right, y, (y + 1) % K)
    proba = np.full((G * size, K), 0.3 / (K - 1))
    proba[np.arange(G * size), labels] = 0.7
    return groups, y, Predictions(labels, proba)


def test_rows_of_a_group_are_not_independent(rng):
    """Every interval is wider than that of as many rows that know nothing of each other."""
    groups, y, predictions = grouped(rng)
    names = ("accuracy", "roc_auc", "log_loss", "f1", "balanced_accuracy")
    values, univariate = scored(y, np.ones(180), predictions, 2, *names)
    found = intervals(y, np.ones(180), predictions, 2, values, 0, groups)
    single = intervals(y, np.ones(180), predictions, 2, values, 0, np.arange(180))
    for name in names:
        low, high = found[name]
        assert low < values[name] < high
        assert high - low > 1.25 * (univariate[name][1] - univariate[name][0]), name
        assert single[name] == pytest.approx(univariate[name], abs=0.02)  # a group of one is a row
    right = (y == predictions.labels).reshape(15, 12).mean(axis=1)
    share = right.mean()
    n = share * (1 - share) / (right.var(ddof=1) / 15)
    assert found["accuracy"] == pytest.approx(statistics.wilson(share, n, df=14))


def test_numbers_of_groups(rng):
    groups = np.repeat(np.arange(12), 20)
    y = rng.normal(size=240)
    predictions = Predictions(y + 0.2 * rng.normal(size=240) + rng.normal(size=12)[groups])
    values, univariate = scored(y, np.ones(240), predictions, 0, "rmse", "mae", "r2")
    found = intervals(y, np.ones(240), predictions, 0, values, 0, groups)
    for name in ("rmse", "mae", "r2"):
        assert found[name][1] - found[name][0] > 1.5 * (univariate[name][1] - univariate[name][0])


def test_one_group_tells_nothing_of_others_and_right_groups_count_once(rng):
    y, predictions = classes(rng)
    values = {"accuracy": 0.8, "roc_auc": 0.8, "log_loss": 0.4}
    assert intervals(y, np.ones(80), predictions, 2, values, 0, np.zeros(80)) == {}
    w = np.where(np.arange(80) < 40, 1.0, 0.0)  # the other group has no weight
    assert intervals(y, w, predictions, 2, values, 0, np.arange(80) // 40) == {}
    perfect = Predictions(y, np.eye(2)[y])
    found = intervals(y, np.ones(80), perfect, 2, {"accuracy": 1.0}, 0, np.arange(80) % 10)
    assert found["accuracy"] == pytest.approx(statistics.wilson(1.0, 10, df=9))


@pytest.mark.slow
def test_intervals_of_grouped_rows_cover(rng):
    """Nominal 95 %; as many independent rows would hold about half of the accuracies."""
    groups, y, predictions = grouped(rng, G=20000, size=5)
    truth = {"accuracy": (y == predictions.labels).mean()}
    truth["log_loss"] = -np.log(predictions.proba[np.arange(len(y)), y]).mean()
    inside, univariate, tables = dict.fromkeys(truth, 0), 0, 150
    for _ in range(tables):
        groups, y, predictions = grouped(rng)
        values = scored(y, np.ones(180), predictions, 2, "accuracy", "log_loss")[0]
        found = intervals(y, np.ones(180), predictions, 2, values, 0, groups)
        for name in truth:
            inside[name] += found[name][0] <= truth[name] <= found[name][1]
        low, high = statistics.wilson(values["accuracy"], 180)
        univariate += low <= truth["accuracy"] <= high
    assert min(inside.values()) / tables >= 0.9 > 0.75 > univariate / tables
