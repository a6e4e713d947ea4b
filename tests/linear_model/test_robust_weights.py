"""Robust errors and weights: shares of trials, and weights that are no copies."""

import numpy as np
import pytest

from pellucid.linear_model import GeneralizedLinearModel, LinearRegression, LogisticRegression
from tests.linear_model.test_inference import KINDS, errors_of, uneven


def grouped_trials():
    """Shares of successes with their numbers of trials, and the trials themselves."""
    rng = np.random.default_rng(0)
    X, trials = rng.normal(size=(60, 2)), rng.integers(3, 10, 60)
    hits = rng.binomial(trials, 1 / (1 + np.exp(-X[:, 0])))
    rows = np.repeat(np.arange(60), trials)
    single = np.concatenate([[1.0] * k + [0.0] * (n - k) for k, n in zip(hits, trials)])
    return X, hits / trials, trials.astype(float), rows, single


@pytest.mark.parametrize("kind", [*KINDS, "clustered"])
@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
def test_robust_errors_of_shares_are_those_of_their_trials(link, kind):
    """Copies of a share spread less than trials do: errors were a third of what they are."""
    X, share, trials, rows, single = grouped_trials()
    groups = np.arange(60) % 20
    by = {"groups": groups} if kind == "clustered" else {}
    again = {"groups": groups[rows]} if kind == "clustered" else {}
    model = GeneralizedLinearModel(family="binomial", link=link)
    found = model.fit(X, share, sample_weight=trials).summary(
        errors=kind, X=X, y=share, sample_weight=trials, **by
    )
    one_by_one = model.fit(X[rows], single).summary(errors=kind, X=X[rows], y=single, **again)
    np.testing.assert_allclose(errors_of(found), errors_of(one_by_one), rtol=1e-9)


def test_robust_errors_of_fractions_that_are_no_trials():
    """Fractions as such, one per row: the spread of the rows is that of the fractions."""
    X, share, trials, *_ = grouped_trials()
    for weights, meaning in ((None, "frequency"), (trials, "precision")):
        model = GeneralizedLinearModel(family="binomial").fit(X, share, sample_weight=weights)
        table = model.summary(errors="HC0", X=X, y=share, sample_weight=weights, weights=meaning)
        Z, mu = np.column_stack([np.ones(60), X]), model.predict(X)
        w = np.ones(60) if weights is None else weights
        bread = np.linalg.inv((Z * (w * mu * (1 - mu))[:, None]).T @ Z)
        scores = Z * (w * (share - mu))[:, None]
        expected = np.sqrt(np.diag(bread @ scores.T @ scores @ bread))
        np.testing.assert_allclose(errors_of(table), expected, rtol=1e-9)


@pytest.mark.parametrize("kind", ["HC0", "HC3", "clustered"])
def test_the_unit_of_weights_that_are_no_copies_falls_out(kind):
    """Robust errors were divided by the root of the unit; HC3 was refused for small ones."""
    X, y, groups, _ = uneven()
    w, by = np.random.default_rng(1).uniform(0.3, 2, 60), {}
    if kind == "clustered":
        by = {"groups": groups}
    positive = np.random.default_rng(2).gamma(2, size=60)
    for model, target in (
        (LinearRegression(), y),
        (GeneralizedLinearModel(family="gamma", link="log"), positive),
        (LogisticRegression(C=np.inf), (np.arange(60) % 3 == 0).astype(int)),
    ):
        found = [
            errors_of(
                model.fit(X, target, sample_weight=unit * w).summary(
                    errors=kind, X=X, y=target, sample_weight=unit * w, weights=meaning, **by
                )
            )
            for unit in (1.0, 1000.5, 1e-3)
            for meaning in ("frequency", "precision")
        ]
        for other in found[1:]:
            np.testing.assert_allclose(other, found[0], rtol=1e-6)


@pytest.mark.parametrize("unit", [1.0, 1000.5, 1e-3, None])
def test_the_likelihood_of_weights_that_are_no_copies(unit):
    """As of weighted least squares in R: 1/w are variances, so the unit falls out."""
    X, y, *_ = uneven()
    w = np.random.default_rng(1).uniform(0.3, 2, 60)
    w = w / w.mean() if unit is None else unit * w
    for model in (LinearRegression(), GeneralizedLinearModel()):
        fit = model.fit(X, y, sample_weight=w)
        facts = dict(fit.summary().header)
        rest = w @ (y - fit.predict(X)) ** 2
        expected = 0.5 * np.log(w).sum() - 30 * (np.log(2 * np.pi * rest / 60) + 1)
        assert facts["log-likelihood"] == pytest.approx(expected, rel=1e-9)
        assert facts["AIC"] == pytest.approx(2 * 5 - 2 * expected, rel=1e-9)
    copies = np.random.default_rng(1).integers(1, 4, 60).astype(float)
    rows = np.repeat(np.arange(60), copies.astype(int))
    for model in (LinearRegression(), GeneralizedLinearModel()):
        one = dict(model.fit(X, y, sample_weight=copies).summary().header)
        two = dict(model.fit(X[rows], y[rows]).summary().header)
        assert one["log-likelihood"] == pytest.approx(two["log-likelihood"], rel=1e-12)
