"""Intervals of the locked test part, with and without weights; what is kept beside them."""

import numpy as np
import pytest

from pellucid.compare import statistics
from pellucid.compare.bench import Answers
from pellucid.compare.finish import hurried
from pellucid.compare.locked import intervals
from pellucid.compare.portrait import NO_TIME
from pellucid.model_selection.metrics import METRICS


def classes(rng, n=80, K=2):
    y = rng.integers(0, K, n)
    said = rng.dirichlet(np.ones(K), n) + 0.5 * np.eye(K)[y]
    proba = said / said.sum(axis=1, keepdims=True)
    return y, Answers(proba.argmax(axis=1), proba)


def scored(y, w, answers, K, *names):
    said = {"labels": answers.labels, "numbers": answers.labels}
    whole = (np.arange(K),) if K else ()
    values = {
        name: METRICS[name].compute(y, said.get(METRICS[name].needs, answers.proba), w, *whole)
        for name in names
    }
    return values, intervals(y, w, answers, K, values, seed=0)


@pytest.mark.parametrize("K", [2, 3])
def test_equal_weights_change_nothing(rng, K):
    y, answers = classes(rng, K=K)
    names = ("accuracy", "roc_auc", "log_loss", "f1")
    plain = scored(y, np.ones(80), answers, K, *names)[1]
    heavy = scored(y, np.full(80, 3.0), answers, K, *names)[1]
    for name in names:
        assert heavy[name] == pytest.approx(plain[name], rel=1e-9)


def test_rows_of_no_weight_are_as_if_absent(rng):
    y, answers = classes(rng)
    w = rng.integers(0, 2, 80).astype(float)
    kept = answers.part(w > 0)
    names = ("accuracy", "roc_auc", "log_loss")
    with_them = scored(y, w, answers, 2, *names)[1]
    without = scored(y[w > 0], np.ones(int(w.sum())), kept, 2, *names)[1]
    for name in names:
        assert with_them[name] == pytest.approx(without[name], rel=1e-9)


def test_unequal_weights_widen_every_interval_and_hold_the_weighted_value(rng):
    y, answers = classes(rng)
    w = np.where(rng.random(80) < 0.2, 20.0, 1.0)
    names = ("accuracy", "roc_auc", "log_loss", "average_precision")
    plain = scored(y, np.ones(80), answers, 2, *names)[1]
    values, found = scored(y, w, answers, 2, *names)
    for name in names:
        low, high = found[name]
        assert low <= values[name] <= high
        assert high - low > 1.3 * (plain[name][1] - plain[name][0])
    assert statistics.equal_rows(w) < 40 and found["accuracy"] == pytest.approx(
        statistics.wilson(values["accuracy"], w.sum() ** 2 / (w**2).sum())
    )


def test_a_weighted_mean_of_losses_has_its_textbook_error(rng):
    """The bootstrap is centred on the error of a ratio of sums (Cochran 1977, 6.13)."""
    losses, w = rng.normal(size=500) ** 2, rng.uniform(0.2, 3.0, 500)
    mean = np.average(losses, weights=w)
    error = np.sqrt((w**2 * (losses - mean) ** 2).sum() * 500 / 499) / w.sum()
    low, high = statistics.mean_interval(losses, rng, weights=w)
    assert (low, high) == pytest.approx((mean - 1.96 * error, mean + 1.96 * error), abs=0.08)
    assert mean - low < high - mean


def test_numbers_with_weights(rng):
    y = rng.normal(size=60)
    answers = Answers(y + rng.normal(size=60))
    w = rng.uniform(0.5, 2.0, 60)
    values, found = scored(y, w, answers, 0, "rmse", "mae", "r2")
    for name in ("rmse", "mae", "r2"):
        assert found[name][0] < values[name] < found[name][1]
    exact = scored(y, w, Answers(y), 0, "rmse", "mae")[1]
    assert exact == {"rmse": [0.0, 0.0], "mae": [0.0, 0.0]}


def test_the_doubt_of_r2_is_at_least_that_of_its_errors(rng):
    y = rng.normal(size=40)
    answers = Answers(y + rng.standard_t(3, size=40) / 3)
    found = scored(y, np.ones(40), answers, 0, "rmse", "r2")[1]
    high, low = 1 - np.square(found["rmse"]) / y.var()
    assert found["r2"][0] <= low + 0.05 * (high - low) and found["r2"][1] >= high - 0.02


def test_what_has_no_value_has_no_interval(rng):
    y, answers = classes(rng)
    assert intervals(y, np.ones(80), answers, 2, {"log_loss": float("nan")}, 0) == {}


def test_a_killed_last_round_is_noticed():
    assert hurried({"portrait": {}})
    assert hurried({"portrait": {"tree": None, "tree_why": NO_TIME}})
    assert not hurried({"portrait": {"tree": None, "tree_why": "ValueError: no", "history": None}})


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
    assert inside / tables >= 0.91 and inside - plainly > 0.03 * tables


@pytest.mark.parametrize("K", [2, 3])
def test_all_right_is_not_certain(K):
    y = np.arange(60) % K
    names = ("accuracy", "balanced_accuracy", "f1", "average_precision", "roc_auc")
    for name, (low, high) in scored(y, np.ones(60), Answers(y, np.eye(K)[y]), K, *names)[1].items():
        assert high == pytest.approx(1.0) and 0.8 < low < 0.97, name
