"""Row values of metrics: their mean is the metric, their differences its derivative by weights."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pellucid.model_selection import METRICS
from pellucid.model_selection.influence import VALUES, row_values

STEP = 1e-6


def test_every_metric_has_row_values():
    assert VALUES.keys() == METRICS.keys()


def said_of(metric, rng, n, K, ties):
    """A truth and answers that the metric understands; scores with ties if asked for."""
    if metric.needs == "numbers":
        y = rng.gamma(2.0, size=n)
        return y, np.abs(y + rng.normal(size=n)) + 0.1
    y = np.concatenate([np.arange(K), rng.integers(0, K, n - K)])
    if metric.needs == "labels":
        return y, np.where(rng.random(n) < 0.6, y, rng.integers(0, K, n))
    proba = rng.dirichlet(np.ones(K), n)
    return y, np.round(proba, 1) + 0.05 if ties else proba


@pytest.mark.parametrize("name", METRICS)
@given(
    seed=st.integers(0, 2**32 - 1), n=st.integers(8, 60), K=st.integers(2, 4), ties=st.booleans()
)
def test_row_values_are_the_metric_and_its_derivative(name, seed, n, K, ties):
    """v_i = m + W dm/dw_i, by central differences; every class keeps some weight."""
    rng, metric, classes = np.random.default_rng(seed), METRICS[name], np.arange(K)
    y, said = said_of(metric, rng, n, K, ties)
    w = rng.uniform(0.5, 2.0, n)
    more = () if metric.needs == "numbers" else (classes,)

    def score(weights):
        return metric.compute(y, said, weights, *more)

    values = row_values(metric, y, said, w, classes)
    assert np.average(values, weights=w) == pytest.approx(score(w), rel=1e-10, abs=1e-12)
    for i in rng.choice(n, 3, replace=False):
        high, low = w.copy(), w.copy()
        high[i] += STEP
        low[i] -= STEP
        slope = (score(high) - score(low)) / (2 * STEP)
        assert values[i] - score(w) == pytest.approx(w.sum() * slope, rel=1e-4, abs=1e-6)


def test_auc_has_delongs_variance(rng):
    """Against the textbook sums of placements (DeLong, DeLong and Clarke-Pearson 1988)."""
    y, score = np.arange(40) % 4 == 0, rng.normal(size=40)
    values = row_values(METRICS["roc_auc"], y.astype(int), score, np.ones(40), np.arange(2))
    wins = (score[y][:, None] > score[~y]) + 0.5 * (score[y][:, None] == score[~y])
    expected = wins.mean(axis=1).var(ddof=0) / 10 + wins.mean(axis=0).var(ddof=0) / 30
    assert ((values - wins.mean()) ** 2).sum() / 40**2 == pytest.approx(expected, rel=1e-12)


def test_rows_of_weight_zero_take_no_part(rng):
    y, labels = rng.integers(0, 3, 30), rng.integers(0, 3, 30)
    w = (np.arange(30) < 25).astype(float)
    for name in ("balanced_accuracy", "f1", "accuracy"):
        whole = row_values(METRICS[name], y, labels, w, np.arange(3))
        part = row_values(METRICS[name], y[:25], labels[:25], w[:25], np.arange(3))
        assert np.average(whole, weights=w) == pytest.approx(part.mean())


def test_a_metric_that_is_not_defined_has_no_values():
    y, score = np.zeros(5, dtype=int), np.arange(5.0)
    for name in ("roc_auc", "average_precision"):
        assert np.isnan(row_values(METRICS[name], y, score, np.ones(5), np.arange(2))).all()
    exact = row_values(METRICS["rmse"], score, score, np.ones(5), np.empty(0))
    assert not exact.any()
