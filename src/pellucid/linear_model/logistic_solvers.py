"""Solvers of logistic regression: from a Likelihood to coefficients in the user's units.

Invariant: whatever a solver does to the columns inside (shift, powers of two, a head start on some
rows), the objective it minimises is the user's, and so is what it returns.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pellucid.linear_model import _loops
from pellucid.linear_model.likelihood import Likelihood, flat_solver
from pellucid.numerics.linalg import cholesky_factor
from pellucid.numerics.optimise import (
    Point,
    Solve,
    converged,
    diverged,
    gradient_descent,
    lbfgs,
    length,
    newton,
    out_of_iterations,
)
from pellucid.numerics.tables import Rows, exponents
from pellucid.parallel import StopFlag
from pellucid.records import Recorder, Solution, Status

FAR = 8.0  # offset in units of spread beyond which a column is centred
EXTREME = 100  # |log2| of a column's size beyond which it is scaled
NEWTON_SIZE = 600  # parameters up to which "auto" takes Newton's method
ACCURACY = 2.0**-47
# Rows that suffice to start from, and to know the curvature by: at least so many, and so many per
# parameter. What they miss costs an iteration or two, never a digit.
START_ROWS, START_RATIO = 4096, 20
CURVATURE_ROWS, CURVATURE_RATIO = 16384, 100
SAMPLED_FACTORS = 4
SEPARATED_LOSS = 1e-6  # mean loss at which coefficients that grow for ever are let go
DESCENT_CELLS = 2**17  # table size up to which gradient descent runs in one compiled loop


@dataclass(frozen=True)
class Setting:
    """What the user asked for; x0 is (classes, p + 1) or None."""

    alpha: float
    intercept: bool
    tol: float
    max_iter: int
    step: float | None
    x0: np.ndarray | None


@dataclass(frozen=True)
class Prepared:
    """The likelihood in units fit for computing, and the way back."""

    likelihood: Likelihood
    mean: np.ndarray  # of the columns of the likelihood
    spread: np.ndarray
    units: np.ndarray

    def to_user(self, x: np.ndarray) -> np.ndarray:
        """B (q, p + 1) in the user's units."""
        B = x.reshape(self.likelihood.q, -1).copy()
        if self.likelihood.shift is not None:
            B[:, -1] -= B[:, :-1] @ self.likelihood.shift
        B[:, :-1] = np.ldexp(B[:, :-1], self.units)
        return B

    def from_user(self, B: np.ndarray) -> np.ndarray:
        B = B.copy()
        B[:, :-1] = np.ldexp(B[:, :-1], -self.units)
        if self.likelihood.shift is not None:
            B[:, -1] += B[:, :-1] @ self.likelihood.shift
        return B.ravel()


def prepare(X: Any, y: np.ndarray, w: np.ndarray, n_classes: int, setting: Setting) -> Prepared:
    """Look at the first block: scale columns of extreme size, centre columns far from 0."""
    table, units = Rows(X), np.zeros(X.shape[1], dtype=np.int64)
    first = table.dense(table.blocks[0])
    sizes = np.abs(first).max(axis=0)
    if np.any(np.abs(exponents(sizes)) > EXTREME):
        units = -exponents(table.largest()).astype(np.int64)
        table = table.scaled(units)
        first = table.dense(table.blocks[0])
    mean, spread = first.mean(axis=0), first.std(axis=0)
    spread = np.where(spread > 0, spread, np.where(mean != 0, np.abs(mean), 1.0))
    far = setting.intercept and bool(np.any(np.abs(mean) > FAR * spread))
    with np.errstate(over="ignore"):
        alpha = np.minimum(np.ldexp(np.full(table.p, setting.alpha), 2 * units), 1e250)
    shift = mean if far else None
    likelihood = Likelihood(table, y, w, n_classes, alpha, setting.intercept, shift)
    return Prepared(likelihood, np.zeros_like(mean) if far else mean, spread, units)


def measure_in(prepared: Prepared) -> Callable[[Point], dict]:
    """Columns of history beside the objective."""

    def measure(point: Point) -> dict:
        return {
            "gradient_norm": length(point.gradient),
            "parameter_norm": length(prepared.to_user(point.x).ravel()),
        }

    return measure


def stop_when_separated(prepared: Prepared) -> Callable[[Point], Status | None] | None:
    """Without a penalty, end a climb that has no top: all rows right, and losses nearly 0."""
    likelihood = prepared.likelihood
    if np.all(likelihood.alpha > 0):
        return None
    small = SEPARATED_LOSS * float(likelihood.weights.sum())

    def stop(point: Point) -> Status | None:
        if point.value > small or not likelihood.separated(point.x):
            return None
        return separated_status()

    return stop


def separated_status() -> Status:
    return Status(
        "separated",
        "The columns separate the classes perfectly, so without a penalty the coefficients grow "
        "without limit; those returned are large and arbitrary, their predictions are right.",
        "Use a penalty (a finite C).",
    )


def solve_newton(prepared: Prepared, setting: Setting) -> Solution:
    """Newton's method, started on a few thousand rows if there are many."""
    likelihood = prepared.likelihood
    x0 = start(prepared, setting)
    if setting.x0 is None:
        x0 = head_start(prepared, x0)
    scale = np.tile(np.append(prepared.spread, 1.0), likelihood.q)
    found = newton(
        likelihood.evaluate, curvature_of(likelihood), x0, max_iter=setting.max_iter, scale=scale,
        accuracy=ACCURACY, measure=measure_in(prepared), stop=stop_when_separated(prepared),
    )  # fmt: skip
    return shortest(prepared, found)


def start(prepared: Prepared, setting: Setting) -> np.ndarray:
    if setting.x0 is None:
        return np.zeros(prepared.likelihood.size)
    x0 = setting.x0
    return prepared.from_user(x0[1:] - x0[0] if len(x0) > 1 else x0)


def sample(whole: Likelihood, rows: int, ratio: int) -> Likelihood | None:
    """Every k-th row with k-fold weight; None if that would be more than a quarter of the rows."""
    stride = whole.X.n // max(rows, ratio * whole.size)
    if stride < 4:
        return None
    X = whole.X.X[::stride]
    return Likelihood(
        Rows(X if whole.X.sparse else np.ascontiguousarray(X)),
        np.ascontiguousarray(whole.y[::stride]), whole.weights[::stride] * stride,
        whole.n_classes, whole.alpha, whole.intercept, whole.shift,
    )  # fmt: skip


def head_start(prepared: Prepared, x0: np.ndarray) -> np.ndarray:
    """From 0, roughly the optimum of a sample; x0 if the table is small or that is no better."""
    whole = prepared.likelihood
    part = sample(whole, START_ROWS, START_RATIO)
    if part is None:
        return x0
    scale = np.tile(np.append(prepared.spread, 1.0), whole.q)
    found = newton(part.evaluate, part.factor, x0, max_iter=10, scale=scale, accuracy=1e-3)
    nothing_known = float(whole.weights.sum()) * np.log(whole.n_classes)  # F at 0
    return found.x if whole.evaluate(found.x)[0] < nothing_known else x0


def curvature_of(whole: Likelihood) -> Callable[[np.ndarray], Solve]:
    """The factor of the curvature at x: of a sample at first, of all rows if that does not do."""
    part, calls = sample(whole, CURVATURE_ROWS, CURVATURE_RATIO), 0

    def factor(x: np.ndarray) -> Solve:
        nonlocal calls
        calls += 1
        if part is None or calls > SAMPLED_FACTORS:
            return whole.factor(x)
        return part.factor(x)

    return factor


def shortest(prepared: Prepared, found: Solution) -> Solution:
    """Among equally good solutions the one of least coefficients; only without a penalty."""
    likelihood = prepared.likelihood
    if np.all(likelihood.alpha > 0) or likelihood.size > NEWTON_SIZE:
        return found
    H = likelihood.curvature(found.x)
    if not likelihood.intercept:
        edge = np.arange(likelihood.X.p, likelihood.size, likelihood.X.p + 1)
        H[edge, edge] = 1.0
    if cholesky_factor(H) is not None:
        return found
    null = flat_solver(H)[1]
    if not null.shape[1]:
        return found
    slopes = np.ones((likelihood.q, likelihood.X.p + 1), dtype=bool)
    slopes[:, -1] = False
    units = np.ldexp(1.0, np.append(prepared.units, 0))
    weight = np.tile(units, likelihood.q)[slopes.ravel()]
    flat = null[slopes.ravel()] * weight[:, None]
    move, *_ = np.linalg.lstsq(flat, found.x[slopes.ravel()] * weight, rcond=None)
    return Solution(found.x - null @ move, found.status, found.history, found.n_iter)


def solve_lbfgs(prepared: Prepared, setting: Setting) -> Solution:
    """L-BFGS on centred columns of unit spread, which are never formed."""
    likelihood, mean, spread = prepared.likelihood, prepared.mean, prepared.spread
    q = likelihood.q
    mean = mean if setting.intercept else np.zeros_like(mean)

    def outer(v: np.ndarray) -> np.ndarray:
        B = v.reshape(q, -1).copy()
        B[:, :-1] /= spread
        B[:, -1] -= B[:, :-1] @ mean
        return B.ravel()

    def evaluate(v: np.ndarray) -> tuple[float, np.ndarray]:
        value, g = likelihood.evaluate(outer(v))
        G = g.copy().reshape(q, -1)
        G[:, :-1] = (G[:, :-1] - G[:, -1:] * mean) / spread
        return value, G.ravel()

    B = start(prepared, setting).reshape(q, -1)
    B[:, -1] += B[:, :-1] @ mean
    B[:, :-1] *= spread
    total = float(likelihood.weights.sum())
    measure, stop = measure_in(prepared), stop_when_separated(prepared)

    def as_seen(point: Point) -> Point:
        return Point(outer(point.x), point.value, point.gradient)

    found = lbfgs(
        evaluate, B.ravel(), tol=setting.tol * total, max_iter=setting.max_iter,
        measure=lambda point: measure(as_seen(point)),
        stop=None if stop is None else lambda point: stop(as_seen(point)),
    )  # fmt: skip
    return Solution(outer(found.x), found.status, found.history, found.n_iter)


def solve_descent(
    X: Any, y: np.ndarray, w: np.ndarray, n_classes: int, setting: Setting
) -> Solution:
    """Plain gradient descent on the mean loss, in the user's own units; x is (classes, p + 1).

    Two classes have one row of coefficients, more have one row each.
    """
    pivot, rows = n_classes == 2, 1 if n_classes == 2 else n_classes
    A = X if isinstance(X, np.ndarray) else X.toarray()
    A = np.column_stack([A, np.full(len(A), float(setting.intercept))])
    x0 = np.zeros((rows, A.shape[1])) if setting.x0 is None else setting.x0.copy()
    total = float(w.sum())
    strength = setting.alpha / total
    mask = np.append(np.ones(X.shape[1]), 0.0)
    step = setting.step or default_step(A, w, strength, n_classes)
    if A.size <= DESCENT_CELLS:
        return _compiled_descent(A, y, w, pivot, x0, step, strength, mask, setting)

    def evaluate(x: np.ndarray) -> tuple[float, np.ndarray]:
        B = x.reshape(rows, -1)
        Z = A @ B.T
        R = np.empty_like(Z)
        loss = _loops.class_losses(Z, y, w, pivot, R) / total
        G = R.T @ A / total + strength * mask * B
        return total * (loss + 0.5 * strength * float(np.sum(mask * B**2))), total * G.ravel()

    return gradient_descent(
        evaluate, x0.ravel(), step=step / total, tol=setting.tol, max_iter=setting.max_iter
    )


def default_step(A: np.ndarray, w: np.ndarray, strength: float, n_classes: int) -> float:
    """1 / (largest curvature that the mean loss can have): descent cannot overshoot."""
    gram = A.T @ (A * w[:, None]) / w.sum()
    largest = float(np.linalg.eigvalsh(gram)[-1])
    return 1.0 / max(largest * (0.25 if n_classes == 2 else 0.5) + strength, 1e-300)


def _compiled_descent(
    A: np.ndarray, y: np.ndarray, w: np.ndarray, pivot: bool, x0: np.ndarray, step: float,
    strength: float, mask: np.ndarray, setting: Setting,
) -> Solution:  # fmt: skip
    recorder, flag = Recorder("gd", setting.max_iter), StopFlag()
    B, G = np.ascontiguousarray(x0), np.zeros((len(x0) + 1, A.shape[1]))
    G[-1] = mask
    z = np.empty(len(x0))
    every = max(1, setting.max_iter // 5000)
    chunk = every * max(1, 2**20 // (A.size * every + 1))
    done, change = 0, np.inf
    while done < setting.max_iter and change > setting.tol and np.all(np.isfinite(B)):
        flag.check()
        steps = min(chunk, setting.max_iter - done)
        notes = np.empty((steps // every + 1, 4))
        made, noted, change = _loops.descend(
            A, y, w, pivot, B, step, strength, setting.tol, done, steps, every, notes, G, z
        )
        done += made
        _note(recorder, notes[:noted])
    # The state after the last step closes the history.
    notes = np.empty((1, 4))
    _loops.descend(A, y, w, pivot, B.copy(), 0.0, strength, -1.0, 0, 1, 1, notes, G, z)
    notes[0, 0] = done
    _note(recorder, notes)
    if not np.all(np.isfinite(B)):
        status = diverged(done)
    elif change <= setting.tol:
        status = converged(done)
    else:
        status = out_of_iterations(done, f"the last change was {change:.2g}")
    return Solution(B, status, recorder.history(), done)


def _note(recorder: Recorder, notes: np.ndarray) -> None:
    names = ("iteration", "objective", "gradient_norm", "parameter_norm")
    if len(notes):
        recorder.extend(**dict(zip(names, notes.T)))


def solve(
    X: Any, y: np.ndarray, w: np.ndarray, n_classes: int, solver: str, setting: Setting
) -> Solution:
    """Coefficients as scikit-learn has them: x (1, p + 1), or (classes, p + 1) with sum 0."""
    lift = int(exponents(w.max()))
    if abs(lift) > EXTREME:  # the objective in other units, so that its squares are floats
        setting = replace(setting, alpha=float(np.ldexp(setting.alpha, -lift)))
        found = solve(X, y, np.ldexp(w, -lift), n_classes, solver, setting)
        with np.errstate(over="ignore"):
            lifted = {
                name: np.ldexp(found.history[name], lift) for name in ("objective", "gradient_norm")
            }
        return replace(found, history=found.history | lifted)
    if solver == "gd":
        found = solve_descent(X, y, w, n_classes, setting)
        return Solution(
            found.x.reshape(-1, X.shape[1] + 1), found.status, found.history, found.n_iter
        )
    prepared = prepare(X, y, w, n_classes, setting)
    if solver == "auto":
        solver = "newton" if prepared.likelihood.size <= NEWTON_SIZE else "lbfgs"
    found = (
        solve_newton(prepared, setting) if solver == "newton" else solve_lbfgs(prepared, setting)
    )
    status = found.status
    if not status.ok and setting.alpha == 0 and prepared.likelihood.separated(found.x):
        status = separated_status()
    B = prepared.to_user(found.x)
    if not setting.intercept:
        B[:, -1] = 0.0
    if n_classes > 2:
        B = np.concatenate([np.zeros((1, B.shape[1])), B])
        B -= B.mean(axis=0)
    return Solution(B, status, found.history, found.n_iter)
