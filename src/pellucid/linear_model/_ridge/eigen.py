"""The principal directions of a centred, weighted table: X'WX = V diag(values) V'.

With them a ridge solution costs a division for any penalty: b = V (V'X'Wy / (values + alpha)).

Invariant: columns are on the original scale; targets are divided by 2**lift, so that nothing
overflows; directions that the rows do not show are left out, so len(values) is the rank.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.errors import DataError
from pellucid.linear_model._ridge.solver import Ridge, Tall, Wide, prepare
from pellucid.numerics.linalg import EPS
from pellucid.parallel.cached import cached_property

# Share of the largest value below which a value must not be taken from squared columns.
ROUGH = 1e-9
UNCENTRED = 1e-5  # the same where columns may lie far from 0: their squares hide how they vary
SQUARED = 1e-3  # the same for vectors of a wide table: their error grows with its inverse
# Share of y'y below which the residual sum of squares is summed row by row.
NEAR = 1e-6


@dataclass(frozen=True)
class Spectrum:
    """values (r,), vectors (p, r), projections V'X'Wy (r, k), y'Wy (k,), all centred, and the means.

    `make_vectors` is called when the vectors are first needed: of a wide table they are costly.
    """

    task: Ridge
    solver: Any
    values: np.ndarray
    make_vectors: Callable[[], np.ndarray]
    projections: np.ndarray
    yy: np.ndarray
    mean: np.ndarray
    mean_y: np.ndarray
    total: float

    @cached_property
    def vectors(self) -> np.ndarray:
        return self.make_vectors()

    @property
    def lift(self) -> np.ndarray:
        return self.task.lift

    def ridge(self, alpha: Any, k: int = 0) -> np.ndarray:
        """Coefficients (p,) of target k, in units of 2**lift."""
        return self.vectors @ (self.projections[:, k] / (self.values + alpha))

    def residual_ss(self) -> float:
        """Of least squares for the first target, in units of 4**lift; if small, row by row."""
        projections, design = self.projections[:, 0], self.task.design
        rest = float(self.yy[0] - np.sum(projections**2 / self.values))
        if rest > NEAR * self.yy[0]:
            return rest
        b = np.ldexp(self.vectors @ (projections / self.values), -self.task.units)
        middle = self.mean_y[0] - np.ldexp(self.mean, self.task.units) @ b

        def partial(rows: slice) -> float:
            r = design.Y[rows, 0] - np.asarray(design.X.X[rows] @ b) - middle
            return float(design.weights[rows] @ r**2)

        squares = parallel.reduce(partial, float.__add__, design.X.blocks)
        return float(np.ldexp(squares, self.task.weights_lift))


def make_spectrum(X: Any, Y: np.ndarray, weights: np.ndarray, intercept: bool) -> Spectrum:
    """By the products X'WX where they are exact enough, else by a QR or SVD of the table."""
    task = prepare(X, Y, weights, intercept, X.shape[0] >= X.shape[1])
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        made = _tall(task) if task.design.X.n >= task.design.X.p else _wide(task)
    if not all(np.isfinite(part).all() for part in (made.values, made.projections, made.mean)):
        raise DataError(
            "The columns (or weights) differ in size by more than a float can hold when squared. "
            "Bring them to similar scales first."
        )
    return made


def complete(vectors: np.ndarray) -> np.ndarray:
    """Orthonormal columns (p, r), and after them the p - r directions that they leave out."""
    p, r = vectors.shape
    if r == p:
        return vectors
    rest = np.linalg.svd(vectors.T, full_matrices=True)[2][r:].T if r else np.eye(p)
    return np.column_stack([vectors, rest])


def _tall(task: Ridge) -> Spectrum:
    solver, p = Tall(task), task.design.X.p
    out = task.weights_lift
    units = task.units
    S = np.ldexp(solver.S[:p, :p], out - units - units[:, None])
    Sxy = np.ldexp(solver.S[:p, p:], out - units[:, None])
    yy = np.ldexp(np.maximum(np.diagonal(solver.S)[p:], 0.0), out)
    values, vectors = np.zeros(0), np.zeros((p, 0))
    if np.isfinite(S).all() and p:
        values, vectors = np.linalg.eigh(S)
    rough = ROUGH if task.design.constant else UNCENTRED
    if not np.isfinite(S).all() or (p and values[0] <= rough * values[-1]):
        values, vectors, projections = _by_triangle(task, solver)
    else:
        projections = vectors.T @ Sxy
    mean = np.ldexp(solver.mean, -units)
    total = float(np.ldexp(solver.total, out))
    return Spectrum(
        task, solver, values, lambda: vectors, projections, yy, mean, solver.mean_y, total
    )


def _by_triangle(task: Ridge, solver: Tall) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """From R of the QR decomposition: small values keep their digits."""
    design, c, p = task.design, int(task.design.constant), task.design.X.p
    triangle = design.triangle()
    R = triangle[c:, c : c + p].copy()
    R[:, solver.constant] = 0.0
    root = np.sqrt(np.ldexp(1.0, task.weights_lift))
    R, targets = np.ldexp(R, -task.units) * root, triangle[c:, c + p :] * root
    if not np.isfinite(R).all():
        return np.full(1, np.inf), np.zeros((p, 1)), np.zeros((1, design.Y.shape[1]))
    U, s, Vt = np.linalg.svd(R, full_matrices=False)
    seen = s > max(design.X.n, p) * EPS * s[0] if len(s) else np.zeros(0, dtype=bool)
    return s[seen] ** 2, Vt[seen].T.copy(), s[seen, None] * (U[:, seen].T @ targets)


def _by_rows(K: np.ndarray, null: np.ndarray | None) -> tuple[np.ndarray, np.ndarray] | None:
    """The left singular vectors and the singular values of a wide A by K = AA', which is much faster;
    None if the smallest value is too small for squares. `null` is a direction that A'null = 0 leaves
    out."""
    if not np.isfinite(K).all():
        return None
    values, U = np.linalg.eigh(K)
    if null is not None and len(values) and abs(null @ U[:, 0]) > 0.999:
        values, U = values[1:], U[:, 1:]
    if not len(values) or not values[0] > SQUARED * values[-1]:
        return None
    return U[:, ::-1], np.sqrt(values[::-1])


def _wide(task: Ridge) -> Spectrum:
    solver = Wide(task)
    A, y, K = solver.A, solver.y, None
    if task.units.any() or task.weights_lift:
        root = np.sqrt(np.ldexp(1.0, task.weights_lift))
        A, y = np.ldexp(A, -task.units) * root, y * root
    else:
        K = solver.products
    mean = np.ldexp(solver.mean, -task.units)
    total = float(np.ldexp(task.design.weights.sum(), task.weights_lift))
    yy = np.square(y).sum(axis=0)
    made = (yy, mean, solver.mean_y, total)
    if not np.isfinite(A).all():
        nothing = np.zeros((1, y.shape[1]))
        return Spectrum(task, solver, np.full(1, np.inf), solver.A.copy, nothing, *made)
    found = _by_rows(A @ A.T if K is None else K, solver.null)
    if found is None:
        U, s, Vt = np.linalg.svd(A, full_matrices=False)
        solver.singular = None if K is None else (U, s, Vt)
    else:
        (U, s), Vt = found, None
    solver.left = U
    seen = s > max(A.shape) * EPS * s[0] if len(s) else np.zeros(0, dtype=bool)
    projections = s[seen, None] * (U[:, seen].T @ y)

    def vectors() -> np.ndarray:
        return A.T @ (U / s)[:, seen] if Vt is None else Vt[seen].T

    return Spectrum(task, solver, s[seen] ** 2, vectors, projections, *made)
