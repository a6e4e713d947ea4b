"""Linear support vector machines with squared errors and more columns than rows, by their dual.

    minimise 1/2 |Z'beta|**2 - t'beta + epsilon |beta| + sum_i beta_i**2 / (4 c_i)

with z_i = (x_i, bias), the weights v = Z'beta, and beta_i t_i >= 0 for the hinge loss. One multiplier is
found from one row, so that a pass over sparse rows costs no more than reading them.
"""

import numpy as np

from pellucid import parallel
from pellucid.records import Recorder, Solution, Status
from pellucid.svm import _box_dual, linear_dual, primal

EPOCHS = 200  # after which Newton's method goes on
BATCH = 20  # epochs between two rows of history


@np.errstate(over="ignore", invalid="ignore")
def ridge_squared(
    problem: primal.LinearProblem, tol: float, max_iter: int, source: str
) -> Solution:
    """|v|**2 / 2 and squared errors.

    1. Epochs of coordinate descent on the multipliers, in shuffled order.
    2. Stop when no condition is violated by more than `tol` (times the largest target if below 1).
    3. If that takes long, or without many columns, Newton's method (from these weights).
    """
    n, p = problem.X.shape
    if p < primal.DIRECT or n > p:
        return primal.ridge_squared(problem, max_iter, source)
    if not problem.margin:
        tol *= float(np.clip(np.abs(problem.targets).max() or 1.0, 1e-60, 1.0))
    cells, columns, starts, dense, curves = linear_dual.row_parts(problem)
    some = problem.costs > 0
    soft = np.where(some, 0.5 / np.where(some, problem.costs, 1.0), 0.0)
    side = problem.targets if problem.margin else np.zeros(n)
    low, high = (
        np.where(some & (side <= 0), -np.inf, 0.0),
        np.where(some & (side >= 0), np.inf, 0.0),
    )
    epsilon = 0.0 if problem.margin else problem.epsilon
    beta, v, order = np.zeros(n), np.zeros(p + 1), np.arange(n)
    seed, progress = linear_dual.first_pass(n)
    recorder, stop, epoch = Recorder(source, max_iter), parallel.StopFlag(), 0
    while not progress[2] and epoch < min(max_iter, EPOCHS):
        batch = 1 if recorder.watched else min(BATCH, max_iter - epoch)
        epoch += _box_dual.epochs(
            cells, columns, starts, dense, problem.targets, epsilon, low, high, soft, curves + soft,
            problem.bias, order, seed, progress, batch, tol, beta, v, stop.array,
        )  # fmt: skip  # 1
        stop.check()
        _note(problem, recorder, epoch, epsilon, soft, beta, v)
    if progress[2]:
        status = Status("converged", f"The optimality conditions hold within tol={tol:g}.")
        return Solution(v, status, recorder.history(), epoch)  # 2
    return primal.ridge_squared(problem, max_iter, source, start=v)  # 3


def _note(
    problem: primal.LinearProblem, recorder: Recorder, epoch: int, epsilon: float, soft: np.ndarray,
    beta: np.ndarray, v: np.ndarray,
) -> None:  # fmt: skip
    e, half = problem.errors(problem.scores(v)), 0.5 * float(v @ v)
    value = half + float(problem.costs @ (e * e))
    dual = float(problem.targets @ beta) - epsilon * float(np.abs(beta).sum()) - half
    gap = max(value - dual + 0.5 * float(soft @ (beta * beta)), 0.0)
    recorder.add(iteration=epoch, objective=value, duality_gap=gap, state={"x": v.copy()})
