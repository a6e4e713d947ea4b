"""All classes in one linear problem, after Crammer and Singer.

    minimise 1/2 sum_k |v_k|**2 + sum_i c_i max_k (1[k != y_i] + v_k z_i - v_{y_i} z_i)

with z_i = (x_i, bias). Dual: multipliers A (n, K) that sum to 0 over the classes of a row, at most c_i
for its own class and 0 for the others; v_k = sum_i A_ik z_i. Invariant: a solution is accepted only if
no row violates the optimality conditions of the dual by more than `tol`; the duality gap is recorded
after each batch of epochs.
"""

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.records import Recorder, Solution
from pellucid.svm import _loops, interior_point, linear_dual, primal


def solve(
    X: Any, y: np.ndarray, costs: np.ndarray, K: int, bias: float, tol: float, max_iter: int
) -> Solution:
    """Weights (K, p + 1), the constant column last, by block-coordinate descent on the dual.

    1. A batch of epochs. In each, the rows in shuffled order: the K multipliers of a row move to their
       joint minimum, in closed form.
    2. If that takes long, for example with columns of very different scales: one interior-point solve.
    3. All multipliers below their bounds at once: to the solution of their linear equations, or as far
       towards it as the bounds allow.
    4. Stop when no condition is violated by more than `tol`.
    """
    problem = primal.LinearProblem(X, np.zeros(X.shape[0]), costs, bias, np.nan)
    cells, columns, starts, dense, curves = linear_dual.row_parts(problem)
    A, W = np.zeros((X.shape[0], K)), np.zeros((K, X.shape[1] + 1))
    rng, stop = np.random.default_rng(0), parallel.StopFlag()
    recorder, epoch, batch = Recorder("LinearSVC", max_iter), 0, 1
    pause, inside = 0, False
    codes, scratch = np.ascontiguousarray(y, dtype=np.int32), np.zeros((3, K))
    options = interior_point.class_options(problem, codes, K)
    with np.errstate(over="ignore", invalid="ignore"), parallel.one_blas_thread():
        violation = _note(problem, codes, A, W, recorder, 0)
        while violation > tol and epoch < max_iter:
            for _ in range(min(batch, max_iter - epoch)):
                _loops.joint_epoch(
                    cells, columns, starts, dense, codes, costs, curves, bias,
                    rng.permutation(len(y)), A, W, scratch, stop.array,
                )  # fmt: skip  # 1
                stop.check()
                epoch += 1
                recorder.step(epoch, {"x": W}, {"epoch": epoch}, f"Epoch {epoch} is over.")
            if not inside and options.due(epoch):
                A = options.moves(interior_point.solve(options, stop.array))  # 2
                inside, pause = True, 0
                stop.check()
            if epoch >= pause:
                A, reached = _solve_free(problem, codes, A)  # 3
                pause = epoch if reached else 2 * epoch  # too many bounds: wait for more epochs
            W = _weights(problem, A)  # recomputed, without the rounding of many steps
            violation = _note(problem, codes, A, W, recorder, epoch)
            batch = min(2 * batch, linear_dual.MOST_EPOCHS)
    status = linear_dual.ended(violation, tol, max_iter)  # 4
    return Solution(W, status, recorder.history(), max(epoch, 1))


def _weights(problem: primal.LinearProblem, A: np.ndarray) -> np.ndarray:
    return np.array([problem.transposed(np.ascontiguousarray(column)) for column in A.T])


def _gradient(problem: primal.LinearProblem, codes: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Gradient of the dual: the scores, plus 1 for every class but the row's own."""
    gradient = np.column_stack([problem.scores(v) for v in W])
    return gradient + (np.arange(len(W)) != codes[:, None])


def _limits(problem: primal.LinearProblem, codes: np.ndarray, K: int) -> np.ndarray:
    return np.where(np.arange(K) == codes[:, None], problem.costs[:, None], 0.0)


def _solve_free(
    problem: primal.LinearProblem, codes: np.ndarray, A: np.ndarray
) -> tuple[np.ndarray, bool]:
    """Move the multipliers below their bounds to the solution of their equations, one bound at a time.

    In a row with several of them, each but the first moves against the first. Returns the multipliers
    and whether the solution was reached.
    """
    A, limits, work = A.copy(), _limits(problem, codes, A.shape[1]), 0.0
    while work < linear_dual.TOGETHER:
        free = limits > A
        free[free.sum(axis=1) < 2] = False
        first = free & (free.cumsum(axis=1) == 1)
        rows, others = np.nonzero(free & ~first)
        size = (problem.X.shape[1] + 1) * A.shape[1]
        work += len(rows) * min(len(rows), size) ** 2.0 + 1e4
        if not len(rows) or work > linear_dual.TOGETHER:
            break
        firsts = first[rows].argmax(axis=1)
        gradient = _gradient(problem, codes, _weights(problem, A))
        wanted = gradient[rows, firsts] - gradient[rows, others]
        move, most = linear_dual.towards(
            _differences(problem, rows, others, firsts, A.shape[1]), wanted
        )
        D = np.zeros_like(A)
        D[rows, others] = move
        np.add.at(D, (rows, firsts), -move)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(D > 0, (limits - A) / D, np.inf)
        nearest = np.unravel_index(int(np.argmin(share)), share.shape)
        step = min(most, float(share[nearest]))
        if not np.isfinite(step) or not np.isfinite(move).all():
            break
        A = np.minimum(A + step * D, limits)
        if step == most:
            return A, True
        A[nearest] = limits[nearest]
    return A, False


def _differences(
    problem: primal.LinearProblem, rows: np.ndarray, others: np.ndarray, firsts: np.ndarray, K: int
) -> np.ndarray:
    """Change of all weights when a multiplier moves against the first of its row: (moves, K (p + 1))."""
    Z = problem.X[rows] if isinstance(problem.X, np.ndarray) else problem.X[rows].toarray()
    Z = np.column_stack([Z, np.full(len(rows), problem.bias)])
    out, at = np.zeros((len(rows), K, Z.shape[1])), np.arange(len(rows))
    out[at, others] = Z
    out[at, firsts] = -Z
    return out.reshape(len(rows), -1)


def _note(
    problem: primal.LinearProblem,
    codes: np.ndarray,
    A: np.ndarray,
    W: np.ndarray,
    recorder: Recorder,
    k: int,
) -> float:
    """Record the objective, the violation and the duality gap; returns the violation."""
    rows, gradient = np.arange(len(codes)), _gradient(problem, codes, W)
    own = gradient[rows, codes]
    lowest = np.where(_limits(problem, codes, len(W)) > A, gradient, np.inf).min(axis=1)
    some = problem.costs > 0
    violation = float(np.max((gradient.max(axis=1) - lowest)[some], initial=0.0))
    half, cost = 0.5 * float((W * W).sum()), float(problem.costs @ (gradient.max(axis=1) - own))
    dual = -half - float(A.sum() - A[rows, codes].sum())
    gap = max(half + cost - dual, 0.0)  # negative only by rounding
    recorder.add(
        iteration=k, objective=half + cost, violation=violation, duality_gap=gap, state={"x": W}
    )
    return violation
