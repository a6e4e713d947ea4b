"""LinearRegression: vectors, peers, inference, tables."""

import numpy as np
import pytest

import pellucid
from pellucid.errors import ParameterError, PellucidError
from pellucid.linear_model import LinearRegression, Ridge
from tests.oracles import shared

BOSTON = [
    *(36.45948839, -0.10801136, 0.04642046, 0.02055863, 2.68673382, -17.76661123, 3.80986521),
    *(0.00069222, -1.47556685, 0.30604948, -0.01233459, -0.95274723, 0.00931168, -0.52475838),
]


def boston():
    table = shared.columns("boston.csv")
    target = next(name for name in table if name.lower() == "medv")
    X = np.column_stack([table[name] for name in table if name != target]).astype(float)
    return X, table[target].astype(float)


def test_simple_regression_vector():
    rng = np.random.RandomState(123)
    x, e = rng.randn(20), rng.randn(20)
    model = LinearRegression().fit(x[:, None], -4 + 2 * x + e)
    assert model.coef_[0] == pytest.approx(1.8865673118774786, abs=1e-12)
    assert model.intercept_ == pytest.approx(-4.268199687524583, abs=1e-12)


def test_boston_vectors():
    X, y = boston()
    model = LinearRegression().fit(X, y)
    np.testing.assert_allclose(np.append(model.intercept_, model.coef_), BOSTON, atol=6e-9)
    residual = np.sum((y - model.predict(X)) ** 2)
    assert residual == pytest.approx(11078.784577954975, rel=1e-12)
    header = dict(model.summary().header)
    assert header["residual sd"] ** 2 == pytest.approx(22.51785483324, rel=1e-11)
    assert header["R2"] == pytest.approx(0.7406426641094, abs=1e-12)
    assert header["degrees of freedom"] == 492
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    assert LinearRegression().fit(Z, y).intercept_ == pytest.approx(22.53280632, abs=1e-8)


def test_formula_vector_on_tips_with_a_category():
    tips = shared.frame("tips.csv")
    model = LinearRegression().fit(tips[["total_bill", "day"]], tips["tip"])
    found = {row[0]: row[1:3] for row in model.summary().rows}
    expected = {
        "intercept": (0.9394331185, 0.2684822957),
        "day=Sat": (-0.0859859960, 0.2610672425),
        "day=Sun": (0.0746538989, 0.2651832013),
        "day=Thur": (-0.0188835443, 0.2691495393),
        "total_bill": (0.1046727960, 0.0075222881),
    }
    assert set(found) == set(expected)
    for term, values in expected.items():
        np.testing.assert_allclose(found[term], values, atol=6e-11)
    assert dict(model.summary().header)["R2"] == pytest.approx(0.4588740260, abs=1e-10)


@pytest.mark.parametrize("weights", ["frequency", "precision"])
@pytest.mark.parametrize("intercept", [True, False])
def test_summary_equals_statsmodels(weights, intercept):
    peer = pytest.importorskip("statsmodels.api")
    rng = np.random.default_rng(0)
    X, y, w = rng.normal(size=(80, 3)), rng.normal(size=80), rng.integers(1, 4, 80)
    A = np.column_stack([np.ones(80), X]) if intercept else X
    if weights == "precision":
        theirs = peer.WLS(y, A, weights=w).fit()
    else:
        theirs = peer.OLS(np.repeat(y, w), np.repeat(A, w, axis=0)).fit()
    model = LinearRegression(fit_intercept=intercept).fit(X, y, sample_weight=w)
    table = model.summary(weights=weights, level=0.9)
    ours = np.array([row[1:] for row in table.rows])
    low, high = theirs.conf_int(0.1).T
    expected = [theirs.params, theirs.bse, theirs.tvalues, theirs.pvalues, low, high]
    np.testing.assert_allclose(ours, np.column_stack(expected), rtol=1e-9)
    header = dict(table.header)
    found = [header[name] for name in ("R2", "F", "p of F")]
    np.testing.assert_allclose(found, [theirs.rsquared, theirs.fvalue, theirs.f_pvalue], rtol=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("positive", [False, True])
def test_equal_to_the_peer(intercept, sparse, positive):
    peer = pytest.importorskip("sklearn.linear_model")
    scipy_sparse = pytest.importorskip("scipy.sparse")
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 5)) * (rng.uniform(size=(60, 5)) < 0.5)
    Y, w = rng.normal(size=(60, 2)) + X[:, :1], rng.uniform(0.1, 2, 60)
    table = scipy_sparse.csr_array(X) if sparse else X
    for y in (Y, Y[:, 0]):
        ours = LinearRegression(fit_intercept=intercept, positive=positive)
        ours.fit(table, y, sample_weight=w)
        theirs = peer.LinearRegression(fit_intercept=intercept, positive=positive)
        theirs.fit(X, y, sample_weight=w)
        assert ours.coef_.shape == theirs.coef_.shape
        assert np.shape(ours.intercept_) == np.shape(theirs.intercept_)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(ours.predict(table), theirs.predict(X), rtol=1e-9, atol=1e-12)
        if not positive and not sparse:
            assert ours.rank_ == theirs.rank_
            np.testing.assert_allclose(ours.singular_, theirs.singular_)


def test_a_wide_sparse_table_is_solved_iteratively(monkeypatch):
    sparse = pytest.importorskip("scipy.sparse")
    from pellucid.linear_model import linear_regression

    rng = np.random.default_rng(2)
    X = sparse.random_array((300, 40), density=0.2, rng=rng, format="csr")
    y = X @ rng.normal(size=40) + rng.normal(size=300)
    direct = LinearRegression().fit(X, y)
    monkeypatch.setattr(linear_regression, "DIRECT_WORK", 0)
    iterative = LinearRegression(tol=1e-12).fit(X, y)
    np.testing.assert_allclose(iterative.coef_, direct.coef_, rtol=1e-8)
    np.testing.assert_allclose(iterative.predict(X), direct.predict(X), rtol=1e-8)
    with pytest.raises(PellucidError, match="standard errors"):
        iterative.summary()


def test_sparse_tables_have_a_rank():
    sparse = pytest.importorskip("scipy.sparse")
    X = np.random.default_rng(6).normal(size=(20, 3))
    X[:, 2] = X[:, 0]
    assert LinearRegression().fit(sparse.csr_array(X), X[:, 1]).rank_ == 2


def test_aliased_columns_are_named():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(3)
    table = pandas.DataFrame({"a": rng.normal(size=30), "b": rng.normal(size=30)})
    table["twin"] = table["a"]
    table["flat"] = 2.5
    model = LinearRegression().fit(table, rng.normal(size=30))
    named = {model.terms_[j] for j in model.aliased_}
    assert "flat" in named and len(named & {"a", "twin"}) == 1 and len(named) == 2
    text = str(model.summary())
    assert "flat" in text and "not unique" in text
    assert model.coef_[0] == pytest.approx(model.coef_[2]) and model.coef_[3] == 0


def test_a_saturated_fit_says_that_it_has_no_standard_errors():
    model = LinearRegression().fit([[0.0], [1.0]], [1.0, 3.0])
    table = model.summary()
    assert np.isnan([row[2] for row in table.rows]).all()
    assert any("degrees of freedom" in note for note in table.notes)


def test_explanations_add_up_in_the_users_columns():
    tips = shared.frame("tips.csv")
    model = LinearRegression().fit(tips[["total_bill", "day", "size"]], tips["tip"])
    found = model.explain(tips[["total_bill", "day", "size"]].head(7))
    assert found.columns == ("total_bill", "day", "size")
    assert found.is_additive(1e-12)
    assert found.base[0] == pytest.approx(tips["tip"].mean())
    several = LinearRegression().fit([[0.0], [1], [2]], [[1.0, 2], [3, 1], [2, 0]])
    assert several.explain([[5.0]]).prediction.shape == (1, 2)


def test_save_and_load(tmp_path):
    X, y = np.random.default_rng(4).normal(size=(2, 50, 3))
    model = LinearRegression().fit(X, y)
    model.save(tmp_path / "m.pellucid")
    again = pellucid.load(tmp_path / "m.pellucid")
    assert again.predict(X).tobytes() == model.predict(X).tobytes()
    assert str(again.summary()) == str(model.summary())


def test_n_jobs_changes_no_bit():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(40_000, 12)), rng.normal(size=40_000)
    models = [LinearRegression(n_jobs=jobs).fit(X, y) for jobs in (1, 2, 4, None)]
    assert len({m.coef_.tobytes() + m.predict(X).tobytes() for m in models}) == 1


@pytest.mark.parametrize("arguments", [{"weights": "both"}, {"level": 1.0}, {"level": 0}])
def test_summary_refuses(arguments):
    with pytest.raises(ParameterError):
        LinearRegression().fit([[0.0], [1], [2]], [0.0, 1, 0]).summary(**arguments)


def test_check_estimator():
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    checks.check_estimator(LinearRegression(), expected_failed_checks={})


@pytest.mark.parametrize("model", [LinearRegression(positive=True), Ridge(positive=True)])
def test_active_sets_that_do_not_settle_are_said(model, monkeypatch):
    def endless(*given, **options):
        raise RuntimeError("Maximum number of iterations reached.")

    monkeypatch.setattr("scipy.optimize.nnls", endless)
    with pytest.raises(PellucidError, match=r"No coefficients >= 0 .* nearly span each other"):
        model.fit([[1.0], [2.0], [4.0]], [1.0, 2.0, 3.0])


@pytest.mark.parametrize("case", ["plain", "equal rows", "no intercept"])
def test_fewer_rows_than_columns(case):
    """The shortest solution, with every row fitted; which columns are free has no standard error."""
    rng = np.random.default_rng(5)
    X, y, w = rng.normal(size=(20, 60)) + 3, rng.normal(size=20), rng.uniform(0.5, 2, 20)
    if case == "equal rows":
        X[5], y[5] = X[4], y[4]
    constant = case != "no intercept"
    model = LinearRegression(fit_intercept=constant).fit(X, y, w)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-11)
    middle = w @ X / w.sum() * constant
    b = np.linalg.lstsq(X - middle, y - w @ y / w.sum() * constant, rcond=1e-14)[0]
    np.testing.assert_allclose(model.coef_, b, atol=1e-12 * np.abs(b).max(), rtol=1e-9)
    assert model.rank_ == 20 - constant - (case == "equal rows")
    assert np.isnan(model.inference_["unit_error"][:-1]).all()
