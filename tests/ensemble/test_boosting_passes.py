"""Trees that grow in passes over all rows are those that grow from lists of rows, to the last bit."""

from dataclasses import fields

import numpy as np
import pandas as pd
import pytest

from pellucid import parallel
from pellucid.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor
from pellucid.ensemble import HistGradientBoostingClassifier as Classifier
from pellucid.tree import histogram_grower

N = 9_000  # more than one block of rows, in more than one part
Regressor = HistGradientBoostingRegressor
MODELS = {
    "two classes": (Classifier(max_iter=4), "two", None),
    "classes": (Classifier(max_iter=3, max_leaf_nodes=7), "three", None),
    "counts": (Regressor(max_iter=4, loss="poisson"), "count", "whole"),
    "weights": (Regressor(max_iter=4), "number", "real"),
    "medians": (Regressor(max_iter=3, loss="absolute_error"), "number", None),
    "drawn": (Regressor(max_iter=4, subsample=0.5, max_features=0.5), "number", "whole"),
    "drawn quantiles": (Regressor(max_iter=3, loss="quantile", quantile=0.9, subsample=0.5), "number",
                        None),
    "all leaves": (Regressor(max_iter=2, max_leaf_nodes=None, min_samples_leaf=2), "number", None),
    "depth": (Regressor(max_iter=3, max_leaf_nodes=99, max_depth=4), "number", None),
    "monotone": (Regressor(max_iter=4, monotonic_cst={"a": 1, "b": -1}), "number", None),
    "stumps": (Regressor(max_iter=4, max_leaf_nodes=2), "number", None),
    "pairs": (Regressor(max_iter=4, interaction_cst="pairwise"), "number", None),
    "pruned": (GradientBoostingRegressor(n_estimators=4, ccp_alpha=0.01), "number", None),
    "variance": (GradientBoostingRegressor(n_estimators=4, max_leaf_nodes=9), "number", "real"),
}  # fmt: skip


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(N, 4))
    X[rng.random(X.shape) < 0.05] = np.nan
    level = rng.choice(list("abcdefgh"), N)
    score = np.nan_to_num(X) @ [1.0, -1.0, 0.5, 0.2] + 2 * (level == "c")
    targets = {
        "two": score + rng.logistic(size=N) > 0, "three": np.digitize(score, [-1, 1]),
        "number": score + rng.normal(size=N), "count": rng.poisson(np.exp(score.clip(-3, 3) / 3)),
    }  # fmt: skip
    weights = {None: None, "whole": rng.integers(1, 4, N), "real": rng.random(N) + 0.1}
    frame = pd.DataFrame(X, columns=list("abcd")).assign(level=pd.Categorical(level))
    return frame, targets, weights


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", MODELS)
def test_passes_grow_the_same_trees(name, threads, table, monkeypatch):
    frame, targets, weights = table
    model, target, weight = MODELS[name]
    model.set_params(random_state=0)
    given = (frame, targets[target], weights[weight])
    expected = model.fit(*given).trees_
    monkeypatch.setattr(histogram_grower, "is_limited", lambda: True)
    monkeypatch.setattr(histogram_grower, "PASS_ROWS", 2_000)
    monkeypatch.setattr(histogram_grower, "WORTH_THREADS", 0)
    parallel.set_threads(threads)
    try:
        found = model.fit(*given).trees_
    finally:
        parallel.set_threads(None)
    assert found.n_trees == expected.n_trees > 0 and len(found.feature) >= 3 * found.n_trees
    for field in fields(found):
        np.testing.assert_array_equal(
            getattr(found, field.name), getattr(expected, field.name), field.name
        )
