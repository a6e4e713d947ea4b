"""Every regression entry of statsmodels' reference values (typed from R, Stata and SAS).

Tolerance: what a fresh fit by statsmodels differs from the typed digits, and half a digit more.
Robust regression (Huber, Hampel, bisquare, Andrews) is no model of this library.
"""

import importlib

import numpy as np
import pytest

from pellucid.linear_model import GeneralizedLinearModel, LinearRegression, LogisticRegression
from pellucid.numerics.objectives.families import BINOMIAL, GLMLoss
from pellucid.numerics.objectives.links import LINKS
from tests.oracles import shared

RESULTS = "statsmodels.genmod.tests.results.results_glm"


def dataset(name):
    module = importlib.import_module(f"statsmodels.datasets.{name}")
    loaded = module.load()
    return np.asarray(loaded.endog, dtype=float), np.asarray(loaded.exog, dtype=float)


def typed(name):
    """Rows that the reference class carries itself, the constant taken off."""
    case = getattr(importlib.import_module(RESULTS), name)()
    X = np.asarray(case.exog, dtype=float)
    constant = np.flatnonzero(np.ptp(X, axis=0) == 0)
    order = [j for j in range(X.shape[1]) if j not in constant]
    return np.asarray(case.endog, dtype=float), X[:, order], (order, constant.tolist())


def curve():
    x = np.arange(100)
    y = np.exp(-(-1.0 + 0.02 * x + 0.0001 * x**2))
    y = y + 0.001 * np.random.RandomState(54321).randn(100)
    return y, np.column_stack([x, x**2]).astype(float)


def punished(logged=True):
    y, X = dataset("cpunish")
    if logged:
        X[:, 3] = np.log(X[:, 3])
    return y, X


def committee():
    y, X = dataset("committee")
    X[:, 2] = np.log(X[:, 2])
    return y, np.column_stack([X, X[:, 2] * X[:, 1]])


def punished_south():
    import pandas

    frame = importlib.import_module("statsmodels.datasets.cpunish").load_pandas().data
    assert isinstance(frame, pandas.DataFrame)
    return frame["EXECUTIONS"].to_numpy(float), frame[["INCOME", "SOUTH"]].to_numpy(float)


def affairs():
    frame = importlib.import_module("statsmodels.datasets.fair").load_pandas().data
    return (
        frame["affairs"].to_numpy(float),
        frame[["rate_marriage", "age", "yrs_married"]].to_numpy(float),
    )


def glm(**options):
    return GeneralizedLinearModel(**options)


TWEEDIE = {"family": "tweedie", "fit_intercept": False}
GLM = "genmod/tests/results/results_glm.py:"
# key: rows, model, where the constant stands ("last", "first", none), options of fit
CASES = {
    GLM + "Longley": (lambda: dataset("longley"), glm(), "last"),
    GLM + "GaussianLog": (curve, glm(link="log"), "first"),
    GLM + "Scotvote": (
        lambda: dataset("scotland"),
        glm(family="gamma"),
        "last",
    ),
    GLM + "Cpunish": (punished, glm(family="poisson"), "last"),
    GLM + "Cpunish_offset": (
        punished,
        glm(family="poisson"),
        "first",
    ),
    GLM + "Committee": (
        committee,
        glm(family="negative_binomial"),
        "last",
    ),
    "CpunishTweediePower15": (punished_south, glm(link="identity", power=1.5, **TWEEDIE), ""),
    "CpunishTweediePower2": (punished_south, glm(link="identity", power=2.0, **TWEEDIE), ""),
    "CpunishTweedieLog1": (punished_south, glm(link="log", power=1.0, **TWEEDIE), ""),
    "FairTweedieLog15": (affairs, glm(link="log", power=1.5, **TWEEDIE), ""),
    "RandHIE.poisson": (lambda: dataset("randhie"), glm(family="poisson"), "last"),
    "Spector.logit": (lambda: dataset("spector"), glm(family="binomial"), "last"),
}
TYPED = {
    "Lbw": glm(family="binomial"),
    "CancerLog": glm(family="gamma", link="log"),
    "CancerIdentity": glm(family="gamma", link="identity"),
    GLM + "InvGauss": glm(family="inverse_gaussian"),
    "InvGaussLog": glm(family="inverse_gaussian", link="log"),
    "InvGaussIdentity": glm(family="inverse_gaussian", link="identity"),
}


def compare(model, values, order, entry, factor=1.0):
    """Estimates and errors in the order of the reference; deviance, likelihood as R counts it.

    `factor` multiplies our errors, where the reference estimated a dispersion that is known here.
    """
    table = model.summary().frame()
    digits = max(2 * entry["max_rel_diff"], 5e-8)
    found = np.array(table["coef"])[order], np.array(table["std error"])[order]
    np.testing.assert_allclose(found[0], values["params"], rtol=digits)
    np.testing.assert_allclose(found[1] * factor, values["bse"], rtol=digits)
    facts = dict(model.summary().header)
    if "deviance" in values and "deviance" in facts:
        assert facts["deviance"] == pytest.approx(values["deviance"], rel=1e-6, abs=1e-9)
    if "aic_R" in values and factor == 1.0:
        assert facts["AIC"] == pytest.approx(values["aic_R"], rel=1e-6)
    elif "aic" in values:
        assert facts["log-likelihood"] == pytest.approx(values["llf"], rel=1e-7)
    assert facts["degrees of freedom"] == values["df_resid"]


def places(constant, p):
    """Positions in our table (the intercept first) of the reference's terms."""
    if constant == "last":
        return [*range(1, p + 1), 0]
    return list(range(p + 1)) if constant == "first" else list(range(p))


@pytest.mark.parametrize("key", CASES)
def test_generalised_linear_models(key):
    rows, model, constant = CASES[key]
    entry = shared.statsmodels_reference(key)
    y, X = rows()
    fit = {"exposure": np.full(len(y), 100.0)} if key.endswith("Cpunish_offset") else {}
    model.fit(X, y, **fit)
    factor = 1.0
    if key.endswith(("Committee", "CpunishTweedieLog1")):  # dispersion by Pearson's statistic
        mean, rank = model.predict(X), X.shape[1] + (constant != "")
        factor = np.sqrt(np.sum((y - mean) ** 2 / model._family().variance(mean)) / (len(y) - rank))
    compare(model, entry["values"], places(constant, X.shape[1]), entry, factor)


@pytest.mark.parametrize("key", TYPED)
def test_generalised_linear_models_with_their_own_rows(key):
    entry = shared.statsmodels_reference(key)
    y, X, (order, constant) = typed(key.rpartition(":")[2])
    model = TYPED[key].fit(X, y)
    where = np.empty(len(order) + len(constant), dtype=int)
    where[order], where[constant] = np.arange(1, len(order) + 1), 0
    compare(model, entry["values"], where.tolist(), entry)


def test_probit_with_observed_information():
    """Our errors are those of the expected information; Stata's are checked through its own."""
    values = shared.statsmodels_reference("Spector.probit")["values"]
    y, X = dataset("spector")
    model = glm(family="binomial", link="probit").fit(X, y)
    np.testing.assert_allclose([*model.coef_, model.intercept_], values["params"], rtol=5e-7)
    A = np.column_stack([X, np.ones(len(y))])
    bend = GLMLoss(BINOMIAL, LINKS["probit"]).curvature(y, model.linear_predictor(X))
    errors = np.sqrt(np.diagonal(np.linalg.inv(A.T @ (A * bend[:, None]))))
    np.testing.assert_allclose(errors, values["bse"], rtol=5e-7)
    assert dict(model.summary().header)["log-likelihood"] == pytest.approx(values["llf"], rel=1e-7)


def test_shares_of_trials():
    entry = shared.statsmodels_reference("Star98")
    y, X = dataset("star98")
    trials = y.sum(axis=1)
    model = glm(family="binomial").fit(X, y[:, 0] / trials, trials)
    table = model.summary(weights="precision").frame()
    order = [*range(1, X.shape[1] + 1), 0]
    np.testing.assert_allclose(np.array(table["coef"])[order], entry["values"]["params"], rtol=1e-6)
    np.testing.assert_allclose(
        np.array(table["std error"])[order], entry["values"]["bse"], rtol=1e-6
    )
    facts = dict(model.summary(weights="precision").header)
    assert facts["deviance"] == pytest.approx(entry["values"]["deviance"], rel=1e-9)
    assert facts["log-likelihood"] == pytest.approx(entry["values"]["llf"], rel=1e-9)


def test_least_squares():
    entry = shared.statsmodels_reference("regression/tests/results/results_regression.py:Longley")
    y, X = dataset("longley")
    values, model = entry["values"], LinearRegression().fit(X, y)
    table, order = model.summary().frame(), [*range(1, X.shape[1] + 1), 0]
    np.testing.assert_allclose(np.array(table["coef"])[order], values["params"], rtol=1e-11)
    np.testing.assert_allclose(np.array(table["std error"])[order], values["bse"], rtol=1e-11)
    facts = dict(model.summary().header)
    names = {
        "R2": "rsquared", "F": "fvalue", "log-likelihood": "llf", "degrees of freedom": "df_resid",
        "adjusted R2": "rsquared_adj",
    }  # fmt: skip
    for ours, theirs in names.items():
        assert facts[ours] == pytest.approx(values[theirs], rel=1e-6), ours
    assert facts["AIC"] == pytest.approx(
        values["aic"] + 2, abs=6e-5
    )  # the variance counts, as in R
    assert facts["residual sd"] ** 2 == pytest.approx(values["mse_resid"], rel=1e-9)


@pytest.mark.parametrize("family", ["binomial", "poisson"])
def test_elastic_nets_of_glmnet(family):
    """glmnet stopped early (statsmodels allows 1e-2); ours are never above its objective."""
    rows = shared.statsmodels_reference("genmod/tests/results/glmnet_r_results.py")["values"][
        family
    ]
    package = importlib.import_module("statsmodels.genmod.tests.results")
    file = next(iter(package.__path__)) + f"/enet_{family}.csv"
    data = np.loadtxt(file, delimiter=",")
    y, X = data[:, 0], data[:, 1:]
    X = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    for mix, strength, *expected in rows:
        model = glm(family=family, alpha=strength, l1_ratio=mix, fit_intercept=False).fit(X, y)
        np.testing.assert_allclose(model.coef_, expected, atol=2e-2)
        loss = GLMLoss(model._family(), LINKS[model._link()])

        def objective(b, loss=loss, mix=mix, strength=strength):
            size = mix * np.abs(b).sum() + (1 - mix) / 2 * b @ b
            return loss.value(y, X @ b).mean() + strength * size

        assert objective(model.coef_) <= objective(np.array(expected)) * (1 + 1e-12)


def test_several_classes():
    entry = shared.statsmodels_reference("Anes.mnlogit_basezero")
    y, X = dataset("anes96")
    model = LogisticRegression(C=np.inf).fit(X, y)
    params = np.array(entry["values"]["params"])
    found = (model.coef_ - model.coef_[0])[1:], (model.intercept_ - model.intercept_[0])[1:]
    ours = np.vstack([found[0].T, found[1]])
    np.testing.assert_allclose(ours, params if params.shape == ours.shape else params.T, rtol=2e-6)
