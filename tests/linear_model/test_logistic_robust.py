"""Robust standard errors of logistic models: against GLMs, statsmodels and finite differences."""

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from pellucid.errors import DataError, ParameterError, PellucidError
from pellucid.linear_model import GeneralizedLinearModel, LogisticRegression
from pellucid.numerics.sandwich import KINDS


def rows(K=2, n=240, seed=0):
    """Rows of K classes in groups that share an error; columns in different units."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1.0, 1e3, 1e-3] + [0.0, 2e4, 0.0]
    groups = rng.integers(0, 12, n)
    z = np.outer(X[:, 0], np.arange(K) * 0.7) + rng.gumbel(size=(n, K))
    z += rng.normal(size=(12, K))[groups]
    return X, z.argmax(axis=1), groups, rng.integers(1, 4, n).astype(float)


def plain(**options):
    return LogisticRegression(C=np.inf, **options)


def errors_of(table):
    return np.array(table.frame()["std error"])


def by(kind, groups):
    return {"errors": kind} | ({"groups": groups} if kind == "clustered" else {})


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weights", ["frequency", "precision"])
@pytest.mark.parametrize("kind", KINDS)
def test_two_classes_are_a_binomial_model(kind, weights, intercept):
    X, y, groups, w = rows()
    again = {"X": X, "y": y, "sample_weight": w, "weights": weights, **by(kind, groups)}
    glm = GeneralizedLinearModel(family="binomial", alpha=0, fit_intercept=intercept)
    expected = glm.fit(X, y.astype(float), w).summary(**again)
    found = plain(fit_intercept=intercept).fit(X, y, w).summary(**again)
    np.testing.assert_allclose(errors_of(found), errors_of(expected), rtol=1e-10)
    ours, theirs = dict(found.header), dict(expected.header)
    assert ours["standard errors"] == kind and ours["rows"] == theirs["rows"]
    for fact in ("Wald chi2", "p of Wald", "BIC"):
        assert ours[fact] == pytest.approx(theirs[fact], rel=1e-8)


@pytest.mark.parametrize("kind", ["HC0", "clustered"])
def test_two_classes_as_statsmodels(kind):
    sm = pytest.importorskip("statsmodels.api")
    X, y, groups, _ = rows()
    options = {"cov_type": "cluster", "cov_kwds": {"groups": groups}}
    options = options if kind == "clustered" else {"cov_type": kind}
    # Newton's method of statsmodels needs columns of one size
    size = np.array([1.0, 1e3, 1e-3])
    Z = (X - [0.0, 2e4, 0.0]) / size
    peer = sm.Logit(y, sm.add_constant(Z)).fit(disp=0, tol=1e-12, **options)
    model = plain().fit(X, y)
    found = errors_of(model.summary(X=X, y=y, **by(kind, groups)))
    # statsmodels multiplies by G / (G - 1) (n - 1) / (n - rank), as we do
    np.testing.assert_allclose(found[1:] * size, peer.bse[1:], rtol=1e-7)
    if kind == "HC0":  # its HC1 of a Logit lacks the factor that it has in least squares
        one = errors_of(model.summary(errors="HC1", X=X, y=y))
        np.testing.assert_allclose(one, found * np.sqrt(240 / 236), rtol=1e-12)


def by_hand(X, y, B, counts, factors, groups=None):
    """Sandwich of a softmax by central differences of each row's loss in B (K - 1, p + 1)."""
    A = np.column_stack([X, np.ones(len(X))])
    shape, K = B.shape, len(B) + 1

    def losses(b):
        Z = np.column_stack([np.zeros(len(A)), A @ b.reshape(shape).T])
        return -factors * log_softmax(Z, axis=1)[np.arange(len(A)), y]

    def gradient(b):
        Z = np.column_stack([np.zeros(len(A)), A @ b.reshape(shape).T])
        R = softmax(Z, axis=1)[:, 1:] - (y[:, None] == np.arange(1, K))
        return ((R * (counts * factors)[:, None]).T @ A).ravel()

    b, step = B.ravel(), 1e-5
    units = np.eye(len(b)) * step
    scores = np.column_stack([(losses(b + d) - losses(b - d)) / (2 * step) for d in units])
    H = np.column_stack([(gradient(b + d) - gradient(b - d)) / (2 * step) for d in units])
    if groups is None:
        meat = scores.T @ (scores * counts[:, None])
    else:
        sums = np.zeros((groups.max() + 1, len(b)))
        np.add.at(sums, groups, scores * counts[:, None])
        meat = sums.T @ sums
    bread = np.linalg.inv(H)
    C = bread @ meat @ bread
    errors = np.sqrt(np.diagonal(C)).reshape(shape)
    return np.roll(errors, 1, axis=1).ravel(), C


@pytest.mark.parametrize("class_weight", [None, {0: 0.5, 2: 3.0}])
@pytest.mark.parametrize("weights", ["frequency", "precision"])
def test_softmax_by_finite_differences(weights, class_weight):
    X, y, groups, w = rows(K=3)
    X = (X - [0.0, 2e4, 0.0]) / [1.0, 1e3, 1e-3]
    model = plain(class_weight=class_weight).fit(X, y, w)
    B = np.column_stack([model.coef_, model.intercept_])
    copies = weights == "frequency"
    factors = np.array([(class_weight or {}).get(k, 1.0) for k in range(3)])[y]
    counts, n = (w, w.sum()) if copies else (np.ones(240), 240)
    again = {"X": X, "y": y, "sample_weight": w, "weights": weights}
    given = (X, y, B[1:] - B[0], counts, factors if copies else factors * w)
    expected, C = by_hand(*given)
    table = model.summary(errors="HC0", **again)
    np.testing.assert_allclose(errors_of(table), expected, rtol=1e-7)
    found = errors_of(model.summary(errors="HC1", **again))
    np.testing.assert_allclose(found, expected * np.sqrt(n / (n - 8)), rtol=1e-7)
    slopes = [0, 1, 2, 4, 5, 6]
    b = (B[1:] - B[0]).ravel()[slopes]
    chi2 = b @ np.linalg.solve(C[np.ix_(slopes, slopes)], b)
    assert dict(table.header)["Wald chi2"] == pytest.approx(chi2, rel=1e-6)
    expected = by_hand(*given, groups)[0] * np.sqrt(12 / 11 * (n - 1) / (n - 8))
    found = errors_of(model.summary(errors="clustered", groups=groups, **again))
    np.testing.assert_allclose(found, expected, rtol=1e-7)


@pytest.mark.parametrize("kind", ["HC0", "HC1", "clustered"])
@pytest.mark.parametrize("K", [2, 3])
def test_weights_are_repetition(K, kind):
    X, y, groups, w = rows(K)
    twice = np.repeat(np.arange(len(y)), w.astype(int))
    one = plain().fit(X, y, w).summary(X=X, y=y, sample_weight=w, **by(kind, groups))
    many = plain().fit(X[twice], y[twice])
    many = many.summary(X=X[twice], y=y[twice], **by(kind, groups[twice]))
    np.testing.assert_allclose(errors_of(one), errors_of(many), rtol=1e-9)
    assert dict(one.header)["rows"] == dict(many.header)["rows"]


@pytest.mark.parametrize("multiclass", ["softmax", "one_vs_rest"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_class_of_weight_zero_is_absent(kind, multiclass):
    X, y, groups, _ = rows(K=3)
    groups = np.where(y == 1, groups - 50, groups)  # some groups are absent with their class
    model = plain(class_weight={1: 0.0}, multiclass=multiclass).fit(X, y)
    there = y != 1
    other = plain().fit(X[there], y[there])
    found = model.summary(X=X, y=y, **by(kind, groups))
    expected = other.summary(X=X[there], y=y[there], **by(kind, groups[there]))
    np.testing.assert_allclose(errors_of(found), errors_of(expected), rtol=1e-9)


def test_aliased_columns_have_no_robust_error_and_the_others_have():
    X, y, _, _ = rows(K=3)
    wide = np.column_stack([X, X[:, 0] - 2 * X[:, 2]])
    found = errors_of(plain().fit(wide, y).summary(errors="HC1", X=wide, y=y)).reshape(2, 5)
    expected = errors_of(plain().fit(X, y).summary(errors="HC1", X=X, y=y)).reshape(2, 4)
    np.testing.assert_allclose(found[:, :4], expected, rtol=1e-7)
    assert np.isnan(found[:, 4]).all()


def test_separating_columns_have_no_robust_error_and_the_others_have():
    X, y, _, _ = rows()
    apart = np.column_stack([X, (np.arange(240) % 5 == 0) & (y == 1)])
    with pytest.warns(UserWarning):
        model = plain().fit(apart, y)
    table = model.summary(errors="HC0", X=apart, y=y)
    found, rest = errors_of(table), apart[:, 3] == 0
    assert np.isnan(found[4]) and "Wald chi2" not in dict(table.header)
    expected = plain().fit(X[rest], y[rest]).summary(errors="HC0", X=X[rest], y=y[rest])
    np.testing.assert_allclose(found[:4], errors_of(expected), rtol=1e-5)


@pytest.mark.parametrize("kind", ["HC2", "HC3"])
def test_several_classes_have_no_leverage(kind):
    X, y, _, _ = rows(K=3)
    with pytest.raises(ParameterError, match="HC0, HC1 or clustered"):
        plain().fit(X, y).summary(errors=kind, X=X, y=y)


def test_fits_without_robust_errors_say_so():
    X, y, _, _ = rows(K=3)
    with pytest.raises(PellucidError, match="Firth"):
        plain(firth=True).fit(X, y).summary(errors="HC0", X=X, y=y)
    with pytest.raises(PellucidError, match="One-vs-rest"):
        plain(multiclass="one_vs_rest").fit(X, y).summary(errors="HC0", X=X, y=y)
    model = plain().fit(X, y)
    with pytest.raises(ParameterError, match="training rows"):
        model.summary(errors="HC0")
    with pytest.raises(ParameterError, match="needs groups="):
        model.summary(errors="clustered", X=X, y=y)
    with pytest.raises(ParameterError, match="errors must be one of"):
        model.summary(errors="HC9", X=X, y=y)
    shrunk = LogisticRegression().fit(X, y)
    assert "no standard errors" in str(shrunk.summary(errors="HC0", X=X, y=y))


def test_other_rows_are_refused():
    X, y, _, w = rows(K=3)
    model = plain().fit(X, y)
    for given in ({"X": X[::-1], "y": y}, {"X": X, "y": y, "sample_weight": w}):
        with pytest.raises(DataError, match="not the rows"):
            model.summary(errors="HC0", **given)
    with pytest.raises(DataError, match="not the rows"):  # a class is missing
        model.summary(errors="HC0", X=X[y < 2], y=y[y < 2])


@pytest.mark.parametrize("solver", ["newton", "lbfgs"])
def test_every_solver_that_keeps_errors_has_robust_ones(solver):
    X, y, _, _ = rows(K=3)
    found = plain(solver=solver).fit(X, y).summary(errors="HC0", X=X, y=y)
    expected = plain().fit(X, y).summary(errors="HC0", X=X, y=y)
    np.testing.assert_allclose(errors_of(found), errors_of(expected), rtol=1e-4)


def test_a_fit_without_an_optimum_says_so():
    X, y, _, _ = rows()
    sides = (X[:, 0] > 0).astype(int)
    for options, target, named in (({}, sides, "separate"), ({"max_iter": 2}, y, "iterations")):
        with pytest.warns(UserWarning):
            model = plain(**options).fit(X, target)
        with pytest.raises(PellucidError, match=f"need an optimum.*{named}"):
            model.summary(errors="HC0", X=X, y=target)
