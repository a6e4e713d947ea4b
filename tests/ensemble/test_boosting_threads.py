"""Trees of a round take turns at as many desks as there are threads: the same trees every time."""

import numpy as np
import pytest

from pellucid import parallel
from pellucid.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier
from pellucid.parallel import pool
from pellucid.tree import histogram_grower

MODELS = [
    HistGradientBoostingClassifier(max_iter=6, max_leaf_nodes=9, early_stopping=False),
    HistGradientBoostingClassifier(
        max_iter=6, max_leaf_nodes=None, max_features=0.5, random_state=0, early_stopping=False
    ),
    GradientBoostingClassifier(n_estimators=6, subsample=0.6, random_state=0),
]


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_more_classes_than_threads(model, rng, monkeypatch):
    X = np.round(rng.normal(size=(700, 6)), 2)
    X[rng.random(X.shape) < 0.03] = np.nan
    y = rng.integers(0, 5, 700) + (np.nan_to_num(X[:, 0]) > 0.5)
    found = []
    for threads in (1, 2, 3, 8):
        # Even a small table is shared out; 1: as it is.
        monkeypatch.setattr(histogram_grower, "WORTH_THREADS", 0 if threads > 1 else 2**60)
        parallel.set_threads(threads)
        try:
            found.append(model.fit(X, y).trees_)
        finally:
            parallel.set_threads(None)
    for other in found[1:]:
        for name in ("feature", "threshold", "value", "gain", "missing_left"):
            np.testing.assert_array_equal(getattr(found[0], name), getattr(other, name), name)


def test_few_rows_with_many_trees_are_shared_out(monkeypatch, rng):
    X = rng.normal(size=(450, 4))
    y = np.digitize(X[:, 0] + X[:, 1], [-0.5, 0.5])
    model = HistGradientBoostingClassifier(max_iter=100, max_leaf_nodes=4).fit(X, y)
    regions = []
    run = pool._run
    monkeypatch.setattr(pool, "_run", lambda *given: regions.append(given[2]) or run(*given))
    found = {}
    for threads in (1, 2):
        with parallel.using(threads):
            regions.clear()
            found[threads] = model.predict_proba(X)
            assert (2 in regions) == (threads == 2)
    assert np.array_equal(found[1], found[2])
