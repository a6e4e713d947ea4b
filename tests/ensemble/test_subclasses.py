"""A user's subclass of one of our estimators inside an ensemble: its own methods are called."""

import numpy as np
import pytest

from pellucid.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
)
from pellucid.errors import ParameterError
from pellucid.linear_model import LinearRegression
from pellucid.naive_bayes import GaussianNB
from pellucid.tree import DecisionTreeClassifier, DecisionTreeRegressor


class Called(Exception):
    pass


def raising(Base, method):
    """A subclass of Base whose method raises `Called`."""

    def method_of(self, X, y=None, sample_weight=None):
        raise Called

    return type("Mine", (Base,), {method: method_of, "__module__": __name__})


def rows(rng):
    X = rng.normal(size=(60, 3))
    return X, X[:, 0] + X[:, 1] ** 2


@pytest.mark.parametrize("Base", [DecisionTreeClassifier, GaussianNB])
@pytest.mark.parametrize("Ensemble", [BaggingClassifier, AdaBoostClassifier])
def test_a_fit_of_ones_own_is_called(Ensemble, Base, rng):
    X, y = rows(rng)
    with pytest.raises(Called):
        Ensemble(raising(Base, "fit")(), n_estimators=3).fit(X, y > 0.5)


@pytest.mark.parametrize("Base", [DecisionTreeRegressor, LinearRegression])
@pytest.mark.parametrize("Ensemble", [BaggingRegressor, AdaBoostRegressor])
@pytest.mark.parametrize("method", ["fit", "predict"])
def test_regressors_of_ones_own_are_called(Ensemble, Base, method, rng):
    X, y = rows(rng)
    with pytest.raises(Called):
        Ensemble(raising(Base, method)(), n_estimators=3).fit(X, y).predict(X)


@pytest.mark.parametrize("Base", [DecisionTreeClassifier, GaussianNB])
def test_predictions_of_ones_own_are_called(Base, rng):
    """Bagging averages probabilities, AdaBoost counts votes, as in scikit-learn."""
    X, y = rows(rng)
    with pytest.raises(Called):
        BaggingClassifier(raising(Base, "predict_proba")(), 3).fit(X, y > 0.5).predict(X)
    with pytest.raises(Called):
        AdaBoostClassifier(raising(Base, "predict")(), n_estimators=3).fit(X, y > 0.5)


def test_the_general_path_gives_the_same_numbers(rng):
    class Mine(DecisionTreeClassifier):
        def fit(self, X, y, sample_weight=None):
            return super().fit(X, y, sample_weight)

    X, y = rows(rng)
    y = np.where(y > 0.5, "up", "down")
    for Ensemble in (BaggingClassifier, AdaBoostClassifier):
        ours = Ensemble(DecisionTreeClassifier(max_depth=2), n_estimators=5, random_state=0)
        mine = Ensemble(Mine(max_depth=2), n_estimators=5, random_state=0)
        a, b = (one.fit(X, y).predict_proba(X) for one in (ours, mine))
        np.testing.assert_allclose(a, b, rtol=1e-12)
        with pytest.raises(ParameterError, match="needs a decision tree"):
            mine.explain(X)


def test_a_subclass_that_overrides_nothing_stays_fast(rng):
    class Mine(DecisionTreeClassifier):
        def leaves(self):
            return self.tree_.n_leaves

    X, y = rows(rng)
    model = BaggingClassifier(Mine(max_depth=2), 3, random_state=0).fit(X, y > 0.5)
    assert model.explain(X).contributions.shape == (60, 3, 1)
    assert model.estimators_[0].leaves() > 1
