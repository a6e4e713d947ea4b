"""TreeSHAP against the definition: the mean over all orders of the columns."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest

from pellucid.ensemble import AdaBoostClassifier, RandomForestClassifier, RandomForestRegressor
from pellucid.errors import ParameterError
from pellucid.tree import DecisionTreeClassifier, DecisionTreeRegressor


def _expected(nodes, value, x, known, i=0):
    """Mean value below node i if only the columns `known` of the row x are known."""
    f = nodes.feature[i]
    if f < 0:
        return value[i]
    sides = (nodes.left[i], nodes.right[i])
    if f in known:
        return _expected(nodes, value, x, known, sides[0] if _left(nodes, i, x[f]) else sides[1])
    w = nodes.weight
    parts = [w[s] * _expected(nodes, value, x, known, s) for s in sides]
    return sum(parts) / w[i]


def _left(nodes, i, v):
    if np.isnan(v):
        return nodes.missing_left[i] == 1
    if nodes.has_set[i]:
        return int(v) in nodes.levels_left(i)
    return v <= nodes.threshold[i]


def _brute(nodes, value, x):
    d = len(x)
    out = np.zeros((d, value.shape[1]))
    for j in range(d):
        others = [k for k in range(d) if k != j]
        for size in range(d):
            share = math.factorial(size) * math.factorial(d - size - 1) / math.factorial(d)
            for subset in itertools.combinations(others, size):
                with_j = _expected(nodes, value, x, {*subset, j})
                out[j] += share * (with_j - _expected(nodes, value, x, set(subset)))
    return out


def _frame(n=150, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "b": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            "c": rng.choice(list("pqrs"), n),
            "d": rng.integers(0, 4, n).astype(float),
        }
    )
    signal = frame.a * (frame.c == "q") + frame.b.fillna(1) + 0.5 * frame.d
    return frame, (signal + 0.3 * rng.normal(size=n)).to_numpy()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("classes", [0, 2, 3])
def test_every_order_of_the_columns(classes, seed):
    frame, signal = _frame(seed=seed)
    if classes:
        y = np.digitize(signal, np.quantile(signal, np.arange(1, classes) / classes))
        model = DecisionTreeClassifier(max_depth=6).fit(frame, y)
    else:
        model = DecisionTreeRegressor(max_depth=6).fit(frame, signal)
    why = model.explain(frame[:6], method="shap")
    nodes, X = model.tree_, model._encoded(frame[:6])
    part = slice(1, None) if classes == 2 else slice(None)
    for row, found in zip(X, why.contributions):
        np.testing.assert_allclose(found, _brute(nodes, nodes.value, row)[:, part], atol=1e-12)
    np.testing.assert_allclose(why.base, nodes.value[0, part], atol=1e-12)
    assert why.gap() < 1e-10


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(15, random_state=0),
        AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=10),
        AdaBoostClassifier(n_estimators=10),
    ],
)
@pytest.mark.parametrize("classes", [2, 3])
def test_ensembles_add_up(model, classes):
    frame, signal = _frame(300)
    y = np.digitize(signal, np.quantile(signal, np.arange(1, classes) / classes))
    model.fit(frame, y)
    shap, path = model.explain(frame, method="shap"), model.explain(frame)
    assert shap.gap() < 1e-10
    np.testing.assert_array_equal(shap.prediction, path.prediction)
    assert not np.allclose(shap.contributions, path.contributions)


def test_a_forest_is_the_mean_of_its_trees():
    frame, y = _frame()
    model = RandomForestRegressor(5, random_state=0).fit(frame, y)
    whole = model.explain(frame[:20], method="shap")
    parts = [tree.explain(frame[:20], method="shap") for tree in model.estimators_]
    np.testing.assert_allclose(
        whole.contributions, np.mean([p.contributions for p in parts], axis=0), atol=1e-12
    )
    assert whole.gap() < 1e-10


def test_deep_trees_add_up():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 12)), rng.normal(size=3000)
    model = DecisionTreeRegressor().fit(X, y)
    assert model.get_depth() > 15
    assert model.explain(X[:40], method="shap").gap() < 1e-10


def test_an_unused_column_has_nothing():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 3))
    model = DecisionTreeClassifier(max_depth=1).fit(X, X[:, 1] > 0)
    found = model.explain(X, method="shap").contributions
    assert (found[:, [0, 2]] == 0).all()


def test_methods_are_named():
    model = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ParameterError, match="'method' parameter of explain"):
        model.explain([[0.0]], method="lime")


def test_deep_paths_of_many_columns_keep_their_digits():
    n = 60
    chain = DecisionTreeRegressor().fit(np.eye(n), np.arange(n) ** 2.0)
    assert chain.get_depth() == n - 1
    assert chain.explain(np.eye(n), method="shap").gap() < 1e-10 * n**2
    rng = np.random.default_rng(0)
    B = (rng.random((600, 300)) < 0.05) * 1.0
    y = B @ rng.normal(size=300) + 0.5 * rng.normal(size=600)
    deep = DecisionTreeRegressor().fit(B, y)
    assert deep.get_depth() > 60
    assert deep.explain(B[:20], method="shap").gap() < 1e-10


def test_a_chain_of_equal_columns_by_hand():
    """A conjunction of n columns, the row in it: all columns have done the same."""
    n = 40
    X = np.vstack((1 - np.eye(n), np.ones((1, n))))
    model = DecisionTreeRegressor().fit(X, np.r_[np.zeros(n), 1.0])
    why = model.explain(np.ones((1, n)), method="shap")
    assert why.gap() < 1e-12
    assert (why.contributions > 0).all()
    assert why.contributions.max() < 0.2
