"""Random splits of many classes and of numbers cost what the general formulas say."""

import numpy as np
import pytest

from pellucid.tree import DecisionTreeClassifier, DecisionTreeRegressor


@pytest.mark.parametrize("n_classes", [17, 60])
def test_costs_of_many_classes_follow_from_the_rows(n_classes):
    """Equal weights, which the general formula takes, give the same tree."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(600, 6)), rng.integers(0, n_classes, 600)
    X[:, 0] += y
    plain, weighted = (
        DecisionTreeClassifier(splitter="random", random_state=0).fit(X, y, sample_weight=w)
        for w in (None, np.where(np.arange(600) < 600, 0.5, 1.0))
    )
    assert (plain.tree_.feature == weighted.tree_.feature).all()
    assert (plain.tree_.threshold == weighted.tree_.threshold).all()
    np.testing.assert_allclose(plain.tree_.impurity, weighted.tree_.impurity, atol=1e-12)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_best_of_the_drawn_splits_is_taken(missing, weighted):
    """A stump splits at the drawn thresholds of single columns, by the column of the lowest cost."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(203, 5)), rng.normal(size=203)
    y += 2.0 * (X[:, 3] > 0)
    w = rng.uniform(0.5, 2.0, 203) if weighted else np.ones(203)
    if missing:
        X[rng.random(X.shape) < 0.2] = np.nan
    tree = DecisionTreeRegressor(splitter="random", max_depth=1, random_state=0)
    found = tree.fit(X, y, sample_weight=w).tree_
    x, threshold = X[:, found.feature[0]], found.threshold[0]
    left = np.where(np.isnan(x), found.missing_left[0] == 1, x <= threshold)
    for side, node in ((left, found.left[0]), (~left, found.right[0])):
        mean = np.average(y[side], weights=w[side])
        assert found.value[node, 0] == pytest.approx(mean, rel=1e-12)
    cost = sum(
        w[side] @ (y[side] - np.average(y[side], weights=w[side])) ** 2 for side in (left, ~left)
    )
    whole = w @ (y - np.average(y, weights=w)) ** 2
    assert found.decrease[0] == pytest.approx(1.0 - cost / whole, rel=1e-10)
