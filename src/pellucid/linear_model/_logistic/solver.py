"""Solvers of logistic regression: from a Likelihood to coefficients in the user's units.

Invariant: whatever a solver does to the columns inside (shift, powers of two, a head start on some
rows), the objective it minimises is the user's, and so is what it returns.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pellucid.linear_model._logistic import small
from pellucid.linear_model._logistic.objective import Likelihood, flat_solver
from pellucid.linear_model._logistic.separation import Sentry
from pellucid.numerics.linalg import cholesky_factor
from pellucid.numerics.moments import moments
from pellucid.numerics.optimise import (
    Point,
    Solve,
    lbfgs,
    length,
    newton,
)
from pellucid.numerics.row_blocks import Rows, exponents
from pellucid.numerics.truncated_newton import truncated_newton
from pellucid.records import Recorder, Solution, Status

FAR = 8.0  # offset in units of spread beyond which a column is centred
FAR_SPARSE = 1e4  # of a sparse table, whose zeros centring would cost
EXTREME = 100  # |log2| of a column's size beyond which it is scaled
NEWTON_SIZE = 600  # parameters up to which "auto" takes Newton's method
# L-BFGS hands over to Newton steps when no slope exceeds so many tol, in columns of unit curvature;
# they go on until a step promises less than this share of tol, relative to the objective.
HANDOVER, GAIN = 10.0, 1e-6
ACCURACY = 2.0**-47
INFERENCE_SIZE = 1500  # parameters up to which their covariance is kept
# Rows that suffice to start from, and to know the curvature by: at least so many, and so many per
# parameter. What they miss costs an iteration or two, never a digit.
START_ROWS, START_RATIO = 4096, 20
CURVATURE_ROWS, CURVATURE_RATIO = 16384, 100
SAMPLED_FACTORS = 4
DEVIATION_ROWS = 512


@dataclass(frozen=True)
class Setting:
    """What the user asked for; x0 is (classes, p + 1) or None."""

    alpha: float
    intercept: bool
    tol: float
    max_iter: int
    x0: np.ndarray | None = None
    terms: tuple[str, ...] = ()  # names of the columns, for messages
    firth: bool = False


@dataclass(frozen=True, eq=False)
class Fitted(Solution):
    """Coefficients (classes, p + 1); without a penalty, what is known about them."""

    separating: tuple[int, ...] = ()  # columns that separate the classes
    inference: Any = None  # a LogisticFit, without a penalty


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
        if not self.moved:
            return B
        if self.likelihood.shift is not None:
            B[:, -1] -= B[:, :-1] @ self.likelihood.shift
        with np.errstate(over="ignore"):
            B[:, :-1] = np.ldexp(B[:, :-1], self.units)
        return B

    @functools.cached_property
    def moved(self) -> bool:
        """Whether the units of computing are not the user's."""
        return self.likelihood.shift is not None or bool(self.units.any())

    def from_user(self, B: np.ndarray) -> np.ndarray:
        B = B.copy()
        B[:, :-1] = np.ldexp(B[:, :-1], -self.units)
        if self.likelihood.shift is not None:
            B[:, -1] += B[:, :-1] @ self.likelihood.shift
        return B.ravel()

    @property
    def centre(self) -> np.ndarray:
        """The shift in the user's units."""
        shift = self.likelihood.shift
        return np.zeros(len(self.units)) if shift is None else np.ldexp(shift, -self.units)

    def root(self, root: np.ndarray, centre: np.ndarray) -> np.ndarray:
        """A root of the covariance of coefficients, in the user's units, and of scores at `centre`,
        class by class, where root @ root.T is that in the units of computing."""
        width = len(self.units) + 1
        parts = root.reshape(len(root) // width, width, root.shape[1]).copy()
        way = centre - self.centre
        far = np.flatnonzero(way)  # where it is 0, an error beyond all numbers does not matter
        with np.errstate(over="ignore", invalid="ignore"):
            parts[:, :-1] = np.ldexp(parts[:, :-1], self.units[:, None])
            parts[:, -1] += way[far] @ parts[:, far]
        return parts.reshape(root.shape)


def prepare(X: Any, y: np.ndarray, w: np.ndarray, n_classes: int, setting: Setting) -> Prepared:
    """Look at the first block: scale columns of extreme size, centre columns far from 0."""
    table, units = Rows(X), np.zeros(X.shape[1], dtype=np.int64)
    first = table.dense(table.blocks[0])
    sizes = np.maximum(first.max(axis=0), -first.min(axis=0))
    if np.any(np.abs(exponents(sizes)) > EXTREME):
        units = -exponents(table.largest()).astype(np.int64)
        table = table.scaled(units)
        first = table.dense(table.blocks[0])
    mean = first.mean(axis=0)
    spread = _deviations(first, mean)
    spread = np.where(spread > 0, spread, np.where(mean != 0, np.abs(mean), 1.0))
    limit = FAR_SPARSE if table.sparse else FAR
    far = setting.intercept and bool(np.any(np.abs(mean) > limit * spread))
    with np.errstate(over="ignore"):
        alpha = np.minimum(np.ldexp(np.full(table.p, setting.alpha), 2 * units), 1e250)
    shift = mean if far else None
    likelihood = Likelihood(table, y, w, n_classes, alpha, setting.intercept, shift)
    return Prepared(likelihood, np.zeros_like(mean) if far else mean, spread, units)


def _deviations(block: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Standard deviations, a few rows at a time: no copy of the block."""
    total = np.zeros_like(mean)
    for begin in range(0, len(block), DEVIATION_ROWS):
        apart = block[begin : begin + DEVIATION_ROWS] - mean
        total += np.square(apart, out=apart).sum(axis=0)
    return np.sqrt(total / len(block))


def measure_in(prepared: Prepared) -> Callable[[Point], dict]:
    """Columns of history beside the objective."""

    def measure(point: Point) -> dict:
        x = prepared.to_user(point.x).ravel()
        return {
            "gradient_norm": length(point.gradient), "parameter_norm": length(x),
            "learning_rate": point.step,
        }  # fmt: skip

    return measure


Stop = Callable[[Point], Status | None] | None


def solve_newton(prepared: Prepared, setting: Setting, stop: Stop = None) -> Solution:
    """Newton's method, started on a few thousand rows if there are many."""
    likelihood = prepared.likelihood
    x0 = start(prepared, setting)
    if setting.x0 is None:
        x0 = head_start(prepared, x0)
    scale = np.tile(np.append(prepared.spread, 1.0), likelihood.q)
    if stop is None and small.pays(likelihood):
        quick = small.solve_small(
            likelihood, x0, scale, ACCURACY, setting.max_iter, prepared.to_user
        )
        if quick is not None:
            return quick
    found = newton(
        likelihood.evaluate, curvature_of(likelihood), x0, max_iter=setting.max_iter, scale=scale,
        accuracy=ACCURACY, measure=measure_in(prepared), stop=stop,
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
    return Likelihood(
        Rows(whole.X.X[::stride]),
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
    x = shorter(prepared, found.x, null)
    return Solution(x, found.status, found.history, found.n_iter)


def shorter(prepared: Prepared, x: np.ndarray, null: np.ndarray) -> np.ndarray:
    """x plus what makes its slopes shortest, in the user's units, of the columns of `null`."""
    likelihood = prepared.likelihood
    if not null.shape[1]:
        return x
    slopes = np.ones((likelihood.q, likelihood.X.p + 1), dtype=bool)
    slopes[:, -1] = False
    units = np.ldexp(1.0, np.append(prepared.units - prepared.units.max(initial=0), 0))
    weight = np.tile(units, likelihood.q)[slopes.ravel()]
    flat, now = null[slopes.ravel()] * weight[:, None], x[slopes.ravel()] * weight
    size = max(float(np.abs(flat).max()), 1e-300), max(float(np.abs(now).max()), 1e-300)
    move, *_ = np.linalg.lstsq(flat / size[0], now / size[1], rcond=None)
    shift = null @ (move * (size[1] / size[0]))
    return x - shift if np.isfinite(shift).all() else x


def _balance(prepared: Prepared) -> tuple[np.ndarray, np.ndarray]:
    """Centres of the columns, and units in which every slope has the same curvature at first.

    They come from all rows, by weight: where L-BFGS stops depends on them, and weights are
    repetition. For rare words and levels the penalty is most of the curvature.
    """
    F = prepared.likelihood
    total = float(F.weights.sum())
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
    chance = 1.0 / F.n_classes
    spread = variance if F.intercept else variance + mean**2
    curvature = spread + F.alpha / (total * chance * (1 - chance))
    return mean, np.sqrt(np.where(curvature > 0, curvature, 1.0))


def solve_lbfgs(prepared: Prepared, setting: Setting, stop: Stop = None) -> Solution:
    """L-BFGS on centred columns of unit curvature, which are never formed; then Newton steps."""
    likelihood, q = prepared.likelihood, prepared.likelihood.q
    mean, spread = _balance(prepared)
    mean = mean if setting.intercept else np.zeros_like(mean)

    def outer(v: np.ndarray) -> np.ndarray:
        B = v.reshape(q, -1).copy()
        B[:, :-1] /= spread
        B[:, -1] -= B[:, :-1] @ mean
        return B.ravel()

    def inner(g: np.ndarray) -> np.ndarray:
        G = g.copy().reshape(q, -1)
        G[:, :-1] = (G[:, :-1] - G[:, -1:] * mean) / spread
        return G.ravel()

    def evaluate(v: np.ndarray) -> tuple[float, np.ndarray]:
        value, g = likelihood.evaluate(outer(v))
        return value, inner(g)

    def curvature(v: np.ndarray) -> Solve:
        product = likelihood.bend(outer(v))
        return lambda d: inner(product(outer(d)))

    B = start(prepared, setting).reshape(q, -1)
    B[:, -1] += B[:, :-1] @ mean
    B[:, :-1] *= spread
    measure, recorder = measure_in(prepared), Recorder("lbfgs", setting.max_iter)

    def as_seen(point: Point) -> Point:
        return replace(point, x=outer(point.x))

    watched: Any = {
        "max_iter": setting.max_iter, "recorder": recorder,
        "measure": lambda point: measure(as_seen(point)),
        "stop": None if stop is None else lambda point: stop(as_seen(point)),
    }  # fmt: skip
    slope = HANDOVER * setting.tol * float(likelihood.weights.sum())
    found = lbfgs(evaluate, B.ravel(), tol=slope, **watched)
    if found.status.code == "converged":
        gain, done = GAIN * setting.tol, found.n_iter
        found = truncated_newton(evaluate, curvature, found.x, gain=gain, done=done, **watched)
    return Solution(outer(found.x), found.status, found.history, found.n_iter)


def solve(
    X: Any, y: np.ndarray, w: np.ndarray, n_classes: int, solver: str, setting: Setting
) -> Fitted:
    """Coefficients as scikit-learn has them: x (1, p + 1), or (classes, p + 1) with sum 0."""
    lift = int(exponents(w.max()))
    if abs(lift) > EXTREME:  # the objective in other units, so that its squares are floats
        setting = replace(setting, alpha=float(np.ldexp(setting.alpha, -lift)))
        done = solve(X, y, np.ldexp(w, -lift), n_classes, solver, setting)
        with np.errstate(over="ignore"):
            lifted = {
                name: np.ldexp(done.history[name], lift) for name in ("objective", "gradient_norm")
            }
        return replace(done, history=done.history | lifted, inference=None)
    prepared = prepare(X, y, w, n_classes, setting)
    sentry = Sentry(prepared.likelihood, setting.terms) if setting.alpha == 0 else None
    if setting.firth:
        from pellucid.linear_model._logistic.firth import solve_firth

        prepared, found = solve_firth(prepared, setting)
    else:
        found = _solve_smooth(prepared, setting, solver, sentry)
    status, separation = found.status, None if sentry is None else sentry.found
    if sentry is not None and not setting.firth:
        newtons = solver == "newton" or (
            solver == "auto" and prepared.likelihood.size <= NEWTON_SIZE
        )
        status = sentry.ended(found.x, status.ok, newtons) or status
        separation = sentry.found
    known = None
    if setting.alpha == 0 and prepared.likelihood.size <= INFERENCE_SIZE:
        from pellucid.linear_model._logistic.information import with_information

        known = with_information(prepared, found.x, separation)
    return Fitted(
        symmetric(prepared.to_user(found.x), n_classes, setting.intercept), status, found.history,
        found.n_iter, () if separation is None else tuple(separation.columns.tolist()), known,
    )  # fmt: skip


def _solve_smooth(
    prepared: Prepared, setting: Setting, solver: str, sentry: Sentry | None
) -> Solution:
    if solver == "auto":
        from pellucid.linear_model._logistic.wide import pays, solve_wide

        wide = solve_wide(prepared, setting) if pays(prepared.likelihood) else None
        if wide is not None:
            return wide
        solver = "newton" if prepared.likelihood.size <= NEWTON_SIZE else "lbfgs"
    way = solve_newton if solver == "newton" else solve_lbfgs
    stop = None if sentry is None else lambda point: sentry(point.x, point.value)
    # A step beyond the largest float is refused by the search; curvature along it is not learned.
    with np.errstate(over="ignore", invalid="ignore"):
        return way(prepared, setting, stop)


def symmetric(B: np.ndarray, n_classes: int, intercept: bool) -> np.ndarray:
    """Coefficients of all classes that sum to 0, from differences to class 0."""
    if not intercept:
        B[:, -1] = 0.0
    if n_classes > 2:
        B = np.concatenate([np.zeros((1, B.shape[1])), B])
        with np.errstate(over="ignore", invalid="ignore"):  # the caller refuses what is not finite
            B -= B.mean(axis=0)
    return B
