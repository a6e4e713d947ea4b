"""Optimisers: right answers, honest statuses, documented traces."""

import numpy as np
import pytest

from pellucid.errors import ParameterError
from pellucid.numerics import optimise
from pellucid.numerics.objectives.penalties import Penalty


def logistic(seed=0, n=200, p=5, scale=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)) * scale
    y = (X @ np.arange(1.0, p + 1) / p + rng.logistic(size=n) > 0).astype(float)

    def evaluate(x):
        z = X @ x
        value = np.sum(np.logaddexp(0, z) - y * z) + 0.05 * x @ x
        return value, X.T @ (1 / (1 + np.exp(-z)) - y) + 0.1 * x

    def factor(x):
        z = X @ x
        h = 1 / (2 + np.exp(z) + np.exp(-z))
        H = X.T @ (X * h[:, None]) + 0.1 * np.eye(p)
        return lambda g: np.linalg.solve(H, g)

    return evaluate, factor


def test_newton_reaches_the_last_digit_and_reuses_factors():
    evaluate, factor = logistic()
    calls = []

    def counted(x):
        calls.append(1)
        return factor(x)

    found = optimise.newton(evaluate, counted, np.zeros(5))
    assert found.status.code == "converged" and found.n_iter < 15
    assert np.max(np.abs(evaluate(found.x)[1])) < 1e-12
    assert len(calls) < found.n_iter
    history = found.history
    assert np.all(np.diff(history["objective"]) <= 1e-9)
    assert history["iteration"].tolist() == list(range(found.n_iter + 1))


def test_the_last_step_of_newton_needs_no_look_at_its_end():
    """The solution has all digits although the objective was not evaluated there."""
    evaluate, factor = logistic(2)
    seen = []

    def noted(x):
        seen.append(x)
        return evaluate(x)

    found = optimise.newton(noted, factor, np.zeros(5), accuracy=2.0**-47)
    assert not any(x is found.x for x in seen)
    exact = optimise.newton(evaluate, factor, found.x, accuracy=0.0)
    np.testing.assert_allclose(found.x, exact.x, rtol=1e-13)
    assert len(found.history["iteration"]) == found.n_iter + 1


def test_newton_with_a_wrong_curvature_still_arrives():
    evaluate, factor = logistic(1)
    right = optimise.newton(evaluate, factor, np.zeros(5))
    wrong = optimise.newton(
        evaluate, lambda x: lambda g: factor(x)(g) * 5, np.zeros(5), max_iter=300
    )
    np.testing.assert_allclose(wrong.x, right.x, rtol=1e-10)


def test_lbfgs_agrees_with_newton():
    evaluate, factor = logistic(2)
    right = optimise.newton(evaluate, factor, np.zeros(5))
    found = optimise.lbfgs(evaluate, np.zeros(5), tol=1e-9, max_iter=200)
    assert found.status.code == "converged"
    np.testing.assert_allclose(found.x, right.x, rtol=1e-9)
    assert np.max(np.abs(evaluate(found.x)[1])) <= 1e-9


def test_lbfgs_solves_the_rosenbrock_function():
    def evaluate(x):
        a, b = x
        value = (1 - a) ** 2 + 100 * (b - a * a) ** 2
        return value, np.array([-2 * (1 - a) - 400 * a * (b - a * a), 200 * (b - a * a)])

    found = optimise.lbfgs(evaluate, np.array([-1.2, 1.0]), tol=1e-8, max_iter=200)
    np.testing.assert_allclose(found.x, [1, 1], atol=1e-7)


@pytest.mark.parametrize(("n", "said"), [(1, "after 1 iteration"), (2, "after 2 iterations")])
def test_one_iteration_is_singular(n, said):
    assert optimise.converged(n).message == f"Converged {said}."
    assert optimise.out_of_iterations(n, "the gradient is 1").message.startswith(
        f"Stopped {said} (max_iter)"
    )


def test_lbfgs_says_when_it_ran_out_of_iterations_or_digits():
    evaluate, _ = logistic(3)
    short = optimise.lbfgs(evaluate, np.zeros(5), tol=1e-9, max_iter=2)
    assert short.status.code == "max_iter" and "max_iter" in short.status.message
    assert not short.status.ok and short.n_iter == 2
    greedy = optimise.lbfgs(evaluate, np.zeros(5), tol=0.0, max_iter=1000)
    assert greedy.status.code in ("stalled", "converged")
    assert np.max(np.abs(evaluate(greedy.x)[1])) < 1e-10


@pytest.mark.parametrize("solver", ["newton", "lbfgs", "gd"])
def test_an_undefined_objective_is_named(solver):
    def evaluate(x):
        return np.nan, np.full(2, np.nan)

    if solver == "newton":
        found = optimise.newton(evaluate, lambda x: lambda g: g, np.zeros(2))
    elif solver == "lbfgs":
        found = optimise.lbfgs(evaluate, np.zeros(2))
    else:
        found = optimise.gradient_descent(evaluate, np.zeros(2), step=0.1)
    assert found.status.code == "diverged" and not found.status.ok


def test_the_line_search_survives_infinite_values():
    def evaluate(x):  # -log(x) + x with a barrier at 0
        if x[0] <= 0:
            return np.inf, np.array([np.nan])
        return float(x[0] - np.log(x[0])), 1 - 1 / x

    found = optimise.newton(evaluate, lambda x: lambda g: g * 1000.0, np.array([3.0]), max_iter=200)
    np.testing.assert_allclose(found.x, 1, rtol=1e-8)


def line():
    x, y = np.arange(1.0, 5), np.array([2.0, 3, 5, 8])
    A = np.column_stack([np.ones(4), x])
    return lambda b: (0.5 * np.sum((A @ b - y) ** 2), A.T @ (A @ b - y))


def test_gradient_descent_trace():
    states = [optimise.gradient_descent(line(), np.zeros(2), step=0.01, max_iter=k) for k in (1, 2)]
    np.testing.assert_allclose(states[0].x, [0.18, 0.55], rtol=1e-14)
    np.testing.assert_allclose(states[1].x, [0.2978, 0.917], rtol=1e-14)
    np.testing.assert_allclose(
        states[1].history["objective"], [51, 23.1023, 10.72613068], rtol=1e-12
    )
    end = optimise.gradient_descent(line(), np.zeros(2), step=0.05, tol=1e-12, max_iter=10_000)
    assert end.status.ok
    np.testing.assert_allclose(end.x, [-0.5, 2], rtol=1e-9)
    wild = optimise.gradient_descent(line(), np.zeros(2), step=10.0, max_iter=10_000)
    assert wild.status.code == "diverged"


def test_proximal_gradient_descent_solves_the_lasso():
    # Centred x = 1..4, y = 2, 3, 5, 8: slope 1.8 for lambda 1, and exactly 0 from lambda 10 on.
    def evaluate(b):
        return 2.5 * b[0] ** 2 - 10 * b[0], np.array([5 * b[0] - 10])

    for strength, slope in [(1.0, 1.8), (5.0, 1.0), (10.0, 0.0), (20.0, 0.0)]:
        found = optimise.gradient_descent(
            evaluate, np.zeros(1), step=0.1, tol=1e-14, penalty=Penalty(strength, 1.0)
        )
        np.testing.assert_allclose(found.x, slope, atol=1e-12)
    assert found.x[0] == 0.0


def test_schedule_vectors_and_limits():
    eta = optimise.schedule(10, 1.0)
    np.testing.assert_allclose([eta(0), eta(1), eta(99)], [0.1, 1 / 11, 1 / 109])
    eta = optimise.schedule(10, 0.7)
    np.testing.assert_allclose([eta(0), eta(1)], [0.1995262315, 0.1866487649], atol=1e-10)
    for kappa in [0.5, 0.2, 1.01]:
        with pytest.raises(ParameterError, match="kappa"):
            optimise.schedule(10, kappa)
    eta = optimise.schedule(0, 1.0, eta0=3.0, most=2.0)
    np.testing.assert_allclose([eta(0), eta(1), eta(2)], [2.0, 1.5, 1.0])
    with pytest.raises(ParameterError, match="tau0"):
        optimise.schedule(-0.1, 1.0)


def test_slopes_that_overflow_in_both_directions_are_not_finite_and_say_nothing():
    from pellucid.numerics.optimise import Point

    with np.errstate(all="raise"):
        assert not Point(np.zeros(2), 1.0, np.array([np.inf, -np.inf])).finite
        assert not Point(np.zeros(2), 1.0, np.array([1.0, np.nan])).finite
        assert Point(np.zeros(2), 1.0, np.array([1e308, 1e308])).finite


@pytest.mark.parametrize("base", [None, lambda g: 0.3 * g])
def test_curvature_of_exact_steps_is_the_inverse_of_the_matrix(base):
    """The last step is always reproduced; after steps along conjugate axes, so is the inverse."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(5, 5))
    H = A @ A.T + np.eye(5)
    curvature = optimise.Curvature(base)
    for s in np.linalg.inv(np.linalg.cholesky(H)):
        curvature.learn(s, H @ s)
        np.testing.assert_allclose(curvature.solve(H @ s), s, atol=1e-12)
    g = rng.normal(size=5)
    np.testing.assert_allclose(curvature.solve(g), np.linalg.solve(H, g), atol=1e-10)
