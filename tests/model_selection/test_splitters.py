"""Splitters and cross-validation give scikit-learn's rows and numbers, for the same integer seed."""

import inspect

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn.linear_model
import sklearn.model_selection as theirs
from hypothesis import given, settings
from hypothesis import strategies as st

from pellucid import model_selection as ours
from pellucid.data import datasets
from pellucid.errors import PellucidError, PellucidWarning
from pellucid.linear_model import LassoCV, LinearRegression, LogisticRegression
from pellucid.naive_bayes import GaussianNB

SHARED = sorted(
    name for name in ours.__all__ if hasattr(theirs, name) and inspect.isclass(getattr(ours, name))
)
SHUFFLED = {"shuffle": True, "random_state": 7}
FORMS = {
    "KFold": [{"n_splits": 3}, {"n_splits": 4, **SHUFFLED}],
    "StratifiedKFold": [{"n_splits": 3}, {"n_splits": 2, **SHUFFLED}],
    "GroupKFold": [{"n_splits": 3}, {"n_splits": 2, **SHUFFLED}],
    "ShuffleSplit": [{"random_state": 1}, {"test_size": 0.3, "train_size": 4, "random_state": 2}],
    "StratifiedShuffleSplit": [{"test_size": 0.4, "random_state": 3}],
    "GroupShuffleSplit": [{"random_state": 4}, {"test_size": 0.4, "random_state": 5}],
    "TimeSeriesSplit": [{}, {"n_splits": 3, "gap": 1, "max_train_size": 4, "test_size": 2}],
    "RepeatedKFold": [{"n_splits": 3, "n_repeats": 2, "random_state": 6}],
    "RepeatedStratifiedKFold": [{"n_splits": 2, "n_repeats": 3, "random_state": 8}],
    "LeaveOneOut": [{}],
    "LeaveOneGroupOut": [{}],
}


def test_every_splitter_is_compared():
    assert sorted(FORMS) == SHARED


@pytest.mark.filterwarnings("ignore:The groups parameter is ignored")
@pytest.mark.parametrize("name", SHARED)
@given(st.integers(12, 60), st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_the_rows_are_scikit_learns(name, n, seed):
    rng = np.random.default_rng(seed)
    y = np.array(["b", "c", "a"])[np.concatenate([[0, 1, 2] * 3, rng.integers(3, size=n - 9)])]
    groups = np.concatenate([np.arange(6), rng.integers(9, size=n - 6)])
    for form in FORMS[name]:
        mine, other = getattr(ours, name)(**form), getattr(theirs, name)(**form)
        pairs = zip(mine.split(y, y, groups), other.split(y, y, groups), strict=True)
        for (train, test), (their_train, their_test) in pairs:
            assert np.array_equal(train, their_train) and np.array_equal(test, their_test)
        assert mine.get_n_splits(y, y, groups) == other.get_n_splits(y, y, groups)


@pytest.mark.parametrize("name", SHARED)
def test_call_forms_are_theirs(name):
    mine = inspect.signature(getattr(ours, name)).parameters
    other = inspect.signature(getattr(theirs, name)).parameters
    assert {n: (p.default, p.kind) for n, p in mine.items()} == {
        n: (p.default, p.kind) for n, p in other.items()
    }


@given(st.integers(12, 50), st.integers(0, 2**31))
@settings(max_examples=25, deadline=None)
def test_train_test_split_is_theirs(n, seed):
    y = np.arange(n) % 3
    X = np.random.default_rng(seed).normal(size=(n, 2))
    for form in (
        {"random_state": seed},
        {"test_size": 0.3, "random_state": seed, "stratify": y},
        {"train_size": 5, "random_state": seed},
        {"shuffle": False},
    ):
        for a, b in zip(ours.train_test_split(X, y, **form), theirs.train_test_split(X, y, **form)):
            assert np.array_equal(a, b)


def test_tables_keep_their_container():
    columns = {"a": [1.0, 2.0, 3.0, 4.0], "b": ["x", "y", "z", "x"]}
    for table in (pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns)):
        train, test = ours.train_test_split(table, random_state=0)
        assert type(train) is type(table) and ours.splitters.n_rows(train) == 3
        assert ours.splitters.n_rows(test) == 1


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"cv": 3, "scoring": "neg_log_loss"},
        {"cv": theirs.KFold(4, shuffle=True, random_state=0), "scoring": ["accuracy", "f1_macro"]},
        {"scoring": {"a": "roc_auc_ovr", "b": "neg_brier_score"}, "return_train_score": True},
        {"scoring": "precision_weighted", "params": {"sample_weight": np.arange(150) % 3 + 1.0}},
    ],
)
def test_cross_validation_is_theirs(form):
    iris = datasets.load("iris")
    X = np.column_stack([iris.X[name].to_numpy() for name in iris.features])
    y = np.unique(iris.y, return_inverse=True)[1]
    if form.get("scoring") == "neg_brier_score":
        y = y > 0
    mine = ours.cross_validate(GaussianNB(), X, y, **form)
    other = theirs.cross_validate(GaussianNB(), X, y, **form)
    assert set(mine) == set(other)
    for name in mine:
        if "time" not in name:
            np.testing.assert_allclose(
                mine[name], other[name], rtol=1e-12, atol=1e-14, err_msg=name
            )


@pytest.mark.parametrize("method", ["predict", "predict_proba", "predict_log_proba"])
def test_predictions_of_folds_are_theirs(method):
    wine = datasets.load("wine")
    X = np.column_stack([wine.X[name].to_numpy() for name in wine.features])
    folds = ours.StratifiedKFold(4, shuffle=True, random_state=1)
    mine = ours.cross_val_predict(GaussianNB(), X, wine.y, cv=folds, method=method)
    other = theirs.cross_val_predict(GaussianNB(), X, wine.y, cv=folds, method=method)
    assert mine.dtype.kind == other.dtype.kind and np.array_equal(mine, other)


def test_regression_scores_and_foreign_estimators():
    tips = datasets.load("tips")
    X, y = tips.X.select(["total_bill", "size"]).to_pandas(), tips.y
    for scoring in ("r2", "neg_root_mean_squared_error", "neg_median_absolute_error", None):
        for model in (LinearRegression(), sklearn.linear_model.LinearRegression()):
            mine = ours.cross_val_score(model, X, y, scoring=scoring)
            other = theirs.cross_val_score(model, X, y, scoring=scoring)
            np.testing.assert_allclose(mine, other, rtol=1e-12)
    own = ours.cross_val_score(LinearRegression(), X, y, scoring="rmse")
    negated = ours.cross_val_score(LinearRegression(), X, y, scoring="neg_root_mean_squared_error")
    np.testing.assert_allclose(own, -negated, rtol=1e-12)


def test_weights_count_in_fit_and_score():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    w = rng.integers(1, 4, 60)
    rows = np.repeat(np.arange(60), w)
    folds = list(ours.KFold(3).split(X))
    copied = [
        (np.flatnonzero(np.isin(rows, a)), np.flatnonzero(np.isin(rows, b))) for a, b in folds
    ]
    weighted = ours.cross_val_score(LinearRegression(), X, y, cv=folds, sample_weight=w)
    repeated = ours.cross_val_score(LinearRegression(), X[rows], y[rows], cv=copied)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-9)


def test_our_splitters_work_in_scikit_learn_and_in_our_models():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    folds = ours.KFold(4, shuffle=True, random_state=2)
    grid = theirs.GridSearchCV(sklearn.linear_model.Ridge(), {"alpha": [1, 10]}, cv=folds).fit(X, y)
    assert grid.n_splits_ == 4
    same = theirs.KFold(4, shuffle=True, random_state=2)
    assert LassoCV(cv=folds).fit(X, y).alpha_ == LassoCV(cv=same).fit(X, y).alpha_


def test_n_jobs_changes_nothing():
    wine = datasets.load("wine")
    alone, several = (
        ours.cross_val_score(GaussianNB(), wine.X, wine.y, n_jobs=n_jobs) for n_jobs in (None, -1)
    )
    assert np.array_equal(alone, several)


def test_the_global_generator_is_not_used():
    def drawn():
        np.random.seed(0)  # noqa: NPY002
        return next(ours.ShuffleSplit(1).split(range(1000)))[0]

    assert not np.array_equal(drawn(), drawn())


def test_failing_folds_are_told():
    X, y = np.arange(12.0)[:, None], np.repeat([0, 1], 6)
    model = LogisticRegression(solver="newton-cholesky")
    halves = [(np.arange(6), np.arange(6, 12)), (np.arange(0, 12, 2), np.arange(1, 12, 2))]
    with pytest.warns(PellucidWarning, match="1 of 2 fits failed"):
        scores = ours.cross_val_score(model, X, y, cv=halves)
    assert np.isnan(scores[0]) and scores[1] >= 0.5
    with pytest.raises(PellucidError):
        ours.cross_val_score(model, X, y, cv=halves, error_score="raise")


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: ours.KFold(1), "at least 2"),
        (lambda: ours.KFold(3, random_state=1), "without shuffle"),
        (lambda: list(ours.KFold(5).split(range(3))), "5 folds need"),
        (lambda: list(ours.GroupKFold(2).split(range(4))), "needs `groups`"),
        (lambda: ours.train_test_split([1, 2], [1]), "must match"),
        (lambda: ours.train_test_split([1, 2, 3], test_size=1.5), "test_size must be"),
        (lambda: ours.train_test_split([1, 2, 3], stratify=[0, 0, 1]), "single row"),
        (lambda: ours.cross_val_score(LinearRegression(), [[1.0]], [1.0], cv="x"), "cv must be"),
        (
            lambda: ours.cross_val_predict(
                LinearRegression(), [[1.0], [2.0]], [1.0, 2.0], cv=[([0, 1], [1])]
            ),
            "exactly once",
        ),
    ],
)
def test_wrong_calls_are_named(call, text):
    with pytest.raises(PellucidError, match=text):
        call()
