"""SGDRegressor: scikit-learn step by step, the optimum it walks to, batches, bad input."""

import numpy as np
import pandas as pd
import pytest
import sklearn.linear_model as theirs
from scipy.sparse import csr_matrix

from pellucid import Table, load
from pellucid.errors import ConvergenceWarning, ParameterError
from pellucid.linear_model import LinearRegression, Ridge, SGDRegressor

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 5))
Y = X @ [1.0, -2.0, 0.5, 0.0, 3.0] + 2 + RNG.normal(size=300)


@pytest.mark.parametrize(
    "options",
    [
        {}, {"loss": "huber"}, {"loss": "epsilon_insensitive"},
        {"loss": "squared_epsilon_insensitive"}, {"penalty": "l1", "alpha": 0.1},
        {"penalty": "elasticnet", "alpha": 0.1, "l1_ratio": 0.4}, {"penalty": None},
        {"average": True}, {"average": 100}, {"learning_rate": "constant"},
        {"learning_rate": "optimal", "alpha": 0.1}, {"learning_rate": "adaptive"},
        {"power_t": 0.6, "eta0": 0.1}, {"fit_intercept": False},
        {"learning_rate": "pa1", "loss": "epsilon_insensitive", "eta0": 1.0, "penalty": None},
        {"learning_rate": "pa2", "loss": "epsilon_insensitive", "eta0": 1.0, "penalty": None},
    ],
    ids=str,
)  # fmt: skip
def test_steps_are_scikit_learns(options):
    """In the same order of rows every coefficient is the same after three passes."""
    chosen = options | {"shuffle": False, "tol": None, "max_iter": 3}
    a = SGDRegressor(**chosen).fit(X, Y)
    b = theirs.SGDRegressor(**chosen).fit(X, Y)
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(a.intercept_, b.intercept_, rtol=1e-9, atol=1e-12)
    assert (a.t_, a.n_iter_) == (b.t_, b.n_iter_)


def test_weights_are_repetition():
    w = RNG.integers(0, 4, len(Y)).astype(float)
    a = SGDRegressor(random_state=1).fit(X, Y, sample_weight=w)
    rows = np.repeat(np.arange(len(Y)), w.astype(int))
    b = SGDRegressor(random_state=1).fit(X[rows], Y[rows])
    assert (a.coef_ == b.coef_).all() and (a.intercept_ == b.intercept_).all()


@pytest.mark.parametrize("alpha, rival", [(0.0, LinearRegression()), (0.1, Ridge(0.1 * 300))])
def test_walks_to_the_optimum(alpha, rival):
    model = SGDRegressor(alpha=alpha, average=30_000, max_iter=300, tol=None, random_state=0)
    model.fit(X, Y)
    np.testing.assert_allclose(model.coef_, rival.fit(X, Y).coef_, atol=3e-3)
    assert model.intercept_[0] == pytest.approx(rival.intercept_, abs=3e-3)


def test_losses_that_outliers_do_not_move():
    spoiled = np.where(np.arange(300) % 20 == 0, Y + 1000, Y)
    for loss in ("huber", "epsilon_insensitive"):
        model = SGDRegressor(
            loss, random_state=0, average=30_000, max_iter=200, tol=None, epsilon=0.5, eta0=0.05
        )
        assert np.abs(model.fit(X, spoiled).coef_ - [1, -2, 0.5, 0, 3]).max() < 0.25
    plain = SGDRegressor(random_state=0).fit(X, spoiled)
    assert np.abs(plain.coef_ - [1, -2, 0.5, 0, 3]).max() > 1


def test_partial_fit_goes_on_and_batches_are_one_pass():
    model = SGDRegressor(shuffle=False)
    for part in np.array_split(np.arange(300), 4):
        model.partial_fit(X[part], Y[part])
    once = SGDRegressor(shuffle=False, max_iter=1, tol=None).fit(X, Y)
    np.testing.assert_allclose(model.coef_, once.coef_, rtol=1e-9)
    assert model.t_ == 301
    for name in ("early_stopping", "standardize"):
        with pytest.raises(ParameterError, match=f"{name} should be False with partial_fit"):
            SGDRegressor(**{name: True}).partial_fit(X, Y)


def test_standardize_makes_units_irrelevant():
    """Scales are powers of two, so the walk is the same to the last bit."""
    plain = SGDRegressor(standardize=True, random_state=0, max_iter=5, tol=None, shuffle=False)
    plain.fit((X - X.mean(axis=0)) / X.std(axis=0), (Y - Y.mean()) / Y.std())
    other = SGDRegressor(standardize=True, random_state=0, max_iter=5, tol=None, shuffle=False)
    other.fit(X * 2.0**40 + 2.0**42, Y * 2.0**-30)
    coef = plain.coef_ * Y.std() / X.std(axis=0)
    np.testing.assert_allclose(other.coef_ * 2.0**70, coef, rtol=1e-9)
    good = SGDRegressor(standardize=True, random_state=0).fit(X * 1e6, Y * 1e-6)
    assert good.status_.ok and good.score(X * 1e6, Y * 1e-6) > 0.9
    sparse = SGDRegressor(standardize=True, random_state=0).fit(csr_matrix(X * 1e6), Y)
    assert sparse.score(csr_matrix(X * 1e6), Y) > 0.9
    warm = SGDRegressor(standardize=True, warm_start=True, random_state=0).fit(X * 1e6, Y)
    assert warm.fit(X * 1e6, Y).n_iter_ <= good.n_iter_


def test_sparse_rows_give_the_same_steps():
    few = np.where(np.abs(X) < 0.7, 0.0, X)
    for penalty in ("l2", None):
        chosen = {"shuffle": False, "tol": None, "max_iter": 3, "penalty": penalty}
        dense, sparse = (SGDRegressor(**chosen).fit(A, Y) for A in (few, csr_matrix(few)))
        np.testing.assert_allclose(dense.coef_, sparse.coef_, rtol=1e-9)


def test_stopping():
    model = SGDRegressor(random_state=0).fit(X, Y)
    assert model.status_.code == "converged" and model.n_iter_ < 100
    assert len(model.history_["objective"]) == model.n_iter_
    judged = SGDRegressor(early_stopping=True, random_state=0).fit(X, Y)
    assert judged.status_.code == "converged"
    assert judged.score(X, Y) > 0.9
    with pytest.warns(ConvergenceWarning, match=r"still falling after 2 epochs"):
        SGDRegressor(max_iter=2, random_state=0).fit(X, Y)


def test_warm_starts_and_given_starts():
    first = SGDRegressor(max_iter=1, tol=None, shuffle=False).fit(X, Y)
    given = SGDRegressor(max_iter=1, tol=None, shuffle=False)
    given.fit(X, Y, coef_init=first.coef_, intercept_init=first.intercept_)
    warm = SGDRegressor(max_iter=1, tol=None, shuffle=False, warm_start=True).fit(X, Y).fit(X, Y)
    assert (given.coef_ == warm.coef_).all()
    with pytest.raises(ParameterError, match=r"shape \(5,\) and intercept_init shape \(1,\)"):
        SGDRegressor().fit(X, Y, coef_init=np.zeros(4))


def test_divergence_is_named_and_stays_finite():
    with pytest.warns(ConvergenceWarning, match=r"Standardise the columns .*, or lower eta0"):
        model = SGDRegressor(random_state=0).fit(X * 1e6, Y)
    assert model.status_.code == "diverged"
    assert np.isfinite(model.predict(X)).all()
    with pytest.warns(ConvergenceWarning, match="coefficients diverged in epoch"):
        model = SGDRegressor(random_state=0, eta0=1e6).fit(X * 1e9, Y)
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("options, said", [
    ({"alpha": 0.0, "learning_rate": "optimal"}, "alpha must be > 0"),
    ({"learning_rate": "pa1"}, "only works with loss 'epsilon_insensitive'"),
    ({"alpha": -1.0}, "'alpha' parameter"), ({"loss": "hinge"}, "'loss' parameter"),
    ({"l1_ratio": 1.5}, "'l1_ratio' parameter"),
    ({"early_stopping": True, "validation_fraction": 0.999}, "too few of 300 rows for training"),
])  # fmt: skip
def test_impossible_options(options, said):
    with pytest.raises(ParameterError, match=said):
        SGDRegressor(**options).fit(X, Y)


def test_a_constant_whose_mean_rounds_has_no_unit():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=37), np.full(37, 333333.33)])
    model = SGDRegressor(standardize=True, random_state=0).fit(X, X[:, 0])
    assert abs(model.coef_[1]) < 1e-3 and abs(model.intercept_) < 1e3
    flat = SGDRegressor(standardize=True, random_state=0).fit(X[:, :1], np.full(37, 333333.33))
    np.testing.assert_allclose(flat.predict(X[:, :1]), 333333.33, rtol=1e-9)


@pytest.mark.parametrize("options", [{}, {"average": True}, {"penalty": "l1", "alpha": 0.01}])
def test_batches_go_on_from_standardised_coefficients_in_the_users_units(options):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2)) + 5
    y = X @ [2.0, -1.0] + 7
    model = SGDRegressor(standardize=True, random_state=0, eta0=1e-3, **options).fit(X, y)
    before, start = model.predict(X), model.coef_.copy()
    model.set_params(standardize=False, eta0=1e-12).partial_fit(X, y)
    near = 0.05 if "average" in options else 1e-7  # a mean of steps still moves
    np.testing.assert_allclose(model.coef_, start, atol=near)
    np.testing.assert_allclose(model.predict(X), before, atol=near)


def test_standardised_columns_without_an_intercept_keep_their_zero():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2)) + 5
    y = X @ [2.0, -1.0] + 50
    model = SGDRegressor(
        standardize=True, fit_intercept=False, alpha=0, average=10, max_iter=3000, tol=1e-9,
        random_state=0,
    ).fit(X, y)  # fmt: skip
    best = np.linalg.lstsq(X, y, rcond=None)[0]
    assert model.intercept_ == 0
    np.testing.assert_allclose(model.coef_, best, atol=0.3)


def test_losses_are_no_attribute():
    assert not hasattr(SGDRegressor(), "loss_functions")


@pytest.mark.parametrize(("penalty", "shown"), [
    (None, set()), ("l2", {"alpha"}), ("l1", {"alpha"}), ("elasticnet", {"alpha", "l1_ratio"}),
])  # fmt: skip
def test_summary_names_the_penalty_that_there_is(penalty, shown):
    X = np.random.default_rng(0).normal(size=(50, 2))
    table = SGDRegressor(penalty=penalty, random_state=0).fit(X, X @ [1.0, 2.0]).summary()
    assert set(dict(table.header)) == shown
    assert ("shrunk" in str(table)) == (penalty is not None)


@pytest.mark.parametrize("average", [False, True])
def test_all_parts_of_a_diverged_model_are_finite(average, tmp_path):
    options = {"learning_rate": "constant", "eta0": 1e200, "penalty": "l1", "average": average}
    with pytest.warns(ConvergenceWarning, match="coefficients diverged"):
        model = SGDRegressor(random_state=0, **options).fit(X * 1e150, Y)
    for part in (model.coef_, model.averaged_, model.pulled_, model.walk_):
        assert np.isfinite(part).all()
    model.save(tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").predict(X), model.predict(X))


def test_words_have_coefficients():
    said = ["good and cheap", "good", "bad", "bad and dear"] * 10
    frame = pd.DataFrame({"say": said})
    model = SGDRegressor(random_state=0, table=Table(kinds={"say": "text"}))
    model.fit(frame, [1.0, 1.0, -1.0, -1.0] * 10)
    assert (np.sign(model.predict(frame)) == [1, 1, -1, -1] * 10).all()
