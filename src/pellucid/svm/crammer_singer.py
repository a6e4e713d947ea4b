"""All classes in one linear machine, after Crammer and Singer.

    minimise 1/2 sum_k |v_k|**2 + sum_i c_i max_k (1[k != y_i] + v_k z_i - v_{y_i} z_i)

with z_i = (x_i, bias). Dual: multipliers A (n, K) that sum to 0 over the classes of a row, at most c_i
for its own class and 0 for the others; v_k = sum_i A_ik z_i. Invariant: accepted only if no row violates
the conditions of the dual by more than `tol`; the duality gap of each batch of epochs is recorded.
"""

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.numerics.optimise import out_of_iterations
from pellucid.records import Recorder, Solution, Status
from pellucid.svm import _loops, interior_point, linear_dual, primal


def solve(
    X: Any, y: np.ndarray, prices: np.ndarray, K: int, bias: float, tol: float, max_iter: int
) -> Solution:
    """Weights (K, p + 1), that of the constant column last, by descent along the dual.

    1. The K multipliers of each row in a shuffled order: their common minimum, in closed form.
    2. If that takes long, as with columns of very different units: once, from inside the limits.
    3. All multipliers below their limits at once: the solution of their linear equations, or as far
       towards it as the limits allow.
    4. Stop when no condition is violated by more than `tol`.
    """
    line = primal.Line(X, np.zeros(X.shape[0]), prices, bias, np.nan)
    cells, columns, starts, dense, curves = linear_dual.row_parts(line)
    A, W = np.zeros((X.shape[0], K)), np.zeros((K, X.shape[1] + 1))
    rng, stop = np.random.default_rng(0), parallel.StopFlag()
    recorder, epoch, batch = Recorder("LinearSVC", max_iter), 0, 1
    pause, inside = 0, False
    codes, room = np.ascontiguousarray(y, dtype=np.int32), np.zeros((3, K))
    options = interior_point.for_classes(line, codes, K)
    with np.errstate(over="ignore", invalid="ignore"), parallel.one_blas_thread():
        violation = _note(line, codes, A, W, recorder, 0)
        while violation > tol and epoch < max_iter:
            for _ in range(min(batch, max_iter - epoch)):
                _loops.joint_epoch(
                    cells, columns, starts, dense, codes, prices, curves, bias,
                    rng.permutation(len(y)), A, W, room, stop.array,
                )  # fmt: skip  # 1
                stop.check()
                epoch += 1
            if not inside and options.due(epoch):
                A, inside, pause = (
                    options.moves(interior_point.solve(options, stop.array)),
                    True,
                    0,
                )  # 2
                stop.check()
            if epoch >= pause:
                A, reached = _solved_together(line, codes, A)  # 3
                pause = epoch if reached else 2 * epoch  # too many limits: left to the epochs first
            W = _weights(line, A)  # without the rounding of many steps
            violation, batch = (
                _note(line, codes, A, W, recorder, epoch),
                min(2 * batch, linear_dual.MOST_EPOCHS),
            )
    if violation <= tol:  # 4
        status = Status("converged", f"No condition is violated by more than tol={tol:g}.")
    else:
        status = out_of_iterations(max_iter, f"conditions are violated by {violation:.2g}")
    return Solution(W, status, recorder.history(), max(epoch, 1))


def _weights(line: primal.Line, A: np.ndarray) -> np.ndarray:
    return np.array([line.pull(np.ascontiguousarray(column)) for column in A.T])


def _slopes(line: primal.Line, codes: np.ndarray, W: np.ndarray) -> np.ndarray:
    """Slopes of the dual along all multipliers: scores, and 1 for all classes but the own one."""
    slopes = np.column_stack([line.scores(v) for v in W])
    return slopes + (np.arange(len(W)) != codes[:, None])


def _limits(line: primal.Line, codes: np.ndarray, K: int) -> np.ndarray:
    return np.where(np.arange(K) == codes[:, None], line.prices[:, None], 0.0)


def _solved_together(
    line: primal.Line, codes: np.ndarray, A: np.ndarray
) -> tuple[np.ndarray, bool]:
    """The multipliers below their limits moved to the solution of their equations, limit by limit.

    In a row with several of them, each but the first moves against the first. Also returns whether the
    solution was reached.
    """
    A, limits, work = A.copy(), _limits(line, codes, A.shape[1]), 0.0
    while work < linear_dual.TOGETHER:
        free = limits > A
        free[free.sum(axis=1) < 2] = False
        first = free & (free.cumsum(axis=1) == 1)
        rows, others = np.nonzero(free & ~first)
        size = (line.X.shape[1] + 1) * A.shape[1]
        work += len(rows) * min(len(rows), size) ** 2.0 + 1e4
        if not len(rows) or work > linear_dual.TOGETHER:
            break
        firsts = first[rows].argmax(axis=1)
        slopes = _slopes(line, codes, _weights(line, A))
        wanted = slopes[rows, firsts] - slopes[rows, others]
        move, most = linear_dual.towards(_gaps(line, rows, others, firsts, A.shape[1]), wanted)
        D = np.zeros_like(A)
        D[rows, others] = move
        np.add.at(D, (rows, firsts), -move)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(D > 0, (limits - A) / D, np.inf)
        held = np.unravel_index(int(np.argmin(share)), share.shape)
        step = min(most, float(share[held]))
        if not np.isfinite(step) or not np.isfinite(move).all():
            break
        A = np.minimum(A + step * D, limits)
        if step == most:
            return A, True
        A[held] = limits[held]
    return A, False


def _gaps(
    line: primal.Line, rows: np.ndarray, others: np.ndarray, firsts: np.ndarray, K: int
) -> np.ndarray:
    """What moving a multiplier against the first of its row adds to all weights, (moves, K (p + 1))."""
    Z = line.X[rows] if isinstance(line.X, np.ndarray) else line.X[rows].toarray()
    Z = np.column_stack([Z, np.full(len(rows), line.bias)])
    out, at = np.zeros((len(rows), K, Z.shape[1])), np.arange(len(rows))
    out[at, others] = Z
    out[at, firsts] = -Z
    return out.reshape(len(rows), -1)


def _note(
    line: primal.Line, codes: np.ndarray, A: np.ndarray, W: np.ndarray, recorder: Recorder, k: int
) -> float:
    """Record the objective, the violation and the duality gap; returns the violation."""
    rows, slopes = np.arange(len(codes)), _slopes(line, codes, W)
    own = slopes[rows, codes]
    held = np.where(_limits(line, codes, len(W)) > A, slopes, np.inf).min(axis=1)
    some = line.prices > 0
    violation = float(np.max((slopes.max(axis=1) - held)[some], initial=0.0))
    half, cost = 0.5 * float((W * W).sum()), float(line.prices @ (slopes.max(axis=1) - own))
    dual = -half - float(A.sum() - A[rows, codes].sum())
    gap = max(half + cost - dual, 0.0)  # below 0 by rounding alone
    recorder.add(iteration=k, objective=half + cost, violation=violation, duality_gap=gap)
    return violation
