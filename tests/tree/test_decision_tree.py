"""The public class: parameters, attributes, containers, weights, explanations, text, files."""

import numpy as np
import pandas as pd
import pytest

import pellucid.ensemble
import pellucid.tree
from pellucid.errors import DataError, NotFittedError, ParameterError
from pellucid.plain.trees.decision_tree import value_and_impurity
from pellucid.tree import DecisionTreeClassifier, DecisionTreeRegressor, export_text


def mixed(rng, n=300):
    """Numbers, levels and missing cells with a signal in all of them."""
    pandas = pytest.importorskip("pandas")
    age = rng.normal(40, 10, n)
    town = rng.choice(["Ulm", "Bonn", "Köln", "Jena"], n)
    colour = rng.choice(["red", "green"], n)
    y = np.where((age > 45) ^ np.isin(town, ["Ulm", "Jena"]), "yes", "no")
    y = np.where(rng.random(n) < 0.1, "maybe", y)
    age[rng.random(n) < 0.1] = np.nan
    town = np.where(rng.random(n) < 0.1, None, town)
    return pandas.DataFrame({"age": age, "town": town, "colour": colour}), y


def same_tree(a, b, rounding=0.0):
    for name in ("feature", "threshold", "left", "right", "missing_left", "sets"):
        np.testing.assert_array_equal(getattr(a.tree_, name), getattr(b.tree_, name), err_msg=name)
    np.testing.assert_allclose(a.tree_.value, b.tree_.value, rtol=rounding, atol=0)


def test_containers_give_the_same_tree(rng):
    polars = pytest.importorskip("polars")
    X, y = mixed(rng)
    model = DecisionTreeClassifier(max_depth=6).fit(X, y)
    assert model.score(X, y) > 0.8
    other = DecisionTreeClassifier(max_depth=6).fit(polars.from_pandas(X), y)
    arrow = DecisionTreeClassifier(max_depth=6).fit(polars.from_pandas(X).to_arrow(), y)
    array = DecisionTreeClassifier(max_depth=6).fit(X.to_numpy(), y)
    for twin in (other, arrow, array):
        same_tree(model, twin)
    shuffled = X[["colour", "age", "town"]]
    np.testing.assert_array_equal(model.predict_proba(X), model.predict_proba(shuffled))


def test_unseen_and_missing_at_prediction(rng):
    X, y = mixed(rng)
    whole = X.dropna()
    model = DecisionTreeClassifier().fit(whole, y[X.notna().all(axis=1)])
    new = whole.iloc[:3].copy()
    new["town"] = "Paris"
    with pytest.warns(pellucid.errors.UnseenLevelWarning, match="town"):
        unseen = model.predict_proba(new)
    new["town"] = None
    np.testing.assert_array_equal(unseen, model.predict_proba(new))
    node, tree = 0, model.tree_
    while tree.feature[node] >= 0:  # everything missing: always the larger child
        left, right = tree.left[node], tree.right[node]
        node = left if tree.weight[left] > tree.weight[right] else right
    new["age"], new["colour"] = np.nan, None
    np.testing.assert_array_equal(model.predict_proba(new)[0], tree.value[node])


def test_same_attributes_and_methods_as_the_peer(rng):
    from sklearn.tree import DecisionTreeClassifier as Peer
    from sklearn.tree import export_text as peer_text

    X = rng.normal(size=(300, 5)).astype(np.float32).astype(float)
    y = (X[:, 0] + X[:, 1] > 0).astype(int) + (X[:, 2] > 0.5)
    ours = DecisionTreeClassifier(max_depth=3).fit(X, y)
    peer = Peer(max_depth=3, random_state=0).fit(X, y)
    np.testing.assert_array_equal(ours.apply(X), peer.apply(X))
    assert (ours.decision_path(X) != peer.decision_path(X)).nnz == 0
    np.testing.assert_allclose(ours.feature_importances_, peer.feature_importances_, atol=1e-12)
    assert ours.get_depth() == peer.get_depth() and ours.get_n_leaves() == peer.get_n_leaves()
    assert ours.tree_.node_count == peer.tree_.node_count
    np.testing.assert_array_equal(ours.tree_.children_left, peer.tree_.children_left)
    names = list("abcde")
    assert export_text(ours, feature_names=names) == peer_text(peer, feature_names=names)
    assert export_text(ours, feature_names=names, max_depth=1, show_weights=True) == peer_text(
        peer, feature_names=names, max_depth=1, show_weights=True
    )


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_pruning_equals_the_peer(criterion, rng):
    from sklearn.tree import DecisionTreeClassifier as Peer

    X = rng.normal(size=(400, 4)).astype(np.float32).astype(float)
    y = (X[:, 0] * X[:, 1] + rng.normal(size=400) > 0).astype(int)
    w = rng.random(400) + 0.5  # no ties
    options = {"criterion": criterion, "min_samples_leaf": 15}
    path = DecisionTreeClassifier(**options).cost_complexity_pruning_path(X, y, w)
    peer = Peer(**options).cost_complexity_pruning_path(X, y, w)
    np.testing.assert_allclose(path["ccp_alphas"], peer.ccp_alphas, atol=1e-12)
    np.testing.assert_allclose(path["impurities"], peer.impurities, atol=1e-12)
    for alpha in (path["ccp_alphas"][1:] + path["ccp_alphas"][:-1]) / 2:
        ours = DecisionTreeClassifier(**options, ccp_alpha=alpha).fit(X, y, w)
        theirs = Peer(**options, ccp_alpha=alpha).fit(X, y, w)
        np.testing.assert_array_equal(ours.tree_.left, theirs.tree_.children_left)
        np.testing.assert_array_equal(ours.apply(X), theirs.apply(X))


def test_pruning_keeps_sets_of_levels(rng):
    X, y = mixed(rng)
    full = DecisionTreeClassifier().fit(X, y)
    pruned = DecisionTreeClassifier(ccp_alpha=0.01).fit(X, y)
    assert 1 < pruned.get_n_leaves() < full.get_n_leaves()
    assert (pruned.tree_.set_start >= 0).any()
    assert pruned.score(X, y) > 0.8


def test_weights_are_repetition_with_class_weights_and_counts(rng):
    X, y = mixed(rng)
    w = rng.integers(0, 4, len(y))
    again = np.repeat(np.arange(len(y)), w)
    for options in (
        {"min_samples_leaf": 5},
        {"min_samples_leaf": 0.02, "min_samples_split": 0.1},
        {"class_weight": "balanced", "min_samples_leaf": 4},
        {"class_weight": "balanced", "min_weight_fraction_leaf": 0.03},
        {"class_weight": {"yes": 3, "maybe": 0.5}, "min_samples_split": 12},
        {"max_leaf_nodes": 9, "min_weight_fraction_leaf": 0.02},
        {"max_features": 1, "random_state": 3},
        {"splitter": "random", "random_state": 3},
    ):
        weighted = DecisionTreeClassifier(**options).fit(X, y, w)
        repeated = DecisionTreeClassifier(**options).fit(X.iloc[again], y[again])
        same_tree(weighted, repeated, 1e-12 if "class_weight" in options else 0.0)
        np.testing.assert_array_equal(weighted.tree_.n_samples, repeated.tree_.n_samples)


def test_balanced_classes_weigh_the_same(rng):
    X, y = mixed(rng)
    w = rng.random(len(y))
    tree = DecisionTreeClassifier(class_weight="balanced").fit(X, y, w).tree_
    np.testing.assert_allclose(tree.value[0], 1 / 3, rtol=1e-12)
    counted = DecisionTreeClassifier(class_weight={"yes": 5}, min_samples_leaf=20).fit(X, y).tree_
    assert counted.n_samples[0] == len(y)  # class weights do not multiply samples
    assert counted.n_samples[counted.feature < 0].min() >= 20
    with pytest.raises(DataError, match="common factor"):
        DecisionTreeClassifier(class_weight="balanced", min_samples_leaf=2).fit(
            X, y, np.full(len(y), 2.0**30)
        )


@pytest.mark.parametrize("scale", [1e-280, 1e-200, 0.3, 1e200, 1e280])
def test_scale_of_weights_does_not_matter(scale, rng):
    X, y = mixed(rng)
    w = rng.integers(1, 4, len(y)).astype(float)
    plain = DecisionTreeClassifier(min_weight_fraction_leaf=0.01).fit(X, y, w)
    scaled = DecisionTreeClassifier(min_weight_fraction_leaf=0.01).fit(X, y, w * scale)
    np.testing.assert_array_equal(plain.tree_.feature, scaled.tree_.feature)
    np.testing.assert_array_equal(plain.predict(X), scaled.predict(X))


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_of_random_splits_into_many_classes_the_best_is_taken(rng, criterion, weighted, gaps):
    """The threshold of a column depends on no other one: each is tried with the others constant."""
    X, y = rng.normal(size=(60, 3)), rng.integers(0, 40, 60)
    X[rng.random(X.shape) < gaps] = np.nan
    w = rng.random(60) + 0.1 if weighted else np.ones(60)
    stump = DecisionTreeClassifier(splitter="random", criterion=criterion, max_depth=1)
    for seed in range(20):
        stump.set_params(random_state=seed)
        alone = [
            saved(stump.fit(np.where(np.arange(3) == f, X, 0), y, w), X, y, w) for f in range(3)
        ]
        assert saved(stump.fit(X, y, w), X, y, w) == pytest.approx(max(alone), rel=1e-9)
        share = stump.tree_.decrease[0] * stump.tree_.impurity[0]
        assert share == pytest.approx(max(alone), rel=1e-9)


def saved(stump, X, y, w):
    """By its split, by the definition of the impurity."""
    column = X[:, stump.tree_.feature[0]]
    left = np.where(
        np.isnan(column), stump.tree_.missing_left[0], column <= stump.tree_.threshold[0]
    )
    impurity = [
        w[rows].sum() * value_and_impurity(stump.criterion, y[rows], w[rows], 40)[1]
        for rows in (w > 0, left == 1, left == 0)
    ]
    return (impurity[0] - impurity[1] - impurity[2]) / w.sum()


def test_random_splitter(rng):
    X, y = mixed(rng)
    one = DecisionTreeClassifier(splitter="random", random_state=0).fit(X, y)
    same_tree(one, DecisionTreeClassifier(splitter="random", random_state=0).fit(X, y))
    two = DecisionTreeClassifier(splitter="random", random_state=1).fit(X, y)
    assert not np.array_equal(one.tree_.threshold, two.tree_.threshold)
    assert one.score(X, y) == DecisionTreeClassifier().fit(X, y).score(X, y)  # both are full
    best = DecisionTreeClassifier(max_depth=1).fit(X, y).tree_.decrease[0]
    for seed in range(20):
        drawn = DecisionTreeClassifier(max_depth=1, splitter="random", random_state=seed)
        assert drawn.fit(X, y).tree_.decrease[0] <= best + 1e-12


def test_explanation_adds_up(rng):
    X, y = mixed(rng)
    model = DecisionTreeClassifier(max_depth=5).fit(X, y)
    parts = model._explain(model._encoded(X))
    total = parts["base"] + parts["contributions"].sum(axis=1)
    np.testing.assert_allclose(total, model.predict_proba(X), atol=1e-14)
    np.testing.assert_array_equal(parts["prediction"], model.predict_proba(X))
    two = DecisionTreeClassifier(max_depth=5).fit(X, y == "yes")
    assert two._explain(two._encoded(X))["contributions"].shape == (len(X), 3, 1)


def test_text_names_levels_and_missing_values(rng):
    X = mixed(rng)[0]
    model = DecisionTreeClassifier(max_depth=2).fit(
        X[["town"]], np.isin(X["town"], ["Ulm", "Bonn"])
    )
    text = export_text(model)
    assert text.splitlines() == [
        "|--- town in {Bonn, Ulm}",
        "|   |--- class: True",
        "|--- town in {Jena, Köln} or missing",
        "|   |--- class: False",
    ]
    absent = DecisionTreeClassifier(max_depth=1).fit(X[["town"]], X["town"].isna())
    assert "missing" in export_text(absent).splitlines()[2]
    number = DecisionTreeClassifier(max_depth=1).fit(X[["age"]], X["age"].isna())
    assert export_text(number).startswith("|--- age is present")


def test_saved_and_loaded_to_the_last_bit(rng, tmp_path):
    X, y = mixed(rng)
    model = DecisionTreeClassifier().fit(X, y)
    model.save(tmp_path / "tree.pellucid")
    back = pellucid.load(tmp_path / "tree.pellucid")
    same_tree(model, back)
    np.testing.assert_array_equal(model.predict_proba(X), back.predict_proba(X))
    back._check_state()
    back.classes_ = back.classes_[:2]
    with pytest.raises(DataError):
        back._check_state()


def test_constant_columns_one_class_and_too_few_samples(rng):
    X = np.c_[np.ones(30), rng.normal(size=30), np.full(30, np.nan)]
    y = rng.integers(0, 2, 30)
    model = DecisionTreeClassifier().fit(X, y)
    assert model.score(X, y) == 1 and model.feature_importances_.tolist() == [0, 1, 0]
    assert DecisionTreeClassifier(min_samples_leaf=31).fit(X, y).get_n_leaves() == 1
    constant = DecisionTreeClassifier().fit(X[:, :1], y)
    assert constant.get_n_leaves() == 1 and constant.feature_importances_.tolist() == [0]
    with pytest.raises(DataError, match=r"only one class: 0\.0"):
        DecisionTreeClassifier().fit(X, np.zeros(30))


def test_many_levels(rng):
    pandas = pytest.importorskip("pandas")
    n = 20_000
    towns = np.array([f"town {k}" for k in rng.permutation(n)])
    X = pandas.DataFrame({"town": towns, "x": rng.normal(size=n)})
    y = rng.integers(0, 3, n)
    model = DecisionTreeClassifier(max_depth=3).fit(X, y)
    assert model.score(X, y) > 0.6  # a level per row says everything


@pytest.mark.slow
def test_a_hundred_thousand_levels(rng):
    """Every level once: the order of the levels says everything, in a few seconds and 300 MB."""
    pandas = pytest.importorskip("pandas")
    n = 100_000
    towns = pandas.Categorical([f"town {k}" for k in rng.permutation(n)])
    X = pandas.DataFrame({"town": towns, "x": rng.normal(size=n)})
    two = DecisionTreeClassifier().fit(X, rng.integers(0, 2, n))
    assert two.get_n_leaves() == 2
    y = rng.normal(size=n)
    few = DecisionTreeRegressor(max_depth=4).fit(X, y)
    assert few.get_n_leaves() == 16 and few.score(X, y) > 0.9


def test_levels_that_only_a_rare_class_has(rng):
    pandas = pytest.importorskip("pandas")
    n = 400
    y = np.where(rng.random(n) < 0.02, "rare", rng.choice(["a", "b"], n))
    town = np.where(y == "rare", rng.choice(["Ulm", "Jena"], n), rng.choice(["Bonn", "Köln"], n))
    X = pandas.DataFrame({"town": town, "x": rng.normal(size=n)})
    for options in ({}, {"max_depth": 1}, {"criterion": "entropy"}, {"categories": "one_vs_rest"}):
        model = DecisionTreeClassifier(**options).fit(X, y)
        share = model.predict_proba(X)
        np.testing.assert_allclose(share.sum(axis=1), 1.0, rtol=1e-12)
    kept = y != "rare"  # a fold without the rare class has never seen its levels
    fold = DecisionTreeClassifier(max_depth=3).fit(X[kept], y[kept])
    with pytest.warns(pellucid.errors.UnseenLevelWarning, match="town"):
        unseen = fold.predict(X[~kept])
    gone = X[~kept].assign(town=None)
    np.testing.assert_array_equal(unseen, fold.predict(gone))


@pytest.mark.parametrize("y", [[0, np.nan, 1], ["a", None, "b"], [0.5, 1.5, 0.5]])
def test_bad_targets_leave_nothing_fitted(y):
    model = DecisionTreeClassifier()
    with pytest.raises(DataError, match=r"NaN|missing|continuous"):
        model.fit([[0.0], [1.0], [2.0]], y)
    assert not hasattr(model, "tree_")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("criterion", "impurity"), ("splitter", "worst"), ("max_depth", 0), ("max_depth", 2.5),
        ("min_samples_split", 1), ("min_samples_split", 0.0), ("min_samples_leaf", 0),
        ("min_samples_leaf", 1.0), ("min_weight_fraction_leaf", 0.6), ("max_features", 0),
        ("max_features", "all"), ("max_leaf_nodes", 1), ("min_impurity_decrease", -1.0),
        ("class_weight", "even"), ("class_weight", [1, 2]), ("ccp_alpha", -0.1),
        ("monotonic_cst", "up"), ("random_state", "now"), ("max_split_loss", -1.0),
        ("categories", "all"),
    ],
)  # fmt: skip
def test_wrong_parameters_are_named(name, value):
    with pytest.raises(ParameterError, match=f"'{name}' parameter of DecisionTreeClassifier"):
        DecisionTreeClassifier(**{name: value}).fit([[0.0], [1.0]], [0, 1])


def test_monotone_constraints_as_in_the_peer(rng):
    from sklearn.tree import DecisionTreeClassifier as Peer

    X = rng.normal(size=(500, 3)).astype(np.float32).astype(float)
    y = (np.sin(2 * X[:, 0]) + X[:, 1] + rng.normal(size=500) > 0).astype(int)
    for criterion in ("gini", "entropy"):
        options = {"criterion": criterion, "min_samples_leaf": 12, "monotonic_cst": [1, 0, -1]}
        ours = DecisionTreeClassifier(**options).fit(X, y)
        peer = Peer(**options, random_state=0).fit(X, y)
        np.testing.assert_allclose(ours.predict_proba(X), peer.predict_proba(X), atol=1e-12)
    named = {"b": 1}
    frame = pytest.importorskip("pandas").DataFrame(X, columns=list("abc"))
    for splitter in ("best", "random", "hist"):
        model = DecisionTreeClassifier(splitter=splitter, monotonic_cst=named, random_state=1)
        model.fit(frame, y)
        grid = np.repeat(X[:30], 25, axis=0)
        grid[:, 1] = np.tile(np.linspace(-3, 3, 25), 30)
        share = model.predict_proba(grid)[:, 1].reshape(30, 25)
        assert (np.diff(share, axis=1) >= 0).all() and np.ptp(share) > 0.5
    with pytest.raises(ParameterError, match="multiclass"):
        DecisionTreeClassifier(monotonic_cst=[1, 0, 0]).fit(X, rng.integers(0, 3, 500))
    with pytest.raises(ParameterError, match="-1, 0 or 1"):
        DecisionTreeClassifier(monotonic_cst=[2, 0, 0]).fit(X, y)
    with pytest.raises(ParameterError, match="Categorical column"):
        text = frame.assign(d=rng.choice(["u", "v"], 500))
        DecisionTreeClassifier(monotonic_cst={"d": 1}).fit(text, y)


def test_max_split_loss(rng):
    """A split is made only if the weighted loss of its parts is low enough."""
    X, y = mixed(rng)
    full = DecisionTreeClassifier(min_samples_leaf=5).fit(X, y).tree_
    cost = full.impurity * full.weight
    inner = np.flatnonzero(full.feature >= 0)
    after = (cost[full.left[inner]] + cost[full.right[inner]]) / full.weight[inner]
    for limit in (0.0, 0.2, float(after[0]), 1.0):
        tree = DecisionTreeClassifier(min_samples_leaf=5, max_split_loss=limit).fit(X, y).tree_
        cost = tree.impurity * tree.weight
        inner = np.flatnonzero(tree.feature >= 0)
        losses = (cost[tree.left[inner]] + cost[tree.right[inner]]) / tree.weight[inner]
        assert (losses <= limit + 1e-12).all()
        assert (tree.n_nodes == 1) == (after[0] > limit + 1e-12)
    assert tree.n_nodes == full.n_nodes


def test_one_level_against_the_others(rng):
    X, y = mixed(rng)
    model = DecisionTreeClassifier(categories="one_vs_rest", max_depth=4).fit(X[["town"]], y)
    tree, reach = model.tree_, {0: {0, 1, 2, 3}}
    for node in np.flatnonzero(tree.feature >= 0):
        left = set(tree.levels_left(node).tolist()) & reach[node]
        right = reach[node] - left
        alone = min(len(left), len(right))
        assert alone <= 1
        reach[tree.left[node]], reach[tree.right[node]] = left, right
    assert tree.n_nodes >= 7


def test_one_level_and_the_missing_rows_against_the_others():
    y = [1, 1, 1, 1, 0, 0, 0, 0]
    for own, other in (("a", "b"), ("b", "a")):  # the level is the first one, or not
        X = pd.DataFrame({"c": [own, own, None, None, other, other, "d", "d"]})
        model = DecisionTreeClassifier(categories="one_vs_rest", max_depth=1).fit(X, y)
        assert model.score(X, y) == 1.0


@pytest.mark.parametrize("name", ["DecisionTree", "RandomForest", "ExtraTrees"])
def test_classifiers_have_one_target(name):
    module = pellucid.tree if name == "DecisionTree" else pellucid.ensemble
    X, y = np.arange(20.0)[:, None], np.zeros((20, 2))
    with pytest.raises(DataError, match="1d array"):
        getattr(module, name + "Classifier")().fit(X, y)


def test_wrong_class_weights():
    X, y = [[0.0], [1.0]], ["a", "b"]
    with pytest.raises(ParameterError, match="'c'"):
        DecisionTreeClassifier(class_weight={"c": 1.0}).fit(X, y)
    with pytest.raises(ParameterError, match="class_weight"):
        DecisionTreeClassifier(class_weight={"a": -1.0}).fit(X, y)


def test_sparse_tables_become_dense_up_to_a_limit():
    from scipy.sparse import csr_matrix, random

    X = random(100, 30, 0.2, format="csr", random_state=0)
    y = np.asarray(X.sum(axis=1)).ravel() > 3
    dense = DecisionTreeClassifier().fit(X.toarray(), y)
    for table in (X, X.tocsc()):
        thin = DecisionTreeClassifier().fit(table, y)
        np.testing.assert_array_equal(thin.tree_.threshold, dense.tree_.threshold)
        np.testing.assert_array_equal(thin.apply(table), dense.apply(X.toarray()))
    wide = csr_matrix((2**14, 2**14))
    with pytest.raises(DataError, match=r"makes sparse X dense, up to .* \(2.0 GB\)"):
        DecisionTreeRegressor().fit(wide, np.arange(2**14))
    with pytest.raises(DataError, match="makes sparse X dense"):
        DecisionTreeClassifier().fit(np.eye(2, 2**14), [0, 1]).predict(wide)


def test_checks_cannot_be_skipped():
    model = DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(TypeError):
        model.predict([[0.0]], check_input=False)


@pytest.mark.usefixtures("no_garbage_collection")
def test_ctrl_c_ends_a_fit_soon_and_leaves_nothing(rng):
    import signal
    import threading
    import time

    X, y = rng.normal(size=(200_000, 10)), rng.integers(0, 3, 200_000)
    model = DecisionTreeClassifier(criterion="entropy")
    pressed: list[float] = []

    def press():
        pressed.append(time.process_time())
        signal.raise_signal(signal.SIGINT)

    timer = threading.Timer(0.15, press)
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        model.fit(X, y)
        timer.join()
    assert time.process_time() - pressed[0] < 1  # of work: a busy machine makes it no longer
    assert not hasattr(model, "tree_")


def test_methods_of_an_unfitted_tree_say_so():
    for method in ("apply", "decision_path"):
        with pytest.raises(NotFittedError):
            getattr(DecisionTreeClassifier(), method)([[1.0]])
