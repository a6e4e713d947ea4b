"""The covariance of unpenalised logistic coefficients, and what a fit keeps of it.

Invariant: whether columns span each other is decided on the table, not on the curvature at the fit:
separation flattens the curvature, and near dependence needs more digits than the curvature holds.
The keys of `facts` are part of the format of model files.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import block_diag
from scipy.special import xlogy

from pellucid import parallel
from pellucid.data import Problem
from pellucid.linear_model._inference.information import NONE, Information
from pellucid.linear_model._inference.intervals import slack
from pellucid.linear_model._logistic.objective import Likelihood
from pellucid.linear_model._logistic.preparation import Prepared
from pellucid.linear_model._logistic.separation import Separation
from pellucid.linear_model._logistic.solver import INFERENCE_SIZE
from pellucid.numerics.collinearity import Aliases, find_aliases
from pellucid.numerics.linalg import GRAM_LIMIT, cholesky_factor, singular_root

SOUND = 1e3  # condition up to which the digits of the Gram are enough for standard errors
PART = 1e-6  # share of the largest entry of a flat direction (of unit columns) that counts as 0
CERTAIN = 1e-4  # curvature of one row (up to 1/4) that separation leaves where a solver ended


@dataclass(frozen=True)
class LogisticFit:
    """One softmax fit, or one class against the others: the optimum x, its loss, its information.

    The information is that of the differences to class 0, in the units of `prepared`. If classes are
    separated, all coefficients that grow with the separating ones are flat, intercepts too.
    """

    prepared: Prepared
    x: np.ndarray
    loss: float
    information: Information


def with_information(
    prepared: Prepared, x: np.ndarray, separation: Separation | None = None
) -> LogisticFit:
    """The fit at x with its information."""
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
        known = Information(root, len(free), NONE, np.zeros((width, 0)), NONE)
        return LogisticFit(prepared, x, loss, known)
    table = find_aliases(F.triangle(), F.intercept)
    flat, root = _logistic_root(F, x, H, table, separation is not None)
    if separation is not None and separation.complete:
        flat = free
    null = np.array([_direction(prepared, change) for change in table.null.T])
    known = Information(root, F.q * len(table.kept), table.aliased, null.reshape(-1, width).T, flat)
    return LogisticFit(prepared, x, loss, known)


def facts(
    fits: list[LogisticFit], problem: Problem, w: np.ndarray, intercept: bool
) -> dict[str, Any]:
    """`inference_` of one softmax fit, or of one fit per class against the others.

    present : positions of the classes of the fit; root : root root' is the covariance of
    coefficients and of scores at `centre`, class by class; joint : that of all one-vs-rest fits
    together; slack : see `intervals.check_span`. Nothing if there are too many coefficients.
    """
    K, known = problem.n_classes, [fit.information for fit in fits]
    if len(known) * len(known[0].root) > INFERENCE_SIZE:
        return {}
    counts = parallel.count_rows(problem.y, w, K)
    sizes = [counts] if len(known) == 1 else [np.array([counts.sum() - c, c]) for c in counts]
    if intercept:
        null = sum(-float(xlogy(n, n / n.sum()).sum()) for n in sizes)
    else:
        null = sum(float(n.sum() * np.log(len(n))) for n in sizes)
    # All fits have one table; only those whose curvature was poor have looked for aliases.
    table = max(known, key=lambda one: len(one.aliased))
    prepared = fits[0].prepared
    centre = prepared.centre
    found = {
        "aliased": table.aliased, "null_space": table.null,
        "flat": np.concatenate(
            [one.flat + k * len(one.root) for k, one in enumerate(known)]
        ).astype(np.int64),
        "root": block_diag(
            *(fit.prepared.root(fit.information.root, centre) for fit in fits)
        ),
        "centre": centre, "slack": slack(problem.X, table.null[:-1], table.null[-1]),
        "rank": int(sum(one.rank for one in known)),
        "log_likelihood": -float(sum(fit.loss for fit in fits)),
        "null": -null, "rows": float(problem.total), "n": float(problem.n_all), "present": np.arange(K),
    }  # fmt: skip
    if len(known) > 1:
        found["joint"] = prepared.root(_joint_root(fits), centre)
    return {"inference_": found}


def _direction(prepared: Prepared, change: np.ndarray) -> np.ndarray:
    """A change of coefficients on the original scale, of any length that floats have."""
    size = np.frexp(change)[1] + np.append(prepared.units, 0)
    size = max(int(np.where(change == 0, 0, size).max()), 0)
    return prepared.to_user(np.tile(np.ldexp(change, -size), prepared.likelihood.q))[0]


def _joint_root(fits: list[LogisticFit]) -> np.ndarray:
    """(K (p + 1), .), a root of the covariance of the coefficients of K fits of the same rows.

    Fit k with the root T_k of its inverse curvature moves by T_k T_k' x_i r_ik for row i of
    residual r_ik; the products of these moves, summed over the rows, hold even if the model is wrong.
    """
    first, roots = fits[0].prepared.likelihood, [fit.information.root for fit in fits]
    sizes = np.cumsum([0] + [root.shape[1] for root in roots])

    def partial(rows: slice) -> np.ndarray:
        table, scale = first.table(rows), np.sqrt(first.weights[rows])
        moves = np.empty((len(table), sizes[-1]))
        for fit, root, begin, end in zip(fits, roots, sizes, sizes[1:]):
            F = fit.prepared.likelihood
            residuals = F.probabilities(fit.x, rows)[:, 0] - F.y[rows]
            moves[:, begin:end] = (table @ root) * (residuals * scale)[:, None]
        return moves.T @ moves

    values, vectors = np.linalg.eigh(parallel.reduce(partial, np.ndarray.__iadd__, first.X.blocks))
    vectors = vectors * np.sqrt(np.maximum(values, 0.0))
    return np.concatenate([root @ vectors[a:b] for root, a, b in zip(roots, sizes, sizes[1:])])


def _logistic_root(
    F: Likelihood, x: np.ndarray, H: np.ndarray, table: Aliases, separated: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Positions of flat coefficients, and a root of the inverse curvature of the others.

    Along orthonormal combinations X V of the kept columns only the fit can be flat.
    """
    q, width, r = F.q, F.X.p + 1, len(table.kept)
    V, unit = np.zeros((width, r)), np.zeros((width, 1))
    V[table.kept] = table.factor.inverse_rows()
    unit[table.kept, 0] = np.ldexp(1.0, -table.factor.exponents[table.factor.order])
    if table.factor.condition < SOUND and not separated:
        H = np.einsum("ja,kjlm,mb->kalb", V, H.reshape(q, width, q, width), V, optimize=True)
    else:  # H has too few digits, or too much of it comes from rows that become certain
        H = curvature_along(F, x, V, CERTAIN if separated else 0.0)
    inner, still = singular_root(H.reshape(q * r, q * r), GRAM_LIMIT**-2)
    root = np.einsum("ja,kan->kjn", V, inner.reshape(q, r, inner.shape[1]))
    root = root.reshape(F.size, inner.shape[1])
    moves = np.einsum("ja,kan->kjn", V, still.reshape(q, r, still.shape[1]))
    sizes = np.abs(moves * unit)
    part = sizes > PART * sizes.max(axis=(0, 1), initial=1e-300)
    if F.shift is not None and F.intercept:
        part[:, -1] = part.any(axis=1) & _moves_intercept(moves, F.shift)
    return np.flatnonzero(part.any(axis=2)), root


def _moves_intercept(moves: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """Whether directions (q, p + 1, .) of centred columns move the intercept of the original columns."""
    own = np.abs(moves[:, -1] - np.einsum("j,kjn->kn", shift, moves[:, :-1]))
    size = np.abs(moves[:, -1]) + np.einsum("j,kjn->kn", np.abs(shift), np.abs(moves[:, :-1]))
    return own > PART * size


def curvature_along(F: Likelihood, x: np.ndarray, V: np.ndarray, least: float = 0.0) -> np.ndarray:
    """Second derivatives (q, r, q, r) at x by the coefficients of the columns X V.

    Curvatures of single rows below `least` are left out.
    """

    def partial(rows: slice) -> np.ndarray:
        A, P, w = F.table(rows) @ V, F.probabilities(x, rows), F.weights[rows]
        H = np.empty((F.q, V.shape[1], F.q, V.shape[1]))
        for k in range(F.q):
            for l in range(F.q):
                curvature = P[:, k] * (float(k == l) - P[:, l])
                curvature = w * np.where(np.abs(curvature) < least, 0.0, curvature)
                H[k, :, l] = A.T @ (A * curvature[:, None])
        return H

    return parallel.reduce(partial, np.ndarray.__iadd__, F.X.blocks)
