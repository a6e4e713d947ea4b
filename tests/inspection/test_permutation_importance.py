"""Permutation importance against scikit-learn and against a plain loop."""

import numpy as np
import pandas as pd
import pytest
from sklearn import inspection as theirs
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import Ridge as SklearnRidge
from sklearn.metrics import get_scorer

from pellucid.ensemble import RandomForestClassifier, RandomForestRegressor
from pellucid.errors import DataTypeError, ParameterError
from pellucid.inspection import permutation_importance
from pellucid.linear_model import LinearRegression, LogisticRegression
from tests.inspection.tables import CONTAINERS, mixed


@pytest.mark.parametrize("as_frame", [False, True])
@pytest.mark.parametrize("model", [LinearRegression(), SklearnRidge()], ids=["ours", "theirs"])
def test_equal_to_scikit_learn_with_the_same_seed(model, as_frame):
    X, y = load_diabetes(return_X_y=True, as_frame=as_frame)
    model.fit(X, y)
    weights = np.linspace(0.5, 2, len(y))
    for options in ({}, {"sample_weight": weights}, {"scoring": "neg_mean_absolute_error"}):
        ours = permutation_importance(model, X, y, n_repeats=4, random_state=3, **options)
        other = theirs.permutation_importance(model, X, y, n_repeats=4, random_state=3, **options)
        np.testing.assert_allclose(ours.importances, other.importances, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(ours.importances_mean, other.importances_mean, atol=1e-12)
        np.testing.assert_allclose(ours["importances_std"], other["importances_std"], atol=1e-12)


def test_equal_to_scikit_learn_with_their_scorers():
    X, y = load_breast_cancer(return_X_y=True)
    X = X[:, :5] / X[:, :5].std(axis=0)  # no probability rounds to 1, which would be a tie
    model = LogisticRegression(C=0.1).fit(X, y)
    for scoring in ("roc_auc", get_scorer("neg_log_loss")):
        ours = permutation_importance(model, X, y, scoring=scoring, random_state=0)
        other = theirs.permutation_importance(model, X, y, scoring=scoring, random_state=0)
        np.testing.assert_allclose(ours.importances, other.importances, atol=1e-12)


@pytest.mark.parametrize("container", CONTAINERS)
def test_permutes_the_cells_of_any_column_and_groups_together(container):
    frame, y = mixed()
    table = CONTAINERS[container](frame)
    model = RandomForestRegressor(n_estimators=20, random_state=0).fit(frame, y)
    groups = {"both": ["count", "place"]}
    found = permutation_importance(
        model, table, y, scoring="mae", groups=groups, n_repeats=3, random_state=1
    )
    assert found.names == ("both", "size", "grade", "day")
    rng, order, rows = (
        np.random.RandomState(np.random.RandomState(1).randint(2**31)),
        np.arange(len(y)),
        np.arange(len(y)),
    )
    error = np.abs(model.predict(frame) - y).mean()
    assert found.baseline == pytest.approx(-error)
    for r in range(3):
        rng.shuffle(order)
        rows = rows[order]
        for name, columns in (groups | {k: [k] for k in ("size", "grade", "day")}).items():
            changed = frame.copy()
            for column in columns:
                changed[column] = frame[column].iloc[rows].set_axis(frame.index)
            worse = np.abs(model.predict(changed) - y).mean()
            own = found.importances[found.names.index(name), r]
            assert own == pytest.approx(worse - error, abs=1e-12)


def test_equal_for_any_number_of_threads():
    frame, y = mixed()
    label = np.where(y > np.median(y), "more", "less")
    model = RandomForestClassifier(n_estimators=10, random_state=0).fit(frame, label)
    runs = [
        permutation_importance(model, frame, label, random_state=0, n_jobs=n).importances
        for n in (1, 2, 4)
    ]
    assert (runs[0] == runs[1]).all()
    assert (runs[0] == runs[2]).all()


def test_interval_is_that_of_a_mean_and_the_frame_is_sorted():
    from scipy import stats

    frame, y = mixed()
    model = LinearRegression().fit(frame.drop(columns="day").dropna(), y[frame.notna().all(axis=1)])
    X = frame.drop(columns="day").dropna()
    found = permutation_importance(model, X, y[X.index], n_repeats=7, random_state=0)
    low, high = found.interval(0.9)
    for values, a, b in zip(found.importances, low, high):
        expected = stats.t.interval(0.9, 6, values.mean(), stats.sem(values))
        assert (a, b) == pytest.approx(expected)
    table = found.frame()
    assert table["importance"] == sorted(found.importances_mean, reverse=True)
    assert set(table["column"]) == set(X.columns)
    assert isinstance(found.frame("pandas"), pd.DataFrame)
    once = permutation_importance(model, X, y[X.index], n_repeats=1, random_state=0)
    assert np.isnan(once.interval()[0]).all()
    assert "size" in str(once)


def test_a_given_table_is_not_changed():
    X, y = load_diabetes(return_X_y=True)
    frame = pd.DataFrame(X).add_prefix("x")
    before = X.copy()
    model = LinearRegression().fit(X, y)
    permutation_importance(model, X, y, random_state=0)
    permutation_importance(LinearRegression().fit(frame, y), frame, y, random_state=0)
    assert (before == X).all()
    assert (frame.to_numpy() == before).all()


def test_errors_name_what_is_wrong():
    from scipy import sparse

    X, y = load_diabetes(return_X_y=True)
    model = LinearRegression().fit(X, y)
    with pytest.raises(ParameterError, match=r"no column 'siez'\. Did you mean 'size'"):
        permutation_importance(model, mixed()[0], mixed()[1], groups={"a": ["siez"]})
    with pytest.raises(ParameterError, match="'x1' is in the groups more than once"):
        permutation_importance(model, X, y, groups={"a": [0, 1], "b": [1]})
    with pytest.raises(ParameterError, match="has the name of a column"):
        permutation_importance(model, X, y, groups={"x3": [0, 1]})
    with pytest.raises(ParameterError, match="n_repeats"):
        permutation_importance(model, X, y, n_repeats=0)
    with pytest.raises(ParameterError, match="scoring"):
        permutation_importance(model, X, y, scoring=3)
    with pytest.raises(DataTypeError, match="sparse"):
        permutation_importance(model, sparse.csr_matrix(X), y)
