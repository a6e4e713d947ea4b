"""scikit-learn's voting and stacking over our models, and ours over its learners."""

import numpy as np
import pytest
from sklearn.ensemble import (
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)

from pellucid.data import datasets
from pellucid.ensemble import HistGradientBoostingRegressor, RandomForestClassifier
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
    assert model.final_estimator_.n_features_in_ == 9 and model.score(X, y) > 0.95


def test_regressors_vote_and_stack(rng):
    X = rng.normal(size=(120, 3))
    y = X[:, 0] + np.abs(X[:, 1]) + 0.1 * rng.normal(size=120)
    learners = [
        ("line", LinearRegression()),
        ("tree", DecisionTreeRegressor(max_depth=4)),
        ("boost", HistGradientBoostingRegressor(max_iter=20)),
    ]
    voted = VotingRegressor(learners).fit(X, y)
    mean = np.mean([learner.predict(X) for learner in voted.estimators_], axis=0)
    np.testing.assert_allclose(voted.predict(X), mean, rtol=1e-13)
    stacked = StackingRegressor(learners, final_estimator=LinearRegression(), cv=3).fit(X, y)
    assert stacked.score(X, y) > voted.estimators_[0].score(X, y)
