"""Trees that read the user's table in place, and share its sorted lists, are those of a copy."""

import numpy as np
import pandas as pd
import pytest

from pellucid.ensemble import AdaBoostRegressor, BaggingClassifier, BaggingRegressor, shared_table
from pellucid.tree import DecisionTreeClassifier, DecisionTreeRegressor, grower
from pellucid.tree.nodes import Nodes

CLASSIFIERS = [
    DecisionTreeClassifier(),
    DecisionTreeClassifier(criterion="entropy", max_leaf_nodes=9),
    DecisionTreeClassifier(max_features=1, random_state=0),
    DecisionTreeClassifier(max_depth=1, splitter="random", random_state=0),
]
REGRESSORS = [
    DecisionTreeRegressor(max_depth=6),
    DecisionTreeRegressor(criterion="absolute_error", max_depth=3),
    DecisionTreeRegressor(criterion="poisson", max_depth=3),
    DecisionTreeRegressor(max_leaf_nodes=7),
]


def frame(rng, n=1200):
    """Ties, copies of rows, missing values and levels."""
    X = np.round(rng.normal(size=(n, 4)), 1)
    X[rng.random(X.shape) < 0.05] = np.nan
    table = pd.DataFrame(X, columns=list("abcd"))
    table["e"] = pd.Categorical(np.array(["u", "v", "w", "x"])[rng.integers(0, 4, n)])
    y = np.round(np.nan_to_num(X[:, 0]) ** 2 + rng.random(n), 2)
    again = rng.integers(0, n, n // 3)
    return pd.concat([table, table.iloc[again]], ignore_index=True), np.concatenate((y, y[again]))


def same_trees(a, b):
    assert len(a.estimators_) == len(b.estimators_)
    for one, other in zip(a.estimators_, b.estimators_, strict=True):
        for name in Nodes.__dataclass_fields__:
            mine, yours = getattr(one.tree_, name), getattr(other.tree_, name)
            np.testing.assert_array_equal(mine, yours, err_msg=name)


def models():
    for tree in CLASSIFIERS:
        yield BaggingClassifier(tree, n_estimators=4, max_features=0.8, random_state=1), True
        yield BaggingClassifier(tree, n_estimators=4, oob_score=True, random_state=1), True
    for tree in REGRESSORS:
        yield BaggingRegressor(tree, n_estimators=4, random_state=1, bootstrap=False), False
        yield AdaBoostRegressor(tree, n_estimators=4), False


@pytest.mark.filterwarnings("ignore:.*rows were drawn for every base")
@pytest.mark.parametrize("model, classes", list(models()), ids=lambda v: str(v)[:60])
def test_trees_in_place_are_those_of_a_copy(model, classes, rng, monkeypatch):
    X, y = frame(rng)
    y = np.digitize(y, [0.5, 1.0]) if classes else y
    w = rng.integers(0, 4, len(y))
    found = {}
    for way in ("in place", "copy"):
        with monkeypatch.context() as patch:
            if way == "copy":
                patch.setattr(shared_table, "takes_views", lambda base: False)
            found[way] = model.fit(X, y, sample_weight=w)
            model = model.__class__(**model.get_params(deep=False))
    same_trees(found["in place"], found["copy"])
    if "oob_score" in found["copy"].get_params() and found["copy"].oob_score:
        for name in ("oob_score_", "oob_decision_function_"):
            np.testing.assert_array_equal(*(getattr(found[way], name) for way in found))


@pytest.mark.parametrize("rows", [100, 2**14])
@pytest.mark.parametrize("tree", [DecisionTreeRegressor(), *REGRESSORS[:3]], ids=str)
def test_shared_lists_give_the_trees_of_divided_ones(tree, rows, rng, monkeypatch):
    X, y = frame(rng, 300)
    w = rng.random(len(y)) + 0.1
    monkeypatch.setattr(grower, "BRANCH_ROWS", rows)  # with a trunk, and without
    found = []
    for shared in (0, 10**6):
        monkeypatch.setattr(grower, "SHARED", shared)
        model = BaggingRegressor(tree, n_estimators=3, bootstrap=False, random_state=0)
        found.append(model.fit(X, y, sample_weight=w))
    same_trees(*found)
