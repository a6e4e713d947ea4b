"""What a regression cannot use is named: values, parameters, columns; what it can, it uses."""

import numpy as np
import pytest

from pellucid.errors import DataError, ParameterError, PellucidError
from pellucid.linear_model import (
    BayesianRegression,
    BayesianRidge,
    ElasticNet,
    ElasticNetCV,
    GammaRegressor,
    GeneralizedLinearModel,
    Lasso,
    LassoCV,
    LinearRegression,
    PoissonRegressor,
    Ridge,
    RidgeCV,
)

X = np.random.default_rng(0).normal(size=(20, 3))
Y = np.abs(X @ [1.0, 2.0, 0.5]) + 1
REGRESSORS = [
    *(LinearRegression, Ridge, RidgeCV, Lasso, LassoCV, ElasticNet, ElasticNetCV, BayesianRidge),
    *(PoissonRegressor, GammaRegressor),
]


@pytest.mark.parametrize("model, y, said", [
    (PoissonRegressor(), np.where(np.arange(20) == 3, -1.0, Y), "y must be >= 0 for the poisson"),
    (GammaRegressor(), np.where(np.arange(20) == 3, 0.0, Y), "y must be > 0 for the gamma"),
    (GeneralizedLinearModel(family="binomial"), Y, "<= 1 for the binomial"),
])  # fmt: skip
def test_impossible_targets(model, y, said):
    with pytest.raises(DataError, match=said):
        model.fit(X, y)


@pytest.mark.parametrize("exposure", [0.0, -2.0])
def test_exposure_must_be_positive(exposure):
    time = np.where(np.arange(20) == 7, exposure, 1.0)
    with pytest.raises(DataError, match=r"exposure must be positive, .* row 7, has"):
        PoissonRegressor().fit(X, np.round(Y), exposure=time)


@pytest.mark.parametrize("level", ["a", None, 1, 0.0])
@pytest.mark.parametrize("model", [
    LinearRegression(), PoissonRegressor(alpha=0), BayesianRegression(), BayesianRidge(),
])  # fmt: skip
def test_levels_are_probabilities(model, level):
    model.fit(X, Y)
    with pytest.raises(ParameterError, match="level must be in"):
        model.predict_interval(X, level)
    if not isinstance(model, BayesianRidge):
        with pytest.raises(ParameterError, match="level must be in"):
            model.summary(level=level)


@pytest.mark.parametrize("trials", [0, 1.5, True, "many"])
def test_trials_are_counted(trials):
    model = GeneralizedLinearModel(family="binomial").fit(X, np.arange(20) % 2.0)
    with pytest.raises(ParameterError, match="trials must be an integer >= 1"):
        model.predict_interval(X, trials=trials)


@pytest.mark.parametrize("model, name", [
    (Ridge(-1.0), "alpha"), (Lasso(-1.0), "alpha"), (PoissonRegressor(alpha=-1.0), "alpha"),
    (RidgeCV([-1.0]), "alphas"), (LassoCV(alphas=[-1.0]), "alphas"),
    (ElasticNet(l1_ratio=1.5), "l1_ratio"), (ElasticNet(l1_ratio=-0.1), "l1_ratio"),
    (ElasticNetCV(l1_ratio=[0.5, 2.0]), "l1_ratio"),
])  # fmt: skip
def test_impossible_parameters(model, name):
    with pytest.raises(ParameterError, match=name):
        model.fit(X, Y)


@pytest.mark.parametrize("make", [LinearRegression, lambda: PoissonRegressor(alpha=0)])
def test_collinear_columns_are_named(make):
    import pandas

    table = pandas.DataFrame(X, columns=["age", "dose", "time"])
    table["twice the dose"] = 2 * table["dose"]
    model = make().fit(table, np.round(Y))
    notes = " ".join(model.summary().notes)
    assert "Combinations of other terms" in notes
    assert "dose" in notes
    if make is LinearRegression:
        assert "dose. The rank is 3 of 4" in model.status_.message
    plain = make().fit(table[["age", "dose", "time"]], np.round(Y))
    np.testing.assert_allclose(model.predict(table), plain.predict(table.iloc[:, :3]), rtol=1e-7)


@pytest.mark.parametrize("Model", REGRESSORS)
def test_more_columns_than_rows(Model):
    wide = np.random.default_rng(1).normal(size=(10, 25))
    model = Model().fit(wide, Y[:10])
    assert np.isfinite(model.predict(wide)).all()


@pytest.mark.parametrize("Model", REGRESSORS)
def test_constant_target_is_predicted(Model):
    model = Model().fit(X, np.full(20, 3.0))
    np.testing.assert_allclose(model.predict(X), 3.0, rtol=1e-6)
    np.testing.assert_allclose(model.coef_, 0.0, atol=1e-6)


@pytest.mark.parametrize("family", ["normal", "gamma", "inverse_gaussian"])
def test_summaries_of_a_constant_y_say_so(family):
    constant = np.full(len(X), 2.0)
    for model in (LinearRegression(), GeneralizedLinearModel(family=family, link="log")):
        table = model.fit(X, constant).summary()
        notes = " ".join(table.notes)
        assert "y is constant" in notes or "The fit is perfect" in notes
        assert table.rows[0][1] == pytest.approx(2.0 if table.title[0] == "L" else np.log(2.0))


@pytest.mark.parametrize(("given", "words"), [
    (2.0, "exposure"), (np.ones(7), "7 entries|inconsistent|one per row"),
    (np.r_[np.nan, np.ones(19)], "exposure is not finite in row 0"),
    (np.r_[1.0, 0.0, np.ones(18)], r"positive, but 1 row\(s\) are not \(the first, row 1, has 0\)"),
])  # fmt: skip
def test_exposures_that_cannot_be(given, words):
    with pytest.raises(PellucidError, match=words):
        PoissonRegressor().fit(X, np.round(Y), exposure=given)


def test_the_row_of_a_bad_target_is_the_users():
    y = np.round(Y)
    y[7] = -1
    with pytest.raises(DataError, match=r"the first, row 7, has -1"):
        PoissonRegressor().fit(X, y, sample_weight=np.r_[0.0, 0.0, np.ones(18)])


@pytest.mark.parametrize("make", [
    lambda: RidgeCV(alphas=[np.float64(-1)]).fit(X, Y),
    lambda: ElasticNetCV(l1_ratio=[np.float64(2)]).fit(X, Y),
    lambda: Ridge(alpha=np.float64(-1)).fit(X, Y),
    lambda: LinearRegression().fit(X, Y).predict_interval(X, np.float64(95)),
    lambda: LinearRegression().fit(X, Y).summary(level=np.float64(95)),
])  # fmt: skip
def test_messages_show_plain_numbers(make):
    with pytest.raises(ParameterError) as caught:
        make()
    assert "Got" in str(caught.value) and "np." not in str(caught.value)
