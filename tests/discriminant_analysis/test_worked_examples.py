"""Discriminants on examples whose answers are known: by hand, from R's MASS, from scikit-learn."""

import numpy as np
import pytest
import sklearn.discriminant_analysis as theirs
from sklearn.covariance import OAS
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from pellucid.discriminant_analysis import (
    FisherDiscriminant,
    GaussianBayesClassifier,
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from pellucid.errors import ConvergenceWarning, DataError, ParameterError
from pellucid.naive_bayes import GaussianNB

WINE, CANCER, IRIS = (load(return_X_y=True) for load in (load_wine, load_breast_cancer, load_iris))
TWO = np.array([[0.0, 0], [2, 0], [1, 1], [1, -1], [4, 1], [6, 1], [5, 2], [5, 0]])
SIDE = np.repeat([0, 1], 4)


def test_two_clouds_by_hand():
    model = LinearDiscriminantAnalysis(store_covariance=True).fit(TWO, SIDE)
    assert model.covariance_ == pytest.approx(0.5 * np.eye(2), abs=1e-15)
    assert model.coef_[0] == pytest.approx([8, 2], rel=1e-13)
    assert model.intercept_[0] == pytest.approx(-25, rel=1e-13)
    fisher = FisherDiscriminant().fit(TWO, SIDE)
    assert fisher.coef_[0] / fisher.coef_[0, 0] == pytest.approx([1, 0.25], rel=1e-13)


def test_gaussian_bayes_formula_by_hand():
    """f(x) = log-odds of two given normals, with samples that have exactly these moments."""

    def cloud(mean, cov):
        root = np.linalg.cholesky(cov)
        corners = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])
        return mean + corners @ root.T

    X = np.vstack([cloud([-1, -1], np.diag([1.0, 3.0])), cloud([1, 1], [[2, 0.5], [0.5, 1]])])
    model = GaussianBayesClassifier(priors=[0.7, 0.3]).fit(X, SIDE)
    assert model.decision_function([[0.5, 2]])[0] == pytest.approx(1.2614861042648544, rel=1e-12)
    assert model.predict_proba([[0.5, 2]])[0, 1] == pytest.approx(0.7792818262693808, rel=1e-12)


def test_fisher_on_breast_cancer():
    X, y = CANCER
    model = FisherDiscriminant().fit(X, y)
    z = model.transform(X)[:, 0]
    assert [z[y == 0].min(), z[y == 0].mean(), z[y == 0].max()] == pytest.approx(
        [-0.11942458, -0.09595103, -0.07325244], abs=1e-8
    )
    assert [z[y == 1].min(), z[y == 1].mean(), z[y == 1].max()] == pytest.approx(
        [-0.08742282, -0.07015534, -0.05326264], abs=1e-8
    )
    assert model.cutoff_ == pytest.approx(-0.08305318, abs=1e-8)
    assert not model.separated_
    errors = {c: int(((z >= c) != y).sum()) for c in (-0.09, -0.085, -0.08)}
    assert errors == {-0.09: 55, -0.085: 23, -0.08: 11}
    assert int((model.predict(X) != y).sum()) == 18
    best = FisherDiscriminant(cutoff="error").fit(X, y)
    assert int((best.predict(X) != y).sum()) == 11
    assert -0.09 < best.cutoff_ < -0.08
    lda = LinearDiscriminantAnalysis().fit(X, y)
    cosine = lda.coef_[0] @ model.coef_[0]
    cosine /= np.linalg.norm(lda.coef_) * np.linalg.norm(model.coef_)
    assert cosine == pytest.approx(1, abs=1e-12)
    assert lda.coef_[0] == pytest.approx(569 * model.coef_[0], rel=1e-8)
    assert lda.score(X, y) == pytest.approx(0.964850615, abs=1e-9)


def test_equal_density_cut():
    """With equal spreads and shares it is the mid-point; a rarer class must come nearer."""
    X, y = TWO[:, :1], SIDE
    middle = FisherDiscriminant().fit(X, y).cutoff_
    assert FisherDiscriminant(cutoff="density").fit(X, y).cutoff_ == pytest.approx(
        middle, rel=1e-12
    )
    model = FisherDiscriminant(cutoff="density").fit(X, y, sample_weight=np.where(y == 1, 1, 4))
    z, w = model.transform(X)[:, 0], np.where(y == 1, 1, 4)
    share = np.array([w[y == k].sum() for k in (0, 1)]) / w.sum()
    heights = []
    for k in (0, 1):
        m, s = z[y == k].mean(), z[y == k].std()
        heights.append(share[k] / s * np.exp(-0.5 * ((model.cutoff_ - m) / s) ** 2))
    assert heights[0] == pytest.approx(heights[1], rel=1e-9)


def test_wine():
    X, y = WINE
    assert LinearDiscriminantAnalysis().fit(X, y).score(X, y) == 1
    qda = QuadraticDiscriminantAnalysis().fit(X, y)
    assert np.flatnonzero(qda.predict(X) != y).tolist() == [81]
    scores = [
        M().fit(X[:, 2:4], y).score(X[:, 2:4], y)
        for M in (LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis)
    ]
    assert scores == pytest.approx([0.6910112, 0.7359551], abs=1e-7)


def test_iris_as_r_has_it():
    """MASS divides by n - g (lda) and n_k - 1 (qda): distances shrink by that factor."""
    X, y = IRIS
    rows = [70, 77, 83, 129, 133]
    lda = LinearDiscriminantAnalysis().fit(X, y)
    scores = lda.decision_function(X[rows]) * 147 / 150
    found = np.exp(scores - scores.max(axis=1, keepdims=True))
    found /= found.sum(axis=1, keepdims=True)
    expected = [
        [7.4081175816248175e-28, 0.2532282247381786, 0.7467717752618215],
        [5.639473177481831e-27, 0.6892131192650942, 0.31078688073490585],
        [4.2419519447406584e-32, 0.1433919080787574, 0.8566080919212425],
        [1.4064484564515444e-32, 0.10368228462914451, 0.8963177153708556],
        [1.2838906243207608e-28, 0.7293881280317963, 0.2706118719682037],
    ]
    # equal priors enter all scores alike, so the factor on them does not matter
    assert np.allclose(found, expected, rtol=1e-10)
    qda = QuadraticDiscriminantAnalysis().fit(X, y)
    joint = qda.decision_function(X[rows])
    log_det = np.array([np.log(s).sum() for s in qda.scalings_])
    joint = (joint + 0.5 * log_det) * 49 / 50 - 0.5 * log_det
    found = np.exp(joint - joint.max(axis=1, keepdims=True))
    found /= found.sum(axis=1, keepdims=True)
    assert found[0] == pytest.approx(
        [1.0527233001737947e-103, 0.3359441831241464, 0.6640558168758536], rel=1e-9
    )
    assert found[3] == pytest.approx(
        [5.1826458679128815e-154, 0.01981540598029314, 0.9801845940197069], rel=1e-9
    )
    assert (np.flatnonzero(lda.predict(X) != y) + 1).tolist() == [71, 84, 134]


@pytest.mark.parametrize(
    "options",
    [
        {}, {"solver": "lsqr"}, {"solver": "lsqr", "shrinkage": "auto"},
        {"solver": "eigen", "shrinkage": 0.1}, {"solver": "eigen", "shrinkage": "auto"},
        {"priors": [0.2, 0.3, 0.5]}, {"solver": "lsqr", "priors": [0.2, 0.3, 0.5]},
        {"solver": "eigen"}, {"solver": "lsqr", "covariance_estimator": OAS()},
    ],
    ids=str,
)  # fmt: skip
def test_lda_equals_scikit_learns(options):
    X, y = WINE
    a, b = (M.LinearDiscriminantAnalysis(**options).fit(X, y) for M in (_ours(), theirs))
    assert np.allclose(a.predict_proba(X), b.predict_proba(X), atol=1e-9)
    assert np.allclose(a.coef_, b.coef_, rtol=1e-7, atol=1e-9 * np.abs(b.coef_).max())
    assert np.allclose(a.intercept_, b.intercept_, rtol=1e-7)
    if options.get("solver") != "lsqr":
        assert np.allclose(np.abs(a.transform(X)), np.abs(b.transform(X)), atol=1e-9)
        share, other = a.explained_variance_ratio_, b.explained_variance_ratio_
        if "shrinkage" in options:  # theirs are shares of a sum with negative parts
            share, other = share / share[0], other / other[0]
        assert np.allclose(share, other, atol=1e-10)


@pytest.mark.parametrize(
    "options", [{}, {"reg_param": 0.1}, {"solver": "eigen", "shrinkage": "auto"}], ids=str
)
def test_qda_equals_scikit_learns(options):
    X, y = WINE
    a, b = (
        M.QuadraticDiscriminantAnalysis(store_covariance=True, **options).fit(X, y)
        for M in (_ours(), theirs)
    )
    assert np.allclose(a.decision_function(X), b.decision_function(X), rtol=1e-9)
    assert np.allclose(a.scalings_, b.scalings_, rtol=1e-8)
    assert np.allclose(
        a.covariance_[0],
        b.covariance_[0] if options else np.cov(X[y == 0].T, ddof=0),
        rtol=1e-7,
        atol=1e-10,
    )


def _ours():
    import pellucid.discriminant_analysis as ours

    return ours


def test_one_family():
    """LDA, QDA and Gaussian naive Bayes are cases of the Gaussian Bayes classifier."""
    X, y = WINE
    named = {
        "shared": LinearDiscriminantAnalysis(),
        "full": QuadraticDiscriminantAnalysis(),
        "diagonal": GaussianNB(var_smoothing=0),
    }
    for covariance, model in named.items():
        found = GaussianBayesClassifier(covariance=covariance).fit(X, y).predict_proba(X)
        assert np.allclose(found, model.fit(X, y).predict_proba(X), atol=1e-10), covariance


def test_collinear_classes_are_named():
    X, y = WINE
    wide = np.column_stack([X, X[:, 0] + X[:, 1]])
    with pytest.warns(ConvergenceWarning, match="x13"):
        model = QuadraticDiscriminantAnalysis().fit(wide, y)
    assert {"x0", "x1", "x13"} <= set(model.collinear_[0])
    plain = QuadraticDiscriminantAnalysis().fit(X, y)
    assert np.allclose(model.predict_proba(wide), plain.predict_proba(X), atol=1e-6)
    lda = LinearDiscriminantAnalysis().fit(wide, y)
    assert np.allclose(
        lda.predict_proba(wide), LinearDiscriminantAnalysis().fit(X, y).predict_proba(X), atol=1e-9
    )


def test_class_with_one_row_takes_the_pooled_shape():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(40, 2)), rng.normal(size=(40, 2)) + 4, [[10.0, -6.0]]])
    y = np.repeat([0, 1, 2], [40, 40, 1])
    with pytest.warns(ConvergenceWarning, match="in class 2 "):
        model = QuadraticDiscriminantAnalysis().fit(X, y)
    assert model.predict([[9.5, -5.5]])[0] == 2


@pytest.mark.parametrize("offset", [0, 1e4, 1e8])
def test_offsets_cost_no_digits(offset):
    X, y = IRIS
    X = np.round(X * 1024) / 1024
    moved = X + offset
    for Model in (LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis):
        base, far = Model().fit(X, y).predict_proba(X), Model().fit(moved, y).predict_proba(moved)
        assert np.max(np.abs(base - far)) <= (1e-7 if offset == 1e8 else 1e-10)


@pytest.mark.parametrize(
    "Model", [LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis, GaussianBayesClassifier]
)
@pytest.mark.parametrize(
    ("priors", "word"), [([0.5, 0.6], "sum"), ([1.0], "match"), ([-0.5, 1.5], "negative")]
)
def test_bad_priors(Model, priors, word):
    with pytest.raises(ParameterError, match=word):
        Model(priors=priors).fit(TWO, SIDE)


def test_bad_combinations_say_what_works():
    with pytest.raises(ParameterError, match="lsqr"):
        LinearDiscriminantAnalysis(shrinkage=0.5).fit(TWO, SIDE)
    with pytest.raises(ParameterError, match="eigen"):
        QuadraticDiscriminantAnalysis(shrinkage=0.5).fit(TWO, SIDE)
    with pytest.raises(ParameterError, match="n_components"):
        LinearDiscriminantAnalysis(n_components=2).fit(TWO, SIDE)
    with pytest.raises(DataError, match="more than the number of classes"):
        LinearDiscriminantAnalysis().fit(TWO[[0, 4]], [0, 1])


def test_bayes_error_of_two_gaussians():
    """With P(+) = .4 the Bayes error is .0765564608; LDA on many rows must come near it."""
    rng = np.random.default_rng(1)
    y = np.where(rng.random(200_000) < 0.4, 1, -1)
    X = rng.normal(size=(len(y), 2)) + y[:, None]
    model = LinearDiscriminantAnalysis().fit(X, y)
    assert 1 - model.score(X, y) == pytest.approx(0.0765564608, abs=2e-3)
    assert model.coef_[0] == pytest.approx([2, 2], abs=0.03)
    assert model.intercept_[0] == pytest.approx(-0.4054651081, abs=0.03)


def test_cut_of_fewest_errors_may_lie_outside_of_all_rows():
    X, y = np.array([[0.0], [1], [2], [3], [4], [2.6]]), np.array([0, 0, 0, 0, 0, 1])
    for rows, labels in ((X, y), (-X, 1 - y)):
        model = FisherDiscriminant(cutoff="error").fit(rows, labels)
        assert (model.predict(rows) != labels).sum() == 1


def test_shares_of_shrunk_variance_add_up():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 5)), np.repeat([0, 1, 2], 30)
    X[y == 2, 0] += 1
    for shrinkage in ("auto", 0.1, 0.9):
        model = LinearDiscriminantAnalysis(solver="eigen", shrinkage=shrinkage).fit(X, y)
        share = model.explained_variance_ratio_
        assert (share >= 0).all() and (np.diff(share) <= 0).all() and 0 < share.sum() <= 1 + 1e-12


@pytest.mark.parametrize("solver", ["lsqr", "eigen"])
@pytest.mark.parametrize("offset", [64, 2048, 8192, 65536])
def test_exact_shifts_change_no_chance(solver, offset):
    rng = np.random.default_rng(0)
    X, y = np.round(rng.normal(size=(80, 3)) * 1024) / 1024, rng.integers(0, 3, 80)
    model = LinearDiscriminantAnalysis(solver=solver)
    chances = model.fit(X, y).predict_proba(X)
    assert np.abs(model.fit(X + offset, y).predict_proba(X + offset) - chances).max() < 1e-11
