"""The search: scores of scikit-learn's, failures told, classes that training lacked."""

import numpy as np
import pytest

from pellucid.linear_model import LogisticRegression
from pellucid.model_selection import Geometric, StratifiedFolds, candidates, metric, search
from pellucid.tree import DecisionTreeClassifier


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4))
    return X, (X[:, 0] + rng.normal(size=90) > 0).astype(int), np.ones(90)


def taking(X, y, w):
    return lambda rows: (X[rows], y[rows], w[rows])


def test_scores_are_those_of_scikit_learns_search(table):
    theirs = pytest.importorskip("sklearn.model_selection")
    X, y, w = table
    space = {"C": Geometric(0.01, 100, 5)}
    splits = list(StratifiedFolds(3).split(y))
    found = search(
        LogisticRegression(), candidates(space), taking(X, y, w), splits, metric("roc_auc")
    )
    grid = theirs.GridSearchCV(
        LogisticRegression(), {"C": space["C"].values()}, scoring="roc_auc", cv=splits
    ).fit(X, y)
    assert found.params == grid.best_params_
    np.testing.assert_allclose(
        found.scores.mean(axis=1), grid.cv_results_["mean_test_score"], rtol=1e-12
    )


def test_a_class_that_training_lacked_has_a_probability_of_one_ulp(table):
    X, _, w = table
    y = np.repeat([0, 2, 1], 30)
    splits = [(np.arange(60), np.arange(30, 90))]
    found = search(
        DecisionTreeClassifier(max_depth=1), [{}], taking(X, y, w), splits, metric("log_loss")
    )
    assert found.scores[0, 0] < 0.5 * np.log(np.finfo(float).eps)


def test_candidates_that_fail_are_out_and_all_failing_is_an_error(table):
    X, y, w = table
    splits = list(StratifiedFolds(3).split(y))
    tried = [{"C": -1.0}, {"C": 1.0}]
    found = search(LogisticRegression(), tried, taking(X, y, w), splits, metric("accuracy"))
    assert found.best == 1 and "C" in found.errors[0]
    with pytest.raises(ValueError, match="C"):
        search(LogisticRegression(), tried[:1], taking(X, y, w), splits, metric("accuracy"))


def test_a_search_that_is_stopped_has_scored_its_first_candidate(table):
    X, y, w = table
    splits, grid = list(StratifiedFolds(3).split(y)), candidates({"C": [0.1, 1.0]})
    found = search(
        LogisticRegression(), grid, taking(X, y, w), splits, metric("accuracy"), lambda: True
    )
    assert (
        found.best == 0 and np.isnan(found.scores[1]).all() and not np.isnan(found.scores[0]).any()
    )
