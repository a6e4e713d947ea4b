"""The three solvers of linear discriminant analysis.

All work on means and covariances, so a table is read once. Invariant: results are on the original scale;
`shift_` must be subtracted from x before `coef_` and `offset_` are used.
"""

from typing import Any

import numpy as np

from pellucid.data import Problem
from pellucid.discriminant_analysis.class_covariances import (
    FAR,
    ClassCovariances,
    check_size,
    chosen_priors,
    class_covariances,
    log_priors,
    shrunk,
    shrunk_by_class,
    standard,
    to_user,
    whitened,
    wide,
    with_fixed_signs,
)
from pellucid.discriminant_analysis.row_space import (
    SharedCovariance,
    class_rows,
    shrunk_within,
    whitened_rows,
)
from pellucid.errors import DataError
from pellucid.records import Status

SINGULAR = 1e-7  # smaller standard deviations, in standard units, count as 0


def solve(model: Any, problem: Problem, n_directions: int) -> dict[str, Any]:
    """Learned attributes of a `LinearDiscriminantAnalysis`."""
    if model.solver != "eigen" and model.covariance_estimator is None and wide(problem):
        return _solve_wide(model, problem, n_directions)
    found = class_covariances(problem, own=model.solver != "svd" and model.priors is not None)
    priors = chosen_priors(model.priors, found.share, type(model).__name__)
    xbar = priors @ found.means
    _, spread = standard(found.pooled)
    far = bool((np.abs(xbar) > FAR[model.solver] * spread).any())
    shift = xbar if far else np.zeros_like(xbar)
    # The caller raises an error for coefficients that overflow.
    with np.errstate(over="ignore", invalid="ignore"):
        return _solved(model, problem, n_directions, found, priors, xbar, shift)


def _solved(
    model: Any, problem: Problem, n_directions: int, found: ClassCovariances, priors: np.ndarray,
    xbar: np.ndarray, shift: np.ndarray,
) -> dict[str, Any]:  # fmt: skip
    if model.solver == "svd":
        white = whitened(found.pooled, model.tol)
        coef, offset, more = _by_svd(found.means, white[0], priors, xbar, shift, model.tol)
        flat = white[1]
        if model.store_covariance:
            more["covariance_"] = found.pooled
    else:
        within = _within(model, problem, found, priors)
        coef, offset, more, flat = _by_covariance(model, problem, found, priors, shift, within)
        more["covariance_"] = within
    place = (found.units, found.means, xbar, shift)
    return _learned(model, problem, n_directions, place, priors, coef, offset, more, flat)


def _solve_wide(model: Any, problem: Problem, n_directions: int) -> dict[str, Any]:
    """With more columns than rows: in the space of the rows, without a matrix of columns x columns."""
    check_size(problem, 1)
    found = class_rows(problem)
    priors = chosen_priors(model.priors, found.share, type(model).__name__)
    xbar, spread = priors @ found.means, np.sqrt(found.pooled)
    far = np.abs(xbar) > FAR[model.solver] * np.where(spread > 0, spread, 1.0)
    shift = xbar if bool(far.any()) else np.zeros_like(xbar)
    more: dict[str, Any] = {}
    if model.solver == "svd":
        within = SharedCovariance(found.within(found.share), np.zeros(len(xbar)))
        W, flat = whitened_rows(within.B, model.tol)
        coef, offset, more = _by_svd(found.means, W, priors, xbar, shift, model.tol)
    else:
        within = shrunk_within(found, priors, model.shrinkage)
        means = found.means - shift
        if within.sure:
            coef, flat = within.solve(means), np.empty(0, dtype=np.intp)
        else:
            W, flat = whitened(within.dense(), SINGULAR) if within.D.any() else (
                whitened_rows(within.B, SINGULAR)
            )  # fmt: skip
            coef = (means @ W) @ W.T
        offset = -0.5 * (means * coef).sum(axis=1) + log_priors(priors)
        more["explained_variance_ratio_"] = np.empty(0)
    if model.solver == "lsqr" or model.store_covariance:
        more["covariance_"] = within.dense()
    place = (np.zeros(len(xbar), dtype=np.int64), found.means, xbar, shift)
    return _learned(model, problem, n_directions, place, priors, coef, offset, more, flat)


def _learned(
    model: Any, problem: Problem, n_directions: int, place: tuple, priors: np.ndarray,
    coef: np.ndarray, offset: np.ndarray, more: dict[str, Any], flat: np.ndarray,
) -> dict[str, Any]:  # fmt: skip
    """All attributes on the original scale; `place` has the units, the means, their mean, the shift."""
    units, means, xbar, shift = place
    if "covariance_" in more:
        more["covariance_"] = to_user(more["covariance_"], units[:, None] + units)
    if "scalings_" in more:
        more["scalings_"] = to_user(more["scalings_"], -units[:, None])
    more["explained_variance_ratio_"] = more["explained_variance_ratio_"][:n_directions]
    if len(coef) == 2:
        coef, offset = coef[1:] - coef[:1], offset[1:] - offset[:1]
    if model.solver == "lsqr":
        del more["explained_variance_ratio_"]
    return more | {
        "coef_": np.ldexp(coef, -units) if units.any() else coef,
        "intercept_": offset - coef @ shift,
        "offset_": offset,
        "shift_": to_user(shift, units),
        "means_": to_user(means, units),
        "xbar_": to_user(xbar, units),
        "priors_": priors,
        "n_directions_": n_directions,
        "status_": _status(problem, flat),
    }


def _status(problem: Problem, flat: np.ndarray) -> Status:
    if not len(flat):
        return Status("ok", "Solved directly.")
    terms = problem.schema.terms  # computed at each access
    named = ", ".join(terms[j] for j in flat[:5]) + (
        f" and {len(flat) - 5} more" if len(flat) > 5 else ""
    )
    return Status(
        "ok",
        "Solved directly. Some columns, or linear combinations of columns, do not vary within the "
        f"classes ({named}); these directions are left out.",
    )


def _within(
    model: Any, problem: Problem, found: ClassCovariances, priors: np.ndarray
) -> np.ndarray:
    """Covariance of the rows around their class means, classes weighted by their priors."""
    special = shrunk_by_class(problem, found, model.shrinkage, model.covariance_estimator)
    if special is not None:
        return np.tensordot(priors, special, axes=1)
    pooled = found.pooled if found.own is None else np.tensordot(priors, found.own, axes=1)
    return shrunk(pooled, model.shrinkage)


def _by_svd(
    means: np.ndarray, W: np.ndarray, priors: np.ndarray, xbar: np.ndarray, shift: np.ndarray,
    tol: float,
) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:  # fmt: skip
    """Whiten by W, then rotate to the principal axes of the class means."""
    apart = (np.sqrt(priors)[:, None] * (means - xbar)) @ W
    _, S, axes = np.linalg.svd(apart, full_matrices=False)
    rank = int((tol * S[0] < S).sum()) if S.size and S[0] > 0 else 0
    scalings = with_fixed_signs(W @ axes.T[:, :rank])
    share = (S / S[0]) ** 2 / ((S / S[0]) ** 2).sum() if rank else S
    position = (means - xbar) @ scalings
    coef = position @ scalings.T
    offset = -0.5 * (position**2).sum(axis=1) + log_priors(priors) + coef @ (shift - xbar)
    return coef, offset, {"scalings_": scalings, "explained_variance_ratio_": share}


def _by_covariance(
    model: Any, problem: Problem, found: ClassCovariances, priors: np.ndarray, shift: np.ndarray,
    within: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, dict[str, Any], np.ndarray]:  # fmt: skip
    """coef = C^-1 m; "eigen" also diagonalises the covariance of the means."""
    W, flat = whitened(within, SINGULAR)
    means = found.means - shift
    coef = (means @ W) @ W.T
    offset = -0.5 * (means * coef).sum(axis=1) + log_priors(priors)
    if model.solver == "lsqr":
        return coef, offset, {"explained_variance_ratio_": np.empty(0)}, flat
    between = _total(model, problem, found) - within
    inside = W.T @ between @ W
    if not np.isfinite(inside).all():
        raise DataError(
            "The scales of the columns differ so much that their covariances overflow float64. Scale "
            "the columns, or use solver='svd'."
        )
    values, axes = np.linalg.eigh(inside)
    scalings = with_fixed_signs(W @ axes[:, ::-1])
    values = np.maximum(values, 0.0)  # a shrunk total may be smaller than a shrunk within
    share = values[::-1] / values.sum() if values.any() else values
    return coef, offset, {"scalings_": scalings, "explained_variance_ratio_": share}, flat


def _total(model: Any, problem: Problem, found: ClassCovariances) -> np.ndarray:
    """Covariance of all rows, shrunk like the one within the classes."""
    if model.shrinkage == "auto" or model.covariance_estimator is not None:
        one = Problem(problem.X, np.zeros_like(problem.y), problem.weights, problem.schema)
        whole = ClassCovariances(
            found.units, found.total.sum(keepdims=True), found.means[:1], None, found.pooled
        )
        special = shrunk_by_class(one, whole, model.shrinkage, model.covariance_estimator)
        assert special is not None
        return special[0]
    return shrunk(found.pooled + found.between(), model.shrinkage)
