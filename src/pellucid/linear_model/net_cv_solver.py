"""The penalty of a lasso or elastic net by folds: paths on the training parts, errors on the rest.

Invariant: a fold's products are those of all rows less those of its test rows, made around one
common shift, unless too little would be left; folds are tasks of their own: threads change no bit.
"""

import functools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.linear_model import active_set
from pellucid.linear_model import elastic_net_solver as solver
from pellucid.linear_model.folds import Fold
from pellucid.linear_model.net_path import WANTED, net_path
from pellucid.linear_model.products import AllProducts, few_columns, make_products
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


def prepared(problem: Problem, intercept: bool) -> Table:
    """Products of all columns, if there are few."""
    few = few_columns(problem.n, problem.p)
    task = prepare(problem.X, problem.y[:, None], problem.weights, intercept, few)
    if not few or task.units.any():
        return Table(problem, task, None)
    task = replace(task, gram=task.products())
    return Table(problem, task, task.gram)


def errors_by_fold(table: Table, folds: list[Fold], grid: Grid) -> np.ndarray:
    """Mean squared errors of the test rows, (l1_ratios, alphas, folds)."""
    parts = parallel.map(lambda fold: _errors(table, fold, grid), folds)
    return np.stack(parts, axis=2)


def _errors(table: Table, fold: Fold, grid: Grid) -> np.ndarray:
    errors = np.empty((len(grid.l1_ratios), len(grid.alphas[0])))
    training = Training(table, fold, grid)
    for r, l1_ratio in enumerate(grid.l1_ratios):
        pairs = [(float(a) * l1_ratio, float(a) * (1 - l1_ratio)) for a in grid.alphas[r]]
        lift, (b, mean, mean_y) = int(table.task.lift[0]), training.path(pairs)
        with np.errstate(over="ignore", invalid="ignore"):
            intercept = np.ldexp(mean_y - b @ mean, lift) * grid.intercept
            coef = np.ldexp(b, lift)
        errors[r] = _test_error(table.problem, fold, coef, intercept)
    return errors


@dataclass(frozen=True)
class Training:
    """The training rows of a fold; targets are divided by 2**lift."""

    table: Table
    fold: Fold
    grid: Grid

    @functools.cached_property
    def rest(self) -> Any:
        """The test rows, if all rows less these are the training rows."""
        problem, task = self.table.problem, self.table.task
        whole = np.array_equal(self.fold.train + self.fold.test, problem.weights)
        if self.table.gram is None or not whole:
            return None
        rows = picked(self.fold.test)
        return replace(
            task.design, X=Rows(task.design.X.X[rows]), Y=task.design.Y[rows],
            weights=np.ldexp(self.fold.test[rows], -task.weights_lift),
        )  # fmt: skip

    @functools.cached_property
    def made(self) -> tuple[Ridge, Any]:
        """The task and its products."""
        problem, task, gram = self.table.problem, self.table.task, self.table.gram
        if gram is None:
            own = prepare(problem.X, problem.y[:, None], self.fold.train, task.design.constant)
            return own, make_products(own)
        design = replace(task.design, weights=np.ldexp(self.fold.train, -task.weights_lift))
        own = replace(task, design=design, gram=None)
        left = None if self.rest is None else gram - self.rest.gram()
        if left is not None and not active_set.enough(np.diagonal(left), np.diagonal(gram)):
            left = None
        return own, AllProducts(own, left)

    def path(self, pairs: list[tuple[float, float]]) -> tuple[np.ndarray, np.ndarray, float]:
        """Coefficients (m, p) in the user's units, means of the columns, mean of the target."""
        lasso = self._exact(pairs)
        if lasso is not None:
            return lasso
        task, products = self.made
        b = _path(self.table.problem, self.fold, task, products, pairs, self.grid)
        return b, np.ldexp(products.mean, -task.units), float(products.mean_y[0])

    def _exact(self, pairs: list[tuple[float, float]]) -> Any:
        """As `path`, by active sets; None where they do not serve."""
        part, gram, p = self.rest, self.table.gram, self.table.problem.p
        if self.table.task.units.any() or any(l2 or not l1 for l1, l2 in pairs):
            return None
        if gram is not None and part is not None and part.X.n <= p:
            quadratic = active_set.without(self.table.task.design, gram, part)
        elif isinstance(self.made[1], AllProducts):
            quadratic = active_set.of_products(self.made[1], 0)
        else:
            return None
        if quadratic is None:
            return None
        with np.errstate(over="ignore"):
            l1 = np.ldexp([pair[0] for pair in pairs], -int(self.table.task.lift[0]))
        l1 = np.minimum(l1, solver.LARGEST)
        wanted, rounds = np.full(len(l1), WANTED), self.grid.max_iter * len(l1)
        found = active_set.path(quadratic, l1, self.grid.positive, wanted, rounds)
        if found.made < len(l1):
            return None
        return found.coef, quadratic.mean, quadratic.mean_y


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
    rows = picked(fold.test)
    X, y, w = problem.X[rows], problem.y[rows], fold.test[rows]
    total = np.zeros(len(coef))
    with np.errstate(over="ignore", invalid="ignore"):
        for part in parallel.row_blocks(len(y), max(problem.p, len(coef))):
            r = y[part, None] - np.asarray(X[part] @ coef.T) - intercept
            total += w[part] @ r**2
        return total / w.sum()


def picked(weights: np.ndarray) -> Any:
    """Rows with a weight: a slice where they follow one another, else their numbers."""
    rows = np.flatnonzero(weights)
    first, last = int(rows[0]), int(rows[-1]) + 1
    return slice(first, last) if last - first == len(rows) else rows
