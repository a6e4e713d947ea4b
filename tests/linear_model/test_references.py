"""Reference files of R and statsmodels: printed digits, all rows of the large tables."""

import mpmath
import numpy as np
import pytest

from pellucid.errors import ConvergenceWarning
from pellucid.linear_model import (
    ElasticNet,
    GammaRegressor,
    GeneralizedLinearModel,
    LinearRegression,
    PoissonRegressor,
    Ridge,
    TweedieRegressor,
    lasso_path,
)
from tests.oracles import shared


def assert_table(summary, result, rtol=1e-7, se=1e-6):
    table = summary.frame()
    np.testing.assert_allclose(table["coef"], result["coef"], rtol=rtol)
    np.testing.assert_allclose(table["std error"], result["se"], rtol=se)


@pytest.mark.parametrize("key, file, target, columns", [
    ("lm_mtcars", "r_mtcars.csv", "mpg", ["wt", "hp", "qsec", "am"]),
    ("lm_boston", "boston.csv", "MEDV", None),
    ("lm_stackloss", "mass_stackloss.csv", "stack.loss", None),
])  # fmt: skip
def test_least_squares_as_in_r(key, file, target, columns):
    table = shared.frame(file)
    X = table[columns] if columns else table.drop(columns=target)
    model = LinearRegression().fit(X, table[target])
    assert_table(model.summary(), shared.r_reference(key)["result"], 1e-9, 1e-9)


@pytest.mark.parametrize("name", shared.NIST_NAMES)
def test_nist_standard_errors(name):
    """At least 13 digits of the certified values; Filip's columns, as floats, give only 7.6."""
    data = shared.nist(name)
    model = LinearRegression(fit_intercept=data.intercept).fit(data.design(), data.y)
    found = model.summary().frame()["std error"]
    exact = [float(value) for value in data.exact_std_error]
    for value, truth in zip(found, exact):
        if truth == 0:
            assert value < 1e-9
        else:
            assert abs(value / truth - 1) < (10**-7.5 if name == "Filip" else 1e-13)


def test_standard_errors_of_filip_are_those_of_its_floats():
    """What the floats themselves say, with 60 digits: 12 digits of errors, 14 of coefficients."""
    data = shared.nist("Filip")
    table = LinearRegression().fit(data.design(), data.y).summary().frame()
    with mpmath.workdps(60):
        rows = [[mpmath.mpf(1)] + [mpmath.mpf(float(v)) for v in row] for row in data.design()]
        A, y = mpmath.matrix(rows), mpmath.matrix([mpmath.mpf(float(v)) for v in data.y])
        C = (A.T * A) ** -1
        b = C * (A.T * y)
        r = y - A * b
        variance = (r.T * r)[0] / (A.rows - A.cols)
        errors = [float(mpmath.sqrt(variance * C[j, j])) for j in range(A.cols)]
        coef = [float(v) for v in b]
    np.testing.assert_allclose(table["std error"], errors, rtol=1e-12)
    np.testing.assert_allclose(table["coef"], coef, rtol=1e-14)


def insured():
    table = shared.frame("beMTPL97.csv.gz")
    return table, [*("ageph", "bm", "power", "agec", "fuel", "sex")]


@pytest.mark.slow
def test_belgian_claims_as_in_r():
    table, columns = insured()
    model = PoissonRegressor(alpha=0).fit(table[columns], table["nclaims"], exposure=table["expo"])
    assert_table(model.summary(), shared.r_reference("glm_poisson_beMTPL97")["result"], 1e-6, 1e-5)
    X = table[["ageph", "bm", "power", "fuel"]]
    for power in (1.5, 1.7):
        model = TweedieRegressor(power=power, alpha=0)
        model.fit(X, table["amount"] / table["expo"], table["expo"])
        result = shared.r_reference(f"glm_tweedie_{power}_beMTPL97")["result"]
        assert_table(model.summary(), result, 1e-6, 1e-5)
    paid = table[(table["nclaims"] > 0) & (table["amount"] > 0)]
    model = GammaRegressor(alpha=0)
    model.fit(X.loc[paid.index], paid["amount"] / paid["nclaims"], paid["nclaims"])
    result = shared.r_reference("glm_gamma_log_beMTPL97_severity")["result"]
    assert_table(model.summary(weights="precision"), result, 1e-6, 1e-5)


@pytest.mark.slow
def test_french_claims_with_exposure_as_in_r():
    table = shared.frame("freMTPL2freq.csv.gz")
    X = table[["DrivAge", "VehAge", "BonusMalus", "Area", "VehGas"]].copy()
    X.insert(0, "log(Density)", np.log(table["Density"]))
    X["VehGas"] = X["VehGas"].str.strip("'")
    X["Area"] = X["Area"].str.strip("'")
    model = PoissonRegressor(alpha=0).fit(X, table["ClaimNb"], exposure=table["Exposure"])
    result = shared.r_reference("glm_poisson_freMTPL2_full")["result"]
    assert_table(model.summary(), result, 1e-6, 1e-5)
    assert dict(model.summary().header)["deviance"] == pytest.approx(result["deviance"], rel=1e-9)


def prostate():
    table = shared.frame("prostate.csv")
    train = table["train"].astype(str).str[0] == "T"
    names = ["lcavol", "lweight", "age", "lbph", "svi", "lcp", "gleason", "pgg45"]
    return table[names].to_numpy(float), table["lpsa"].to_numpy(float), train.to_numpy()


def net(X, y, strength, mix, s_y):
    """glmnet's objective for normal errors: the ridge part is divided by the deviation of y."""
    l1, l2 = strength * mix, strength / s_y * (1 - mix)
    return ElasticNet(l1 + l2, l1_ratio=l1 / (l1 + l2)).fit(X, y)


@pytest.mark.parametrize("standard", ["TRUE", "FALSE"])
@pytest.mark.parametrize("mix", ["1", "0.5", "0"])
def test_elastic_net_as_in_glmnet(mix, standard):
    X, y, train = prostate()
    X, y = X[train], y[train]
    entry = shared.r_reference(f"glmnet_gaussian_prostate_alpha{mix}_std{standard}")
    sd = X.std(axis=0) if standard == "TRUE" else np.ones(8)
    for strength, expected in zip(entry["lambda"], entry["coef"]):
        model = net(X / sd, y, strength, float(mix), entry["s_y"])
        found = [model.intercept_, *(model.coef_ / sd)]
        np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-6)


def test_smallest_penalty_without_columns_as_in_glmnet():
    X, y, train = prostate()
    X = X[train] / X[train].std(axis=0)
    entry = shared.r_reference("glmnet_gaussian_prostate_path")
    alphas = lasso_path(X - X.mean(axis=0), y[train] - y[train].mean())[0]
    assert alphas[0] == pytest.approx(entry["lambda_max"], rel=1e-12)


@pytest.mark.parametrize("mix", ["0", "1"])
def test_hitters_as_in_glmnet(mix):
    entry = shared.r_reference(f"glmnet_gaussian_hitters_alpha{mix}")
    table = shared.frame("isl_hitters.csv").dropna(subset=["Salary"])
    for name, level in (("League", "N"), ("Division", "W"), ("NewLeague", "N")):
        table[name + level] = (table[name] == level).astype(float)
    X, y = table[entry["columns"]].to_numpy(float), table["Salary"].to_numpy(float)
    sd = X.std(axis=0)
    for strength, expected in zip(entry["lambda"], entry["coef"]):
        model = net(X / sd, y, strength, float(mix), entry["s_y"])
        found = np.array([model.intercept_, *(model.coef_ / sd)])
        np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("mix", ["1", "0.5", "0", "1_nostd"])
def test_binomial_as_in_glmnet(mix):
    entry = shared.r_reference(f"glmnet_binomial_saheart_alpha{mix}")
    table = shared.frame("saheart.csv")
    table["famhistPresent"] = (table["famhist"] == "Present").astype(float)
    X, y = table[entry["columns"]].to_numpy(float), table["chd"].to_numpy(float)
    sd = np.ones(X.shape[1]) if "nostd" in mix else X.std(axis=0)
    for strength, expected in zip(entry["lambda"], entry["coef"]):
        model = GeneralizedLinearModel(
            family="binomial", alpha=strength, l1_ratio=float(mix.split("_")[0])
        ).fit(X / sd, y)
        found = [model.intercept_, *(model.coef_ / sd)]
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_ridge_as_in_mass():
    entry = shared.r_reference("lm_ridge_longley_MASS")
    data = shared.nist("Longley")
    X, y = data.design(), np.array([float(v) for v in data.y])
    sd = X.std(axis=0)
    for strength, expected in zip(entry["lambda"], entry["coef"]):
        model = Ridge(strength).fit(X / sd, y)
        np.testing.assert_allclose([model.intercept_, *(model.coef_ / sd)], expected, rtol=1e-9)


def test_prostate_least_squares_as_in_r():
    X, y, train = prostate()
    X = ((X - X.mean(axis=0)) / X.std(axis=0, ddof=1))[train]
    model = LinearRegression().fit(X, y[train])
    result = shared.r_reference("lm_prostate_esl_table3_2")["result"]
    assert_table(model.summary(), result, 1e-10, 1e-10)
    facts = dict(model.summary().header)
    for ours, theirs in (("R2", "r2"), ("F", "F"), ("log-likelihood", "loglik"), ("AIC", "aic")):
        assert facts[ours] == pytest.approx(np.ravel(result[theirs])[0], rel=1e-10)


@pytest.mark.parametrize("key, file, target, columns", [
    ("saheart", "saheart.csv", "chd",
     ["sbp", "tobacco", "ldl", "famhist", "obesity", "alcohol", "age"]),
    ("infert", "r_infert.csv", "case", ["spontaneous", "induced", "age", "parity"]),
    ("pima", "pima_diabetes.csv", "diabetes", None),
    ("isl_default", "isl_default.csv", "default", ["balance", "income", "student"]),
])  # fmt: skip
def test_logit_as_in_r(key, file, target, columns):
    table = shared.frame(file)
    X = table[columns] if columns else table.drop(columns=target)
    y = table[target]
    y = (y.isin(["Yes", "pos", 1])).astype(float)
    model = GeneralizedLinearModel(family="binomial").fit(X, y)
    result = shared.r_reference(f"glm_binomial_{key}")["result"]
    assert_table(model.summary(), result, 1e-9, 1e-6)
    facts = dict(model.summary().header)
    assert facts["deviance"] == pytest.approx(result["deviance"], rel=1e-11)
    assert facts["AIC"] == pytest.approx(result["aic"], rel=1e-11)


def test_bike_days_and_overdispersed_warp_breaks_as_in_r():
    table = shared.frame("bike_day.csv")
    columns = ["season", "yr", "holiday", "workingday", "weathersit", "temp", "hum", "windspeed"]
    X = table[columns].astype({"season": str, "weathersit": str})
    model = PoissonRegressor(alpha=0).fit(X, table["cnt"])
    result = shared.r_reference("glm_poisson_bike_day")["result"]
    assert_table(model.summary(), result, 1e-10, 1e-9)
    warp = shared.frame("r_warpbreaks.csv")
    result = shared.r_reference("glm_quasipoisson_warpbreaks")["result"]
    wool, tension = (warp["wool"] == "B").to_numpy(float), warp["tension"]
    middle, high = ((tension == level).to_numpy(float) for level in "MH")
    X = np.column_stack([wool, middle, high, wool * middle, wool * high])
    y = warp["breaks"].to_numpy(float)
    model = PoissonRegressor(alpha=0).fit(X, y)
    mean = model.predict(X)
    factor = np.sqrt(np.sum((y - mean) ** 2 / mean) / (len(y) - 6))
    table = model.summary().frame()
    np.testing.assert_allclose(np.array(table["std error"]) * factor, result["se"], rtol=1e-9)
    np.testing.assert_allclose(table["coef"], result["coef"], rtol=1e-9)


LINKS = {
    "identity": lambda e: e, "log": mpmath.exp, "sqrt": lambda e: e**2,
    "inverse": lambda e: 1 / e, "inverse_square": lambda e: 1 / mpmath.sqrt(e),
    "logit": lambda e: 1 / (1 + mpmath.exp(-e)), "probit": mpmath.ncdf,
    "cloglog": lambda e: 1 - mpmath.exp(-mpmath.exp(e)),
    "cauchit": lambda e: mpmath.mpf(1) / 2 + mpmath.atan(e) / mpmath.pi,
}  # fmt: skip
VARIANCES = {
    "normal": lambda m: mpmath.mpf(1), "poisson": lambda m: m, "binomial": lambda m: m * (1 - m),
    "gamma": lambda m: m**2, "inverse_gaussian": lambda m: m**3,
    "negative_binomial": lambda m: m + m**2 / 2, "tweedie": lambda m: m ** mpmath.mpf("1.5"),
}  # fmt: skip
UNITS = [((1.0, 1.0), 0.0), ((1e-8, 1e8), 0.0), ((1e-8, 1e8), 1e6)]
# Pairs that people use.
PAIRS = [
    *(("normal", "log"), ("poisson", "log"), ("poisson", "sqrt"), ("poisson", "identity")),
    *(("binomial", link) for link in ("logit", "probit", "cloglog", "cauchit")),
    *(("gamma", link) for link in ("inverse", "log", "identity")),
    *(("inverse_gaussian", link) for link in ("inverse_square", "log")),
    *(("negative_binomial", "log"), ("tweedie", "log"), ("tweedie", "sqrt")),
    *(("negative_binomial", "inverse"), ("tweedie", "inverse")),
]
ALL_PAIRS = [(family, link) for family in VARIANCES for link in LINKS]
# Pairs without an optimum inside: means of 1 and more under links that end at 1, or on an edge.
BOUNDED = ("logit", "probit", "cloglog", "cauchit")
EDGES = {(family, link) for family in VARIANCES if family != "binomial" for link in BOUNDED}
EDGES |= {("binomial", "inverse_square")}


def pulls(X, y, b, family, link):
    """Of each row: its slope by eta, its expected curvature, its squared Pearson residual."""
    for row, t in zip(X, y):
        eta = sum(u * v for u, v in zip(row, b))
        mu, slope = LINKS[link](eta), mpmath.diff(LINKS[link], eta)
        V = VARIANCES[family](mu)
        yield (t - mu) / V * slope, slope**2 / V, (t - mu) ** 2 / V


def score(X, y, b, family, link):
    """X'(y - mu) mu' / V with 50 digits, by a numerical derivative of the link."""
    total = mpmath.matrix([mpmath.mpf(0)] * len(b))
    for row, (pull, _, _) in zip(X, pulls(X, y, b, family, link)):
        total += pull * mpmath.matrix(row)
    return total


def precise_errors(X, y, b, family, link):
    """Standard errors at b from the expected information; the dispersion by Pearson."""
    H, pearson = mpmath.matrix(len(b), len(b)), mpmath.mpf(0)
    for row, (_, bend, square) in zip(X, pulls(X, y, b, family, link)):
        H += bend * mpmath.matrix(row) * mpmath.matrix(row).T
        pearson += square
    known = family in ("poisson", "binomial", "negative_binomial")
    dispersion = mpmath.mpf(1) if known else pearson / (len(y) - len(b))
    C = H**-1
    return [mpmath.sqrt(dispersion * C[j, j]) for j in range(len(b))]


def amounts(family, units, away):
    rng = np.random.default_rng(0)
    X = rng.uniform(0.5, 1.5, size=(25, 2))
    mean = np.exp(0.5 * X @ [0.6, 0.4])
    y = rng.gamma(8.0, mean / 8.0)
    if family in ("poisson", "negative_binomial"):
        y = np.maximum(rng.poisson(3 * mean), 0).astype(float)
    if family == "binomial":
        y = (rng.random(25) < 0.3 + 0.25 * X[:, 0]).astype(float)
    return (X + away) * units, y


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "family", "link"), [(i, *pair) for i, pair in enumerate(ALL_PAIRS)]
)
def test_twelve_digits_of_every_family_and_link(number, family, link):
    """One Newton step with 50 digits from our solution must not change its twelfth digit.

    Standard errors have 10 digits there. Where there is no optimum inside, the status says so.
    """
    X, y = amounts(family, *UNITS[number % 3])
    options = {"dispersion": 0.5} if family == "negative_binomial" else {}
    model = GeneralizedLinearModel(family=family, link=link, **options)
    if (family, link) in EDGES:
        with pytest.warns(ConvergenceWarning, match="boundary"):
            model.fit(X, y)
        assert model.status_.code in ("edge", "separated")
        return
    model.fit(X, y)
    assert model.status_.ok
    with mpmath.workdps(50):
        rows = [[mpmath.mpf(1)] + [mpmath.mpf(float(v)) for v in row] for row in X]
        target = [mpmath.mpf(float(v)) for v in y]
        b = [mpmath.mpf(float(v)) for v in (model.intercept_, *model.coef_)]
        g = score(rows, target, b, family, link)
        J = mpmath.matrix(3, 3)
        for j in range(3):
            h = abs(b[j]) * mpmath.mpf(10) ** -20
            moved = score(rows, target, [v + h * (i == j) for i, v in enumerate(b)], family, link)
            J[:, j] = (moved - g) / h
        step = mpmath.lu_solve(J, g)
        digits = [float(abs(step[j] / b[j])) for j in range(3)]
        errors = precise_errors(rows, target, b, family, link)
        found = model.summary().frame()["std error"]
        shares = [float(abs(mpmath.mpf(float(a)) / e - 1)) for a, e in zip(found, errors)]
    assert max(digits) < 1e-12
    assert max(shares) < 1e-10
