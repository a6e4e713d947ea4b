"""Small forests grow in chunks: each tree is the one that its bag and key give alone."""

import numpy as np
import pandas as pd
import pytest

from pellucid import parallel
from pellucid.data import prepare
from pellucid.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from pellucid.ensemble.bootstrap_samples import Sampler, keys_of
from pellucid.tree._presort import draw_counts
from pellucid.tree.fit_tree import grow_tree

SETTINGS = [
    {},
    {"max_features": None, "min_samples_leaf": 3},
    {"max_features": 1, "max_depth": 4},  # few columns: places instead of lists
    {"criterion": "entropy", "min_weight_fraction_leaf": 0.02},
    {"max_samples": 0.3, "min_impurity_decrease": 0.01},
    {"bootstrap": False},
]


def mixed(rng, n=250, d=8):
    X = pd.DataFrame(rng.normal(size=(n, d)).round(1), columns=[f"x{j}" for j in range(d)])
    X["town"] = rng.choice(["Ulm", "Bonn", "Jena", "Celle"], n)
    X.loc[rng.random(n) < 0.1, "x1"] = np.nan
    y = (X["x0"] + (X["town"] == "Ulm") > 0.3).astype(int) + (X["x2"] > 1)
    return X, y.to_numpy()


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("Model", [RandomForestClassifier, ExtraTreesClassifier])
@pytest.mark.parametrize("weighted", [False, True])
def test_trees_of_classes_are_those_that_grow_alone(Model, settings, weighted, rng):
    X, y = mixed(rng)
    w = rng.integers(0, 4, len(y)).astype(float) if weighted else None
    if Model is ExtraTreesClassifier:
        settings = {"bootstrap": "max_samples" in settings} | settings
    model = Model(5, random_state=3, **settings).fit(X, y, w)
    problem = prepare(X, y, w, None, None, model._input_spec())[0]
    sampler = Sampler(problem, model.max_samples, 1.0, model.bootstrap, False)
    keys = keys_of(parallel.seed_sequence(3), 0, 5).tolist()
    for key, tree in zip(keys, model.trees_, strict=True):
        alone = grow_tree(model._spec(), problem.reweight(sampler.weights(key)), key=key)
        for name in vars(alone):
            np.testing.assert_array_equal(getattr(tree, name), getattr(alone, name), err_msg=name)
        assert type(tree)(**vars(tree)).n_nodes == tree.n_nodes  # the checks of files hold


@pytest.mark.parametrize("Model", [RandomForestRegressor, ExtraTreesRegressor])
@pytest.mark.parametrize("monotonic_cst", [None, [1] + [0] * 8])
def test_trees_of_numbers_are_those_that_grow_alone(Model, monotonic_cst, rng):
    X, _ = mixed(rng)
    y = 1e6 + X["x0"] ** 2 + 3 * (X["town"] == "Jena") + 0.1 * rng.normal(size=len(X))
    model = Model(5, random_state=3, monotonic_cst=monotonic_cst, max_depth=4).fit(X, y)
    problem = prepare(X, y, None, None, None, model._input_spec())[0]
    sampler = Sampler(problem, None, 1.0, model.bootstrap, False)
    for key, tree in zip(keys_of(parallel.seed_sequence(3), 0, 5), model.trees_, strict=True):
        alone = grow_tree(model._spec(), problem.reweight(sampler.weights(int(key))), key=int(key))
        np.testing.assert_array_equal(tree.feature, alone.feature)
        np.testing.assert_array_equal(tree.threshold, alone.threshold)
        np.testing.assert_allclose(tree.value, alone.value, rtol=1e-14)
        np.testing.assert_allclose(tree.impurity, alone.impurity, rtol=1e-9, atol=1e-9)


def test_chunks_change_nothing(monkeypatch, rng):
    X, y = mixed(rng)
    whole = RandomForestClassifier(30, random_state=0).fit(X, y)
    monkeypatch.setattr("pellucid.tree.batch_grower.CELLS", 3 * len(y))
    parts = RandomForestClassifier(30, random_state=0).fit(X, y)
    monkeypatch.setattr("pellucid.tree.batch_grower.can_batch", lambda *given: False)
    singly = RandomForestClassifier(30, random_state=0).fit(X, y)
    assert np.array_equal(whole.predict_proba(X), parts.predict_proba(X))
    assert np.array_equal(whole.predict_proba(X), singly.predict_proba(X))


def test_a_warm_start_adds_the_trees_that_a_cold_one_has(rng):
    X, y = mixed(rng)
    cold = RandomForestClassifier(9, random_state=5).fit(X, y)
    warm = RandomForestClassifier(4, random_state=5, warm_start=True).fit(X, y)
    warm.set_params(n_estimators=9).fit(X, y)
    assert np.array_equal(cold.predict_proba(X), warm.predict_proba(X))


def test_rows_are_drawn_evenly_and_apart():
    n, keys = 37, keys_of(parallel.seed_sequence(0), 0, 4000)
    counts = np.empty((len(keys), n))
    for key, row in zip(keys.tolist(), counts, strict=True):
        draw_counts(key, n, row)
    assert (counts.sum(axis=1) == n).all()
    p = 1 / n
    spread = np.sqrt(n * p * (1 - p) / len(keys))
    assert np.abs(counts.mean(axis=0) - 1).max() < 4 * spread
    assert counts.var() == pytest.approx(1 - p, abs=0.02)  # binomial
    assert (counts == 0).mean() == pytest.approx((1 - p) ** n, abs=0.005)
    between = np.corrcoef(counts[:-1].ravel(), counts[1:].ravel())[0, 1]
    assert abs(between) < 4 / np.sqrt(counts.size)
