"""Linear support vector machines with squared errors: two solvers of one objective.

    minimise R(v) + sum_i c_i l(t_i, z_i),   z_i = x_i w + bias b,   v = (w, b)

R is |v|**2 / 2 or |v|_1 (the intercept is penalised, as in LIBLINEAR; a large `bias` makes that
penalty small). The targets t are +-1 for a hinge loss, or numbers for an epsilon-insensitive loss;
`linear_dual` minimises errors that are not squared. Invariant: each solver returns v, its status and one
row of history per iteration.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from pellucid import parallel
from pellucid.errors import DataError
from pellucid.numerics.optimise import Point, length, newton, out_of_iterations
from pellucid.records import Recorder, Solution, Status
from pellucid.svm import _loops

DIRECT = 1500  # largest number of columns for which the Hessian is factored
L1_COLUMNS = 5000  # the l1 solver needs a matrix of columns x columns
SWEEPS = (200, 20_000)  # smallest and largest number of sweeps
MOST_PRODUCTS = 500  # with the Hessian, for one step
SWEPT = 2e7  # operations that the sweeps may take in between


@dataclass(frozen=True)
class LinearProblem:
    """Rows X, targets t, costs c of errors, the value of the constant column (0: none), epsilon."""

    X: Any
    targets: np.ndarray
    costs: np.ndarray
    bias: float
    epsilon: float  # errors up to it are free (regression); NaN for the hinge loss

    @property
    def margin(self) -> bool:
        """Whether the loss is the hinge loss."""
        return math.isnan(self.epsilon)

    def scores(self, v: np.ndarray) -> np.ndarray:
        return np.asarray(self.X @ v[:-1]) + self.bias * v[-1]

    def transposed(self, r: np.ndarray) -> np.ndarray:
        """X'r, followed by the product of the constant column with r."""
        out = np.empty(self.X.shape[1] + 1)
        out[:-1], out[-1] = self.X.T @ r, self.bias * r.sum()
        return out

    def wrong(self, z: np.ndarray) -> np.ndarray:
        """Which scores have an error."""
        if self.margin:
            return self.targets * z < 1.0
        return np.abs(self.targets - z) > self.epsilon

    def errors(self, z: np.ndarray) -> np.ndarray:
        """The error of each score, with the sign of the change that reduces it."""
        if self.margin:
            return self.targets * np.maximum(1.0 - self.targets * z, 0.0)
        error = self.targets - z
        return np.sign(error) * np.maximum(np.abs(error) - self.epsilon, 0.0)


def _blocks(problem: LinearProblem) -> list[slice]:
    n, p = problem.X.shape
    one = not isinstance(problem.X, np.ndarray) or n <= parallel.block_rows(p + 1)
    return [slice(0, n)] if one else parallel.row_blocks(n, p + 1)


def _part(problem: LinearProblem, block: slice) -> LinearProblem:
    if block.stop - block.start == problem.X.shape[0]:
        return problem
    return LinearProblem(
        problem.X[block],
        problem.targets[block],
        problem.costs[block],
        problem.bias,
        problem.epsilon,
    )


def squared_loss(
    problem: LinearProblem, v: np.ndarray, wrong: np.ndarray | None = None
) -> tuple[float, np.ndarray]:
    """sum_i c_i errors**2 and its gradient; `wrong` receives which rows have an error."""

    def partial(block: slice) -> tuple[float, np.ndarray]:
        part = _part(problem, block)
        e = part.errors(part.scores(v))
        if wrong is not None:
            np.not_equal(e, 0.0, out=wrong[block])
        return float(part.costs @ (e * e)), part.transposed(-2.0 * part.costs * e)

    return parallel.reduce(partial, lambda a, b: (a[0] + b[0], a[1] + b[1]), _blocks(problem))


def squared_hessian(
    problem: LinearProblem, v: np.ndarray, wrong: np.ndarray | None = None
) -> np.ndarray:
    """Hessian of the squared loss: 2 X'cX over the rows with an error, if known the `wrong` ones."""

    def partial(block: slice) -> np.ndarray:
        part = _part(problem, block)
        rows = (part.wrong(part.scores(v)) if wrong is None else wrong[block]).nonzero()[0]
        return _squares(part.X[rows], 2.0 * part.costs[rows], problem.bias)

    return parallel.reduce(partial, np.add, _blocks(problem))


def weighted_squares(problem: LinearProblem, weights: np.ndarray) -> np.ndarray:
    """X'wX with the constant column last; the weights are not negative."""

    def partial(block: slice) -> np.ndarray:
        return _squares(_part(problem, block).X, weights[block], problem.bias)

    return parallel.reduce(partial, np.add, _blocks(problem))


def _squares(X: Any, weights: np.ndarray, bias: float) -> np.ndarray:
    root = np.sqrt(weights)
    if isinstance(X, np.ndarray):
        B = np.empty((X.shape[0], X.shape[1] + 1))
        np.multiply(X, root[:, None], out=B[:, :-1])
        np.multiply(root, bias, out=B[:, -1])
        return B.T @ B
    A = X.multiply(root[:, None]).tocsr()
    G = (A.T @ A).toarray()
    side = np.asarray(A.T @ (root * bias)).ravel()
    corner = bias**2 * float(root @ root)
    return np.block([[G, side[:, None]], [side[None, :], np.array([[corner]])]])


def ridge_squared(
    problem: LinearProblem, max_iter: int, source: str, start: np.ndarray | None = None
) -> Solution:
    """|v|**2 / 2 and squared errors, by Newton's method; the Hessian depends on the rows in error.

    The multipliers 2 c_i e_i of the errors are feasible for the dual problem. Their dual objective is
    smaller than the primal one by |gradient|**2 / 2, which is the duality gap.
    """
    size, last, steepest = problem.X.shape[1] + 1, np.empty(0), 0.0
    wrong = np.empty(problem.X.shape[0], dtype=bool)  # at the `last` point

    def evaluate(v: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal last, steepest
        value, gradient = squared_loss(problem, v, wrong)
        gradient += v
        last, steepest = v, max(steepest, length(gradient))
        return 0.5 * float(v @ v) + value, gradient

    def factor(v: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        known = wrong if v is last else problem.wrong(problem.scores(v))
        if size > DIRECT:
            return _conjugate(problem, known, steepest)
        H = squared_hessian(problem, v, known)
        H.flat[:: size + 1] += 1.0
        return _factored(H)

    with np.errstate(over="ignore", invalid="ignore"), parallel.one_blas_thread():
        return newton(
            evaluate, factor, np.zeros(size) if start is None else start, max_iter=max_iter,
            refresh=0.0, recorder=Recorder(source, max_iter), measure=_distance,
        )  # fmt: skip


def _distance(point: Point) -> dict[str, float]:
    size = length(point.gradient)
    return {"gradient_norm": size, "duality_gap": 0.5 * size * size}


def _factored(H: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    scale = 1.0 / np.sqrt(np.diagonal(H))
    H = H * scale * scale[:, None]
    root, failed = linalg.lapack.dpotrf(H)
    if failed:  # the penalty was lost to rounding
        values, vectors = linalg.eigh(H)
        inverse = 1.0 / np.maximum(values, 1e-15 * values[-1])
        return lambda g: scale * (vectors @ (inverse * (vectors.T @ (scale * g))))
    return lambda g: scale * linalg.lapack.dpotrs(root, scale * g)[0]


def _conjugate(
    problem: LinearProblem, wrong: np.ndarray, steepest: float
) -> Callable[[np.ndarray], np.ndarray]:
    """H^-1 g by conjugate gradients, for tables with many columns.

    H is divided by its diagonal. The closer the solution, the more digits: with |g| = `steepest`, the
    largest so far, two of them.
    """
    X, costs = problem.X, 2.0 * problem.costs * wrong
    if isinstance(X, np.ndarray):
        squares, transposed = np.einsum("ij,ij,i->j", X, X, costs), X.T
    else:
        rows = wrong.nonzero()[0]
        X, costs = X[rows], costs[rows]
        transposed = X.T.tocsr()
        squares = np.asarray(transposed.multiply(transposed) @ costs)
    diagonal = 1.0 + np.append(squares, problem.bias**2 * costs.sum())

    def times(d: np.ndarray) -> np.ndarray:
        r, out = costs * (X @ d[:-1] + problem.bias * d[-1]), d.copy()
        out[:-1] += transposed @ r
        out[-1] += problem.bias * r.sum()
        return out

    def solve(g: np.ndarray) -> np.ndarray:
        x, r, now = np.zeros_like(g), g.copy(), length(g)
        enough = max(min(1e-2, 0.1 * now / steepest), 1e-12) * now if now > 0 else 0.0
        d = r / diagonal
        size = float(r @ d)
        for _ in range(min(len(g), MOST_PRODUCTS)):
            if length(r) <= enough:
                break
            Hd = times(d)
            t = size / float(d @ Hd)
            x += t * d
            r -= t * Hd
            towards = r / diagonal
            size, old = float(r @ towards), size
            d = towards + (size / old) * d
        return x

    return solve


def lasso_squared(problem: LinearProblem, tol: float, max_iter: int, source: str) -> Solution:
    """|v|_1 and squared errors, by Newton steps on the coefficients that are not 0."""
    size = problem.X.shape[1] + 1
    if size > L1_COLUMNS:
        raise DataError(
            f"penalty='l1' needs a matrix of columns x columns and takes at most {L1_COLUMNS} columns, "
            f"but X has {size - 1}. Use penalty='l2', or LogisticRegression(l1_ratio=1)."
        )
    free = np.ones(size)
    free[-1] = float(problem.bias != 0)
    v, recorder = np.zeros(size), Recorder(source, max_iter)
    sweeps = int(np.clip(SWEPT / size**2, *SWEEPS))
    value, gradient = squared_loss(problem, v)
    first = None
    for k in range(max_iter + 1):
        wrong = np.where(v == 0, np.maximum(np.abs(gradient) - 1, 0), gradient + np.sign(v)) * free
        worst = float(np.abs(wrong).max())
        first = worst if first is None else first
        objective = value + float(np.abs(v).sum())
        gap = objective - _lasso_dual(v, value, gradient * free)
        recorder.add(
            iteration=k, objective=objective, violation=worst, duality_gap=gap, state={"x": v}
        )
        if worst <= tol * min(max(first, 1e-300), 1.0):
            status = Status("converged", f"The optimality conditions hold within tol={tol:g}.")
            return Solution(v, status, recorder.history(), max(k, 1))
        if k == max_iter:
            break
        H = np.ascontiguousarray(squared_hessian(problem, v))
        H[np.diag_indices(size)] += 1e-12 * max(float(np.diagonal(H).max()), 1e-300)
        u, own = v.copy(), gradient.copy()
        _loops.soft_sweeps(H, own, u, 1.0, sweeps, 1e-16 * max(value, 1e-300))
        before, v_old = value + float(np.abs(v).sum()), v
        v, value, gradient = _shortened(problem, v, _signs_kept(H, own, u), value, gradient)
        if v is v_old or value + float(np.abs(v).sum()) >= before * (1 - 1e-15):
            message = (
                f"No step lowers the objective any further; the largest violation is {worst:.2g}."
            )
            return Solution(v, Status("converged", message), recorder.history(), k + 1)
    status = out_of_iterations(max_iter, f"the optimality conditions are violated by {worst:.2g}")
    return Solution(v, status, recorder.history(), max_iter)


def _lasso_dual(v: np.ndarray, value: float, gradient: np.ndarray) -> float:
    """The dual objective of the multipliers 2 c_i e_i, scaled down until feasible."""
    shrunk = 1.0 / max(float(np.abs(gradient).max()), 1.0)
    return shrunk * (2.0 * value - float(gradient @ v)) - shrunk**2 * value


def _signs_kept(H: np.ndarray, gradient: np.ndarray, u: np.ndarray) -> np.ndarray:
    """The exact minimum of the quadratic model on the support of u, if no sign changes."""
    some = np.flatnonzero(u)
    if not len(some):
        return u
    try:
        step = linalg.solve(
            H[np.ix_(some, some)], -(gradient[some] + np.sign(u[some])), assume_a="pos"
        )
    except linalg.LinAlgError:
        return u
    exact = u.copy()
    exact[some] += step
    return exact if np.array_equal(np.sign(exact), np.sign(u)) else u


def _shortened(
    problem: LinearProblem, v: np.ndarray, u: np.ndarray, value: float, gradient: np.ndarray
) -> tuple[np.ndarray, float, np.ndarray]:
    """Backtracking: the step towards u, halved from 1 until it lowers the objective enough."""
    size, t = float(np.abs(v).sum()), 1.0
    expected = float(gradient @ (u - v)) + float(np.abs(u).sum()) - size
    for _ in range(40):
        w = u if t == 1.0 else v + t * (u - v)
        new, changed = squared_loss(problem, w)
        if new + float(np.abs(w).sum()) <= value + size + 1e-4 * t * min(expected, 0.0):
            return w, new, changed
        t *= 0.5
    return v, value, gradient
