"""Least squares to the last digit: minimise sum_i w_i (y_i - x_i . b - b0)^2.

Invariant: the factor of X' W X only steers the iteration; the digits come from residuals summed in
double-double, so the answer does not depend on how the factor was made.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.numerics import linalg
from pellucid.numerics.design_matrix import Design, make_design
from pellucid.numerics.double_double import (
    Vector,
    inverse_gram_diagonal,
    loops,
    residual_gradient,
    residual_gradients,
)
from pellucid.numerics.min_norm import Interpolation, interpolate
from pellucid.numerics.row_blocks import FIRST, Rows, exponents, lifted
from pellucid.parallel.cached import cached_property

MAX_REFINEMENTS = 10
TAME = 100  # |log2| of a column's size up to which squares and sums of squares are safe
EXACT_VARIANCE_WORK = 2**22  # n p^2 up to which variances are computed in double-double
FAR = 1e6  # offset of a column in units of its spread


@dataclass(frozen=True)
class LeastSquares:
    """The fit of k targets; squares are in units of 4**exponent, which no target can overflow."""

    coef: np.ndarray  # (k, p)
    intercept: np.ndarray  # (k,)
    residual_ss: np.ndarray  # (k,)
    total_ss: np.ndarray  # (k,), around the mean if there is an intercept
    exponent: np.ndarray  # (k,)
    unit_error: np.ndarray  # (p + 1,): standard errors of columns and intercept for residual
    # variance 1; NaN where a coefficient is not unique
    mean: np.ndarray  # (p,) of the columns; 0 without an intercept
    singular: np.ndarray  # singular values of the (centred) weighted X
    rank: int
    aliased: np.ndarray  # columns that the others, or the constant, already span
    condition: float  # of the columns brought to equal length
    root: np.ndarray  # (p, rank): root root' is the covariance of b for residual variance 1
    centre: np.ndarray  # (p,) near the mean, or 0 if the mean is near 0
    drift: np.ndarray  # (rank,): (centre - mean) . root, without the rounding of the mean
    null: np.ndarray | None  # (p, p - rank), orthonormal: directions of b that change no fitted
    # value; None for a table with fewer rows than columns, where they are many


@dataclass(frozen=True)
class Moments:
    """Centred second moments and the factor of those of X; `mean` is that of X (0 without 1)."""

    total: float
    mean: np.ndarray
    mean_y: np.ndarray
    drift: np.ndarray  # mean - shift of the design
    Sxy: np.ndarray
    Syy: np.ndarray
    factor: linalg.Factor
    R: np.ndarray  # R' R = Sxx

    @cached_property
    def lengths(self) -> np.ndarray:
        """Of the columns of R."""
        return np.sqrt(np.einsum("ij,ij->j", self.R, self.R))


def extreme(sizes: np.ndarray) -> bool:
    """Whether columns of these sizes must be scaled before they are squared."""
    return bool(np.any(np.abs(exponents(sizes)) > TAME))


def find_moments(design: Design) -> Moments | None:
    """Moments by one pass (Gram), by a second one (QR) if the first is too rough.

    None if squares under- or overflow.
    """
    c, p = int(design.constant), design.X.p
    if design.X.n <= p:
        return _wide_moments(design)
    G = design.gram()
    total = float(G[0, 0]) if c else float(parallel.sum_rows(design.weights))
    with np.errstate(over="ignore", invalid="ignore"):
        drift = G[0, 1:] / total if c else np.zeros(G.shape[1])
        S = G[c:, c:] - total * (drift[:, None] * drift)
    tiny = not (G.diagonal()[c : c + p] > 2.0**-600).all()
    if not np.isfinite(S).all() or (tiny and extreme(design.X.largest())):
        return None
    squares = S.diagonal()
    Syy = np.maximum(squares[p:], 0.0)
    noise = design.noise(total)
    factor = None
    if (squares[:p] > noise**2).all():
        factor = linalg.cholesky_factor(S[:p, :p])
    if factor is not None:
        if factor.condition > linalg.GRAM_DIGITS:
            factor = factor.sharpened(lambda V: design.gram_along(V, drift[:p]))
        R, Sxy = factor.triangle(), S[:p, p:]
    else:
        triangle = design.triangle()
        R = triangle[c:, c : c + p]
        R[:, np.linalg.norm(R, axis=0) <= noise] = 0.0
        factor = linalg.triangular_factor(R, design.X.n)
        Sxy = R.T @ triangle[c:, c + p :]
    mean, mean_y = design.shift + drift[:p], design.start + drift[p:]
    return Moments(total, mean, mean_y, drift[:p], Sxy, Syy, factor, R)


def _wide_moments(design: Design) -> Moments | None:
    """Of a table with fewer rows than columns: its Gram has no inverse, so none is made."""
    c, p = int(design.constant), design.X.p
    with np.errstate(over="ignore", invalid="ignore"):
        triangle = design.triangle()
        squares = np.square(triangle).sum(axis=0)
    tiny = not np.all(squares[c : c + p] > 2.0**-600)
    if not np.isfinite(squares).all() or (tiny and extreme(design.X.largest())):
        return None
    total = float(parallel.sum_rows(design.weights))
    drift = triangle[0, 1:] / triangle[0, 0] if c else np.zeros(triangle.shape[1])
    R, targets = triangle[c:, c : c + p], triangle[c:, c + p :]
    R[:, np.linalg.norm(R, axis=0) <= design.noise(total)] = 0.0
    factor = linalg.triangular_factor(R, design.X.n)
    mean, mean_y = design.shift + drift[:p], design.start + drift[p:]
    Syy = np.square(targets).sum(axis=0)
    return Moments(total, mean, mean_y, drift[:p], R.T @ targets, Syy, factor, R)


def first_steps(design: Design, moments: Moments) -> list[np.ndarray]:
    """(p + 2) of each target: the solution of the normal equations, the intercept, and a 0."""
    steps = []
    for k in range(design.Y.shape[1]):
        start = np.zeros(design.X.p + 2)
        start[:-2] = step = moments.factor.solve(moments.Sxy[:, k])
        start[-2] = moments.mean_y[k] - moments.mean @ step
        steps.append(start)
    return steps


def refined(design: Design, moments: Moments) -> list[tuple[np.ndarray, float]]:
    """`refine` of each target; the first residuals of all targets are made in one pass."""
    starts = first_steps(design, moments)
    b = [Vector(len(start)) for start in starts]
    for vector, start in zip(b, starts):
        vector.add(start)
    gradients = residual_gradients(design.X, design.Y, design.weights, b)
    return [refine(design, moments, k, b[k], g) for k, g in enumerate(gradients)]


def refine(
    design: Design, moments: Moments, k: int, b: Vector, g: Vector
) -> tuple[np.ndarray, float]:
    """(p + 1) coefficients of target k, the intercept last, and the residual sum of squares.

    Iterates b += (X' W X)^-1 g, g = X' W (y - X b) in double-double, from the first b and its g.

    Stops when the next correction would not change a digit (the corrections shrink by a constant
    rate), when corrections stop shrinking, or after MAX_REFINEMENTS passes.
    """
    p, factor = design.X.p, moments.factor
    change = np.zeros(p + 2)
    length = fit = factor.norm(b.high[:p])
    lengths = moments.lengths
    for passes in range(1, MAX_REFINEMENTS + 1):
        if passes > 1:
            g = residual_gradient(design.X, design.Y[:, k], design.weights, b)
        residual_ss = float(g.high[p + 1])
        if design.constant:
            loops.centre(g.high, g.low, moments.mean)
        change[:p] = step = factor.solve(g.high[:p])
        rest = float(g.high[p]) if design.constant else 0.0
        change[p] = rest / moments.total - moments.mean @ step if design.constant else 0.0
        slip = rest / math.sqrt(moments.total)
        previous, length = length, math.hypot(factor.norm(step), slip)
        if passes > 1 and not length < previous / 2:
            break
        b.add(change)
        residual_ss -= length**2
        rate = length / previous if previous > 0 else 0.0
        unseen = np.maximum(2.0**-55 * np.abs(b.high[:p]) * lengths, 2.0**-75 * fit)
        settled = (np.abs(step) * lengths * rate <= unseen).all()
        if rate == 0.0 or (settled and abs(slip) * rate <= 2.0**-55 * fit):
            break
    return b.high[: p + 1].copy(), max(residual_ss, 0.0)


def least_squares(
    X: Any, Y: np.ndarray, weights: np.ndarray, fit_intercept: bool = True
) -> LeastSquares:
    """Fit the columns of Y (n, k) on X (n, p), an array or CSR.

    0. Independent rows, no more of them than columns, are met exactly: see `min_norm`.
    1. Bring columns of extreme size near 1 by powers of two.
    2. Factor the centred X' W X: Cholesky of the Gram matrix, or QR of X where that is too rough.
    3. Refine each solution with double-double residuals until the correction stalls.
    4. Among equally good solutions take the shortest.
    """
    table, units = Rows(X), np.zeros(X.shape[1], dtype=np.int64)
    lift = exponents(parallel.largest(np.abs(Y).max(axis=0, initial=0.0)))
    Y = lifted(Y, -lift)
    design = make_design(table, Y, weights, fit_intercept)
    wild = parallel.of_first_rows(lambda: extreme(np.abs(table.dense(slice(0, FIRST))).max(axis=0)))
    if not wild and _leaves_no_freedom(table, weights):
        found = interpolate(design)
        if found is not None:
            return _interpolated(design, found, lift)
    moments = None if wild else find_moments(design)
    if moments is None:
        units = -exponents(table.largest()).astype(np.int64)
        design = make_design(table.scaled(units), Y, weights, fit_intercept)
        moments = find_moments(design)
        assert moments is not None
    with parallel.one_blas_thread():
        return _assemble(design, moments, refined(design, moments), units, lift)


def _leaves_no_freedom(table: Rows, weights: np.ndarray) -> bool:
    """Whether a dense table has no more rows than columns, and no row stands for several."""
    if table.sparse or table.n > table.p:
        return False
    return bool(np.all(weights == 1.0) or np.any(weights != np.floor(weights)))


def _interpolated(design: Design, found: Interpolation, lift: np.ndarray) -> LeastSquares:
    """Whether the fit passes through every row, so that nothing is left to estimate a variance."""
    k, p = len(found.b), design.X.p
    spanned = np.ones(p, dtype=bool)
    spanned[found.independent] = False
    with np.errstate(over="ignore"):
        coef = np.ldexp(found.b[:, :-1], lift[:, None])
        intercept = np.ldexp(found.b[:, -1], lift) if design.constant else np.zeros(k)
    return LeastSquares(
        coef=coef,
        intercept=intercept,
        residual_ss=np.zeros(k),
        total_ss=found.total_ss,
        exponent=lift,
        unit_error=np.full(p + 1, np.nan),
        mean=found.mean,
        singular=found.singular,
        rank=len(found.independent),
        aliased=np.flatnonzero(spanned),
        condition=float(found.singular[0] / found.singular[-1]),
        root=np.zeros((p, 0)),
        centre=design.shift,
        drift=np.zeros(0),
        null=None,
    )


def _assemble(
    design: Design,
    moments: Moments,
    fits: list[tuple[np.ndarray, float]],
    units: np.ndarray,
    lift: np.ndarray,
) -> LeastSquares:
    """Back to the original scale, shortest solution, variances."""
    factor = moments.factor
    b = np.array([b for b, _ in fits])
    coef, intercept = b[:, :-1], b[:, -1]
    rows = factor.inverse_rows()
    variance = unit_variance(design, moments, rows)
    null: np.ndarray | None = np.zeros((design.X.p, 0))
    if factor.rank < design.X.p:
        with np.errstate(over="ignore", invalid="ignore"):  # such coefficients are refused in words
            shortest, free, null = _shortest(moments, units, np.ldexp(coef, units))
            moved = coef - np.ldexp(shortest, -units)
            intercept = intercept + moved @ moments.mean
            coef = np.ldexp(shortest, -units)
        variance[:-1][free] = np.nan
    squares = np.array([residual_ss for _, residual_ss in fits])
    error, mean, centre = np.sqrt(variance), moments.mean, design.shift
    root = np.zeros((design.X.p, factor.rank))
    root[factor.order] = rows
    with np.errstate(over="ignore"):  # what is larger than every float is infinite
        coef = np.ldexp(coef, units + lift[:, None])
        intercept = np.ldexp(intercept, lift) if design.constant else np.zeros(len(fits))
        if units.any():
            error[:-1] = np.ldexp(error[:-1], units)
            mean, centre = np.ldexp(mean, -units), np.ldexp(centre, -units)
            root = np.ldexp(root, units[:, None])
        singular = _singular_values(moments.R, units)
    return LeastSquares(
        coef=coef,
        intercept=intercept,
        residual_ss=squares,
        total_ss=moments.Syy,
        exponent=lift,
        unit_error=error,
        mean=mean,
        singular=singular,
        rank=factor.rank,
        aliased=factor.aliased,
        condition=factor.condition,
        root=root,
        centre=centre,
        drift=-moments.drift[factor.order] @ rows,
        null=null,
    )


def _singular_values(R: np.ndarray, units: np.ndarray) -> np.ndarray:
    """Singular values of R on the original scale; those beyond the floats are infinite."""
    if not units.any():
        return np.linalg.svd(R, compute_uv=False)
    scaled = np.ldexp(R, -units)
    room = 0 if np.isfinite(scaled).all() else 64
    scaled = np.ldexp(R, -units - room) if room else scaled
    return np.ldexp(np.linalg.svd(scaled, compute_uv=False), room)


def _shortest(
    moments: Moments, units: np.ndarray, coef: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """The shortest of equally good coefficients (k, p), which columns are not determined, and the
    null space if it had to be computed."""
    along = linalg.row_space(moments.R, moments.factor, units)
    if along is not None:
        return (coef @ along) @ along.T, 1 - np.square(along).sum(axis=1) > 16 * linalg.EPS, None
    null = linalg.null_space(moments.R, moments.factor, units)
    return coef - (coef @ null) @ null.T, np.linalg.norm(null, axis=1) > np.sqrt(linalg.EPS), null


def unit_variance(design: Design, moments: Moments, rows: np.ndarray) -> np.ndarray:
    """diag((X' W X)^-1), the intercept last (NaN without one), in the units of the design.

    `rows` are `Factor.inverse_rows`.
    """
    factor, p = moments.factor, design.X.p
    diagonal = np.full(p + 1, np.nan)
    diagonal[factor.order] = np.einsum("ij,ij->i", rows, rows)
    if design.constant:
        lever = moments.mean[factor.order] @ rows
        diagonal[p] = 1 / moments.total + lever @ lever
    spread = moments.lengths / math.sqrt(moments.total)
    with np.errstate(over="ignore"):
        offset = float((np.abs(moments.mean) / np.maximum(spread, 1e-300)).max(initial=0.0))
    rough = max(factor.condition, offset) > linalg.GRAM_DIGITS
    if not rough or factor.rank < p or design.X.n * (p + 1) ** 2 > EXACT_VARIANCE_WORK:
        return diagonal
    # Far from 0 even 32 digits of x x' are too few; but there x - shift is exact.
    far = offset > FAR
    X = Rows(design.X.dense(slice(None)) - design.shift) if far else design.X
    exact = inverse_gram_diagonal(X, design.weights, design.constant)
    if exact is not None:
        known = p if far else len(exact)
        diagonal[:known] = exact[:known]
    return diagonal
