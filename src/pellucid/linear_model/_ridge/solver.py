"""Ridge regression: minimise sum_i w_i (y_i - x_i . b - b0)^2 + alpha |b|^2, b0 unpenalised.

Invariant: whatever is done to columns, target and weights inside (powers of two), the objective is
the user's; alpha = 0 is least squares, of which the shortest solution is taken.
"""

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.numerics.design_matrix import Design, make_design
from pellucid.numerics.double_double import Vector, loops, residual_gradient
from pellucid.numerics.least_squares import TAME, extreme, least_squares
from pellucid.numerics.linalg import (
    WELL_CONDITIONED,
    Factor,
    cholesky_factor,
    triangular_factor,
)
from pellucid.numerics.linear_scores import linear_scores
from pellucid.numerics.row_blocks import Rows, exponents, lifted, ordinary, scaled_penalty
from pellucid.records import Status

# Work n p min(n, p) up to which a sparse table is solved directly.
DIRECT_WORK = 2**33
MAX_REFINEMENTS = 10
DUAL_CONDITION = 1e3
NEAR = 1e-6  # share of y'y below which a residual sum of squares is summed row by row


@dataclass(frozen=True)
class Ridge:
    """The problem in well-scaled units; `to_user` transforms back."""

    design: Design
    weights_lift: int
    units: np.ndarray  # column j was multiplied by 2**units_j
    lift: np.ndarray  # target k was divided by 2**lift_k
    gram: np.ndarray | None = None  # `design.gram()`, if it was made already

    def products(self) -> np.ndarray:
        return self.design.gram() if self.gram is None else self.gram

    def penalty(self, alpha: float) -> np.ndarray:
        return scaled_penalty(alpha, 2 * self.units - self.weights_lift)

    def to_user(self, b: np.ndarray, mean: np.ndarray, mean_y: np.ndarray) -> Any:
        """b (k, p) -> coefficients, intercepts and means on the original scale."""
        with np.errstate(over="ignore", invalid="ignore"):
            intercept = mean_y - b @ mean
            return (
                np.ldexp(b, self.units + self.lift[:, None]),
                np.ldexp(intercept, self.lift),
                np.ldexp(mean, -self.units),
            )


def prepare(
    X: Any, Y: np.ndarray, weights: np.ndarray, intercept: bool, products: bool = False
) -> Ridge:
    """Bring weights, targets and columns of extreme size near 1 by powers of two.

    If `products` will be needed anyway, they show whether a size is extreme: one pass less.
    """
    weights_lift = int(exponents(parallel.largest(weights.max())))
    if abs(weights_lift) < 64:
        weights_lift = 0
    weights = np.ldexp(weights, -weights_lift) if weights_lift else weights
    sizes = np.maximum(Y.max(axis=0, initial=0.0), -Y.min(axis=0, initial=0.0))
    lift = exponents(parallel.largest(sizes)).astype(np.int64)
    table, units = Rows(X), np.zeros(X.shape[1], dtype=np.int64)
    Y = lifted(Y, -lift)
    if products and not table.sparse:
        design = make_design(table, Y, weights, intercept)
        gram = _ordinary_gram(design)
        if gram is not None:
            return Ridge(design, weights_lift, units, lift, gram)
    if not ordinary(table, TAME):
        largest = table.largest()
        if extreme(largest):
            units = -exponents(largest).astype(np.int64)
            table = table.scaled(units)
    design = make_design(table, Y, weights, intercept)
    return Ridge(design, weights_lift, units, lift)


def _ordinary_gram(design: Design) -> np.ndarray | None:
    """Products of the columns, or None if one of them may be of extreme size."""
    G = design.gram()
    c = int(design.constant)
    squares = np.diagonal(G)[c : c + design.X.p]
    ordinary = (squares == 0) | ((squares > 2.0**-180) & (squares < 2.0**180))
    return G if ordinary.all() and np.isfinite(G).all() else None


def make_solver(X: Any, Y: np.ndarray, weights: np.ndarray, intercept: bool) -> Any:
    """A `Tall` or a `Wide`, by the shape of the table."""
    task = prepare(X, Y, weights, intercept, parallel.total_rows(X.shape[0]) >= X.shape[1])
    return Tall(task) if task.design.X.n >= task.design.X.p else Wide(task)


def ridge(
    X: Any, Y: np.ndarray, weights: np.ndarray, alpha: np.ndarray, intercept: bool,
    made: Any = None,
) -> Any:  # fmt: skip
    """coef (k, p), intercept (k,) and means (p,) for targets Y (n, k), alpha (k,) each.

    1. Scale by powers of two; centre.
    2. Tall tables: factor X'WX + alpha; wide ones: factor XX' + alpha; refine.
    3. Where alpha is 0, or too small to be seen, the shortest least-squares solution.
    `made` is a `Tall` or `Wide` of the same table, if there is one already.
    """
    made = make_solver(X, Y, weights, intercept) if made is None else made
    task, solve = made.task, made
    b = np.zeros((Y.shape[1], X.shape[1]))
    rest = np.zeros(Y.shape[1], dtype=bool)
    for strength in sorted(set(alpha.tolist())):  # for few targets quicker than `np.unique`
        chosen = np.flatnonzero(alpha == strength)
        found = solve.coefficients(chosen, strength) if strength > 0 else None
        if found is None:
            rest[chosen] = True
        else:
            b[chosen] = found
    coef, b0, mean = task.to_user(b, solve.mean, solve.mean_y)
    if rest.any():
        plain = least_squares(X, Y[:, rest], weights, intercept)
        coef[rest], b0[rest] = plain.coef, plain.intercept
    return coef, b0 if intercept else np.zeros(len(b0)), mean


class Tall:
    """At least as many rows as columns: one pass makes the products, one factor per alpha."""

    def __init__(self, task: Ridge) -> None:
        self.task, design, G = task, task.design, task.products()
        c, p = int(design.constant), design.X.p
        self.total = float(G[0, 0]) if c else float(parallel.sum_rows(design.weights))
        drift = G[0, 1:] / self.total if c else np.zeros(G.shape[1])
        self.S = G[c:, c:] - self.total * (drift[:, None] * drift)
        self.mean, self.mean_y = design.shift + drift[:p], design.start + drift[p:]
        # A column that is constant up to rounding has no effect.
        constant = np.diagonal(self.S)[:p] <= design.noise(self.total) ** 2
        self.S[:p][constant] = self.S[:, :p][:, constant] = 0.0
        self.constant = constant

    def coefficients(self, chosen: np.ndarray, alpha: float) -> np.ndarray | None:
        p, penalty = self.task.design.X.p, self.task.penalty(alpha)
        Sxy = self.S[:p, p:][:, chosen]
        factor = cholesky_factor(self.S[:p, :p] + np.diag(penalty))
        if factor is None:
            triangle = self.task.design.triangle()[int(self.task.design.constant) :, :]
            R = triangle[:, -p - len(self.mean_y) : triangle.shape[1] - len(self.mean_y)]
            R[:, self.constant] = 0.0
            stacked = np.concatenate([R, np.diag(np.sqrt(penalty))])
            factor = triangular_factor(
                np.asarray(np.linalg.qr(stacked, mode="r")), self.task.design.X.n
            )
            if factor.rank < p:
                return None
        b = factor.solve(Sxy)
        if factor.condition > WELL_CONDITIONED:
            for k, target in enumerate(chosen):
                b[:, k] = self.refine(factor, penalty, int(target), b[:, k])
        return b.T

    def losses(self, coef: np.ndarray) -> np.ndarray | None:
        """Squared residuals of coefficients (k, p) on the original scale; None if inaccurate."""
        task, p = self.task, self.task.design.X.p
        with np.errstate(over="ignore", invalid="ignore"):
            b = np.ldexp(coef, -task.units - task.lift[:, None])
            fitted = np.einsum("kp,pk->k", b, self.S[:p, p:])
            squares = np.diagonal(self.S)[p:]
            rest = squares - 2 * fitted + np.einsum("kp,kp->k", b @ self.S[:p, :p], b)
            if not (rest > NEAR * squares).all():
                return None
            return np.ldexp(rest, 2 * task.lift + task.weights_lift)

    def refine(self, factor: Factor, penalty: np.ndarray, k: int, start: np.ndarray) -> np.ndarray:
        """b += (X'WX + alpha)^-1 (X'W r - alpha b), the residual in double-double."""
        design, p = self.task.design, len(start)
        y = np.ascontiguousarray(design.Y[:, k])
        b, previous = Vector(p + 2), np.inf
        b.add(np.append(start, [self.mean_y[k] - self.mean @ start, 0.0]))
        for _ in range(MAX_REFINEMENTS):
            g = residual_gradient(design.X, y, design.weights, b)
            slip = g.high[p] / self.total if design.constant else 0.0
            if design.constant:
                loops.centre(g.high, g.low, self.mean)
            gradient = np.where(self.constant, 0.0, g.high[:p]) - penalty * b.high[:p]
            step = factor.solve(gradient)
            length = factor.norm(step)
            if not length < previous / 2:
                break
            b.add(np.append(step, [slip - self.mean @ step, 0.0]))
            if length <= 2.0**-54 * factor.norm(b.high[:p]):
                break
            previous = length
        return b.high[:p].copy()


class Wide:
    """More columns than rows: the same solution through XX' + alpha, or through the SVD."""

    def __init__(self, task: Ridge) -> None:
        design = task.design
        w = design.weights
        self.task = task
        X, shift = design.X.dense(slice(None)), design.shift
        Y = design.Y - design.start
        if design.constant:
            share = w / w.sum()
            far = shift.any()  # then the mean must come off in two steps
            slip, slip_y = share @ (X - shift if far else X), share @ Y
            X = X - shift - slip if far else X - slip
            Y -= slip_y
            self.mean, self.mean_y = shift + slip, design.start + slip_y
        else:
            self.mean, self.mean_y = shift, design.start
        root = np.sqrt(w)[:, None]
        if w.min() != 1.0 or w.max() != 1.0:
            X = X * root
            Y *= root
        self.A, self.y = X, Y
        # Centred rows, times sqrt(w), are orthogonal to sqrt(w), and so are the targets.
        self.null = root[:, 0] / np.linalg.norm(root) if design.constant else None
        self.singular: Any = None  # U, s, V' of A, once they are known
        self.left: Any = None  # U of the rows on the original scale, for `leave_one_out`

    @functools.cached_property
    def products(self) -> np.ndarray:
        """AA' of the centred rows."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self.A @ self.A.T

    def coefficients(self, chosen: np.ndarray, alpha: float) -> np.ndarray | None:
        penalty, y = self.task.penalty(alpha), self.y[:, chosen]
        if not penalty.min() > 0:
            return None
        even = penalty.min() == penalty.max()
        unit = np.float64(1.0) if even else np.sqrt(penalty)
        with np.errstate(over="ignore", invalid="ignore"):
            A = self.A if even else self.A / unit  # now every coefficient has the same penalty
            K = self.products / penalty[0] if even else A @ A.T
        K[np.diag_indices(len(K))] += 1.0
        if self.null is not None:  # no target has this direction, so its eigenvalue is free
            K += np.outer(np.trace(K) / len(K) * self.null, self.null)
        factor = cholesky_factor(K) if np.isfinite(K).all() else None
        if factor is not None and factor.condition < DUAL_CONDITION:
            dual = factor.solve(y)
            dual += factor.solve(y - K @ dual)
            return dual.T @ A / (penalty[0] if even else unit)
        if not even or not np.isfinite(A).all():
            return None
        if self.singular is None:
            self.singular = np.linalg.svd(self.A, full_matrices=False)
        U, s, Vt = self.singular
        gain = np.where(s > max(A.shape) * 2.0**-52 * s[0], s / (s**2 + penalty[0]), 0.0)
        return (Vt.T @ (gain[:, None] * (U.T @ y))).T


def ridge_positive(
    X: Any, Y: np.ndarray, weights: np.ndarray, alpha: np.ndarray, intercept: bool
) -> Any:
    """As `ridge`, with coefficients >= 0: active sets on the triangle of [X; sqrt(alpha)]."""
    from pellucid.numerics.constrained import active_sets

    task = prepare(X, Y, weights, intercept)
    design, c, p = task.design, int(intercept), X.shape[1]
    triangle = design.triangle()
    R, targets = triangle[c:, c : c + p], triangle[c:, c + p :]
    total = float(design.weights.sum())
    share = design.weights / total
    mean = design.X.X.T @ share if c else np.zeros(p)
    mean_y = share @ design.Y if c else np.zeros(Y.shape[1])
    b = np.zeros((Y.shape[1], p))
    for k in range(len(b)):
        stacked = np.concatenate([R, np.diag(np.sqrt(task.penalty(float(alpha[k]))))])
        b[k] = active_sets(stacked, np.append(targets[:, k], np.zeros(p)), max(30, 10 * p))
    return task.to_user(b, np.asarray(mean).ravel(), mean_y)


def ridge_iterative(
    X: Any, Y: np.ndarray, weights: np.ndarray, alpha: np.ndarray, intercept: bool, tol: float,
    max_iter: int | None,
) -> tuple[Any, Status, int]:  # fmt: skip
    """As `ridge`, for sparse tables too wide for a direct solution: LSMR, centred inside.

    With the rows of the penalty below those of the table, and each column divided by its length: rare
    and frequent words are alike, which saves most of the iterations.
    """
    from scipy.sparse.linalg import LinearOperator, lsmr

    n, p = X.shape
    root, total = np.sqrt(weights), float(weights.sum())
    mean = (X.T @ weights) / total if intercept else np.zeros(p)
    start = (weights @ Y) / total if intercept else np.zeros(Y.shape[1])
    table, squares = X.T.tocsr(), X.copy()
    squares.data = squares.data**2
    squares = np.maximum(squares.T @ weights - total * mean**2, 0.0)
    coef, worst, iterations = np.empty((Y.shape[1], p)), 0, 0
    for k in range(Y.shape[1]):
        damp = float(np.sqrt(alpha[k]))
        # Without a penalty, LSMR finds the shortest solution in its own units.
        units = 1.0 / np.sqrt(squares + alpha[k]) if damp > 0 else np.ones(p)
        operator = LinearOperator(
            (n + p, p),
            matvec=functools.partial(_extended, X, mean, root, damp, units),
            rmatvec=functools.partial(_transposed, table, mean, root, damp, units),
            dtype=float,
        )
        found = lsmr(
            operator, np.append(root * (Y[:, k] - start[k]), np.zeros(p)),
            atol=tol * 1e-6, btol=tol * 1e-6, maxiter=max_iter or 10 * min(n, p),
        )  # fmt: skip
        coef[k], worst = units * found[0], max(worst, found[1])
        iterations = max(iterations, found[2])
    status = Status("converged", "LSMR reached the tolerance.")
    if worst == 7:
        status = Status("max_iter", "LSMR stopped before it reached tol.", "Increase max_iter.")
    return (coef, start - coef @ mean, mean), status, iterations


def _extended(
    X: Any, mean: np.ndarray, root: np.ndarray, damp: float, units: np.ndarray, v: np.ndarray
) -> np.ndarray:
    """Centred rows of the table, then those of the penalty, times b = units v."""
    b = units * v
    return np.concatenate([root * linear_scores(X, b, -(mean @ b)), damp * b])


def _transposed(
    table: Any, mean: np.ndarray, root: np.ndarray, damp: float, units: np.ndarray, r: np.ndarray
) -> np.ndarray:
    n = len(root)
    own = root * r[:n]
    return units * (linear_scores(table, own, 0.0) - mean * own.sum() + damp * r[n:])


def fitted(
    model: Any, problem: Problem, Y: np.ndarray, weights: np.ndarray, alpha: np.ndarray,
    by_products: bool = False,
) -> tuple[Any, dict[str, Any]]:  # fmt: skip
    """Coefficients, intercepts and means of a `Ridge` or `RidgeClassifier`, and how they were found.

    `by_products` takes the objective of the history from the products of the columns.
    """
    given = (problem.X, Y, weights, alpha, model.fit_intercept)
    status, n_iter, made = Status("ok", "Solved directly."), 1, None
    work = problem.n * problem.p * min(problem.n, problem.p)
    with parallel.one_blas_thread():
        if model.positive:
            found = ridge_positive(*given)
            status = Status("ok", "Solved by active sets with coefficients >= 0.")
        elif not isinstance(problem.X, np.ndarray) and work > DIRECT_WORK:
            found, status, n_iter = ridge_iterative(*given, model.tol, model.max_iter)
        else:
            made = make_solver(problem.X, Y, weights, model.fit_intercept)
            found = ridge(*given, made)
        value = objective(*given[:4], found, made if by_products else None)
    return found, {
        "n_iter_": n_iter, "solver_": model.solver, "status_": status,
        "history_": {"iteration": np.array([float(n_iter)]), "objective": np.array([value])},
    }  # fmt: skip


def objective(
    X: Any, Y: np.ndarray, weights: np.ndarray, alpha: np.ndarray, found: Any, made: Any = None
) -> float:
    """Half of what was minimised, summed over targets: the one row of a direct solution's history.

    By the products of `made`, if it is a `Tall`, else row by row.
    """
    coef, intercept, _ = found
    table = Rows(X)

    def partial(rows: slice) -> float:
        r = Y[rows] - table.X[rows] @ coef.T - intercept
        return float(weights[rows] @ np.square(r).sum(axis=1))

    with np.errstate(over="ignore", invalid="ignore"):
        losses = made.losses(coef) if isinstance(made, Tall) else None
        if losses is None:
            loss = parallel.reduce(partial, float.__add__, table.blocks)
        else:
            loss = float(losses.sum())
        value = 0.5 * (loss + float(alpha @ np.square(coef).sum(axis=1)))
    return min(value, np.finfo(float).max) if not np.isnan(value) else np.finfo(float).max
