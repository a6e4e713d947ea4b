"""The dual of squared errors: Newton's optimum, and the compiled passes against plain Python."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from pellucid.svm import _box_dual, primal, squared_dual


@pytest.mark.parametrize("epsilon", [np.nan, 0.3])
@pytest.mark.parametrize("sparse", [False, True])
def test_many_columns_are_solved_by_the_dual(epsilon, sparse, monkeypatch):
    """The same optimum as Newton's method, by descent alone, and by Newton's method after it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 1600)) * (rng.random((60, 1600)) < 0.05)
    t = np.sign(rng.normal(size=60)) if np.isnan(epsilon) else rng.normal(size=60)
    costs = rng.uniform(0.01, 0.1, 60)
    costs[:3] = 0.0
    table = csr_array(X) if sparse else X
    problem = primal.LinearProblem(table, t, costs, 0.7, epsilon)
    exact = primal.ridge_squared(problem, 100, "exact").x
    found = squared_dual.ridge_squared(problem, 1e-12, 1000, "test")
    np.testing.assert_allclose(found.x, exact, atol=1e-10 * np.abs(exact).max())
    assert found.status.code == "converged" and found.history["duality_gap"][-1] < 1e-12
    monkeypatch.setattr(squared_dual, "EPOCHS", 2)
    monkeypatch.setattr(squared_dual, "BATCH", 2)
    after = squared_dual.ridge_squared(problem, 1e-12, 1000, "test")
    np.testing.assert_allclose(after.x, exact, atol=1e-9 * np.abs(exact).max())


def test_squared_epochs_follow_the_plain_loop():
    """One multiplier at a time to the minimum of its parabola, in the order of the compiled loop."""
    rng = np.random.default_rng(1)
    X, t, bias, epsilon = rng.normal(size=(20, 4)), rng.normal(size=20), 0.5, 0.2
    Z, soft = np.column_stack([X, np.full(20, bias)]), rng.uniform(0.5, 2, 20)
    curves = (Z**2).sum(axis=1) + soft
    low, high = np.where(t > 1, 0.0, -np.inf), np.where(t < -1, 0.0, np.inf)
    beta, v, order = np.zeros(20), np.zeros(5), np.arange(20)
    seed, progress = np.array([7], dtype=np.uint64), np.array([20, np.inf, 0.0, 0.0])
    expected = np.zeros(20)
    for _ in range(3):
        progress[:3] = 20, np.inf, 0.0  # all rows take part
        _box_dual.epochs(
            X.reshape(-1), np.zeros(0, dtype=np.int32), np.arange(21) * 4, True, t, epsilon, low,
            high, soft, curves, bias, order, seed, progress, 1, 0.0, beta, v,
            np.zeros(1, dtype=np.int32),
        )  # fmt: skip
        for i in order:
            rest = Z[i] @ (Z.T @ expected) + soft[i] * expected[i] - curves[i] * expected[i] - t[i]
            best = -np.sign(rest) * max(abs(rest) - epsilon, 0.0) / curves[i]
            expected[i] = np.clip(best, low[i], high[i])
    np.testing.assert_allclose(beta, expected, atol=1e-14)
    np.testing.assert_allclose(v, Z.T @ beta, atol=1e-13)


@pytest.mark.parametrize("epsilon", [np.nan, 0.3])
@pytest.mark.parametrize("sparse", [False, True])
def test_conjugate_gradients_find_the_optimum_of_the_factored_hessian(epsilon, sparse, monkeypatch):
    """Columns of very different size, which the diagonal of the Hessian makes alike."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(400, 30)) * (rng.random((400, 30)) < 0.3) * 10.0 ** rng.uniform(-2, 2, 30)
    t = np.sign(rng.normal(size=400)) if np.isnan(epsilon) else rng.normal(size=400)
    table = csr_array(X) if sparse else X
    problem = primal.LinearProblem(table, t, rng.uniform(0.0, 2.0, 400), 0.7, epsilon)
    exact = primal.ridge_squared(problem, 100, "exact")
    monkeypatch.setattr(primal, "DIRECT", 1)
    found = primal.ridge_squared(problem, 100, "test")
    assert found.status.code == exact.status.code == "converged"
    np.testing.assert_allclose(found.x, exact.x, atol=1e-11 * np.abs(exact.x).max())


def one_pass(slope, old, epsilon, low=-np.inf, high=np.inf, n=1):
    """Passes returned and `progress` after one pass over equal rows x = 1 without coefficients."""
    soft, progress = np.zeros(n), np.array([n, np.inf, 0.0, 0.0])
    done = _box_dual.epochs(
        np.ones(n), np.zeros(0, dtype=np.int32), np.arange(n + 1), True, np.full(n, -slope), epsilon,
        np.full(n, low), np.full(n, high), soft, np.ones(n), 0.0, np.arange(n),
        np.array([7], dtype=np.uint64), progress, 1, 0.0, np.full(n, old), np.zeros(2),
        np.zeros(1, dtype=np.int32),
    )  # fmt: skip
    return done, progress


@pytest.mark.parametrize(
    ("slope", "old", "low", "high", "violation"),
    [
        (0.5, -1.0, -2.0, 2.0, 0.2),  # 0.5 - 0.3 of |beta| = -beta: falls to the left
        (0.1, -1.0, -2.0, 2.0, 0.2),  # falls to the right
        (0.1, -1.0, -1.0, 2.0, 0.2),  # and may, on the lower bound
        (0.5, -1.0, -1.0, 2.0, 0.0),  # may not
        (-0.5, 1.0, -2.0, 2.0, 0.2),
        (-0.5, 1.0, -2.0, 1.0, 0.0),
        (0.25, 0.0, -2.0, 2.0, 0.0),
        (0.5, 0.0, -2.0, 2.0, 0.2),
        (-0.5, 0.0, -2.0, 2.0, 0.2),
    ],
)
def test_violation_of_a_multiplier(slope, old, low, high, violation):
    done, progress = one_pass(slope, old, 0.3, low, high)
    assert done == 1 and progress[1] == pytest.approx(violation, abs=1e-15)


def test_passes_count_the_multipliers_that_they_visit():
    done, progress = one_pass(0.5, 0.0, 0.3, n=5)
    assert done == 1 and progress[3] == 5


def test_epochs_are_counted_from_0():
    rng = np.random.default_rng(2)
    X, t = rng.normal(size=(40, 1600)), np.sign(rng.normal(size=40))
    problem = primal.LinearProblem(X, t, np.full(40, 0.1), 1.0, np.nan)
    found = squared_dual.ridge_squared(problem, 1e-12, 1000, "test")
    assert 0 < found.n_iter <= 1000
    assert found.history["iteration"][0] > 0 and np.all(np.diff(found.history["iteration"]) > 0)
