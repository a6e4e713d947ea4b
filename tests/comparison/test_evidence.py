"""Models compared by rows: closed forms, relations, and simulations where the truth is known."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.signal import lfilter

import pellucid
from pellucid.comparison.analysis import evidence
from pellucid.comparison.analysis.by_folds import fold_difference
from pellucid.comparison.analysis.evidence import CVDesign, Evidence, difference, model_evidence
from pellucid.comparison.analysis.score_intervals import score_interval
from pellucid.comparison.analysis.statistics import EffectiveSample, wilson
from pellucid.model_selection import METRICS
from pellucid.model_selection.folds import PlainFolds


def design(metric, y, folds=5, repeats=1, units=None, w=None, classes=0):
    n = len(y)
    units = np.arange(n) if units is None else units
    w = np.ones(n) if w is None else w
    per = folds // repeats
    return CVDesign(METRICS[metric], y, w, classes, units, folds, 1 / (per - 1), repeats)


def predictions(said, fold, rows=None):
    return {"rows": np.arange(len(fold)) if rows is None else rows, "fold": fold, "labels": said}


def test_the_difference_is_the_paired_t_test_of_rows_with_an_inflated_variance(rng):
    y, fold = rng.normal(size=100), np.arange(100) % 5
    a, b = y + rng.normal(size=100), y + 1.2 * rng.normal(size=100)
    shared = design("mae", y)
    one, other = (model_evidence(shared, predictions(said, fold)) for said in (a, b))
    losses = np.abs(y - a), np.abs(y - b)
    assert one.score == pytest.approx(losses[0].mean()) and abs(one.parts.sum()) < 1e-12
    d = losses[1] / losses[1].mean() - losses[0] / losses[0].mean()  # of logarithms
    error = np.sqrt((1 + evidence.SHARED * 1.25) * d.var(ddof=1) / 100)
    found = difference(shared, one, other)
    assert found.error == pytest.approx(error) and found.df == 99 and found.log
    assert found.mean == pytest.approx(np.log(losses[1].mean() / losses[0].mean()))
    assert found.p == pytest.approx(2 * stats.t.sf(abs(found.mean) / error, 99))
    assert found.better == pytest.approx(1 - found.p / 2)
    turned = difference(shared, other, one)
    assert (turned.mean, turned.p) == pytest.approx((-found.mean, found.p))
    assert found.reversed.mean == -found.mean
    assert found.reversed.better == pytest.approx(1 - found.better)


def test_a_share_is_compared_by_the_rows_on_which_models_differ(rng):
    y, fold = rng.integers(0, 2, 200), np.arange(200) % 5
    a = np.where(np.arange(200) < 20, 1 - y, y)
    b = np.where(np.arange(200) < 60, 1 - y, y)
    shared = design("accuracy", y, classes=2)
    one, other = (model_evidence(shared, predictions(said, fold)) for said in (a, b))
    found = difference(shared, one, other)
    d = (a == y).astype(float) - (b == y)
    t = d.mean() / np.sqrt((1 + evidence.SHARED * 1.25) * d.var(ddof=1) / 200)
    assert found.mean == pytest.approx(0.2) and not found.log
    assert found.p == pytest.approx(2 * stats.t.sf(t, 199)) and found.p < 0.001


def test_few_rows_that_differ_are_never_surer_than_their_sign_test(rng):
    y, fold = rng.integers(0, 2, 1000), np.arange(1000) % 5
    shared = design("accuracy", y, classes=2)
    wrong = y.copy()
    wrong[:4] = 1 - wrong[:4]
    one, other = (model_evidence(shared, predictions(said, fold)) for said in (y, wrong))
    assert difference(shared, one, other).p >= 2 * 0.5**4
    assert difference(shared, one, one).p == 1.0


@pytest.mark.parametrize("metric", ["rmse", "mae", "r2", "poisson_deviance"])
def test_a_few_large_losses_are_never_surer_than_their_sign_test(rng, metric):
    y, fold = rng.poisson(4, 300).astype(float), np.arange(300) % 5
    said = y + rng.uniform(0.5, 1, 300)
    failed = said.copy()
    failed[:3] += 600
    shared = design(metric, y)
    one, other = (model_evidence(shared, predictions(each, fold)) for each in (said, failed))
    assert difference(shared, one, other).p >= 2 * 0.5**3


def test_a_difference_that_is_the_same_in_all_of_few_rows_is_no_certainty():
    y = np.array([0, 1, 0, 1, 1])
    shared = design("accuracy", y, classes=2)
    one, other = (model_evidence(shared, predictions(each, np.arange(5))) for each in (y, 1 - y))
    assert difference(shared, one, other).p == pytest.approx(2 * 0.5**5)


def test_repeats_average_the_values_of_a_row_and_tell_of_no_further_rows(rng):
    y = rng.normal(size=60)
    said = y + rng.normal(size=60)
    fold = np.arange(60) % 5
    once = model_evidence(design("mae", y), predictions(said, fold))
    rows = np.tile(np.arange(60), 3)
    thrice = design("mae", y, folds=15, repeats=3)
    again = model_evidence(
        thrice, predictions(np.tile(said, 3), np.concatenate([fold, fold + 5, fold + 10]), rows)
    )
    assert again.parts == pytest.approx(once.parts) and again.score == pytest.approx(once.score)
    assert thrice.inflation(1.0) == design("mae", y).inflation(1.0) == pytest.approx(2.25)


def test_groups_are_what_varies_independently(rng):
    """Rows of one group are copies of each other: as many degrees of freedom as groups."""
    y = np.repeat(rng.normal(size=20), 10)
    said = y + np.repeat(rng.normal(size=20), 10)
    units = np.repeat(np.arange(20), 10)
    fold = units % 5
    grouped = design("mae", y, units=units)
    single = design("mae", y[::10])
    one = model_evidence(grouped, predictions(said, fold))
    other = model_evidence(single, predictions(said[::10], fold[::10]))
    assert one.parts == pytest.approx(other.parts) and len(one.parts) == 20
    assert score_interval(grouped, one, None) == pytest.approx(score_interval(single, other, None))


def test_weights_are_repetition_of_the_score_but_not_of_the_evidence(rng):
    y, fold = rng.normal(size=50), np.arange(50) % 5
    said, w = y + rng.normal(size=50), rng.integers(0, 4, 50).astype(float)
    found = model_evidence(design("rmse", y, w=w), predictions(said, fold))
    rows = np.repeat(np.arange(50), w.astype(int))
    copies = model_evidence(
        design("rmse", y[rows], units=rows), predictions(said[rows], fold[rows])
    )
    assert found.score == pytest.approx(copies.score)
    assert found.parts == pytest.approx(copies.parts) and len(found.parts) == (w > 0).sum()


def test_a_model_that_fails_on_few_rows_by_far_is_not_hidden_by_its_own_variance(rng):
    """Its squared errors make the variance of the difference as large as the difference."""
    y, fold = rng.normal(size=1000), np.arange(1000) % 5
    good, bad = y + 0.3 * rng.normal(size=1000), y + 0.3 * rng.normal(size=1000)
    bad[7] += 500.0
    shared = design("rmse", y)
    one, other = (model_evidence(shared, predictions(said, fold)) for said in (good, bad))
    d = (bad - y) ** 2 - (good - y) ** 2
    assert stats.ttest_1samp(d, 0).pvalue > 0.3  # what the plain differences would say
    assert difference(shared, one, other).p < 0.01


def test_the_signs_of_rows_speak_where_few_of_them_carry_the_variance(rng):
    y, fold = np.zeros(400), np.arange(400) % 5
    good = rng.normal(size=400)
    bad = good * 1.3
    good[:4], bad[:4] = [60.0, 80.0, 70.0, 90.0], [90.0, 60.0, 80.0, 77.0]
    shared = design("rmse", y)
    one, other = (model_evidence(shared, predictions(said, fold)) for said in (good, bad))
    assert (
        one.score < other.score
        and evidence.effective_units(one.parts - other.parts) < evidence.FEW_UNITS
    )
    assert difference(shared, one, other).p < 1e-6  # it is better on nearly every row
    muted = Evidence(one.score, one.parts)
    assert difference(shared, muted, other).p > 0.5


def test_what_a_model_did_not_say_gives_no_evidence(rng):
    y, fold = rng.integers(0, 2, 30), np.arange(30) % 5
    assert model_evidence(design("log_loss", y, classes=2), predictions(y, fold)) is None
    one_class = design("roc_auc", np.zeros(30, dtype=int), classes=2)
    said = predictions(y, fold) | {"proba": np.full((30, 2), 0.5)}
    assert model_evidence(one_class, said) is None
    blown = model_evidence(design("rmse", np.ones(30)), predictions(np.full(30, 1e200), fold))
    assert blown is None


def test_the_interval_of_a_share_is_wilsons_and_not_empty_where_all_rows_are_right(rng):
    y, fold = rng.integers(0, 2, 100), np.arange(100) % 5
    shared, sample = design("accuracy", y, classes=2), EffectiveSample("accuracy", (50.0, 50.0))
    factor = shared.inflation(evidence.SHARED_BY_SCORE)
    right = model_evidence(shared, predictions(y, fold))
    assert score_interval(shared, right, sample) == pytest.approx(wilson(1.0, 100 / factor, df=99))
    some = model_evidence(shared, predictions(np.where(np.arange(100) < 20, 1 - y, y), fold))
    assert score_interval(shared, some, sample) == pytest.approx(
        wilson(0.8, 99 / factor, df=99), abs=1e-3
    )


def test_the_interval_of_r2_is_that_of_what_is_not_explained(rng):
    y, fold = rng.normal(size=80), np.arange(80) % 5
    shared = design("r2", y)
    found = model_evidence(shared, predictions(y + 0.5 * rng.normal(size=80), fold))
    low, high = score_interval(shared, found, None)
    assert low < found.score < high < 1 and found.score - low > high - found.score


def nearest_mean(X, y, fold, columns):
    """Out-of-fold labels of the nearest class mean."""
    said = np.empty(len(y), dtype=int)
    for k in range(5):
        train, test = fold != k, fold == k
        means = [X[train][y[train] == c][:, columns].mean(axis=0) for c in (0, 1)]
        far = [((X[test][:, columns] - m) ** 2).sum(axis=1) for m in means]
        said[test] = far[1] < far[0]
    return said


def folds_of(y, rng):
    fold = np.empty(len(y), dtype=int)
    for k, (_, test) in enumerate(PlainFolds(5, int(rng.integers(2**31))).split(y)):
        fold[test] = k
    return fold


def simulated_p(rng, n, signal, weaker):
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, 6)) + y[:, None] * np.repeat([signal, signal * weaker], 3)
    fold, shared = folds_of(y, rng), design("accuracy", y, classes=2)
    one, other = (
        model_evidence(shared, predictions(nearest_mean(X, y, fold, part), fold))
        for part in (slice(0, 3), slice(3, 6))
    )
    return difference(shared, one, other).p


def test_equally_good_models_are_rarely_told_apart_and_others_are(rng):
    """300 tables each: at most 5 % and three standard errors; a weaker model is found."""
    alike = [simulated_p(rng, 100, 0.5, 1.0) < 0.05 for _ in range(300)]
    weaker = [simulated_p(rng, 400, 0.7, 0.2) < 0.05 for _ in range(100)]
    assert np.mean(alike) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)
    assert np.mean(weaker) >= 0.8


def test_two_tests_that_agree_pay_for_being_two():
    one, other = (evidence.Difference(0.1, 0.1, 99, p) for p in (0.3, 0.004))
    assert (
        one.combined_with(other).p == pytest.approx(0.008)
        and one.combined_with(other).mean == one.mean
    )
    assert one.combined_with(other.reversed).p == 0.3  # one that disagrees is not heard


def test_errors_that_last_longer_than_a_block_of_times_are_no_evidence(rng):
    n, false = 300, 0
    units = (np.arange(n) / np.sqrt(n)).astype(int)
    shared = replace(design("rmse", np.zeros(n), units=units), in_time=True)
    for _ in range(200):
        said = lfilter([1], [1, -0.98], rng.normal(size=(2, n + 400)), axis=1)[:, 400:]
        one, other = (
            model_evidence(shared, predictions(each, np.arange(n) // 60)) for each in said
        )
        false += difference(shared, one, other).p < 0.05
    assert false / 200 < 0.08  # 0.11 to 0.20 if blocks are taken for independent


def test_repeated_folds_of_foreign_scores_tell_of_no_further_rows(rng):
    a, b = rng.normal(0.8, 0.05, 5), rng.normal(0.75, 0.05, 5)
    once, often = (fold_difference(np.tile(a, k), np.tile(b, k), 0.25, repeats=k) for k in (1, 40))
    assert once.df == often.df == 4
    assert once.p <= 2 * often.p and often.error == pytest.approx(once.error, rel=0.15)


def test_a_fold_of_one_row_has_no_r2_and_its_models_no_score(rng, tmp_path):
    table = pd.DataFrame({"g": [0] + [1] * 20 + [2] * 20, "x": rng.normal(size=41)})
    table["y"] = table.x + rng.normal(size=41)
    found = pellucid.compare(
        table, target="y", group="g", metric="r2", models="ols", effort="quick", cv=3, test_size=0,
        out=tmp_path / "run",
    )  # fmt: skip
    assert found.recommended is None
    assert "r2 is undefined in 1 of 3 folds" in found.data["leaderboard"][0]["reason"]
