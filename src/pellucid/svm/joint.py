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
from pellucid.svm import _loops, primal

MOST_EPOCHS = 32  # between two looks at the conditions


def solve(
    X: Any, y: np.ndarray, prices: np.ndarray, K: int, bias: float, tol: float, max_iter: int
) -> Solution:
    """Weights (K, p + 1), that of the constant column last, by descent along the dual.

    1. The K multipliers of each row in a shuffled order: their common minimum, in closed form.
    2. Stop when no condition is violated by more than `tol`.
    """
    line = primal.Line(X, np.zeros(X.shape[0]), prices, bias, np.nan)
    cells, columns, starts, dense, curves = primal.row_parts(line)
    A, W = np.zeros((X.shape[0], K)), np.zeros((K, X.shape[1] + 1))
    rng, stop = np.random.default_rng(0), parallel.StopFlag()
    recorder, epoch, batch = Recorder("LinearSVC", max_iter), 0, 1
    codes, room = np.ascontiguousarray(y, dtype=np.int32), np.zeros((3, K))
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
            W = _weights(line, A)  # without the rounding of many steps
            violation, batch = (
                _note(line, codes, A, W, recorder, epoch),
                min(2 * batch, MOST_EPOCHS),
            )
    if violation <= tol:  # 2
        status = Status("converged", f"No condition is violated by more than tol={tol:g}.")
    else:
        status = out_of_iterations(max_iter, f"conditions are violated by {violation:.2g}")
    return Solution(W, status, recorder.history(), max(epoch, 1))


def _weights(line: primal.Line, A: np.ndarray) -> np.ndarray:
    return np.array([line.pull(np.ascontiguousarray(column)) for column in A.T])


def _note(
    line: primal.Line, codes: np.ndarray, A: np.ndarray, W: np.ndarray, recorder: Recorder, k: int
) -> float:
    """Record the objective, the violation and the duality gap; returns the violation."""
    rows = np.arange(len(codes))
    slopes = np.column_stack([line.scores(v) for v in W])
    own = slopes[rows, codes].copy()
    slopes += 1.0
    slopes[rows, codes] = own
    limits = np.zeros_like(A)
    limits[rows, codes] = line.prices
    held = np.where(limits > A, slopes, np.inf).min(axis=1)
    some = line.prices > 0
    violation = float(np.max((slopes.max(axis=1) - held)[some], initial=0.0))
    half, cost = 0.5 * float((W * W).sum()), float(line.prices @ (slopes.max(axis=1) - own))
    dual = -half - float(A.sum() - A[rows, codes].sum())
    recorder.add(
        iteration=k, objective=half + cost, violation=violation, duality_gap=half + cost - dual
    )
    return violation
