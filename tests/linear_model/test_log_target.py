"""Log-target ridge regression, and predictions of log links kept within the range of the targets."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge as TheirRidge
from sklearn.preprocessing import StandardScaler

import pellucid
from pellucid.errors import DataError, ModelFileError
from pellucid.linear_model import GammaRegressor, LogTargetRidge, PoissonRegressor
from tests.oracles import shared

BOUNDED = [
    LogTargetRidge(alpha=0.01, bound_predictions=True),
    GammaRegressor(alpha=0.01, bound_predictions=True),
    PoissonRegressor(alpha=0.01, bound_predictions=True),
]


def prices(n=200, noise=0.5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1.0, 10.0, 0.1]
    mean = np.exp(2 + 0.5 * X[:, 0] + 0.05 * X[:, 1])
    return X, mean * np.exp(noise * rng.normal(size=n) - noise**2 / 2), mean


def counts(n=200, seed=0):
    X, _, mean = prices(n, seed=seed)
    return X, 1.0 + np.random.default_rng(seed).poisson(mean)


@pytest.mark.parametrize("alpha", [0.0, 1.0, 50.0])
def test_coefficients_are_those_of_ridge_on_logarithms(alpha):
    X, y, _ = prices()
    w = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    ours = LogTargetRidge(alpha=alpha).fit(X, y, w)
    theirs = TheirRidge(alpha=alpha).fit(X, np.log(y), w)
    assert ours.coef_ == pytest.approx(theirs.coef_, rel=1e-9)
    fitted = np.exp(theirs.predict(X))
    assert ours.smearing_ == pytest.approx(w @ y / (w @ fitted), rel=1e-9)
    assert ours.predict(X) == pytest.approx(ours.smearing_ * fitted, rel=1e-9)
    assert w @ ours.predict(X) == pytest.approx(w @ y, rel=1e-12)  # the total is kept


def test_standardised_penalties():
    X, y, _ = prices()
    ours = LogTargetRidge(alpha=5.0, standardize=True).fit(X, y)
    scaled = StandardScaler().fit_transform(X)
    theirs = TheirRidge(alpha=5.0).fit(scaled, np.log(y))
    assert ours.linear_predictor(X) - np.log(ours.smearing_) == pytest.approx(
        theirs.predict(scaled), abs=1e-9
    )


def test_predictions_estimate_the_mean_not_the_median():
    X, y, mean = prices(20_000, noise=0.8)
    model = LogTargetRidge(alpha=0.0).fit(X, y)
    assert model.smearing_ == pytest.approx(np.exp(0.8**2 / 2), rel=0.05)
    assert np.median(model.predict(X) / mean) == pytest.approx(1.0, abs=0.05)


def test_explanations_multiply_to_the_prediction():
    X, y, _ = prices()
    model = LogTargetRidge().fit(X, y)
    found = model.explain(X)
    assert found.scale == "link"
    assert np.exp(found.base + found.contributions.sum(axis=1))[:, 0] == pytest.approx(
        model.predict(X), rel=1e-10
    )


def test_targets_must_be_positive():
    with pytest.raises(DataError, match=r"y must be > 0, but 2 row\(s\).*row 1, has 0"):
        LogTargetRidge().fit([[1.0], [2.0], [3.0], [4.0]], [1.0, 0.0, 2.0, -1.0])


def test_the_summary_has_the_smearing_factor():
    X, y, _ = prices()
    assert "smearing" in str(LogTargetRidge().fit(X, y).summary())


@pytest.mark.parametrize("y", [np.array([1e-300, 1.0, 1e300]), np.array([5e-324, 3.0, 1e308])])
def test_extreme_targets(y):
    found = LogTargetRidge(alpha=0.0).fit([[0.0], [1.0], [2.0]], y)
    assert np.isfinite(found.predict([[1.0]])).all()


@pytest.mark.parametrize("model", BOUNDED, ids=lambda model: type(model).__name__)
def test_bounded_predictions(model, tmp_path):
    """Rows far outside the table are predicted as the smallest or largest target of the training."""
    X, y = counts()
    far = np.array([[90.0, 0.0, 0.0], [-90.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    free = type(model)(alpha=model.alpha).fit(X, y)
    bound = model.fit(X, y)
    assert (bound.coef_ == free.coef_).all()
    assert bound.bounds_.tolist() == [y.min(), y.max()]
    assert free.predict(far)[0] > 1e6 * y.max()
    assert bound.predict(far)[:2].tolist() == [y.max(), y.min()]
    inside = (free.predict(X) < 0.9 * y.max()) & (free.predict(X) > 1.1 * y.min())
    assert bound.predict(X)[inside] == pytest.approx(free.predict(X)[inside], rel=0.01)
    found = bound.explain(far)
    assert found.columns[-1] == "(bound)"
    assert np.exp(found.prediction[:, 0]) == pytest.approx(bound.predict(far), rel=1e-12)
    assert found.is_additive()
    assert bound.explain(X[inside]).columns == free.explain(X).columns
    bound.save(tmp_path / "m.pellucid")
    assert (pellucid.load(tmp_path / "m.pellucid").predict(far) == bound.predict(far)).all()
    one = pellucid.compile(bound)
    assert [one.predict(row.tolist()) for row in far] == bound.predict(far).tolist()


@pytest.mark.parametrize("model", BOUNDED, ids=lambda model: type(model).__name__)
def test_bounded_models_still_refuse_infinite_cells(model):
    X, y = counts()
    with pytest.raises(DataError, match="infinity"):
        model.fit(X, y).predict([[np.inf, 0.0, 0.0]])


def test_bounds_are_rates_where_there_is_an_exposure():
    X, y = counts()
    years = np.random.default_rng(3).uniform(0.5, 4.0, len(y))
    model = PoissonRegressor(alpha=0.01, bound_predictions=True).fit(X, y, exposure=years)
    assert model.bounds_ == pytest.approx([(y / years).min(), (y / years).max()])
    far = [[90.0, 0.0, 0.0]]
    assert model.predict(far, exposure=[3.0]) == pytest.approx(3 * model.bounds_[1])
    found = model.explain(far, exposure=[3.0])
    assert found.columns[-2:] == ("(offset)", "(bound)")
    assert np.exp(found.prediction[0]) == pytest.approx(3 * model.bounds_[1])


@pytest.mark.parametrize("bounds", [[-1.0, 2.0], [3.0, 2.0], [0.0], [0.0, np.nan]])
def test_forged_bounds_are_refused(bounds, tmp_path):
    X, y = counts()
    model = LogTargetRidge(bound_predictions=True).fit(X, y)
    model.bounds_ = np.array(bounds)
    model.save(tmp_path / "m.pellucid")
    with pytest.raises(ModelFileError):
        pellucid.load(tmp_path / "m.pellucid")


def test_misrecorded_rows_do_not_explode_on_diamonds():
    """Some diamonds of this table have a width of 0 or of 59 mm, ten times too much."""
    table = shared.frame("diamonds.csv.gz")
    keep = np.arange(len(table)) % 4 == 0
    keep |= (table["y"] > 20) | (table["z"] > 20) | (table["x"] == 0)
    table = table[keep]
    y, X = table["price"].to_numpy(float), table.drop(columns="price")
    test = np.arange(len(y)) % 2 == 0
    usual = np.sqrt(np.mean((y[test] - y[~test].mean()) ** 2))
    for model in BOUNDED:
        said = model.fit(X[~test], y[~test]).predict(X[test])
        assert np.sqrt(np.mean((said - y[test]) ** 2)) < usual / 2
