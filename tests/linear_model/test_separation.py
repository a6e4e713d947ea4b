"""Separated classes: found, named, finite; Firth's estimates; standard errors and intervals."""

import numpy as np
import pytest

import pellucid
from pellucid.errors import ConvergenceWarning, DataError, ParameterError, PellucidError
from pellucid.linear_model import LogisticRegression, LogisticRegressionCV
from tests.linear_model.precise import precise_firth

# 79 cases of endometrial cancer (Heinze and Schemper 2002; Agresti 2015): neovascularisation,
# pulsatility index, height of the endometrium; histology grade. No case with neovascularisation
# has a low grade.
ENDOMETRIAL = """
0 13 1.64 0, 0 16 2.26 0, 0 8 3.14 0, 0 34 2.68 0, 0 20 1.28 0, 0 5 2.31 0, 0 17 1.8 0, 0 10 1.68 0,
0 26 1.56 0, 0 17 2.31 0, 0 8 2.01 0, 0 7 1.89 0, 0 20 3.15 0, 0 10 1.23 0, 0 18 1.27 0, 0 16 1.76 0,
0 18 2 0, 0 8 2.64 1, 0 29 .88 1, 0 12 1.27 1, 0 20 1.37 1, 1 38 .97 1, 1 22 1.14 1, 1 7 .88 1,
1 25 .91 1, 1 15 .58 1, 0 7 .97 1, 0 28 1.5 0, 0 11 1.33 0, 0 19 2.37 0, 0 10 1.82 0, 0 10 3.13 0,
0 18 1.31 0, 0 14 1.92 0, 0 21 1.64 0, 0 11 2.01 0, 0 17 1.88 0, 0 25 1.93 0, 0 16 2.11 0,
0 19 1.29 0, 0 15 1.72 0, 0 33 .75 0, 0 24 1.92 0, 0 48 1.84 1, 0 12 1.11 1, 0 19 1.61 1, 0 2 1.18 1,
1 22 1.44 1, 1 40 1.18 1, 1 5 .93 1, 1 0 1.17 1, 0 21 1.19 1, 0 15 1.06 1, 0 29 2.02 0, 0 15 2.29 0,
0 12 2.33 0, 0 3 2.9 0, 0 20 1.7 0, 0 23 1.41 0, 0 12 2.25 0, 0 22 1.54 0, 0 42 1.97 0, 0 15 1.75 0,
0 13 2.16 0, 0 14 2.57 0, 0 19 1.37 0, 0 12 3.61 0, 0 13 2.04 0, 0 10 2.17 0, 0 12 1.69 1,
1 49 .27 1, 0 6 1.84 1, 0 5 1.3 1, 0 17 .96 1, 1 11 1.01 1, 1 21 .98 1, 0 5 .35 1, 1 19 1.02 1,
0 33 .85 1"""


def endometrial():
    rows = np.array([[float(v) for v in row.split()] for row in ENDOMETRIAL.split(",")])
    return rows[:, :3], rows[:, 3].astype(int)


def noise(n, p, seed=0):
    return np.random.default_rng(seed).normal(size=(n, p))


def one_column():
    X = noise(60, 3)
    return X, (X[:, 1] > 0.2).astype(int), [1], True


def two_columns():
    X = noise(200, 4)
    return X, (X[:, 1] + X[:, 2] > 0).astype(int), [1, 2], True


def one_level():
    X = noise(200, 4, 1)
    X[:, 2] = np.arange(200) % 2
    y = np.random.default_rng(2).integers(0, 2, 200)
    y[X[:, 2] == 1] = 1
    return X, y, [2], False


def touching_plane():
    X = noise(200, 3, 3)
    X[:40, 1] = -X[:40, 0]
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    y[:40] = np.random.default_rng(4).integers(0, 2, 40)
    return X, y, [0, 1], False


def one_class_of_three():
    X = noise(300, 3, 5)
    y = np.random.default_rng(6).integers(0, 3, 300)
    X[:, 0] = np.where(y == 2, 1, -1) * np.abs(X[:, 0])
    return X, y, [0], False


def three_in_a_row():
    y = np.repeat(np.arange(3), 20)
    X = noise(60, 2, 7)
    X[:, 1] = 3 * y + np.random.default_rng(8).uniform(-1, 1, 60)
    return X, y, [1], True


def published():
    return *endometrial(), [0], False


def through_the_origin():
    X = np.abs(noise(60, 2, 9))
    y = np.arange(60) % 2
    X[:, 1] *= np.where(y == 1, 1, -1)
    return X, y, [1], True


CASES = [
    one_column, two_columns, one_level, touching_plane, one_class_of_three, three_in_a_row, published,
    through_the_origin,
]  # fmt: skip


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("units", [1.0, 2.0**-60])
def test_separation_is_found_and_its_columns_named(case, units):
    X, y, guilty, complete = case()
    options = {"fit_intercept": case is not through_the_origin, "C": np.inf}
    words = r"\(complete" if complete else r"\(quasi-complete"
    with pytest.warns(ConvergenceWarning, match=words) as caught:
        model = LogisticRegression(**options).fit(X * units, y)
    assert model.status_.code == "separated" and model.separating_ == guilty
    assert all(repr(model.terms_[j]) in str(caught[0].message) for j in guilty)
    assert np.isfinite(model.coef_).all() and np.isfinite(model.predict_proba(X * units)).all()
    assert (model.score(X * units, y) == 1) == complete
    errors = np.array(model.summary().frame()["std error"], dtype=float)
    assert np.isnan(errors).any()
    with pytest.raises(PellucidError, match="no predict_interval"):
        model.predict_interval(X)


def errors_of(model):
    return np.array(model.summary().frame()["std error"], dtype=float)


def test_what_grows_with_the_separating_column_has_no_errors():
    rng = np.random.default_rng(0)
    x = np.arange(12.0)
    complete = np.c_[x, rng.normal(size=12)], x > 5
    touching = np.array([[0, 1, 2, 3, 3, 3, 4, 5, 6, 7.0]]).T, np.arange(10) > 4
    for X, y in (complete, touching, (touching[0] + 2000, touching[1])):
        with pytest.warns(ConvergenceWarning, match="separat"):
            model = LogisticRegression(C=np.inf).fit(X, y)
        assert np.isnan(errors_of(model)).all()


@pytest.mark.parametrize("centre", [0.0, 2000.0])
def test_what_does_not_grow_is_as_without_the_separated_rows(centre):
    rng = np.random.default_rng(1)
    z, flag = rng.normal(size=200), rng.random(200) < 0.2
    y = (rng.random(200) < 1 / (1 + np.exp(-z))).astype(int)
    rest = LogisticRegression(C=np.inf).fit(z[~flag, None] + centre, y[~flag])
    X = np.c_[flag, z + centre]
    for labels in (
        np.where(flag, 1, y),
        np.where(flag, 2, y),
    ):  # a flag of one class, a class of its own
        with pytest.warns(ConvergenceWarning, match=r"\(quasi-complete"):
            model = LogisticRegression(C=np.inf).fit(X, labels)
        errors = errors_of(model)
        np.testing.assert_allclose(errors[[0, 2]], errors_of(rest), rtol=1e-6)
        assert np.isnan(errors[[1, *range(3, len(errors))]]).all()


def test_breast_cancer_is_separated_completely():
    X, y = pytest.importorskip("sklearn.datasets").load_breast_cancer(return_X_y=True)
    with pytest.warns(ConvergenceWarning, match=r"\(complete"):
        LogisticRegression(C=np.inf).fit(X, y)
    with pytest.warns(ConvergenceWarning, match=r"\(quasi"):
        # Iris: setosa stands apart, the other two classes overlap.
        iris = pytest.importorskip("sklearn.datasets").load_iris(return_X_y=True)
        LogisticRegression(C=np.inf).fit(*iris)


@pytest.mark.parametrize("slope", [1.0, 40.0])
@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
def test_steep_but_overlapping_classes_are_not_separated(slope, solver):
    X = noise(400, 3, 10)
    rng = np.random.default_rng(11)
    y = (slope * X[:, 0] + rng.logistic(size=400) > 0).astype(int)
    model = LogisticRegression(C=np.inf, solver=solver, max_iter=2000).fit(X, y)
    assert model.status_.code == "converged" and model.separating_ == []


def test_levels_are_named_as_the_user_wrote_them():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(12)
    port = rng.choice(["C", "Q", "S"], 150)
    y = np.where(port == "Q", "no", np.where(rng.uniform(size=150) < 0.5, "yes", "no"))
    table = pandas.DataFrame({"age": rng.normal(size=150), "port": port})
    with pytest.warns(ConvergenceWarning, match="'port=Q'"):
        LogisticRegression(C=np.inf).fit(table, y)


# Firth --------------------------------------------------------------------------------------------


def test_firth_equals_the_published_estimates():
    X, y = endometrial()
    model = LogisticRegression(C=np.inf, firth=True).fit(X, y)
    assert model.status_.code == "converged" and model.separating_ == []
    table = model.summary().frame()
    np.testing.assert_allclose(table["coef"], [3.77456, 2.92927, -0.03475, -2.60416], atol=5e-6)
    np.testing.assert_allclose(table["std error"], [1.48869, 1.55076, 0.03958, 0.77602], atol=5e-6)


@pytest.mark.parametrize("counts", [(3, 9, 7, 2), (0, 5, 4, 3), (0, 6, 8, 0)])
def test_firth_of_a_two_by_two_table_adds_a_half_to_every_cell(counts):
    X, y = np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([0, 1, 0, 1])
    keep = np.array(counts) > 0
    model = LogisticRegression(C=np.inf, firth=True)
    model.fit(X[keep], y[keep], sample_weight=np.array(counts)[keep])
    a, b, c, d = np.array(counts) + 0.5
    assert model.intercept_[0] == pytest.approx(np.log(b / a), abs=1e-12)
    assert model.coef_[0, 0] == pytest.approx(np.log(d / c) - np.log(b / a), abs=1e-12)


@pytest.mark.parametrize("classes", [2, 3, 4])
def test_firth_without_columns_of_use_adds_a_half_to_every_class(classes):
    """A saturated multinomial model with Jeffreys' prior has probabilities (n_k + 1/2) / ..."""
    y = np.repeat(np.arange(classes), np.arange(1, classes + 1))
    model = LogisticRegression(C=np.inf, firth=True).fit(np.zeros((len(y), 1)), y)
    shares = np.arange(1, classes + 1) + 0.5
    np.testing.assert_allclose(model.predict_proba([[0.0]])[0], shares / shares.sum(), rtol=1e-10)


@pytest.mark.parametrize("K", [2, 3])
def test_the_slope_of_firths_objective_is_its_derivative(K):
    from pellucid.linear_model._logistic.firth import Jeffreys
    from pellucid.linear_model._logistic.objective import Likelihood
    from pellucid.numerics.row_blocks import Rows

    X, rng = noise(40, 2, 13), np.random.default_rng(14)
    y = rng.integers(0, K, 40).astype(np.int32)
    F = Jeffreys(Likelihood(Rows(X), y, rng.uniform(0.5, 2, 40), K, np.zeros(2), True))
    x = rng.normal(size=(K - 1) * 3)
    slope, h = F.evaluate(x)[1], 1e-6
    for j in range(len(x)):
        step = np.zeros_like(x)
        step[j] = h
        change = (F.evaluate(x + step)[0] - F.evaluate(x - step)[0]) / (2 * h)
        assert change == pytest.approx(slope[j], abs=1e-6)


def test_firth_leaves_out_columns_that_others_span():
    X, y = endometrial()
    base = LogisticRegression(C=np.inf, firth=True).fit(X, y)
    wide = np.column_stack([X, X[:, 1] - 2 * X[:, 2], np.full(len(X), 7.0)])
    model = LogisticRegression(C=np.inf, firth=True).fit(wide, y)
    np.testing.assert_allclose(model.predict_proba(wide), base.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("apart", [1e-5, 1e-6, 1e-7])
def test_firth_of_nearly_dependent_columns_keeps_the_digits_there_are(apart):
    """Against 60 digits; the Gram of the information would keep none of them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    X[:, 1] = X[:, 0] + apart * rng.normal(size=40)
    y = (rng.random(40) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)
    model = LogisticRegression(C=np.inf, firth=True).fit(X, y)
    assert model.status_.code == "converged"
    right, inverse = precise_firth(X, y, digits=40)
    found = np.append(model.coef_[0], model.intercept_)
    np.testing.assert_allclose(found, right, rtol=1e-15 / apart)
    errors = np.roll(model.summary().frame()["std error"], -1)
    np.testing.assert_allclose(errors, np.sqrt(np.diagonal(inverse)), rtol=1e-15 / apart)


@pytest.mark.parametrize("K", [2, 3])
def test_firth_has_two_ways_to_the_information(K, monkeypatch):
    from pellucid.linear_model._logistic import firth as logistic_firth

    X, rng = noise(60, 3, 5), np.random.default_rng(6)
    y, weights = rng.integers(0, K, 60), rng.integers(0, 4, 60)
    model = LogisticRegression(C=np.inf, firth=True)
    quick = model.fit(X, y, sample_weight=weights).coef_
    monkeypatch.setattr(logistic_firth, "WELL_CONDITIONED", 0.0)
    np.testing.assert_allclose(model.fit(X, y, sample_weight=weights).coef_, quick, rtol=1e-11)


@pytest.mark.parametrize("apart", [0.0, 1e-9])
def test_firth_and_the_plain_fit_share_out_dependent_columns_alike(apart):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 2))
    X = np.column_stack([X[:, 0], X[:, 1], 3 * X[:, 0] + apart * rng.normal(size=60)])
    y = (rng.random(60) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)
    for firth in (False, True):
        model = LogisticRegression(C=np.inf, firth=firth).fit(X, y)
        assert model.coef_[0, 2] == pytest.approx(3 * model.coef_[0, 0], rel=1e-6)
        assert model.inference_["aliased"].tolist() == [2]


@pytest.mark.parametrize("firth", [False, True])
def test_columns_of_zeros_without_an_intercept_tell_nothing(firth):
    model = LogisticRegression(C=np.inf, fit_intercept=False, firth=firth)
    model.fit(np.zeros((20, 2)), [0, 1] * 10)
    assert not model.coef_.any() and dict(model.summary().header)["rank"] == 0


def test_firth_says_what_helps():
    X, y = endometrial()
    model = LogisticRegression(C=np.inf, firth=True, max_iter=2)
    with pytest.warns(ConvergenceWarning, match=r"Increase max_iter\.$"):
        model.fit(X, y)


def test_firth_begins_anew_where_the_last_coefficients_lead_nowhere():
    X, y = endometrial()
    model = LogisticRegression(C=np.inf, firth=True, warm_start=True).fit(X, y)
    right = model.coef_.copy()
    model.fit(X * 1e6, y)
    np.testing.assert_allclose(model.coef_ * 1e6, right, rtol=1e-9)


def test_firth_needs_no_other_penalty():
    X, y = endometrial()
    with pytest.raises(ParameterError, match=r"C=np\.inf"):
        LogisticRegression(firth=True).fit(X, y)


# Standard errors ----------------------------------------------------------------------------------


@pytest.mark.parametrize("K", [2, 3])
@pytest.mark.parametrize("units", [1.0, 1e6])
def test_summary_equals_statsmodels(K, units):
    sm = pytest.importorskip("statsmodels.api")
    X, rng = noise(250, 3, 15), np.random.default_rng(16)
    y = (X @ rng.normal(size=(3, K)) + rng.gumbel(size=(250, K))).argmax(axis=1)
    X = X * [1.0, units, 1.0] + [0.0, 0.0, 100.0]
    model = LogisticRegression(C=np.inf).fit(X, y)
    scaled = X / [1.0, units, 1.0] - [0.0, 0.0, 100.0]
    fit = sm.MNLogit(y, sm.add_constant(scaled)).fit(disp=0, method="newton", maxiter=50)
    table = model.summary()
    shown = table.frame()
    errors = np.array(shown["std error"]).reshape(K - 1, 4)[:, 1:] * [1.0, units, 1.0]
    np.testing.assert_allclose(errors, fit.bse.T[:, 1:], rtol=1e-8)
    coef = np.array(shown["coef"]).reshape(K - 1, 4)[:, 1:] * [1.0, units, 1.0]
    np.testing.assert_allclose(coef, fit.params.T[:, 1:], rtol=1e-8)
    np.testing.assert_allclose(
        np.array(shown["p"]).reshape(K - 1, 4)[:, 1:], fit.pvalues.T[:, 1:], rtol=1e-6, atol=1e-15
    )
    facts = dict(table.header)
    assert facts["log-likelihood"] == pytest.approx(fit.llf, rel=1e-10)
    assert facts["AIC"] == pytest.approx(fit.aic, rel=1e-10)
    assert facts["BIC"] == pytest.approx(fit.bic, rel=1e-10)
    assert facts["LR chi2"] == pytest.approx(fit.llr, rel=1e-8)
    assert facts["p of LR"] == pytest.approx(fit.llr_pvalue, rel=1e-6)


def test_a_penalised_fit_has_no_p_values():
    X, y = endometrial()
    table = LogisticRegression().fit(X, y).summary()
    assert table.columns == ("term", "coef")
    assert "no standard errors or p-values" in str(table)
    with pytest.raises(PellucidError, match="no predict_interval"):
        LogisticRegression().fit(X, y).predict_interval(X)


def test_a_penalised_fit_shows_its_status_and_no_intercept_it_has_not():
    X, y = noise(90, 2, 5), np.arange(90) % 3
    with pytest.warns(ConvergenceWarning):
        model = LogisticRegression(fit_intercept=False, solver="lbfgs", max_iter=1).fit(X, y)
    table = model.summary()
    assert [row[0] for row in table.rows] == [
        f"{k}: {name}" for k in range(3) for name in model.terms_
    ]
    assert "max_iter" in table.notes[0]


@pytest.mark.parametrize("solver", ["newton", "lbfgs", "gd", "sgd"])
@pytest.mark.parametrize("case", [two_columns, touching_plane])
def test_every_solver_names_columns_that_separate_together(solver, case):
    X, y, columns, _ = case()
    model = LogisticRegression(C=np.inf, solver=solver, random_state=0)
    with pytest.warns(ConvergenceWarning, match="Together, the columns .* separate"):
        model.fit(X, y)
    assert model.separating_ == columns and np.isfinite(model.coef_).all()


@pytest.mark.parametrize("case", [two_columns, touching_plane, one_level])
def test_cross_validation_names_them_too(case):
    X, y, columns, _ = case()
    with pytest.warns(ConvergenceWarning, match="Leave np.inf out of Cs"):
        model = LogisticRegressionCV(Cs=[np.inf]).fit(X, y)
    assert model.separating_ == columns
    assert "chosen with the same rows" in str(model.summary())


def test_classes_that_overlap_are_not_called_separated_by_any_solver():
    X = noise(300, 3, 30)
    y = (X @ [3.0, 2.0, 0.0] + np.random.default_rng(31).logistic(size=300) > 0).astype(int)
    for solver in ("newton", "lbfgs", "gd", "sgd"):
        model = LogisticRegression(C=np.inf, solver=solver, max_iter=20_000, random_state=0)
        assert model.fit(X, y).separating_ == [], solver


def test_a_step_that_is_too_long_is_said():
    X, y = 10 * noise(200, 4), np.arange(200) % 2
    with pytest.warns(ConvergenceWarning, match=r"step=10 is too large.*leave step=None"):
        model = LogisticRegression(solver="gd", step=10.0).fit(X, y)
    assert model.status_.code == "diverged"


# Columns that others span -------------------------------------------------------------------------


def spanned(X):
    """A constant, a copy and a sum beside the columns of X, which come first."""
    return np.column_stack([X, np.full(len(X), 7.0), X[:, 0], X[:, 0] + 2 * X[:, 1] - 1])


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("shift", [0.0, 1000.0])
def test_spanned_columns_are_named_and_the_others_are_as_if_alone(n_classes, shift):
    X = noise(200, 4, 17) + shift
    y = np.random.default_rng(18).integers(0, n_classes, 200)
    model = LogisticRegression(C=np.inf).fit(spanned(X), y)
    alone = LogisticRegression(C=np.inf).fit(X, y)
    found = {row[0]: row[1:] for row in model.summary().rows}
    for name, *line in alone.summary().rows:
        np.testing.assert_allclose(found.pop(name), line, rtol=1e-7, err_msg=name)
    assert len(found) == 3 * (n_classes - 1) and np.isnan(list(found.values())).all()
    assert "Combinations of other terms: x4, x5, x6." in model.summary().notes[0]
    assert dict(model.summary().header)["rank"] == dict(alone.summary().header)["rank"]
    np.testing.assert_allclose(
        model.predict_interval(spanned(X)), alone.predict_interval(X), atol=1e-7
    )
    with pytest.raises(DataError, match="Row 1 has no interval: columns that are combinations"):
        model.predict_interval(spanned(X)[:2] + np.eye(7)[5] * [[0.0], [1.0]])


def test_a_constant_column_leaves_the_intercept_its_error():
    X, y = noise(100, 2, 17), np.random.default_rng(18).integers(0, 2, 100)
    both = LogisticRegression(C=np.inf).fit(np.column_stack([np.full(100, 3.0), X]), y)
    alone = LogisticRegression(C=np.inf).fit(X, y)
    lines = [row[1:] for row in both.summary().rows if row[0] != "x0"]
    np.testing.assert_allclose(lines, [row[1:] for row in alone.summary().rows], rtol=1e-9)
    assert "Combinations of other terms: x0." in both.summary().notes[0]


@pytest.mark.parametrize("multiclass", ["softmax", "one_vs_rest"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_nearly_dependent_columns_have_their_standard_errors(n_classes, multiclass):
    """As in GLMs: a condition number above 1e6 is no reason to leave a column out."""
    X, y = noise(150, 2, 3), np.random.default_rng(4).integers(0, n_classes, 150)
    near = np.column_stack([X[:, 0], X[:, 0] + 3e-7 * X[:, 1]])
    plain = LogisticRegression(C=np.inf, multiclass=multiclass).fit(X, y)
    model = LogisticRegression(C=np.inf, multiclass=multiclass).fit(near, y)
    lines = {row[0]: row[1:3] for row in plain.summary().rows if row[0].endswith("x1")}
    found = {row[0]: np.multiply(row[1:3], 3e-7) for row in model.summary().rows if row[0] in lines}
    assert found.keys() == lines.keys()
    for name, line in lines.items():
        np.testing.assert_allclose(found[name], line, rtol=1e-5, err_msg=name)
    facts, expected = dict(model.summary().header), dict(plain.summary().header)
    for name in ("rank", "AIC"):  # one fit against the rest has neither in common
        assert facts.get(name) == pytest.approx(expected.get(name))
    if not model._separate():
        ends, known = model.predict_interval(near), plain.predict_interval(X)
        np.testing.assert_allclose(
            ends, known, atol=0.002
        )  # of squares of 3e6, few digits are left


def test_separation_is_not_taken_for_a_spanned_column():
    X, y, columns, _ = touching_plane()
    with pytest.warns(ConvergenceWarning):
        model = LogisticRegression(C=np.inf).fit(np.column_stack([X, X[:, 2]]), y)
    assert model.inference_["aliased"].tolist() == [3] and model.separating_ == columns


def test_two_classes_have_the_intervals_of_the_linear_predictor():
    sm = pytest.importorskip("statsmodels.api")
    X, rng = noise(120, 2, 19), np.random.default_rng(20)
    y = (X[:, 0] + rng.logistic(size=120) > 0).astype(int)
    low, high = LogisticRegression(C=np.inf).fit(X, y).predict_interval(X, level=0.9)
    fit = sm.GLM(y, sm.add_constant(X), sm.families.Binomial()).fit(tol=1e-14)
    frame = fit.get_prediction(sm.add_constant(X)).summary_frame(alpha=0.1)
    np.testing.assert_allclose(low[:, 1], frame["mean_ci_lower"], rtol=1e-6)
    np.testing.assert_allclose(high[:, 1], frame["mean_ci_upper"], rtol=1e-6)
    np.testing.assert_allclose(low[:, 0], 1 - high[:, 1], rtol=1e-9)


def test_intervals_of_a_softmax_cover():
    """Truth is inside nine times in ten, for every class."""
    rng = np.random.default_rng(21)
    B, X = rng.normal(size=(3, 2)), rng.normal(size=(400, 2))
    new = np.array([[0.5, -0.5]])
    truth = np.exp(new @ B.T) / np.exp(new @ B.T).sum()
    inside = np.zeros(3)
    for _ in range(200):
        y = (X @ B.T + rng.gumbel(size=(400, 3))).argmax(axis=1)
        low, high = LogisticRegression(C=np.inf).fit(X, y).predict_interval(new, level=0.9)
        inside += ((low <= truth) & (truth <= high))[0]
    assert np.all(np.abs(inside / 200 - 0.9) < 0.065)


def test_facts_survive_a_file(tmp_path):
    X, y = endometrial()
    model = LogisticRegression(C=np.inf, firth=True).fit(X, y)
    model.save(tmp_path / "m.pellucid")
    again = pellucid.load(tmp_path / "m.pellucid")
    assert str(again.summary()) == str(model.summary())
    np.testing.assert_array_equal(again.predict_interval(X), model.predict_interval(X))


@pytest.mark.parametrize("complete", [True, False])
def test_lbfgs_that_ends_by_tol_says_so_too(complete):
    X = noise(80, 3)
    y = (X[:, 1] > 0.2).astype(int)
    if not complete:
        X[:, 1] = X[:, 2] > 1
        y = np.where(X[:, 1] > 0, 1, np.arange(80) % 2)
    with pytest.warns(ConvergenceWarning, match="complete separation"):
        model = LogisticRegression(C=np.inf, solver="lbfgs").fit(X, y)
    assert model.status_.code == "separated" and model.separating_ == [1]


def test_lbfgs_raises_no_false_alarm():
    for seed in range(20):
        X = noise(60, 3, seed)
        X[:, 2] = X[:, 2] > 1
        X[:, 1] *= 1e6 ** (seed % 3 - 1)
        y = np.arange(60) % 2
        X[:4, 2] = 0, 0, 1, 1
        model = LogisticRegression(C=np.inf, solver="lbfgs").fit(X, y)
        assert model.status_.ok and not model.separating_


def test_columns_are_named_whatever_their_units():
    A = np.random.default_rng(1).normal(size=(60, 4))
    y = A[:, 0] + A[:, 1] > 0
    for units in ([1, 1, 1, 1], [1, 1e-9, 1, 1], [1e9, 1e-9, 1, 1]):
        with pytest.warns(ConvergenceWarning, match="separate"):
            model = LogisticRegression(C=np.inf).fit(A * units, y)
        assert model.separating_ == [0, 1]


def test_firth_has_no_absolute_values():
    X, y, *_ = one_column()
    with pytest.raises(ParameterError, match="l1_ratio=0 and solver='auto'"):
        LogisticRegression(firth=True, l1_ratio=1, C=np.inf).fit(X, y)
