"""Robust standard errors of logistic models, from a fitted model and its training rows.

The score of a row is (p_i - y_i) x_i, for several classes (p_i - y_i) kron x_i with p and y without
the first class; the bread is the inverse information.

Invariant: a factor of `class_weight` multiplies the score of a row, it never makes copies of it; so
do "precision" weights, while "frequency" weights count copies.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import chdtrc

from pellucid.data import Problem
from pellucid.data.class_weights import class_weighted
from pellucid.errors import DataError, ParameterError, PellucidError
from pellucid.linear_model._inference.least_squares import wald_chi2
from pellucid.linear_model._inference.logistic import differences, told_apart
from pellucid.linear_model._inference.logistic_information import curvature_along
from pellucid.linear_model._inference.robust import (
    OTHER_ROWS,
    Wanted,
    check_same_rows,
    training_rows,
)
from pellucid.linear_model._logistic.absent_classes import without_absent
from pellucid.linear_model._logistic.objective import Likelihood, flat_root
from pellucid.linear_model._logistic.solver import Setting, prepare
from pellucid.numerics.collinearity import find_aliases
from pellucid.numerics.linalg import GRAM_LIMIT
from pellucid.numerics.sandwich import sandwich


def robust_errors(
    model: Any, kept: dict[str, Any], wanted: Wanted, classical: np.ndarray
) -> tuple[np.ndarray, dict[str, float]]:
    """Errors (q, p + 1), the intercept first, NaN where the classical ones are; the Wald test."""
    _check_known(model, kept, wanted)
    B = differences(model, kept, np.column_stack([model.intercept_, model.coef_]))[1]
    B = np.roll(B, -1, axis=1)
    training = _rows(model, kept, wanted)
    root = _robust_root(model, training, wanted, B)
    errors = np.roll(np.linalg.norm(root, axis=2), 1, axis=1)
    errors = np.where(np.isnan(classical), np.nan, errors)
    slopes = B[:, :-1].size
    if not slopes or np.isnan(errors[:, int(not model.fit_intercept) :]).any():
        return errors, {}
    chi2 = wald_chi2(root[:, :-1].reshape(slopes, -1), B[:, :-1].ravel(), training.groups)
    return errors, {"Wald chi2": chi2, "p of Wald": float(chdtrc(slopes, chi2))}


def _check_known(model: Any, kept: dict[str, Any], wanted: Wanted) -> None:
    """Refuse what has no agreed definition."""
    labels, separate = told_apart(model, kept)
    if getattr(model, "firth", False):
        raise PellucidError(
            f"Firth's fit has no {wanted.errors} standard errors: its estimates do not solve the "
            "equations they are made from. Use errors='classical', or firth=False."
        )
    if separate:
        raise PellucidError(
            f"One-vs-rest fits have no {wanted.errors} standard errors: there is no common "
            "likelihood. Use multiclass='softmax', or one fit of two classes each."
        )
    if wanted.errors in ("HC2", "HC3") and len(labels) > 2:
        raise ParameterError(
            f"{wanted.errors} needs the leverage of a row, of which there is no agreed definition "
            "for more than two classes: use HC0, HC1 or clustered."
        )


@dataclass(frozen=True)
class _Training:
    """Rows of classes that are present; `weights` hold the factors of `class_weight` too."""

    problem: Problem
    weights: np.ndarray
    groups: np.ndarray | None


def _rows(model: Any, kept: dict[str, Any], wanted: Wanted) -> _Training:
    problem, groups = training_rows(model, wanted)
    assert problem.classes is not None
    if not np.array_equal(problem.classes, model.classes_):
        raise DataError(OTHER_ROWS)
    weights = class_weighted(model.class_weight, problem)
    if len(kept["present"]) == problem.n_classes:
        return _Training(problem, weights, groups)
    if groups is not None:
        groups = np.unique(groups[weights > 0], return_inverse=True)[1]
    return _Training(*without_absent(problem, weights, kept["present"]), groups)


def _robust_root(model: Any, rows: _Training, wanted: Wanted, B: np.ndarray) -> np.ndarray:
    """A root (q, p + 1, .) of the covariance of B (q, p + 1), intercepts last, in the user's units."""
    problem, w = rows.problem, rows.weights
    setting = Setting(0.0, model.fit_intercept, model.tol, model.max_iter)
    prepared = prepare(problem.X, problem.y, w, problem.n_classes, setting)
    F, x = prepared.likelihood, prepared.from_user(B)
    # Along V columns are orthonormal: nothing is lost where they nearly depend on each other.
    table = find_aliases(F.triangle(), F.intercept)
    V = np.zeros((F.X.p + 1, len(table.kept)))
    V[table.kept] = table.factor.inverse_rows()
    rank = F.q * V.shape[1]
    # Along T the information is 1: nothing is lost where some rows have reached their class.
    T = flat_root(curvature_along(F, x, V).reshape(rank, rank), GRAM_LIMIT**-2)[0]
    _check_rows(model, F, x, T.T @ (F.evaluate(x)[1].reshape(F.q, -1) @ V).ravel())
    copies = wanted.counts_copies(problem.weights)
    counts = problem.weights if copies else np.ones(problem.n)
    C = sandwich(
        np.eye(T.shape[1]), _visit(F, x, V, T, w / counts), F.X.blocks, counts, wanted.errors,
        n=problem.total if copies else float(problem.n), rank=rank, groups=rows.groups,
    )  # fmt: skip
    values, vectors = np.linalg.eigh(C)
    inner = T @ (vectors * np.sqrt(np.maximum(values, 0.0)))
    root = np.einsum("ja,kan->nkj", V, inner.reshape(F.q, V.shape[1], T.shape[1]))
    moved = [prepared.to_user(one) for one in root]
    return np.stack(moved, axis=-1) if moved else np.zeros((*B.shape, 0))


def _check_rows(model: Any, F: Likelihood, x: np.ndarray, pull: np.ndarray) -> None:
    """The rows are those of the fit, and the fit is an optimum; `pull` is the slope along T."""
    try:
        check_same_rows(F.evaluate(x)[0], pull, np.eye(len(pull)), _size(F, x))
    except DataError:
        if model.status_.ok:
            raise
        raise PellucidError(
            "Robust standard errors need an optimum, which these coefficients are not for these "
            f"rows. {model.status_}"
        ) from None


def _visit(F: Likelihood, x: np.ndarray, V: np.ndarray, T: np.ndarray, share: np.ndarray) -> Any:
    """rows -> scores of a copy along T; for two classes the leverages too."""
    own = np.arange(1, F.n_classes)

    def visit(rows: slice) -> tuple[np.ndarray, np.ndarray | None]:
        A, P = F.table(rows) @ V, F.chances(x, rows)
        R = (P - (F.y[rows, None] == own)) * share[rows, None]
        if F.q > 1:
            return (R[:, :, None] * A[:, None, :]).reshape(len(A), -1) @ T, None
        A = A @ T
        return R * A, share[rows] * P[:, 0] * (1.0 - P[:, 0]) * np.square(A).sum(axis=1)

    return visit


def _size(F: Likelihood, x: np.ndarray) -> float:
    """Of the scores: coefficients, each times the root of the curvature of its column."""
    squares = np.zeros((F.q, F.X.p + 1))
    for rows in F.X.blocks:
        P = F.chances(x, rows)
        squares += (P * (1.0 - P) * F.weights[rows, None]).T @ F.table(rows) ** 2
    return float(np.sqrt(squares).ravel() @ np.abs(x))
