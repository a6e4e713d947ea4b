"""Logistic regression with more columns than rows, on as many columns as there are rows.

    X' = Q R with orthonormal columns in Q, so X b = R' c for c = Q' b, and |b| >= |c|

A ridge penalty lets b have no part outside the rows of X, hence b = Q c and |b| = |c|: the problem
in c is of the same kind, has the same objective, and is small enough for Newton's method.
"""

from dataclasses import replace

import numpy as np

from pellucid.linear_model import logistic_solvers as smooth
from pellucid.linear_model.likelihood import Likelihood
from pellucid.numerics.tables import Rows
from pellucid.records import Solution

DENSE_CELLS = 2**22  # of a sparse table that may be written out


def pays(whole: Likelihood) -> bool:
    """Whether the small problem is one for Newton's method, and the large one is not."""
    n, p = whole.X.n, whole.X.p
    if n >= p or whole.size <= smooth.NEWTON_SIZE or whole.q * (n + 1) > smooth.NEWTON_SIZE:
        return False
    uniform = whole.alpha[0] > 0 and bool((whole.alpha == whole.alpha[0]).all())
    return uniform and (not whole.X.sparse or n * p <= DENSE_CELLS)


def solve_wide(prepared: smooth.Prepared, setting: smooth.Setting) -> Solution:
    """The optimum in the columns of `prepared`, found in those of R'."""
    whole = prepared.likelihood
    table = whole.block(slice(None))
    table = table if isinstance(table, np.ndarray) else table.toarray()
    Q, R = np.linalg.qr(table.T)
    small = np.ascontiguousarray(R.T)
    spread = small.std(axis=0)
    turned = smooth.Prepared(
        replace(
            whole, X=Rows(small), alpha=np.full(len(R), whole.alpha[0]), shift=None, last={}
        ),
        np.zeros(len(R)), np.where(spread > 0, spread, 1.0), np.zeros(len(R), dtype=np.int64),
    )  # fmt: skip
    x0 = None
    if setting.x0 is not None:
        B = smooth.start(prepared, setting).reshape(whole.q, -1)
        B = np.column_stack([B[:, :-1] @ Q, B[:, -1]])
        x0 = np.concatenate([np.zeros((1, B.shape[1])), B]) if whole.q > 1 else B
    found = smooth.solve_newton(turned, replace(setting, x0=x0))
    C = found.x.reshape(whole.q, -1)
    return replace(found, x=np.column_stack([C[:, :-1] @ Q.T, C[:, -1]]).ravel())
