"""Logistic regression with more columns than rows, reduced to as many columns as there are rows.

    X = L V' with orthonormal columns in V, so X b = L c for c = V' b, and |b| >= |c|

With a ridge penalty the optimal b lies in the span of the rows of X, so b = V c and |b| = |c|. The
problem in c has the same form and the same objective, and is small enough for Newton's method. L is
the triangle of a QR decomposition of X', which takes a quarter of the time of singular values, or the
Cholesky factor of XX' where that is accurate. Columns
of L that are rounding errors (repeated rows) get negligible coefficients. With a very weak penalty
the reduced problem would be nearly singular, so L-BFGS solves the original one instead.
"""

from dataclasses import replace

import numpy as np

from pellucid.linear_model._logistic import small
from pellucid.linear_model._logistic.objective import Likelihood
from pellucid.linear_model._logistic.preparation import Prepared, Setting
from pellucid.linear_model._logistic.solver import NEWTON_SIZE, solve_newton, start
from pellucid.numerics.linalg import rotation_of_rows
from pellucid.numerics.row_blocks import Rows, as_dense
from pellucid.records import Solution, converting_x

REPEATED = 2000  # number of rows up to which repeated rows are counted once
FEW = 16  # columns that are compared first when distinct rows are counted
DENSE_CELLS = 2**22  # size up to which a sparse table is made dense
POWERS = 30
# Penalty, relative to the curvature of the loss, below which Newton's method is not used.
WEAK = 1e-9


def applies(whole: Likelihood) -> bool:
    """Whether Newton's method can solve the reduced problem, but not the original one, or with much
    more work."""
    n, p = whole.X.n, whole.X.p
    if n >= p or whole.size <= max(small.LARGEST, 0 if 2 * n <= p else NEWTON_SIZE):
        return False
    if whole.q * (_distinct(whole) + 1) > NEWTON_SIZE:
        return False
    uniform = whole.alpha[0] > 0 and bool((whole.alpha == whole.alpha[0]).all())
    return uniform and (not whole.X.sparse or n * p <= DENSE_CELLS)


def _distinct(whole: Likelihood) -> int:
    """Number of distinct rows, so that repeated rows are solved in the same way as weights; at least
    this number, if it is too large."""
    n = whole.X.n
    if whole.X.sparse or whole.q * (n + 1) <= NEWTON_SIZE or n > REPEATED:
        return n
    for columns in (FEW, whole.X.p):  # mostly a few columns show that there are too many
        distinct = len(np.unique(whole.X.X[:, :columns], axis=0))
        if whole.q * (distinct + 1) > NEWTON_SIZE:
            break
    return distinct


def solve_wide(prepared: Prepared, setting: Setting) -> Solution | None:
    """The optimum for the columns of `prepared`, by way of those of L; None if nearly singular."""
    whole = prepared.likelihood
    V = rotation_of_rows(as_dense(whole.block(slice(None))))
    left = np.ascontiguousarray(V.triangle().T)
    size = _largest_eigenvalue(left)
    if not size > 0 or whole.alpha[0] < WEAK * size * whole.weights.max():
        return None
    r = left.shape[1]
    reduced = Prepared(
        replace(whole, X=Rows(left), alpha=np.full(r, whole.alpha[0]), shift=None),
        np.zeros(r), np.full(r, 1.0), np.zeros(r, dtype=np.int64),
    )  # fmt: skip
    x0 = None
    if setting.x0 is not None:
        B = start(prepared, setting).reshape(whole.q, -1)
        B = np.column_stack([V.projected(B[:, :-1].T).T, B[:, -1]])
        x0 = np.concatenate([np.zeros((1, B.shape[1])), B]) if whole.q > 1 else B

    def back(x: np.ndarray) -> np.ndarray:
        C = x.reshape(whole.q, -1)
        return np.column_stack([V.times(C[:, :-1].T).T, C[:, -1]]).ravel()

    with converting_x(back):
        found = solve_newton(reduced, replace(setting, x0=x0))
    return replace(found, x=back(found.x))


def _largest_eigenvalue(L: np.ndarray) -> float:
    """Approximately the largest eigenvalue of LL', by power iteration."""
    v, size = np.ones(len(L)), 0.0
    for _ in range(POWERS):
        v = L @ (L.T @ v)
        size = float(np.linalg.norm(v))
        if not size > 0:
            return 0.0
        v /= size
    return size
