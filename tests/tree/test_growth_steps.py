"""Watched trees: each state against a tree that is grown or pruned to that size, and against rows."""

import numpy as np
import pandas as pd
import pytest

import pellucid
from pellucid.data.datasets import load
from pellucid.tree import DecisionTreeClassifier, DecisionTreeRegressor
from pellucid.tree.nodes import _DTYPES
from tests.tree import naive


def watched(model, X, y, **options):
    with pellucid.watching(**options) as watch:
        model.fit(X, y)
    return watch


def same(a, b):
    """Whether two trees do the same: their sets of levels may stand at different places."""
    names = [name for name in _DTYPES if name not in ("sets", "set_start")]
    equal = all(np.array_equal(getattr(a, name), getattr(b, name)) for name in names)
    sets = np.flatnonzero(a.has_set)
    return equal and all(
        np.array_equal(a.levels_left(node), b.levels_left(node)) for node in sets.tolist()
    )


def penguins():
    data = load("penguins")
    return data.X, np.asarray(data.y)


def test_best_first_states_are_the_trees_with_fewer_leaves():
    X, y = penguins()
    watch = watched(DecisionTreeClassifier(max_leaf_nodes=9), X, y)
    assert [step.iteration for step in watch.steps] == list(range(9))
    assert watch.steps[0].state["tree_"].n_nodes == 1
    for leaves in range(2, 10):
        smaller = DecisionTreeClassifier(max_leaf_nodes=leaves).fit(X, y)
        assert same(watch.steps[leaves - 1].state["tree_"], smaller.tree_)
        assert np.array_equal(watch.model(leaves - 1).predict_proba(X), smaller.predict_proba(X))


@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error", "absolute_error"])
def test_depth_first_states_are_what_their_rows_give(criterion):
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"a": rng.normal(size=80), "b": rng.choice(list("xyz"), 80)})
    classes = criterion in ("gini", "entropy")
    y = rng.integers(0, 3, 80) if classes else rng.normal(size=80)
    Tree = DecisionTreeClassifier if classes else DecisionTreeRegressor
    model = Tree(criterion=criterion, max_depth=4)
    watch = watched(model, X, y)
    splits = int((model.tree_.feature >= 0).sum())
    assert len(watch.steps) == splits + 1
    assert watch.steps[-1].state["tree_"] is model.tree_
    previous = -1
    for k, step in enumerate(watch.steps):
        one, w = watch.model(k), np.ones(80)
        leaf = one.apply(X)
        assert one.get_n_leaves() == k + 1 == step.numbers["leaves"]
        cost = sum(
            naive.cost(criterion, y[leaf == i], w[leaf == i], 3 if classes else 0)
            for i in np.unique(leaf)
        )
        assert step.numbers["objective"] * 80 == pytest.approx(cost, abs=1e-9)
        if k:
            node = step.event["node"]  # depth first: nodes are split in the order of their numbers
            assert previous < node and one.tree_.feature[node] >= 0
            assert one.tree_.feature[node] == step.event["column"]
            assert one.tree_.feature[one.tree_.left[node]] == -2
            previous = node


def test_events_hold_the_candidates_of_the_split():
    X, y = penguins()
    model = DecisionTreeClassifier(max_depth=3)
    for step in watched(model, X, y).steps[1:]:
        table = model.candidates(step.event["node"], X, y).frame()
        found = step.event["candidates"]
        assert [one["gain"] for one in found] == table["gain"]
        assert [one["name"] for one in found] == table["column"]
        chosen = next(one for one in found if one["chosen"])
        for name in ("column", "threshold", "samples_left", "samples_right"):
            assert chosen[name] == step.event[name]
        assert chosen["gain"] == pytest.approx(step.event["gain"], rel=1e-9)
        assert chosen["gain"] == pytest.approx(found[0]["gain"], rel=1e-9)
        assert step.event["name"] in step.sentence


@pytest.mark.parametrize("options", [{"ccp_alpha": 0.02}, {"ccp_alpha": "cv"}])
def test_pruning_states_are_the_trees_of_their_penalties(options):
    X, y = penguins()
    model = DecisionTreeClassifier(**options)
    watch = watched(model, X, y)
    pruned = [i for i, step in enumerate(watch.steps) if step.event["kind"] == "pruned"]
    assert pruned and pruned[-1] == len(watch.steps) - 1
    for i in pruned:
        step = watch.steps[i]
        alpha, later = step.event["alpha"], watch.steps[i + 1 :]
        if later and later[0].event["alpha"] == alpha:
            continue  # equal penalties are pruned together
        expected = DecisionTreeClassifier(ccp_alpha=alpha).fit(X, y)
        assert same(step.state["tree_"], expected.tree_)
        assert step.numbers["leaves"] == expected.get_n_leaves()
        leaf = expected.tree_.feature < 0
        rest = (expected.tree_.impurity * expected.tree_.weight)[leaf].sum() / len(y)
        assert step.numbers["objective"] == pytest.approx(rest, rel=1e-9)
    assert watch.steps[-1].state["tree_"] is model.tree_


def test_large_trees_keep_few_states_with_the_first_and_the_last():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(3000, 2)), rng.normal(size=3000)
    model = DecisionTreeRegressor()
    watch = watched(model, X, y, max_states=20)
    assert len(watch.steps) <= 20
    assert watch.steps[0].state["tree_"].n_nodes == 1
    assert watch.steps[-1].state["tree_"] is model.tree_


def test_a_step_explains_and_can_be_saved(tmp_path):
    X, y = penguins()
    one = watched(DecisionTreeClassifier(), X, y).model(3)
    one.save(tmp_path / "step")
    assert np.array_equal(pellucid.load(tmp_path / "step").predict(X), one.predict(X))
    assert one.explain(X).contributions.shape[0] == len(y)


def test_a_split_by_date_says_the_date():
    X = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=10)})
    watch = watched(DecisionTreeRegressor(), X, np.repeat([0.0, 1.0], 5))
    assert "day <= 2024-01-05 12:00, which lowers" in watch.steps[1].sentence


def test_the_sentence_of_one_sample():
    with pellucid.watching() as watch:
        DecisionTreeClassifier().fit([[0.0], [1.0], [2.0]], ["a", "b", "b"])
    assert watch.steps[1].sentence.endswith("; 1 of 3 samples goes left.")


@pytest.mark.parametrize("order", ["C", "F"])
def test_candidates_are_those_of_the_fit_if_the_table_changes_later(order):
    rng = np.random.default_rng(3)
    X = np.array(rng.normal(size=(80, 3)), order=order)
    y, w = X[:, 0] + rng.normal(size=80), rng.uniform(0.5, 2.0, size=80)
    watches = []
    for _ in range(2):
        with pellucid.watching() as watch:
            DecisionTreeRegressor(max_depth=2).fit(X, y, sample_weight=w)
        watches.append(watch)
    before, after = watches
    read = [list(step.event["candidates"]) for step in before.steps[1:]]
    for array in (X, y, w):
        array[:] = 1.0
    assert [list(step.event["candidates"]) for step in after.steps[1:]] == read
