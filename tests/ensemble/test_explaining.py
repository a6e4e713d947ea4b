"""Contributions of ensembles: they add up, and Shapley values are those of the definition."""

import numpy as np
import pytest

from pellucid.ensemble import (
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from pellucid.errors import ParameterError
from pellucid.naive_bayes import GaussianNB
from pellucid.tree import DecisionTreeRegressor
from tests.tree.test_shap import _brute, _frame

CLASSIFIERS = [
    BaggingClassifier(n_estimators=8, max_features=0.5, random_state=0),
    BaggingClassifier(n_estimators=8, bootstrap_features=True, random_state=0),
    RandomForestClassifier(10, random_state=0),
    GradientBoostingClassifier(n_estimators=12),
    HistGradientBoostingClassifier(max_iter=12, min_samples_leaf=5),
]
REGRESSORS = [
    BaggingRegressor(n_estimators=8, max_features=0.5, random_state=0),
    AdaBoostRegressor(n_estimators=12, loss="square"),
    HistGradientBoostingRegressor(max_iter=15, min_samples_leaf=5),
    HistGradientBoostingRegressor("quantile", quantile=0.7, max_iter=15, min_samples_leaf=5),
]


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("method", ["path", "shap"])
def test_classifiers_add_up(model, classes, method):
    frame, signal = _frame(200)
    y = np.digitize(signal, np.quantile(signal, np.arange(1, classes) / classes))
    why = model.fit(frame, y).explain(frame, method=method)
    assert why.gap() < 1e-10
    assert why.contributions.shape == (200, 4, 1 if classes == 2 else 3)


@pytest.mark.parametrize("model", REGRESSORS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("method", ["path", "shap"])
def test_regressors_add_up(model, method):
    frame, y = _frame(200)
    why = model.fit(frame, y).explain(frame, method=method)
    assert why.gap() < 1e-10
    np.testing.assert_allclose(why.prediction[:, 0], model.predict(frame), rtol=1e-13)


def test_logarithmic_links_are_explained_on_their_scale():
    frame, signal = _frame(200)
    model = HistGradientBoostingRegressor("poisson", max_iter=10).fit(frame, np.exp(signal))
    why = model.explain(frame, method="shap")
    assert why.scale == "link" and why.gap() < 1e-10


@pytest.mark.parametrize("classes", [0, 3])
def test_boosted_trees_by_every_order_of_the_columns(classes):
    frame, signal = _frame(150)
    if classes:
        y = np.digitize(signal, np.quantile(signal, [1 / 3, 2 / 3]))
        model = HistGradientBoostingClassifier(max_iter=3, max_leaf_nodes=6, min_samples_leaf=5)
    else:
        y, model = signal, HistGradientBoostingRegressor(max_iter=5, min_samples_leaf=5)
    why = model.fit(frame, y).explain(frame[:4], method="shap")
    X, trees = model._encoded(frame[:4]), model.trees_
    for row, found in zip(X, why.contributions):
        expected = np.zeros_like(found)
        for t in range(trees.n_trees):
            one = trees.tree(t)
            object.__setattr__(one, "weight", one.n_samples.astype(float))
            expected[:, t % trees.n_outputs] += _brute(one, one.value, row)[:, 0]
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_bagged_trees_by_every_order_of_the_columns():
    """Columns drawn for a tree, some of them twice, count as the table's own."""
    frame, y = _frame(150)
    model = BaggingRegressor(
        DecisionTreeRegressor(max_depth=5), 4, bootstrap_features=True, random_state=1
    ).fit(frame, y)
    assert any(len(np.unique(own)) < 4 for own in model.estimators_features_)
    trees, values, weights = model._as_trees()
    why = model.explain(frame[:4], method="shap")
    for row, found in zip(model._encoded(frame[:4]), why.contributions):
        expected = sum(w * _brute(t, v, row) for t, v, w in zip(trees, values, weights))
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_median_of_one_tree_is_its_tree():
    frame, y = _frame(150)
    model = AdaBoostRegressor(n_estimators=1).fit(frame, y)
    why, tree = model.explain(frame, method="shap"), model.estimators_[0]
    other = DecisionTreeRegressor(max_depth=3).fit(frame, y).explain(frame, method="shap")
    np.testing.assert_allclose(why.contributions, other.contributions, atol=1e-12)
    np.testing.assert_allclose(why.base, tree.tree_.value[0], atol=1e-12)


def test_other_learners_are_refused_by_name():
    frame, signal = _frame(60)
    X, y = frame[["a", "d"]], signal > 0
    model = BaggingClassifier(GaussianNB(), 3).fit(X, y)
    for method in ("path", "shap"):
        with pytest.raises(ParameterError, match="needs a decision tree"):
            model.explain(X, method=method)
