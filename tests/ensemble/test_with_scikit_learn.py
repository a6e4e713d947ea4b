"""scikit-learn's voting, stacking, calibration, search and pipelines over our ensembles."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris
from sklearn.ensemble import (
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pellucid.data import Table, datasets
from pellucid.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from pellucid.errors import NotFittedError, ParameterError
from pellucid.linear_model import LinearRegression, LogisticRegression
from pellucid.naive_bayes import GaussianNB
from pellucid.tree import DecisionTreeClassifier, DecisionTreeRegressor


@pytest.fixture(scope="module")
def wine():
    table = datasets.load("wine")
    return table.X, np.asarray(table.y)


def classifiers():
    return [
        ("tree", DecisionTreeClassifier(max_depth=3)),
        ("forest", RandomForestClassifier(10, random_state=0)),
        ("bayes", GaussianNB()),
        ("ada", AdaBoostClassifier(n_estimators=5)),
        ("boost", GradientBoostingClassifier(n_estimators=5)),
        ("hist", HistGradientBoostingClassifier(max_iter=5)),
    ]


def test_soft_votes_are_the_mean_of_our_probabilities(wine):
    X, y = wine
    model = VotingClassifier(classifiers(), voting="soft").fit(X, y)
    mean = np.mean([learner.predict_proba(X) for learner in model.estimators_], axis=0)
    np.testing.assert_allclose(model.predict_proba(X), mean, atol=1e-15)
    assert model.score(X, y) > 0.95


def test_hard_votes_are_counted(wine):
    X, y = wine
    model = VotingClassifier(classifiers(), voting="hard").fit(X, y)
    votes = np.array([learner.predict(X) for learner in model.estimators_])
    counts = np.array([(votes == k).sum(axis=0) for k in range(len(model.classes_))])
    assert np.array_equal(model.predict(X), model.classes_[counts.argmax(axis=0)])


def test_stacked_classifiers_learn_from_probabilities_of_unseen_rows(wine):
    X, y = wine
    model = StackingClassifier(classifiers(), final_estimator=LogisticRegression(), cv=3).fit(X, y)
    assert model.final_estimator_.n_features_in_ == 18 and model.score(X, y) > 0.95


def test_regressors_vote_and_stack(rng):
    X = rng.normal(size=(120, 3))
    y = X[:, 0] + np.abs(X[:, 1]) + 0.1 * rng.normal(size=120)
    learners = [
        ("line", LinearRegression()),
        ("tree", DecisionTreeRegressor(max_depth=4)),
        ("boost", HistGradientBoostingRegressor(max_iter=20)),
        ("older", GradientBoostingRegressor(n_estimators=20)),
        ("ada", AdaBoostRegressor(n_estimators=5)),
    ]
    voted = VotingRegressor(learners).fit(X, y)
    mean = np.mean([learner.predict(X) for learner in voted.estimators_], axis=0)
    np.testing.assert_allclose(voted.predict(X), mean, rtol=1e-13)
    stacked = StackingRegressor(learners, final_estimator=LinearRegression(), cv=3).fit(X, y)
    assert stacked.score(X, y) > voted.estimators_[0].score(X, y)


@pytest.mark.parametrize(
    "model", [AdaBoostClassifier(n_estimators=20), HistGradientBoostingClassifier(max_iter=10)]
)
def test_calibration_improves_probabilities(model, rng):
    X = rng.normal(size=(600, 3))
    y = (X[:, 0] + rng.normal(size=600) > 0).astype(int)
    train, test = slice(0, 400), slice(400, None)
    calibrated = CalibratedClassifierCV(model, cv=3).fit(X[train], y[train])
    alone = model.fit(X[train], y[train])
    losses = [log_loss(y[test], m.predict_proba(X[test])) for m in (calibrated, alone)]
    assert losses[0] < losses[1] + 0.01 and losses[0] < 0.6


@pytest.mark.filterwarnings("ignore::pellucid.errors.UnseenLevelWarning")
@pytest.mark.parametrize(
    ("model", "grid"),
    [
        (HistGradientBoostingClassifier(max_iter=5), {"learning_rate": [1e-6, 0.3]}),
        (GradientBoostingClassifier(n_estimators=5), {"learning_rate": [1e-6, 0.3]}),
        (
            AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=5),
            {"estimator__max_depth": [1, 3], "table__missing": ["indicator"]},
        ),
    ],
)
def test_searches_over_a_table_with_levels_and_gaps(model, grid):
    penguins = datasets.load("penguins")
    if "table__missing" in grid:
        model.set_params(table=Table())
    search = GridSearchCV(model, grid, cv=3, scoring="accuracy").fit(penguins.X, penguins.y)
    name = next(iter(grid))
    assert search.best_params_[name] == grid[name][1] and search.best_score_ > 0.9


def test_pipelines_scale_and_route_weights(rng):
    X = pd.DataFrame(rng.normal(size=(100, 3)), columns=list("abc"))
    y = (X.a > 0).astype(int)
    w = np.where(X.b > 0, 1.0, 0.0)
    model = make_pipeline(StandardScaler(), GradientBoostingClassifier(n_estimators=5))
    model.fit(X, y, gradientboostingclassifier__sample_weight=w)
    Z = StandardScaler().fit_transform(X)
    kept = GradientBoostingClassifier(n_estimators=5).fit(Z[w > 0], y[w > 0])
    np.testing.assert_array_equal(model.predict_proba(X), kept.predict_proba(Z))


@pytest.mark.parametrize(
    "Model",
    [RandomForestClassifier, ExtraTreesRegressor, BaggingClassifier, AdaBoostRegressor,
     GradientBoostingClassifier],
)  # fmt: skip
def test_an_ensemble_is_a_sequence_of_its_base_estimators(Model):
    X, y = load_iris(return_X_y=True)
    model = Model(n_estimators=3, random_state=0)
    assert bool(model)
    with pytest.raises(NotFittedError):
        len(model)
    model.fit(X, y)
    assert len(model) == len(model.estimators_) == len(list(model)) == 3
    assert len(model[1:]) == 2


class Unmarked(BaseEstimator):
    """Has `fit` and `predict`, but does not say that it is a classifier."""

    def fit(self, X, y):
        self.model_ = DecisionTreeClassifier(max_depth=1).fit(X, y)
        return self

    def predict(self, X):
        return self.model_.predict(X)


@pytest.mark.parametrize("Model", [BaggingClassifier, AdaBoostClassifier])
def test_base_estimators_need_not_say_what_they_are(Model):
    X, y = load_iris(return_X_y=True)
    model = Model(Unmarked(), n_estimators=3, random_state=0).fit(X, y)
    assert isinstance(model.estimators_[0], Unmarked) and model.score(X, y) > 0.6
    with pytest.raises(ParameterError, match="needs a classifier"):
        Model(StandardScaler(), n_estimators=3).fit(X, y)


class Duck:
    """Not even tags: what scikit-learn's AdaBoost accepts."""

    def fit(self, X, y, sample_weight=None):
        self.classes_, counts = np.unique(y, return_counts=True)
        self.answer_ = self.classes_[counts.argmax()]
        return self

    def predict(self, X):
        return np.full(len(X), self.answer_)

    def get_params(self, deep=True):
        return {}

    def set_params(self, **params):
        return self


@pytest.mark.parametrize("Model", [BaggingClassifier, AdaBoostClassifier])
def test_base_estimators_need_no_tags(Model):
    X, y = load_iris(return_X_y=True)
    X, y = X[10:], y[10:]
    model = Model(Duck(), n_estimators=3, random_state=0).fit(X, y)
    assert isinstance(model.estimators_[0], Duck)
    assert model.predict(X).shape == y.shape and model.score(X, y) >= 40 / 140


def test_a_bootstrap_sample_of_a_forest_may_be_larger_than_the_table():
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(3, max_samples=1.5, random_state=0).fit(X, y)
    assert [tree.tree_.n_samples[0] for tree in forest] == [225] * 3


@pytest.mark.parametrize("by", ["base estimator", "bagging"])
@pytest.mark.parametrize("Bagging", [BaggingClassifier, BaggingRegressor])
def test_weights_reach_bagging_by_the_request_of_its_base_estimator(Bagging, by):
    """As in scikit-learn, where Bagging passes on what the base estimator requests."""
    rng = np.random.default_rng(0)
    X, y, weights = rng.normal(size=(60, 2)), np.repeat([0, 1], 30), np.tile([1.0, 3.0], 30)
    base = DecisionTreeClassifier() if Bagging is BaggingClassifier else DecisionTreeRegressor()
    model = Bagging(base, n_estimators=3, random_state=0)
    with sklearn.config_context(enable_metadata_routing=True):
        with pytest.raises(UnsetMetadataPassedError, match="are not explicitly set"):
            cross_validate(model, X, y, params={"sample_weight": weights}, error_score="raise")
        if by == "bagging":
            model.set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        else:
            base.set_fit_request(sample_weight=True)
        found = cross_validate(
            model, X, y, params={"sample_weight": weights}, error_score="raise",
            return_estimator=True, return_indices=True,
        )  # fmt: skip
    own = found["indices"]["train"][0]
    fitted = Bagging(base, n_estimators=3, random_state=0).fit(X[own], y[own], weights[own])
    np.testing.assert_array_equal(fitted.predict(X), found["estimator"][0].predict(X))
    assert (fitted.predict(X) != model.fit(X[own], y[own]).predict(X)).any()
