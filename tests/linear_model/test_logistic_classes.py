"""Classes of weight 0, and the joint uncertainty of fits of one class against the others."""

import numpy as np
import pytest

import pellucid
from pellucid.errors import ParameterError
from pellucid.linear_model import LogisticRegression, LogisticRegressionCV
from pellucid.numerics.objectives.links import expit

FITS = [{}, {"multiclass": "one_vs_rest"}, {"firth": True}]


def table(K, n=120, seed=6):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)), rng.integers(0, K, n)


# Classes of weight 0 ------------------------------------------------------------------------------


@pytest.mark.parametrize("fit", FITS, ids=str)
@pytest.mark.parametrize("K", [3, 4])
def test_a_class_of_weight_0_is_absent_from_inference(K, fit):
    """By `class_weight` as by the weights of its rows, and as if the rows were not there."""
    X, y = table(K)
    model = LogisticRegression(C=np.inf, class_weight={1: 0.0}, **fit).fit(X, y)
    others = LogisticRegression(C=np.inf, **fit).fit(X[y != 1], y[y != 1])
    by_rows = LogisticRegression(C=np.inf, **fit).fit(X, y, sample_weight=(y != 1) * 1.0)
    for other in (others, by_rows):
        shown, expected = model.summary(), other.summary()
        assert shown.header == expected.header
        for row, right in zip(shown.rows, expected.rows, strict=True):
            np.testing.assert_allclose(row[1:], right[1:], rtol=1e-9)
        kept = np.arange(K) != 1
        for found, right in zip(model.predict_interval(X), other.predict_interval(X)):
            np.testing.assert_allclose(found[:, kept], right, atol=1e-12)
            assert not found[:, 1].any()
    assert "because their weight is 0: 1." in " ".join(model.summary().notes)


@pytest.mark.parametrize("K", [3, 4])
@pytest.mark.parametrize(
    "fit", [{"C": np.inf}, {}, {"l1_ratio": 0.5}, {"solver": "lbfgs"}], ids=str
)
def test_a_class_of_weight_0_keeps_its_label_and_has_no_chance(K, fit):
    X, y = table(K)
    model = LogisticRegression(class_weight={1: 0.0}, **fit).fit(X, y)
    others = LogisticRegression(**fit).fit(X[y != 1], y[y != 1])
    assert model.classes_.tolist() == list(range(K)) and len(model.coef_) == K
    P = model.predict_proba(X)
    assert not P[:, 1].any()
    np.testing.assert_allclose(np.delete(P, 1, axis=1), others.predict_proba(X), atol=1e-12)
    assert model.explain(X).prediction.shape == (len(X), K)


def test_cross_validation_leaves_a_class_of_weight_0_out():
    X, y = table(4)
    model = LogisticRegressionCV(Cs=3, cv=3, class_weight={1: 0.0}).fit(X, y)
    P = model.predict_proba(X)
    assert not P[:, 1].any() and np.isfinite(model.coefs_paths_).all()
    right = LogisticRegression(C=model.C_).fit(X[y != 1], y[y != 1]).predict_proba(X)
    np.testing.assert_allclose(np.delete(P, 1, axis=1), right, atol=1e-6)


@pytest.mark.parametrize("model", [LogisticRegression, LogisticRegressionCV])
def test_one_class_with_weight_is_not_enough(model):
    X, y = table(2)
    with pytest.raises(ValueError, match="one class"):
        model(class_weight={0: 0.0}).fit(X, y)


def test_one_class_with_weight_names_the_parameter():
    X, y = table(3)
    with pytest.raises(ParameterError, match="class_weight leaves rows of one class only"):
        LogisticRegression(class_weight={0: 0.0, 2: 0.0}).fit(X, y)


def test_files_keep_which_classes_are_absent(tmp_path):
    X, y = table(4)
    model = LogisticRegression(C=np.inf, class_weight={1: 0.0}, multiclass="one_vs_rest").fit(X, y)
    model.save(tmp_path / "m.pellucid")
    again = pellucid.load(tmp_path / "m.pellucid")
    assert str(again.summary()) == str(model.summary())
    np.testing.assert_array_equal(again.predict_interval(X), model.predict_interval(X))


# One class against the others ---------------------------------------------------------------------


def joint(model):
    """The covariance of the coefficients of all fits, intercepts last in each."""
    kept = model.inference_
    root = kept["joint"].reshape(3, -1, kept["joint"].shape[1]).copy()
    root[:, -1] -= kept["centre"] @ root[:, :-1]
    root = root.reshape(kept["joint"].shape)
    return root @ root.T


@pytest.mark.parametrize("weighted", [False, True])
def test_joint_covariance_is_the_sum_of_the_moves_of_the_rows(weighted):
    X, y = table(3, 200, 1)
    X = X * [1e-3, 1e4] + [5.0, -3e5]
    w = np.random.default_rng(2).integers(1, 4, 200).astype(float) if weighted else np.ones(200)
    model = LogisticRegression(C=np.inf, multiclass="one_vs_rest").fit(X, y, sample_weight=w)
    # The same in columns of common size, by hand.
    scale, shift = np.array([1e-3, 1e4]), np.array([5.0, -3e5])
    A = np.column_stack([(X - shift) / scale, np.ones(200)])
    moves = []
    for k in range(3):
        P = expit(X @ model.coef_[k] + model.intercept_[k])
        inverse = np.linalg.inv(A.T @ (A * (w * P * (1 - P))[:, None]))
        moves.append((A * (P - (y == k))[:, None]) @ inverse)
    moves = np.column_stack(moves) * np.sqrt(w)[:, None]
    back = np.diag(np.append(1 / scale, 1.0))
    back[2, :2] = -shift / scale
    back = np.kron(np.eye(3), back)
    right = back @ (moves.T @ moves) @ back.T
    size = np.sqrt(np.diagonal(right))
    np.testing.assert_allclose(joint(model) / np.outer(size, size),
                               right / np.outer(size, size), atol=1e-9)  # fmt: skip


def test_intervals_against_the_rest_are_slopes_times_joint_errors():
    X, y = table(3, 200, 1)
    model = LogisticRegression(C=np.inf, multiclass="one_vs_rest").fit(X, y)
    low, high = model.predict_interval(X[:5], level=0.9)
    row, h = np.append(X[3], 1.0), 1e-6
    x = np.column_stack([model.coef_, model.intercept_])

    def odds(x):
        chance = expit(x @ row)
        P = chance / chance.sum()
        return np.log(P / (1 - P))

    slopes = np.empty((3, 9))
    for j in range(9):
        step = np.zeros(9)
        step[j] = h
        step = step.reshape(3, 3)
        slopes[:, j] = (odds(x + step) - odds(x - step)) / (2 * h)
    error = np.sqrt(np.einsum("ki,ij,kj->k", slopes, joint(model), slopes))
    np.testing.assert_allclose(low[3], expit(odds(x) - 1.6448536269514722 * error), atol=1e-7)
    np.testing.assert_allclose(high[3], expit(odds(x) + 1.6448536269514722 * error), atol=1e-7)


@pytest.mark.slow
def test_intervals_against_the_rest_cover_the_chances_of_the_population():
    """Errors taken fit by fit, as if of other rows, would cover 88 of 100 where these do 95."""
    rng = np.random.default_rng(0)
    B = np.array([[0.0, 0.0, 0.0], [1.0, -0.5, 0.3], [-0.8, 1.2, -0.2]])

    def draw(n):
        X = rng.normal(size=(n, 2))
        return X, (X @ B[:, :2].T + B[:, 2] + rng.gumbel(size=(n, 3))).argmax(axis=1)

    rows = np.array([[0.0, 0.0], [1.0, 1.0], [0.3, -1.5]])
    model = LogisticRegression(C=np.inf, multiclass="one_vs_rest")
    truth = model.fit(*draw(40_000)).predict_proba(rows)
    hits = np.zeros_like(truth)
    for _ in range(250):
        low, high = model.fit(*draw(300)).predict_interval(rows)
        hits += (low <= truth) & (truth <= high)
    assert np.abs(hits / 250 - 0.95).max() < 0.045


# Many classes -------------------------------------------------------------------------------------


def test_the_direction_that_many_classes_share_is_like_the_others(monkeypatch):
    """Of 40 classes, the differences to the first one curve 40 times less in that direction, which
    would take many more products with the Hessian."""
    from pellucid.linear_model._logistic.objective import Likelihood

    rng, made = np.random.default_rng(0), []
    centres = rng.normal(size=(40, 20))
    y = rng.integers(0, 40, 2000)
    X = centres[y] + rng.normal(size=(2000, 20))
    way = Likelihood.curvature_product

    def counted(likelihood, x):
        product = way(likelihood, x)
        return lambda d: made.append(1) or product(d)

    monkeypatch.setattr(Likelihood, "curvature_product", counted)
    model = LogisticRegression().fit(X, y)
    P = model.predict_proba(X)
    P[np.arange(2000), y] -= 1.0
    np.testing.assert_allclose(P.T @ X + model.coef_, 0.0, atol=1e-4)
    assert 0 < len(made) < 250
