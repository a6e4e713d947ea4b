"""Fits whose best coefficients are not finite say so, and name the columns; others do not."""

import numpy as np
import pytest

from pellucid.errors import ConvergenceWarning, PellucidError
from pellucid.linear_model import GeneralizedLinearModel, PoissonRegressor
from pellucid.linear_model._glm import boundary


def two_groups(n=40):
    """Counts that are all 0 where g is 1, for any x."""
    rng = np.random.default_rng(0)
    g = np.repeat([0.0, 1.0], n // 2)
    x = rng.normal(size=n)
    return g, x, rng.poisson(2.0, n) * (g == 0.0)


def separated(X, y, **options):
    with pytest.warns(ConvergenceWarning, match="The best coefficients of .* are not finite"):
        model = GeneralizedLinearModel(**options).fit(X, y)
    assert model.status_.code == "separated"
    return model


@pytest.mark.parametrize(("family", "link"), [
    ("poisson", "log"), ("negative_binomial", "log"), ("tweedie", "log"), ("normal", "log"),
    ("normal", "probit"), *(("binomial", link) for link in ("logit", "probit", "cloglog", "cauchit")),
])  # fmt: skip
def test_a_group_on_the_edge_is_named_and_the_rest_is_as_without_it(family, link):
    g, x, counts = two_groups()
    y = {"tweedie": 1.3 * counts, "binomial": np.minimum(counts, 1.0)}.get(family, counts * 1.0)
    if family == "normal":
        y = np.where(g == 0, 0.3 + 0.1 * np.tanh(x), -0.5)
    if family == "binomial":
        y[:3] = 0.0
    X = np.column_stack([g, x])
    model = separated(X, y, family=family, link=link)
    assert "coefficients of x0 are" in model.status_.message
    half = GeneralizedLinearModel(family=family, link=link).fit(x[:20, None], y[:20])
    np.testing.assert_allclose(
        [model.intercept_, model.coef_[1]], [half.intercept_, half.coef_[0]], rtol=1e-7
    )
    table, alone = model.summary().frame(), half.summary().frame()
    error = table["std error"]
    assert np.isnan(error[1])
    if model.inference_["known"]:
        np.testing.assert_allclose([error[0], error[2]], alone["std error"], rtol=1e-7)
        own, wanted = model.predict_interval(X[:20]), half.predict_interval(x[:20, None])
        np.testing.assert_allclose(own, wanted, rtol=1e-6)
    with pytest.raises(PellucidError, match="Row 20 has no interval"):
        model.predict_interval(X)


def test_an_oblique_direction_is_not_called_dependent():
    """No column separates alone, a + b does: neither is spanned by the other."""
    rng = np.random.default_rng(1)
    a, x = rng.normal(size=(2, 60))
    b = np.where(np.arange(60) < 45, -a, rng.uniform(0.5, 1.5, 60) - a)
    y = rng.poisson(3.0, 60) * (np.arange(60) < 45)
    model = separated(np.column_stack([a, b, x]), y, family="poisson")
    assert "coefficients of x0, x1 are" in model.status_.message
    assert len(model.inference_["aliased"]) == 0
    error = model.summary().frame()["std error"]
    assert np.isnan(error[1:3]).all() and np.isfinite([error[0], error[3]]).all()
    fewer = PoissonRegressor(alpha=0).fit(np.column_stack([a, x])[:45], y[:45])
    np.testing.assert_allclose(error[3], fewer.summary().frame()["std error"][2], rtol=1e-7)


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog", "cauchit"])
def test_normal_targets_beyond_what_a_link_can_give(link):
    """All y above 1: the squares fall as long as the means rise, and these stay below 1."""
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = separated(X, np.full(30, 1.5) + 0.1 * X[:, 0] ** 2, link=link)
    np.testing.assert_allclose(model.predict(X), 1.0, atol=1e-8)


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog", "cauchit"])
def test_perfectly_told_apart(link):
    """However far the solver came: an order of the rows proves it."""
    x = np.linspace(-1, 1, 40)
    X = np.column_stack([x, x**2])
    model = separated(X, (x > 0.93).astype(float), family="binomial", link=link)
    assert "coefficients of x0, x1, intercept are" in model.status_.message
    assert np.isnan(model.summary().frame()["std error"]).all()


def test_what_is_finite_is_not_accused():
    rng = np.random.default_rng(0)
    g, x, counts = two_groups()
    X = np.column_stack([g, x])
    far = np.where(g == 0, 1e12, 3.0)  # curvatures 12 orders apart, and counts of 0 among the small
    y = rng.poisson(far).astype(float)
    y[-2:] = 0.0
    for model, given, target, options in (
        (PoissonRegressor(alpha=0), X, y, {}),
        (PoissonRegressor(alpha=0), X, counts + (x > 1), {"exposure": 10.0 ** rng.uniform(-8, 8, 40)}),
        (PoissonRegressor(alpha=1e-4), X, counts, {}),
        (GeneralizedLinearModel(family="binomial", link="cloglog"), x[:, None], (x == x[9]) * 1.0, {}),
        (GeneralizedLinearModel(family="poisson", link="sqrt"), X, counts, {}),
        (GeneralizedLinearModel(link="log"), X, np.where(g == 0, 0.01, 1e6) * (2 + np.tanh(x)), {}),
    ):  # fmt: skip
        model.fit(given, target, **options)
        assert model.status_.ok, model.status_


def test_a_normal_mean_below_what_the_link_can_give_has_a_start():
    x = np.linspace(-1, 1, 50)
    y = np.where(x > 0.9, 5.0, -1.0) + 0.01 * x
    model = GeneralizedLinearModel(link="log").fit(x[:, None], y)
    mean = model.predict(x[:, None])
    pull = mean * (y - mean)
    assert max(abs(pull.sum()), abs(pull @ x)) < 1e-10 * np.abs(pull).sum()


@pytest.mark.parametrize(("family", "link"), [
    ("gamma", "inverse"), ("gamma", "identity"), ("inverse_gaussian", "inverse_square"),
    ("poisson", "identity"), ("normal", "inverse"), ("binomial", "identity"),
])  # fmt: skip
def test_gradient_descent_starts_where_means_are_possible(family, link):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    eta = 2 + 0.3 * X[:, 0] - 0.2 * X[:, 1]
    mean = {"inverse": 1 / eta, "identity": eta, "inverse_square": eta**-0.5}[link]
    y = {
        "gamma": lambda: rng.gamma(5, mean / 5), "inverse_gaussian": lambda: rng.wald(mean, 5.0),
        "poisson": lambda: rng.poisson(mean), "normal": lambda: mean + 0.05 * rng.normal(size=200),
        "binomial": lambda: rng.uniform(size=200) < mean / 5,
    }[family]().astype(float)  # fmt: skip
    model = GeneralizedLinearModel(family=family, link=link, alpha=0.0, tol=1e-9)
    slow = GeneralizedLinearModel(
        family=family, link=link, alpha=0.0, tol=1e-9, solver="gd", max_iter=5000
    )
    np.testing.assert_allclose(slow.fit(X, y).coef_, model.fit(X, y).coef_, atol=1e-7)
    assert (np.diff(slow.history_["objective"]) < 1e-12).all()


def test_a_rough_start_reads_sparse_tables_as_they_are(monkeypatch):
    from scipy.sparse import csr_matrix

    from pellucid.linear_model._glm.solver import Rows

    rng = np.random.default_rng(1)
    X = rng.uniform(1, 2, size=(300, 3)) * (rng.uniform(size=(300, 3)) < 0.9)
    X[~X.any(axis=1), 0] = 1.0
    y = rng.gamma(5, 1 / (X @ [0.3, 0.5, 0.2]) / 5)
    model = GeneralizedLinearModel(family="gamma", link="inverse", alpha=0.0, fit_intercept=False)
    dense, whole = model.fit(X, y).coef_, []
    made = Rows.dense
    monkeypatch.setattr(
        Rows, "dense", lambda self, rows: whole.append(rows == slice(None)) or made(self, rows)
    )
    np.testing.assert_allclose(model.fit(csr_matrix(X), y).coef_, dense, rtol=1e-9)
    assert not any(whole)


@pytest.mark.parametrize("sparse", [False, True])
def test_more_columns_than_rows_move_rows_alone(sparse):
    """Whatever the solver's last step: a zero among rows that are independent has no best mean."""
    import scipy.sparse

    rng = np.random.default_rng(0)
    X = scipy.sparse.random(80, 1100, 0.05, random_state=0, format="csr")
    X = X if sparse else X.toarray()
    counts = rng.poisson(1.0, 80).astype(float)
    model = PoissonRegressor(alpha=0)
    with pytest.warns(ConvergenceWarning, match="not finite"):
        model.fit(X, counts)
    assert model.status_.code == "separated" and str((counts == 0).sum()) in str(model.status_)
    assert model.fit(X, counts + 1).status_.ok
    assert PoissonRegressor(alpha=1e-3).fit(X, counts).status_.ok


@pytest.mark.parametrize("unit", [1.0, 2.0**40])
def test_columns_that_span_each_other_add_no_direction_without_limit(unit, monkeypatch):
    found, find = [], boundary.unbounded_directions
    keep = lambda *a: found.append(find(*a)) or found[-1]  # noqa: E731
    monkeypatch.setattr(boundary, "unbounded_directions", keep)
    g, x, counts = two_groups()
    separated(unit * np.column_stack([g, x, 0.7 * x, 0.1 * x + 0.3 * g]), counts, family="poisson")
    assert found[0].shape == (5, 1)
