"""Boosting by scikit-learn's older names: the same trees where they should be, limits, drawing."""

import numpy as np
import pytest
from sklearn import ensemble as theirs

import pellucid
from pellucid.ensemble import GradientBoostingClassifier as Classifier
from pellucid.ensemble import GradientBoostingRegressor as Regressor
from pellucid.errors import ParameterError
from pellucid.tree import DecisionTreeRegressor


def table(seed=0, n=500):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 150, (n, 4)) / 50
    return X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n), rng


def test_squared_error_as_in_scikit_learn():
    X, y, _ = table()
    ours = Regressor(n_estimators=30).fit(X, y)
    reference = theirs.GradientBoostingRegressor(n_estimators=30, random_state=0).fit(X, y)
    assert np.allclose(ours.predict(X), reference.predict(X), atol=1e-8)
    assert np.allclose(2 * ours.train_score_, reference.train_score_, rtol=1e-8)
    assert np.allclose(ours.feature_importances_.argmax(), reference.feature_importances_.argmax())


def test_log_loss_is_no_worse_than_scikit_learns():
    X, y, rng = table(1, n=2000)
    labels = np.digitize(y + rng.normal(size=2000), [1, 3])
    ours = Classifier().fit(X[:1500], labels[:1500]).score(X[1500:], labels[1500:])
    reference = theirs.GradientBoostingClassifier(random_state=0).fit(X[:1500], labels[:1500])
    assert ours >= reference.score(X[1500:], labels[1500:]) - 0.03


def test_one_tree_is_a_regression_tree():
    X, y, _ = table(2)
    for limits in (
        {"min_impurity_decrease": 0.02, "max_depth": None},
        {"min_samples_leaf": 40, "max_depth": 6},
        {"min_samples_split": 0.3, "max_depth": 6},
        {"max_leaf_nodes": 7, "max_depth": None},
        {"min_weight_fraction_leaf": 0.1, "max_depth": 6},
    ):
        one = Regressor(n_estimators=1, learning_rate=1.0, **limits).fit(X, y)
        tree = DecisionTreeRegressor(**limits).fit(X, y)
        assert one.trees_.tree(0).n_leaves == tree.get_n_leaves()
        assert np.allclose(one.predict(X), tree.predict(X), atol=1e-10)


def test_share_of_the_weight_in_a_leaf():
    X, y, rng = table(3)
    weights = rng.random(500) + 0.1
    model = Regressor(n_estimators=5, min_weight_fraction_leaf=0.15).fit(X, y, weights)
    leaves = model.apply(X)[:, :, 0]
    for t in range(5):
        for leaf in np.unique(leaves[:, t]):
            assert weights[leaves[:, t] == leaf].sum() >= 0.1499 * weights.sum()
    with pytest.raises(ParameterError, match="min_samples_leaf"):
        Regressor(min_weight_fraction_leaf=0.1, min_samples_leaf=5).fit(X, y, weights)


def test_rows_and_columns_are_drawn():
    X, y, _ = table(4)
    settings = {"n_estimators": 10, "subsample": 0.5, "max_features": "sqrt"}
    one, same, other = (
        Regressor(**settings, random_state=seed).fit(X, y).predict(X) for seed in (0, 0, 1)
    )
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
    model = Regressor(**settings, random_state=0).fit(X, y)
    assert (model.trees_.n_samples[model.trees_.start[:-1]] == 250).all()
    assert model.max_features_ == 2
    assert not hasattr(model, "oob_improvement_")
    assert model.score(X, y) > 0.5


def test_trees_add_up():
    X, y, _ = table(5)
    model = Classifier(n_estimators=4).fit(X, np.digitize(y, [1, 3]))
    assert model.estimators_.shape == (4, 3)
    assert model.apply(X).shape == (500, 4, 3)
    sums = model.baseline_ + sum(
        np.column_stack([tree.predict(X) for tree in trees]) for trees in model.estimators_
    )
    assert np.allclose(sums, model.decision_function(X), atol=1e-12)


def test_early_stopping():
    X, y, rng = table(6)
    noisy = y + 3 * rng.normal(size=500)
    model = Regressor(n_estimators=300, n_iter_no_change=5, random_state=0).fit(X, noisy)
    assert model.n_estimators_ == model.n_iter_ < 300
    assert len(model.train_score_) == model.n_iter_
    assert "validation" in model.history_


def test_offset_and_saving(tmp_path):
    X, y, rng = table(7)
    shift = rng.normal(size=500)
    model = Regressor(n_estimators=10).fit(X, y + shift, offset=shift)
    assert np.allclose(model.predict(X), Regressor(n_estimators=10).fit(X, y).predict(X), atol=1e-9)
    model.save(tmp_path / "model.pellucid")
    assert np.array_equal(pellucid.load(tmp_path / "model.pellucid").predict(X), model.predict(X))


def test_what_is_left_out_is_named():
    X, y, _ = table(8)
    for name, value in (("ccp_alpha", 0.1), ("init", "zero"), ("loss", "huber")):
        with pytest.raises(ParameterError, match=name):
            Regressor(**{name: value}).fit(X, y)
    with pytest.raises(ParameterError, match="watching"):
        Regressor().fit(X, y, None, lambda *args: True)
    with pytest.raises(ParameterError, match="loss"):
        Classifier(loss="exponential").fit(X, y > 1)
