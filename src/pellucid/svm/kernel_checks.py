"""Checks of a precomputed kernel matrix: symmetric, without negative eigenvalues.

Invariant: a matrix is rejected only with proof: a pair of unequal cells, or a direction along which it
is negative. Pairs of rows with K_ij^2 > K_ii K_jj are found at any size. Up to `WHOLE` rows the matrix
is also accepted only with proof, a Cholesky factor. For more rows that would take far longer than the
fit, so Lanczos' method makes at most `STEPS` products with a vector. It misses an eigenvalue below -e
times the largest one with a probability of at most 1.65 sqrt(n) exp(-(2 STEPS - 1) sqrt(e)) (Kuczynski
and Wozniakowski 1992): 1e-3 for e = 1/25 and 10,000 rows. The solver also factors its working sets, so
the rows that determine the solution are always checked.
"""

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.errors import DataError
from pellucid.records import Status

WHOLE = 4000  # largest number of rows of a matrix that is factored
STEPS = 32  # of Lanczos' method
ROUNDING = 1e-8  # times rows and largest cell: smaller negative eigenvalues count as rounding
CELLS = 2**20  # compared at once


def check_kernel(K: np.ndarray) -> None:
    """Raise an error with the reason if a matrix is not a kernel."""
    _check_symmetric(K)
    slack = allowance(K)
    _check_pairs(K, slack)
    if len(K) <= WHOLE:
        check_part(K, slack)
        return
    smallest = _smallest(K, slack)
    if smallest < -slack:
        raise DataError(_not_semidefinite(smallest, "an eigenvalue of at most"))


def allowance(K: np.ndarray) -> float:
    """How far below 0 rounding can move an eigenvalue."""
    return ROUNDING * max(float(K.max(initial=0.0)), -float(K.min(initial=0.0)), 1e-300) * len(K)


def check_part(K: np.ndarray, slack: float) -> None:
    """Raise an error if a matrix, or a principal submatrix of it, has no Cholesky factor.

    Every principal submatrix of a semi-definite matrix is semi-definite.
    """
    shifted = K.copy()
    shifted[np.diag_indices(len(K))] += slack
    try:
        np.linalg.cholesky(shifted)
    except np.linalg.LinAlgError:
        smallest = float(np.linalg.eigvalsh(K)[0])
        if smallest < -slack:
            raise DataError(_not_semidefinite(smallest, "its smallest eigenvalue is")) from None


def indefinite_status(K: np.ndarray, n: int) -> Status | None:
    """The status of a kernel function with these values for some of n rows; None if it is valid.

    A function that is not semi-definite, such as tanh, may still be wanted, so it is not an error.
    """
    unequal = np.abs(K - K.T)
    if unequal.max() > 1e-8 * np.abs(K).max():
        a, b = np.unravel_index(unequal.argmax(), K.shape)
        raise DataError(
            f"The kernel function is not symmetric: it returns {K[a, b]:g} for two rows, but "
            f"{K[b, a]:g} for the same rows in the other order."
        )
    least = float(np.linalg.eigvalsh(K)[0])
    if least >= -allowance(K) * n / len(K):
        return None
    message = (
        f"The kernel function is not positive semi-definite (an eigenvalue of {least:.3g} on {len(K)} "
        "rows), so the solution may be one of several local minima."
    )
    return Status("indefinite", message, "Use another kernel.")


def several_minima(kernel: Any) -> Status:
    """The status if the solver met a pair of rows with negative curvature."""
    name = "kernel function" if kernel.function is not None else f"kernel {kernel.name!r}"
    message = (
        f"The {name} is not positive semi-definite, so the objective is not convex. The optimality "
        "conditions hold within tol, but the solution may be one of several stationary points."
    )
    advice = {
        "sigmoid": "Use a smaller gamma, or kernel='rbf'.",
        "poly": "Use coef0 >= 0, or kernel='rbf'.",
    }
    return Status("indefinite", message, advice.get(kernel.name, "Use another kernel."))


def _not_semidefinite(smallest: float, what: str) -> str:
    return (
        f"The precomputed kernel matrix is not positive semi-definite ({what} {smallest:.3g}), so the "
        "problem has no unique minimum. Use another kernel, or add a multiple of the identity matrix."
    )


def _check_symmetric(K: np.ndarray) -> None:
    """Block by block, so that no second matrix is in memory."""
    n = len(K)
    size = max(1, CELLS // max(n, 1))
    slack = 1e-10 * max(float(K.max(initial=0.0)), -float(K.min(initial=0.0)), 1e-300)
    for i in range(0, n, size):
        here, there = K[i : i + size, i:], K[i:, i : i + size].T
        wrong = np.abs(here - there) > slack + 1e-8 * np.abs(there)
        if wrong.any():
            a, b = (int(place[0]) + i for place in np.nonzero(wrong))
            raise DataError(
                f"The precomputed kernel matrix is not symmetric: K[{a}, {b}] = {K[a, b]:g}, but "
                f"K[{b}, {a}] = {K[b, a]:g}."
            )


def _check_pairs(K: np.ndarray, slack: float) -> None:
    """Raise an error for a pair of rows whose 2 x 2 submatrix has an eigenvalue below -slack."""
    d, size = np.diagonal(K), max(1, CELLS // max(len(K), 1))
    if len(d) and d.min() < -slack:
        a = int(d.argmin())
        raise DataError(
            _not_semidefinite(float(d[a]), f"K[{a}, {a}] < 0: an eigenvalue of at most")
        )
    roots = np.sqrt(np.maximum(d, -slack) + slack)
    for i in range(0, len(K), size):
        part = np.abs(K[i : i + size, i:])
        part -= roots[i : i + size, None] * roots[i:]
        part[np.diag_indices(len(part))] = 0.0
        if part.max() <= 1e-9 * slack:
            continue
        a, b = (int(place) + i for place in np.unravel_index(part.argmax(), part.shape))
        smallest = float(np.linalg.eigvalsh(K[np.ix_([a, b], [a, b])])[0])
        if smallest < -slack:
            pair = f"K[{a}, {b}] = {K[a, b]:g} is too large for K[{a}, {a}] = {K[a, a]:g} and "
            pair += f"K[{b}, {b}] = {K[b, b]:g}: an eigenvalue of at most"
            raise DataError(_not_semidefinite(smallest, pair))


def _smallest(K: np.ndarray, slack: float) -> float:
    """The smallest Ritz value after `STEPS` products, or the first one below -slack.

    It is an upper bound of the smallest eigenvalue of K.
    """
    n = len(K)
    q = np.random.default_rng(0).normal(size=n)
    alpha: list[float] = []
    beta: list[float] = []
    basis = [q / np.linalg.norm(q)]
    with parallel.one_blas_thread():
        for step in range(STEPS):
            w = _times(K, basis[-1])
            alpha.append(float(w @ basis[-1]))
            Q = np.array(basis)
            w -= Q.T @ (Q @ w)
            w -= Q.T @ (Q @ w)  # a second time, for what rounding left
            T = np.diag(alpha) + np.diag(beta, 1) + np.diag(beta, -1)
            smallest = float(np.linalg.eigvalsh(T)[0])
            size = float(np.linalg.norm(w))
            if smallest < -slack or size <= slack or step == n - 1:
                break
            beta.append(size)
            basis.append(w / size)
    return smallest


def _times(K: np.ndarray, v: np.ndarray) -> np.ndarray:
    out = np.empty(len(K))

    def task(block: slice) -> None:
        out[block] = K[block] @ v

    parallel.map(task, parallel.row_blocks(*K.shape))
    return out
