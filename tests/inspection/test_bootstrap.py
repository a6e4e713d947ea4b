"""The bootstrap: closed-form variances, coefficients, threads, containers, groups."""

import numpy as np
import pandas as pd
import pytest

from pellucid import set_threads
from pellucid.errors import DataError, ParameterError
from pellucid.inspection import bootstrap
from pellucid.linear_model import GeneralizedLinearModel, Lasso, LinearRegression


def table(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, X @ [2.0, 0.0, -1.0] + rng.normal(size=n)


def test_variance_of_the_mean_is_the_closed_form():
    x = np.random.default_rng(0).exponential(size=50)
    found = bootstrap(None, x, statistic=np.mean, n_resamples=4000, random_state=1)
    # the variance of a resampled mean is var(x) / n, its estimate from B draws is off by sqrt(2/B)
    expected = x.var() / 50
    assert float(found.variance) == pytest.approx(expected, rel=4 * np.sqrt(2 / 4000))
    assert float(found.estimate) == x.mean()
    assert abs(float(found.bias)) < 4 * np.sqrt(expected / 4000)
    assert found.low < x.mean() < found.high
    np.testing.assert_allclose(found.low, np.quantile(found.replicates, 0.025), rtol=1e-12)


def test_coefficients_vary_as_theory_says():
    X, y = table(200)
    model = LinearRegression()
    found = bootstrap(model, X, y, n_resamples=400, random_state=0)
    theory = np.array(model.fit(X, y).summary().frame()["std error"])[1:]
    np.testing.assert_allclose(found.std_error, theory, rtol=0.25)
    np.testing.assert_array_equal(found.estimate, model.coef_)
    lines = found.frame()
    assert lines["entry"] == ["x0", "x1", "x2"]
    assert lines["std error"] == found.std_error.tolist()
    assert "resamples" in str(found)


def test_threads_and_seeds():
    X, y = table()
    found = []
    for n in (1, 2, 4):
        set_threads(n)
        try:
            found.append(bootstrap(Lasso(0.1), X, y, n_resamples=30, random_state=3).replicates)
        finally:
            set_threads(None)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], found[2])
    other = bootstrap(Lasso(0.1), X, y, n_resamples=30, random_state=4).replicates
    assert not np.array_equal(found[0], other)


def test_any_estimator_any_statistic_any_container():
    import pandas
    import polars
    from sklearn.tree import DecisionTreeRegressor

    X, y = table()
    names = ["a", "b", "c"]
    arrays = {
        "numpy": X,
        "pandas": pandas.DataFrame(X, columns=names, index=range(100, 160)),
        "polars": polars.DataFrame(X, schema=names),
        "arrow": polars.DataFrame(X, schema=names).to_arrow(),
    }
    values = [
        bootstrap(
            LinearRegression(), given, y, lambda m: m.intercept_, n_resamples=5, random_state=0
        ).replicates
        for given in arrays.values()
    ]
    for other in values[1:]:
        np.testing.assert_array_equal(values[0], other)
    tree = DecisionTreeRegressor(max_depth=2, random_state=0)
    found = bootstrap(tree, X, y, "feature_importances_", n_resamples=5, random_state=0)
    assert found.replicates.shape == (5, 3)


def test_weights_are_copies_and_groups_stay_together():
    X, y = table(12)
    w = np.array([3.0, 1, 2, 1, 1, 4, 1, 1, 2, 1, 1, 1])
    rows = np.repeat(np.arange(12), w.astype(int))
    one = bootstrap(LinearRegression(), X, y, n_resamples=20, sample_weight=w, random_state=0)
    many = bootstrap(LinearRegression(), X[rows], y[rows], n_resamples=20, random_state=0)
    np.testing.assert_allclose(one.replicates, many.replicates, rtol=1e-9)
    groups = np.arange(60) // 10
    X, y = table()
    seen = bootstrap(
        None, groups[:, None], y, lambda X, y: len(y), groups=groups, n_resamples=10, random_state=0
    )
    assert set(seen.replicates.tolist()) == {60.0}
    counts = bootstrap(
        None, groups[:, None], y, lambda X, y: np.bincount(X[:, 0], minlength=6), groups=groups,
        n_resamples=10, random_state=0,
    )  # fmt: skip
    assert (counts.replicates % 10 == 0).all()


@pytest.mark.parametrize("dtype", ["str", "category"])
def test_a_level_that_was_not_drawn(dtype):
    import pandas

    frame = pandas.DataFrame({"kind": ["a"] * 2 + ["b"] * 29 + ["c"] * 2, "x": np.arange(33.0) % 7})
    frame["kind"] = frame["kind"].astype(dtype)
    rng = np.random.default_rng(0)
    y = frame["kind"].map({"a": 100.0, "b": 0.0, "c": 10.0}).astype(float) + rng.normal(size=33)
    found = bootstrap(LinearRegression(), frame, y, n_resamples=60, random_state=0)
    assert found.names == ("kind=b", "kind=c", "x")
    b, c, x = found.replicates.T
    assert not np.isnan(x).any()
    assert 0 < np.isnan(b).sum() < np.isnan(c).sum() < 60  # a is compared with; c is rare itself
    assert abs(b[~np.isnan(b)] + 100).max() < 4 and abs(c[~np.isnan(c)] + 90).max() < 4
    assert (found.std_error < 2).all() and (found.low[:2] < -85).all() and found.high[0] < -95
    assert f"kind=b ({np.isnan(b).sum()})" in str(found)
    start = bootstrap(LinearRegression(), frame, y, "intercept_", n_resamples=60, random_state=0)
    np.testing.assert_array_equal(np.isnan(start.replicates), np.isnan(b))
    shrunk = bootstrap(Lasso(0.01), frame, y, n_resamples=60, random_state=0)
    rare = list(shrunk.names).index("kind=c")
    assert (shrunk.replicates[:, rare] == 0).any() and not np.isnan(shrunk.replicates).any()


def test_exposure_and_sparse_tables():
    from scipy import sparse

    from pellucid.linear_model import PoissonRegressor

    X, y = table(400)
    exposure = np.random.default_rng(1).uniform(0.1, 9.0, 400)
    counts = np.random.default_rng(2).poisson(exposure * np.exp(0.2 * X[:, 0])).astype(float)
    model = PoissonRegressor(alpha=0)
    found = bootstrap(model, X, counts, exposure=exposure, n_resamples=100, random_state=0)
    fitted = model.fit(X, counts, exposure=exposure)
    np.testing.assert_array_equal(found.estimate, fitted.coef_)
    theory = np.array(fitted.summary().frame()["std error"])[1:]
    np.testing.assert_allclose(found.std_error, theory, rtol=0.35)
    dense = bootstrap(Lasso(0.1), X, y, n_resamples=5, random_state=0)
    for form in (sparse.coo_matrix, sparse.csc_array):
        other = bootstrap(Lasso(0.1), form(X), y, n_resamples=5, random_state=0)
        np.testing.assert_allclose(other.replicates, dense.replicates, atol=1e-9)
    with pytest.raises(ParameterError, match=r"Lasso\.fit has no argument 'exposure'"):
        bootstrap(Lasso(), X, y, exposure=exposure)


def test_what_cannot_be_is_said():
    X, y = table()
    with pytest.raises(ParameterError, match="it has aliased_, coef_"):
        bootstrap(LinearRegression(), X, y, "coeff_", n_resamples=2)
    with pytest.raises(ParameterError, match="has no fit method"):
        bootstrap(np.mean, X, y)
    with pytest.raises(ParameterError, match="n_resamples"):
        bootstrap(LinearRegression(), X, y, n_resamples=1)
    with pytest.raises(ParameterError, match="level"):
        bootstrap(LinearRegression(), X, y, level=95)
    with pytest.raises(ParameterError, match="function of the rows"):
        bootstrap(None, X)
    with pytest.raises(DataError, match=r"inconsistent|length|rows"):
        bootstrap(LinearRegression(), X, y[:-1])


def test_a_class_that_was_not_drawn():
    from pellucid.linear_model import LogisticRegression

    X = np.random.default_rng(0).normal(size=(40, 2))
    y = np.array([0] * 19 + [1] * 19 + [2] * 2)
    found = bootstrap(LogisticRegression(), X, y, n_resamples=60, random_state=0)
    unknown = np.isnan(found.replicates).reshape(60, -1)
    lacking = unknown.any(axis=1)
    assert 0 < lacking.sum() < 30 and unknown[lacking].all()
    known = found.replicates[~lacking]
    np.testing.assert_allclose(known.sum(axis=1), 0, atol=1e-6)  # three classes, not one thrice
    np.testing.assert_allclose(found.std_error, known.std(axis=0, ddof=1))
    assert f"0 ({lacking.sum()})" in str(found)
    four = bootstrap(LogisticRegression(), X, np.append(y[:-1], 3), n_resamples=20, random_state=0)
    assert four.replicates.shape == (20, 4, 2) and np.isnan(four.replicates).any()


def test_a_model_that_draws_is_drawn_by_the_seed():
    from pellucid.ensemble import RandomForestRegressor

    X, y = table(30)
    options = {"statistic": "feature_importances_", "n_resamples": 4, "random_state": 0}
    one, other = (bootstrap(RandomForestRegressor(3), X, y, **options) for _ in range(2))
    np.testing.assert_array_equal(one.estimate, other.estimate)
    np.testing.assert_array_equal(one.replicates, other.replicates)
    given = bootstrap(RandomForestRegressor(3, random_state=5), X, y, **options)
    own = RandomForestRegressor(3, random_state=5).fit(X, y).feature_importances_
    np.testing.assert_array_equal(given.estimate, own)


def test_populations_are_counted_not_copied():
    X, y = table(50)
    w = np.full(50, 1e12)
    found = bootstrap(LinearRegression(), X, y, sample_weight=w, n_resamples=5, random_state=0)
    np.testing.assert_allclose(found.replicates, np.tile(found.estimate, (5, 1)), rtol=1e-4)
    assert (found.std_error > 0).all()


def test_weights_of_what_takes_none_are_copies():
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=80), rng.integers(0, 5, 80)
    found = bootstrap(None, x, statistic=np.mean, sample_weight=w, n_resamples=200, random_state=0)
    assert found.estimate == pytest.approx(np.average(x, weights=w))
    assert found.low < found.estimate < found.high
    again = bootstrap(None, x.repeat(w), statistic=np.mean, n_resamples=200, random_state=0)
    np.testing.assert_array_equal(found.replicates, again.replicates)
    from sklearn.neighbors import KNeighborsRegressor

    X, y = table()
    group = np.arange(len(y)) % 7
    share = bootstrap(
        KNeighborsRegressor(), X, y, lambda m: m.predict(X[:2]), sample_weight=2 * np.ones(len(y)),
        groups=group, n_resamples=3,
    )  # fmt: skip
    whole = KNeighborsRegressor().fit(X.repeat(2, axis=0), y.repeat(2)).predict(X[:2])
    np.testing.assert_allclose(share.estimate, whole)


@pytest.mark.parametrize(("more", "said"), [
    ({"sample_weight": np.full(60, 0.5)}, "Only integer weights"),
    ({"sample_weight": np.full(60, 1e9)}, "too many to store"),
    ({"groups": [*range(59), None]}, "groups has a missing value in row 59"),
    ({"groups": [*range(59), np.nan]}, "groups has a missing value in row 59"),
    ({"offset": np.ones(60)}, "offset needs an estimator"),
])  # fmt: skip
def test_what_a_statistic_of_rows_cannot_take(more, said):
    X, y = table()
    with pytest.raises((DataError, ParameterError), match=said):
        bootstrap(None, X, y, lambda X, y: y.mean(), n_resamples=2, **more)


def test_what_is_no_estimator_and_no_number():
    X, y = table()
    with pytest.raises(ParameterError, match=r"must be an instance, LinearRegression\(\)"):
        bootstrap(LinearRegression, X, y)
    with pytest.raises(ParameterError, match="'status_' is not a number"):
        bootstrap(LinearRegression(), X, y, "status_")
    rows = [[float(v), "uv"[i % 2]] for i, v in enumerate(X[:, 0])]
    assert bootstrap(LinearRegression(), rows, y, n_resamples=5).estimate.shape == (2,)


def test_columns_may_be_named():
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(40, 2)), rng.integers(1, 3, 40)
    table = pd.DataFrame(X, columns=["a", "b"])
    y = X @ [1.0, 2.0] + rng.normal(size=40)
    options = {"n_resamples": 20, "random_state": 0}
    plain = bootstrap(LinearRegression(), table, y, sample_weight=w, **options)
    full = table.assign(y=y, w=w)
    named = bootstrap(LinearRegression(), full, "y", sample_weight="w", **options)
    np.testing.assert_array_equal(named.replicates, plain.replicates)
    assert named.names == ("a", "b")


def test_shares_are_drawn_by_their_trials():
    """Copies of a share are alike, so they spread less than the trials that made it."""
    rng = np.random.default_rng(0)
    x, trials = rng.normal(size=(60, 1)), rng.integers(3, 10, 60)
    hits = rng.binomial(trials, 1 / (1 + np.exp(-x[:, 0])))
    model = GeneralizedLinearModel(family="binomial")
    found = bootstrap(
        model, x, hits / trials, sample_weight=trials, n_resamples=120, random_state=0
    )
    fit = model.fit(x, hits / trials, sample_weight=trials)
    np.testing.assert_allclose(found.estimate, fit.coef_, rtol=1e-12)
    error = fit.summary().frame()["std error"][1]
    assert found.std_error[0] == pytest.approx(error, rel=4 / np.sqrt(240))
    frame = pd.DataFrame({"x": x[:, 0], "trials": trials, "share": hits / trials})
    named = bootstrap(model, frame, "share", sample_weight="trials", n_resamples=3, random_state=0)
    np.testing.assert_allclose(named.replicates, found.replicates[:3], rtol=1e-9)
