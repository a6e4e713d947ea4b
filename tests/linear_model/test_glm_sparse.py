"""GeneralizedLinearModel with l1_ratio: conditions of the optimum, twins, glmnet, exact zeros."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from pellucid.errors import ParameterError
from pellucid.linear_model import ElasticNet, GeneralizedLinearModel, LogisticRegression
from pellucid.numerics.objectives.families import GLMLoss
from pellucid.numerics.objectives.links import LINKS
from tests.linear_model.test_references import PAIRS
from tests.oracles import shared


def sample(family, n=80, p=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-0.5, 0.5, size=(n, p))
    mean = np.exp(X[:, 0] - 0.5 * X[:, 1] + 0.7)
    if family == "binomial":
        return X, (rng.random(n) < 0.5 + 0.6 * X[:, 0]).astype(float)
    if family in ("poisson", "negative_binomial"):
        return X, rng.poisson(3 * mean).astype(float)
    return X, rng.gamma(8.0, mean / 8.0)


def made(family, **options):
    more = {"dispersion": 0.5} if family == "negative_binomial" else {}
    return GeneralizedLinearModel(family=family, **more, **options)


def violation(model, X, y, w=None, offset=0.0):
    """How far -slope is from what the penalty allows, for each coefficient and the intercept."""
    w = np.ones(len(y)) if w is None else w
    loss = GLMLoss(model._family(), LINKS[model._link()])
    pull = w * loss.gradient(y, X @ model.coef_ + model.intercept_ + offset) / w.sum()
    l1, b = model.alpha * model.l1_ratio, model.coef_
    g = X.T @ pull + (model.alpha - l1) * b
    free = pull.sum() if model.fit_intercept else 0.0
    away = np.where(b != 0, np.abs(g + l1 * np.sign(b)), np.maximum(np.abs(g) - l1, 0.0))
    return np.append(away, abs(free))


@pytest.mark.parametrize("l1_ratio", [1.0, 0.4])
@pytest.mark.parametrize("family, link", PAIRS)
def test_conditions_of_the_optimum(family, link, l1_ratio):
    X, y = sample(family)
    w = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    null = made(family, link=link).fit(X * 0, y, w)
    loss = GLMLoss(null._family(), LINKS[link])
    slope = X.T @ (w * loss.gradient(y, np.full(len(y), null.intercept_))) / w.sum()
    top = float(np.abs(slope).max()) / l1_ratio
    model = made(family, link=link, alpha=0.2 * top, l1_ratio=l1_ratio).fit(X, y, w)
    assert model.status_.ok
    assert violation(model, X, y, w).max() < 1e-9 * top
    assert 0 < np.count_nonzero(model.coef_) < 6 or l1_ratio < 1
    empty = made(family, link=link, alpha=1.0001 * top, l1_ratio=l1_ratio).fit(X, y, w)
    assert (empty.coef_ == 0).all()
    one = made(family, link=link, alpha=0.99 * top, l1_ratio=l1_ratio).fit(X, y, w)
    assert np.count_nonzero(one.coef_) == 1


def test_normal_is_the_elastic_net():
    X, y = sample("normal")
    model = made("normal", alpha=0.05, l1_ratio=0.6).fit(X, y, offset=X[:, 0])
    twin = ElasticNet(0.05, l1_ratio=0.6).fit(X, y - X[:, 0])
    np.testing.assert_allclose(model.coef_, twin.coef_, rtol=1e-10, atol=1e-12)
    assert model.intercept_ == pytest.approx(twin.intercept_, rel=1e-10)


def test_binomial_is_logistic_regression():
    X, y = sample("binomial")
    model = made("binomial", alpha=0.02, l1_ratio=0.7).fit(X, y)
    twin = LogisticRegression(C=1 / (0.02 * len(y)), l1_ratio=0.7, solver="saga").fit(X, y)
    np.testing.assert_allclose(model.coef_, twin.coef_[0], rtol=1e-7, atol=1e-9)


def test_weights_offsets_and_sparse_tables():
    X, y = sample("poisson")
    X = np.where(np.abs(X) < 0.2, 0.0, X)
    w, offset = np.random.default_rng(2).integers(0, 3, len(y)).astype(float), 0.3 * X[:, 2]
    model = made("poisson", alpha=0.1, l1_ratio=0.8).fit(X, y, w, offset=offset)
    rows = np.repeat(np.arange(len(y)), w.astype(int))
    again = made("poisson", alpha=0.1, l1_ratio=0.8).fit(X[rows], y[rows], offset=offset[rows])
    np.testing.assert_allclose(model.coef_, again.coef_, rtol=1e-9, atol=1e-12)
    assert violation(model, X, y, w, offset).max() < 1e-10
    sparse = made("poisson", alpha=0.1, l1_ratio=0.8).fit(csr_matrix(X), y, w, offset=offset)
    np.testing.assert_allclose(model.coef_, sparse.coef_, rtol=1e-9, atol=1e-12)


def test_bad_units_and_wide_tables():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 300))
    y = rng.poisson(np.exp(X[:, 0] - X[:, 1])).astype(float)
    model = made("poisson", alpha=0.2, l1_ratio=0.9).fit(X, y)
    assert violation(model, X, y).max() < 1e-9
    assert 0 < np.count_nonzero(model.coef_) < 60
    X, y = sample("gamma")
    shifted = X * 2.0**20 + 2.0**24
    model = made("gamma", link="log", alpha=0.05 * 2.0**20, l1_ratio=1.0).fit(shifted, y)
    plain = made("gamma", link="log", alpha=0.05, l1_ratio=1.0).fit(X, y)
    np.testing.assert_allclose(model.coef_ * 2.0**20, plain.coef_, rtol=1e-7, atol=1e-10)


def test_descent_finds_the_same():
    X, y = sample("poisson")
    best = made("poisson", alpha=0.1, l1_ratio=0.5).fit(X, y)
    slow = made("poisson", alpha=0.1, l1_ratio=0.5, solver="gd", max_iter=20_000, tol=1e-13)
    slow.fit(X, y)
    np.testing.assert_allclose(slow.coef_, best.coef_, atol=1e-9)
    assert ((slow.coef_ == 0) == (best.coef_ == 0)).all()
    assert slow.history_["objective"][-1] == pytest.approx(
        best.history_["objective"][-1], rel=1e-10
    )


def test_warm_start_and_summary():
    X, y = sample("poisson")
    model = made("poisson", alpha=0.1, l1_ratio=0.5, warm_start=True).fit(X, y)
    assert model.n_iter_ > 1
    first = model.coef_
    assert model.fit(X, y).n_iter_ <= 1
    np.testing.assert_allclose(model.coef_, first, rtol=1e-9)
    shown = model.summary()
    assert dict(shown.header)["l1_ratio"] == 0.5
    assert "theory gives no standard errors" in str(shown)
    with pytest.raises(ParameterError, match="l1_ratio"):
        made("poisson", l1_ratio=1.5).fit(X, y)


def test_poisson_as_in_glmnet():
    entry = shared.r_reference("glmnet_poisson_bikeday_alpha.5")
    table = shared.frame("bike_day.csv")
    X = table[["yr", "holiday", "workingday", "temp", "hum", "windspeed"]].to_numpy(float)
    y, sd = table["cnt"].to_numpy(float), X.std(axis=0)
    for strength, expected in zip(entry["lambda"], entry["coef"]):
        model = made("poisson", alpha=strength, l1_ratio=0.5).fit(X / sd, y)
        found = [model.intercept_, *(model.coef_ / sd)]
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_curvature_of_each_column_is_the_diagonal_of_the_whole():
    from pellucid.linear_model._glm.l1 import SparseGLM
    from pellucid.linear_model._glm.solver import prepare

    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(60, 4)) * (rng.random((60, 4)) < 0.5), rng.uniform(0.5, 2, 60)
    y = rng.gamma(2.0, 1.0, 60)
    for family, link, intercept in (("gamma", "log", True), ("poisson", "log", False)):
        loss = GeneralizedLinearModel(family=family, link=link)._loss()
        for table in (X, X + 100.0, csr_matrix(X)):
            task = prepare(table, y, w, None, loss, 0.0, intercept)
            x = np.append(np.zeros(4), np.log(w @ y / w.sum()))
            whole = task.objective.curvature(x, expected=True)
            found = SparseGLM(task.objective, np.zeros(4)).largest_curvature
            np.testing.assert_allclose(found, np.diagonal(whole), rtol=1e-12)


def test_wide_tables_need_no_table_of_all_pairs_of_columns():
    import tracemalloc

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 3000)), rng.poisson(2.0, 50).astype(float)
    model = GeneralizedLinearModel(family="poisson", alpha=0.3, l1_ratio=1.0)
    tracemalloc.start()
    model.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3001**2 * 8 / 4
