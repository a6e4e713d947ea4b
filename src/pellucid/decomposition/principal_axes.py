"""Principal axes of a centred table: the solvers behind PCA.

Every solver returns singular values in descending order and orthonormal axes as rows.

Invariant: `automatic` gives the exact decomposition, from squared columns (the Gram matrix) only
where that costs no digit that an SVD would keep; results are bitwise equal for any number of threads.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pellucid import parallel
from pellucid.decomposition.centred import Centred
from pellucid.numerics.linalg import EPS, triangular_factor

# Makes the generator of a first direction, for the solvers that need one.
Start = Callable[[], np.random.Generator]

# A Gram matrix halves the significant digits of small axes. It is used while the smallest variance
# wanted is at least GRAM_SHARE of the largest (then at most one digit is lost compared with an SVD),
# and the mean of the remaining variances at least GRAM_REST of it.
GRAM_SHARE = 1e-2
GRAM_REST = 1e-4
# If the ratio of singular values is below this, Jacobi rotations compute them: they keep the digits
# of the small ones if only the scales of the columns differ.
JACOBI_SPREAD = 1e-2
JACOBI_COLUMNS = 1000
# Above this size, a few leading axes are computed by Lanczos iterations, not a full decomposition.
LANCZOS_FROM = 300
# Larger Gram matrices are formed only for svd_solver="covariance_eigh".
GRAM_COLUMNS = 4096


@dataclass(frozen=True)
class Spectrum:
    """The k leading axes (k, p), at least k singular values (descending), and the sum of squares of
    all singular values.
    """

    singular: np.ndarray
    axes: np.ndarray
    squares: float

    def rest(self, limit: int) -> float:
        """Mean square of the `limit` singular values without the k of the axes."""
        k = len(self.axes)
        if k >= limit:
            return 0.0
        if len(self.singular) >= limit:
            return float((self.singular[k:limit] ** 2).mean())
        return max(self.squares - float((self.singular[:k] ** 2).sum()), 0.0) / (limit - k)


def fix_signs(axes: np.ndarray) -> np.ndarray:
    """Axes with signs such that the first entry of largest absolute value is positive."""
    largest = np.abs(axes).argmax(axis=1)
    negative = np.take_along_axis(axes, largest[:, None], axis=1) < 0
    return np.where(negative, -axes, axes)


def from_gram(G: np.ndarray, k: int, start: Start) -> Spectrum:
    """The k leading axes from the Gram matrix."""
    with parallel.one_blas_thread():
        if len(G) < LANCZOS_FROM or 5 * k > len(G):
            values, vectors = np.linalg.eigh(G)
        else:
            values, vectors = _lanczos(lambda v: G @ v, len(G), k, 0.0, start)
    singular = np.sqrt(np.maximum(values[::-1], 0.0))
    return Spectrum(singular, vectors[:, ::-1][:, :k].T, float(np.trace(G)))


def _lanczos(
    times: Callable[[np.ndarray], np.ndarray],
    p: int,
    k: int,
    tol: float,
    start: Start,
) -> tuple[np.ndarray, np.ndarray]:
    """The k largest eigenvalues, ascending, and their vectors, of a symmetric p x p matrix."""
    from scipy.sparse.linalg import LinearOperator, eigsh

    operator = LinearOperator((p, p), matvec=times, dtype=np.float64)
    values, vectors = eigsh(operator, k, v0=start().uniform(-1, 1, p), tol=tol, maxiter=100 * p)
    order = np.argsort(values, kind="stable")
    return values[order], vectors[:, order]


def from_triangle(R: np.ndarray, k: int, n: int) -> Spectrum:
    """The k leading axes of R'R by a singular value decomposition of R, the triangle of n rows."""
    with parallel.one_blas_thread():
        _, s, axes = np.linalg.svd(R, full_matrices=False)
        rank = len(s)
        if k > 0 and s[min(k, rank) - 1] < JACOBI_SPREAD * s[0]:
            rank = triangular_factor(R, n).rank
            if R.shape[0] == R.shape[1] <= JACOBI_COLUMNS:
                s, axes = _jacobi(R) or (s, axes)
    return _ranked(s, axes, k, rank, R.shape[1])


def _ranked(s: np.ndarray, axes: np.ndarray, k: int, rank: int, p: int) -> Spectrum:
    """The k leading axes of a table whose singular values after `rank` are rounding errors."""
    singular = np.zeros(p)
    singular[:rank] = s[:rank]
    return Spectrum(singular, complete(axes[: min(k, rank)], k), float((singular**2).sum()))


def complete(axes: np.ndarray, k: int) -> np.ndarray:
    """`axes` (r, p), completed to k by unit vectors, in order, made orthogonal to the others.

    Therefore directions without variance do not depend on the solver. A unit vector e is skipped if
    too little of it is orthogonal to the others; the mean over all e of that squared part is
    (p - r) / p, so at least one always has half of it.
    """
    r, p = axes.shape
    out = np.zeros((k, p))
    out[:r] = axes
    for i in range(r, k):
        left = 1.0 - (out[:i] ** 2).sum(axis=0)
        j = int(np.argmax(left >= 0.5 * (p - i) / p))
        v = -out[:i].T @ out[:i, j]
        v[j] += 1.0
        v -= out[:i].T @ (out[:i] @ v)
        out[i] = v / np.linalg.norm(v)
    return out


def _jacobi(R: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Singular values and axes of R by one-sided Jacobi rotations; None if they do not converge."""
    from scipy.linalg import lapack

    s, _, vectors, scale, _, info = lapack.dgejsv(R, joba=0, jobu=3, jobv=0, jobr=1)
    if info != 0 or not (np.isfinite(s).all() and np.isfinite(vectors).all()):
        return None
    return s * (scale[0] / scale[1]), vectors.T


def by_covariance(table: Centred, k: int, start: Start) -> Spectrum:
    """Axes of the covariance matrix."""
    return from_gram(table.gram(), k, start)


def by_svd(table: Centred, k: int) -> Spectrum:
    """Axes by a singular value decomposition of the table, with the full accuracy of float64."""
    if table.n > table.p:
        return from_triangle(table.triangle(), k, table.n)
    X = table.centred_copy()
    with parallel.one_blas_thread():
        _, s, axes = np.linalg.svd(X, full_matrices=False)
    # n centred rows span at most n - 1 dimensions: the last singular value is rounding error.
    rank = min(int((s > table.p * EPS * s[0]).sum()), table.n - 1)
    return _ranked(s, axes, k, rank, table.p)


def by_rows(table: Centred, k: int, start: Start) -> Spectrum | None:
    """Axes of a wide table from the products of its rows; None if that costs digits."""
    X = table.centred_copy()
    # At least as many columns as rows: adding two products costs as much as many columns.
    step = max(parallel.block_rows(table.n), 1 << (table.n - 1).bit_length())
    columns = [slice(i, min(i + step, table.p)) for i in range(0, table.p, step)]
    found = from_gram(parallel.reduce(lambda c: X[:, c] @ X[:, c].T, np.add, columns), k, start)
    if not _accurate(found, table.n - 1):
        return None
    weights = found.axes / found.singular[:k, None]
    axes = np.concatenate(parallel.map(lambda c: weights @ X[:, c], columns), axis=1)
    return Spectrum(found.singular, axes, found.squares)


def by_lanczos(table: Centred, k: int, tol: float, start: Start) -> Spectrum:
    """The k leading axes from products with the table only; it may be sparse and large."""
    table.compute_mean()
    squares = table.squares()
    if not squares > 0:  # all rows are equal: Lanczos iterations need a nonzero matrix
        return _ranked(np.zeros(0), np.zeros((0, table.p)), k, 0, table.p)
    with parallel.one_blas_thread():
        values, vectors = _lanczos(table.times_gram, table.p, k, tol, start)
    singular = np.sqrt(np.maximum(values[::-1], 0.0))
    return Spectrum(singular, vectors[:, ::-1].T, squares)


def by_random_range(
    table: Centred, k: int, extra: int, passes: int, start: np.random.Generator
) -> Spectrum:
    """The k leading axes, approximately: power iterations on k + extra random directions."""
    table.compute_mean()
    squares = table.squares()
    Q = start.standard_normal((table.p, min(k + extra, table.p)))
    with parallel.one_blas_thread():
        for _ in range(passes + 1):
            Q = table.times_gram(np.linalg.qr(Q)[0])
        Q = np.linalg.qr(Q)[0]
        values, vectors = np.linalg.eigh(Q.T @ table.times_gram(Q))
        axes = (Q @ vectors[:, ::-1][:, :k]).T
    singular = np.sqrt(np.maximum(values[::-1][:k], 0.0))
    return Spectrum(singular, axes, squares)


def _accurate(found: Spectrum, limit: int) -> bool:
    """Whether the Gram matrix kept the digits of the smallest axis wanted, and of the rest."""
    k, rest = len(found.axes), found.rest(limit)
    largest = found.singular[0] ** 2
    if k and not found.singular[k - 1] ** 2 >= GRAM_SHARE * largest > 0:
        return False
    return k >= limit or bool(rest >= GRAM_REST * largest)


def automatic(table: Centred, k: int, start: Start) -> Spectrum:
    """The k leading axes, by the fastest method that keeps all digits."""
    n, p = table.n, table.p
    few = 0 < 5 * k <= min(n, p)
    if few and table.sparse and p > LANCZOS_FROM:
        return by_lanczos(table, k, 0.0, start)
    if n >= 2 * p and p <= GRAM_COLUMNS:
        found = by_covariance(table, k, start)
        return found if _accurate(found, p) else by_svd(table, k)
    if p >= 2 * n and n <= GRAM_COLUMNS and k < n:
        return by_rows(table, k, start) or by_svd(table, k)
    if few and min(n, p) > LANCZOS_FROM:
        return by_lanczos(table, k, 0.0, start)
    return by_svd(table, k)
