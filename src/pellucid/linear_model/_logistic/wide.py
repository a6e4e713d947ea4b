"""Logistic regression with more columns than rows, on as many columns as there are rows.

    X = L V' with orthonormal columns in V, so X b = L c for c = V' b, and |b| >= |c|

A ridge penalty lets b have no part outside the rows of X, hence b = V c and |b| = |c|: the problem
in c is of the same kind, has the same objective, and is small enough for Newton's method. L is the
triangle of a QR decomposition of X', a quarter of the work of singular values; columns of L that are
mere rounding (repeated rows) have coefficients of mere rounding. With a very weak penalty the small
problem would be nearly singular; that is left to L-BFGS.
"""

from dataclasses import replace

import numpy as np

from pellucid.linear_model._logistic import solver as smooth
from pellucid.linear_model._logistic.objective import Likelihood
from pellucid.numerics.row_blocks import Rows
from pellucid.records import Solution

REPEATED = 2000  # rows up to which repeated ones are looked for
DENSE_CELLS = 2**22  # of a sparse table that may be written out
POWERS = 30
WEAK = 1e-9  # penalty relative to the curvature of the loss below which Newton's method is not used


def pays(whole: Likelihood) -> bool:
    """Whether the small problem is one for Newton's method, and the large one is not."""
    n, p = whole.X.n, whole.X.p
    if n >= p or whole.size <= smooth.NEWTON_SIZE:
        return False
    if whole.q * (_distinct(whole) + 1) > smooth.NEWTON_SIZE:
        return False
    uniform = whole.alpha[0] > 0 and bool((whole.alpha == whole.alpha[0]).all())
    return uniform and (not whole.X.sparse or n * p <= DENSE_CELLS)


def _distinct(whole: Likelihood) -> int:
    """Different rows: a table with repeated rows is solved as the one with weights is."""
    n = whole.X.n
    if whole.X.sparse or whole.q * (n + 1) <= smooth.NEWTON_SIZE or n > REPEATED:
        return n
    return len(np.unique(whole.X.X, axis=0))


def solve_wide(prepared: smooth.Prepared, setting: smooth.Setting) -> Solution | None:
    """The optimum in the columns of `prepared`, found in those of L; None if nearly singular."""
    from scipy import linalg

    whole = prepared.likelihood
    table = whole.block(slice(None))
    table = table if isinstance(table, np.ndarray) else table.toarray()
    V, T = linalg.qr(table.T, mode="economic", check_finite=False)
    small = np.ascontiguousarray(T.T)
    size = _largest(small)
    if not size > 0 or whole.alpha[0] < WEAK * size * whole.weights.max():
        return None
    r = small.shape[1]
    turned = smooth.Prepared(
        replace(whole, X=Rows(small), alpha=np.full(r, whole.alpha[0]), shift=None),
        np.zeros(r), np.full(r, 1.0), np.zeros(r, dtype=np.int64),
    )  # fmt: skip
    x0 = None
    if setting.x0 is not None:
        B = smooth.start(prepared, setting).reshape(whole.q, -1)
        B = np.column_stack([B[:, :-1] @ V, B[:, -1]])
        x0 = np.concatenate([np.zeros((1, B.shape[1])), B]) if whole.q > 1 else B
    found = smooth.solve_newton(turned, replace(setting, x0=x0))
    C = found.x.reshape(whole.q, -1)
    return replace(found, x=np.column_stack([C[:, :-1] @ V.T, C[:, -1]]).ravel())


def _largest(L: np.ndarray) -> float:
    """Nearly the largest eigenvalue of LL', by powers of it."""
    v, size = np.ones(len(L)), 0.0
    for _ in range(POWERS):
        v = L @ (L.T @ v)
        size = float(np.linalg.norm(v))
        if not size > 0:
            return 0.0
        v /= size
    return size
