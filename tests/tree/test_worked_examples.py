"""Worked examples with known numbers: course table, five points, XOR, levels, penguins."""

import numpy as np
import pytest

from pellucid.data import datasets
from pellucid.tree import DecisionTreeClassifier
from pellucid.tree.grower import grow
from pellucid.tree.presort import presort
from pellucid.tree.stopping import Limits
from tests.tree import naive
from tests.tree.node_costs import impurity

NAMES = ["Easy", "Prereqs", "Lecturer", "HasLabs", "Morning"]
COURSE = """\
+2 yynyn +2 yynyn +2 nynnn +2 nnnyn +2 nyyny +1 yynnn +1 yynyn +1 nynyn 0 nnnny 0 ynnyy
0 nynyn 0 yyyyy -1 yyyny -1 nnyyn -1 nnyny -1 ynyny -2 nnyyn -2 nyyny -2 ynynn -2 ynyny
"""


def course():
    X = np.array([[letter == "y" for letter in row] for row in COURSE.split()[1::2]], dtype=float)
    return X, (np.array(COURSE.split()[::2], dtype=int) >= 0).astype(np.int32)


def weighted_impurity(criterion, y, left):
    n = len(y)
    parts = [np.bincount(part, minlength=y.max() + 1) for part in (y[left], y[~left])]
    return sum(impurity(criterion, counts) * counts.sum() / n for counts in parts)


@pytest.mark.parametrize(
    ("column", "accuracy", "gini", "nats"),
    [
        (0, 0.60, 0.48, 0.673012), (1, 0.75, 0.363636, 0.547208), (2, 0.90, 0.16, 0.250201),
        (3, 0.70, 0.40, 0.586707), (4, 0.65, 0.440404, 0.631407),
    ],
)  # fmt: skip
def test_course_scores_at_the_root(column, accuracy, gini, nats):
    X, y = course()
    left = X[:, column] == 0
    assert 1 - weighted_impurity("error", y, left) == pytest.approx(accuracy, abs=1e-12)
    assert weighted_impurity("gini", y, left) == pytest.approx(gini, abs=1e-6)
    assert weighted_impurity("entropy", y, left) * np.log(2) == pytest.approx(nats, abs=1e-6)


@pytest.mark.parametrize("criterion", ["gini", "entropy", "error"])
def test_course_tree(criterion):
    X, y = course()
    stump = DecisionTreeClassifier(criterion=criterion, max_depth=1).fit(X, y)
    assert stump.tree_.feature[0] == 2 and stump.score(X, y) == 0.90
    full = DecisionTreeClassifier(criterion=criterion).fit(X, y)
    assert full.score(X, y) == 19 / 20
    # Under Lecturer = yes: Gini and entropy take Prereqs; error is a four-way tie, lowest column.
    branch = full.tree_.right[0]
    assert full.tree_.n_samples[branch] == 10
    assert full.tree_.feature[branch] == (0 if criterion == "error" else 1)


def test_five_points():
    X, y = np.array([[1.5], [1.7], [2.3], [2.7], [2.7]]), np.array([1, 1, 2, 2, 3])
    model = DecisionTreeClassifier().fit(X, y)
    tree = model.tree_
    assert tree.impurity[0] == pytest.approx(0.64, abs=1e-15)
    np.testing.assert_allclose(tree.threshold[tree.feature >= 0], [2.0, 2.5], rtol=1e-15)
    after = (tree.impurity * tree.weight)[[1, 2]].sum() / 5
    assert after == pytest.approx(4 / 15, abs=1e-15)
    np.testing.assert_array_equal(model.predict_proba([[2.7]]), [[0, 0.5, 0.5]])
    entropy = DecisionTreeClassifier(criterion="entropy").fit(X, y).tree_
    assert entropy.impurity[0] * np.log(2) == pytest.approx(1.054920168, abs=1e-9)
    path = model.cost_complexity_pruning_path(X, y)
    np.testing.assert_allclose(path["ccp_alphas"], [0, 1 / 15, 28 / 75], atol=1e-15)
    np.testing.assert_allclose(path["impurities"], [0.2, 4 / 15, 0.64], atol=1e-15)


@pytest.mark.parametrize(
    ("p", "error", "gini", "bits"),
    [(0.5, 0.5, 0.5, 1.0), (0.25, 0.25, 0.375, 0.811278), (0.9, 0.1, 0.18, 0.468996)],
)
def test_impurities_of_two_classes(p, error, gini, bits):
    counts = np.array([p, 1 - p])
    assert impurity("error", counts) == pytest.approx(error, abs=1e-15)
    assert impurity("gini", counts) == pytest.approx(gini, abs=1e-15)
    assert impurity("entropy", counts) == pytest.approx(bits, abs=1e-6)


def test_impurities_bound_the_error_and_vanish_for_pure_nodes():
    p = np.linspace(0, 1, 201)
    shares = np.stack((p, 1 - p), axis=1)
    for criterion in ("gini", "entropy", "error"):
        values = impurity(criterion, shares)
        assert values[0] == values[-1] == 0 and values.argmax() == 100
        assert (values >= impurity("error", shares) - 1e-15).all()


def test_break_points_are_midpoints():
    ages, y = np.array([[7.0], [12.0], [15.0], [35.0], [38.0]]), [0, 1, 1, 0, 0]
    tree = DecisionTreeClassifier().fit(ages, y).tree_
    assert set(tree.threshold[tree.feature >= 0]) == {9.5, 25.0}


def xor():
    X = np.asfortranarray([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    return presort(X, np.zeros(2, np.uint8), np.zeros(2, np.int32)), np.array([0.0, 10, 10, 0])


def test_xor_needs_a_split_that_saves_nothing():
    table, y = xor()
    assert grow(table, y, None, "squared_error", Limits(max_depth=1)).impurity[1:].sum() * 2 == 100
    full = grow(table, y, None, "squared_error", Limits())
    assert full.impurity[0] * 4 == 100 and full.decrease[0] == 0
    assert full.n_leaves == 4 and full.impurity[full.feature < 0].sum() == 0
    assert full.feature[0] == 0
    picky = grow(table, y, None, "squared_error", Limits(min_impurity_decrease=1e-9))
    assert picky.n_nodes == 1
    for criterion in ("gini", "entropy", "error"):
        model = DecisionTreeClassifier(criterion=criterion).fit(table.X, y)
        assert model.score(table.X, y) == 1.0


@pytest.mark.parametrize(("levels", "splits"), [(2, 1), (3, 3), (4, 7)])
def test_number_of_splits_of_levels(levels, splits):
    assert sum(1 for _ in naive.level_splits(0, np.arange(float(levels)))) == splits


def penguins():
    """The 333 whole rows, by species, as in the older copy of the data that has no year."""
    frame = datasets.load("penguins").table.to_pandas().drop(columns="year").dropna()
    assert len(frame) == 333
    return frame.sort_values("species", kind="stable").reset_index(drop=True)


def counts(tree, node):
    return tuple(np.rint(tree.value[node] * tree.weight[node]).astype(int))


def test_penguins_of_depth_two():
    pytest.importorskip("pandas")
    frame = penguins()
    columns = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm"]
    model = DecisionTreeClassifier(max_depth=2).fit(frame[columns], frame["species"])
    tree = model.tree_
    inner = tree.feature >= 0
    assert [columns[f] for f in tree.feature[inner]] == [columns[2], columns[0], columns[1]]
    np.testing.assert_allclose(tree.threshold[inner], [206.5, 43.35, 17.65], rtol=1e-12)
    cost = tree.impurity * tree.weight
    after = [
        cost[[tree.left[i], tree.right[i]]].sum() / tree.weight[i] for i in np.flatnonzero(inner)
    ]
    np.testing.assert_allclose(after, [0.308100, 0.091291, 0.022857], atol=1e-6)
    leaves = [counts(tree, i) for i in np.flatnonzero(~inner)]
    assert leaves == [(140, 5, 0), (4, 58, 1), (0, 0, 118), (2, 5, 0)]
    row = frame[columns].iloc[:1].assign(flipper_length_mm=210, bill_depth_mm=12)
    assert model.predict(row)[0] == "Gentoo"
    with_island = DecisionTreeClassifier(max_depth=2)
    with_island.fit(frame[["island", *columns]], frame["species"])
    right = with_island.tree_.right[0]
    assert with_island.tree_.feature[right] == 0  # the tie goes to the lowest column
    assert with_island.tree_.levels_left(right).tolist() == [0]  # Biscoe


def split_of(seed):
    state = np.random.RandomState(seed)
    test = state.choice(np.arange(333), 83, replace=False)
    return np.setdiff1d(np.arange(333), test), test


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize(("seed", "right"), [(123, 79), (1, 75)])
def test_penguins_with_levels(criterion, seed, right):
    pytest.importorskip("pandas")
    frame = penguins()
    X, y = frame.drop(columns="species"), frame["species"]
    train, test = split_of(seed)
    model = DecisionTreeClassifier(criterion=criterion, max_depth=10, min_samples_split=10)
    model.fit(X.iloc[train], y.iloc[train])
    assert (model.predict(X.iloc[test]) == y.iloc[test]).sum() == right


def test_penguin_tree_node_by_node():
    pytest.importorskip("pandas")
    frame = penguins()
    X, y = frame.drop(columns="species"), frame["species"]
    train, _ = split_of(123)
    model = DecisionTreeClassifier(criterion="entropy", max_depth=10, min_samples_split=10)
    tree = model.fit(X.iloc[train], y.iloc[train]).tree_
    inner = np.flatnonzero(tree.feature >= 0)
    names = [X.columns[f].split("_mm")[0] for f in tree.feature[inner]]
    assert names == [
        "flipper_length", "bill_length", "bill_depth", "bill_length", "island", "island",
    ]  # fmt: skip
    np.testing.assert_allclose(tree.threshold[inner[:4]], [206, 44.65, 16.65, 39.5], rtol=1e-12)
    assert tree.n_samples[inner].tolist() == [250, 150, 110, 11, 40, 100]
    cost = tree.impurity * tree.weight
    after = [cost[[tree.left[i], tree.right[i]]].sum() / tree.weight[i] for i in inner]
    np.testing.assert_allclose(
        after, [0.662948, 0.216994, 0.068404, 0, 0.068872, 0.048548], atol=1e-6
    )
    leaves = np.flatnonzero(tree.feature < 0)
    shown = [(model.classes_[tree.value[i].argmax()], int(tree.n_samples[i])) for i in leaves]
    assert sorted(shown) == [
        ("Adelie", 3), ("Adelie", 9), ("Adelie", 99), ("Chinstrap", 2), ("Chinstrap", 5),
        ("Chinstrap", 37), ("Gentoo", 95),
    ]  # fmt: skip


def test_a_full_tree_tells_all_rows_of_bits_apart(rng):
    X = np.array(list(np.ndindex(2, 2, 2, 2, 2)), dtype=float)
    y = rng.permutation(32) % 2
    assert DecisionTreeClassifier().fit(X, y).score(X, y) == 1.0


def test_iris_of_depth_three():
    from sklearn.datasets import load_iris
    from sklearn.model_selection import train_test_split

    X, y = load_iris(return_X_y=True)
    known, held, y_known, y_held = train_test_split(X, y, test_size=0.2, random_state=42)
    assert DecisionTreeClassifier(max_depth=3).fit(known, y_known).score(held, y_held) == 1.0
