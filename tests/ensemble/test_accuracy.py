"""Accuracy of forests and boosting on real tables: as scikit-learn's, to the noise of paired rows.

Every held-out row is judged by both; the mean difference of their losses must not lie above three of
its standard errors. `python -m benchmarks pages` compares them on larger samples, with LightGBM too.
"""

import numpy as np
import pandas as pd
import pytest
from sklearn import ensemble as theirs
from sklearn.metrics import log_loss

from pellucid.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from tests.oracles import shared

CLASSES = {
    "adult.csv.gz": "income",
    "bank_marketing.csv.gz": "y",
    "covtype_20k.csv.gz": None,
    "letter.csv": "lettr",
}
NUMBERS = {"california_housing.csv.gz": "MedHouseVal", "bike_day.csv": "cnt"}


def sample(name, target, n=3000):
    table = shared.frame(name)
    target = table.columns[-1] if target is None else target
    table = table.sample(min(n, len(table)), random_state=0)
    X = table.drop(columns=[target])
    words = [c for c in X if not pd.api.types.is_numeric_dtype(X[c])]
    return X.astype(dict.fromkeys(words, "category")), table[target].to_numpy(), words


def folds(n, k=3):
    fold = np.random.default_rng(0).permutation(n) % k
    return [(fold != i, fold == i) for i in range(k)]


def assert_not_worse(ours, theirs):
    """Losses of the same rows."""
    gap = np.concatenate(ours) - np.concatenate(theirs)
    assert gap.mean() <= 3 * gap.std(ddof=1) / np.sqrt(len(gap)) + 1e-12


def brier(model, X, y):
    """Squared error of the probabilities, by row."""
    truth = y[:, None] == model.classes_
    return ((model.predict_proba(X) - truth) ** 2).sum(axis=1)


def squares(model, X, y):
    return (model.predict(X) - y) ** 2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pellucid.errors.UnseenLevelWarning")
@pytest.mark.parametrize("name", CLASSES)
def test_classes(name):
    X, y, _ = sample(name, CLASSES[name], n=1500)
    settings = {"max_iter": 10, "learning_rate": 0.2}  # many classes take long
    ours, peer = [], []
    for train, test in folds(len(y)):
        one = HistGradientBoostingClassifier(**settings).fit(X[train], y[train])
        other = theirs.HistGradientBoostingClassifier(**settings).fit(X[train], y[train])
        ours.append(brier(one, X[test], y[test]))
        peer.append(brier(other, X[test], y[test]))
    assert_not_worse(ours, peer)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pellucid.errors.UnseenLevelWarning")
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers(name):
    X, y, words = sample(name, NUMBERS[name])
    X = X.drop(columns=[c for c in [*words, "casual", "registered", "instant"] if c in X])
    ours, peer = [], []
    for train, test in folds(len(y)):
        one = HistGradientBoostingRegressor().fit(X[train], y[train])
        other = theirs.HistGradientBoostingRegressor().fit(X[train], y[train])
        ours.append(squares(one, X[test], y[test]))
        peer.append(squares(other, X[test], y[test]))
    assert_not_worse(ours, peer)


@pytest.mark.slow
def test_sets_of_levels_beat_one_hot_columns():
    X, y, words = sample("car_evaluation.csv", "class")
    wide = pd.get_dummies(X, columns=words)
    settings = {"max_iter": 30, "max_leaf_nodes": 8}
    losses = []
    for train, test in folds(len(y)):
        losses.append(
            [
                log_loss(y[test], m.predict_proba(Z[test]), labels=m.classes_)
                for Z in (X, wide)
                for m in [HistGradientBoostingClassifier(**settings).fit(Z[train], y[train])]
            ]
        )
    losses = np.array(losses)
    assert losses[:, 0].mean() < losses[:, 1].mean()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pellucid.errors.UnseenLevelWarning")
@pytest.mark.parametrize("name", [*CLASSES, *NUMBERS])
def test_forests(name):
    """Ours on the table as it is, theirs on one-hot columns."""
    classes = name in CLASSES
    X, y, words = sample(name, (CLASSES | NUMBERS)[name], n=900)
    X = X.drop(columns=[c for c in ("casual", "registered", "instant", "dteday") if c in X])
    wide = pd.get_dummies(X, columns=[c for c in words if c in X])
    Ours = RandomForestClassifier if classes else RandomForestRegressor
    Peer = theirs.RandomForestClassifier if classes else theirs.RandomForestRegressor
    judge, ours, peer = brier if classes else squares, [], []
    for train, test in folds(len(y)):
        one = Ours(30, random_state=0).fit(X[train], y[train])
        other = Peer(30, random_state=0).fit(wide[train], y[train])
        ours.append(judge(one, X[test], y[test]))
        peer.append(judge(other, wide[test], y[test]))
    assert_not_worse(ours, peer)
