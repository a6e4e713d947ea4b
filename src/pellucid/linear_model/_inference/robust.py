"""Robust standard errors of linear models, from a fitted model and its training rows.

Invariant: the rows are the ones of the fit (the scores at the estimates sum to 0), else an error
says so; with "frequency" weights a weight is a number of copies, with "precision", or if weights are
not whole, it multiplies the score of one row, and its unit falls out. Copies of a share of successes
are trials, each of them a success or not.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pellucid.data import Problem
from pellucid.data.opening import opened
from pellucid.data.problem import prepare
from pellucid.data.raw_column import is_missing
from pellucid.data.targets import as_vector, check_lengths
from pellucid.errors import DataError, ParameterError, shown
from pellucid.linear_model._glm import solver
from pellucid.linear_model._glm.boundary import table_aliases
from pellucid.linear_model._inference.intervals import check_level
from pellucid.linear_model._logistic.objective import flat_solver
from pellucid.numerics.linalg import cholesky_factor, triangular_factor
from pellucid.numerics.objectives.families import GLMLoss
from pellucid.numerics.sandwich import KINDS, sandwich

ERRORS = ("classical", *KINDS)
OTHER_ROWS = (
    "X, y and sample_weight are not the rows that this model was fitted to: its coefficients are not "
    "the best ones for them. Give the same rows as to fit."
)
STRANGE = 1e-6  # share of the fit that the scores of the fit's own rows cannot miss


@dataclass(frozen=True)
class Wanted:
    """What `summary()` was asked for."""

    errors: str = "classical"
    X: Any = None
    y: Any = None
    sample_weight: Any = None
    offset: Any = None
    groups: Any = None
    weights: str = "frequency"
    level: float = 0.95

    def check(self) -> None:
        for name, options in (("errors", ERRORS), ("weights", ("frequency", "precision"))):
            value = getattr(self, name)
            if value not in options:
                raise ParameterError(
                    f"{name} must be one of {options}. Got {shown(value)} instead."
                )
        check_level(self.level)
        if self.errors != "classical" and (self.X is None or self.y is None):
            raise ParameterError(
                f"{self.errors} standard errors are computed from the training rows, which a fitted "
                "model does not keep: give them again, summary(errors=..., X=X, y=y)."
            )
        if (self.errors == "clustered") != (self.groups is not None):
            raise ParameterError("groups= and errors='clustered' belong together.")

    def counts_copies(self, weights: np.ndarray) -> bool:
        """Whether a weight is a number of copies: there is no half of a copy."""
        return self.weights == "frequency" and bool((weights == np.floor(weights)).all())


def training_rows(model: Any, wanted: Wanted) -> tuple[Problem, np.ndarray | None]:
    """The training rows, encoded as at the fit, and the group codes of those that count."""
    X, y, weights, offset = opened(wanted.X, wanted.y, wanted.sample_weight, wanted.offset)
    spec = replace(model._input_spec(), schema=model.schema_)
    problem, rows = prepare(X, y, weights, offset, model.table, spec)
    if wanted.groups is None:
        return problem, None
    given = as_vector(wanted.groups, "groups")
    check_lengths(rows.n_rows, len(given))
    counted = np.arange(len(given))
    if problem.position is not None:
        counted = np.flatnonzero(problem.position >= 0)
    return problem, group_codes(given, counted)


def group_codes(given: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """Codes 0, 1, ... of the groups of the counted rows, each of which must have one."""
    cells = given[counted]
    row = next((row for row, cell in zip(counted, cells) if is_missing(cell)), None)
    if row is not None:
        raise DataError(
            f"groups has no entry in row {row}: whom that row depends on is not known. Leave such "
            "rows out of the fit, or give each a group of its own."
        )
    try:
        return np.unique(cells, return_inverse=True)[1]
    except TypeError:
        raise DataError(
            "groups mixes text and numbers: make them all text or all numbers."
        ) from None


def robust_root(
    model: Any, loss: GLMLoss, problem: Problem, groups: np.ndarray | None, wanted: Wanted,
    coef: np.ndarray, intercept: float, y: np.ndarray, rank: int,
) -> np.ndarray:  # fmt: skip
    """A root of the covariance of (coefficients, intercept) in the user's units.

    `rank` counts the intercept. Columns that those before them span are left out: rows of 0.
    """
    task = solver.prepare(
        problem.X, y, problem.weights, problem.offset, loss, 0.0, model.fit_intercept
    )
    objective, x = task.objective, task.from_user(np.append(coef, intercept))
    objective.evaluate(x)
    copies = wanted.counts_copies(problem.weights)
    counts = objective.weights if copies else np.ones(problem.n)
    V = _orthonormal(objective, rank)
    trials = copies and wanted.errors != "clustered" and _are_trials(loss, problem.weights, y)
    visit, sums = _score_rows(objective, V, copies, trials)
    bread, hat = _inverse(sums.curvature), _inverse(sums.expected)
    value, g = objective.evaluate(x)
    check_same_rows(value, V.T @ g, bread, float(sums.lengths @ np.abs(x)))
    n = problem.total if copies else float(problem.n)

    def with_leverage(rows: slice) -> tuple[np.ndarray, np.ndarray]:
        scores, table, bend = visit(rows)
        return scores, bend * np.einsum("ij,jk,ik->i", table, hat, table, optimize=True)

    C = sandwich(
        bread, with_leverage, objective.X.blocks, counts, wanted.errors,
        n=n, rank=rank, groups=groups,
    )  # fmt: skip
    if not copies:  # squares of weights in the meat: their unit falls out
        C = np.ldexp(C, task.weights_lift)
    values, vectors = np.linalg.eigh(C)
    root = task.root(V @ (vectors * np.sqrt(np.maximum(values, 0.0))))
    root[-1] -= task.centre @ root[:-1]
    return root


def _orthonormal(objective: Any, rank: int) -> np.ndarray:
    """V (p + 1, rank): the columns of [X, 1] V are orthonormal, whatever those of X are.

    So nothing is lost where columns nearly depend on each other.
    """
    p = objective.X.p
    found = table_aliases(objective)
    factor, kept = found.factor, found.kept
    if factor.rank != rank:  # least squares tells columns apart that Newton's method does not
        order = np.append(p, np.arange(p)) if objective.intercept else np.arange(p)
        factor = triangular_factor(objective.table_triangle()[:, order], objective.X.n)
        kept = order[factor.order]
    V = np.zeros((p + 1, factor.rank))
    V[kept] = factor.inverse_rows()
    return V


@dataclass(frozen=True)
class Sums:
    """Along V: second derivatives and their expectation; along the columns: sizes of the former."""

    curvature: np.ndarray
    expected: np.ndarray
    lengths: np.ndarray


def _are_trials(loss: GLMLoss, weights: np.ndarray, y: np.ndarray) -> bool:
    """Whether the rows are shares of whole numbers of successes, some neither 0 nor 1."""
    if loss.family.name != "binomial" or not np.any((y > 0) & (y < 1)):
        return False
    successes = weights * y
    return bool(np.all(np.abs(successes - np.rint(successes)) <= 1e-9 * np.maximum(weights, 1.0)))


def _slope(loss: GLMLoss, y: np.ndarray, eta: np.ndarray, trials: bool) -> np.ndarray:
    """The score of a copy along eta; of a trial its mean size, as only squares are summed."""
    if not trials:
        return loss.gradient(y, eta)
    hit, miss = loss.gradient(np.ones_like(y), eta), loss.gradient(np.zeros_like(y), eta)
    return np.hypot(np.sqrt(y) * hit, np.sqrt(1 - y) * miss)


def _score_rows(objective: Any, V: np.ndarray, copies: bool, trials: bool) -> tuple[Any, Sums]:
    """Scores, columns and expected curvature by rows, all along V; and what they sum up to."""
    eta, loss = objective.last["eta"], objective.curve.loss

    def visit(rows: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        table = objective.table(rows) @ V
        w = 1.0 if copies else objective.weights[rows]
        slope = w * _slope(loss, objective.y[rows], eta[rows], trials)
        return table * slope[:, None], table, w * loss.expected(objective.y[rows], eta[rows])

    k = V.shape[1]
    H, expected, squares = np.zeros((k, k)), np.zeros((k, k)), np.zeros(len(V))
    for rows in objective.X.blocks:
        w = objective.weights[rows]
        table, bend = visit(rows)[1:]
        own = w * loss.curvature(objective.y[rows], eta[rows])
        H += table.T @ (table * own[:, None])
        expected += table.T @ (table * (bend * (w if copies else 1.0))[:, None])
        squares += np.abs(own) @ objective.table(rows) ** 2
    return visit, Sums(H, expected, np.sqrt(squares))


def _inverse(H: np.ndarray) -> np.ndarray:
    """H^-1, or its inverse on what the rows tell apart."""
    free = np.diagonal(H) != 0
    C = np.zeros_like(H)
    part = H[np.ix_(free, free)]
    factor = cholesky_factor(part) if part.size else None
    if factor is not None:
        rows = factor.inverse_rows()
        C[np.ix_(free, free)] = rows @ rows.T
    elif part.size:
        solve = flat_solver(part)[0]
        C[np.ix_(free, free)] = np.column_stack([solve(unit) for unit in np.eye(len(part))])
    return C


def check_same_rows(value: float, pull: np.ndarray, bread: np.ndarray, size: float) -> None:
    """At the rows of the fit the gradient is 0, up to rounding.

    `size` is that of the scores: the coefficients, each times the root of its column's curvature.
    """
    missed = np.sqrt(max(float(pull @ bread @ pull), 0.0))
    if not missed <= STRANGE * max(size + 1.0, np.sqrt(abs(value))):
        raise DataError(OTHER_ROWS)
