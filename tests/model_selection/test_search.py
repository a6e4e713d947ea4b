"""The search: scores of scikit-learn's, failures told, classes that training lacked."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import Ridge as TheirRidge
from sklearn.model_selection import GridSearchCV

from pellucid.errors import DataError, ParameterError, PellucidWarning
from pellucid.linear_model import LogisticRegression, Ridge
from pellucid.model_selection import Geometric, KFold, StratifiedKFold, search
from pellucid.tree import DecisionTreeClassifier


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4))
    return X, (X[:, 0] + rng.normal(size=90) > 0).astype(int)


@pytest.mark.parametrize("scoring", ["roc_auc", None, "neg_log_loss", "recall"])
def test_scores_and_choice_are_those_of_scikit_learns_search(table, scoring):
    X, y = table
    grid = {"C": Geometric(0.01, 100, 5)}
    found = search(LogisticRegression(), X, y, grid, scoring=scoring, cv=3)
    theirs = GridSearchCV(LogisticRegression(), {"C": grid["C"].values()}, scoring=scoring, cv=3)
    theirs.fit(X, y)
    assert found.params == theirs.best_params_
    means = theirs.cv_results_["mean_test_score"]
    np.testing.assert_allclose(found.scores.mean(axis=1), means, rtol=1e-12)
    assert found.score == pytest.approx(theirs.best_score_, rel=1e-12)
    assert np.array_equal(found.model.predict_proba(X), theirs.best_estimator_.predict_proba(X))
    columns = found.frame("pandas")
    np.testing.assert_allclose(
        columns["std_score"], theirs.cv_results_["std_test_score"], atol=1e-12
    )


def test_a_metric_where_lower_is_better_is_minimised(table):
    X, y = table
    found = search(Ridge(), X, y, {"alpha": [0.1, 1e6]}, scoring="rmse", cv=KFold(3))
    assert found.params == {"alpha": 0.1} and found.scores[0].mean() < found.scores[1].mean()


def test_foreign_estimators_tables_and_weights(table):
    X, y = table
    w = np.random.default_rng(1).integers(1, 4, len(y))
    repeated = np.repeat(np.arange(len(y)), w)
    grid = [{"alpha": [0.1, 10.0]}, {"alpha": [1.0], "fit_intercept": [False]}]
    for model in (Ridge(), TheirRidge()):
        weighted = search(model, X, y, grid, cv=3, sample_weight=w, scoring="rmse")
        folds = [
            (np.flatnonzero(np.isin(repeated, train)), np.flatnonzero(np.isin(repeated, test)))
            for train, test in KFold(3).split(X)
        ]
        copies = search(model, X[repeated], y[repeated], grid, cv=folds, scoring="rmse")
        np.testing.assert_allclose(weighted.scores, copies.scores, rtol=1e-9)
        assert len(weighted.candidates) == 3
        for container in (pd.DataFrame, pl.DataFrame):
            named = container({f"x{j}": X[:, j] for j in range(4)})
            assert np.isfinite(search(Ridge(), named, y, grid, cv=3).scores).all()


def test_a_class_that_training_lacked_has_a_probability_of_one_ulp(table):
    X, _ = table
    y = np.repeat([0, 2, 1], 30)
    splits = [(np.arange(60), np.arange(30, 90))]
    found = search(DecisionTreeClassifier(max_depth=1), X, y, {}, cv=splits, scoring="log_loss")
    assert found.scores[0, 0] > -0.5 * np.log(np.finfo(float).eps)


def test_candidates_that_fail_are_out_and_all_failing_is_an_error(table):
    X, y = table
    with pytest.warns(PellucidWarning, match="1 of 2 candidates failed"):
        found = search(LogisticRegression(), X, y, {"C": [-1.0, 1.0]}, cv=StratifiedKFold(3))
    assert found.best == 1 and "C" in found.errors[0] and np.isnan(found.scores[0]).all()
    with pytest.raises(ValueError, match="C"):
        search(LogisticRegression(), X, y, {"C": [-1.0]})
    with pytest.raises(DataError, match="No candidate has a score"):
        search(Ridge(), X, y, {"alpha": [1.0]}, scoring="roc_auc")
    with pytest.raises(ParameterError, match="grid must be"):
        search(Ridge(), X, y, [1.0])
