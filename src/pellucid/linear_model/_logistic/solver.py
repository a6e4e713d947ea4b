"""Solvers of logistic regression: from a `Likelihood` to coefficients on the original scale.

Invariant: a solver may shift columns, scale them by powers of two or start on some of the rows, but
the objective it minimises and the coefficients it returns are those of the original columns.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.linear_model._logistic import small
from pellucid.linear_model._logistic.objective import Likelihood
from pellucid.linear_model._logistic.preparation import EXTREME, Prepared, Setting, prepare_columns
from pellucid.linear_model._logistic.separation import SeparationCheck
from pellucid.numerics import optimise
from pellucid.numerics.linalg import cholesky_factor, singular_solver
from pellucid.numerics.moments import moments
from pellucid.numerics.row_blocks import Rows, exponents
from pellucid.numerics.truncated_newton import truncated_newton
from pellucid.parallel.memory import every
from pellucid.parallel.shard import shard
from pellucid.records import Recorder, Solution, Status, converting_x, unwatched

NEWTON_SIZE = 600  # number of parameters up to which "auto" uses Newton's method
# L-BFGS hands over to Newton steps when no gradient exceeds HANDOVER * tol, for columns of unit
# curvature. They go on until a step promises to lower the objective by less than the share GAIN * tol.
HANDOVER, GAIN = 10.0, 1e-6
ACCURACY = 2.0**-47
NOTHING = 2.0**-52  # mean loss of a row that is 0 up to rounding
INFERENCE_SIZE = 1500  # number of parameters up to which their covariance is kept
# Sizes of the samples for a first solution and for the first curvatures: rows, and rows per parameter.
# A sample costs an iteration or two more, but no accuracy.
START_ROWS, START_RATIO = 4096, 20
CURVATURE_ROWS, CURVATURE_RATIO = 16384, 100
SAMPLED_FACTORS = 4


@dataclass(frozen=True, eq=False)
class Fitted(Solution):
    """Coefficients (classes, p + 1), and two facts that only fits without a penalty have."""

    separating: tuple[int, ...] = ()  # columns that separate the classes
    inference: Any = None  # a LogisticFit, from which `inference_` is computed


def norms_in(prepared: Prepared) -> Callable[[optimise.Point], dict]:
    """The columns of the history beside the objective, as a function of the point."""

    def measure(point: optimise.Point) -> dict:
        x = prepared.to_user(point.x).ravel()
        return {
            "gradient_norm": optimise.length(point.gradient), "parameter_norm": optimise.length(x),
            "learning_rate": point.step,
        }  # fmt: skip

    return measure


Stop = Callable[[optimise.Point], Status | None] | None


def solve_newton(prepared: Prepared, setting: Setting, stop: Stop = None) -> Solution:
    """Newton's method; a large table starts from the solution of a sample."""
    likelihood = prepared.likelihood
    x0 = start(prepared, setting)
    if setting.x0 is None:
        x0 = head_start(prepared, x0)
    scale = np.tile(np.append(prepared.spread, 1.0), likelihood.q)
    if stop is None and small.applies(likelihood):
        quick = small.solve_small(
            likelihood, x0, scale, ACCURACY, setting.max_iter, prepared.to_user
        )
        if quick is not None:
            return quick
    found = optimise.newton(
        likelihood.evaluate, sampled_curvature(likelihood), x0, max_iter=setting.max_iter, scale=scale,
        accuracy=ACCURACY, measure=norms_in(prepared), stop=stop,
    )  # fmt: skip
    return smallest_solution(prepared, found)


def start(prepared: Prepared, setting: Setting) -> np.ndarray:
    """The point to start from, in the columns of the likelihood."""
    if setting.x0 is None:
        return np.zeros(prepared.likelihood.size)
    x0 = setting.x0
    return prepared.from_user(x0[1:] - x0[0] if len(x0) > 1 else x0)


def sample(whole: Likelihood, rows: int, ratio: int) -> Likelihood | None:
    """Every k-th row with k times its weight; None if that is more than a quarter of the rows, or if
    processes share the rows, which stay where they are."""
    stride = whole.X.n // max(rows, ratio * whole.size)
    if stride < 4 or shard() is not None:
        return None
    return Likelihood(
        Rows(every(whole.X.X, stride)),
        np.ascontiguousarray(every(whole.y, stride)), every(whole.weights, stride) * stride,
        whole.n_classes, whole.alpha, whole.intercept, whole.shift,
    )  # fmt: skip


def head_start(prepared: Prepared, x0: np.ndarray) -> np.ndarray:
    """A rough optimum of a sample, or x0 if the table is small or the optimum is no better than 0."""
    whole = prepared.likelihood
    part = sample(whole, START_ROWS, START_RATIO)
    if part is None:
        return x0
    scale = np.tile(np.append(prepared.spread, 1.0), whole.q)
    with unwatched():
        found = optimise.newton(
            part.evaluate, part.factor, x0, max_iter=10, scale=scale, accuracy=1e-3
        )
    value_at_zero = float(parallel.sum_rows(whole.weights)) * np.log(whole.n_classes)
    return found.x if whole.evaluate(found.x)[0] < value_at_zero else x0


def sampled_curvature(whole: Likelihood) -> Callable[[np.ndarray], optimise.Solve]:
    """The factor of the curvature at x: of a sample for the first steps, then of all rows."""
    part, calls = sample(whole, CURVATURE_ROWS, CURVATURE_RATIO), 0

    def factor(x: np.ndarray) -> optimise.Solve:
        nonlocal calls
        calls += 1
        if part is None or calls > SAMPLED_FACTORS:
            return whole.factor(x)
        return part.factor(x)

    return factor


def smallest_solution(prepared: Prepared, found: Solution) -> Solution:
    """The smallest of equally good solutions, which only fits without a penalty can have."""
    likelihood = prepared.likelihood
    if np.all(likelihood.alpha > 0) or likelihood.size > NEWTON_SIZE:
        return found
    H = likelihood.regular_curvature(found.x)
    if cholesky_factor(H) is not None:
        return found
    null = singular_solver(H)[1]
    x = with_smallest_norm(prepared, found.x, null)
    return Solution(x, found.status, found.history, found.n_iter)


def with_smallest_norm(prepared: Prepared, x: np.ndarray, null: np.ndarray) -> np.ndarray:
    """x plus the combination of the columns of `null` that makes its coefficients smallest.

    Their size is measured on the original scale, without the intercepts.
    """
    likelihood = prepared.likelihood
    if not null.shape[1]:
        return x
    mask = np.ones((likelihood.q, likelihood.X.p + 1), dtype=bool)
    mask[:, -1] = False
    coefs = mask.ravel()
    units = np.ldexp(1.0, np.append(prepared.units - prepared.units.max(initial=0), 0))
    weight = np.tile(units, likelihood.q)[coefs]
    flat, now = null[coefs] * weight[:, None], x[coefs] * weight
    size = max(float(np.abs(flat).max()), 1e-300), max(float(np.abs(now).max()), 1e-300)
    move, *_ = np.linalg.lstsq(flat / size[0], now / size[1], rcond=None)
    shift = null @ (move * (size[1] / size[0]))
    return x - shift if np.isfinite(shift).all() else x


def _unit_curvature(prepared: Prepared) -> tuple[np.ndarray, np.ndarray]:
    """Means of the columns, and divisors that give every column the same curvature at 0.

    They come from all rows, by weight, because the point where L-BFGS stops depends on them and a
    weight must act like repeated rows. For rare words and levels most of the curvature is the
    penalty.
    """
    F = prepared.likelihood
    total = float(parallel.sum_rows(F.weights))
    if F.X.sparse and F.shift is None:
        share = F.weights / total
        squares = F.X.X.copy()
        squares.data = squares.data**2
        mean = np.asarray(F.X.X.T @ share).ravel()
        variance = np.maximum(np.asarray(squares.T @ share).ravel() - mean**2, 0.0)
    else:
        found = moments(F.X.X, F.weights, full=False)
        mean = found.mean if F.shift is None else found.mean - F.shift
        variance = found.variance
    probability = 1.0 / F.n_classes
    spread = variance if F.intercept else variance + mean**2
    curvature = spread + F.alpha / (total * probability * (1 - probability))
    return mean, np.sqrt(np.where(curvature > 0, curvature, 1.0))


def solve_lbfgs(prepared: Prepared, setting: Setting, stop: Stop = None) -> Solution:
    """L-BFGS, then Newton steps, on columns of unit curvature and mean 0 that are never formed.

    Differences of K classes to class 0 curve K times less in the direction that all of them share. They
    are replaced by their coordinates in the basis 1 + 11' share, where all directions are alike.
    """
    likelihood, q = prepared.likelihood, prepared.likelihood.q
    share = 1.0 / (math.sqrt(q + 1.0) + 1.0) if q > 1 else 0.0
    mean, spread = _unit_curvature(prepared)
    mean = mean if setting.intercept else np.zeros_like(mean)

    def outer(v: np.ndarray) -> np.ndarray:
        B = v.reshape(q, -1)
        B = B + share * B.sum(axis=0)
        B[:, :-1] /= spread
        B[:, -1] -= B[:, :-1] @ mean
        return B.ravel()

    def inner(g: np.ndarray) -> np.ndarray:
        G = g.copy().reshape(q, -1)
        G[:, :-1] = (G[:, :-1] - G[:, -1:] * mean) / spread
        return (G + share * G.sum(axis=0)).ravel()

    def evaluate(v: np.ndarray) -> tuple[float, np.ndarray]:
        value, g = likelihood.evaluate(outer(v))
        return value, inner(g)

    def curvature(v: np.ndarray) -> optimise.Solve:
        product = likelihood.curvature_product(outer(v))
        return lambda d: inner(product(outer(d)))

    B = start(prepared, setting).reshape(q, -1)
    B[:, -1] += B[:, :-1] @ mean
    B[:, :-1] *= spread
    B -= share / math.sqrt(q + 1.0) * B.sum(axis=0)
    measure = norms_in(prepared)
    with converting_x(outer):
        recorder = Recorder("lbfgs", setting.max_iter)

    def original(point: optimise.Point) -> optimise.Point:
        return replace(point, x=outer(point.x))

    shared: Any = {
        "max_iter": setting.max_iter, "recorder": recorder,
        "measure": lambda point: measure(original(point)),
        "stop": None if stop is None else lambda point: stop(original(point)),
    }  # fmt: skip
    largest_gradient = HANDOVER * setting.tol * float(parallel.sum_rows(likelihood.weights))
    found = optimise.lbfgs(evaluate, B.ravel(), tol=largest_gradient, **shared)
    if found.status.code == "converged":
        gain, done = GAIN * setting.tol, found.n_iter
        found = truncated_newton(evaluate, curvature, found.x, gain=gain, done=done, **shared)
    return Solution(outer(found.x), found.status, found.history, found.n_iter)


def solve(
    X: Any, y: np.ndarray, w: np.ndarray, n_classes: int, setting: Setting, solver: str
) -> Fitted:
    """Coefficients as scikit-learn has them: x (1, p + 1), or (classes, p + 1) with sum 0."""
    exponent = int(exponents(parallel.largest(w.max())))
    if abs(exponent) <= EXTREME:
        return _solve(X, y, w, n_classes, setting, solver)
    # Scale the objective, so that its squares do not overflow.
    scaled = replace(setting, alpha=float(np.ldexp(setting.alpha, -exponent)))
    done = _solve(X, y, np.ldexp(w, -exponent), n_classes, scaled, solver)
    with np.errstate(over="ignore"):
        names = ("objective", "gradient_norm")
        original = {name: np.ldexp(done.history[name], exponent) for name in names}
    return replace(done, history=done.history | original, inference=None)


def _solve(
    X: Any, y: np.ndarray, w: np.ndarray, n_classes: int, setting: Setting, solver: str
) -> Fitted:
    """1. Prepare the columns. 2. Minimise. 3. Without a penalty, check for separation and collect
    what inference needs. 4. Return to the original columns and classes."""
    prepared = prepare_columns(X, y, w, n_classes, setting)  # 1
    check = SeparationCheck(prepared.likelihood, setting.terms) if setting.alpha == 0 else None
    if setting.firth:  # 2
        from pellucid.linear_model._logistic.firth import solve_firth

        prepared, found = solve_firth(prepared, setting)
    else:
        with converting_x(lambda x: to_classes(prepared, x, setting)):
            found = _minimise(prepared, setting, solver, check)
    size, status, separation, inference = prepared.likelihood.size, found.status, None, None
    # An objective cannot fall below 0, so nothing is left to gain.
    if status.code == "max_iter" and found.history["objective"][-1] <= NOTHING * parallel.sum_rows(
        w
    ):
        status = optimise.converged(found.n_iter)
    if check is not None and not setting.firth:  # 3
        exact = solver == "newton" or (solver == "auto" and size <= NEWTON_SIZE)
        status = check.after(found.x, status.ok, exact) or status
        separation = check.found
    if setting.alpha == 0 and size <= INFERENCE_SIZE:
        from pellucid.linear_model._logistic.information import with_information

        inference = with_information(prepared, found.x, separation)
    columns = () if separation is None else tuple(separation.columns.tolist())
    x = to_classes(prepared, found.x, setting)  # 4
    return Fitted(x, status, found.history, found.n_iter, columns, inference)


def _minimise(
    prepared: Prepared, setting: Setting, solver: str, check: SeparationCheck | None
) -> Solution:
    """Choose a solver and run it."""
    if solver == "auto":
        from pellucid.linear_model._logistic import wide

        likelihood = prepared.likelihood
        found = wide.solve_wide(prepared, setting) if wide.applies(likelihood) else None
        if found is not None:
            return found
        solver = "newton" if likelihood.size <= NEWTON_SIZE else "lbfgs"
    method = solve_newton if solver == "newton" else solve_lbfgs
    stop = None if check is None else lambda point: check.during(point.x, point.value)
    # Steps may overflow: the line search refuses them and L-BFGS does not learn from them.
    with np.errstate(over="ignore", invalid="ignore"):
        return method(prepared, setting, stop)


def to_classes(prepared: Prepared, x: np.ndarray, setting: Setting) -> np.ndarray:
    """Coefficients of the original columns, from those of the likelihood."""
    K = prepared.likelihood.n_classes
    return sum_to_zero(prepared.to_user(x), K, setting.intercept)


def sum_to_zero(B: np.ndarray, n_classes: int, intercept: bool) -> np.ndarray:
    """Coefficients of all classes that sum to 0, from differences to class 0."""
    if not intercept:
        B[:, -1] = 0.0
    if n_classes > 2:
        B = np.concatenate([np.zeros((1, B.shape[1])), B])
        with np.errstate(over="ignore", invalid="ignore"):  # the caller refuses what is not finite
            B -= B.mean(axis=0)
    return B
