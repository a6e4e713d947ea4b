"""RidgeCV: rows really left out, scikit-learn, weights, vectors."""

import numpy as np
import pytest

from pellucid.errors import DataError, ParameterError
from pellucid.linear_model import Ridge, RidgeCV
from pellucid.linear_model._ridge.eigen import make_spectrum
from tests.oracles import shared

ALPHAS = np.array([1e-3, 0.3, 10.0, 300.0])


def sample(n=30, p=5, k=1, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * 10.0 ** rng.integers(-1, 2, p) + 5
    Y = X @ rng.normal(size=(p, k)) + rng.normal(size=(n, k))
    return X, Y if k > 1 else Y[:, 0]


def left_out(X, y, alpha, intercept, w=None):
    """Predictions of each row by a ridge regression that has not seen it (one copy of it)."""
    w = np.ones(len(X)) if w is None else w
    guess = []
    for i in range(len(X)):
        less = w - (np.arange(len(X)) == i)
        model = Ridge(alpha, fit_intercept=intercept).fit(X, y, less)
        guess.append(model.predict(X[[i]])[0])
    return np.array(guess)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("shape", [(30, 5), (12, 40), (12, 11), (8, 8)])
def test_rows_left_out_as_if_really_left_out(shape, intercept):
    X, y = sample(*shape)
    model = RidgeCV(ALPHAS, fit_intercept=intercept, store_cv_results=True).fit(X, y)
    for a, alpha in enumerate(ALPHAS):
        expected = (y - left_out(X, y, alpha, intercept)) ** 2
        np.testing.assert_allclose(model.cv_results_[:, a], expected, rtol=1e-6)
    scores = model.cv_results_.mean(axis=0)
    assert model.alpha_ == ALPHAS[scores.argmin()]
    assert model.best_score_ == pytest.approx(-scores.min(), rel=1e-12)
    plain = Ridge(model.alpha_, fit_intercept=intercept).fit(X, y)
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-12)


@pytest.mark.parametrize("shape", [(20, 3), (10, 15)])
def test_one_copy_is_left_out(shape):
    X, y = sample(*shape)
    w = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    model = RidgeCV(ALPHAS, store_cv_results=True).fit(X, y, w)
    for a, alpha in enumerate(ALPHAS):
        expected = (y - left_out(X, y, alpha, True, w)) ** 2
        np.testing.assert_allclose(model.cv_results_[:, a], expected, rtol=1e-6)
    rows = np.repeat(np.arange(len(y)), w.astype(int))
    again = RidgeCV(ALPHAS).fit(X[rows], y[rows])
    assert again.alpha_ == model.alpha_
    assert again.best_score_ == pytest.approx(model.best_score_, rel=1e-9)


@pytest.mark.parametrize("options", [{}, {"cv": 4}, {"scoring": "neg_mean_absolute_error"},
                                     {"cv": 3, "scoring": "neg_mean_absolute_error"},
                                     {"alpha_per_target": True}])  # fmt: skip
@pytest.mark.parametrize("k", [1, 3])
def test_scikit_learn_chooses_the_same(options, k):
    from sklearn.linear_model import RidgeCV as Theirs

    X, y = sample(60, 6, k)
    ours, theirs = RidgeCV(ALPHAS, **options).fit(X, y), Theirs(ALPHAS, **options).fit(X, y)
    np.testing.assert_array_equal(ours.alpha_, theirs.alpha_)
    np.testing.assert_allclose(ours.best_score_, theirs.best_score_, rtol=1e-8)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-7)


def test_boston_vectors():
    table = shared.frame("boston.csv")
    X, y = table.drop(columns="MEDV").to_numpy(float), table["MEDV"].to_numpy(float)
    assert RidgeCV([0.01, 1.0, 100.0]).fit(X, y).alpha_ == 0.01
    folds = np.array_split(np.arange(len(y)), 5)
    parts = [(np.setdiff1d(np.arange(len(y)), rows), rows) for rows in folds]

    def squares(model, X, y):
        return -float(np.sum((model.predict(X) - y) ** 2))

    errors = {}
    for alpha in (0.0, 1.0, 10.0):
        model = RidgeCV([alpha], cv=parts, scoring=squares).fit(X, y)
        errors[alpha] = -model.best_score_ * 5 / len(y)
    expected = {0.0: 37.083050, 1.0: 35.220178, 10.0: 33.351799}
    assert errors == pytest.approx(expected, abs=5e-7)
    assert RidgeCV([0.0, 1.0, 10.0], cv=5, scoring=squares).fit(X, y).alpha_ == 10.0


def test_nearly_dependent_columns_and_small_penalties():
    """Squares of columns would drown alpha; the triangle keeps it."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 4))
    X[:, 3] = X[:, 2] + 1e-7 * rng.normal(size=40)
    y = X @ [1, 2, 3, 4] + rng.normal(size=40)
    model = RidgeCV([1e-12, 1e-3], store_cv_results=True).fit(X, y)
    for a, alpha in enumerate((1e-12, 1e-3)):
        expected = (y - left_out(X, y, alpha, True)) ** 2
        np.testing.assert_allclose(model.cv_results_[:, a], expected, rtol=1e-4)


def test_sparse_tables_and_splitters():
    from scipy.sparse import csr_array
    from sklearn.model_selection import KFold

    X, y = sample(40, 6)
    X[np.abs(X) < 5] = 0
    dense, thin = RidgeCV(ALPHAS).fit(X, y), RidgeCV(ALPHAS).fit(csr_array(X), y)
    assert dense.alpha_ == thin.alpha_
    np.testing.assert_allclose(dense.coef_, thin.coef_, rtol=1e-10)
    folds = KFold(4, shuffle=True, random_state=0)
    by_object = RidgeCV(ALPHAS, cv=folds).fit(X, y)
    by_list = RidgeCV(ALPHAS, cv=list(folds.split(X))).fit(X, y)
    assert by_object.best_score_ == by_list.best_score_


def test_what_cannot_be_is_said():
    X, y = sample()
    with pytest.raises(ParameterError, match="alphas"):
        RidgeCV([-1.0]).fit(X, y)
    with pytest.raises(ParameterError, match="incompatible"):
        RidgeCV(cv=3, store_cv_results=True).fit(X, y)
    with pytest.raises(DataError, match="n_splits=9"):
        RidgeCV(cv=9).fit(X[:5], y[:5])
    half = np.arange(30) < 15
    for train, test in (([0, 1], [99]), ([0, 1], [-1]), (half[:20], ~half), ([0.5], [1])):
        with pytest.raises(DataError, match="row numbers from 0 to 29, or one bool"):
            RidgeCV(cv=[(train, test)]).fit(X, y)
    assert RidgeCV(cv=[(half, ~half)]).fit(X, y).best_score_ == (
        RidgeCV(cv=[(range(15), range(15, 30))]).fit(X, y).best_score_
    )


def test_zero_is_least_squares():
    from pellucid.linear_model import LinearRegression

    X, y = sample()
    model = RidgeCV([0.0]).fit(X, y)
    np.testing.assert_allclose(model.coef_, LinearRegression().fit(X, y).coef_, rtol=1e-10)
    guess = left_out(X, y, 0.0, True)
    assert model.best_score_ == pytest.approx(-np.mean((y - guess) ** 2), rel=1e-8)


@pytest.mark.parametrize("each", [False, True])
def test_targets_without_a_common_score_are_refused_in_words(each):
    scores = np.array([[np.nan, 1.0], [np.nan if each else 1.0, np.nan]])
    with pytest.raises(DataError, match="No penalty has a score"):
        RidgeCV(alpha_per_target=each)._choice(np.array([1.0, 2.0]), scores, True, 2)


def test_left_out_rows_stand_where_they_were_given():
    X, y = sample()
    w = np.ones(len(y))
    w[[3, 7]] = 0
    model = RidgeCV(store_cv_results=True).fit(X, y, w)
    assert np.isnan(model.cv_results_[[3, 7]]).all() and model.cv_results_.shape == (len(y), 3)
    without = RidgeCV(store_cv_results=True).fit(X[w > 0], y[w > 0])
    np.testing.assert_allclose(model.cv_results_[w > 0], without.cv_results_, rtol=1e-9)
    with pytest.raises(ParameterError, match="'alphas' parameter of RidgeCV must be numbers"):
        RidgeCV(["a", "b"]).fit(X, y)


@pytest.mark.parametrize("cv", [None, 3])
def test_a_scorer_sees_all_targets_at_once(cv):
    from sklearn.linear_model import RidgeCV as Peer
    from sklearn.metrics import make_scorer

    shapes = []

    def worst_target(y, guess):
        shapes.append(guess.shape[1:])
        return -np.abs(y - guess).mean(axis=0).max()

    X, Y = sample(k=3)
    Y[:, 1] *= 50
    asked = {"alphas": ALPHAS, "cv": cv, "scoring": make_scorer(worst_target)}
    model, peer = RidgeCV(**asked).fit(X, Y), Peer(**asked).fit(X, Y)
    assert set(shapes) == {(3,)}
    assert model.alpha_ == peer.alpha_
    np.testing.assert_allclose(model.best_score_, peer.best_score_, rtol=1e-9)
    np.testing.assert_allclose(model.coef_, peer.coef_, rtol=1e-6)


@pytest.mark.parametrize("size", [2.0**200, 2.0**-200])
def test_wide_columns_of_extreme_size_change_nothing_but_the_scale(size: float) -> None:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(20, 45))
    y = X[:, :4].sum(axis=1) + rng.normal(size=20)
    alphas = np.array([0.1, 1.0, 10.0])
    plain = RidgeCV(alphas=alphas).fit(X, y)
    scaled = RidgeCV(alphas=alphas * size**2).fit(X * size, y)
    assert scaled.alpha_ == plain.alpha_ * size**2
    np.testing.assert_allclose(scaled.coef_ * size, plain.coef_, rtol=1e-10)


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_wide_folds_score_as_fits_on_their_rows(offset: float) -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(30, 60)) + offset
    y = X[:, :4].sum(axis=1) + rng.normal(size=30)
    model = RidgeCV(alphas=[0.5, 5.0], cv=3).fit(X, y)
    folds = np.array_split(np.arange(30), 3)
    scores = []
    for alpha in (0.5, 5.0):
        of_folds = []
        for test in folds:
            train = np.setdiff1d(np.arange(30), test)
            fitted = Ridge(alpha=alpha).fit(X[train], y[train])
            of_folds.append(fitted.score(X[test], y[test]))
        scores.append(np.mean(of_folds))
    assert model.alpha_ == (0.5, 5.0)[int(np.argmax(scores))]
    np.testing.assert_allclose(model.best_score_, max(scores), rtol=1e-7)


def test_directions_of_a_wide_table_are_orthonormal_and_rebuild_it() -> None:
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(20, 60)), rng.normal(size=(20, 1))
    made = make_spectrum(X, y, np.ones(20), True)
    V, centred = made.vectors, X - X.mean(axis=0)
    np.testing.assert_allclose(V.T @ V, np.eye(19), atol=1e-12)
    np.testing.assert_allclose(V * made.values @ V.T, centred.T @ centred, atol=1e-10)
