"""The penalty of a lasso or elastic net by folds: paths on the training parts, errors on the rest.

Invariant: a fold's products are those of all rows less those of its test rows, made around one
common shift; folds are tasks of their own, so threads change no bit.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.linear_model import elastic_net_solver as solver
from pellucid.linear_model.folds import Fold
from pellucid.linear_model.net_path import WANTED, net_path
from pellucid.linear_model.products import AllProducts, few_columns, make_products, small
from pellucid.linear_model.ridge_solver import Ridge, prepare, ridge, ridge_positive
from pellucid.numerics.tables import Rows


@dataclass(frozen=True)
class Grid:
    """What to try: for each l1_ratio its falling penalties (m,)."""

    l1_ratios: list[float]
    alphas: list[np.ndarray]
    intercept: bool
    positive: bool
    max_iter: int
    tol: float


@dataclass(frozen=True)
class Table:
    """All rows, prepared once, and their products if there are few columns."""

    problem: Problem
    task: Ridge
    gram: np.ndarray | None


def errors_by_fold(problem: Problem, folds: list[Fold], grid: Grid) -> np.ndarray:
    """Mean squared errors of the test rows, (l1_ratios, alphas, folds)."""
    Y = problem.y[:, None]
    task = prepare(problem.X, Y, problem.weights, grid.intercept, few_columns(problem.n, problem.p))
    whole = small(task) and not task.units.any()
    table = Table(problem, task, task.products() if whole else None)
    parts = parallel.map(lambda fold: _errors(table, fold, grid), folds)
    return np.stack(parts, axis=2)


def _errors(table: Table, fold: Fold, grid: Grid) -> np.ndarray:
    task, products = _training(table, fold)
    errors = np.empty((len(grid.l1_ratios), len(grid.alphas[0])))
    for r, l1_ratio in enumerate(grid.l1_ratios):
        pairs = [(float(a) * l1_ratio, float(a) * (1 - l1_ratio)) for a in grid.alphas[r]]
        b = _path(table.problem, fold, task, products, pairs, grid)
        lift, mean = int(task.lift[0]), np.ldexp(products.mean, -task.units)
        with np.errstate(over="ignore", invalid="ignore"):
            intercept = np.ldexp(products.mean_y[0] - b @ mean, lift) * grid.intercept
            coef = np.ldexp(b, lift)
        errors[r] = _test_error(table.problem, fold, coef, intercept)
    return errors


def _training(table: Table, fold: Fold) -> tuple[Ridge, Any]:
    """The task and products of a fold's training rows."""
    problem, task = table.problem, table.task
    if table.gram is None:
        own = prepare(problem.X, problem.y[:, None], fold.train, task.design.constant)
        return own, make_products(own)
    design = replace(task.design, weights=np.ldexp(fold.train, -task.weights_lift))
    own = replace(task, design=design, gram=None)
    if not np.array_equal(fold.train + fold.test, problem.weights):
        return own, AllProducts(own)
    rows = np.flatnonzero(fold.test)
    first, last = int(rows[0]), int(rows[-1]) + 1
    picked: Any = slice(first, last) if last - first == len(rows) else rows
    part = replace(
        task.design, X=Rows(task.design.X.X[picked]), Y=task.design.Y[picked],
        weights=np.ldexp(fold.test[picked], -task.weights_lift),
    )  # fmt: skip
    return own, AllProducts(own, table.gram - part.gram())


def _path(
    problem: Problem, fold: Fold, task: Ridge, products: Any, pairs: list[tuple[float, float]],
    grid: Grid,
) -> np.ndarray:  # fmt: skip
    """Coefficients (m, p) in the user's units, but divided by 2**lift."""
    corners = [pair for pair in pairs if pair[0] > 0]
    lift = int(task.lift[0])
    if isinstance(products, AllProducts) and not task.units.any():
        scaled = [(float(np.ldexp(l1, -lift)), l2) for l1, l2 in corners]
        points = [np.zeros((0, len(task.units)))]
        if scaled:
            points = [net_path(products, 0, scaled, grid.positive, grid.max_iter)[0]]
    else:
        points = [_one_by_one(task, products, corners, grid)]
    for _, l2 in pairs[len(corners) :]:  # alpha = 0, or no l1 part: ridge regression
        solve = ridge_positive if grid.positive else ridge
        strength = np.array([l2 * float(fold.train.sum())])
        found = solve(problem.X, problem.y[:, None], fold.train, strength, grid.intercept)
        points.append(np.ldexp(found[0], -lift))
    return np.concatenate(points)


def _one_by_one(task: Ridge, products: Any, pairs: list[tuple[float, float]], grid: Grid) -> Any:
    """The path by working sets: wide tables, and columns of extreme size."""
    net = solver.Net(0.0, 0.0, grid.intercept, grid.positive, grid.tol, grid.max_iter)
    b, points = np.zeros(len(task.units)), []
    for l1, l2 in pairs:
        corner, curve = solver.strengths(task, 0, l1, l2)
        b = solver.solve_target(products, 0, corner, curve, b, net, wanted=WANTED).b
        points.append(np.ldexp(b, task.units))
    return np.array(points).reshape(len(pairs), len(task.units))


def _test_error(
    problem: Problem, fold: Fold, coef: np.ndarray, intercept: np.ndarray
) -> np.ndarray:
    """Weighted mean squared error of each row of `coef`, by blocks of the test rows."""
    rows = np.flatnonzero(fold.test)
    w = fold.test[rows]
    used = np.flatnonzero(coef.any(axis=0))
    B = np.ascontiguousarray(coef[:, used].T)
    total = np.zeros(len(coef))
    with np.errstate(over="ignore", invalid="ignore"):
        for part in parallel.row_blocks(len(rows), max(problem.p, len(coef))):
            X = problem.X[rows[part]][:, used]
            r = problem.y[rows[part], None] - np.asarray(X @ B) - intercept
            total += w[part] @ r**2
        return total / w.sum()
