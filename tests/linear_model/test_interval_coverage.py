"""How often intervals of generalised linear models hold what they promise, by simulation.

The chance of an interval to hold a new observation is computed, not drawn: what varies from run to
run is the interval alone, so that a percent too little is seen.
"""

import numpy as np
import pytest
import scipy.stats

from pellucid.linear_model import GeneralizedLinearModel
from pellucid.linear_model._glm.distributions import distribution
from pellucid.numerics.objectives.families import tweedie

SLOPES, TRIALS = np.array([0.4, -0.3]), 20
POWER, PHI = 1.5, 0.5


def sums(mean, rng):
    """A Poisson number of exponential amounts."""
    number = rng.poisson(mean**0.5 / (PHI * 0.5))
    return rng.gamma(np.maximum(number, 1e-9), PHI * 0.5 * mean**0.5) * (number > 0)


# name: (parameters, (mean, rng) -> draws, (value, mean) -> probability of at most it)
TRUTHS = {
    "poisson": ({}, lambda m, rng: rng.poisson(m), scipy.stats.poisson.cdf),
    "gamma": (
        {"link": "log"}, lambda m, rng: rng.gamma(10.0, m / 10.0),
        lambda y, m: scipy.stats.gamma.cdf(y, 10.0, scale=m / 10.0),
    ),
    "inverse_gaussian": (
        {"link": "log"}, lambda m, rng: rng.wald(m, 60.0),
        lambda y, m: scipy.stats.invgauss.cdf(y, m / 60.0, scale=60.0),
    ),
    "negative_binomial": (
        {"dispersion": 0.5}, lambda m, rng: rng.negative_binomial(2.0, 2.0 / (2.0 + m)),
        lambda y, m: scipy.stats.nbinom.cdf(y, 2.0, 2.0 / (2.0 + m)),
    ),
    "normal": (
        {"link": "log"}, lambda m, rng: m + 2 * rng.normal(size=m.shape),
        lambda y, m: scipy.stats.norm.cdf(y, m, 2.0),
    ),
    "tweedie": (
        {"power": POWER, "link": "log"}, sums,
        lambda y, m: distribution(tweedie(POWER), 1).below(y, m, np.array(PHI)),
    ),
    "binomial": (
        {}, lambda m, rng: rng.binomial(TRIALS, m) / TRIALS,
        lambda y, m: scipy.stats.binom.cdf(np.round(y * TRIALS), TRIALS, m),
    ),
}  # fmt: skip
STEP = {"poisson": 1, "negative_binomial": 1, "binomial": 1 / TRIALS}


def coverage(family, n, runs, level):
    """Shares (runs, 2) of means, and of new observations, that lie in their intervals."""
    parameters, draw, below = TRUTHS[family]
    rng = np.random.default_rng(1)
    X, new = rng.normal(size=(n, 2)), rng.normal(size=(4, 2)) * 0.7
    binomial = family == "binomial"
    inverse = (lambda eta: 1 / (1 + np.exp(-eta))) if binomial else (lambda eta: np.exp(eta + 1.5))
    mean, weights = inverse(new @ SLOPES), np.full(n, TRIALS) if binomial else None
    shares = np.zeros((runs, 2))
    for run in range(runs):
        y = draw(inverse(X @ SLOPES), rng)
        model = GeneralizedLinearModel(family=family, **parameters).fit(X, y, weights)
        low, high = model.predict_interval(new, level, kind="mean").T
        shares[run, 0] = np.mean((low <= mean) & (mean <= high))
        low, high = model.predict_interval(new, level, trials=TRIALS if binomial else 1).T
        above = below(high, mean) - below(low - STEP.get(family, 0), mean)
        shares[run, 1] = np.mean(above + (low <= 0) * (family == "tweedie") * below(0 * low, mean))
    return shares


def check(shares, level, discrete):
    middle, error = shares.mean(axis=0), shares.std(axis=0) / np.sqrt(len(shares))
    assert abs(middle[0] - level) < 3 * error[0]
    assert middle[1] > level - 3 * error[1]
    assert middle[1] < (level + 0.06 if discrete else level + 3 * error[1])


@pytest.mark.slow
@pytest.mark.parametrize("family", TRUTHS)
def test_intervals_hold_what_they_promise(family):
    runs = 40 if family == "tweedie" else 120  # of which each takes its time
    check(coverage(family, 80, runs, 0.9), 0.9, family in (*STEP, "tweedie"))


@pytest.mark.parametrize("family", ["gamma", "normal"])
def test_intervals_of_ten_rows_know_that_the_dispersion_is_estimated(family):
    check(coverage(family, 10, 150, 0.95), 0.95, False)
