"""summary(): robust errors, two meanings of weights, likelihoods, penalised fits."""

import importlib

import numpy as np
import pytest
from scipy import stats
from scipy.special import stdtr

from pellucid.data import Table
from pellucid.errors import DataError, ParameterError
from pellucid.linear_model import (
    ElasticNet,
    GammaRegressor,
    GeneralizedLinearModel,
    Lasso,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    TweedieRegressor,
)
from tests.oracles import peer_statsmodels, shared

KINDS = ("HC0", "HC1", "HC2", "HC3")


def uneven(n=60, seed=0):
    """Rows whose noise grows with the first column, in groups that share an error."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1.0, 1e3, 1e-4] + [0.0, 5e4, 0.0]
    groups = rng.integers(0, 9, n)
    y = X @ [1.0, 2e-3, 5e3] + (1 + X[:, 0] ** 2) * rng.normal(size=n) + rng.normal(size=9)[groups]
    return X, y, groups, rng.integers(1, 4, n).astype(float)


def errors_of(table):
    return np.array(table.frame()["std error"])


@pytest.mark.parametrize("kind", KINDS)
def test_robust_errors_of_least_squares(kind):
    X, y, _, _ = uneven()
    model = LinearRegression().fit(X, y)
    peer = peer_statsmodels.fitted(LinearRegression(), X, y)
    table = model.summary(errors=kind, X=X, y=y)
    np.testing.assert_allclose(errors_of(table), peer.robust_errors(kind), rtol=1e-8)
    assert dict(table.header)["standard errors"] == kind
    # weights as precisions: the white sandwich of WLS
    w = np.linspace(0.5, 2, len(y))
    peer = peer_statsmodels.fitted(LinearRegression(), X, y, sample_weight=w)
    table = (
        LinearRegression()
        .fit(X, y, w)
        .summary(errors=kind, X=X, y=y, sample_weight=w, weights="precision")
    )
    np.testing.assert_allclose(errors_of(table), peer.robust_errors(kind), rtol=1e-8)


def test_clustered_errors():
    X, y, groups, _ = uneven()
    model = LinearRegression().fit(X, y)
    peer = peer_statsmodels.fitted(LinearRegression(), X, y)
    named = np.array([f"school {g}" for g in groups])
    table = model.summary(errors="clustered", X=X, y=y, groups=named)
    np.testing.assert_allclose(errors_of(table), peer.robust_errors("clustered", groups), rtol=1e-8)
    counts = np.random.default_rng(1).poisson(np.exp(0.3 * X[:, 0] + 1)).astype(float)
    poisson = PoissonRegressor(alpha=0).fit(X, counts)
    peer = peer_statsmodels.fitted(PoissonRegressor(alpha=0), X, counts)
    table = poisson.summary(errors="clustered", X=X, y=counts, groups=groups)
    np.testing.assert_allclose(errors_of(table), peer.robust_errors("clustered", groups), rtol=1e-6)


def test_clusters_have_the_degrees_of_freedom_of_their_number():
    rng = np.random.default_rng(1)
    X, groups = rng.normal(size=(60, 2)), np.repeat(np.arange(6), 10)
    y = X[:, 0] + rng.normal(size=6)[groups] + rng.normal(size=60)
    given = {"errors": "clustered", "X": X, "y": y, "groups": groups}
    least = LinearRegression().fit(X, y).summary(**given)
    normal = GeneralizedLinearModel().fit(X, y).summary(**given)
    for one, two in zip(least.rows, normal.rows):
        np.testing.assert_allclose(one[1:], two[1:], rtol=1e-8)
        assert two[4] == pytest.approx(2 * stdtr(5, -abs(two[3])), rel=1e-12)


@pytest.mark.parametrize("Model", [LinearRegression, GeneralizedLinearModel])
def test_groups_that_are_missing_or_mixed_are_refused(Model):
    rng = np.random.default_rng(1)
    X, y, w = rng.normal(size=(12, 1)), rng.normal(size=12), np.r_[0.0, np.ones(11)]
    model = Model().fit(X, y, sample_weight=w)
    numbers, words = np.repeat([1.0, 2.0, 3.0], 4), np.repeat(["a", "b", "c"], 4).astype(object)
    numbers[[0, 7]], words[[0, 7]] = np.nan, None  # row 0 has no weight: it needs no group

    def ask(groups):
        return model.summary(errors="clustered", X=X, y=y, sample_weight=w, groups=groups)

    for groups in (numbers, words):
        with pytest.raises(DataError, match="groups is missing in row 7"):
            ask(groups)
    words[7] = "b"
    assert ask(words).rows == ask(np.repeat([1, 2, 3], 4)).rows
    words[7] = 3
    with pytest.raises(DataError, match="mixes text and numbers"):
        ask(words)


@pytest.mark.parametrize("weights", ["frequency", "precision"])
@pytest.mark.parametrize("family", ["gamma", "inverse_gaussian"])
def test_weighted_log_likelihood_of_amounts_is_that_of_r(family, weights):
    """R: the dispersion is deviance / sum of weights, each row's log density counts by its weight."""
    rng = np.random.default_rng(4)
    X, w = rng.normal(size=(37, 2)), rng.uniform(0.5, 2, 37)
    y = np.exp(X @ [0.3, -0.2]) * rng.gamma(4.0, 0.25, 37)
    model = GeneralizedLinearModel(family=family, link="log").fit(X, y, w)
    mu, facts = model.predict(X), dict(model.summary(weights=weights).header)
    if family == "gamma":
        phi = 2 * w @ ((y - mu) / mu - np.log(y / mu)) / w.sum()
        each = stats.gamma.logpdf(y, 1 / phi, scale=mu * phi)
    else:
        phi = w @ ((y - mu) ** 2 / (y * mu**2)) / w.sum()
        each = stats.invgauss.logpdf(y, mu * phi, scale=1 / phi)
    assert facts["log-likelihood"] == pytest.approx(w @ each, rel=1e-10)
    assert facts["AIC"] == pytest.approx(2 * 4 - 2 * w @ each, rel=1e-10)


@pytest.mark.parametrize("kind", (*KINDS, "clustered"))
@pytest.mark.parametrize("make", [LinearRegression, lambda: PoissonRegressor(alpha=0)])
def test_a_weight_is_a_number_of_copies(make, kind):
    X, y, groups, w = uneven()
    y = np.abs(np.round(y))
    twice = np.repeat(np.arange(len(y)), w.astype(int))
    one, many = make().fit(X, y, w), make().fit(X[twice], y[twice])
    by = {"groups": groups} if kind == "clustered" else {}
    again = {"groups": groups[twice]} if kind == "clustered" else {}
    a = one.summary(errors=kind, X=X, y=y, sample_weight=w, **by)
    b = many.summary(errors=kind, X=X[twice], y=y[twice], **again)
    np.testing.assert_allclose(errors_of(a), errors_of(b), rtol=1e-9)


@pytest.mark.parametrize("family", ["Poisson", "Gamma"])
def test_robust_errors_of_glms(family):
    X, _, _, _ = uneven()
    rng = np.random.default_rng(3)
    mean = np.exp(0.4 * X[:, 0] + 1)
    y = rng.poisson(mean) + 0.0 if family == "Poisson" else rng.gamma(2.0, mean)
    api = importlib.import_module("statsmodels.api")
    link = api.families.links.Log()
    model = api.GLM(y, api.add_constant(X), family=getattr(api.families, family)(link))
    peer = model.fit(cov_type="HC0", tol=1e-12, tol_criterion="params")
    ours = (PoissonRegressor if family == "Poisson" else GammaRegressor)(alpha=0).fit(X, y)
    found = errors_of(ours.summary(errors="HC0", X=X, y=y))
    np.testing.assert_allclose(found, peer.bse, rtol=1e-6)
    # statsmodels' HC1 of a GLM lacks the factor that it has in least squares
    corrected = errors_of(ours.summary(errors="HC1", X=X, y=y))
    np.testing.assert_allclose(corrected, found * np.sqrt(60 / 56), rtol=1e-12)


def test_leverage_of_a_glm_is_that_of_its_last_weighted_least_squares():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(50, 2))
    y = rng.poisson(np.exp(0.5 * X[:, 0])).astype(float)
    model = PoissonRegressor(alpha=0).fit(X, y)
    mu, A = model.predict(X), np.column_stack([X, np.ones(50)])
    bread = np.linalg.inv(A.T @ (A * mu[:, None]))
    h = mu * np.einsum("ij,jk,ik->i", A, bread, A)
    for kind, power in (("HC2", 1), ("HC3", 2)):
        meat = A.T @ (A * ((y - mu) ** 2 / (1 - h) ** power)[:, None])
        expected = np.sqrt(np.diagonal(bread @ meat @ bread))
        found = errors_of(model.summary(errors=kind, X=X, y=y))
        np.testing.assert_allclose(np.roll(found, -1), expected, rtol=1e-9)


def test_missing_rows_are_handled_as_at_the_fit():
    pandas = pytest.importorskip("pandas")
    from pellucid import Table

    X, y, groups, _ = uneven()
    table = pandas.DataFrame(X, columns=["a", "b", "c"])
    table.loc[[3, 17], "b"] = np.nan
    full = ~table["b"].isna().to_numpy()
    model = LinearRegression(table=Table(missing="drop")).fit(table, y)
    for kind in ("HC3", "clustered"):
        by = {"groups": groups} if kind == "clustered" else {}
        only = {"groups": groups[full]} if kind == "clustered" else {}
        found = model.summary(errors=kind, X=table, y=y, **by)
        plain = LinearRegression().fit(X[full], y[full])
        expected = plain.summary(errors=kind, X=X[full], y=y[full], **only)
        np.testing.assert_allclose(errors_of(found), errors_of(expected), rtol=1e-12)


def test_what_cannot_be_is_said():
    X, y, _, _ = uneven()
    model = LinearRegression().fit(X, y)
    with pytest.raises(ParameterError, match="Pass them again"):
        model.summary(errors="HC3")
    with pytest.raises(ParameterError, match="errors must be one of"):
        model.summary(errors="HC9", X=X, y=y)
    with pytest.raises(ParameterError, match="needs groups="):
        model.summary(errors="clustered", X=X, y=y)
    with pytest.raises(DataError, match="not the rows"):
        model.summary(errors="HC1", X=X, y=y + X[:, 0])
    with pytest.raises(DataError, match="two groups"):
        model.summary(errors="clustered", X=X, y=y, groups=np.zeros(len(y)))
    alone = np.column_stack([X, np.arange(len(y)) == 4])
    model = LinearRegression().fit(alone, y)
    with pytest.raises(DataError, match=r"Row 4 fixes a coefficient alone"):
        model.summary(errors="HC3", X=alone, y=y)
    assert np.isfinite(errors_of(model.summary(errors="HC1", X=alone, y=y))).all()


def test_aliased_columns_have_no_robust_error_and_the_others_have():
    X, y, _, _ = uneven()
    double = np.column_stack([X, 2 * X[:, 0]])
    model = LinearRegression().fit(double, y)
    found = errors_of(model.summary(errors="HC1", X=double, y=y))
    expected = errors_of(LinearRegression().fit(X, y).summary(errors="HC1", X=X, y=y))
    np.testing.assert_allclose(found[[0, 2, 3]], expected[[0, 2, 3]], rtol=1e-6)
    assert np.isnan(found[[1, 4]]).all()


def test_weighted_least_squares_as_in_r():
    table = shared.frame("r_mtcars.csv")
    result = shared.r_reference("lm_mtcars_weighted")["result"]
    model = LinearRegression().fit(table[["wt", "qsec"]], table["mpg"], table["hp"])
    summary = model.summary(weights="precision")
    np.testing.assert_allclose(summary.frame()["coef"], result["coef"], rtol=1e-10)
    np.testing.assert_allclose(errors_of(summary), result["se"], rtol=1e-10)


@pytest.mark.parametrize("weights", ["frequency", "precision"])
def test_facts_of_least_squares_are_statsmodels(weights):
    X, y, _, w = uneven()
    model = LinearRegression().fit(X, y, w)
    facts = dict(model.summary(weights=weights).header)
    if weights == "precision":
        peer = peer_statsmodels.fitted(LinearRegression(), X, y, sample_weight=w).result_
    else:
        rows = np.repeat(np.arange(len(y)), w.astype(int))
        peer = peer_statsmodels.fitted(LinearRegression(), X[rows], y[rows]).result_
    expected = {
        "R2": peer.rsquared, "adjusted R2": peer.rsquared_adj, "F": peer.fvalue,
        "p of F": peer.f_pvalue, "log-likelihood": peer.llf, "AIC": peer.aic + 2,
        "BIC": peer.bic + np.log(peer.nobs), "degrees of freedom": peer.df_resid,
    }  # fmt: skip
    for name, value in expected.items():
        assert facts[name] == pytest.approx(value, rel=1e-8), name


def test_likelihoods_of_negative_binomial_and_tweedie():
    api = importlib.import_module("statsmodels.api")
    rng = np.random.default_rng(4)
    X = rng.normal(size=(80, 2))
    mean = np.exp(0.4 * X[:, 0] + 0.5)
    counts = rng.negative_binomial(2.0, 2.0 / (2.0 + mean)).astype(float)
    family = api.families.NegativeBinomial(alpha=0.5)
    peer = api.GLM(counts, api.add_constant(X), family=family).fit(tol=1e-12)
    model = GeneralizedLinearModel(family="negative_binomial", dispersion=0.5).fit(X, counts)
    assert dict(model.summary().header)["log-likelihood"] == pytest.approx(peer.llf, rel=1e-9)
    amounts = np.array([rng.gamma(1.5, 0.6, k).sum() for k in rng.poisson(mean)])
    assert (amounts == 0).any()
    for power in (1.5, 1.3):
        link = api.families.links.Log()
        family = api.families.Tweedie(link, var_power=power, eql=False)
        peer = api.GLM(amounts, api.add_constant(X), family=family).fit(tol=1e-12)
        model = TweedieRegressor(power=power, alpha=0).fit(X, amounts)
        facts = dict(model.summary().header)
        assert facts["dispersion"] == pytest.approx(peer.scale, rel=1e-8)
        assert facts["log-likelihood"] == pytest.approx(peer.llf, rel=1e-8)


def test_negative_binomial_likelihood_as_in_r():
    table = shared.frame("mass_quine.csv", keep_default_na=False)
    entry = shared.r_reference("glm_nb_quine")
    model = GeneralizedLinearModel(family="negative_binomial", dispersion=1 / entry["theta"])
    model.fit(table[["Eth", "Sex", "Age", "Lrn"]], table["Days"])
    facts = dict(model.summary().header)
    assert 2 * facts["log-likelihood"] == pytest.approx(entry["twologlik"], rel=1e-9)


def test_normal_glm_has_the_errors_of_least_squares():
    X, y, _, w = uneven()
    glm = GeneralizedLinearModel(family="normal").fit(X, y, w).summary()
    plain = LinearRegression().fit(X, y, w).summary()
    np.testing.assert_allclose(errors_of(glm), errors_of(plain), rtol=1e-9)
    for name in ("log-likelihood", "AIC"):
        assert dict(glm.header)[name] == pytest.approx(dict(plain.header)[name], rel=1e-10)


@pytest.mark.parametrize("model", [Ridge(2.0), Lasso(0.1), ElasticNet(0.1), GammaRegressor()])
def test_penalised_fits_have_no_p_values_and_say_why(model):
    X, y, _, _ = uneven()
    table = model.fit(X, np.abs(y) + 1).summary()
    assert table.columns == ("term", "coef")
    assert "theory gives no standard errors or p-values" in str(table)
    assert "bootstrap" in str(table)
    assert table.frame()["coef"] == [model.intercept_, *model.coef_]
    assert dict(table.header)["alpha"] == model.alpha


@pytest.mark.parametrize("Model", [LinearRegression, PoissonRegressor])
def test_rows_left_out_are_told(Model):
    X = np.random.default_rng(0).normal(size=(60, 2))
    X[[3, 9], 0] = np.nan
    y = np.arange(60) % 7
    options = {} if Model is LinearRegression else {"alpha": 0}
    notes = Model(table=Table(missing="drop"), **options).fit(X, y).summary().notes
    assert notes == ("Rows left out because of a missing value: 2.",)


@pytest.mark.parametrize("n_groups", [2, 3, 4, 5])
def test_too_few_groups_for_a_test_of_all_terms(n_groups):
    """G groups tell G - 1 directions: with fewer than the terms, the test was rounding errors."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    y = X @ [1.0, 0.5, -1.0] + rng.normal(size=90)
    groups = np.arange(90) % n_groups
    for model, target in (
        (LinearRegression(), y),
        (GeneralizedLinearModel(), y),
        (GeneralizedLinearModel(family="poisson"), np.floor(np.exp(y / 3))),
        (LogisticRegression(C=np.inf), (y > 0).astype(int)),
    ):
        model.fit(X, target)
        found = model.summary(errors="clustered", X=X, y=target, groups=groups)
        wald = [value for name, value in found.header if "Wald" in name]
        told = n_groups > 3
        assert len(wald) == 2 and np.isfinite(wald).all() == told
        assert ("too few groups" in str(found)) != told
        assert np.isfinite(found.frame()["std error"]).all()


def test_a_constant_target_is_no_evidence():
    """Errors of 0 made t infinite and p 0 of coefficients that are rounding."""
    X = np.random.default_rng(0).normal(size=(60, 3))
    for model in (LinearRegression(), GeneralizedLinearModel(family="gamma")):
        table = model.fit(X, np.ones(60)).summary()
        lines = table.frame()
        assert np.isnan(lines["p"]).all() and "the tests have no meaning" in str(table)
        assert np.isnan(lines["z" if "z" in lines else "t"]).all()
