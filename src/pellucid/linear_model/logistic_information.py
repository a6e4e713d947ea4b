"""The covariance of unpenalised logistic coefficients, and which of them the data do not tell.

Invariant: which columns span each other is a question to the table, not to the fit: it is asked at
B = 0, where separation has flattened nothing.
"""

from typing import Any

import numpy as np

from pellucid.linear_model.logistic_solvers import Prepared
from pellucid.numerics.aliases import find_aliases
from pellucid.numerics.linalg import cholesky_factor


def information(prepared: Prepared, x: np.ndarray) -> dict[str, Any]:
    """Facts about the differences to class 0, in the user's units.

    covariance : (q (p + 1), q (p + 1)), class by class, intercepts last; rank; loss
    aliased : columns (p for the intercept) that earlier ones span; the covariance is what it would
    be without them. flat : others whose coefficients the curvature at x does not tell (separation)
    null : (p + 1, m), what may be added to the coefficients of a class without any effect
    """
    F = prepared.likelihood
    width, used = F.X.p + 1, np.ones((F.q, F.X.p + 1), dtype=bool)
    used[:, -1] = F.intercept
    free = np.flatnonzero(used)
    H = F.curvature(x)[np.ix_(free, free)]
    loss, C = float(F.evaluate(x)[0]), np.zeros((F.size, F.size))
    factor = cholesky_factor(H)
    if factor is not None:
        rows = factor.inverse_rows()
        C[np.ix_(free, free)] = rows @ rows.T
        none = np.zeros(0, dtype=np.int64)
        found = {"rank": len(free), "aliased": none, "flat": none, "null": np.zeros((width, 0))}
    else:
        found, inverse = _singular(prepared, H, free)
        C[np.ix_(free, free)] = inverse
    return found | {"covariance": prepared.covariance(C), "loss": loss}


def _singular(
    prepared: Prepared, H: np.ndarray, free: np.ndarray
) -> tuple[dict[str, Any], np.ndarray]:
    F = prepared.likelihood
    width = F.X.p + 1
    table = find_aliases(
        F.curvature(np.zeros(F.size))[np.ix_(free, free)], np.flatnonzero(free % width == F.X.p)
    )
    kept = free[table.kept]
    fit = find_aliases(H[np.ix_(table.kept, table.kept)], np.flatnonzero(kept % width == F.X.p))
    inverse = np.zeros_like(H)
    inverse[np.ix_(table.kept, table.kept)] = fit.inverse
    own = free[table.aliased] < width  # the same for every class
    null = np.zeros((F.q, width, int(own.sum())))
    null.reshape(F.size, -1)[free] = table.null[:, own]
    return {
        "rank": table.rank, "aliased": np.unique(free[table.aliased] % width),
        "flat": np.unique(kept[fit.loose] % width),
        "null": np.column_stack([
            prepared.to_user(null[:, :, k].ravel())[0] for k in range(null.shape[2])
        ]) if null.shape[2] else np.zeros((width, 0)),
    }, inverse  # fmt: skip
