"""Calibrated SVC: sigmoid against its closed conditions, monotone, and never at odds with predict."""

import numpy as np
import pytest
from sklearn import datasets

import pellucid
from pellucid.errors import DataError, ModelFileError
from pellucid.numerics import platt
from pellucid.svm import SVC


def test_sigmoid_satisfies_its_equations():
    """At the optimum mean (p - t) and mean (p - t) f vanish."""
    rng = np.random.default_rng(0)
    f = rng.normal(size=400) * 3
    y = (rng.random(400) < 1 / (1 + np.exp(-(1.5 * f - 0.7)))).astype(int)
    w = rng.integers(1, 4, 400).astype(float)
    found = platt.fit(f, y, w, 2)
    p = platt.probabilities(f, found)
    t = platt.smoothed(y, w, 2)
    assert abs(w @ (p - t)[:, 1]) < 1e-8
    assert abs(w @ ((p - t)[:, 1] * f)) < 1e-8
    assert found[0] == pytest.approx(1.5, abs=0.4)
    assert np.allclose(p[:, 1], 1 / (1 + np.exp(-(found[0] * f + found[2]))))
    n = w[y == 1].sum()
    assert t[y == 1, 1] == pytest.approx((n + 1) / (n + 2))


def test_scores_that_mislead_give_the_shares():
    f = np.linspace(-1, 1, 50)
    y = (f < 0).astype(int)
    found = platt.fit(f, y, np.ones(50), 2)
    assert found[0] == 0
    assert np.allclose(platt.probabilities(f, found), 0.5, rtol=0, atol=1e-14)  # 25 rows of each


@pytest.mark.parametrize("K", [2, 3])
def test_predictions_are_the_most_probable_class(K):
    """On noise, where scikit-learn's probabilities contradict its predictions, and on iris."""
    rng = np.random.default_rng(1)
    for X, y in [
        (rng.normal(size=(120, 3)), rng.integers(0, K, 120)),
        datasets.load_iris(return_X_y=True),
    ]:
        model = SVC(calibrate=True).fit(X, y)
        p = model.predict_proba(X)
        assert np.allclose(p.sum(axis=1), 1)
        assert np.array_equal(model.predict(X), model.classes_[p.argmax(axis=1)])
        assert np.allclose(model.predict_log_proba(X), np.log(p))
        if len(model.classes_) == 2:
            order = np.argsort(model.decision_function(X))
            assert (np.diff(p[order, 1]) >= -1e-15).all()


def test_probabilities_are_worth_their_name():
    X, y = datasets.make_classification(1200, 6, n_informative=4, flip_y=0.2, random_state=0)
    model = SVC(calibrate=True).fit(X[:600], y[:600])
    p = model.predict_proba(X[600:])[:, 1]
    for low, high in ((0.0, 0.3), (0.7, 1.01)):
        inside = (p >= low) & (p < high)
        deviation = np.sqrt((p[inside] * (1 - p[inside])).sum()) / inside.sum()
        assert abs(y[600:][inside].mean() - p[inside].mean()) < 3 * deviation


def test_weights_are_repetition_and_files_keep_them(tmp_path):
    rng = np.random.default_rng(2)
    X, y, w = rng.normal(size=(60, 3)), rng.integers(0, 2, 60), rng.integers(1, 4, 60)
    ours = SVC(calibrate=True).fit(X, y, sample_weight=w)
    copies = SVC(calibrate=True).fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    assert np.array_equal(ours.predict_proba(X), copies.predict_proba(X))
    path = tmp_path / "m.pellucid"
    ours.save(path)
    assert np.array_equal(pellucid.load(path).predict_proba(X), ours.predict_proba(X))
    ours.calibration_ = -ours.calibration_ - 1
    ours.save(path)
    with pytest.raises(ModelFileError):
        pellucid.load(path)


@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_repeated_rows_with_both_labels(kernel):
    """Nine of ten samples at each of two points agree: so do the probabilities."""
    x, y = np.repeat([0.0, 1.0], 50)[:, None], np.repeat([0, 1, 1, 0], [45, 5, 45, 5])
    given = x @ x.T + (1 - x) @ (1 - x).T if kernel == "precomputed" else x
    p = SVC(kernel=kernel, calibrate=True).fit(given, y).predict_proba(given)[:, 1]
    assert p[0] == pytest.approx(0.1, abs=0.06) and p[-1] == pytest.approx(0.9, abs=0.06)


def test_given_kernels():
    X, y = datasets.load_iris(return_X_y=True)
    own = SVC(kernel="linear", calibrate=True, tol=1e-6).fit(X, y)
    given = SVC(kernel="precomputed", calibrate=True, tol=1e-6).fit(X @ X.T, y)
    assert given.predict_proba(X @ X.T).shape == (150, 3)
    assert (given.predict(X @ X.T) == own.predict(X)).mean() > 0.97


def test_refusals():
    assert not hasattr(SVC(), "predict_proba")
    assert hasattr(SVC(calibrate=True), "predict_proba")
    assert not hasattr(SVC(probability=False), "predict_proba")
    with pytest.raises(DataError, match="two rows of each class"):
        SVC(calibrate=True).fit([[0.0], [1.0], [2.0]], [0, 0, 1])


def test_weights_are_repetition_in_given_kernels(rng):
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] + rng.normal(size=60) > 0).astype(int)
    w = rng.integers(1, 4, 60)
    rows = rng.permutation(np.repeat(np.arange(60), w))
    rows = np.concatenate((np.arange(60), rows))  # each row first, then all copies
    model = SVC(kernel="precomputed", calibrate=True, tol=1e-6)
    one = model.fit(X @ X.T, y, sample_weight=w + 1).predict_proba(X @ X.T)
    many = model.fit(X[rows] @ X[rows].T, y[rows]).predict_proba(X @ X[rows].T)
    np.testing.assert_allclose(many, one, atol=1e-4)


def test_probability_is_an_older_name_of_calibrate(tmp_path):
    X, y = datasets.load_iris(return_X_y=True)
    model, meant = SVC(probability=True).fit(X, y), SVC(calibrate=True).fit(X, y)
    model.save(tmp_path / "model")
    for one in (model, pellucid.load(tmp_path / "model")):
        np.testing.assert_array_equal(one.predict_proba(X), meant.predict_proba(X))
        np.testing.assert_array_equal(one.predict(X), meant.predict(X))


def test_many_small_classes_are_not_made_uncertain():
    """Ten classes of 20 rows that their scores separate: each row is nearly sure of its class."""
    y = np.repeat(np.arange(10), 20)
    scores = 4.0 * np.eye(10)[y] + 0.1 * np.random.default_rng(0).normal(size=(200, 10))
    found = platt.probabilities(scores, platt.fit(scores, y, np.ones(200), 10))
    assert found[np.arange(200), y].mean() > 0.9
