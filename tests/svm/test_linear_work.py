"""How much work the linear machines do: counted, so that it does not depend on the clock."""

import numpy as np
from scipy.sparse import csr_array

from pellucid.svm import LinearSVR, linear_dual


def test_many_free_multipliers_are_left_to_the_way_from_inside(monkeypatch):
    """Thousands of rows at few columns: each round would hold one multiplier of thousands."""
    calls = []
    solve = linear_dual.towards
    monkeypatch.setattr(linear_dual, "towards", lambda *a: calls.append(1) or solve(*a))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 10))
    y = 500 * (X @ rng.normal(size=10) + rng.standard_t(3, size=3000))
    model = LinearSVR(C=50.0, epsilon=50.0, standardize=True).fit(X, y)
    assert model.status_.code == "converged" and model.history_["duality_gap"][-1] < 1e-6
    assert len(calls) < 200


def test_epochs_that_stall_end_early():
    """Levels with a few rows each: epochs hardly move, and the way from inside takes 20 steps."""
    rng = np.random.default_rng(0)
    X = csr_array(np.eye(150)[rng.integers(0, 150, 1200)] + np.eye(150)[rng.integers(0, 150, 1200)])
    y = 1e4 * (X @ rng.normal(size=150) + rng.standard_t(3, size=1200))
    model = LinearSVR(C=1e6, epsilon=1e3, tol=10.0).fit(X, y)
    assert model.status_.code == "converged" and model.n_iter_ < 300
