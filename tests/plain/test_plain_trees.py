"""Plain trees and their ensembles against the library.

Equal splits; impurities, shares and means to 1e-12 (1e-9 after several rounds of boosting). Forests draw
columns inside the engine, so they agree exactly with all columns and statistically with drawn ones.
"""

import numpy as np
import pytest
from scipy import stats

from pellucid import ensemble, plain
from pellucid.data import datasets
from pellucid.ensemble import bootstrap_samples
from pellucid.tree import DecisionTreeClassifier, DecisionTreeRegressor
from tests.plain.curved_tables import built_in, classes, numbers, preorder, same_tree

TABLES = {
    "two": lambda: classes(1),
    "three": lambda: classes(2, K=3, d=4),
    "iris": lambda: built_in("iris"),
}
TARGETS = {
    "small": lambda: numbers(3, n=60), "smooth": lambda: numbers(4, n=90),
    "diabetes": lambda: built_in("diabetes", 7),
}  # fmt: skip
WINE = {"two": TABLES["two"], "three": TABLES["three"], "wine": lambda: built_in("wine", 2)}


@pytest.mark.parametrize("criterion", ["gini", "entropy", "error"])
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("limits", [{}, {"max_depth": 3}, {"min_samples_leaf": 7}])
def test_classification_tree(criterion, table, limits):
    X, y = TABLES[table]()
    model = DecisionTreeClassifier(criterion=criterion, **limits).fit(X, y)
    made = plain.CART(criterion, **limits).fit(X, y)
    same_tree(made, model.tree_)
    np.testing.assert_array_equal(made.predict(X), model.predict(X))
    assert len(made.trace) == model.tree_.n_leaves - 1


@pytest.mark.parametrize("table", TARGETS)
def test_regression_tree(table):
    X, y = TARGETS[table]()
    model = DecisionTreeRegressor(min_samples_leaf=3).fit(X, y)
    made = plain.CART("squared_error", min_samples_leaf=3).fit(X, y)
    same_tree(made, model.tree_)
    np.testing.assert_allclose(made.predict(X), model.predict(X), rtol=1e-12)


def test_weighted_tree(rng):
    X, y = classes(5, K=3)
    w = rng.random(len(y)) + 0.1
    for criterion in ("gini", "entropy", "error"):
        model = DecisionTreeClassifier(criterion=criterion, max_depth=4).fit(X, y, w)
        same_tree(plain.CART(criterion, max_depth=4).fit(X, y, w), model.tree_)


def coded(table, names):
    """Columns as numbers, strings as the places of their sorted levels; and which are strings."""
    columns = [np.asarray(table[name]) for name in names]
    strings = [j for j, x in enumerate(columns) if x.dtype.kind not in "fiu"]
    codes = [
        np.unique(x, return_inverse=True)[1] if j in strings else x for j, x in enumerate(columns)
    ]
    return np.column_stack(codes).astype(float), strings


@pytest.mark.parametrize("criterion", ["squared_error", "gini", "entropy"])
def test_sets_of_levels(criterion):
    """Tips: four categorical columns, with regression or three classes of tips."""
    found = datasets.load("tips")
    X, strings = coded(found.table, found.features)
    y = np.asarray(found.y, dtype=float)
    assert len(strings) == 4
    model = DecisionTreeRegressor(max_depth=4, min_samples_leaf=8)
    if criterion != "squared_error":
        y = np.searchsorted(np.quantile(y, [0.3, 0.7]), y)
        model = DecisionTreeClassifier(criterion=criterion, max_depth=4, min_samples_leaf=8)
    model.fit(found.X, y)
    settings = {"max_depth": 4, "min_samples_leaf": 8, "categorical": strings}
    made = plain.CART(criterion, **settings).fit(X, y)
    nodes = preorder(made.root)
    assert any(np.ndim(t.split) for t in nodes if t.column is not None)
    np.testing.assert_allclose(made.predict(X), model.predict(found.X), rtol=1e-12)
    each = sorted(t.W * t.Q for t in nodes)
    np.testing.assert_allclose(
        each, np.sort(model.tree_.weight * model.tree_.impurity), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("table", TABLES)
def test_pruning(table):
    """The same alphas, impurities and numbers of leaves along the path, and the same pruned tree."""
    X, y = TABLES[table]()
    path = DecisionTreeClassifier().cost_complexity_pruning_path(X, y)
    made = plain.CostComplexityPruning().fit(plain.CART().fit(X, y))
    assert made.trace[-1]["leaves"] == 1
    for alpha in path["ccp_alphas"]:  # equal alphas may be cut in another order: compare the last
        mine = [step for step in made.trace if step["alpha"] <= alpha + 1e-10][-1]
        R = path["impurities"][path["ccp_alphas"] <= alpha + 1e-10][-1]
        assert mine["alpha"] == pytest.approx(alpha, abs=1e-10)
        assert mine["R"] == pytest.approx(R, abs=1e-10)
    for alpha in (0.005, 0.02, 0.1):
        pruned = plain.CART().fit(X, y)
        plain.CostComplexityPruning(alpha).fit(pruned)
        same_tree(pruned, DecisionTreeClassifier(ccp_alpha=alpha).fit(X, y).tree_)


def test_worked_example():
    """Five rows: the threshold 2 leaves a Gini impurity of (2 * 0 + 3 * 4/9) / 5."""
    X, y = np.array([[1.5], [1.7], [2.3], [2.7], [2.7]]), np.array([1, 1, 2, 2, 3])
    first = plain.CART().fit(X, y).trace[0]
    assert first["split"] == 2.0
    assert first["impurity"] == pytest.approx(1 - 0.16 - 0.16 - 0.04)
    assert first["impurity after"] == pytest.approx(4 / 15)


def test_xor_needs_a_split_without_gain():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 3, dtype=float)
    y = (X[:, 0] != X[:, 1]).astype(int)
    made = plain.CART().fit(X, y)
    assert made.trace[0]["impurity after"] == made.trace[0]["impurity"] == 0.5
    np.testing.assert_array_equal(made.predict(X), y)


# Ensembles ---------------------------------------------------------------------------------------


def bags_of(model, monkeypatch, X, y):
    """The rows that each base estimator of a fit drew, found by the weights of the bags."""
    drawn = {}
    weights = bootstrap_samples.Sampler.weights

    def recorded(self, key):
        drawn[int(key)] = weights(self, key), self.problem
        return drawn[int(key)][0]

    with monkeypatch.context() as patched:
        patched.setattr(bootstrap_samples.Sampler, "weights", recorded)
        model.fit(X, y)
    bags = []
    for w, problem in drawn.values():
        own = problem.gathered()
        rows = [
            int(np.flatnonzero((x == X).all(axis=1) & (y == target))[0])
            for x, target in zip(own.table, own.y.ravel())
        ]
        bags.append(np.repeat(rows, w.astype(int)))
    return bags


@pytest.mark.filterwarnings("ignore:.*rows were drawn for every base estimator")
@pytest.mark.parametrize("table", WINE)
@pytest.mark.parametrize("forest", [False, True])
def test_bagging_with_the_same_rows(table, forest, monkeypatch):
    """A forest that searches all columns is bagging."""
    X, y = WINE[table]()
    settings = {"n_estimators": 5, "random_state": 3, "n_jobs": 1, "oob_score": True}
    model = ensemble.BaggingClassifier(DecisionTreeClassifier(), **settings)
    if forest:
        model = ensemble.RandomForestClassifier(max_features=None, **settings)
    samples = bags_of(model, monkeypatch, X, y)
    made = (
        plain.RandomForest(X.shape[1], samples=samples)
        if forest
        else plain.BaggedTrees(samples=samples)
    )
    made.fit(X, y)
    assert len(samples) == 5 and all(len(rows) == len(y) for rows in samples)
    np.testing.assert_allclose(made.predict_proba(X), model.predict_proba(X), atol=1e-12)
    np.testing.assert_array_equal(made.predict(X), model.predict(X))
    seen = ~np.isnan(made.oob_predictions[:, 0])
    right = made.oob_predictions[seen].argmax(axis=1) == y[seen]
    assert right.mean() == pytest.approx(model.oob_score_, abs=1e-12)
    if forest:
        np.testing.assert_allclose(made.importances, model.feature_importances_, atol=1e-9)


@pytest.mark.parametrize("table", TARGETS)
def test_bagging_of_regression_trees(table, monkeypatch):
    X, y = TARGETS[table]()
    model = ensemble.BaggingRegressor(
        DecisionTreeRegressor(), n_estimators=4, random_state=1, n_jobs=1
    )
    samples = bags_of(model, monkeypatch, X, y)
    made = plain.BaggedTrees(samples=samples, criterion="squared_error").fit(X, y)
    np.testing.assert_allclose(made.predict(X), model.predict(X), rtol=1e-12, atol=1e-12)


def root_columns_of(made):
    return [tree.root.column for tree in made.trees]


@pytest.mark.parametrize("table", WINE)
def test_a_forest_draws_columns_like_the_library(table):
    """Columns at the root of 150 stumps with m = 2: chi-square test of equal shares, p > 0.001."""
    X, y = WINE[table]()
    X = X[:, :5]
    model = ensemble.RandomForestClassifier(150, max_features=2, max_depth=1, random_state=1)
    theirs = [int(tree.feature[0]) for tree in model.fit(X, y).trees_]
    made = plain.RandomForest(2, B=150, seed=1, max_depth=1).fit(X, y)
    counts = np.array([np.bincount(c, minlength=5) for c in (theirs, root_columns_of(made))])
    counts = counts[:, counts.sum(axis=0) > 0]
    assert stats.chi2_contingency(counts).pvalue > 0.001
    assert np.mean(made.predict(X) != model.predict(X)) < 0.15


@pytest.mark.parametrize("depth", [1, 3])
@pytest.mark.parametrize("table", WINE)
def test_adaboost(table, depth):
    X, y = WINE[table]()
    model = ensemble.AdaBoostClassifier(DecisionTreeClassifier(max_depth=depth), n_estimators=8)
    model.fit(X, y)
    made = plain.AdaBoostSAMME(T=8, max_depth=depth).fit(X, y)
    rounds = len(made.a)
    assert rounds == len(model.estimators_)
    np.testing.assert_allclose(made.a, model.estimator_weights_[:rounds], rtol=1e-9)
    errors = [step["error"] for step in made.trace]
    np.testing.assert_allclose(errors, model.estimator_errors_[:rounds], atol=1e-12)
    np.testing.assert_allclose(made.predict_proba(X), model.predict_proba(X), atol=1e-9)
    np.testing.assert_array_equal(made.predict(X), model.predict(X))


def test_adaboost_ends_with_perfect_and_useless_trees():
    separable, constant = np.arange(6.0)[:, None], np.zeros((2, 1))
    for X, y in ((separable, np.arange(6) // 3), (constant, np.array([0, 1]))):
        model = ensemble.AdaBoostClassifier().fit(X, y)
        made = plain.AdaBoostSAMME().fit(X, y)
        assert made.a == model.estimator_weights_[:1].tolist() == [1.0]
        np.testing.assert_array_equal(made.predict(X), model.predict(X))


@pytest.mark.parametrize("loss", ["linear", "square", "exponential"])
@pytest.mark.parametrize("table", TARGETS)
def test_adaboost_r2(table, loss):
    X, y = TARGETS[table]()
    model = ensemble.AdaBoostRegressor(n_estimators=7, loss=loss).fit(X, y)
    made = plain.AdaBoostR2(T=7, loss=loss).fit(X, y)
    rounds = len(made.a)
    assert rounds == len(model.estimators_) > 2
    np.testing.assert_allclose(made.a, model.estimator_weights_[:rounds], rtol=1e-9)
    np.testing.assert_allclose(made.predict(X), model.predict(X), rtol=1e-9)


@pytest.mark.parametrize("table", TARGETS)
def test_gradient_boosting_for_numbers(table):
    X, y = TARGETS[table]()
    model = ensemble.GradientBoostingRegressor(n_estimators=10).fit(X, y)
    made = plain.GradientBoostedTrees(rounds=10).fit(X, y)
    np.testing.assert_allclose(made.predict(X), model.predict(X), rtol=0, atol=1e-9 * np.ptp(y))


@pytest.mark.parametrize("table", WINE)
def test_gradient_boosting_for_classes(table):
    X, y = WINE[table]()
    model = ensemble.HistGradientBoostingClassifier(
        max_iter=6, max_depth=2, min_samples_leaf=1, max_leaf_nodes=None, early_stopping=False
    ).fit(X, y)
    made = plain.GradientBoostedTrees("logistic", rounds=6, max_depth=2).fit(X, y)
    np.testing.assert_allclose(made.predict_proba(X), model.predict_proba(X), rtol=0, atol=1e-9)
    np.testing.assert_array_equal(made.predict(X), model.predict(X))
