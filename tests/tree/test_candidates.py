"""The table of candidate splits against every possible split, at every node."""

import numpy as np
import pandas as pd
import pytest

from pellucid.errors import DataError, ParameterError
from pellucid.tree import DecisionTreeClassifier, DecisionTreeRegressor
from pellucid.tree.criteria import CLASS_CRITERIA
from tests.sizes import cases
from tests.tree import naive
from tests.tree.test_splits import CRITERIA, random_table, random_target, random_weights

LETTERS = np.array(list("abcdefgh"), dtype=object)


def as_frame(X, kinds):
    columns = {}
    for f, levels in enumerate(kinds):
        x = X[:, f]
        columns[f"c{f}"] = (
            np.where(np.isnan(x), None, LETTERS[np.nan_to_num(x).astype(int)]) if levels else x
        )
    return pd.DataFrame(columns)


def drawn(seed, criterion):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(6, 25)), int(rng.integers(1, 5))
    X, kinds, _ = random_table(rng, n, d)
    y, k = random_target(rng, n, criterion)
    return X, kinds, y, k, random_weights(rng, n)


def passing(model, X):
    return model.decision_path(X).toarray().astype(bool)


def check_table(model, node, found, X, y, w, kinds, criterion, k, exact_sets):
    """Every line is the cheapest split of its column by definition; no column is left out."""
    parent, weight = naive.cost(criterion, y, w, k), w.sum()
    slack = 1e-9 * parent + 1e-13 * weight
    lines = {name: i for i, name in enumerate(found["column"])}
    for f in range(X.shape[1]):
        own = naive.splits(X[:, [f]], y, w, [kinds[f]], criterion, k)
        if not own:
            assert f"c{f}" not in lines
            continue
        i, best = lines[f"c{f}"], naive.best(own, parent)
        after = found["impurity after"][i] * weight
        assert found["impurity before"][i] * weight == pytest.approx(parent, abs=slack)
        assert found["gain"][i] * weight == pytest.approx(parent - after, abs=slack)
        if kinds[f] and not exact_sets:
            assert after >= best.cost - slack
        else:
            assert after == pytest.approx(best.cost, abs=slack)
        if not kinds[f]:
            assert found["threshold"][i] == best.threshold
            counts = best.left.sum(), (~best.left).sum()
            if (w == np.floor(w)).all():
                counts = w[best.left].sum(), w[~best.left].sum()
            assert (found["samples left"][i], found["samples right"][i]) == counts
    assert found["gain"] == sorted(found["gain"], reverse=True)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_candidates_are_the_cheapest_splits_and_hold_the_chosen_one(criterion):
    splits = 0
    for seed in cases(25, 250):
        X, kinds, y, k, w = drawn(seed, criterion)
        used = w > 0
        if (y[used] == y[used][0]).all() or (criterion == "poisson" and not y[used].any()):
            continue
        table = as_frame(X, kinds)
        Tree = DecisionTreeClassifier if criterion in CLASS_CRITERIA else DecisionTreeRegressor
        model = Tree(criterion=criterion, max_depth=3).fit(table, y, w)
        tree, inside = model.tree_, passing(model, table[used])
        codes = np.searchsorted(model.classes_, y) if k else y
        for node in range(tree.n_nodes):
            m = inside[:, node]
            found = model.candidates(node, table, y, w).frame()
            if (y[used][m] == y[used][m][0]).all():  # nothing to reduce
                assert found["column"] == []
                continue
            here = (X[used][m], codes[used][m], w[used][m])
            levels = len(model.classes_) if k else 0
            check_table(model, node, found, *here, kinds, criterion, levels, levels < 3)
            chosen = [i for i, is_chosen in enumerate(found["chosen"]) if is_chosen]
            if tree.feature[node] < 0:
                assert not chosen
                continue
            splits += 1
            assert len(chosen) == 1 and found["column"][chosen[0]] == f"c{tree.feature[node]}"
            assert found["gain"][chosen[0]] == pytest.approx(max(found["gain"]), rel=1e-9)
            saved = tree.decrease[node] * tree.impurity[0] * tree.weight[0] / tree.weight[node]
            assert found["gain"][chosen[0]] == pytest.approx(saved, rel=1e-9, abs=1e-13)
            assert found["samples left"][chosen[0]] == tree.n_samples[tree.left[node]]
            if not kinds[tree.feature[node]]:
                assert found["threshold"][chosen[0]] == tree.threshold[node]
    assert splits > 20


def test_limits_of_leaves_hold_and_other_limits_do_not_hide_splits():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] + 0.3 * rng.normal(size=60) > 0).astype(int)
    model = DecisionTreeClassifier(max_depth=1, min_samples_leaf=7, min_impurity_decrease=0.01)
    model.fit(X, y)
    for node in range(3):
        found = model.candidates(node, X, y).frame()
        assert min(found["samples left"] + found["samples right"]) >= 7
        inside = passing(model, X)[:, node]
        w = np.ones(inside.sum())
        for name, gain in zip(found["column"], found["gain"]):
            own = naive.splits(
                X[inside][:, [int(name[1])]], y[inside], w, [0], "gini", 2, min_rows=7
            )
            parent = naive.cost("gini", y[inside], w, 2)
            assert gain * len(w) == pytest.approx(parent - min(s.cost for s in own), abs=1e-9)


@pytest.mark.parametrize("options", [{"splitter": "random"}, {"max_features": 1}])
def test_a_drawn_split_is_chosen_but_not_the_best(options):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(80, 4))
    y = X @ [3.0, 1.0, 0.5, 0.2] + rng.normal(size=80)
    model = DecisionTreeRegressor(max_depth=2, random_state=3, **options).fit(X, y)
    found = model.candidates(0, X, y).frame()
    i = found["chosen"].index(True)
    f = int(found["column"][i][1])
    assert f == model.tree_.feature[0] and found["threshold"][i] == model.tree_.threshold[0]
    left = X[:, f] <= model.tree_.threshold[0]
    after = sum(naive.cost("squared_error", y[s], np.ones(s.sum()), 0) for s in (left, ~left))
    assert found["impurity after"][i] * 80 == pytest.approx(after)
    own = naive.splits(X, y, np.ones(80), [0] * 4, "squared_error", 0)
    assert found["impurity after"][i] * 80 > min(split.cost for split in own) + 1e-6
    assert found["gain"][i] == pytest.approx(model.tree_.decrease[0] * model.tree_.impurity[0])


def test_bins_class_weights_and_constraints_keep_the_chosen_split():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(600, 3))
    y = rng.integers(0, 2, 600)
    w = rng.integers(1, 4, 600)
    for options in (
        {"splitter": "hist"},
        {"class_weight": "balanced", "min_samples_leaf": 9},
        {"monotonic_cst": [1, 0, -1]},
    ):
        target = y if "monotonic_cst" in options else y + (X[:, 0] > 0)
        model = DecisionTreeClassifier(max_depth=3, **options).fit(X, target, w)
        tree = model.tree_
        for node in np.flatnonzero(tree.feature >= 0).tolist():
            found = model.candidates(node, X, target, w).frame()
            i = found["chosen"].index(True)
            assert found["column"][i] == f"x{tree.feature[node]}"
            assert found["threshold"][i] == tree.threshold[node]
            assert found["samples left"][i] == tree.n_samples[tree.left[node]]
            saved = tree.decrease[node] * tree.impurity[0] * tree.weight[0] / tree.weight[node]
            assert found["gain"][i] == pytest.approx(saved, rel=1e-9)
            if "splitter" in options:
                assert found["gain"][i] == max(found["gain"])


def test_levels_apart_are_one_candidate():
    table = pd.DataFrame({"c": list("aabbcc"), "x": [1.0, 2, 3, 4, 5, 6]})
    y = [0.0, 0.0, 5.0, 5.0, 1.0, 1.0]
    model = DecisionTreeRegressor(categories="apart").fit(table, y)
    found = model.candidates(0, table, y).frame()
    assert found["column"][0] == "c" and found["chosen"][0]
    assert found["impurity after"][0] == pytest.approx(0.0, abs=1e-12)
    assert found["gain"][0] == pytest.approx(np.var(y))


def test_other_rows_and_wrong_nodes():
    X, y = [[1.0], [2.0], [3.0], [4.0]], ["a", "a", "b", "b"]
    model = DecisionTreeClassifier().fit(X, y)
    one = model.candidates(0, [[1.0], [1.5]], ["a", "b"]).frame()
    assert one["threshold"] == [2.5] and one["samples right"] == [0] and one["gain"] == [0.0]
    with pytest.raises(DataError, match="No row of X reaches node 2"):
        model.candidates(2, [[1.0]], ["a"])
    with pytest.raises(ParameterError, match="'node' parameter of candidates"):
        model.candidates(3, X, y)
    with pytest.raises(DataError, match="not a class of this tree"):
        model.candidates(0, X, ["a", "a", "b", "z"])


def test_dates_and_several_targets():
    days = pd.date_range("2024-01-01", periods=40)
    X = pd.DataFrame({"day": days, "x": np.tile([1.0, 2.0], 20)})
    Y = np.stack((np.repeat([0.0, 4.0], 20), np.tile([0.0, 1.0], 20)), axis=1)
    model = DecisionTreeRegressor(max_depth=2).fit(X, Y)
    found = model.candidates(0, X, Y).frame()
    assert found["column"] == ["day", "x"]
    assert found["threshold"] == ["2024-01-20 12:00", 1.5]
    assert found["gain"] == pytest.approx([4.0 / 2, 0.25 / 2])  # means over the targets
    assert found["impurity before"] == pytest.approx(2 * [(4.0 + 0.25) / 2])


@pytest.mark.parametrize("better", ["left", "right"])
def test_a_drawn_split_says_where_its_missing_rows_go(better):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(80, 2))
    y = np.where(X[:, 0] > 0, 3.0, -3.0) + 0.1 * rng.normal(size=80)
    gaps = (y < 0 if better == "left" else y > 0) & (rng.random(80) < 0.4)
    X[gaps] = np.nan
    model = DecisionTreeRegressor(max_depth=1, splitter="random", random_state=1).fit(X, y)
    found = model.candidates(0, X, y).frame()
    i = found["chosen"].index(True)
    side = "left" if model.tree_.missing_left[0] else "right"
    assert found["missing"][i] == side
    assert None not in found["missing"]
