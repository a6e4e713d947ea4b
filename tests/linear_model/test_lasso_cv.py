"""LassoCV and ElasticNetCV: scikit-learn's errors along the path, vectors, weights, threads."""

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import make_pipeline

import pellucid.linear_model
from pellucid.errors import ParameterError
from pellucid.linear_model import ElasticNet, ElasticNetCV, Lasso, LassoCV
from tests.oracles import shared


def sample(n=80, p=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) + 3
    X[:, 1] = X[:, 0] + 0.3 * rng.normal(size=n)
    return X, X[:, 0] - 2 * X[:, 2] + 0.5 * X[:, 3] + rng.normal(size=n)


OPTIONS = [
    *({}, {"positive": True}, {"fit_intercept": False}, {"cv": 3}),
    *({"alphas": [1.0, 0.1, 0.01]}, {"alphas": 20, "eps": 1e-4}),
]


@pytest.mark.parametrize("options", OPTIONS)
def test_errors_along_the_path_are_scikit_learns(options):
    from sklearn.linear_model import LassoCV as Theirs

    X, y = sample()
    ours = LassoCV(**options).fit(X, y)
    theirs = Theirs(**options, tol=1e-10, max_iter=100_000).fit(X, y)
    np.testing.assert_allclose(ours.alphas_, theirs.alphas_, rtol=1e-10)
    np.testing.assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=1e-4)
    assert ours.alpha_ == pytest.approx(theirs.alpha_, rel=1e-10)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-4, atol=1e-6)
    plain = Lasso(ours.alpha_, positive=ours.positive, fit_intercept=ours.fit_intercept)
    np.testing.assert_array_equal(ours.coef_, plain.fit(X, y).coef_)


def test_errors_have_eight_digits_in_common_with_scikit_learn():
    from sklearn.linear_model import LassoCV as Theirs

    rng = np.random.default_rng(3)
    X = rng.normal(size=(150, 60))
    y = X @ np.where(np.arange(60) < 12, 5.0, 0.2) + 4 * rng.normal(size=150)
    ours = LassoCV(alphas=60).fit(X, y)
    theirs = Theirs(alphas=60, tol=1e-15, max_iter=100_000).fit(X, y)
    np.testing.assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=1e-8)
    assert ours.alpha_ == pytest.approx(theirs.alpha_, rel=1e-12)


def test_a_ratio_given_twice():
    X, y = sample()
    twice = ElasticNetCV(l1_ratio=[1.0, 1.0], alphas=8).fit(X, 1e6 * y)
    np.testing.assert_array_equal(twice.mse_path_[0], twice.mse_path_[1])
    np.testing.assert_array_equal(twice.mse_path_[0], LassoCV(alphas=8).fit(X, 1e6 * y).mse_path_)


def test_several_ratios_and_wide_tables():
    from sklearn.linear_model import ElasticNetCV as Theirs

    for shape in ((80, 12), (30, 60), (12, 80)):
        X, y = sample(*shape)
        options = {"l1_ratio": [0.2, 0.9], "alphas": 15, "cv": 3, "eps": 1e-2}
        ours = ElasticNetCV(**options).fit(X, y)
        theirs = Theirs(**options, tol=1e-10, max_iter=100_000).fit(X, y)
        np.testing.assert_allclose(ours.mse_path_, theirs.mse_path_, rtol=1e-4)
        assert (ours.l1_ratio_, ours.alpha_) == pytest.approx((theirs.l1_ratio_, theirs.alpha_))
        plain = ElasticNet(ours.alpha_, l1_ratio=ours.l1_ratio_).fit(X, y)
        np.testing.assert_array_equal(ours.coef_, plain.coef_)


def test_boston_vector():
    table = shared.frame("boston.csv")
    X, y = table.drop(columns="MEDV"), table["MEDV"]
    model = LassoCV(alphas=[0.01, 1.0, 100.0]).fit(X, y)
    assert (model.alpha_, model.l1_ratio_) == (1.0, 1.0)
    # the printed 35.528 is scikit-learn's at its default tol; at the optimum it is 35.530197
    errors = model.mse_path_.mean(axis=1)
    np.testing.assert_allclose(errors, [73.858374, 35.530197, 36.200689], atol=6e-7)
    np.testing.assert_allclose(errors, [73.858, 35.528, 36.201], atol=3e-3)
    assert LassoCV(alphas=[0.01, 1.0, 100.0], cv=3).fit(X, y).alpha_ == 1.0


def test_weights_are_copies_also_across_the_edges_of_folds():
    X, y = sample(31)
    w = np.random.default_rng(1).integers(1, 4, 31).astype(float)
    rows = np.repeat(np.arange(31), w.astype(int))
    one, many = LassoCV().fit(X, y, w), LassoCV().fit(X[rows], y[rows])
    np.testing.assert_allclose(one.mse_path_, many.mse_path_, rtol=1e-6)
    np.testing.assert_allclose(one.coef_, many.coef_, rtol=1e-9, atol=1e-12)


def test_sparse_tables_and_folds_that_leave_rows_out():
    from scipy.sparse import csr_array

    X, y = sample()
    X[X < 3] = 0
    folds = [(np.arange(0, 30), np.arange(30, 50)), (np.arange(40, 80), np.arange(0, 20))]
    dense, thin = LassoCV(cv=folds).fit(X, y), LassoCV(cv=folds).fit(csr_array(X), y)
    np.testing.assert_allclose(dense.mse_path_, thin.mse_path_, rtol=1e-6)
    for a in (10, 50):
        expected = [
            np.mean(
                (y[test] - Lasso(dense.alphas_[a]).fit(X[train], y[train]).predict(X[test])) ** 2
            )
            for train, test in folds
        ]
        np.testing.assert_allclose(dense.mse_path_[a], expected, rtol=1e-4)


def test_threads_change_no_bit():
    from pellucid import set_threads

    X, y = sample(200, 40)
    found = []
    for n in (1, 2, 4):
        set_threads(n)
        try:
            found.append(LassoCV().fit(X, y))
        finally:
            set_threads(None)
    for other in found[1:]:
        np.testing.assert_array_equal(found[0].mse_path_, other.mse_path_)
        np.testing.assert_array_equal(found[0].coef_, other.coef_)


def test_no_l1_part_and_bad_shares():
    X, y = sample()
    model = ElasticNetCV(l1_ratio=0.0, alphas=[1.0, 0.1, 0.0]).fit(X, y)
    plain = ElasticNet(model.alpha_, l1_ratio=0.0).fit(X, y)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    with pytest.raises(ParameterError, match="not supported for l1_ratio=0"):
        ElasticNetCV(l1_ratio=0.0).fit(X, y)
    with pytest.raises(ParameterError, match="l1_ratio"):
        ElasticNetCV(l1_ratio=[0.5, 1.5]).fit(X, y)
    with pytest.raises(ParameterError, match="alphas"):
        LassoCV(alphas=[-1.0]).fit(X, y)


def test_parameters_without_effect(capsys):
    X, y = sample()
    before, plain = X.copy(), LassoCV().fit(X, y)
    odd = LassoCV(precompute=False, copy_X=False, verbose=1, random_state=3, selection="random")
    np.testing.assert_array_equal(odd.fit(X, y).coef_, plain.coef_)
    np.testing.assert_array_equal(X, before)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("Model", [LassoCV, ElasticNetCV])
def test_descent_ends_where_the_exact_fit_does(Model):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 6))
    y = X @ [2.0, -1.0, 0.0, 0.0, 0.5, 0.0] + rng.normal(size=60)
    exact = Model(alphas=8).fit(X, y)
    watched = Model(alphas=8, solver="gd", tol=1e-13, max_iter=5000).fit(X, y)
    assert watched.alpha_ == exact.alpha_
    np.testing.assert_allclose(watched.coef_, exact.coef_, atol=1e-10)
    assert (np.diff(watched.history_["objective"]) <= 1e-12).all()
    assert len(watched.history_["objective"]) == watched.n_iter_ + 1


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("seed", [42, 43])
def test_folds_that_are_almost_interpolated(seed, positive):
    """As many columns in use as rows: one comes in for another."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 60)) + 2
    y = X @ (rng.normal(size=60) * (rng.uniform(size=60) < 0.4)) + 0.01 * rng.normal(size=40)
    model = LassoCV(alphas=12, positive=positive).fit(X, y)
    for k in range(5):
        test = np.arange(40) // 8 == k
        for a in (7, 9, 11):
            own = Lasso(model.alphas_[a], positive=positive, max_iter=10**5)
            left = y[test] - own.fit(X[~test], y[~test]).predict(X[test])
            assert model.mse_path_[a, k] == pytest.approx(np.mean(left**2), rel=1e-8)


def test_given_penalties_are_kept_once_for_all_l1_ratios():
    """As in scikit-learn: only penalties that follow from the data depend on l1_ratio."""
    X, y = np.random.default_rng(0).normal(size=(2, 40, 3))[0], np.arange(40.0)
    model = ElasticNetCV(l1_ratio=[0.5, 0.9], alphas=[0.1, 1.0]).fit(X, y)
    assert model.alphas_.tolist() == [1.0, 0.1] and model.mse_path_.shape == (2, 2, 5)
    assert ElasticNetCV(l1_ratio=[0.5, 0.9], alphas=5).fit(X, y).alphas_.shape == (2, 5)


@pytest.mark.parametrize("name", ["LassoCV", "ElasticNetCV", "RidgeCV", "LogisticRegressionCV"])
def test_groups_are_routed_to_the_splitter(name):
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(60, 3)), np.repeat(np.arange(10), 6)
    y = X @ [1.0, 2.0, 3.0] + rng.normal(size=60)
    y = y > 0 if name == "LogisticRegressionCV" else y
    Model, cv = getattr(pellucid.linear_model, name), GroupKFold(3)
    with pytest.raises(ParameterError, match="only with metadata routing"):
        Model(cv=cv).fit(X, y, groups=groups)
    with sklearn.config_context(enable_metadata_routing=True):
        model = make_pipeline(Model(cv=cv)).fit(X, y, groups=groups)[-1]
    given = Model(cv=list(cv.split(X, y, groups))).fit(X, y)
    np.testing.assert_array_equal(model.coef_, given.coef_)
