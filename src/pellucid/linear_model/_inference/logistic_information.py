"""The covariance of unpenalised logistic coefficients, and which of them the data do not tell.

Invariant: which columns span each other is a question to the table, not to the fit: separation
flattens its curvature, and columns that nearly depend on each other are more than its digits hold.
"""

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.linear_model._logistic.objective import Likelihood, flat_root
from pellucid.linear_model._logistic.separation import Separation
from pellucid.linear_model._logistic.solver import Prepared
from pellucid.numerics.collinearity import Aliases, find_aliases
from pellucid.numerics.linalg import GRAM_LIMIT, cholesky_factor

SOUND = 1e3  # condition up to which the digits of the Gram are enough for standard errors
PART = 1e-6  # of the largest entry of a flat direction (of unit columns): less takes no part
CERTAIN = 1e-4  # curvature of one row (up to 1/4) that separation leaves where a solver ended


def information(
    prepared: Prepared, x: np.ndarray, separation: Separation | None = None
) -> dict[str, Any]:
    """Facts about the differences to class 0.

    root : (q (p + 1), .), class by class, intercepts last: root @ root.T is their covariance, in
    the units of `prepared`; rank; loss; x as given
    aliased : columns (p for the intercept) that earlier ones span; the covariance is what it would
    be without them. flat : positions in (q, p + 1) of others that the curvature at x does not tell:
    if classes are separated, all that grow with the separating ones, intercepts too
    null : (p + 1, m), what may be added to the coefficients of a class without any effect
    """
    F = prepared.likelihood
    width, used = F.X.p + 1, np.ones((F.q, F.X.p + 1), dtype=bool)
    used[:, -1] = F.intercept
    free = np.flatnonzero(used)
    H = F.curvature(x)
    loss = float(F.evaluate(x)[0])
    factor = cholesky_factor(H[np.ix_(free, free)])
    if factor is not None and factor.condition < SOUND and separation is None:
        root = np.zeros((F.size, len(free)))
        root[free] = factor.inverse_rows()
        none = np.zeros(0, dtype=np.int64)
        found = {"rank": len(free), "aliased": none, "flat": none, "null": np.zeros((width, 0))}
    else:
        table = find_aliases(F.triangle(), F.intercept)
        flat, root = _root(F, x, H, table, separation is not None)
        if separation is not None and separation.complete:
            flat = free
        null = [_direction(prepared, change) for change in table.null.T]
        found = {
            "rank": F.q * len(table.kept), "aliased": table.aliased, "flat": flat,
            "null": np.array(null).reshape(-1, width).T,
        }  # fmt: skip
    return found | {"loss": loss, "prepared": prepared, "x": x, "root": root}


def _direction(prepared: Prepared, change: np.ndarray) -> np.ndarray:
    """A change of coefficients in the user's units, of any length that floats have."""
    size = np.frexp(change)[1] + np.append(prepared.units, 0)
    size = max(int(np.where(change == 0, 0, size).max()), 0)
    return prepared.to_user(np.tile(np.ldexp(change, -size), prepared.likelihood.q))[0]


def joint_root(known: list[dict[str, Any]]) -> np.ndarray:
    """(K (p + 1), .), a root of the covariance of the coefficients of K fits of the same rows.

    Fit k with the root T_k of its inverse curvature moves by T_k T_k' x_i r_ik for row i of
    residual r_ik; the products of these moves, summed over the rows, need no model to be true.
    """
    first = known[0]["prepared"].likelihood
    sizes = np.cumsum([0] + [one["root"].shape[1] for one in known])

    def partial(rows: slice) -> np.ndarray:
        table, roots = first.table(rows), np.sqrt(first.weights[rows])
        moves = np.empty((len(table), sizes[-1]))
        for one, begin, end in zip(known, sizes, sizes[1:]):
            F = one["prepared"].likelihood
            residuals = F.chances(one["x"], rows)[:, 0] - F.y[rows]
            moves[:, begin:end] = (table @ one["root"]) * (residuals * roots)[:, None]
        return moves.T @ moves

    values, vectors = np.linalg.eigh(parallel.reduce(partial, np.ndarray.__iadd__, first.X.blocks))
    vectors = vectors * np.sqrt(np.maximum(values, 0.0))
    return np.concatenate(
        [one["root"] @ vectors[a:b] for one, a, b in zip(known, sizes, sizes[1:])]
    )


def _root(
    F: Likelihood, x: np.ndarray, H: np.ndarray, table: Aliases, separated: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Columns that remain flat, and a root of the inverse curvature of the others.

    Along orthonormal combinations X V of the kept columns it is the fit alone that may be flat.
    """
    q, width, r = F.q, F.X.p + 1, len(table.kept)
    V, unit = np.zeros((width, r)), np.zeros((width, 1))
    V[table.kept] = table.factor.inverse_rows()
    unit[table.kept, 0] = np.ldexp(1.0, -table.factor.exponents[table.factor.order])
    if table.factor.condition < SOUND and not separated:
        H = np.einsum("ja,kjlm,mb->kalb", V, H.reshape(q, width, q, width), V, optimize=True)
    else:  # too few digits are left in H, or too much of rows on their way to certainty
        H = curvature_along(F, x, V, CERTAIN if separated else 0.0)
    inner, still = flat_root(H.reshape(q * r, q * r), GRAM_LIMIT**-2)
    root = np.einsum("ja,kan->kjn", V, inner.reshape(q, r, inner.shape[1]))
    root = root.reshape(F.size, inner.shape[1])
    moves = np.einsum("ja,kan->kjn", V, still.reshape(q, r, still.shape[1]))
    sizes = np.abs(moves * unit)
    part = sizes > PART * sizes.max(axis=(0, 1), initial=1e-300)
    if F.shift is not None and F.intercept:
        part[:, -1] = part.any(axis=1) & _moves_intercept(moves, F.shift)
    return np.flatnonzero(part.any(axis=2)), root


def _moves_intercept(moves: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """Whether directions (q, p + 1, .) of centred columns move the intercept of the user's columns."""
    own = np.abs(moves[:, -1] - np.einsum("j,kjn->kn", shift, moves[:, :-1]))
    size = np.abs(moves[:, -1]) + np.einsum("j,kjn->kn", np.abs(shift), np.abs(moves[:, :-1]))
    return own > PART * size


def curvature_along(F: Likelihood, x: np.ndarray, V: np.ndarray, least: float = 0.0) -> np.ndarray:
    """Second derivatives (q, r, q, r) at x by the coefficients of the columns X V.

    What a row adds to them is left out below `least`.
    """

    def partial(rows: slice) -> np.ndarray:
        A, P, w = F.table(rows) @ V, F.chances(x, rows), F.weights[rows]
        H = np.empty((F.q, V.shape[1], F.q, V.shape[1]))
        for k in range(F.q):
            for l in range(F.q):
                bend = P[:, k] * (float(k == l) - P[:, l])
                bend = w * np.where(np.abs(bend) < least, 0.0, bend)
                H[k, :, l] = A.T @ (A * bend[:, None])
        return H

    return parallel.reduce(partial, np.ndarray.__iadd__, F.X.blocks)
