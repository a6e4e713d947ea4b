"""Regression trees: worked examples, scikit-learn node by node, the ordering trick."""

import inspect

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeRegressor as Theirs

from pellucid.data import datasets
from pellucid.ensemble import RandomForestRegressor
from pellucid.errors import DataError, ParameterError
from pellucid.tree import DecisionTreeRegressor
from pellucid.tree.criteria import NUMBER_CRITERIA
from tests.tree.node_costs import number_cost


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


# Without weights absolute errors tie: a row that crosses both medians' sides changes no sum.
@pytest.mark.parametrize(
    ("criterion", "weighted"),
    [
        ("squared_error", False), ("squared_error", True), ("absolute_error", True),
        ("poisson", False), ("poisson", True),
    ],
)  # fmt: skip
def test_equal_to_scikit_learn_node_by_node(criterion, weighted):
    """Data without ties; leaves of 8 rows keep two columns from cutting off the same rows."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(500, 4)).astype(np.float32).astype(float)
    y = np.exp(X[:, 0] + 0.5 * X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=500))
    w = rng.random(500) + 0.2 if weighted else None
    ours = DecisionTreeRegressor(criterion=criterion, min_samples_leaf=8).fit(X, y, w).tree_
    peer = Theirs(criterion=criterion, min_samples_leaf=8, random_state=0).fit(X, y, w).tree_
    np.testing.assert_array_equal(ours.left, peer.children_left)
    inner = ours.feature >= 0
    np.testing.assert_array_equal(ours.feature[inner], peer.feature[inner])
    np.testing.assert_allclose(ours.threshold[inner], peer.threshold[inner], rtol=1e-12)
    np.testing.assert_allclose(ours.value[:, 0], peer.value[:, 0, 0], rtol=1e-12)
    np.testing.assert_allclose(ours.impurity, peer.impurity, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("criterion", NUMBER_CRITERIA)
@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e150, 1e300])
def test_scale_of_the_target_does_not_matter(criterion, scale):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(150, 3)), rng.random(150) + 0.1
    plain = DecisionTreeRegressor(criterion=criterion, max_depth=4).fit(X, y)
    scaled = DecisionTreeRegressor(criterion=criterion, max_depth=4).fit(X, y * scale)
    np.testing.assert_array_equal(plain.tree_.threshold, scaled.tree_.threshold)
    np.testing.assert_allclose(scaled.predict(X) / scale, plain.predict(X), rtol=1e-12)


@pytest.mark.parametrize("criterion", NUMBER_CRITERIA)
def test_impurities_are_the_formulas_and_weights_are_repetition(criterion):
    rng = np.random.default_rng(2)
    X = rng.integers(0, 7, (120, 3)).astype(float)
    y, w = rng.integers(1, 9, 120) * 0.5, rng.integers(0, 4, 120)
    tree = DecisionTreeRegressor(criterion=criterion, min_samples_leaf=3).fit(X, y, w).tree_
    assert tree.n_nodes > 10
    assert tree.impurity[0] == pytest.approx(
        number_cost(criterion, y, w * 1.0) / w.sum(), rel=1e-12
    )
    again = np.repeat(np.arange(120), w)
    twin = DecisionTreeRegressor(criterion=criterion, min_samples_leaf=3).fit(X[again], y[again])
    np.testing.assert_array_equal(tree.threshold, twin.tree_.threshold)
    np.testing.assert_allclose(tree.value, twin.tree_.value, rtol=1e-12)


def test_medians_are_those_of_numpy():
    X, y = [[0.0], [0.0], [0.0], [0.0], [1.0]], [1.0, 2.0, 4.0, 100.0, 7.0]
    model = DecisionTreeRegressor(criterion="absolute_error").fit(X, y)
    assert model.predict([[0.0], [1.0]]).tolist() == [np.median(y[:4]), 7.0]
    assert "median" in model.explain([[0.0]]).method


def test_small_differences_keep_their_digits():
    """Deviances of counts near a million: the split is where the squares put it."""
    rng = np.random.default_rng(0)
    x = rng.permutation(300).astype(float)
    y = 1e6 + (x > 120) * 1e-3 + 1e-4 * rng.normal(size=300)
    for criterion in ("squared_error", "poisson", "gamma"):
        stump = DecisionTreeRegressor(criterion=criterion, max_depth=1).fit(x[:, None], y)
        assert stump.tree_.threshold[0] == 120.5


@pytest.mark.parametrize("splitter", ["best", "random", "hist"])
@pytest.mark.parametrize("criterion", NUMBER_CRITERIA)
def test_monotone_constraints_hold(criterion, splitter):
    if (criterion, splitter) == ("absolute_error", "hist"):
        return
    rng = np.random.default_rng(5)
    X = rng.normal(size=(400, 3))
    y = np.exp(0.5 * np.sin(2 * X[:, 0]) - 0.3 * X[:, 1] + 0.5 * rng.normal(size=400))
    signs = [1, -1, 0]
    model = DecisionTreeRegressor(
        criterion=criterion, splitter=splitter, monotonic_cst=signs, random_state=0
    ).fit(X, y)
    assert model.get_n_leaves() > 8
    for j, sign in enumerate(signs[:2]):
        grid = np.repeat(X[:40], 30, axis=0)
        grid[:, j] = np.tile(np.linspace(-3, 3, 30), 40)
        steps = np.diff(model.predict(grid).reshape(40, 30), axis=1)
        assert (sign * steps >= 0).all() and (steps != 0).any()
    if splitter == "best" and criterion in ("squared_error", "poisson"):
        options = {"criterion": criterion, "monotonic_cst": signs, "min_samples_leaf": 10}
        ours = DecisionTreeRegressor(**options).fit(X.astype("f4"), y)
        peer = Theirs(**options, random_state=0).fit(X, y)
        np.testing.assert_allclose(ours.predict(X.astype("f4")), peer.predict(X), rtol=1e-9)


def test_criteria_and_targets_are_named():
    with pytest.raises(ParameterError, match="'criterion' parameter of DecisionTreeRegressor"):
        DecisionTreeRegressor(criterion="friedman_mse").fit([[0.0], [1.0]], [1.0, 2.0])
    with pytest.raises(DataError, match="negative"):
        DecisionTreeRegressor(criterion="poisson").fit([[0.0], [1.0]], [1.0, -2.0])
    with pytest.raises(DataError, match="not positive"):
        DecisionTreeRegressor(criterion="gamma").fit([[0.0], [1.0]], [1.0, 0.0])
    with pytest.raises(DataError, match="NaN"):
        DecisionTreeRegressor().fit([[0.0], [1.0]], [1.0, np.nan])
    with pytest.raises(ParameterError, match="a median is not a sum"):
        DecisionTreeRegressor(criterion="absolute_error", splitter="hist").fit(
            [[0.0], [1.0]], [1, 2]
        )
    with pytest.raises(ParameterError, match="has 2 columns"):
        DecisionTreeRegressor(monotonic_cst=[1]).fit([[0.0, 1.0], [1.0, 0.0]], [1.0, 2.0])


def test_poisson_leaves_predict_more_than_zero():
    X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 0.0, 1.0, 5.0]
    model = DecisionTreeRegressor(criterion="poisson").fit(X, y)
    assert (model.predict(X) > 0).all()
    peer = Theirs(criterion="poisson", random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict(X), peer.predict(X), rtol=1e-12)


@pytest.mark.parametrize("bags", [False, True])
def test_leaves_of_equal_targets_say_them_to_the_last_bit(bags):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 3))
    y = np.exp(X[:, 0])
    if bags:
        trees = RandomForestRegressor(4, bootstrap=False, random_state=0).fit(X, y).estimators_
    else:
        trees = [
            DecisionTreeRegressor().fit(X, y),
            DecisionTreeRegressor(max_leaf_nodes=80).fit(X, y),
        ]
    for tree in trees:
        assert np.array_equal(tree.predict(X), y)
