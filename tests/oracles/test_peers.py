"""The adapters translate parameters, refuse what a peer cannot do, and agree with R."""

import numpy as np
import pytest

from pellucid.dummy import DummyClassifier
from pellucid.ensemble import HistGradientBoostingClassifier
from tests.oracles import peer_lightgbm, peer_sklearn, peer_statsmodels, shared


def ours(family, name, **params):
    """A stand-in with our class's name, module and parameters."""

    def init(self, C=np.inf, fit_intercept=True, solver="auto", alpha=0, estimator=None, only_us=0):
        pass

    members = {"__init__": init, "get_params": lambda self, deep=True: params}
    return type(name, (), {**members, "__module__": f"pellucid.{family}.x"})()


def test_sklearn_twin_has_the_same_parameters():
    sklearn_dummy = pytest.importorskip("sklearn.dummy")
    twin = peer_sklearn.twin(DummyClassifier(strategy="constant", constant=1))
    assert type(twin) is sklearn_dummy.DummyClassifier
    assert twin.strategy == "constant" and twin.constant == 1


def test_sklearn_words_and_own_parameters():
    pytest.importorskip("sklearn.linear_model")
    twin = peer_sklearn.twin(ours("linear_model", "LogisticRegression", C=2.0, solver="auto"))
    assert twin.solver == "lbfgs" and twin.C == 2.0
    same = ours("linear_model", "LogisticRegression", only_us=0)
    assert not hasattr(peer_sklearn.twin(same), "only_us")
    with pytest.raises(ValueError, match="has no 'only_us', which is 3"):
        peer_sklearn.twin(ours("linear_model", "LogisticRegression", only_us=3))


def test_sklearn_twin_of_a_nested_estimator():
    ensemble = pytest.importorskip("sklearn.ensemble")
    inner = DummyClassifier(strategy="prior")
    twin = peer_sklearn.twin(ours("ensemble", "BaggingClassifier", estimator=inner))
    assert type(twin) is ensemble.BaggingClassifier
    assert type(twin.estimator).__module__ == "sklearn.dummy"


def test_boosting_in_other_words():
    model = HistGradientBoostingClassifier(max_iter=7, max_leaf_nodes=9, early_stopping=False)
    words = {"max_iter": "n_estimators", "max_leaf_nodes": "num_leaves"}
    found = peer_lightgbm.translated(model, words)
    assert found == {"n_estimators": 7, "num_leaves": 9}
    with pytest.raises(ValueError, match="'max_depth', which is 3, is not translated"):
        peer_lightgbm.translated(model.set_params(max_depth=3), words)
    with pytest.raises(ValueError, match="early stopping"):
        peer_lightgbm.translated(HistGradientBoostingClassifier(), words)


def regression(key, columns):
    reference = shared.r_reference(key)
    data = shared.columns(reference["data"])
    X = np.column_stack([data[name] for name in columns]).astype(float)
    return data, X, reference["result"]


def check(twin, result, rtol, errors=True):
    np.testing.assert_allclose(np.r_[twin.intercept_, twin.coef_], result["coef"], rtol=rtol)
    if errors:
        np.testing.assert_allclose(twin.std_error_, result["se"], rtol=rtol)


def test_statsmodels_least_squares_agrees_with_r():
    pytest.importorskip("statsmodels")
    data, X, result = regression("lm_mtcars", ["wt", "hp", "qsec", "am"])
    twin = peer_statsmodels.fitted(ours("linear_model", "LinearRegression"), X, data["mpg"])
    check(twin, result, 1e-10)
    np.testing.assert_allclose(twin.predict(X), twin.intercept_ + X @ twin.coef_)
    data, X, result = regression("lm_mtcars_weighted", ["wt", "qsec"])
    weighted = ours("linear_model", "LinearRegression")
    check(
        peer_statsmodels.fitted(weighted, X, data["mpg"], sample_weight=data["hp"]), result, 1e-10
    )


def test_statsmodels_logistic_agrees_with_r():
    pytest.importorskip("statsmodels")
    data, X, result = regression("glm_binomial_infert", ["spontaneous", "induced", "age", "parity"])
    free = ours("linear_model", "LogisticRegression", C=np.inf)
    check(peer_statsmodels.fitted(free, X, data["case"]), result, 1e-8)


def test_statsmodels_weights_are_repetitions(rng):
    pytest.importorskip("statsmodels")
    X, weights = rng.normal(size=(60, 2)), rng.integers(1, 4, size=60)
    y = rng.poisson(np.exp(0.3 + X[:, 0] / 2))
    counts = ours("linear_model", "PoissonRegressor", alpha=0)
    a = peer_statsmodels.fitted(counts, X, y, sample_weight=weights)
    b = peer_statsmodels.fitted(counts, np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-9)
    np.testing.assert_allclose(a.std_error_, b.std_error_, rtol=1e-8)


def test_statsmodels_several_classes_are_centred(rng):
    pytest.importorskip("statsmodels")
    X = rng.normal(size=(300, 2))
    y = np.argmax(X @ rng.normal(size=(2, 3)) + rng.gumbel(size=(300, 3)), axis=1)
    twin = peer_statsmodels.fitted(ours("linear_model", "LogisticRegression", C=np.inf), X, y)
    assert twin.coef_.shape == (3, 2) and twin.intercept_.shape == (3,)
    np.testing.assert_allclose(twin.coef_.sum(axis=0), 0, atol=1e-12)
    # At the optimum the probabilities explain the counts: X'(observed - expected) = 0.
    scores = X @ twin.coef_.T + twin.intercept_
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(X.T @ (np.eye(3)[y] - p), 0, atol=1e-8)


def test_statsmodels_refuses_what_it_cannot_do():
    with pytest.raises(ValueError, match="C must be inf, not 1"):
        peer_statsmodels.twin(ours("linear_model", "LogisticRegression", C=1))
    with pytest.raises(ValueError, match="alpha must be 0"):
        peer_statsmodels.twin(ours("linear_model", "PoissonRegressor", alpha=1))
    with pytest.raises(ValueError, match="has no DummyClassifier"):
        peer_statsmodels.twin(DummyClassifier())
