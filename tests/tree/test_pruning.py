"""Pruning by unseen rows, of one node and by cross-validation; the path as a table."""

import itertools

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

import pellucid
from pellucid.errors import DataError, NotFittedError, ParameterError
from pellucid.tree import DecisionTreeClassifier, DecisionTreeRegressor
from pellucid.tree.pruning import collapse, prune, weakest_links
from pellucid.tree.pruning_validation import losses, path_losses


def _noisy(seed=0, n=300):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, (X[:, 0] + 0.7 * rng.normal(size=n) > 0).astype(int)


def test_the_lecture_example():
    """Train 3.5 | 5.5 | 4.5; on the validation rows node 5.5 becomes a leaf, then nothing more."""
    X, y = np.arange(1.0, 9.0)[:, None], [0, 0, 0, 1, 0, 1, 1, 1]
    model = DecisionTreeClassifier().fit(X, y)
    np.testing.assert_allclose(model.tree_.threshold[model.tree_.feature >= 0], [3.5, 5.5, 4.5])
    table = model.pruning_table()
    np.testing.assert_allclose([row[1] for row in table.rows], [0, 0.1, 0.3], atol=1e-12)
    assert [row[2] for row in table.rows] == [4, 2, 1]
    np.testing.assert_allclose([row[3] for row in table.rows], [0, 0.2, 0.5], atol=1e-12)
    X_val, y_val = np.array([[4.2], [5.2], [5.3], [2.0], [7.0]]), np.array([0, 1, 1, 0, 1])
    assert model.score(X_val, y_val) == pytest.approx(2 / 5)
    assert model.prune(X_val, y_val) is model
    assert model.score(X_val, y_val) == pytest.approx(4 / 5)
    assert model.get_n_leaves() == 2
    assert model.predict([[3.4], [3.6]]).tolist() == [0, 1]


def _prunings(nodes, i=0):
    """All sets of nodes that may become leaves below node i."""
    if nodes.feature[i] < 0:
        return [()]
    pairs = itertools.product(_prunings(nodes, nodes.left[i]), _prunings(nodes, nodes.right[i]))
    return [(i,)] + [a + b for a, b in pairs]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("cls", [DecisionTreeClassifier, DecisionTreeRegressor])
def test_no_pruning_is_better(cls, seed):
    X, y = _noisy(seed, 60)
    X_val, y_val = _noisy(seed + 50, 40)
    model = cls(max_leaf_nodes=7).fit(X, y)

    def loss(nodes):
        leaf, _ = losses(nodes, np.asfortranarray(X_val), y_val, np.ones(40), model.criterion)
        return leaf[nodes.feature < 0].sum(), nodes.n_leaves

    every = [loss(collapse(model.tree_, list(cut))) for cut in _prunings(model.tree_)]
    best = min(every)[0]
    found = loss(model.prune(X_val, y_val).tree_)
    assert found[0] == pytest.approx(best)
    assert found[1] == min(leaves for lost, leaves in every if lost <= best + 1e-12 * abs(best))


def test_labels_that_the_tree_does_not_know_are_wrong():
    X, y = _noisy()
    model = DecisionTreeClassifier(max_depth=3).fit(X, y)
    model.prune(X, np.append(np.full(len(X) - 1, 7), y[-1]))
    assert model.get_n_leaves() == 1


def test_weights_of_validation_rows_are_copies():
    X, y = _noisy()
    X_val, y_val = _noisy(9, 80)
    w = np.random.default_rng(1).integers(0, 4, 80)
    trees = [
        DecisionTreeClassifier().fit(X, y).prune(X_val, y_val, sample_weight=w),
        DecisionTreeClassifier().fit(X, y).prune(np.repeat(X_val, w, axis=0), np.repeat(y_val, w)),
    ]
    np.testing.assert_array_equal(trees[0].tree_.threshold, trees[1].tree_.threshold)


def test_by_hand_and_saved(tmp_path):
    X, y = _noisy()
    model = DecisionTreeClassifier(max_depth=3).fit(X, y)
    leaves, right = model.get_n_leaves(), int(model.tree_.right[0])
    model.prune(node=right)
    assert model.get_n_leaves() < leaves
    assert model.tree_.feature[model.tree_.right[0]] == -2
    model.save(tmp_path / "m.pellucid")
    again = pellucid.load(tmp_path / "m.pellucid")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert model.explain(X).gap() < 1e-12


@pytest.mark.parametrize("node", [-1, 10**6, "root", 1.5])
def test_wrong_nodes_are_named(node):
    X, y = _noisy()
    model = DecisionTreeClassifier(max_depth=2).fit(X, y)
    with pytest.raises(ParameterError, match="'node' parameter of prune"):
        model.prune(node=node)


def test_a_leaf_cannot_become_one():
    X, y = _noisy()
    model = DecisionTreeClassifier(max_depth=2).fit(X, y)
    leaf = int(np.flatnonzero(model.tree_.feature < 0)[0])
    with pytest.raises(ParameterError, match=f"node={leaf}, which is a leaf already"):
        model.prune(node=leaf)
    with pytest.raises(ParameterError, match="Got True"):
        model.prune(node=True)


def test_labels_of_which_the_tree_knows_none_are_refused():
    X, y = _noisy()
    words = np.array(["no", "yes"])[y]
    model = DecisionTreeClassifier().fit(X, words)
    leaves = model.get_n_leaves()
    with pytest.raises(DataError, match="y contains 0, but the classes"):
        model.prune(X, y)
    assert model.get_n_leaves() == leaves


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("cls", [DecisionTreeClassifier, DecisionTreeRegressor])
def test_cross_validated_price_of_copies_is_that_of_weights(cls, seed):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(60, 2)), 2)
    y = X[:, 0] + rng.normal(size=60)
    y = (y > 0).astype(int) if cls is DecisionTreeClassifier else y
    w = rng.integers(0, 4, 60)
    copies = rng.permutation(np.repeat(np.arange(60), w))
    a = cls(ccp_alpha="cv").fit(X, y, sample_weight=w)
    b = cls(ccp_alpha="cv").fit(X[copies], y[copies])
    assert a.ccp_alpha_ == b.ccp_alpha_ and np.array_equal(a.predict(X), b.predict(X))


def test_prune_needs_rows_or_a_node():
    X, y = _noisy()
    with pytest.raises(NotFittedError):
        DecisionTreeClassifier().prune(node=0)
    model = DecisionTreeClassifier(max_depth=2).fit(X, y)
    with pytest.raises(ParameterError, match="either"):
        model.prune()
    with pytest.raises(ParameterError, match="either"):
        model.prune(X, y, node=0)


@pytest.mark.parametrize("criterion", ["gini", "squared_error", "absolute_error"])
def test_losses_of_the_path_are_those_of_its_trees(criterion):
    X, y = _noisy(2)
    X_val, y_val = _noisy(3, 90)
    X_val, w = np.asfortranarray(X_val), np.random.default_rng(0).random(90)
    cls = DecisionTreeClassifier if criterion == "gini" else DecisionTreeRegressor
    nodes = cls(criterion=criterion, min_samples_leaf=5).fit(X, y).tree_
    alphas = np.array([0.0, *(alpha for alpha, _, _ in weakest_links(nodes))])
    found = path_losses(nodes, alphas, *losses(nodes, X_val, y_val, w, criterion))
    for k, alpha in enumerate(alphas):
        tree = prune(nodes, alpha)
        leaf, square = losses(tree, X_val, y_val, w, criterion)
        assert found[0, k] == pytest.approx(leaf[tree.feature < 0].sum())
        assert found[1, k] == pytest.approx(square[tree.feature < 0].sum())


def test_cross_validated_price():
    """Within one standard error of the lowest loss, and the highest such price; the same tree as
    with that price by hand; far smaller than the whole tree, as good on new rows."""
    X, y = load_breast_cancer(return_X_y=True)
    model = DecisionTreeClassifier(ccp_alpha="cv").fit(X[::2], y[::2])
    path = model.cv_path_
    best = path["loss"].argmin()
    bar = path["loss"][best] + path["error"][best]
    assert path["loss"][path["alpha"] == model.ccp_alpha_][0] <= bar
    assert (path["loss"][path["alpha"] > model.ccp_alpha_] > bar).all()
    by_hand = DecisionTreeClassifier(ccp_alpha=model.ccp_alpha_).fit(X[::2], y[::2])
    np.testing.assert_array_equal(by_hand.tree_.threshold, model.tree_.threshold)
    whole = DecisionTreeClassifier().fit(X[::2], y[::2])
    assert model.get_n_leaves() < whole.get_n_leaves()
    assert model.score(X[1::2], y[1::2]) > whole.score(X[1::2], y[1::2]) - 0.02
    assert "cross-validation" in str(model.pruning_table())


def test_cross_validated_price_of_noise_is_one_leaf():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), rng.normal(size=200)
    assert DecisionTreeRegressor(ccp_alpha="cv").fit(X, y).get_n_leaves() == 1


def test_loss_of_the_folds_is_that_of_the_trees_grown_without_them():
    X, y = _noisy(4, 120)
    model = DecisionTreeClassifier(ccp_alpha="cv").fit(X, y)
    fold = np.empty(120, dtype=int)
    fold[np.argsort(y, kind="stable")] = np.arange(120) % 10
    alpha = model.cv_path_["alpha"][1]
    wrong = 0
    for k in range(10):
        own = DecisionTreeClassifier(ccp_alpha=alpha).fit(X[fold != k], y[fold != k])
        wrong += (own.predict(X[fold == k]) != y[fold == k]).sum()
    assert model.cv_path_["loss"][1] == pytest.approx(wrong / 120)


def test_counts_that_all_fall_into_one_fold():
    y = np.zeros(30)
    y[0] = 5.0
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = DecisionTreeRegressor(criterion="poisson", ccp_alpha="cv").fit(X, y)
    assert np.isfinite(model.cv_path_["loss"]).all()
    # The fold with the 5 is judged by trees that say 0; all others hold zeros only.
    assert model.cv_path_["loss"][0] >= 25 / 30


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson", "gamma"])
def test_pruning_does_not_depend_on_the_unit_of_the_target(criterion):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = np.exp(np.sign(X[:, 0]) + 0.3 * rng.normal(size=80))
    found = []
    for unit in (1.0, 1e-300, 1e-170, 1e-90, 1e78, 1e160, 1e300):
        by_folds = DecisionTreeRegressor(criterion=criterion, ccp_alpha="cv").fit(X, y * unit)
        model = DecisionTreeRegressor(criterion=criterion).fit(X[:50], y[:50] * unit)
        by_rows = model.prune(X[50:], y[50:] * unit)
        found.append((by_folds.get_n_leaves(), by_rows.get_n_leaves()))
    assert found[0][0] > 1
    assert found == found[:1] * len(found)
    loss = DecisionTreeRegressor(criterion=criterion, ccp_alpha="cv").fit(X, y).cv_path_["loss"]
    unit = 2.0**240
    scaled = DecisionTreeRegressor(criterion=criterion, ccp_alpha="cv").fit(X, y * unit)
    power = 1 if criterion == "absolute_error" else 2
    np.testing.assert_allclose(scaled.cv_path_["loss"], loss * unit**power)


def test_rounding_of_weights_keeps_no_useless_branch():
    X, y = [[0.0], [0.0], [0.0], [1.0], [1.0]], [0, 0, 0, 1, 1]
    for weights in ([1, 2, 3], [0.1, 0.2, 0.3]):  # 0.1 + 0.2 > 0.3
        model = DecisionTreeClassifier().fit(X, y)
        model.prune([[1.0]] * 3, [1, 1, 0], sample_weight=weights)
        assert model.get_n_leaves() == 1


def test_entries_of_a_pruning_path_are_attributes():
    path = DecisionTreeClassifier().cost_complexity_pruning_path([[0.0], [1.0], [2.0]], [0, 1, 0])
    assert path.ccp_alphas is path["ccp_alphas"] and path.impurities is path["impurities"]
    with pytest.raises(AttributeError, match="'alphas'"):
        _ = path.alphas
