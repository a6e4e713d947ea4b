"""Least squares with no more rows than columns: the shortest b with X b + b0 = y.

It is a combination b = X's of the rows, with 1's = 0 beside an intercept: as many unknowns as rows.

Invariant: the factor of X X' only steers the iteration; the digits come from X's and y - X b - b0,
which are summed in double-double. Rows that are nearly dependent have no solution here.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from pellucid import parallel
from pellucid.numerics.design_matrix import Design, products_by_columns
from pellucid.numerics.double_double import Vector, loops, residual_gradient, residuals
from pellucid.numerics.linalg import GRAM_DIGITS, Factor, cholesky_factor

MAX_PASSES = 10
LEAST = 2.0**-600  # square of a row's length below which digits are lost
PANEL = 1024  # columns that are orthogonalised together


@dataclass(frozen=True)
class Interpolation:
    """The fit of k targets by n rows, c = 1 beside an intercept."""

    b: np.ndarray  # (k, p + 1), the intercept last
    mean: np.ndarray  # (p,) of the columns; 0 without an intercept
    total_ss: np.ndarray  # (k,)
    singular: np.ndarray  # (n - c,)
    independent: np.ndarray  # n - c columns that span the others


@dataclass(frozen=True)
class Dual:
    """The rows A = (X - mean) sqrt(w) as B - root drift', and the factor of A A' + unit unit' g."""

    design: Design
    B: np.ndarray  # (n, p)
    root: np.ndarray  # (n,): sqrt(w)
    drift: np.ndarray  # (p,): mean - shift; 0 without an intercept
    lengths: np.ndarray  # (p,) of the columns of A; 0 for constants
    products: np.ndarray  # (n, n): A A'
    factor: Factor
    total: float

    @property
    def mean(self) -> np.ndarray:
        return self.design.shift + self.drift

    def rows(self, columns: slice) -> np.ndarray:
        """Some columns of A."""
        return self.B[:, columns] - np.outer(self.root, self.drift[columns])

    def off_centre(self, r: np.ndarray) -> float:
        """What the intercept must grow by to make the mean of r 0."""
        return float(self.root @ (self.root * r)) / self.total if self.design.constant else 0.0

    def solve(self, r: np.ndarray) -> np.ndarray:
        """s with X X's = r, both without their mean."""
        a = self.factor.solve(self.root * (r - self.off_centre(r)))
        if self.design.constant:
            a -= self.root * (float(self.root @ a) / self.total)
        return self.root * a


def interpolate(design: Design) -> Interpolation | None:
    """1. Products of the centred rows, and their factor. 2. Each target, refined.
    3. Singular values. 4. Columns that span the others.

    None if the rows are not clearly independent, or of extreme size.
    """
    dual = make_dual(design)
    if dual is None:
        return None
    fits = [refine(dual, k) for k in range(design.Y.shape[1])]
    good = [fit for fit in fits if fit is not None]
    if len(good) < len(fits):
        return None
    jobs = [singular_values, spanning_columns]
    singular, independent = parallel.map(lambda job: job(dual), jobs)
    w, start = design.weights, design.start
    middle = start + (w @ (design.Y - start)) / dual.total if design.constant else start
    return Interpolation(
        b=np.array(good),
        mean=dual.mean,
        total_ss=w @ np.square(design.Y - middle),
        singular=singular,
        independent=independent,
    )


def make_dual(design: Design) -> Dual | None:
    B, root = design.columns(), np.sqrt(design.weights)
    total, n = float(design.weights.sum()), design.X.n
    K = np.empty((n, n))
    with np.errstate(over="ignore", invalid="ignore"):
        products_by_columns(B.T, K)
        squares = np.einsum("ij,ij->j", B, B)
        drift = (root @ B) / total if design.constant else np.zeros(design.X.p)
        lengths = np.sqrt(np.maximum(squares - total * drift**2, 0.0))
    if not np.isfinite(K).all():
        return None
    constant = lengths <= design.noise(total)
    if (squares[constant] > 0).any():  # they carry nothing; here B is no view of X
        B[:, constant] = drift[constant] = lengths[constant] = 0.0
        products_by_columns(B.T, K)
    filled = K
    if design.constant:
        unit = root / np.sqrt(total)
        edge = K @ unit
        K -= np.outer(unit, edge)
        K -= np.outer(edge, unit)
        K += np.outer(unit, unit) * float(unit @ edge)
        filled = K + np.outer(unit, unit) * (np.trace(K) / n)
    factor = cholesky_factor(filled) if np.diagonal(filled).min() > LEAST else None
    return None if factor is None else Dual(design, B, root, drift, lengths, K, factor, total)


def refine(dual: Dual, k: int) -> np.ndarray | None:
    """(p + 1) coefficients of target k; None if corrections do not shrink.

    Corrections shrink by a constant rate: the last one is that after which no digit would change.
    """
    design, p = dual.design, dual.design.X.p
    X, y = design.X, np.ascontiguousarray(design.Y[:, k])
    s = dual.solve(y - design.start[k])
    b = residual_gradient(X, s, np.ones(X.n), Vector(p + 2))
    if design.constant:
        loops.centre(b.high, b.low, dual.mean)
    nothing = np.append(dual.lengths == 0, [True, True])
    b.high[nothing] = b.low[nothing] = 0.0
    shift = design.start[k] + dual.off_centre(y - design.start[k])
    b.add(np.append(np.zeros(p), [shift - dual.mean @ b.high[:p], 0.0]))
    length = fit = float(np.linalg.norm(s))
    for passes in range(1, MAX_PASSES + 1):
        r = residuals(X, y, b)
        step = dual.solve(r)
        previous, length = length, float(np.linalg.norm(step))
        if not length < previous / 2:
            return b.high[: p + 1].copy() if passes > 1 or length == 0 else None
        along = (step / dual.root) @ dual.B - float(step.sum()) * dual.drift
        along[nothing[:p]] = 0.0
        b.add(np.append(along, [dual.off_centre(r) - dual.mean @ along, 0.0]))
        rate = length / previous
        unseen = np.maximum(2.0**-55 * np.abs(b.high[:p]), 2.0**-75 * fit * dual.lengths)
        if np.all(np.abs(along) * rate <= unseen):
            break
    return b.high[: p + 1].copy()


def singular_values(dual: Dual) -> np.ndarray:
    """Of A, the largest first: from A A' where squares keep the digits, else from its triangle.

    That is made twice: the rows are nearly orthonormal the second time, so nothing is lost.
    """
    c = int(dual.design.constant)
    if dual.factor.condition <= GRAM_DIGITS:
        values = np.linalg.eigvalsh(dual.products)[c:]
        return np.sqrt(np.maximum(values, 0.0))[::-1]
    T, scale = dual.factor.T, np.ldexp(1.0, dual.factor.exponents)[:, None]

    def partial(columns: slice) -> np.ndarray:
        Q, _ = lapack.dtrtrs(T, dual.rows(columns) * scale, trans=1)
        return Q @ Q.T

    ends = range(0, dual.design.X.p, PANEL)
    panels = [slice(begin, begin + PANEL) for begin in ends]
    second = parallel.reduce(partial, np.ndarray.__iadd__, panels)
    if c:  # the direction that fills up A A' is not in A
        unit, _ = lapack.dtrtrs(T, (dual.root / np.sqrt(dual.total))[:, None] * scale, trans=1)
        second += unit @ unit.T * (np.trace(dual.products) / len(T))
    U, _ = lapack.dpotrf(second, lower=0, clean=1)
    values = np.linalg.svd((U @ T) / scale.T, compute_uv=False)
    filled = np.argsort(np.abs(values - np.sqrt(np.trace(dual.products) / len(T))))[:c]
    return np.delete(values, filled)


def spanning_columns(dual: Dual) -> np.ndarray:
    """The first ones, if they are independent, else those that elimination with pivots prefers."""
    n, p = dual.B.shape
    m = n - int(dual.design.constant)
    first = dual.rows(slice(0, m))
    if cholesky_factor(first.T @ first) is not None:
        return np.arange(m)
    unit = np.ldexp(1.0, -np.frexp(dual.lengths)[1])
    _, swaps, _ = lapack.dgetrf((dual.rows(slice(0, p)) * unit).T, overwrite_a=1)
    order = np.arange(p)
    for i, j in enumerate(swaps[:m]):
        order[i], order[j] = order[j], order[i]
    return np.sort(order[:m])
