"""Splits that separate every level from every other one, against their definition."""

import numpy as np
import pandas as pd
import pytest

import pellucid
from pellucid.ensemble import BaggingClassifier
from pellucid.errors import ParameterError
from pellucid.tree import DecisionTreeClassifier, DecisionTreeRegressor, export_rules
from pellucid.tree.grower import grow
from pellucid.tree.presort import presort
from pellucid.tree.stopping import Limits
from tests.sizes import cases
from tests.tree import naive
from tests.tree.test_splits import CRITERIA, random_table, random_target, random_weights


def groups_of(x):
    """Rows of each level, missing ones last."""
    levels = np.unique(x[~np.isnan(x)])
    masks = [x == level for level in levels]
    return [*masks, np.isnan(x)] if np.isnan(x).any() else masks


def cheapest(X, y, w, kinds, criterion, k, min_weight):
    """(cost, column, groups) of the best split by definition; ties to the lowest column."""
    parent, best = naive.cost(criterion, y, w, k), None
    for f in range(X.shape[1]):
        if kinds[f]:
            parts = groups_of(X[:, f])
            small = min(w[part].sum() for part in parts) < min_weight
            if (
                len(parts) < 2
                or small
                or (criterion == "poisson" and min(y[part] @ w[part] for part in parts) == 0)
            ):
                continue
            costs = [naive.cost(criterion, y[part], w[part], k) for part in parts]
            found = (sum(costs), f, parts)
        else:
            own = naive.splits(X[:, [f]], y, w, [0], criterion, k, 1, min_weight)
            if not own:
                continue
            split = naive.best(own, parent)
            found = (min(d.cost for d in own), f, [split.left, ~split.left])
        if best is None or found[0] < best[0] - 1e-9 * parent:
            best = found
    return best


@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_first_split_is_the_cheapest(criterion):
    apart = 0
    for seed in cases(60, 600):
        rng = np.random.default_rng(seed)
        n, d = int(rng.integers(4, 20)), int(rng.integers(1, 4))
        X, kinds, n_levels = random_table(rng, n, d)
        y, k = random_target(rng, n, criterion)
        w = random_weights(rng, n)
        used = w > 0
        y_used = y[used]
        if (y_used == y_used[0]).all() or (criterion == "poisson" and not y_used.any()):
            continue
        limits = Limits(level_rule=2, max_depth=1)
        nodes = grow(presort(X, kinds, n_levels), y, w, criterion, limits, k)
        best = cheapest(X[used], y_used, w[used], kinds, criterion, k, 1e-300)
        if best is None:
            assert nodes.n_nodes == 1
            continue
        leaf = np.array([naive.apply(nodes, x) for x in X[used]])
        lowest, column, parts = best
        costs = sum(
            naive.cost(criterion, y_used[leaf == i], w[used][leaf == i], k) for i in np.unique(leaf)
        )
        parent = naive.cost(criterion, y_used, w[used], k)
        assert costs == pytest.approx(lowest, abs=1e-9 * parent)
        if nodes.feature[0] == column and kinds[column]:
            apart += 1
            for part in parts:  # levels stay together; pure branches need not tell theirs apart
                assert len(set(leaf[part])) == 1
            assert (nodes.feature[nodes.feature >= 0] == column).all()
        assert nodes.decrease.sum() == pytest.approx(1 - costs / parent, abs=1e-9)
    assert apart > 5


@pytest.fixture
def table():
    rng = np.random.default_rng(3)
    town = rng.choice(list("abcdefghij"), 400, p=[0.28, *[0.08] * 9])
    X = pd.DataFrame({"town": town, "x": rng.normal(size=400)})
    return X, np.array([ord(t) % 3 for t in town]) + (X["x"] > 1).to_numpy()


def test_depth_counts_a_split_once(table):
    X, y = table
    shallow = DecisionTreeRegressor(categories="apart", max_depth=1).fit(X[["town"]], y * 1.0)
    assert shallow.get_n_leaves() == 10 and shallow.get_depth() == 4  # ten levels by halves
    means = pd.Series(y).groupby(X["town"].to_numpy()).mean()
    np.testing.assert_allclose(shallow.predict(X[["town"]]), means[X["town"]], rtol=1e-12)
    deeper = DecisionTreeClassifier(categories="apart", max_depth=2).fit(X, y)
    assert deeper.score(X, y) == 1.0


def test_what_was_not_seen_goes_to_the_largest_level(table):
    X, y = table
    model = DecisionTreeRegressor(categories="apart", max_depth=1).fit(X[["town"]], y * 1.0)
    with pytest.warns(pellucid.errors.UnseenLevelWarning):
        strange = model.predict(pd.DataFrame({"town": ["zzz"]}))
    assert strange == model.predict(pd.DataFrame({"town": ["a"]}))
    holes = X[["town"]].where(np.arange(400)[:, None] % 9 > 0)
    model.fit(holes, np.where(holes["town"].isna(), 77.0, y))
    assert model.predict(pd.DataFrame({"town": [None]}, dtype=object)) == 77.0


def test_limits_hold_for_every_level(table):
    X, y = table
    for least in (20, 30):
        model = DecisionTreeClassifier(categories="apart", min_samples_leaf=least).fit(X, y)
        leaves = model.tree_.feature < 0
        assert (model.tree_.n_samples[leaves] >= least).all()
    counts = X["town"].value_counts()
    assert 20 <= counts.min() < 30 and (model.tree_.feature == 1).any()
    none = DecisionTreeClassifier(categories="apart", min_impurity_decrease=0.9).fit(X, y)
    assert none.get_n_leaves() == 1
    with pytest.raises(ParameterError, match="does not work with max_leaf_nodes"):
        DecisionTreeClassifier(categories="apart", max_leaf_nodes=5).fit(X, y)


@pytest.mark.parametrize("splitter", ["best", "random", "hist"])
def test_weights_are_copies_and_threads_change_nothing(table, splitter, rng):
    X, y = table
    w = rng.integers(0, 4, len(y))
    copies = np.repeat(np.arange(len(y)), w)
    settings = {"categories": "apart", "splitter": splitter, "random_state": 0}
    a = DecisionTreeClassifier(**settings).fit(X, y, sample_weight=w)
    b = DecisionTreeClassifier(**settings).fit(X.iloc[copies], y[copies])
    assert np.array_equal(a.predict_proba(X), b.predict_proba(X))


def test_large_nodes_are_divided_alike(table, monkeypatch):
    X, y = table
    whole = DecisionTreeClassifier(categories="apart").fit(X, y)
    monkeypatch.setattr("pellucid.tree.grower.branch_rows", lambda d: 8)
    parts = DecisionTreeClassifier(categories="apart").fit(X, y)
    for name, array in vars(whole.tree_).items():
        np.testing.assert_array_equal(array, getattr(parts.tree_, name), err_msg=name)


def test_the_rest_of_the_house_knows_them(table, tmp_path):
    X, y = table
    model = DecisionTreeClassifier(categories="apart", max_depth=2).fit(X, y)
    model.save(tmp_path / "tree.pellucid")
    again = pellucid.load(tmp_path / "tree.pellucid")
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert model.explain(X).gap() < 1e-12 and model.explain(X, method="shap").gap() < 1e-10
    rules = export_rules(DecisionTreeRegressor(categories="apart", max_depth=1).fit(X[["town"]], y))
    assert sorted(rule.split(" and ")[-1][9] for rule in rules) == list("abcdefghij")
    pruned = DecisionTreeClassifier(categories="apart", ccp_alpha=0.02).fit(X, y)
    assert 1 < pruned.get_n_leaves() < model.get_n_leaves()
    bags = BaggingClassifier(DecisionTreeClassifier(categories="apart"), 5, random_state=0)
    assert bags.fit(X, y).score(X, y) > 0.95


def test_many_levels_make_a_shallow_tree():
    codes = np.arange(3000)
    X = pd.DataFrame({"id": pd.Categorical([f"v{k}" for k in codes])})
    model = DecisionTreeRegressor(categories="apart", max_depth=1).fit(X, codes * 1.0)
    assert model.get_n_leaves() == 3000 and model.get_depth() == 12
    assert np.array_equal(model.predict(X), codes)
