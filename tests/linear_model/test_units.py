"""`standardize=True` is the fit on scaled columns, reported on the original scale."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

import pellucid
from pellucid.errors import ParameterError
from pellucid.linear_model import (
    BayesianRidge,
    ElasticNet,
    ElasticNetCV,
    GammaRegressor,
    GeneralizedLinearModel,
    Lasso,
    LassoCV,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    RidgeCV,
    TweedieRegressor,
)

SIZES = np.array([1.0, 1e4, 1e-3, 30.0])
MODELS = [
    BayesianRidge(tol=1e-10),
    ElasticNet(alpha=0.05, tol=1e-12),
    ElasticNetCV(alphas=5, tol=1e-12),
    GammaRegressor(alpha=0.1, tol=1e-10),
    GeneralizedLinearModel(family="poisson", alpha=0.1, l1_ratio=0.5, tol=1e-10),
    Lasso(alpha=0.05, tol=1e-12),
    LassoCV(alphas=5, tol=1e-12),
    LogisticRegression(C=0.3, tol=1e-10),
    LogisticRegression(C=0.3, l1_ratio=1.0, solver="cd", tol=1e-10, max_iter=1000),
    PoissonRegressor(alpha=0.1, tol=1e-10),
    Ridge(alpha=3.0),
    RidgeCV(alphas=[0.3, 3.0, 30.0]),
    RidgeClassifier(alpha=3.0),
    TweedieRegressor(power=1.5, alpha=0.1, tol=1e-10),
]


def table(model):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 4))
    score = X @ [1.0, -0.5, 0.3, 0.0] + rng.normal(size=80) * 0.5
    y = np.exp(score / 2) if hasattr(type(model), "linear_predictor") else score
    if hasattr(type(model), "decision_function"):
        y = np.digitize(score, [-0.7, 0.7])
    return X * SIZES + 5 * SIZES, y


def fitted(model, **more):
    X, y = table(model)
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    own = type(model)(**model.get_params(deep=False) | {"standardize": True} | more).fit(X, y)
    plain = type(model)(**model.get_params(deep=False) | more).fit(scaled, y)
    return own, plain, X, scaled


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_the_fit_is_that_on_scaled_columns(model, tmp_path):
    own, plain, X, scaled = fitted(model)
    assert own.coef_ * X.std(axis=0) == pytest.approx(plain.coef_, rel=1e-6, abs=1e-8)
    assert type(own.intercept_) is type(plain.intercept_)
    assert own.means_ == pytest.approx(X.mean(axis=0))
    said = own.explain(X)
    assert said.contributions == pytest.approx(
        plain.explain(scaled).contributions, rel=1e-5, abs=1e-7
    )
    assert np.array_equal(own.predict(X), plain.predict(scaled)) or own.predict(X) == pytest.approx(
        plain.predict(scaled), rel=1e-6
    )
    own.save(tmp_path / "m.pellucid")
    again = pellucid.load(tmp_path / "m.pellucid")
    assert again.standardize is True and np.array_equal(again.predict(X), own.predict(X))


def test_units_make_no_difference():
    X, y = table(Ridge())
    one = Ridge(alpha=30.0, standardize=True).fit(X, y).predict(X)
    other = Ridge(alpha=30.0, standardize=True).fit(X / SIZES, y).predict(X / SIZES)
    assert one == pytest.approx(other, rel=1e-9)
    plain = Ridge(alpha=30.0).fit(X, y).predict(X)
    assert np.abs(plain - one).max() > 0.01  # otherwise nothing was shown


def test_doubt_is_told_in_the_users_units():
    own, plain, X, scaled = fitted(BayesianRidge(tol=1e-10))
    assert own.predict_interval(X) == pytest.approx(plain.predict_interval(scaled), rel=1e-6)


def test_without_a_penalty_inference_is_as_ever():
    X, y = table(LogisticRegression())
    y = (y > 0).astype(int)
    plain = LogisticRegression(C=np.inf).fit(X, y)
    own = LogisticRegression(C=np.inf, standardize=True).fit(X, y)
    assert str(own.summary()) == str(plain.summary())


def test_sparse_columns_keep_their_zeros():
    X, y = table(Ridge())
    X = np.where(X.mean(axis=0) < X, X, 0.0)
    dense = Ridge(alpha=3.0, standardize=True).fit(X, y)
    sparse = Ridge(alpha=3.0, standardize=True).fit(csr_matrix(X), y)
    assert sparse.coef_ == pytest.approx(dense.coef_, rel=1e-6)


def test_no_intercept_no_centring():
    own, _, X, _ = fitted(Ridge(alpha=3.0), fit_intercept=False)
    by_hand = Ridge(alpha=3.0, fit_intercept=False).fit(X / X.std(axis=0), table(Ridge())[1])
    assert own.coef_ * X.std(axis=0) == pytest.approx(by_hand.coef_) and own.intercept_ == 0.0


def test_a_warm_start_is_refused():
    X, y = table(Lasso())
    with pytest.raises(ParameterError, match="standardize=True"):
        Lasso(standardize=True, warm_start=True).fit(X, y)


def test_words_keep_their_common_unit():
    """A rare word would weigh most otherwise; numbers beside the words are scaled."""
    rng = np.random.default_rng(0)
    words = [" ".join(rng.choice(["red", "green", "blue", "grey"], 3)) for _ in range(60)]
    frame = {"words": words, "size": 1000 * rng.normal(size=60)}
    y = [int("red" in text) for text in words]
    table = pellucid.Table(kinds={"words": "text"})
    own = LogisticRegression(standardize=True, table=table, tol=1e-10).fit(pd.DataFrame(frame), y)
    spread = np.std(frame["size"])
    by_hand = {"words": words, "size": frame["size"] / spread}
    plain = LogisticRegression(table=table, tol=1e-10).fit(pd.DataFrame(by_hand), y)
    scale = [spread if term == "size" else 1.0 for term in own.terms_]
    assert own.coef_ * scale == pytest.approx(plain.coef_, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("model", [BayesianRidge(tol=1e-10), Ridge(alpha=3.0)], ids=repr)
def test_levels_stay_zero_and_one(model):
    rng = np.random.default_rng(4)
    size, town = rng.normal(size=90) * 1e3, rng.choice(["Lund", "Ubud", "Oslo"], 90)
    size[::9] = np.nan
    y = np.nan_to_num(size) / 500 + (town == "Lund") + rng.normal(size=90)
    frame = pd.DataFrame({"size": size, "town": town})
    mean = np.nan_to_num(size, nan=np.nanmean(size))
    by_hand = frame.assign(size=size / mean.std())
    own = type(model)(**model.get_params(deep=False) | {"standardize": True}).fit(frame, y)
    assert own.predict(frame) == pytest.approx(model.fit(by_hand, y).predict(by_hand), rel=1e-8)


def test_sparse_columns_far_from_zero_have_the_deviation_of_dense_ones():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(60, 2)) + 1e8
    X[::5] = 0.0
    y = rng.normal(size=60)
    dense = Ridge(standardize=True, fit_intercept=False).fit(X, y)
    found = Ridge(standardize=True, fit_intercept=False).fit(csr_matrix(X), y)
    assert found.coef_ == pytest.approx(dense.coef_, rel=1e-6)
