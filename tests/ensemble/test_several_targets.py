"""Forests and bagging of several targets."""

import numpy as np
import pandas as pd
import pytest

import pellucid
from pellucid.ensemble import (
    AdaBoostRegressor,
    BaggingRegressor,
    ExtraTreesRegressor,
    RandomForestRegressor,
)
from pellucid.errors import DataConversionWarning, DataError, ParameterError
from pellucid.linear_model import Ridge, SGDRegressor
from pellucid.tree import DecisionTreeRegressor

FORESTS = [RandomForestRegressor, ExtraTreesRegressor]


def table(rng, n=300):
    X = rng.normal(size=(n, 5))
    Y = np.stack([X[:, 0] + np.abs(X[:, 1]), X[:, 2] * X[:, 3]], axis=1)
    return X, Y + 0.1 * rng.normal(size=(n, 2)) + np.array([100.0, 0.0])


@pytest.mark.parametrize("cls", FORESTS)
@pytest.mark.parametrize("n", [60, 4000])  # trees in batches, and one by one
def test_mean_of_the_trees(cls, n, rng):
    X, Y = table(rng, n)
    model = cls(4, max_features=2, random_state=0).fit(X, Y)
    assert model.n_outputs_ == 2 and model.predict(X).shape == (n, 2)
    trees = model.estimators_
    assert all(tree.n_outputs_ == 2 for tree in trees)
    mean = np.mean([tree.predict(X) for tree in trees], axis=0)
    np.testing.assert_allclose(model.predict(X), mean, rtol=1e-12)
    assert model.score(X, Y) > 0.8
    other = cls(4, max_features=2, random_state=0, n_jobs=2).fit(X, Y)
    np.testing.assert_array_equal(other.predict(X), model.predict(X))


def test_equal_targets_are_one(rng):
    X, Y = table(rng)
    one = RandomForestRegressor(20, oob_score=True, random_state=0)
    two = RandomForestRegressor(20, oob_score=True, random_state=0)
    one.fit(X, Y[:, 0])
    two.fit(X, Y[:, [0, 0]])
    # The bags are drawn from rows in the order of their hash, which sees all targets.
    assert one.oob_score_ == pytest.approx(two.oob_score_, abs=0.1)
    assert two.predict(X).shape == (300, 2)
    np.testing.assert_array_equal(*two.predict(X).T)


def test_as_good_as_scikit_learn(rng):
    from sklearn.ensemble import RandomForestRegressor as Peer

    # Ties of small nodes go to the first columns here, to random ones there: a margin.
    X, Y = table(rng, 900)
    ours = RandomForestRegressor(40, random_state=0).fit(X[:600], Y[:600])
    peer = Peer(40, random_state=0).fit(X[:600], Y[:600])
    assert ours.score(X[600:], Y[600:]) == pytest.approx(peer.score(X[600:], Y[600:]), abs=0.06)


def test_rows_out_of_the_bags(rng):
    from sklearn.metrics import r2_score

    X, Y = table(rng)
    Y = np.c_[Y, np.full(300, 0.1)]  # right for all rows: R2 of scikit-learn is 1
    model = RandomForestRegressor(60, oob_score=True, oob_importances=True, random_state=0)
    model.fit(X, Y)
    assert model.oob_prediction_.shape == (300, 3)
    np.testing.assert_allclose(model.oob_prediction_[:, 2], 0.1, rtol=1e-12)
    exact = model.oob_prediction_.copy()
    exact[:, 2] = 0.1
    assert model.oob_score_ == pytest.approx(r2_score(Y, exact), abs=1e-12)
    assert model.oob_importances_[4] < 0.05 < model.oob_importances_[0]
    scored = RandomForestRegressor(
        60, oob_score=lambda y, said: (y - said).shape[1], random_state=0
    )
    assert scored.fit(X, Y).oob_score_ == 3.0


@pytest.mark.parametrize("cls", [*FORESTS, BaggingRegressor])
def test_weights_are_copies(cls, rng):
    X, Y = table(rng, 80)
    w = rng.integers(0, 4, 80)
    a = cls(n_estimators=5, random_state=0).fit(X, Y, w)
    b = cls(n_estimators=5, random_state=0).fit(X.repeat(w, axis=0), Y.repeat(w, axis=0))
    np.testing.assert_allclose(a.predict(X), b.predict(X), rtol=1e-12)


@pytest.mark.parametrize("cls", [*FORESTS, BaggingRegressor])
def test_explained_saved_and_warm(cls, rng, tmp_path):
    X, Y = table(rng, 120)
    frame = pd.DataFrame(X, columns=list("abcde")).assign(f=rng.choice(["u", "v", "w"], 120))
    model = cls(n_estimators=3, random_state=0, warm_start=True).fit(frame, Y)
    for method in ("path", "shap"):
        why = model.explain(frame, method=method)
        assert why.contributions.shape == (120, 6, 2)
        np.testing.assert_allclose(why.prediction, model.predict(frame), rtol=1e-12)
        assert why.is_additive(1e-10)
    model.save(tmp_path / "model.pellucid")
    again = pellucid.load(tmp_path / "model.pellucid")
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    whole = cls(n_estimators=5, random_state=0).fit(frame, Y)
    longer = model.set_params(n_estimators=5).fit(frame, Y)
    np.testing.assert_array_equal(longer.predict(frame), whole.predict(frame))
    with pytest.raises(DataError, match="have 2 targets, but y has 1"):
        model.set_params(n_estimators=7).fit(frame, Y[:, 0])


@pytest.mark.parametrize("cls", [*FORESTS, BaggingRegressor])
def test_a_table_of_one_target_is_one_target(cls, rng):
    X, Y = table(rng, 60)
    with pytest.warns(DataConversionWarning, match="column-vector"):
        column = cls(n_estimators=3, random_state=0).fit(X, Y[:, :1])
    one = cls(n_estimators=3, random_state=0).fit(X, Y[:, 0])
    np.testing.assert_array_equal(column.predict(X), one.predict(X))
    assert column.predict(X).shape == (60,)


@pytest.mark.parametrize("cls", FORESTS)
def test_what_several_targets_do_not_go_with(cls, rng):
    X, Y = table(rng, 30)
    with pytest.raises(ParameterError, match="takes one target, but y has 2"):
        cls(3, criterion="absolute_error").fit(X, np.abs(Y))
    with pytest.raises(ParameterError, match="multiple outputs"):
        cls(3, monotonic_cst=[1, 0, 0, 0, 0]).fit(X, Y)


def test_bagging_of_learners_that_take_several_targets(rng):
    from sklearn.linear_model import Ridge as Foreign

    X, Y = table(rng)
    trees = BaggingRegressor(n_estimators=20, random_state=2, oob_score=True).fit(X, Y)
    forest = RandomForestRegressor(20, max_features=None, random_state=2, oob_score=True).fit(X, Y)
    np.testing.assert_array_equal(trees.predict(X), forest.predict(X))
    np.testing.assert_array_equal(trees.oob_prediction_, forest.oob_prediction_)
    half = BaggingRegressor(n_estimators=6, max_features=3, random_state=2).fit(X, Y)
    assert half.explain(X).is_additive(1e-10)
    ours = BaggingRegressor(Ridge(), n_estimators=6, random_state=2).fit(X, Y)
    theirs = BaggingRegressor(Foreign(), n_estimators=6, random_state=2).fit(X, Y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-8, atol=1e-8)
    for cls, learner in ((BaggingRegressor, SGDRegressor()), (AdaBoostRegressor, None)):
        with pytest.raises(DataError, match="1d array"):
            cls(learner).fit(X, Y)


def test_learners_with_different_targets_are_refused(rng):
    X, Y = table(rng, 60)
    model = BaggingRegressor(n_estimators=2, random_state=0).fit(X, Y)
    model.estimators_[1] = DecisionTreeRegressor().fit(X, Y[:, 0])
    with pytest.raises(DataError, match="different targets"):
        model.predict(X)


def test_permutation_importance(rng):
    from sklearn.inspection import permutation_importance

    X, Y = table(rng)
    model = RandomForestRegressor(10, random_state=0).fit(X, Y)
    found = permutation_importance(model, X, Y, n_repeats=3, random_state=0)
    assert found.importances_mean[0] > 0.1 > found.importances_mean[4]
