"""Robust standard errors, from a fitted model and its training rows.

The score of a row of a GLM is its gradient times x_i; of a logistic model it is (p_i - y_i) x_i, for
several classes (p_i - y_i) kron x_i with p and y without the first class.

Invariant: the rows are those of the fit (the scores at the estimates sum to 0), otherwise an error is
raised. "frequency" weights count copies of a row; "precision" weights, weights that are not whole and
factors of `class_weight` multiply the score of one row. Copies of a share of successes are trials,
each of them a success or a failure.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import chdtrc, fdtrc

from pellucid.data import Problem
from pellucid.data.class_weights import class_weighted
from pellucid.data.opening import opened
from pellucid.data.problem import prepare
from pellucid.data.raw_column import is_missing
from pellucid.data.targets import as_vector, check_lengths
from pellucid.errors import DataError, ParameterError, PellucidError
from pellucid.linear_model._glm import solver
from pellucid.linear_model._glm.boundary import table_aliases
from pellucid.linear_model._inference.estimates import classes_of_fit
from pellucid.linear_model._inference.summary_table import Estimates, Request
from pellucid.linear_model._logistic.information import curvature_along
from pellucid.linear_model._logistic.objective import Likelihood
from pellucid.linear_model._logistic.preparation import Setting, prepare_columns, without_absent
from pellucid.numerics import linalg
from pellucid.numerics.collinearity import find_aliases
from pellucid.numerics.objectives.families import GLMLoss
from pellucid.numerics.sandwich import sandwich

OTHER_ROWS = (
    "X, y and sample_weight are not the rows of the fit: the coefficients are not optimal for them. "
    "Pass the same rows as to fit."
)
MISMATCH = 1e-6  # share of the fit by which the scores of its own rows cannot miss 0
NO_SPREAD = 1e-7  # share of the errors that is rounding: the root of that of their squares


def robust_errors(
    model: Any, request: Request, found: Estimates
) -> tuple[np.ndarray, float, list[dict[str, float]]]:
    """Errors (q, p + 1), NaN where the classical ones are, their degrees of freedom, Wald tests.

    Targets are tested separately, classes together.
    """
    if found.loss is None:
        _check_classes(model, request)
    problem, groups = training_rows(model, request)
    if found.loss is None:
        root, groups = _logistic_root(model, problem, groups, request, found)
    else:
        Y = problem.y.reshape(problem.n, -1)
        targets = zip(found.coef, map(np.ascontiguousarray, Y.T))
        given = (model, problem, groups, request, found)
        root = np.stack([_glm_root(*given, x, y) for x, y in targets])
    dof = np.inf
    if not np.isinf(found.dof):
        n = problem.total if request.weights == "frequency" else problem.n
        dof = float(n - found.rank if groups is None else groups.max())
    errors = np.where(np.isnan(found.errors), np.nan, np.linalg.norm(root, axis=2))
    parts = [slice(None)] if found.loss is None else [slice(k, k + 1) for k in range(len(root))]
    shown = errors if model.fit_intercept else errors[:, :-1]
    tests = [
        {} if np.isnan(shown[part]).any() else _wald_test(root[part], found, part, dof, groups)
        for part in parts
    ]
    return errors, dof, tests


def _wald_test(
    root: np.ndarray, found: Estimates, part: slice, dof: float, groups: np.ndarray | None
) -> dict[str, float]:
    """The test of all coefficients but the intercepts."""
    coef = found.coef[part, :-1].ravel()
    k = len(coef)
    if not k:
        return {}
    chi2 = wald_chi2(root[:, :-1].reshape(k, -1), coef, groups)
    if np.isinf(dof):
        if found.loss is not None:
            chi2 = chi2 / k * k  # F times its degrees of freedom
        return {"Wald chi2": chi2, "p of Wald": float(chdtrc(k, chi2))}
    return {"Wald F": chi2 / k, "p of Wald F": float(fdtrc(k, dof, chi2 / k))}


def wald_chi2(root: np.ndarray, coef: np.ndarray, groups: np.ndarray | None) -> float:
    """coef' (root root')^-1 coef; NaN if there are too few groups for an inverse.

    The scores of all groups sum to 0, so G groups determine G - 1 directions.
    """
    unit = np.maximum(np.linalg.norm(root, axis=1), 1e-300)
    table = root / unit[:, None]
    if groups is not None:
        rank = np.linalg.matrix_rank(table, tol=NO_SPREAD)
        if min(rank, groups.max()) < len(coef):
            return np.nan
    z = np.linalg.lstsq(table, coef / unit, rcond=None)[0]
    return float(z @ z)


# The rows of the fit ----------------------------------------------------------------------------


def training_rows(model: Any, request: Request) -> tuple[Problem, np.ndarray | None]:
    """The training rows, encoded as in the fit, and the group codes of those with weight."""
    X, y, weights, offset = opened(request.X, request.y, request.sample_weight, request.offset)
    spec = replace(model._input_spec(), schema=model.schema_)
    problem, rows = prepare(X, y, weights, offset, model.table, spec)
    if request.groups is None:
        return problem, None
    given = as_vector(request.groups, "groups")
    check_lengths(rows.n_rows, len(given))
    return problem, group_codes(given, problem.user_rows())


def group_codes(given: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """Codes 0, 1, ... of the groups of the counted rows; each row must have a group."""
    cells = given[counted]
    row = next((row for row, cell in zip(counted, cells) if is_missing(cell)), None)
    if row is not None:
        raise DataError(
            f"groups is missing in row {row}. Leave the row out of the fit, or give it a group of its "
            "own."
        )
    try:
        return np.unique(cells, return_inverse=True)[1]
    except TypeError:
        raise DataError(
            "groups mixes text and numbers. Make all entries text, or all numbers."
        ) from None


def _check_same_rows(value: float, g: np.ndarray, bread: np.ndarray, size: float) -> None:
    """At the rows of the fit the gradient g is 0, up to rounding.

    `size` is that of the scores: the coefficients, each times the root of its column's curvature.
    """
    missed = np.sqrt(max(float(g @ bread @ g), 0.0))
    if not missed <= MISMATCH * max(size + 1.0, np.sqrt(abs(value))):
        raise DataError(OTHER_ROWS)


def _root(C: np.ndarray) -> np.ndarray:
    """R with R R' = C, for a covariance C."""
    values, vectors = np.linalg.eigh(C)
    return vectors * np.sqrt(np.maximum(values, 0.0))


# Generalised linear models and least squares ----------------------------------------------------


def _glm_root(
    model: Any, problem: Problem, groups: np.ndarray | None, request: Request, found: Estimates,
    coef: np.ndarray, y: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """For one target, on the original scale; rows of 0 for columns that earlier ones span."""
    loss = found.loss
    assert loss is not None
    task = solver.prepare(
        problem.X, y, problem.weights, problem.offset, loss, 0.0, model.fit_intercept
    )
    objective, x = task.objective, task.scaled(coef)
    objective.evaluate(x)
    copies = request.counts_copies(problem.weights)
    counts = objective.weights if copies else np.ones(problem.n)
    V = _orthonormal(objective, found.rank)
    trials = copies and request.errors != "clustered" and _are_trials(loss, problem.weights, y)
    visit, curvature, expected, lengths = _score_rows(objective, V, copies, trials)
    bread, hat = _inverse(curvature), _inverse(expected)
    value, g = objective.evaluate(x)
    _check_same_rows(value, V.T @ g, bread, float(lengths @ np.abs(x)))

    def with_leverage(rows: slice) -> tuple[np.ndarray, np.ndarray]:
        scores, table, curvature = visit(rows)
        return scores, curvature * np.einsum("ij,jk,ik->i", table, hat, table, optimize=True)

    C = sandwich(
        bread, with_leverage, objective.X.blocks, counts, request.errors,
        n=problem.total if copies else float(problem.n), rank=found.rank, groups=groups,
    )  # fmt: skip
    if not copies:  # squares of weights in the meat: their unit cancels
        C = np.ldexp(C, task.weights_lift)
    root = task.root(V @ _root(C))
    root[-1] -= task.centre @ root[:-1]
    return root


def _orthonormal(objective: Any, rank: int) -> np.ndarray:
    """V (p + 1, rank): the columns of [X, 1] V are orthonormal, whatever those of X are.

    So no digits are lost where columns nearly depend on each other.
    """
    p = objective.X.p
    found = table_aliases(objective)
    factor, kept = found.factor, found.kept
    if factor.rank != rank:  # least squares distinguishes more columns than Newton's method
        order = np.append(p, np.arange(p)) if objective.intercept else np.arange(p)
        factor = linalg.triangular_factor(objective.table_triangle()[:, order], objective.X.n)
        kept = order[factor.order]
    V = np.zeros((p + 1, factor.rank))
    V[kept] = factor.inverse_rows()
    return V


def _are_trials(loss: GLMLoss, weights: np.ndarray, y: np.ndarray) -> bool:
    """Whether the rows are shares of whole numbers of successes, some neither 0 nor 1."""
    if loss.family.name != "binomial" or not np.any((y > 0) & (y < 1)):
        return False
    successes = weights * y
    return bool(np.all(np.abs(successes - np.rint(successes)) <= 1e-9 * np.maximum(weights, 1.0)))


def _gradient(loss: GLMLoss, y: np.ndarray, eta: np.ndarray, trials: bool) -> np.ndarray:
    """The score of a copy along eta; of a trial its root mean square, because squares are summed."""
    if not trials:
        return loss.gradient(y, eta)
    hit, miss = loss.gradient(np.ones_like(y), eta), loss.gradient(np.zeros_like(y), eta)
    return np.hypot(np.sqrt(y) * hit, np.sqrt(1 - y) * miss)


def _score_rows(
    objective: Any, V: np.ndarray, copies: bool, trials: bool
) -> tuple[Callable, np.ndarray, np.ndarray, np.ndarray]:
    """rows -> scores, columns and expected curvatures, all along V; the sums along V of second
    derivatives and of their expectation; roots of the former along the columns."""
    eta, loss = objective.last["eta"], objective.curve.loss

    def visit(rows: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        table = objective.table(rows) @ V
        w = 1.0 if copies else objective.weights[rows]
        gradient = w * _gradient(loss, objective.y[rows], eta[rows], trials)
        return table * gradient[:, None], table, w * loss.expected(objective.y[rows], eta[rows])

    k = V.shape[1]
    H, expected, squares = np.zeros((k, k)), np.zeros((k, k)), np.zeros(len(V))
    for rows in objective.X.blocks:
        w = objective.weights[rows]
        table, weight = visit(rows)[1:]
        own = w * loss.curvature(objective.y[rows], eta[rows])
        H += table.T @ (table * own[:, None])
        expected += table.T @ (table * (weight * (w if copies else 1.0))[:, None])
        squares += np.abs(own) @ objective.table(rows) ** 2
    return visit, H, expected, np.sqrt(squares)


def _inverse(H: np.ndarray) -> np.ndarray:
    """H^-1, or its inverse on the directions that the rows determine."""
    free = np.diagonal(H) != 0
    C = np.zeros_like(H)
    part = H[np.ix_(free, free)]
    factor = linalg.cholesky_factor(part) if part.size else None
    if factor is not None:
        rows = factor.inverse_rows()
        C[np.ix_(free, free)] = rows @ rows.T
    elif part.size:
        solve = linalg.singular_solver(part)[0]
        C[np.ix_(free, free)] = np.column_stack([solve(unit) for unit in np.eye(len(part))])
    return C


# Logistic models --------------------------------------------------------------------------------


def _check_classes(model: Any, request: Request) -> None:
    """Refuse errors that have no agreed definition."""
    labels, separate = classes_of_fit(model)
    if getattr(model, "firth", False):
        raise PellucidError(
            f"Firth's fit has no {request.errors} standard errors, because its estimates do not solve "
            "the score equations. Use errors='classical' or firth=False."
        )
    if separate:
        raise PellucidError(
            f"One-vs-rest fits have no {request.errors} standard errors, because they have no common "
            "likelihood. Use multiclass='softmax', or fit two classes at a time."
        )
    if request.errors in ("HC2", "HC3") and len(labels) > 2:
        raise ParameterError(
            f"{request.errors} needs the leverage of a row, which has no agreed definition for more "
            "than two classes. Use HC0, HC1 or clustered."
        )


def _logistic_root(
    model: Any, problem: Problem, groups: np.ndarray | None, request: Request, found: Estimates
) -> tuple[np.ndarray, np.ndarray | None]:
    """A root (q, p + 1, .) of the covariance of the differences to class 0, and the groups."""
    problem, w, groups = _present_rows(model, problem, groups)
    setting = Setting(0.0, model.fit_intercept, model.tol, model.max_iter)
    prepared = prepare_columns(problem.X, problem.y, w, problem.n_classes, setting)
    F, x = prepared.likelihood, prepared.from_user(found.coef)
    # Along V columns are orthonormal: no digits are lost where they nearly depend on each other.
    table = find_aliases(F.triangle(), F.intercept)
    V = np.zeros((F.X.p + 1, len(table.kept)))
    V[table.kept] = table.factor.inverse_rows()
    rank = F.q * V.shape[1]
    # Along T the information is 1: no digits are lost where some rows are nearly certain.
    T = linalg.singular_root(curvature_along(F, x, V).reshape(rank, rank), linalg.GRAM_LIMIT**-2)[0]
    _check_optimum(model, F, x, T.T @ (F.evaluate(x)[1].reshape(F.q, -1) @ V).ravel())
    copies = request.counts_copies(problem.weights)
    counts = problem.weights if copies else np.ones(problem.n)
    C = sandwich(
        np.eye(T.shape[1]), _visit(F, x, V, T, w / counts), F.X.blocks, counts, request.errors,
        n=problem.total if copies else float(problem.n), rank=rank, groups=groups,
    )  # fmt: skip
    inner = T @ _root(C)
    root = np.einsum("ja,kan->nkj", V, inner.reshape(F.q, V.shape[1], T.shape[1]))
    moved = [prepared.to_user(one) for one in root]
    return np.stack(moved, axis=-1) if moved else np.zeros((*found.coef.shape, 0)), groups


def _present_rows(
    model: Any, problem: Problem, groups: np.ndarray | None
) -> tuple[Problem, np.ndarray, np.ndarray | None]:
    """Rows of the classes of the fit, weights with the factors of `class_weight`, and groups."""
    assert problem.classes is not None
    if not np.array_equal(problem.classes, model.classes_):
        raise DataError(OTHER_ROWS)
    weights, present = class_weighted(model.class_weight, problem), model.inference_["present"]
    if len(present) == problem.n_classes:
        return problem, weights, groups
    if groups is not None:
        groups = np.unique(groups[weights > 0], return_inverse=True)[1]
    return *without_absent(problem, weights, present), groups


def _check_optimum(model: Any, F: Likelihood, x: np.ndarray, g: np.ndarray) -> None:
    """The rows are those of the fit, and the fit is an optimum; g is the gradient along T."""
    try:
        _check_same_rows(F.evaluate(x)[0], g, np.eye(len(g)), _size(F, x))
    except DataError:
        if model.status_.ok:
            raise
        raise PellucidError(
            f"Robust standard errors need an optimum, but the solver did not find one. {model.status_}"
        ) from None


def _visit(F: Likelihood, x: np.ndarray, V: np.ndarray, T: np.ndarray, share: np.ndarray) -> Any:
    """rows -> scores of a copy along T and, for two classes, its leverages."""
    own = np.arange(1, F.n_classes)

    def visit(rows: slice) -> tuple[np.ndarray, np.ndarray | None]:
        A, P = F.table(rows) @ V, F.probabilities(x, rows)
        R = (P - (F.y[rows, None] == own)) * share[rows, None]
        if F.q > 1:
            return (R[:, :, None] * A[:, None, :]).reshape(len(A), -1) @ T, None
        A = A @ T
        return R * A, share[rows] * P[:, 0] * (1.0 - P[:, 0]) * np.square(A).sum(axis=1)

    return visit


def _size(F: Likelihood, x: np.ndarray) -> float:
    """Size of the scores: the coefficients, each times the root of its column's curvature."""
    squares = np.zeros((F.q, F.X.p + 1))
    for rows in F.X.blocks:
        P = F.probabilities(x, rows)
        squares += (P * (1.0 - P) * F.weights[rows, None]).T @ F.table(rows) ** 2
    return float(np.sqrt(squares).ravel() @ np.abs(x))
