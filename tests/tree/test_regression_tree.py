"""Regression trees: worked examples, scikit-learn node by node, the ordering trick."""

import inspect

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeRegressor as Theirs

from pellucid.data import datasets
from pellucid.errors import ParameterError
from pellucid.tree import DecisionTreeRegressor


def test_xor_has_no_first_gain_and_is_divided_all_the_same():
    X, y = [[0, 0], [0, 1], [1, 0], [1, 1]], np.array([0.0, 10.0, 10.0, 0.0])
    for depth, rss in ((1, 100.0), (2, 0.0)):
        model = DecisionTreeRegressor(max_depth=depth).fit(X, y)
        assert ((model.predict(X) - y) ** 2).sum() == rss
    stopped = DecisionTreeRegressor(min_impurity_decrease=1e-9).fit(X, y)
    assert stopped.get_n_leaves() == 1


def test_tips_by_day_follow_the_means():
    """Days ordered by mean tip: the best of all seven groupings is a prefix, {Sun} against all."""
    tips = datasets.load("tips")
    day = pd.DataFrame({"day": tips.table.column("day").to_pylist()})
    y = np.array(tips.table.column("tip").to_pylist())
    model = DecisionTreeRegressor(max_depth=1).fit(day, y)
    rss = lambda v: ((v - v.mean()) ** 2).sum()  # noqa: E731
    gain = rss(y) - ((y - model.predict(day)) ** 2).sum()
    assert gain == pytest.approx(7.282208, abs=1e-6)
    assert len(np.unique(model.predict(day[day.day == "Sun"]))) == 1


@pytest.mark.parametrize("depth", [3, 6])
def test_equal_to_scikit_learn(depth):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y = X[:, 0] ** 2 + X[:, 1] + rng.normal(size=400)
    w = rng.random(400) + 0.5
    ours = DecisionTreeRegressor(max_depth=depth, min_samples_leaf=5).fit(X, y, w)
    theirs = Theirs(max_depth=depth, min_samples_leaf=5, random_state=0).fit(X, y, w)
    assert ours.get_n_leaves() == theirs.get_n_leaves()
    grid = rng.normal(size=(300, 4))
    assert np.allclose(ours.predict(grid), theirs.predict(grid), rtol=1e-12, atol=1e-12)
    assert np.allclose(ours.feature_importances_, theirs.feature_importances_, atol=1e-12)


def test_pruning_path_is_scikit_learns():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(80, 3)), rng.normal(size=80)
    ours = DecisionTreeRegressor().cost_complexity_pruning_path(X, y)
    theirs = Theirs(random_state=0).cost_complexity_pruning_path(X, y)
    assert np.allclose(ours["ccp_alphas"], theirs["ccp_alphas"], atol=1e-12)


def test_explanations_add_up():
    tips = datasets.load("tips")
    model = DecisionTreeRegressor(max_depth=5).fit(tips.table, "tip")
    explanation = model.explain(tips.X)
    assert explanation.gap() < 1e-10
    assert np.allclose(explanation.prediction[:, 0], model.predict(tips.X), rtol=0, atol=1e-12)


def test_checks_cannot_be_skipped():
    assert "check_input" not in inspect.signature(DecisionTreeRegressor.fit).parameters


def test_criteria_are_named():
    with pytest.raises(ParameterError, match="'criterion' parameter of DecisionTreeRegressor"):
        DecisionTreeRegressor(criterion="poisson").fit([[0.0], [1.0]], [1.0, 2.0])
