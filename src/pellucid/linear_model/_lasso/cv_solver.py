"""Cross-validation of the lasso and the elastic net: paths on training rows, errors on test rows.

Invariant: the products of a fold are those of all rows minus those of its test rows, formed around one
common shift, unless too little would be left. Folds are independent tasks, so the number of threads
changes no bit.
"""

import functools
import threading
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.linear_model._lasso import active_set, solver
from pellucid.linear_model._lasso.gram_products import AllProducts, few_columns, make_products
from pellucid.linear_model._lasso.path import WANTED, Path
from pellucid.linear_model._ridge.solver import Ridge, prepare, ridge, ridge_positive
from pellucid.linear_model.cv_folds import Fold
from pellucid.numerics.row_blocks import Rows, scaled_penalty

# Parts of a path. All but one part of the last fold come first, so that two threads share five folds
# evenly.
PARTS = 10
LONG_FOLDS = 2**16  # cells of a table from which a fold takes milliseconds


@dataclass(frozen=True)
class Grid:
    """The penalties to try: for each l1_ratio, (m,) in falling order."""

    l1_ratios: list[float]
    alphas: list[np.ndarray]
    net: solver.Net  # the options of all fits, without penalties

    def pairs(self, r: int) -> list[tuple[float, float]]:
        """Strengths of the two parts of the penalty."""
        ratio = self.l1_ratios[r]
        return [(float(a) * ratio, float(a) * (1 - ratio)) for a in self.alphas[r]]


@dataclass(frozen=True)
class Table:
    """All rows, prepared once, and their products if there are few columns."""

    problem: Problem
    task: Ridge

    @property
    def gram(self) -> np.ndarray | None:
        return self.task.gram


def prepared(problem: Problem, intercept: bool) -> Table:
    """Products of all columns, if there are few."""
    few = few_columns(problem.n, problem.p)
    task = prepare(problem.X, problem.y[:, None], problem.weights, intercept, few)
    if few and not task.units.any():
        task = replace(task, gram=task.products())
    return Table(problem, task)


def target_products(table: Table) -> np.ndarray | None:
    """X'y / N of centred columns as the fits see it, if products are known."""
    if table.gram is None:
        return None
    q = AllProducts(table.task, table.gram).q[:, 0]
    with np.errstate(over="ignore"):
        return np.ldexp(q, int(table.task.lift[0]))


def errors_by_fold(table: Table, folds: list[Fold], grid: Grid) -> np.ndarray:
    """Mean squared errors of the test rows, (l1_ratios, alphas, folds)."""
    last = Training(table, folds[-1], grid)

    def job(k: int) -> Any:
        if k < 0:
            return last.begin()
        own = last if k == len(folds) - 1 else Training(table, folds[k], grid)
        return own.errors()

    long = table.problem.n * table.problem.p > LONG_FOLDS
    return np.stack(parallel.map(job, range(-1, len(folds)), long=long)[1:], axis=2)


@dataclass(frozen=True)
class LassoPath:
    """The path of a lasso by active sets: the parts that remain, and the errors of the finished ones.

    Coefficients are held for one part at a time. Both lists are empty if a point was not reached.
    """

    task: active_set.Quadratic
    walk: Any
    parts: list[np.ndarray]
    errors: list[np.ndarray]


@dataclass(frozen=True)
class Training:
    """The training rows of a fold; targets are divided by 2**lift."""

    table: Table
    fold: Fold
    grid: Grid
    lock: Any = field(default_factory=threading.Lock)

    @property
    def lift(self) -> int:
        return int(self.table.task.lift[0])

    @functools.cached_property
    def rest(self) -> Any:
        """The test rows, if all rows less these are the training rows."""
        problem, task = self.table.problem, self.table.task
        whole = np.array_equal(self.fold.train + self.fold.test, problem.weights)
        if self.table.gram is None or not whole:
            return None
        rows = weighted_rows(self.fold.test)
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
        if left is not None and not active_set.is_accurate(np.diagonal(left), np.diagonal(gram)):
            left = None
        return own, AllProducts(own, left)

    def errors(self) -> np.ndarray:
        """Errors of the test rows, (l1_ratios, alphas)."""
        found = []
        for r, ratio in enumerate(self.grid.l1_ratios):
            lasso = self._walked() if ratio == 1 else None
            found.append(self._descended(r) if lasso is None else lasso)
        return np.array(found)

    def _descended(self, r: int) -> np.ndarray:
        task, products = self.made
        b = _path(self.table.problem, self.fold, task, products, self.grid.pairs(r), self.grid.net)
        mean = np.ldexp(products.mean, -task.units)
        return self._scored(b, mean, float(products.mean_y[0]))

    def _walked(self) -> np.ndarray | None:
        """The same by active sets; None where they cannot be used."""
        with self.lock:
            found = self._walk(PARTS)
        return np.concatenate(found) if found else None

    def begin(self) -> None:
        """Follow most of the path of a lasso, so that the rest is a shorter task."""
        with self.lock:
            self._walk(PARTS - 1)

    def _walk(self, end: int) -> list[np.ndarray]:
        """Errors of the first parts of the path; none if a point was not reached.

        Parts begin at the same points in every thread, so the bits are the same.
        """
        path = self.lasso
        if path is None or len(path.errors) >= end:
            return [] if path is None else path.errors
        R = path.task.subtracted_rows()
        while len(path.errors) < end and path.parts:
            l1 = path.parts.pop(0)
            wanted, rounds = np.full(len(l1), WANTED), self.grid.net.max_iter * len(l1)
            found = active_set.path(path.task, path.walk, R, l1, wanted, rounds)
            if found.made < len(l1):
                path.parts.clear()
                path.errors.clear()
                break
            path.errors.append(self._missed(path.task, found))
        return path.errors

    def _missed(self, task: active_set.Quadratic, found: active_set.Points) -> np.ndarray:
        """Errors of points of a path; the fits of subtracted rows are known already."""
        if not len(task.T):
            return self._scored(found.coef, task.mean, task.mean_y)
        off, part = found.off, self.rest
        # x . b = (x - shift) . b + shift . b, and the mean of the others is shift + d / sqrt(total).
        height = task.mean_y - off[:, -1:] / np.sqrt(task.total)
        r = np.sqrt(part.weights) * (part.Y[:, 0] - height) - off[:, :-1]
        with np.errstate(over="ignore"):
            return np.ldexp(np.square(r).sum(axis=1) / part.weights.sum(), 2 * self.lift)

    def _scored(self, b: np.ndarray, mean: np.ndarray, mean_y: float) -> np.ndarray:
        """Errors of coefficients b (m, p), which are overwritten."""
        with np.errstate(over="ignore", invalid="ignore"):
            intercept = np.ldexp(mean_y - b @ mean, self.lift) * self.grid.net.intercept
            np.ldexp(b, self.lift, out=b)
        return _test_error(self.table.problem, self.fold, b, intercept)

    @functools.cached_property
    def lasso(self) -> LassoPath | None:
        """The path without L2 penalty, not yet followed; None if active sets cannot be used."""
        table, part, grid = self.table, self.rest, self.grid
        if 1.0 not in grid.l1_ratios or table.task.units.any():
            return None
        alphas = grid.alphas[grid.l1_ratios.index(1.0)]
        if not alphas[-1] > 0:
            return None
        if table.gram is not None and part is not None and part.X.n <= table.problem.p:
            quadratic = active_set.without_rows(table.task.design, table.gram, part)
        elif isinstance(self.made[1], AllProducts):
            quadratic = active_set.from_products(self.made[1], 0)
        else:
            return None
        if quadratic is None:
            return None
        l1 = scaled_penalty(alphas, -self.lift)
        walk = active_set.start(quadratic, grid.net.positive)
        return LassoPath(quadratic, walk, np.array_split(l1, PARTS), [])


def _path(
    problem: Problem, fold: Fold, task: Ridge, products: Any, pairs: list[tuple[float, float]],
    net: solver.Net,
) -> np.ndarray:  # fmt: skip
    """Coefficients (m, p) on the original scale, but divided by 2**lift."""
    corners = [pair for pair in pairs if pair[0] > 0]
    lift = int(task.lift[0])
    if isinstance(products, AllProducts) and not task.units.any():
        scaled = [(float(np.ldexp(l1, -lift)), l2) for l1, l2 in corners]
        path = Path(products, net.positive, net.max_iter)
        found = np.array([path.point(l1, l2) for l1, l2 in scaled])
        points = [found.reshape(len(scaled), len(task.units))]
    else:
        points = [_one_by_one(task, products, corners, net)]
    for _, l2 in pairs[len(corners) :]:  # alpha = 0, or no l1 part: ridge regression
        solve = ridge_positive if net.positive else ridge
        strength = np.array([l2 * float(fold.train.sum())])
        given = (problem.X, problem.y[:, None], fold.train, strength, net.intercept)
        points.append(np.ldexp(solve(*given)[0], -lift))
    return np.concatenate(points)


def path_of_all_rows(table: Table, grid: Grid, r: int) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients (m, p) and intercepts (m,) at the penalties of one l1_ratio, on all rows."""
    problem, task = table.problem, table.task
    fold, products = Fold(problem.weights, np.zeros(problem.n)), make_products(task)
    coef = _path(problem, fold, task, products, grid.pairs(r), grid.net)
    coef = np.ldexp(coef, int(task.lift[0]))
    if not grid.net.intercept:
        return coef, np.zeros(len(coef))
    share = problem.weights / problem.weights.sum()
    return coef, share @ problem.y - coef @ (problem.table.T @ share)


def _one_by_one(
    task: Ridge, products: Any, pairs: list[tuple[float, float]], net: solver.Net
) -> np.ndarray:
    """The path by working sets: wide tables, and columns of extreme size."""
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
    rows = weighted_rows(fold.test)
    X, y, w = problem.X[rows], problem.y[rows], fold.test[rows]
    total = np.zeros(len(coef))
    with np.errstate(over="ignore", invalid="ignore"):
        for part in parallel.row_blocks(len(y), max(problem.p, len(coef))):
            r = y[part, None] - np.asarray(X[part] @ coef.T) - intercept
            total += w[part] @ r**2
        return total / w.sum()


def weighted_rows(weights: np.ndarray) -> Any:
    """Rows with a weight: a slice if they are contiguous, else their numbers."""
    rows = np.flatnonzero(weights)
    first, last = int(rows[0]), int(rows[-1]) + 1
    return slice(first, last) if last - first == len(rows) else rows
