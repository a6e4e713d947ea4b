"""One tree for several targets: squared errors added up over the columns of y."""

import numpy as np
import pandas as pd
import pytest

import pellucid
from pellucid.errors import DataError, ParameterError
from pellucid.tree import DecisionTreeRegressor, export_rules, export_svg, export_text, prediction
from pellucid.tree.grower import grow
from pellucid.tree.nodes import Nodes
from pellucid.tree.presort import presort
from pellucid.tree.stopping import Limits
from tests.tree import naive


def table(rng, n=600):
    """Numbers in single precision, which the peer sees, and three targets in different places."""
    X = rng.normal(size=(n, 5)).astype(np.float32).astype(float)
    Y = np.stack([X[:, 0] ** 2 + X[:, 1], X[:, 2] * X[:, 3], X[:, 0] - X[:, 4]], axis=1)
    return X, Y + 0.1 * rng.normal(size=(n, 3)) + [50.0, 0.0, -1000.0]


def same_splits(a, b):
    for name in ("feature", "threshold", "left", "right", "missing_left", "set_start", "sets"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), err_msg=name)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("limits", [{}, {"max_leaf_nodes": 20}, {"min_impurity_decrease": 0.01}])
def test_equal_to_scikit_learn_node_by_node(weighted, limits, rng):
    from sklearn.tree import DecisionTreeRegressor as Peer

    X, Y = table(rng)
    w = rng.random(len(X)) + 0.1 if weighted else None
    ours = DecisionTreeRegressor(min_samples_leaf=8, **limits).fit(X, Y, w)
    peer = Peer(min_samples_leaf=8, **limits).fit(X, Y, w)
    assert ours.n_outputs_ == peer.n_outputs_ == 3
    assert ours.tree_.value.shape == peer.tree_.value.shape[:2]
    assert ours.tree_.n_nodes == peer.tree_.node_count > 20
    np.testing.assert_allclose(ours.predict(X), peer.predict(X), rtol=1e-12, atol=1e-10)
    np.testing.assert_allclose(ours.feature_importances_, peer.feature_importances_, atol=1e-9)
    assert ours.score(X, Y, w) == pytest.approx(peer.score(X, Y, w), abs=1e-12)
    np.testing.assert_allclose(
        np.sort(ours.tree_.impurity), np.sort(peer.tree_.impurity), atol=1e-7
    )
    if "max_leaf_nodes" not in limits:  # there the peer numbers nodes in the order of growing
        np.testing.assert_array_equal(ours.tree_.left, peer.tree_.children_left)
        inner = ours.tree_.feature >= 0
        np.testing.assert_array_equal(ours.tree_.feature[inner], peer.tree_.feature[inner])
        np.testing.assert_array_equal(ours.tree_.threshold[inner], peer.tree_.threshold[inner])
        np.testing.assert_array_equal(ours.apply(X), peer.apply(X))
        np.testing.assert_array_equal(
            ours.decision_path(X).toarray(), peer.decision_path(X).toarray()
        )


def test_pruning_path_of_scikit_learn(rng):
    from sklearn.tree import DecisionTreeRegressor as Peer

    X, Y = table(rng, 300)
    ours = DecisionTreeRegressor(min_samples_leaf=8).cost_complexity_pruning_path(X, Y)
    peer = Peer(min_samples_leaf=8).cost_complexity_pruning_path(X, Y)
    np.testing.assert_allclose(ours["ccp_alphas"], peer["ccp_alphas"], atol=1e-9)
    np.testing.assert_allclose(ours["impurities"], peer["impurities"], atol=1e-7)
    alpha = float(np.median(ours["ccp_alphas"]))
    pruned = DecisionTreeRegressor(min_samples_leaf=8, ccp_alpha=alpha * (1 + 1e-6)).fit(X, Y)
    theirs = Peer(min_samples_leaf=8, ccp_alpha=alpha * (1 + 1e-6)).fit(X, Y)
    assert pruned.get_n_leaves() == theirs.get_n_leaves() > 1
    np.testing.assert_allclose(pruned.predict(X), theirs.predict(X), rtol=1e-12, atol=1e-10)


def test_limits_and_folds_of_equal_targets(rng):
    X = rng.normal(size=(200, 3))
    y = X[:, 0] + (X[:, 1] > 0) + 0.3 * rng.normal(size=200)
    for settings in (
        {"ccp_alpha": "cv"},
        {"max_split_loss": 1.0, "max_depth": 3},
        {"min_impurity_decrease": 0.02},
    ):
        one = DecisionTreeRegressor(**settings).fit(X, y)
        two = DecisionTreeRegressor(**settings).fit(X, np.stack([y, y], axis=1))
        assert 1 < one.get_n_leaves() < 100
        same_splits(one.tree_, two.tree_)
        if "ccp_alpha" in settings:
            np.testing.assert_allclose(two.cv_path_["loss"], one.cv_path_["loss"], rtol=1e-9)


@pytest.mark.parametrize("splitter", ["best", "random", "hist"])
def test_equal_targets_are_one(splitter, rng):
    X = rng.normal(size=(700, 4))
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 3] = rng.integers(0, 5, 700)
    frame = pd.DataFrame(X, columns=list("abcd")).astype({"d": "str"})
    y = np.nan_to_num(X[:, 0]) ** 2 + (X[:, 3] == 2) + rng.normal(size=700)
    settings = {"splitter": splitter, "min_samples_leaf": 5, "random_state": 1}
    one = DecisionTreeRegressor(**settings).fit(frame, y)
    three = DecisionTreeRegressor(**settings).fit(frame, np.stack([y] * 3, axis=1))
    assert one.get_n_leaves() > 30
    same_splits(one.tree_, three.tree_)
    np.testing.assert_allclose(three.tree_.value, one.tree_.value.repeat(3, axis=1), rtol=1e-11)
    np.testing.assert_allclose(three.tree_.impurity, one.tree_.impurity, rtol=1e-9)
    np.testing.assert_allclose(three.tree_.decrease, one.tree_.decrease, rtol=1e-8, atol=1e-14)


def test_the_order_of_targets_does_not_matter(rng):
    X, Y = table(rng)
    a = DecisionTreeRegressor(min_samples_leaf=5).fit(X, Y)
    b = DecisionTreeRegressor(min_samples_leaf=5).fit(X, Y[:, [2, 0, 1]])
    same_splits(a.tree_, b.tree_)
    np.testing.assert_allclose(b.predict(X), a.predict(X)[:, [2, 0, 1]], rtol=1e-12)


def test_targets_far_from_zero_keep_their_digits(rng):
    """Costs are taken about the means of the node: offsets change no split."""
    X = rng.normal(size=(300, 3))
    Y = np.stack([X[:, 0] + X[:, 1], np.abs(X[:, 2])], axis=1) + rng.normal(size=(300, 2)) / 8
    Y = np.round(Y * 2**20) / 2**20  # so that adding an offset is exact
    a = DecisionTreeRegressor(min_samples_leaf=3).fit(X, Y)
    b = DecisionTreeRegressor(min_samples_leaf=3).fit(X, Y + np.array([2.0**28, -(2.0**30)]))
    same_splits(a.tree_, b.tree_)
    np.testing.assert_allclose(a.tree_.impurity, b.tree_.impurity, rtol=1e-9)


def test_what_does_not_vary_is_said_to_the_last_bit(rng):
    X = rng.normal(size=(100, 2))
    Y = np.stack([X[:, 0] + rng.normal(size=100), np.full(100, 0.1)], axis=1)
    model = DecisionTreeRegressor().fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), Y)
    shallow = DecisionTreeRegressor(max_depth=2).fit(X, Y)
    assert (shallow.predict(X)[:, 1] == 0.1).all()
    still = DecisionTreeRegressor().fit(X, np.full((100, 2), 0.1))
    assert still.get_n_leaves() == 1 and (still.predict(X) == 0.1).all()


@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
def test_extreme_units(scale, rng):
    X, Y = table(rng, 200)
    plain = DecisionTreeRegressor(max_depth=4).fit(X, Y)
    scaled = DecisionTreeRegressor(max_depth=4).fit(X, Y * scale)
    same_splits(plain.tree_, scaled.tree_)
    np.testing.assert_allclose(scaled.predict(X) / scale, plain.predict(X), rtol=1e-11)
    with pytest.raises(DataError, match="Target 1 of y is smaller"):
        DecisionTreeRegressor().fit(X, Y * [1e300, 1e-20, 0.0])
    still = DecisionTreeRegressor(max_depth=4).fit(X, Y * [scale, scale, 0.0])
    assert still.get_n_leaves() > 4 and not still.predict(X)[:, 2].any()


def test_many_levels_are_ordered_by_their_first_principal_component(rng):
    n_levels = 40
    X = np.asfortranarray(np.arange(n_levels, dtype=float).repeat(5)[:, None])
    Y = rng.normal(size=(n_levels, 2))[X[:, 0].astype(int)] @ [[3.0, 6.0], [-4.0, 2.0]]
    Y += 0.01 * rng.normal(size=Y.shape)
    tree = presort(X, np.ones(1, np.uint8), np.array([n_levels], np.int32))
    nodes = grow(tree, Y, None, "squared_error", Limits(max_depth=1))
    code = X[:, 0].astype(int)
    sums = np.stack([np.bincount(code, column) for column in Y.T], axis=1)
    squares = np.bincount(code, (Y**2).sum(axis=1))
    facts = np.c_[sums, squares, np.full(n_levels, 5.0)]

    def cost(total):
        return total[2] - (total[:2] ** 2).sum() / total[3]

    centred = sums / 5.0 - sums.mean(axis=0) / 5.0
    axis = np.linalg.eigh(centred.T @ centred)[1][:, -1]
    order = np.argsort(centred @ axis)
    best = min(
        cost(facts[order[:k]].sum(axis=0)) + cost(facts[order[k:]].sum(axis=0))
        for k in range(1, n_levels)
    )
    left = np.isin(code, nodes.levels_left(0))
    found = 2 * (naive.cost("squared_error", Y[left], np.ones(left.sum()), 0))
    found += 2 * (naive.cost("squared_error", Y[~left], np.ones((~left).sum()), 0))
    assert found == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("categories", ["one_vs_rest", "apart"])
def test_rules_for_levels(categories, rng):
    code = rng.integers(0, 5, 300)
    means = np.array([[0.0, 9.0], [0.0, 0.0], [5.0, 0.0], [5.0, 9.0], [2.0, 4.0]])
    Y = means[code] + 0.01 * rng.normal(size=(300, 2))
    noise = np.array(list("xyz"))[rng.integers(0, 3, 300)]
    frame = pd.DataFrame({"noise": noise, "level": np.array(list("abcde"))[code]})
    model = DecisionTreeRegressor(categories=categories, min_impurity_decrease=0.01).fit(frame, Y)
    assert model.get_n_leaves() == 5 and model.tree_.feature[0] == 1
    np.testing.assert_allclose(model.predict(frame), means[code], atol=0.02)


@pytest.mark.parametrize("settings", [{}, {"splitter": "random", "random_state": 0}])
def test_weights_are_copies(settings, rng):
    X, Y = table(rng, 150)
    X[rng.random(X.shape) < 0.1] = np.nan
    w = rng.integers(0, 4, 150)
    settings = settings | {"min_samples_leaf": 4}
    a = DecisionTreeRegressor(**settings).fit(X, Y, w)
    b = DecisionTreeRegressor(**settings).fit(X.repeat(w, axis=0), Y.repeat(w, axis=0))
    same_splits(a.tree_, b.tree_)
    np.testing.assert_allclose(a.predict(X), b.predict(X), rtol=1e-12)


def test_containers_of_targets(rng, tmp_path):
    import polars as pl
    import pyarrow as pa

    X, Y = table(rng, 100)
    names = ["u", "v", "w"]
    plain = DecisionTreeRegressor(max_depth=3).fit(X, Y).predict(X)
    frame = pd.DataFrame(Y, columns=names)
    tables = (np.asfortranarray(Y), Y.tolist(), frame, pl.DataFrame(Y, names), pa.table(frame))
    for given in tables:
        model = DecisionTreeRegressor(max_depth=3).fit(X, given)
        np.testing.assert_array_equal(model.predict(X), plain)
    columns = pd.DataFrame(X, columns=list("abcde"))
    pd.concat([columns, frame], axis=1).to_parquet(tmp_path / "all.parquet")
    model = DecisionTreeRegressor(max_depth=3).fit(tmp_path / "all.parquet", names)
    np.testing.assert_array_equal(model.predict(columns), plain)


def test_one_row_at_a_time(rng):
    X, Y = table(rng, 100)
    model = DecisionTreeRegressor(max_depth=4).fit(X, Y)
    quick = pellucid.compile(model)
    np.testing.assert_array_equal(quick.predict(X[7]), model.predict(X[7:8])[0])


def test_a_table_of_one_target_is_one_target(rng):
    X, Y = table(rng, 100)
    one = DecisionTreeRegressor().fit(X, Y[:, 0])
    column = DecisionTreeRegressor().fit(X, Y[:, :1])
    assert column.n_outputs_ == 1
    np.testing.assert_array_equal(column.predict(X), one.predict(X))
    with pytest.raises(DataError, match="no column"):
        DecisionTreeRegressor().fit(X, Y[:, :0])


def test_counts_as_scikit_learn_divides_them(rng):
    from sklearn.tree import DecisionTreeRegressor as Peer

    X, _ = table(rng, 900)
    rates = np.exp(np.stack([X[:, 0], 0.5 * X[:, 1] - X[:, 2]], axis=1) + 1.0)
    Y = rng.poisson(rates).astype(float)
    ours = DecisionTreeRegressor(criterion="poisson", min_samples_leaf=15).fit(X, Y)
    peer = Peer(criterion="poisson", min_samples_leaf=15).fit(X, Y)
    assert ours.tree_.n_nodes > 40
    np.testing.assert_array_equal(ours.tree_.left, peer.tree_.children_left)
    inner = ours.tree_.feature >= 0
    np.testing.assert_array_equal(ours.tree_.feature[inner], peer.tree_.feature[inner])
    np.testing.assert_allclose(ours.tree_.impurity, peer.tree_.impurity, rtol=1e-9)
    np.testing.assert_allclose(ours.predict(X), peer.predict(X), rtol=1e-11)


@pytest.mark.parametrize("criterion", ["poisson", "gamma"])
@pytest.mark.parametrize("splitter", ["best", "random", "hist"])
def test_deviances_of_equal_targets_are_one(criterion, splitter, rng):
    X = rng.normal(size=(700, 4))
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 3] = rng.integers(0, 12, 700)
    frame = pd.DataFrame(X, columns=list("abcd")).astype({"d": "str"})
    y = np.exp(np.nan_to_num(X[:, 0]) + (X[:, 3] == 2) + 0.3 * rng.normal(size=700))
    w = rng.integers(1, 4, 700)
    settings = {"criterion": criterion, "splitter": splitter, "min_samples_leaf": 5}
    one = DecisionTreeRegressor(**settings, random_state=1).fit(frame, y, w)
    for scale in (1.0, 2.0**-900, 2.0**900):
        two = DecisionTreeRegressor(**settings, random_state=1)
        two.fit(frame, np.stack([y, y], axis=1) * scale, w)
        assert one.get_n_leaves() > 30
        same_splits(one.tree_, two.tree_)
        expected = one.tree_.value.repeat(2, axis=1) * scale
        np.testing.assert_allclose(two.tree_.value, expected, rtol=1e-11)
        np.testing.assert_allclose(two.tree_.decrease, one.tree_.decrease, rtol=1e-7, atol=1e-14)
    half = DecisionTreeRegressor(**settings, random_state=1)
    half.fit(frame, np.stack([y, np.full(700, 2.0)], axis=1), w)
    same_splits(one.tree_, half.tree_)  # what does not vary costs nothing
    np.testing.assert_allclose(half.tree_.impurity, one.tree_.impurity / 2, rtol=1e-7)


def test_targets_that_deviances_do_not_take(rng):
    X, Y = rng.normal(size=(20, 2)), np.ones((20, 2))
    Y[3, 1] = 0.0
    with pytest.raises(DataError, match="row 3"):
        DecisionTreeRegressor(criterion="gamma").fit(X, Y)
    Y[4, 0] = -1.0
    with pytest.raises(DataError, match="negative"):
        DecisionTreeRegressor(criterion="poisson").fit(X, Y)
    none = np.c_[np.arange(20.0), np.zeros(20)]  # a target that is always 0 is no reason to stop
    model = DecisionTreeRegressor(criterion="poisson").fit(X, none)
    assert model.get_n_leaves() > 5 and not model.predict(X)[:, 1].any()


def test_deviances_pruned_by_folds(rng):
    X = rng.normal(size=(300, 2))
    Y = rng.poisson(np.exp(1 + (X[:, :1] > 0) * [1.0, -0.5])).astype(float)
    model = DecisionTreeRegressor(criterion="poisson", ccp_alpha="cv").fit(X, Y)
    assert model.get_n_leaves() == 2 and model.tree_.feature[0] == 0
    rare = np.zeros((40, 2))
    rare[0] = 1.0  # outside of its fold nothing happened
    alone = DecisionTreeRegressor(criterion="poisson", ccp_alpha="cv").fit(X[:40], rare)
    assert alone.get_n_leaves() == 1


@pytest.mark.parametrize("categories", ["one_vs_rest", "apart"])
def test_deviances_of_levels(categories, rng):
    code = rng.integers(0, 5, 300)
    means = np.array([[1.0, 9.0], [1.0, 1.0], [5.0, 1.0], [5.0, 9.0], [2.0, 4.0]])
    noise = np.array(list("xyz"))[rng.integers(0, 3, 300)]
    frame = pd.DataFrame({"noise": noise, "level": np.array(list("abcde"))[code]})
    Y = means[code] * np.exp(0.01 * rng.normal(size=(300, 2)))
    for criterion in ("poisson", "gamma"):
        model = DecisionTreeRegressor(
            criterion=criterion, categories=categories, min_impurity_decrease=0.003
        ).fit(frame, Y)
        assert model.get_n_leaves() == 5 and model.tree_.feature[0] == 1
        np.testing.assert_allclose(model.predict(frame), means[code], rtol=0.02)


def test_absolute_errors_take_one_target(rng):
    X, Y = table(rng, 30)
    with pytest.raises(ParameterError, match="Use one of 'squared_error', 'poisson', 'gamma'"):
        DecisionTreeRegressor(criterion="absolute_error").fit(X, Y)


def test_no_constraints_on_several_targets(rng):
    X, Y = table(rng, 30)
    with pytest.raises(ParameterError, match="not supported with multiple outputs"):
        DecisionTreeRegressor(monotonic_cst=[1, 0, 0, 0, 0]).fit(X, Y)


def test_pruning_by_folds_and_by_unseen_rows(rng):
    X = rng.normal(size=(400, 3))
    part = (X[:, 0] > 0).astype(float)  # targets that add up to 1: their sum says nothing
    Y = np.stack([part, 1 - part], axis=1) + 0.1 * rng.normal(size=(400, 1)) * [1, -1]
    chosen = DecisionTreeRegressor(ccp_alpha="cv").fit(X, Y)
    assert chosen.get_n_leaves() == 2 and chosen.cv_path_["loss"].min() < 0.02
    again = DecisionTreeRegressor(ccp_alpha="cv").fit(X[::-1], Y[::-1])
    assert again.ccp_alpha_ == chosen.ccp_alpha_
    full = DecisionTreeRegressor().fit(X[:200], Y[:200])
    before = ((full.predict(X[200:]) - Y[200:]) ** 2).mean()
    leaves = full.get_n_leaves()
    full.prune(X[200:], Y[200:])
    assert full.get_n_leaves() < leaves
    assert ((full.predict(X[200:]) - Y[200:]) ** 2).mean() < before
    with pytest.raises(DataError, match="1 targets, but this tree was fitted on 2"):
        full.prune(X[200:], Y[200:, 0])
    full.prune(node=0)
    np.testing.assert_allclose(full.predict(X), np.tile(Y[:200].mean(axis=0), (400, 1)))


def test_explanations_add_up_for_every_target(rng):
    X, Y = table(rng, 200)
    for targets in (2, 3):  # two targets are no two classes
        model = DecisionTreeRegressor(max_depth=6).fit(X, Y[:, :targets])
        for method in ("path", "shap"):
            why = model.explain(X, method=method)
            assert why.contributions.shape == (200, 5, targets)
            np.testing.assert_array_equal(why.prediction, model.predict(X))
            assert why.is_additive(1e-12)


def test_texts_and_pictures_show_all_targets():
    X, Y = [[0.0], [0.0], [1.0], [1.0]], [[1.0, 20.0], [1.0, 20.0], [3.5, -4.0], [3.5, -4.0]]
    model = DecisionTreeRegressor().fit(X, Y)
    text = export_text(model, feature_names=["x"])
    assert text == (
        "|--- x <= 0.50\n|   |--- value: [1.00, 20.00]\n"
        "|--- x >  0.50\n|   |--- value: [3.50, -4.00]\n"
    )
    assert export_rules(model)[0].endswith("then value: [1.00, 20.00] (2 samples)")
    assert "3.50, -4.00" in export_svg(model)
    close = DecisionTreeRegressor().fit([[0.0], [1.0]], [[1.0, 2.0002], [1.0, 2.0003]])
    assert "2.0002]" in export_text(close) and "2.0003]" in export_text(close)


def test_saved_and_loaded(rng, tmp_path):
    X, Y = table(rng, 100)
    model = DecisionTreeRegressor(max_depth=4).fit(X, Y)
    model.save(tmp_path / "tree.pellucid")
    again = pellucid.load(tmp_path / "tree.pellucid")
    assert again.n_outputs_ == 3
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    again.n_outputs_ = 2
    with pytest.raises(DataError, match="targets"):
        again._check_state()


def test_threads_and_ways_of_growing_change_nothing(rng, monkeypatch):
    """Lists, members with places and bins; trunk and branches."""
    from pellucid.tree import grower

    monkeypatch.setattr(grower, "BRANCH_ROWS", 300)
    X = np.asfortranarray(rng.integers(0, 200, size=(2000, 6)) / 8.0)
    X[rng.random(2000) < 0.02, 4] = np.nan
    Y = X[:, :2] * rng.random((2000, 2))
    kinds, levels = np.zeros(6, np.uint8), np.zeros(6, np.int32)
    for limits in (Limits(min_samples_leaf=3), Limits(max_features=1), Limits(drawn_splits=True)):
        grown = [
            grow(presort(X, kinds, levels), Y, None, "squared_error", limits, key=3, n_jobs=jobs)
            for jobs in (1, 2)
        ]
        for name in Nodes.__dataclass_fields__:
            np.testing.assert_array_equal(getattr(grown[0], name), getattr(grown[1], name))
    limits = Limits(min_samples_leaf=3, max_features=5)
    w = rng.integers(1, 4, 2000).astype(float)
    lists = grow(presort(X, kinds, levels), Y, w, "squared_error", limits, key=3)
    with_places = presort(X, kinds, levels).placed()
    members = np.arange(2000, dtype=np.int32)
    monkeypatch.setattr(
        grower, "_rows", lambda *_: (with_places.order, with_places.places, members)
    )
    placed = grow(with_places, Y, w, "squared_error", limits, key=3)
    same_splits(lists, placed)
    assert lists.n_nodes > 300
    np.testing.assert_array_equal(prediction.apply(lists, X), prediction.apply(placed, X))
