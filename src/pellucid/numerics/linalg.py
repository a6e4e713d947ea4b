"""Factors of X' W X and solutions of systems with them, accurate for any units and any rank.

Invariant: no inverse is formed where a factor suffices; columns are scaled by powers of two (exact);
rank is decided on scaled columns: pivoted, with the tolerance max(n, p) eps, or in their order.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import lapack, qr

from pellucid import parallel
from pellucid.parallel.cached import cached_property

EPS = np.finfo(float).eps
# Scaled condition number of X above which X' X no longer holds enough of X.
GRAM_LIMIT = 1e6
# And above which its factor has fewer than 11 digits, because rounding counts twice in it.
GRAM_DIGITS = 100.0
WELL_CONDITIONED = 30.0  # products of rows or columns keep 13 digits below it
ALIKE = 20  # |log2| of the ratio of sizes of columns that need no care


@dataclass(frozen=True)
class Factor:
    """T' T = (D A D)[order, order] with A = X' W X, D = diag(2**exponents), T upper triangular.

    `order` holds the independent columns only, so rank = len(order).
    """

    T: np.ndarray
    order: np.ndarray
    exponents: np.ndarray
    condition: float

    @property
    def rank(self) -> int:
        return len(self.order)

    @cached_property
    def scales(self) -> np.ndarray:
        """Exponents of the independent columns."""
        return self.exponents[self.order]

    @property
    def aliased(self) -> np.ndarray:
        """Indices of the columns that the others already span."""
        if self.rank == len(self.exponents):
            return np.zeros(0, dtype=np.int64)
        spanned = np.ones(len(self.exponents), dtype=bool)
        spanned[self.order] = False
        return np.flatnonzero(spanned)

    def solve(self, g: np.ndarray) -> np.ndarray:
        """x with A x = g and x = 0 in the aliased columns; g is (p,) or (p, k)."""
        if self.rank == 0:
            return np.zeros_like(g)
        scale = self.scales if g.ndim == 1 else self.scales[:, None]
        u, _ = lapack.dtrtrs(self.T, np.ldexp(g[self.order], scale), trans=1)
        u, _ = lapack.dtrtrs(self.T, u)
        x = np.zeros_like(g)
        x[self.order] = np.ldexp(u, scale)
        return x

    def norm(self, x: np.ndarray) -> float:
        """sqrt(x' A x): how much x moves the fitted values."""
        moved = self.T @ np.ldexp(x[self.order], -self.scales)
        return math.sqrt(moved @ moved)

    def triangle(self) -> np.ndarray:
        """R with R' R = A[order, order]."""
        return np.ldexp(self.T, -self.scales)

    def inverse_rows(self) -> np.ndarray:
        """Rows v_j with (A^-1)_jk = v_j . v_k, in the columns of `order`."""
        if self.rank == 0:
            return np.zeros((0, 0))
        inverse, _ = lapack.dtrtri(self.T)
        return np.ldexp(inverse, self.scales[:, None])

    def sharpened(self, gram: Callable[[np.ndarray], np.ndarray]) -> "Factor":
        """The same with the digits of a QR decomposition; `gram` is V -> (X V)' W X V.

        The columns of X V are nearly orthonormal, so the factor of their products is exact.
        """
        V = np.zeros((len(self.exponents), self.rank))
        V[self.order] = self.inverse_rows()
        T, failed = lapack.dpotrf(gram(V), lower=0, clean=1)
        return self if failed else replace(self, T=np.asfortranarray(T @ self.T))


def cholesky_factor(A: np.ndarray) -> Factor | None:
    """Factor of a positive definite A, or None if its scaled condition number is out of reach."""
    diagonal = np.diagonal(A)
    if not diagonal.min() > 0 or not np.isfinite(diagonal.max()):
        return None
    scale = -(np.frexp(diagonal)[1] // 2)  # brings the diagonal into [1/2, 2)
    factors = np.ldexp(1.0, scale)
    scaled = A * factors
    scaled *= factors[:, None]
    norm = float(lapack.dlange("1", scaled.T))
    if not np.isfinite(norm):
        return None
    T, failed = lapack.dpotrf(scaled.T, lower=0, clean=1, overwrite_a=1)  # T has LAPACK's order
    if failed:
        return None
    reciprocal, _ = lapack.dpocon(T, norm)
    if reciprocal < GRAM_LIMIT**-2:
        return None
    return Factor(T, np.arange(len(A)), scale, float(reciprocal**-0.5))


def triangular_factor(R: np.ndarray, n: int) -> Factor:
    """Factor of R' R by a pivoted, column-scaled QR decomposition: any rank."""
    p = R.shape[1]
    scale = -np.frexp(np.linalg.norm(R, axis=0))[1]
    scaled = np.ldexp(R, scale)
    T, order = qr(scaled, mode="r", pivoting=True, check_finite=False)
    pivots = np.abs(np.diagonal(T))
    largest = pivots[0] if len(pivots) else 0.0
    rank = int(np.sum(pivots > max(n, p) * EPS * largest))
    T, order = T[:rank, :rank], np.asarray(order[:rank], dtype=np.int64)
    condition = float(largest / pivots[rank - 1]) if rank else 1.0
    return Factor(np.asfortranarray(T), order, scale, condition)


def ordered_factor(R: np.ndarray, least: float) -> Factor:
    """Factor of R' R, any rank; of columns that depend on each other the first ones are kept.

    A column depends on earlier ones if less than the share `least` of it is independent of them.
    """
    p = R.shape[1]
    scale = -np.frexp(np.linalg.norm(R, axis=0))[1]
    scaled = np.ldexp(R, scale)
    kept: list[int] = []
    basis = np.asfortranarray(np.zeros_like(scaled))
    for j in range(p):
        rest, known = scaled[:, j], basis[:, : len(kept)]
        for _ in range(2):  # twice is enough
            rest = rest - known @ (known.T @ rest)
        length = float(np.linalg.norm(rest))
        if length > least * float(np.linalg.norm(scaled[:, j])):
            basis[:, len(kept)] = rest / length
            kept.append(j)
    found = triangular_factor(scaled[:, kept], len(R))
    order = np.array(kept, dtype=np.int64)[found.order]
    return Factor(np.ldexp(found.T, -found.exponents[found.order]), order, scale, found.condition)


def block_qr(block: Callable[[slice], np.ndarray], blocks: list[slice]) -> np.ndarray:
    """R of the QR decomposition of the stacked blocks, two triangles at a time, in block order."""

    def partial(rows: slice) -> np.ndarray:
        return np.asarray(np.linalg.qr(block(rows), mode="r"))

    def combine(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.asarray(np.linalg.qr(np.concatenate([a, b]), mode="r"))

    return parallel.reduce(partial, combine, blocks)


class Rotation:
    """V of A = V T (p, n), p >= n, with orthonormal columns in V and an upper triangle T.

    V is kept as reflectors: to make it takes as long as the decomposition, and products with few
    columns do not need it.
    """

    def __init__(self, A: np.ndarray) -> None:
        room = int(lapack.dgeqrf_lwork(*A.shape)[0])
        self.reflectors, self.lengths, _, _ = lapack.dgeqrf(A, lwork=room)

    def triangle(self) -> np.ndarray:
        """T (n, n)."""
        return np.triu(self.reflectors[: len(self.lengths)])

    def times(self, C: np.ndarray) -> np.ndarray:
        """V C of C (n, k)."""
        padded = np.zeros((len(self.reflectors), C.shape[1]), order="F")
        padded[: len(C)] = C
        return self._product("N", padded)

    def projected(self, B: np.ndarray) -> np.ndarray:
        """V'B of B (p, k)."""
        return self._product("T", np.asfortranarray(B))[: len(self.lengths)]

    def _product(self, side: str, C: np.ndarray) -> np.ndarray:
        room = 64 * max(C.shape[1], 1)
        out, _, _ = lapack.dormqr("L", side, self.reflectors, self.lengths, C, room)
        return out


class RowRotation:
    """The same for A = X', from products of the rows of X: V = X' T^-1 is never formed."""

    def __init__(self, X: np.ndarray, T: np.ndarray) -> None:
        self.X, self.T = X, np.asfortranarray(T)

    def triangle(self) -> np.ndarray:
        """T (n, n)."""
        return self.T

    def times(self, C: np.ndarray) -> np.ndarray:
        """V C of C (n, k)."""
        return self.X.T @ lapack.dtrtrs(self.T, C)[0]

    def projected(self, B: np.ndarray) -> np.ndarray:
        """V'B of B (p, k)."""
        return np.asarray(lapack.dtrtrs(self.T, self.X @ B, trans=1)[0])


def rotation_of_rows(X: np.ndarray) -> Rotation | RowRotation:
    """That of X', by the products XX' if these keep 13 digits, which takes a third of the time."""
    with np.errstate(over="ignore", invalid="ignore"):
        factor = cholesky_factor(X @ X.T)
    if factor is None or factor.condition > WELL_CONDITIONED:
        return Rotation(X.T)
    return RowRotation(X, factor.triangle())


def row_space(R: np.ndarray, factor: Factor, units: np.ndarray) -> np.ndarray | None:
    """Orthonormal columns (p, rank) spanning the rows of R, x_j counting 2**units_j.

    None where the null space is computed as quickly, or columns of very different size need more care.
    """
    rank, p = len(R), R.shape[1]
    size = factor.exponents + units
    if factor.rank < rank or 2 * rank > p or np.ptp(size) > ALIKE:
        return None
    return np.linalg.qr(np.ldexp(R, -units).T)[0]


def null_space(R: np.ndarray, factor: Factor, units: np.ndarray) -> np.ndarray:
    """Orthonormal columns spanning the x that R maps to 0, in units where x_j counts 2**units_j.

    Each aliased column a is a combination c of the independent ones, so e_a - c is such an x.
    """
    aliased, kept, scale = factor.aliased, factor.order, factor.exponents
    null = np.zeros((R.shape[1], len(aliased)))
    null[aliased, np.arange(len(aliased))] = 1.0
    if len(kept) and len(aliased):
        scaled = np.ldexp(R, scale)
        combination, *_ = np.linalg.lstsq(scaled[:, kept], scaled[:, aliased], rcond=None)
        null[kept] = -combination
    size = np.frexp(null)[1] + (scale + units)[:, None]
    largest = np.where(null == 0, np.iinfo(np.int32).min // 2, size).max(axis=0, initial=0)
    null = np.ldexp(null, (scale + units)[:, None] - largest)
    return np.linalg.qr(null)[0]


def is_semidefinite(H: np.ndarray) -> bool:
    """Whether H has no direction of negative curvature, apart from rounding errors."""
    if np.diagonal(H).min(initial=0.0) < 0:
        return False
    scale = np.sqrt(np.diagonal(H))
    scale = 1.0 / np.where(scale > 0, scale, 1.0)
    values = np.linalg.eigvalsh(H * scale * scale[:, None])
    return bool(values[0] >= -len(H) * EPS * values[-1])


def singular_solver(H: np.ndarray) -> tuple[Callable[[np.ndarray], np.ndarray], np.ndarray]:
    """Least-squares solver of a singular H, and the directions (columns) that H maps to 0."""
    root, null = singular_root(H)
    return lambda g: root @ (root.T @ g), null


def singular_root(H: np.ndarray, least: float = EPS) -> tuple[np.ndarray, np.ndarray]:
    """A root of the pseudo-inverse of H (root @ root.T), and the directions that H maps to 0.

    These are the directions with a curvature of at most len(H) * `least` times the largest one.
    """
    diagonal = np.sqrt(np.maximum(np.diagonal(H), 0.0))
    scale = 1.0 / np.where(diagonal > 0, diagonal, 1.0)
    values, vectors = np.linalg.eigh(H * scale * scale[:, None])
    kept = values > len(H) * least * values.max(initial=0.0)
    basis = vectors[:, kept] * scale[:, None]
    return basis / np.sqrt(values[kept]), vectors[:, ~kept] * scale[:, None]
