"""Ridge: vectors, the augmented least-squares problem as oracle, solvers, bad input."""

import numpy as np
import pytest

from pellucid.errors import DataError, ParameterError
from pellucid.linear_model import LinearRegression, Ridge
from tests.linear_model.test_linear_regression import boston

BOSTON = [
    *(-0.85905074, 0.95497477, -0.04132656, 0.70777968, -1.81261091, 2.74234394, -0.03238278),
    *(-2.85675627, 2.0978234, -1.56539453, -1.98775121, 0.84470905, -3.62394181),
]
X4, Y4 = np.array([[1.0], [2.0], [3.0], [4.0]]), np.array([2.0, 3.0, 5.0, 8.0])


def standardised():
    X, y = boston()
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def augmented(X, y, w, alpha):
    """The same optimum by least squares on centred rows with sqrt(alpha) below."""
    share = w / w.sum()
    mean, mean_y = share @ X, share @ y
    root = np.sqrt(w)
    A = np.concatenate([(X - mean) * root[:, None], np.sqrt(alpha) * np.eye(X.shape[1])])
    b = np.linalg.lstsq(A, np.append((y - mean_y) * root, np.zeros(X.shape[1])), rcond=None)[0]
    return b, mean_y - mean @ b


def test_small_vectors():
    for alpha, slope, intercept in ((0.0, 2.0, -0.5), (1.0, 5 / 3, 1 / 3), (5.0, 1.0, 2.0)):
        model = Ridge(alpha).fit(X4, Y4)
        assert model.coef_[0] == pytest.approx(slope, abs=1e-14)
        assert model.intercept_ == pytest.approx(intercept, abs=1e-14)


def test_boston_vector():
    model = Ridge(alpha=10).fit(*standardised())
    np.testing.assert_allclose(model.coef_, BOSTON, atol=1e-8)
    assert model.intercept_ == pytest.approx(22.53280632, abs=1e-8)


def test_gradient_descent_trace():
    """The vector has a step of 0.01 along the gradient of half the sum of squares of 4 rows."""
    losses = [51.0, 23.1023, 10.72613068]
    options = {"solver": "gd", "step": 0.01 * 4, "max_iter": 2, "tol": 0.0}
    for model in (Ridge(0.0, **options), LinearRegression(**options)):
        with pytest.warns(UserWarning, match="Stopped after 2 iterations"):
            model.fit(X4, Y4)
        np.testing.assert_allclose(model.history_["objective"], losses, rtol=1e-9)
        assert model.intercept_ == pytest.approx(0.2978, abs=1e-12)
        assert model.coef_[0] == pytest.approx(0.917, abs=1e-12)


def test_gradient_descent_finds_the_direct_solution():
    X, y = standardised()
    slow = Ridge(10.0, solver="gd", max_iter=20_000, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(slow.coef_, Ridge(10.0).fit(X, y).coef_, rtol=1e-8)


@pytest.mark.parametrize("shape", [(40, 6), (15, 50)])
@pytest.mark.parametrize("alpha", [1e-6, 1.0, 1e4])
def test_tall_and_wide_tables_with_weights(shape, alpha):
    rng = np.random.default_rng(3)
    X, y, w = rng.normal(size=shape) + 7, rng.normal(size=shape[0]), rng.uniform(1, 3, shape[0])
    model = Ridge(alpha).fit(X, y, w)
    coef, intercept = augmented(X, y, w, alpha)
    np.testing.assert_allclose(model.coef_, coef, rtol=1e-8, atol=1e-13)
    assert model.intercept_ == pytest.approx(intercept, rel=1e-8)


def test_nearly_dependent_columns_keep_their_digits():
    """The third column is the sum of two others but for 1e-7: rational arithmetic as oracle."""
    from fractions import Fraction

    rng = np.random.default_rng(0)
    X = rng.integers(-8, 9, size=(12, 2)).astype(float)
    X = np.column_stack([X, X.sum(axis=1) + 2.0**-23 * rng.integers(-8, 9, size=12)])
    y, alpha = rng.integers(-20, 20, size=12).astype(float), 2.0**-50
    rows = [[Fraction(v) for v in row] for row in X]
    A = [[sum(r[i] * r[j] for r in rows) + (i == j) * Fraction(alpha) for j in range(3)]
         for i in range(3)]  # fmt: skip
    b = [sum(r[i] * Fraction(t) for r, t in zip(rows, y)) for i in range(3)]
    for i in range(3):  # Gauss-Jordan in fractions
        for k in range(3):
            if k != i:
                ratio = A[k][i] / A[i][i]
                A[k] = [u - ratio * v for u, v in zip(A[k], A[i])]
                b[k] -= ratio * b[i]
    exact = [float(b[i] / A[i][i]) for i in range(3)]
    model = Ridge(alpha, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(model.coef_, exact, rtol=1e-12)


def test_no_penalty_is_least_squares_even_if_columns_are_copies():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 3))
    X = np.column_stack([X, X[:, 0]])
    y = rng.normal(size=30)
    plain = LinearRegression().fit(X, y)
    for alpha in (0.0, 1e-300):
        np.testing.assert_allclose(Ridge(alpha).fit(X, y).coef_, plain.coef_, rtol=1e-12)


def test_several_targets_have_their_own_strength():
    rng = np.random.default_rng(2)
    X, Y = rng.normal(size=(30, 4)), rng.normal(size=(30, 3))
    both = Ridge([0.0, 1.0, 50.0]).fit(X, Y)
    for k, alpha in enumerate((0.0, 1.0, 50.0)):
        np.testing.assert_allclose(both.coef_[k], Ridge(alpha).fit(X, Y[:, k]).coef_, rtol=1e-12)
    with pytest.raises(DataError, match="2 != 3"):
        Ridge([1.0, 2.0]).fit(X, Y)


def test_positive_coefficients_fulfil_the_conditions():
    X, y = standardised()
    model = Ridge(10.0, positive=True).fit(X, y)
    assert model.coef_.min() >= 0
    pull = X.T @ (y - model.predict(X)) - 10.0 * model.coef_
    assert np.abs(pull[model.coef_ > 0]).max() < 1e-8
    assert pull[model.coef_ == 0].max() < 1e-8
    assert 0 < np.count_nonzero(model.coef_) < 13


def test_sparse_tables_by_both_ways(monkeypatch):
    sparse = pytest.importorskip("scipy.sparse")
    from pellucid.linear_model._ridge import solver as ridge_solver

    X = sparse.random(80, 30, density=0.2, random_state=0, format="csr")
    y = np.random.default_rng(0).normal(size=80)
    dense = Ridge(0.5).fit(X.toarray(), y)
    np.testing.assert_allclose(Ridge(0.5).fit(X, y).coef_, dense.coef_, rtol=1e-10)
    monkeypatch.setattr(ridge_solver, "DIRECT_WORK", 0)
    slow = Ridge(0.5).fit(X, y)
    assert slow.status_.code == "converged"
    np.testing.assert_allclose(slow.coef_, dense.coef_, atol=1e-8)


def test_all_solver_names_find_one_optimum():
    X, y = standardised()
    expected = Ridge(3.0).fit(X, y)
    for solver in ("svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs"):
        model = Ridge(3.0, solver=solver).fit(X, y)
        assert np.array_equal(model.coef_, expected.coef_)
        assert model.n_iter_ == 1


@pytest.mark.parametrize("alpha", [-1.0, np.nan, np.inf, [-1.0], "much"])
def test_wrong_strengths_are_named(alpha):
    with pytest.raises(ParameterError, match="'alpha' parameter of Ridge must be"):
        Ridge(alpha).fit(X4, Y4)


def test_sizes_that_only_later_rows_show():
    """A column that is ordinary in the first rows and huge, or tiny, in later ones."""
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(70_000, 3)), rng.normal(size=70_000)
    X[:60_000, 1] = 0.0
    for power in (200, -200):
        wild = X * [1.0, 2.0**power, 1.0]
        found = Ridge(1e-30).fit(wild, y).coef_ * [1.0, 2.0**power, 1.0]
        strength = 1e-30 * 4.0**-power  # of the column in ordinary units
        if strength < 1e6:
            plain = Ridge(1e-30).fit(X, y).coef_
            np.testing.assert_allclose(found, plain, rtol=1e-9)
        else:
            assert abs(found[1]) < 1e-6
            rest = Ridge(1e-30).fit(X[:, [0, 2]], y).coef_
            np.testing.assert_allclose(found[[0, 2]], rest, rtol=1e-9)


@pytest.mark.parametrize("alpha", [1e-30, 1e-12, 1.0])
@pytest.mark.parametrize("n, p", [(60, 3), (8, 30)])
def test_a_column_that_is_constant_up_to_rounding_has_no_effect(rng, alpha, n, p):
    """0.1 + 0.2 and 0.3 differ in the last bit; a tiny penalty must not magnify it."""
    X = rng.normal(size=(n, p))
    y = X[:, 0] + rng.normal(size=n)
    noise = np.where(rng.random(n) < 0.5, 0.1 + 0.2, 0.3)
    model = Ridge(alpha=alpha).fit(np.column_stack([X, noise]), y)
    assert abs(model.coef_[-1]) < 1e-12
    np.testing.assert_allclose(model.coef_[:-1], Ridge(alpha=alpha).fit(X, y).coef_, rtol=1e-9)
