"""Least squares of two special kinds: with coefficients >= 0, and for wide sparse tables.

Invariant: both take and return what `least_squares` does, as far as theory allows.
"""

from typing import Any

import numpy as np

from pellucid.errors import PellucidError
from pellucid.numerics.design_matrix import Design, make_design
from pellucid.numerics.least_squares import least_squares
from pellucid.numerics.row_blocks import Rows, exponents
from pellucid.records import Status


def active_sets(A: np.ndarray, b: np.ndarray, max_iter: int) -> np.ndarray:
    """x >= 0 that minimises |A x - b|."""
    from scipy.optimize import nnls

    try:
        return nnls(A, b, maxiter=max_iter)[0]
    except RuntimeError:
        raise PellucidError(
            f"No coefficients >= 0 were found in {max_iter} changes of the active set: columns nearly "
            "span each other. Leave some out, or give a penalty: Lasso(positive=True) needs no "
            "active set."
        ) from None


def nonnegative_least_squares(
    X: Any, Y: np.ndarray, weights: np.ndarray, fit_intercept: bool
) -> tuple[np.ndarray, np.ndarray]:
    """coef (k, p) >= 0 and intercept (k,), found by active sets on the triangle of X.

    1. QR: the problem in p rows instead of n.
    2. Lawson and Hanson's algorithm finds the positive coefficients.
    3. These alone are fitted again, to the last digit.
    """
    table = Rows(X)
    units = -exponents(table.largest())
    lift = exponents(np.abs(Y).max(axis=0, initial=0.0))
    design = make_design(table.scaled(units), np.ldexp(Y, -lift), weights, fit_intercept)
    c = int(fit_intercept)
    triangle = design.triangle()[c:, c:]
    R, targets = triangle[:, : table.p], triangle[:, table.p :]
    coef, intercept = np.zeros((Y.shape[1], table.p)), np.zeros(Y.shape[1])
    for k in range(Y.shape[1]):
        rough = active_sets(R, targets[:, k], max(30, 3 * table.p))
        active = np.flatnonzero(rough > 0)
        found = (
            least_squares(X[:, active], Y[:, k : k + 1], weights, fit_intercept)
            if len(active)
            else None
        )
        if found is not None and np.all(found.coef > 0):
            coef[k, active], intercept[k] = found.coef[0], found.intercept[0]
            continue
        coef[k] = np.ldexp(rough, units + lift[k])
        intercept[k] = _mean_residual(design, rough, k, lift[k]) if fit_intercept else 0.0
    return coef, intercept


def _mean_residual(design: Design, coef: np.ndarray, k: int, lift: int) -> float:
    w = design.weights / design.weights.sum()
    fitted = design.X.X @ coef
    return float(np.ldexp(w @ (design.Y[:, k] - fitted), lift))


def iterative_least_squares(
    X: Any, Y: np.ndarray, weights: np.ndarray, fit_intercept: bool, tol: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, Status]:
    """coef (k, p), intercept (k,), column means and status, by LSMR on a CSR table.

    Columns are centred and scaled inside the operator, so the table stays sparse.
    """
    from scipy.sparse.linalg import LinearOperator, lsmr

    n, p = X.shape
    root = np.sqrt(weights)
    total = weights.sum()
    mean = (X.T @ weights) / total if fit_intercept else np.zeros(p)
    start = (weights @ Y) / total if fit_intercept else np.zeros(Y.shape[1])
    square = (X.multiply(X)).T @ weights - total * mean**2
    scale = 1 / np.sqrt(np.where(square > 0, square, 1.0))
    operator = LinearOperator(
        (n, p),
        matvec=lambda b: root * (X @ (scale * b) - mean @ (scale * b)),
        rmatvec=lambda r: scale * (X.T @ (root * r) - mean * (root @ r)),
        dtype=float,
    )
    coef, worst = np.empty((Y.shape[1], p)), 0
    for k in range(Y.shape[1]):
        solution = lsmr(operator, root * (Y[:, k] - start[k]), atol=tol, btol=tol)
        coef[k] = scale * solution[0]
        worst = max(worst, solution[1])
    intercept = start - coef @ mean
    if worst < 7:
        return coef, intercept, mean, Status("converged", "LSMR reached the tolerance tol.")
    status = Status("max_iter", "LSMR stopped before it reached tol.", "Increase tol.")
    return coef, intercept, mean, status
