"""Intervals of nearly dependent columns, against 50 digits; rows as good as training rows."""

import mpmath
import numpy as np
import pytest
from scipy.special import ndtri, stdtrit

from pellucid.errors import DataError
from pellucid.linear_model import GeneralizedLinearModel, LinearRegression, LogisticRegression


def precise_error(X, weights, asked):
    """sqrt(x' (A' W A)^-1 x) of the rows asked about, A with a constant, to 50 digits."""
    with mpmath.workdps(50):
        wide = [
            mpmath.matrix([[*map(mpmath.mpf, map(float, row)), 1] for row in T]) for T in (X, asked)
        ]
        G = mpmath.matrix(X.shape[1] + 1)
        for i, w in enumerate(weights):
            G += wide[0][i, :].T * wide[0][i, :] * w
        inverse = G**-1
        rows = [wide[1][i, :] for i in range(len(asked))]
        return np.array([float(mpmath.sqrt((row * inverse * row.T)[0])) for row in rows])


def near_copies(apart, n=40, offset=0.0):
    rng = np.random.default_rng(0)
    a, b, c = rng.normal(size=(3, n))
    return np.column_stack([a, a + apart * b, c]) + offset, rng


@pytest.mark.parametrize("offset", [0.0, 1e3])
@pytest.mark.parametrize("apart", [1e-2, 1e-4, 3e-6, 1e-7])
def test_least_squares_keeps_what_the_condition_allows(apart, offset):
    X, rng = near_copies(apart, offset=offset)
    y = X[:, 2] + rng.normal(size=len(X))
    model = LinearRegression().fit(X, y)
    asked = np.concatenate([X[:3], X[:1] + 0.5])
    ends = model.predict_interval(asked, kind="mean")
    sigma = dict(model.summary().header)["residual sd"]
    found = np.diff(ends)[:, 0] / 2 / stdtrit(len(X) - 4, 0.975) / sigma
    wanted = precise_error(X, [1] * len(X), asked)
    np.testing.assert_allclose(found, wanted, rtol=2e-15 / apart)


@pytest.mark.parametrize("apart", [1e-2, 1e-4, 3e-6, 2e-7])
def test_a_glm_keeps_what_the_condition_allows(apart):
    X, rng = near_copies(apart)
    y = rng.poisson(np.exp(0.3 * X[:, 0] + 0.5)).astype(float)
    model = GeneralizedLinearModel(family="poisson").fit(X, y)
    asked = np.concatenate([X[:3], X[:1] + 0.5])
    found = np.diff(np.log(model.predict_interval(asked, kind="mean")))[:, 0] / 2 / ndtri(0.975)
    # At the fitted means, so that only the factor is asked about.
    with mpmath.workdps(50):
        scores = [
            sum(mpmath.mpf(float(v)) * mpmath.mpf(float(b)) for v, b in zip(row, model.coef_))
            + mpmath.mpf(float(model.intercept_))
            for row in X
        ]
        means = [mpmath.exp(score) for score in scores]
    np.testing.assert_allclose(found, precise_error(X, means, asked), rtol=5e-15 / apart)


@pytest.mark.parametrize("family", ["poisson", "normal"])
@pytest.mark.parametrize("apart", [5e-8, 1e-8, 1e-9, 1e-12])
def test_rows_of_the_fit_are_never_outside(family, apart):
    """Near 0 the copies differ by a large share of themselves."""
    X, rng = near_copies(apart, n=200)
    X[::10, :2] *= 1e-6
    X[::10, 1] += apart * rng.normal(size=20)
    y = rng.poisson(np.exp(0.3 * X[:, 0] + 0.5)).astype(float)
    model = GeneralizedLinearModel(family=family).fit(X, y)
    assert model.inference_["aliased"].tolist() == [1]
    assert np.isfinite(model.predict_interval(X)).all()
    with pytest.raises(DataError, match="Row 1 has no interval"):
        model.predict_interval(np.array([[1.0, 1.0, 0.0], [1.0, -1.0, 0.0]]))


def test_rows_of_a_least_squares_fit_are_never_outside():
    X, rng = near_copies(1e-14, n=200)
    X[0, 0], X[0, 1] = 0.0, 2e-14
    model = LinearRegression().fit(X, rng.normal(size=200))
    assert model.rank_ == 2
    assert np.isfinite(model.predict_interval(X)).all()
    with pytest.raises(DataError, match="Row 0 has no interval"):
        model.predict_interval([[0.0, 1e-6, 0.0]])


def precise_robust(X, y, kind):
    """Robust errors (the intercept last) and Wald F of the slopes of least squares, 50 digits."""
    n, p = X.shape
    with mpmath.workdps(50):
        A = mpmath.matrix([[*map(mpmath.mpf, map(float, row)), 1] for row in X])
        target = mpmath.matrix([mpmath.mpf(float(v)) for v in y])
        bread = (A.T * A) ** -1
        b = bread * (A.T * target)
        meat = mpmath.matrix(p + 1)
        for i in range(n):
            row = A[i, :]
            rest = 1 - (row * bread * row.T)[0] if kind == "HC3" else 1
            meat += row.T * row * ((target[i] - (row * b)[0]) / rest) ** 2
        C = bread * meat * bread
        slopes = b[:p, 0]
        F = (slopes.T * C[:p, :p] ** -1 * slopes)[0] / p
        return [float(mpmath.sqrt(C[j, j])) for j in range(p + 1)], float(F)


@pytest.mark.parametrize("kind", ["HC0", "HC3"])
@pytest.mark.parametrize("apart", [1.0, 1e-3, 3e-6, 1e-7])
def test_robust_errors_keep_what_the_condition_allows(apart, kind):
    X, rng = near_copies(apart)
    y = X[:, 2] + rng.normal(size=len(X))
    wanted, F = precise_robust(X, y, kind)
    for model in (LinearRegression(), GeneralizedLinearModel()):
        table = model.fit(X, y).summary(errors=kind, X=X, y=y)
        found = np.roll(table.frame()["std error"], -1)
        np.testing.assert_allclose(found, wanted, rtol=2e-15 / apart)
        assert dict(table.header)["Wald F"] == pytest.approx(F, rel=1e-14 / apart)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kind", ["softmax", "one_vs_rest"])
def test_chances_of_rows_far_from_0(classes, kind):
    """An offset of 2^20 in columns of multiples of 2^-10 is exact: it may cost no more than it must."""
    rng = np.random.default_rng(3)
    X = np.round(rng.normal(size=(200, 2)) * 2**10) / 2**10
    y = np.digitize(X[:, 0] + rng.logistic(size=200), [0.0, 1.5][: classes - 1])
    model = LogisticRegression(C=np.inf, multiclass=kind)
    near, far = model.fit(X, y).predict_interval(X[:20]), model.fit(X + 2**20, y)
    for one, other in zip(near, far.predict_interval(X[:20] + 2**20)):
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-9)
