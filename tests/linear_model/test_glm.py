"""Generalised linear models: vectors, R's values, 40 digits, offsets, bad input."""

import mpmath
import numpy as np
import pandas as pd
import pytest
from scipy import special

from pellucid.errors import ConvergenceWarning, DataError, ParameterError, PellucidError
from pellucid.linear_model import (
    GammaRegressor,
    GeneralizedLinearModel,
    LinearRegression,
    PoissonRegressor,
    Ridge,
    TweedieRegressor,
)
from tests.linear_model.test_ridge import standardised
from tests.oracles import shared

X4, COUNTS = np.array([[1.0], [2.0], [3.0], [4.0]]), np.array([1.0, 2.0, 4.0, 9.0])
BOSTON = [
    *(3.04948328, -0.08629756, 0.02536224, 0.01713538, 0.02321105, -0.08299024, 0.08628886),
    *(0.01009342, -0.10404117, 0.1338545, -0.09130839, -0.07790664, 0.04481137, -0.22175673),
]
CLOTTING = {
    "glm_gamma_inverse_clotting": ("gamma", "inverse"),
    "glm_gamma_log_clotting": ("gamma", "log"),
    "glm_invgauss_log_clotting": ("inverse_gaussian", "log"),
    "glm_invgauss_canonical_clotting": ("inverse_gaussian", "auto"),
    "glm_gaussian_log_clotting": ("normal", "log"),
}


def assert_as_in_r(model, result, digits=1e-7):
    table = model.summary().frame()
    np.testing.assert_allclose(table["coef"], result["coef"], rtol=digits)
    np.testing.assert_allclose(table["std error"], result["se"], rtol=max(digits, 1e-6))
    header = dict(model.summary().header)
    assert header["deviance"] == pytest.approx(result["deviance"], rel=1e-9)
    return header


def test_poisson_vector():
    model = GeneralizedLinearModel(family="poisson").fit(X4, COUNTS)
    table = model.summary().frame()
    np.testing.assert_allclose(table["coef"], [-0.8082689802, 0.7477586317], atol=6e-11)
    np.testing.assert_allclose(table["std error"], [0.9500341137, 0.2766944905], atol=6e-11)
    assert dict(model.summary().header)["deviance"] == pytest.approx(0.0151784146, abs=6e-11)


def test_boston_vector_and_descent():
    X, y = standardised()
    model = PoissonRegressor(alpha=0).fit(X, y)
    np.testing.assert_allclose(np.append(model.intercept_, model.coef_), BOSTON, atol=6e-9)
    assert dict(model.summary().header)["deviance"] == pytest.approx(359.2707487627, abs=1e-9)
    slow = PoissonRegressor(alpha=0, solver="gd", step=1e-5 * len(y), max_iter=1000, tol=1e-300)
    with pytest.warns(UserWarning, match="1000 iterations"):
        slow.fit(X, y)
    assert slow.intercept_ == pytest.approx(3.04948577, abs=1e-8)
    assert np.abs(slow.coef_ - model.coef_).max() < 1.4e-4
    assert len(slow.history_["objective"]) == 1001


@pytest.mark.parametrize("key", CLOTTING)
def test_clotting_as_in_r(key):
    entry = shared.r_reference(key)
    data = {name: np.array(values, float) for name, values in entry["data_inline"].items()}
    family, link = CLOTTING[key]
    model = GeneralizedLinearModel(family=family, link=link)
    model.fit(np.log(data["u"])[:, None], data["lot1"])
    header = assert_as_in_r(model, entry["result"])
    if "dispersion" in entry["result"]:
        assert header["dispersion"] == pytest.approx(entry["result"]["dispersion"], rel=1e-6)


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_shares_of_trials_as_in_r(link):
    table = shared.frame("mass_menarche.csv")
    model = GeneralizedLinearModel(family="binomial", link=link)
    model.fit(table[["Age"]], table["Menarche"] / table["Total"], table["Total"])
    entry = shared.r_reference(f"glm_binomial_grouped_{link}_menarche")["result"]
    header = assert_as_in_r(model, entry)
    assert header["null deviance"] == pytest.approx(entry["null_deviance"], rel=1e-9)


@pytest.mark.parametrize("family", ["poisson", "nb"])
def test_categories_as_in_r(family):
    table = shared.frame("mass_quine.csv", keep_default_na=False)
    entry = shared.r_reference(f"glm_{family}_quine")
    chosen = {"family": "poisson"}
    if family == "nb":
        chosen = {"family": "negative_binomial", "dispersion": 1 / entry["theta"]}
    model = GeneralizedLinearModel(**chosen).fit(table[["Eth", "Sex", "Age", "Lrn"]], table["Days"])
    result = entry["result"]
    lines = model.summary().frame()
    np.testing.assert_allclose(lines["coef"], result["coef"], rtol=1e-7)
    np.testing.assert_allclose(lines["std error"], result["se"], rtol=1e-6)


def insurance():
    pandas = pytest.importorskip("pandas")
    table = shared.frame("mass_insurance.csv", keep_default_na=False)
    for name, levels in {
        "Group": ["<1l", "1-1.5l", "1.5-2l", ">2l"],
        "Age": ["<25", "25-29", "30-35", ">35"],
    }.items():
        table[name] = pandas.Categorical(table[name], categories=levels, ordered=True)
    table["District"] = table["District"].astype(str)
    return table


def test_exposure_as_in_r():
    table = insurance()
    X, entry = (
        table[["District", "Group", "Age"]],
        shared.r_reference("glm_poisson_insurance_offset"),
    )
    model = PoissonRegressor(alpha=0).fit(X, table["Claims"], exposure=table["Holders"])
    lines = model.summary().frame()
    np.testing.assert_allclose(lines["coef"], entry["result"]["coef"], rtol=1e-8)
    np.testing.assert_allclose(lines["std error"], entry["result"]["se"], rtol=1e-6)


def test_exposure_is_an_offset():
    rng = np.random.default_rng(0)
    X, time = rng.normal(size=(80, 3)), rng.uniform(0.1, 5, 80)
    y = rng.poisson(time * np.exp(X @ [0.5, -0.2, 0.1])).astype(float)
    one = PoissonRegressor(alpha=0.01).fit(X, y, exposure=time)
    two = PoissonRegressor(alpha=0.01).fit(X, y, offset=np.log(time))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    rate = PoissonRegressor(alpha=0.01 * 80 / time.sum()).fit(X, y / time, time)
    np.testing.assert_allclose(one.coef_, rate.coef_, rtol=1e-10)
    np.testing.assert_allclose(one.predict(X, exposure=time), time * one.predict(X), rtol=1e-12)
    np.testing.assert_allclose(
        one.predict(X, offset=np.log(time)), time * one.predict(X), rtol=1e-12
    )
    np.testing.assert_allclose(np.exp(one.linear_predictor(X)), one.predict(X), rtol=1e-15)


@pytest.mark.parametrize(
    ("family", "link"), [("poisson", "log"), ("gamma", "log"), ("normal", "log")]
)
def test_d2_with_an_offset_is_that_of_the_deviances(family, link):
    rng = np.random.default_rng(0)
    X, shift, w = rng.normal(size=(80, 3)), rng.uniform(-2, 2, 80), rng.integers(1, 4, 80) * 1.0
    y = rng.poisson(np.exp(shift + X @ [0.5, -0.2, 0.1])) + 1.0
    model = GeneralizedLinearModel(family=family, link=link).fit(X, y, w, offset=shift)
    facts = dict(model.summary().header)
    wanted = 1 - facts["deviance"] / facts["null deviance"]
    assert model.score(X, y, w, offset=shift) == pytest.approx(wanted, rel=1e-9)
    assert model.score(X, y, w, exposure=np.exp(shift)) == pytest.approx(wanted, rel=1e-9)
    assert abs(model.score(X, y, w) - wanted) > 0.01


def precise(X, y, family, digits=40):
    """Log-link coefficients (intercept first) by Fisher scoring with 40 digits."""
    with mpmath.workdps(digits):
        rows = [[mpmath.mpf(1)] + [mpmath.mpf(float(v)) for v in row] for row in X]
        y = [mpmath.mpf(float(v)) for v in y]
        p = len(rows[0])
        b = [mpmath.log(sum(y) / len(y))] + [mpmath.mpf(0)] * (p - 1)
        for _ in range(80):
            g, H = mpmath.matrix(p, 1), mpmath.matrix(p, p)
            for x, t in zip(rows, y):
                mu = mpmath.exp(sum(u * v for u, v in zip(x, b)))
                slope, bend = (t - mu, mu) if family == "poisson" else (t / mu - 1, t / mu)
                for i in range(p):
                    g[i] += slope * x[i]
                    for j in range(p):
                        H[i, j] += bend * x[i] * x[j]
            step = mpmath.lu_solve(H, g)
            b = [u + v for u, v in zip(b, step)]
            if max(abs(v) for v in step) < mpmath.mpf(10) ** (8 - digits):
                return np.array([float(v) for v in b])
    raise AssertionError("the reference did not converge")


@pytest.mark.parametrize("family", ["poisson", "gamma"])
@pytest.mark.parametrize("units", [1.0, 1e-6, 1e8])
def test_twelve_digits_in_any_units(family, units):
    rng = np.random.default_rng(4)
    X = np.column_stack([rng.normal(size=40), rng.uniform(size=40) + 3, rng.normal(size=40)])
    mu = np.exp(X @ [0.5, 0.3, -0.4])
    y = rng.poisson(mu).astype(float) if family == "poisson" else mu * rng.gamma(2.0, 0.5, 40)
    X = X * [1.0, units, 1.0]
    Model = PoissonRegressor if family == "poisson" else GammaRegressor
    model = Model(alpha=0).fit(X, y)
    exact = precise(X, y, family)
    np.testing.assert_allclose(np.append(model.intercept_, model.coef_), exact, rtol=1e-12)


def test_all_solvers_find_one_optimum(capsys):
    X, y = standardised()
    for Model in (PoissonRegressor, GammaRegressor):
        best = Model(alpha=0.1).fit(X, y)
        for solver in ("newton", "newton-cholesky", "lbfgs"):
            found = Model(alpha=0.1, solver=solver, verbose=1).fit(X, y)
            np.testing.assert_allclose(found.coef_, best.coef_, rtol=1e-10)
    few = X[:, [5, 12]]
    for Model in (PoissonRegressor, GammaRegressor):
        slow = Model(alpha=0.1, solver="gd", max_iter=20_000, tol=1e-12).fit(few, y)
        np.testing.assert_allclose(slow.coef_, Model(alpha=0.1).fit(few, y).coef_, atol=1e-8)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("power", [1.0, 1.5, 2.0, 3.0])
def test_optimality_and_d2_of_tweedie(power):
    rng = np.random.default_rng(7)
    X, w = rng.normal(size=(50, 3)), rng.integers(1, 4, 50).astype(float)
    y = np.exp(X @ [0.3, -0.2, 0.1]) * rng.gamma(2.0, 0.5, 50)
    model = TweedieRegressor(power=power, alpha=0.05).fit(X, y, w)
    mu = model.predict(X)
    pull = w * (y - mu) * mu ** (1 - power) / w.sum()
    np.testing.assert_allclose(X.T @ pull, 0.05 * model.coef_, atol=1e-13)
    assert abs(pull.sum()) < 1e-13
    peer = pytest.importorskip("sklearn.linear_model").TweedieRegressor(
        power=power, alpha=0.05, tol=1e-10, max_iter=1000
    )
    peer.fit(X, y, w)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-6)
    assert model.score(X, y, w) == pytest.approx(peer.score(X, y, w), abs=1e-7)


def test_normal_family_is_ridge_and_least_squares():
    X, y = standardised()
    free = GeneralizedLinearModel().fit(X, y)
    np.testing.assert_allclose(free.coef_, LinearRegression().fit(X, y).coef_, rtol=1e-12)
    shrunk = TweedieRegressor(alpha=0.5).fit(X, y)
    np.testing.assert_allclose(shrunk.coef_, Ridge(0.5 * len(y)).fit(X, y).coef_, rtol=1e-12)


def test_links_that_forbid_means_stay_inside():
    rng = np.random.default_rng(1)
    X = rng.uniform(0, 3, size=(60, 1))
    y = rng.poisson(0.05 + X[:, 0]).astype(float)
    model = GeneralizedLinearModel(family="poisson", link="identity").fit(X, y)
    mu = model.predict(X)
    assert mu.min() > 0
    assert abs(np.sum((y - mu) / mu)) < 1e-8
    assert abs(np.sum((y - mu) / mu * X[:, 0])) < 1e-8


@pytest.mark.parametrize("family", ["poisson", "gamma", "normal"])
def test_what_others_span_is_left_out_and_the_rest_is_as_without_it(family):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(80, 3)) * [1, 1e-8, 1e8]
    y = rng.poisson(np.exp(0.3 * X[:, 0])) + 1.0
    full = np.column_stack([X[:, 0], np.full(80, 3.0), X[:, 1], 2 * X[:, 0], X[:, 2]])
    plain = GeneralizedLinearModel(family=family, link="log").fit(X, y)
    model = GeneralizedLinearModel(family=family, link="log").fit(full, y)
    np.testing.assert_allclose(model.predict(full), plain.predict(X), rtol=1e-9)
    assert model.coef_[1] == 0
    for errors in ("classical", "HC1"):
        given = {} if errors == "classical" else {"X": full, "y": y}
        table = model.summary(errors=errors, **given)
        assert "Combinations of other terms: x1, x3" in " ".join(table.notes)
        found = np.array([row[1:] for row in table.rows])
        given = {} if errors == "classical" else {"X": X, "y": y}
        expected = np.array([row[1:] for row in plain.summary(errors=errors, **given).rows])
        np.testing.assert_allclose(found[[0, 1, 3, 5]], expected, rtol=1e-6)
        assert np.isnan(found[[2, 4]]).all()
    for kind in ("mean", "observation"):
        ends = model.predict_interval(full, kind=kind)
        np.testing.assert_allclose(ends, plain.predict_interval(X, kind=kind), rtol=1e-7)
    full[7, 3] += 1
    with pytest.raises(DataError, match="Row 7 has no interval: columns that are combinations"):
        model.predict_interval(full)


@pytest.mark.parametrize(("family", "link"), [
    ("poisson", "log"), ("gamma", "log"), ("binomial", "logit"), ("normal", "identity"),
    ("gamma", "inverse"),
])  # fmt: skip
def test_null_deviance_beside_an_offset_is_that_of_the_constant_alone(family, link):
    rng = np.random.default_rng(5)
    X, offset = rng.normal(size=(90, 2)), rng.uniform(0.1, 0.6, 90)
    y = rng.poisson(np.exp(0.4 * X[:, 0] + offset)) + 1.0
    y = (y > 1).astype(float) if family == "binomial" else y
    model = GeneralizedLinearModel(family=family, link=link)
    found = dict(model.fit(X, y, offset=offset).summary().header)
    alone = dict(model.fit(np.ones((90, 1)), y, offset=offset).summary().header)
    assert found["null deviance"] == pytest.approx(alone["deviance"], rel=1e-9)
    assert alone["null deviance"] == pytest.approx(alone["deviance"], rel=1e-9)
    assert found["deviance"] < found["null deviance"]
    assert ("LR chi2" if family in ("poisson", "binomial") else "F") in found


@pytest.mark.parametrize("offset", [None, np.zeros(40)])
def test_null_deviance_without_an_intercept_is_that_of_the_offset_alone(offset):
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(40, 2)), rng.poisson(2.0, 40).astype(float)
    model = PoissonRegressor(alpha=0, fit_intercept=False).fit(X, y, offset=offset)
    null = 2 * np.sum(special.xlogy(y, y) - y + 1)  # a mean of exp(0) for every row
    assert dict(model.summary().header)["null deviance"] == pytest.approx(null, rel=1e-12)


def test_offsets_near_the_largest_exponent():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(40, 2)), rng.poisson(2.0, 40).astype(float)
    far = PoissonRegressor(alpha=0).fit(X, y, offset=np.full(40, 800.0))
    plain = PoissonRegressor(alpha=0).fit(X, y)
    assert far.intercept_ == pytest.approx(plain.intercept_ - 800, rel=1e-12)
    np.testing.assert_allclose(far.coef_, plain.coef_, rtol=1e-9)


def test_nearly_dependent_columns_have_their_standard_errors():
    """A condition number of 1e7 is no reason to leave a column out."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(100, 2))
    y = rng.poisson(np.exp(0.3 * X[:, 0])).astype(float)
    near = np.column_stack([X[:, 0], X[:, 0] + 1e-7 * X[:, 1]])
    plain = {row[0]: row for row in PoissonRegressor(alpha=0).fit(X, y).summary().rows}
    found = {row[0]: row for row in PoissonRegressor(alpha=0).fit(near, y).summary().rows}
    assert found["x1"][1] * 1e-7 == pytest.approx(plain["x1"][1], rel=1e-5)
    assert found["x1"][2] * 1e-7 == pytest.approx(plain["x1"][2], rel=1e-5)


def test_penalised_fits_show_no_standard_errors():
    table = PoissonRegressor(alpha=1.0).fit(X4, COUNTS).summary()
    assert table.columns == ("term", "coef")
    assert "no standard errors" in " ".join(table.notes)


@pytest.mark.parametrize(
    ("model", "y", "text"),
    [
        (PoissonRegressor(), [1.0, -1.0, 2.0, 3.0], "y must be >= 0 for the poisson family.*-1"),
        (GammaRegressor(), [1.0, 0.0, 2.0, 3.0], "y must be > 0 for the gamma family"),
        (PoissonRegressor(), [0.0, 0.0, 0.0, 0.0], "Every y is 0"),
        (PoissonRegressor(alpha=0, fit_intercept=False), [0.0, 0.0, 0.0, 0.0], "Every y is 0"),
        (GeneralizedLinearModel(family="binomial"), [0.0, 1.0, 2.0, 1.0], ">= 0 and <= 1"),
        (GeneralizedLinearModel(family="binomial"), [1.0, 1.0, 1.0, 1.0], "Every y is 1"),
        (GeneralizedLinearModel(family="binomial", link="probit"), [0.0] * 4, "Every y is 0"),
        (GeneralizedLinearModel(link="log"), [-1.0, 0.0, -2.0, -3.0], "No y is positive"),
    ],
)
def test_impossible_targets_are_named(model, y, text):
    with pytest.raises(DataError, match=text):
        model.fit(X4, y)


def test_wrong_exposures_and_parameters_are_named():
    fitted = PoissonRegressor().fit(X4, COUNTS)
    for use in (lambda **k: fitted.fit(X4, COUNTS, **k), lambda **k: fitted.predict(X4, **k)):
        with pytest.raises(DataError, match="exposure has 7 entries, X has 4 rows"):
            use(exposure=np.ones(7))
    with pytest.raises(DataError, match=r"exposure must be positive, .* row 2, has 0"):
        PoissonRegressor().fit(X4, COUNTS, exposure=[1.0, 1.0, 0.0, 2.0])
    with pytest.raises(ParameterError, match="not both"):
        PoissonRegressor().fit(X4, COUNTS, exposure=COUNTS, offset=COUNTS)
    with pytest.raises(ParameterError, match="needs the log link"):
        GeneralizedLinearModel().fit(X4, COUNTS, exposure=COUNTS)
    with pytest.raises(ParameterError, match="'alpha' parameter of PoissonRegressor"):
        PoissonRegressor(alpha=-1.0).fit(X4, COUNTS)
    with pytest.raises(ParameterError, match="'power' parameter of TweedieRegressor"):
        TweedieRegressor(power=0.5).fit(X4, COUNTS)


def test_means_on_the_edge_are_named():
    """Shares under the inverse-square link: the likelihood grows until a mean is 1."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0.5, 1.5, size=(25, 2))
    rng.gamma(8.0, np.ones(25))
    y = (rng.random(25) < 0.3 + 0.25 * X[:, 0]).astype(float)
    with pytest.warns(ConvergenceWarning, match="boundary of the binomial family"):
        GeneralizedLinearModel(family="binomial", link="inverse_square").fit(X, y)


@pytest.mark.parametrize("shifted", [False, True])
def test_poisson_in_one_visit_is_the_sum_over_rows(shifted):
    from pellucid.linear_model._glm import _poisson
    from pellucid.linear_model._glm.objective import loops

    rng = np.random.default_rng(0)
    X, b = rng.normal(size=(300, 5)), rng.normal(size=6) / 3
    y, w = rng.poisson(1.5, size=300).astype(float), rng.uniform(0, 2, 300)
    logs = np.log(np.maximum(y, 1e-300))
    offset = rng.normal(size=300) if shifted else np.empty(0)
    eta = X @ b[:-1] + b[-1] + (offset if shifted else 0.0)
    pull = w * (np.exp(eta) - y)
    loss = w @ (special.xlogy(y, y) - y * eta + np.exp(eta) - y)
    for visit in (_poisson.visit, loops.visit):
        seen, g = np.empty(300), np.empty(6)
        assert visit(X, y, logs, w, offset, b, seen, g) == pytest.approx(loss, rel=1e-13)
        np.testing.assert_allclose(seen, eta, rtol=1e-13, atol=1e-14)
        np.testing.assert_allclose(g, np.append(pull @ X, pull.sum()), rtol=1e-12, atol=1e-12)


def test_counts_whose_rates_are_huge_and_a_target_that_lies_apart():
    """Rates beyond e**700 are finite numbers, too; a column of a wider array may be the target."""
    from pellucid.linear_model._glm.objective import loops

    X, one, eta, g = np.array([[709.0], [-720.0], [1.0]]), np.ones(3), np.empty(3), np.empty(2)
    y, b = np.array([0.0, 0.0, 3.0]), np.array([1.0, 0.0])
    loss = loops.visit(X, y, np.log(np.maximum(y, 1e-300)), one, y[:0], b, eta, g)
    assert loss == pytest.approx(np.exp(709.0), rel=1e-15)
    assert g[1] == pytest.approx(np.exp(709.0), rel=1e-15)
    rng = np.random.default_rng(3)
    Z, Y = rng.normal(size=(300, 2)), rng.poisson(1.5, size=(300, 2)).astype(float)
    apart, copied = (PoissonRegressor(alpha=0.1).fit(Z, t) for t in (Y[:, 1], Y[:, 1].copy()))
    np.testing.assert_array_equal(apart.coef_, copied.coef_)


@pytest.mark.parametrize("family", ["normal", "poisson"])
def test_wide_models_keep_no_covariance_and_say_so(family):
    from pellucid.linear_model._logistic.solver import INFERENCE_SIZE

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(8, INFERENCE_SIZE)) / 30, rng.poisson(3.0, 8) + 1.0
    model = GeneralizedLinearModel(family=family).fit(X, y)
    assert not hasattr(model, "inference_")
    assert f"Models with {INFERENCE_SIZE} or more columns" in " ".join(model.summary().notes)
    with pytest.raises(PellucidError, match="or more columns keep no covariance"):
        model.predict_interval(X)
    fewer = GeneralizedLinearModel(family="normal").fit(X[:, :5], y)
    assert fewer.inference_["root"].shape == (6, 6)


@pytest.mark.parametrize("family", ["gamma", "inverse_gaussian", "negative_binomial", "tweedie"])
def test_spanned_columns_cost_no_digits(family):
    """Curvature that is flat along some directions is still that of Newton's method."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 3))
    y = rng.gamma(1.0, np.exp(0.3 * X[:, 0]))
    y = np.floor(3 * y) if family == "negative_binomial" else y
    model = GeneralizedLinearModel(family=family, link="log")
    alone, steps = model.fit(X, y).predict(X), model.n_iter_
    wide = np.column_stack([X, X[:, 0], X[:, 0] + X[:, 1], np.full(60, 5.0)])
    np.testing.assert_allclose(model.fit(wide, y).predict(wide), alone, rtol=1e-13)
    assert model.n_iter_ <= steps + 2


@pytest.mark.parametrize("family", ["gamma", "poisson", "tweedie"])
def test_deviance_of_nearly_equal_values_keeps_its_digits(family):
    from pellucid.numerics.objectives.families import FAMILIES

    made = FAMILIES[family](1.5) if family == "tweedie" else FAMILIES[family]()
    mu, off = np.array([1e-8, 1.0, 1e10]), 2.0**-33
    found = made.half_deviance(mu * (1 + off), mu)
    np.testing.assert_allclose(found, 0.5 * (mu * off) ** 2 / made.variance(mu), rtol=1e-5)
    assert np.all(made.half_deviance(mu, mu) == 0)


def test_offsets_and_exposures_may_be_columns(tmp_path):
    rng = np.random.default_rng(0)
    X, time = rng.normal(size=(60, 2)), rng.uniform(0.5, 3, 60)
    counts = rng.poisson(time * np.exp(0.3 * X[:, 0])).astype(float)
    plain = pd.DataFrame(X, columns=["a", "b"])
    table = plain.assign(time=time, log_time=np.log(time))
    model = PoissonRegressor(alpha=0).fit(plain, counts, exposure=time)
    timed, logged = table.drop(columns="log_time"), table.drop(columns="time")
    given, path = {"exposure": time}, tmp_path / "rows.csv"
    timed.to_csv(path, index=False)
    for named, rows in (
        ({"exposure": "time"}, timed), ({"offset": "log_time"}, logged), ({"exposure": "time"}, path),
    ):  # fmt: skip
        own = PoissonRegressor(alpha=0).fit(rows, counts, **named)
        np.testing.assert_allclose(own.coef_, model.coef_, rtol=1e-9)
        for ask in ("predict", "linear_predictor", "predict_interval"):
            np.testing.assert_allclose(
                getattr(own, ask)(rows, **named), getattr(model, ask)(plain, **given), rtol=1e-9
            )
        assert own.score(rows, counts, **named) == pytest.approx(
            model.score(plain, counts, **given)
        )
        robust = own.summary(errors="HC1", X=rows, y=counts, **named)
        wanted = model.summary(errors="HC1", X=plain, y=counts, **given)
        np.testing.assert_allclose(robust.frame()["std error"], wanted.frame()["std error"])
    with pytest.raises(DataError, match="row 3, has -1"):
        model.predict(timed.assign(time=np.where(np.arange(60) == 3, -1.0, time)), exposure="time")


def test_explanations_know_the_offset():
    rng = np.random.default_rng(0)
    X, time = rng.normal(size=(60, 2)), rng.uniform(0.5, 3, 60)
    model = PoissonRegressor(alpha=0).fit(X, rng.poisson(2 * time), exposure=time)
    found = model.explain(X, exposure=time)
    assert found.columns[-1] == "(offset)"
    wanted = model.linear_predictor(X, exposure=time)
    np.testing.assert_allclose(found.prediction[:, 0], wanted, atol=1e-12)
    total = found.base + found.contributions.sum(axis=1)
    np.testing.assert_allclose(total, found.prediction, atol=1e-12)
    np.testing.assert_array_equal(found.contributions[:, -1, 0], np.log(time))
    assert model.explain(X).columns == tuple(found.columns[:-1])


def test_counts_of_extreme_size_leave_no_warning():
    rng = np.random.default_rng(0)
    X, counts = rng.normal(size=(50, 2)), rng.poisson(2.0, 50).astype(float)
    plain = PoissonRegressor(alpha=0).fit(X, counts)
    for size in (1e200, 1e-200):  # warnings are errors here
        found = PoissonRegressor(alpha=0).fit(X, counts * size)
        np.testing.assert_allclose(found.coef_, plain.coef_, rtol=1e-9)


@pytest.mark.parametrize("power", [-900, -600, 600, 900])
def test_standard_errors_scale_with_the_columns(rng, power):
    """Squares of such errors are beyond the floats; the errors are not."""
    X = rng.normal(size=(40, 2))
    y = X[:, 0] + rng.normal(size=40)
    plain = GeneralizedLinearModel().fit(X, y).summary()
    scaled = GeneralizedLinearModel().fit(X * [2.0**power, 1.0], y).summary()
    ours, theirs = (np.array(table.frame()["std error"], float) for table in (plain, scaled))
    np.testing.assert_allclose(theirs * [1.0, 2.0**power, 1.0], ours, rtol=1e-9)
