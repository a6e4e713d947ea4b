"""`to_sklearn` gives scikit-learn's own fitted trees and forests, for tools that need them."""

import numpy as np
import pandas as pd
import pytest
import sklearn.tree
from sklearn import ensemble as theirs
from sklearn.inspection import partial_dependence
from sklearn.tree._tree import TREE_LEAF, TREE_UNDEFINED

from pellucid import ensemble
from pellucid.errors import DataError, NotFittedError, ParameterError
from pellucid.tree import DecisionTreeClassifier, DecisionTreeRegressor

CLASSIFIERS = [
    DecisionTreeClassifier(max_depth=4),
    DecisionTreeClassifier(criterion="error", max_leaf_nodes=9, splitter="hist"),
    ensemble.RandomForestClassifier(n_estimators=5, random_state=0),
    ensemble.ExtraTreesClassifier(n_estimators=5, random_state=0),
]
REGRESSORS = [
    DecisionTreeRegressor(max_depth=4, ccp_alpha="cv"),
    DecisionTreeRegressor(criterion="poisson", monotonic_cst=[1, 0, 0]),
    ensemble.RandomForestRegressor(n_estimators=5, random_state=0),
    ensemble.ExtraTreesRegressor(n_estimators=5, random_state=0),
]


def rows(rng, n=200):
    """Numbers of single precision, some of them missing."""
    X = rng.normal(size=(n, 3)).astype(np.float32).astype(float)
    y = np.exp(X[:, 0] + X[:, 1] * X[:, 2])
    X[rng.random((n, 3)) < 0.1] = np.nan
    return X, y


@pytest.mark.parametrize("model", CLASSIFIERS, ids=repr)
def test_classifiers(model, rng):
    X, y = rows(rng)
    labels = np.array(["low", "mid", "high"])[np.digitize(y, [0.5, 2.0])]
    twin = model.fit(X, labels).to_sklearn()
    assert type(twin).__name__ == type(model).__name__ and type(twin).__module__.startswith(
        "sklearn"
    )
    np.testing.assert_allclose(twin.predict_proba(X), model.predict_proba(X), atol=1e-12)
    np.testing.assert_array_equal(twin.predict(X), model.predict(X))
    np.testing.assert_array_equal(twin.apply(X), model.apply(X))
    np.testing.assert_allclose(twin.feature_importances_, model.feature_importances_, rtol=1e-7)


@pytest.mark.parametrize("model", REGRESSORS, ids=repr)
def test_regressors(model, rng):
    X, y = rows(rng)
    twin = model.fit(X, y).to_sklearn()
    np.testing.assert_allclose(twin.predict(X), model.predict(X), rtol=1e-12)


def test_several_targets(rng):
    X, y = rows(rng)
    model = DecisionTreeRegressor(max_depth=3).fit(X, np.stack((y, -y), axis=1))
    twin = model.to_sklearn()
    assert twin.tree_.n_outputs == 2
    np.testing.assert_allclose(twin.predict(X), model.predict(X), rtol=1e-12)


def test_tools_of_scikit_learn_run(rng):
    pytest.importorskip("matplotlib").use("agg")
    X, y = rows(rng)
    frame = pd.DataFrame(np.nan_to_num(X), columns=["a", "b", "c"])
    model = DecisionTreeClassifier(max_depth=2).fit(frame, np.where(y > 1, "yes", "no"))
    twin = model.to_sklearn()
    assert len(sklearn.tree.plot_tree(twin, class_names=True)) >= 7
    assert "gini" in sklearn.tree.export_graphviz(twin, feature_names=["a", "b", "c"])
    assert "class: yes" in sklearn.tree.export_text(twin)
    forest = ensemble.RandomForestRegressor(n_estimators=3, random_state=0).fit(frame, y)
    found = [
        partial_dependence(forest.to_sklearn(), frame, [0], method=method)["average"]
        for method in ("recursion", "brute")
    ]
    assert np.corrcoef(found[0][0], found[1][0])[0, 1] > 0.9


def test_a_path_through_the_nodes_as_in_scikit_learn(rng):
    """The recursion that everybody copies ends at leaves by their feature."""
    X, y = rows(rng)
    peer = sklearn.tree.DecisionTreeRegressor(max_depth=3).fit(X, y)
    for tree in (DecisionTreeRegressor(max_depth=3).fit(X, y).tree_, peer.tree_):

        def code(node, tree=tree):
            if tree.feature[node] != TREE_UNDEFINED:
                left, right = tree.children_left[node], tree.children_right[node]
                return f"({tree.feature[node]} {code(left)} {code(right)})"
            assert tree.children_left[node] == TREE_LEAF
            return f"{tree.value[node].ravel()[0]:.6g}"

        text = code(0)
        assert text.count("(") == (tree.feature >= 0).sum()


def test_the_tree_itself_applies_and_predicts(rng):
    X, y = rows(rng)
    model = DecisionTreeClassifier(max_depth=3).fit(X, y > 1)
    peer = model.to_sklearn().tree_
    assert model.tree_.n_features == peer.n_features == 3
    np.testing.assert_array_equal(model.tree_.apply(X), model.apply(X))
    np.testing.assert_array_equal(model.tree_.predict(X), model.predict_proba(X))
    for normalize in (True, False):
        np.testing.assert_allclose(
            model.tree_.compute_feature_importances(normalize=normalize),
            peer.compute_feature_importances(normalize=normalize), rtol=1e-7,
        )  # fmt: skip
    assert not hasattr(model.tree_, "n_outputs") and peer.n_outputs == 1
    with pytest.raises(DataError, match="3 columns"):
        model.tree_.apply(X[:, :2])


def test_what_scikit_learn_cannot_express_is_named(rng):
    X, y = rows(rng)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(town=rng.choice(["Ulm", "Jena"], 200))
    for Model in (DecisionTreeRegressor, ensemble.RandomForestRegressor):
        with pytest.raises(ParameterError, match="Column 'town' is of the kind 'categorical'"):
            Model().fit(frame, y).to_sklearn()
    with pytest.raises(NotFittedError):
        DecisionTreeRegressor().to_sklearn()


def test_a_subclass_becomes_the_class_that_it_extends(rng):
    class Mine(ensemble.RandomForestClassifier):
        pass

    X, y = rows(rng)
    twin = Mine(n_estimators=2, random_state=0).fit(X, y > 1).to_sklearn()
    assert type(twin) is theirs.RandomForestClassifier


@pytest.mark.parametrize(
    "Model", [ensemble.GradientBoostingRegressor, ensemble.HistGradientBoostingRegressor]
)
def test_boosting_has_explanations_and_no_twin(Model, rng):
    X, y = rows(rng)
    model = Model().fit(X, y)
    assert not hasattr(model, "to_sklearn")
    assert model.explain(X).gap() < 1e-9
