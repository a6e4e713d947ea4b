"""Bagging of regressors: the mean of its learners, out-of-bag rows, foreign learners, forests."""

import numpy as np
import pytest
import sklearn.ensemble as theirs
from sklearn.neighbors import KNeighborsRegressor

from pellucid.ensemble import BaggingRegressor, RandomForestRegressor
from pellucid.errors import ParameterError
from pellucid.linear_model import LinearRegression
from pellucid.tree import DecisionTreeClassifier


def _data(n=300):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    return X, X[:, 0] ** 2 + X[:, 1] + 0.2 * rng.normal(size=n)


def test_prediction_is_the_mean_of_the_learners():
    X, y = _data()
    model = BaggingRegressor(n_estimators=7, max_features=0.5, random_state=1).fit(X, y)
    parts = [
        tree.predict(X[:, own]) for tree, own in zip(model.estimators_, model.estimators_features_)
    ]
    np.testing.assert_allclose(model.predict(X), np.mean(parts, axis=0), rtol=1e-12)
    assert model.explain(X).gap() < 1e-10


def test_out_of_bag_is_honest():
    X, y = _data()
    model = BaggingRegressor(n_estimators=60, oob_score=True, random_state=0).fit(X, y)
    new, target = _data(900)[0][300:], _data(900)[1][300:]
    assert model.oob_score_ == pytest.approx(model.score(new, target), abs=0.06)
    assert model.oob_score_ < model.score(X, y) - 0.02
    residual = ((y - model.oob_prediction_) ** 2).sum() / ((y - y.mean()) ** 2).sum()
    assert model.oob_score_ == pytest.approx(1 - residual)
    peer = theirs.BaggingRegressor(n_estimators=60, oob_score=True, random_state=0).fit(X, y)
    assert model.oob_score_ == pytest.approx(peer.oob_score_, abs=0.03)


def test_all_columns_of_a_forest_are_bagging():
    X, y = _data()
    bagged = BaggingRegressor(n_estimators=40, random_state=0).fit(X[:200], y[:200])
    forest = RandomForestRegressor(40, random_state=0).fit(X[:200], y[:200])
    ours, other = (m.score(X[200:], y[200:]) for m in (bagged, forest))
    assert ours == pytest.approx(other, abs=0.05)


@pytest.mark.parametrize("learner", [LinearRegression(), KNeighborsRegressor()])
def test_any_learner(learner):
    X, y = _data()
    model = BaggingRegressor(learner, n_estimators=5, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.3
    with pytest.raises(ParameterError, match="needs a decision tree"):
        model.explain(X)


def test_a_classifier_is_refused():
    with pytest.raises(ParameterError, match="needs a regressor"):
        BaggingRegressor(DecisionTreeClassifier()).fit([[1.0], [2.0]], [1.0, 2.0])
