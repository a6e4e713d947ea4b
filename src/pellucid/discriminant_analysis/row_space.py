"""Gaussian classes of tables with more columns than rows, without any matrix of columns x columns.

With the rows R (n, p) minus their class means, a covariance is R'R, or R'R plus a diagonal matrix. Both
are known from R alone, and everything is solved in the n dimensions of the rows.

Invariant: the results equal those of the definitions with p x p matrices, which the tests compare.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from pellucid.data import Problem
from pellucid.discriminant_analysis.class_covariances import (
    LEAST_SHARE,
    NO_VARIANCE,
    PART,
    Whitening,
)
from pellucid.numerics.class_moments import class_moments

REFINEMENTS = 2  # steps of iterative refinement
SURE = 1e-8  # smallest share of the diagonal matrix in the variance of a column
NO_AXIS = 1e-12  # axes with a smaller share of the largest variance are left out


@dataclass(frozen=True)
class ClassRows:
    """Weights (K,), means (K, p) and variances (K, p) of the classes; the rows minus their class means,
    times the square roots of their weights; their classes y and their weights.
    """

    total: np.ndarray
    means: np.ndarray
    variances: np.ndarray
    rows: np.ndarray
    y: np.ndarray
    weights: np.ndarray

    @property
    def share(self) -> np.ndarray:
        return self.total / self.total.sum()

    @property
    def pooled(self) -> np.ndarray:
        """Variances of the columns within the classes."""
        return self.share @ self.variances

    def between(self) -> np.ndarray:
        """Rows B with B'B the covariance of the class means."""
        return np.sqrt(self.share)[:, None] * (self.means - self.share @ self.means)

    def of(self, k: int) -> np.ndarray:
        """Rows B with B'B the covariance of class k."""
        return self.rows[self.y == k] / np.sqrt(self.total[k] or 1.0)

    def within(self, priors: np.ndarray) -> np.ndarray:
        """Rows B with B'B the mean of the class covariances, weighted by their priors."""
        factor = np.sqrt(priors / np.where(self.total > 0, self.total, 1.0))
        return self.rows * factor[self.y][:, None]


def class_rows(problem: Problem) -> ClassRows:
    assert problem.classes is not None
    w = np.ldexp(problem.weights, -int(np.frexp(problem.weights.max())[1]))
    X, y = problem.X, problem.y
    found = class_moments(X, y, w, len(problem.classes), "diagonal")
    rows = X - found.mean[y]
    rows *= np.sqrt(w)[:, None]
    count = np.where(found.total > 0, found.total, 1.0)[:, None]
    return ClassRows(found.total, found.mean, found.scatter / count, rows, y, problem.weights)


# One covariance for all classes ------------------------------------------------------------------


@dataclass(frozen=True)
class SharedCovariance:
    """B'B + diag(D): the covariance within the classes."""

    B: np.ndarray
    D: np.ndarray

    def dense(self) -> np.ndarray:
        out = self.B.T @ self.B
        out[np.diag_indices(len(out))] += self.D
        return out

    @property
    def sure(self) -> bool:
        """Whether D alone makes the covariance regular."""
        size = np.einsum("ij,ij->j", self.B, self.B) + self.D
        return bool(self.D.min() > 0 and (SURE * size <= self.D).all())

    def solve(self, means: np.ndarray) -> np.ndarray:
        """The inverse times each mean, (K, p), with one equation per row.

        With A = B D^-1/2: D^-1/2 (1 - A'(1 + AA')^-1 A) D^-1/2.
        """
        root = np.sqrt(self.D)
        A = self.B / root
        G = A @ A.T
        G[np.diag_indices(len(G))] += 1.0
        factor = linalg.cho_factor(G, check_finite=False)

        def inverse(Y: np.ndarray) -> np.ndarray:
            return Y - A.T @ linalg.cho_solve(factor, A @ Y, check_finite=False)

        Y = (means / root).T
        X = inverse(Y)
        for _ in range(REFINEMENTS):
            X += inverse(Y - X - A.T @ (A @ X))
        return X.T / root


def shrunk_within(found: ClassRows, priors: np.ndarray, shrinkage: Any) -> SharedCovariance:
    """The covariance within the classes, shrunk by Ledoit and Wolf class by class, by a given share, or
    not at all.
    """
    if shrinkage == "auto":
        shares, D = np.zeros(len(priors)), np.zeros(found.means.shape[1])
        for k in range(len(priors)):
            spread = np.sqrt(np.where(found.variances[k] > 0, found.variances[k], 1.0))
            shares[k], size = _ledoit_wolf(found.of(k) / spread, found.weights[found.y == k])
            D += priors[k] * shares[k] * size * spread**2
        return SharedCovariance(found.within(priors * (1 - shares)), D)
    B, p = found.within(priors), found.means.shape[1]
    if not shrinkage:
        return SharedCovariance(B, np.zeros(p))
    mean = shrinkage * float(np.einsum("ij,ij->", B, B)) / p
    return SharedCovariance(np.sqrt(1 - shrinkage) * B, np.full(p, mean))


def _ledoit_wolf(R: np.ndarray, w: np.ndarray) -> tuple[float, float]:
    """Shrinkage and mean variance of the covariance R'R of rows with weights w, from RR' alone."""
    p = R.shape[1]
    G, total = R @ R.T, float(w.sum())
    lengths = np.diagonal(G) * total / np.where(w > 0, w, 1.0)  # |x - mean|^2
    size, square = float(np.trace(G)) / p, float(np.sum(G**2))
    distance = square / p - size**2
    if not distance > 0:
        return 0.0, size
    noise = (float(w @ lengths**2) / total - square) / (p * total)
    return min(max(noise, 0.0), distance) / distance, size


def whitened_rows(B: np.ndarray, tol: float) -> tuple[np.ndarray, np.ndarray]:
    """`class_covariances.whitened` of the covariance B'B."""
    spread = np.sqrt(np.einsum("ij,ij->j", B, B))
    spread = np.where(spread > 0, spread, 1.0)
    _, sizes, Vt = _svd(B / spread)
    kept = sizes > max(tol, _rounding(sizes, B))
    V = Vt[kept].T
    return V / spread[:, None] / sizes[kept], np.flatnonzero(_left_out(V) > PART)


def _svd(A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return linalg.svd(A, full_matrices=False, check_finite=False)


def _rounding(sizes: np.ndarray, A: np.ndarray) -> float:
    """Singular values up to this size are due to rounding."""
    return float(sizes[0]) * max(A.shape) * np.finfo(float).eps if len(sizes) else 0.0


def _left_out(V: np.ndarray) -> np.ndarray:
    """Length of the part of each column outside the directions V (p, r)."""
    return np.sqrt(np.maximum(1.0 - np.einsum("ij,ij->i", V, V), 0.0))


# A covariance for each class ---------------------------------------------------------------------


@dataclass(frozen=True)
class Span:
    """Coordinates z = (x - base) @ axes (p, r) that contain all differences between the classes.

    The squared distance outside of them, times `outside`, is the same for every class.
    """

    base: np.ndarray
    axes: np.ndarray
    outside: float
    coordinates: np.ndarray  # of the rows, then of the class means
    centres: np.ndarray


def span_of(found: ClassRows, spread: np.ndarray, outside: float) -> Span:
    """Coordinates from the rows divided by `spread`."""
    size = np.sqrt(found.total.sum())
    table = np.concatenate([found.rows / size, found.between()]) / spread
    Q, T = linalg.qr(table.T, mode="economic", check_finite=False)
    base = found.share @ found.means
    centres = ((found.means - base) / spread) @ Q
    return Span(base, Q / spread[:, None], outside, T.T, centres)


def regular_whitenings(found: ClassRows, span: Span, reg: float) -> list[Whitening]:
    """Whitenings of (1 - reg) C_k + reg 1, class by class: every direction has variance."""
    n, r = len(found.y), span.axes.shape[1]
    p, out = len(span.base), []
    for k in range(len(found.total)):
        own = span.coordinates[:n][found.y == k] / np.sqrt(found.share[k] or 1.0)
        C = (1 - reg) * (own.T @ own)
        C[np.diag_indices(r)] += reg
        # From the last to the first, so that W is triangular: predictions take half the work.
        L = linalg.cholesky(C[::-1, ::-1], lower=True, overwrite_a=True, check_finite=False)
        inverse, _ = linalg.lapack.dtrtri(L, lower=1)
        log_det = 2 * float(np.log(np.diagonal(L)).sum()) + (p - r) * np.log(reg)
        W = np.ascontiguousarray(np.tril(inverse).T[::-1, ::-1])
        out.append(Whitening(W, log_det, np.zeros(p, dtype=bool)))
    return out


def plain_whitenings(found: ClassRows, span: Span, spread: np.ndarray) -> list[Whitening]:
    """Whitenings of C_k; directions without variance in a class use the pooled variance."""
    n, out = len(found.y), []
    own, means = span.coordinates[:n], span.coordinates[n:]
    varies = found.pooled + np.einsum("ij,ij->j", found.between(), found.between()) > 0
    Q = span.axes * spread[:, None]
    for k in range(len(found.total)):
        mine = found.y == k
        _, sizes, Vt = _svd(own[mine] / np.sqrt(found.share[k] or 1.0))
        known = sizes**2 > NO_VARIANCE
        V, sizes = Vt[known].T, sizes[known]
        others = own[~mine] * np.sqrt(1 + LEAST_SHARE)
        rest = np.concatenate([others, means * np.sqrt(LEAST_SHARE)])
        for _ in range(2):  # a second time, for what rounding left
            rest = rest - (rest @ V) @ V.T
        _, more, Nt = _svd(rest)
        kept = more**2 > NO_VARIANCE
        W = np.hstack([V / sizes, Nt[kept].T / more[kept]])
        log_det = 2 * (np.log(sizes).sum() + np.log(more[kept]).sum() + np.log(spread).sum())
        lacking = (_left_out(Q @ V) > PART) & varies
        out.append(Whitening(W, float(log_det), lacking))
    return out


def principal_axes(found: ClassRows, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Variances of class k along its principal axes, largest first, and the axes (p, m)."""
    rows = found.of(k)
    values, U = linalg.eigh(rows @ rows.T, check_finite=False)
    values, U = values[::-1], U[:, ::-1]
    kept = values > NO_AXIS * max(float(values[0]), 1e-300)
    axes = rows.T @ (U[:, kept] / np.sqrt(values[kept]))
    return values[kept], axes
