"""Trees of R's rpart, of a textbook's spam tables and of the tips: nodes, sizes, errors."""

import numpy as np
import pytest

from pellucid.data import datasets
from pellucid.tree import DecisionTreeClassifier, DecisionTreeRegressor
from tests.oracles import shared


def splits(tree, columns):
    """(column, threshold, samples) of every split, sorted."""
    inner = np.flatnonzero(tree.feature >= 0)
    found = [(columns[tree.feature[i]], tree.threshold[i], int(tree.n_samples[i])) for i in inner]
    return sorted(found)


def rpart(entry):
    """The same of a tree that rpart grew; its leaves as (samples, value)."""
    result = shared.r_reference(entry)["result"]
    splits, sizes = result["primary_splits"], dict(zip(result["nodes"], result["n"]))
    inner = [k for k, name in enumerate(result["var"]) if name != "<leaf>"]
    found = [
        (splits["var"][j], splits["index"][j], result["n"][k]) for j, k in enumerate(inner)
    ]  # fmt: skip
    leaves = [k for k, name in enumerate(result["var"]) if name == "<leaf>"]
    assert sizes[1] == result["n"][0]
    return sorted(found), sorted((result["n"][k], result["yval"][k]) for k in leaves)


def same_splits(ours, theirs):
    assert [(name, n) for name, _, n in ours] == [(name, n) for name, _, n in theirs]
    np.testing.assert_allclose([t for _, t, _ in ours], [t for _, t, _ in theirs], rtol=1e-9)


@pytest.mark.parametrize(("entry", "cp"), [("default", 0.01), ("cp.001", 0.001)])
def test_rpart_boston(entry, cp):
    """rpart's cp is the price of a leaf as a share of the root's sum of squares."""
    frame = shared.frame("boston.csv")
    X, y = frame.drop(columns="MEDV"), frame["MEDV"]
    limits = {"min_samples_split": 20, "min_samples_leaf": 7}
    model = DecisionTreeRegressor(**limits, ccp_alpha=cp * float(y.var(ddof=0))).fit(X, y)
    theirs, leaves = rpart(f"rpart_boston_{entry}")
    same_splits(splits(model.tree_, X.columns), theirs)
    tree = model.tree_
    ours = sorted((int(tree.n_samples[i]), tree.value[i, 0]) for i in np.where(tree.feature < 0)[0])
    np.testing.assert_allclose(ours, leaves, rtol=1e-10)


@pytest.mark.parametrize(
    ("entry", "options"),
    [
        ("default", {}),
        ("information", {"criterion": "entropy"}),
        ("prior", {"class_weight": {"absent": 0.65 / 64, "present": 0.35 / 17}}),
    ],
)
def test_rpart_kyphosis(entry, options):
    """rpart also prunes by wrong labels, which takes nothing away here but for the priors' tree."""
    frame = shared.frame("kyphosis.csv")
    X, y = frame.drop(columns="Kyphosis"), frame["Kyphosis"]
    model = DecisionTreeClassifier(min_samples_split=20, min_samples_leaf=7, **options).fit(X, y)
    theirs, _ = rpart(f"rpart_kyphosis_{entry}")
    ours = splits(model.tree_, X.columns)
    if entry == "default":
        same_splits(ours, theirs)
    for name, threshold, n in theirs:
        assert any(a == name and abs(b - threshold) < 1e-9 and c == n for a, b, c in ours)
    if entry == "default":
        share = model.predict_proba(X.iloc[:5])[:, 1]
        expected = shared.r_reference("rpart_kyphosis_default")["prob_present5"]
        np.testing.assert_allclose(share, expected, rtol=1e-12)
        assert (model.predict(X) != y).sum() == 13


def test_rpart_iris_and_pima():
    """Full trees: every split of rpart's, which then prunes those that correct no label."""
    iris, pima = shared.frame("r_iris.csv"), shared.frame("mass_pima_tr.csv")
    for frame, target, entry, options in (
        (iris, "Species", "rpart_iris_full", {}),
        (pima, "type", "rpart_pima_tr_te", {"min_samples_split": 20, "min_samples_leaf": 7}),
    ):
        X, y = frame.drop(columns=target), frame[target]
        ours = splits(DecisionTreeClassifier(**options).fit(X, y).tree_, X.columns)
        for name, threshold, n in rpart(entry)[0]:
            assert any(a == name and abs(b - threshold) < 1e-9 and c == n for a, b, c in ours)


def test_spam_tree_of_seventeen_leaves():
    """The textbook's split of Spambase: entropy and cost-complexity, 144 of 1536 wrong."""
    frame = shared.frame("spambase.csv")
    test = shared.frame("spambase_esl_traintest.csv")["test"].to_numpy() == 1
    X, y = frame.iloc[:, :-1], frame.iloc[:, -1].to_numpy()
    assert (~test).sum() == 3065
    full = DecisionTreeClassifier(criterion="entropy")
    alphas = full.cost_complexity_pruning_path(X[~test], y[~test])["ccp_alphas"]
    k = int(np.searchsorted(alphas, 0.00721)) - 1
    assert alphas[k] == pytest.approx(0.007202, abs=1e-6)
    model = DecisionTreeClassifier(criterion="entropy", ccp_alpha=alphas[k : k + 2].mean())
    model.fit(X[~test], y[~test])
    assert model.get_n_leaves() == 17
    assert (model.predict(X[test]) != y[test]).sum() == 144
    root = DecisionTreeClassifier(max_depth=1).fit(X[~test], y[~test])
    assert X.columns[root.tree_.feature[0]] == "char_freq_$"
    assert root.tree_.threshold[0] == pytest.approx(0.0555)


def tips():
    frame = datasets.load("tips").table.to_pandas()
    return frame.drop(columns="tip"), frame["tip"].to_numpy()


def gain(tree, node):
    return tree.decrease[node] * tree.impurity[0] * tree.weight[0]


def test_tips_tree():
    """The book's train-test split of tips: first splits, leaves, squared error of unseen rows."""
    X, y = tips()
    test = np.random.RandomState(1).choice(np.arange(244), 61, replace=False)
    train = np.setdiff1d(np.arange(244), test)
    model = DecisionTreeRegressor(max_depth=7, min_samples_split=5).fit(X.iloc[train], y[train])
    tree = model.tree_
    left, right = tree.left[0], tree.right[0]
    assert tree.impurity[0] * tree.weight[0] == pytest.approx(310.520498, abs=1e-6)
    names = [X.columns[tree.feature[i]] for i in (0, left, right, tree.left[right])]
    assert names == ["total_bill", "total_bill", "total_bill", "smoker"]
    np.testing.assert_allclose(tree.threshold[[0, left, right]], [24.63, 16.535, 48.22], rtol=1e-9)
    gains = [gain(tree, i) for i in (0, left, right, tree.left[right])]
    np.testing.assert_allclose(gains, [104.496077, 28.651218, 25.495579, 8.594057], atol=1e-6)
    assert tree.n_leaves == 47
    assert ((model.predict(X.iloc[test]) - y[test]) ** 2).mean() == pytest.approx(1.19176, abs=5e-6)
    leaf = tree.right[right]
    assert (tree.n_samples[leaf], tree.value[leaf, 0]) == (2, pytest.approx(7.865))


def test_tips_of_depth_two():
    X, y = tips()
    tree = DecisionTreeRegressor(max_depth=2).fit(X, y).tree_
    nodes = [0, tree.left[0], tree.right[0]]
    np.testing.assert_allclose(tree.threshold[nodes], [20.47, 13.875, 48.22], rtol=1e-9)
    np.testing.assert_allclose(
        [gain(tree, i) for i in nodes], [146.295951, 25.64152, 64.914312], atol=1e-6
    )
