"""Linear support vector machines with absolute errors, by descent on the dual problem.

    minimise 1/2 |Z'beta|**2 - t'beta + epsilon |beta|   subject to   low <= beta <= high

with z_i = (x_i, bias) and the weights v = Z'beta. Invariant: a solution is accepted only if no
multiplier violates the optimality conditions by more than `tol`; the duality gap is recorded after each
batch of epochs.
"""

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from pellucid import parallel
from pellucid.numerics.optimise import out_of_iterations
from pellucid.numerics.row_blocks import squared_lengths
from pellucid.records import Recorder, Solution, Status
from pellucid.svm import _loops, interior_point, primal

MOST_EPOCHS = 32  # between two checks of the optimality conditions
TOGETHER = 1e8  # operations spent on the equations of the free multipliers, per batch of epochs
BEFORE = 2e6  # the same while the cheaper interior-point solve has not been tried yet


@dataclass(frozen=True)
class BoxDual:
    """The dual problem: low <= beta_i <= high, with targets t and errors up to epsilon free."""

    problem: primal.LinearProblem
    low: np.ndarray
    high: np.ndarray
    epsilon: float

    def derivatives(self, beta: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives of the objective upwards and downwards from beta; inf at a bound."""
        derivative = self.problem.scores(v) - self.problem.targets
        up = np.where(beta >= 0, derivative + self.epsilon, derivative - self.epsilon)
        down = np.where(beta > 0, derivative + self.epsilon, derivative - self.epsilon)
        return np.where(beta < self.high, up, np.inf), np.where(beta > self.low, down, -np.inf)

    def violation(self, beta: np.ndarray, v: np.ndarray) -> float:
        up, down = self.derivatives(beta, v)
        return max(float(-up.min()), float(down.max()), 0.0)


@np.errstate(over="ignore", invalid="ignore")  # overflowing costs are inf
@parallel.one_blas_thread()
def ridge_absolute(
    problem: primal.LinearProblem, tol: float, max_iter: int, source: str
) -> Solution:
    """|v|**2 / 2 and absolute errors, by coordinate descent on the multipliers of the dual.

    1. A batch of epochs. In each, the rows in shuffled order: beta_i moves to the minimum of
       1/2 |X'beta|**2 - t'beta + epsilon |beta| between its bounds.
    2. If that takes long, for example with columns of very different scales: one interior-point solve.
    3. All multipliers between their bounds at once: to the solution of their linear equations, or as far
       towards it as the bounds allow.
    4. Stop when no condition is violated by more than `tol` (times the largest target if below 1).
    """
    X, n = problem.X, problem.X.shape[0]
    tol *= (
        1.0 if problem.margin else float(np.clip(np.abs(problem.targets).max() or 1.0, 1e-60, 1.0))
    )
    bound = problem.costs * problem.targets if problem.margin else problem.costs
    box = BoxDual(
        problem, np.minimum(bound, 0.0) if problem.margin else -bound, np.maximum(bound, 0.0),
        0.0 if problem.margin else problem.epsilon,
    )  # fmt: skip
    cells, columns, starts, dense, curves = row_parts(problem)
    beta, v = np.zeros(n), np.zeros(X.shape[1] + 1)
    rng, recorder, stop = np.random.default_rng(0), Recorder(source, max_iter), parallel.StopFlag()
    violation, epoch, batch = box.violation(beta, v), 0, 1
    options, inside = interior_point.single_score_options(problem), False
    _note_gap(box, recorder, 0, beta, v, violation)
    while violation > tol and epoch < max_iter:
        for _ in range(min(batch, max_iter - epoch)):
            _loops.dual_epoch(
                cells, columns, starts, dense, problem.targets, box.epsilon, box.low, box.high,
                curves, problem.bias, rng.permutation(n), beta, v, stop.array,
            )  # fmt: skip  # 1
            stop.check()
            epoch += 1
            recorder.step(epoch, {"x": v}, {"epoch": epoch}, f"Epoch {epoch} is over.")
        if not inside and options.due(epoch):
            beta, inside = options.moves(interior_point.solve(options, stop.array))[:, 0], True  # 2
            stop.check()
        # Before the interior-point solve, many free multipliers are left to it.
        budget = BEFORE if options.fits and not inside else np.inf
        beta = _solve_free(box, beta, budget)  # 3
        v = problem.transposed(beta)  # recomputed, without the rounding of many steps
        violation, batch = box.violation(beta, v), min(2 * batch, MOST_EPOCHS)
        _note_gap(box, recorder, epoch, beta, v, violation)
    return Solution(v, ended(violation, tol, max_iter), recorder.history(), max(epoch, 1))  # 4


def ended(violation: float, tol: float, max_iter: int) -> Status:
    """How a solver ended whose solution violates the optimality conditions this much."""
    if violation <= tol:
        return Status("converged", f"The optimality conditions hold within tol={tol:g}.")
    return out_of_iterations(max_iter, f"the optimality conditions are violated by {violation:.2g}")


def row_parts(
    problem: primal.LinearProblem,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, bool, np.ndarray]:
    """Cells, columns and starts of the rows, whether they are dense, and their curvatures."""
    X, n = problem.X, problem.X.shape[0]
    if isinstance(X, np.ndarray):
        cells, columns = np.ascontiguousarray(X).reshape(-1), np.zeros(0, dtype=np.int32)
        starts = np.arange(n + 1) * X.shape[1]
    else:
        cells, columns, starts = (
            X.data,
            X.indices.astype(np.int32, copy=False),
            X.indptr.astype(np.int64),
        )
    curves = np.maximum(squared_lengths(X) + problem.bias**2, 1e-300)
    return cells, columns, starts, isinstance(X, np.ndarray), curves


def _solve_free(box: BoxDual, beta: np.ndarray, budget: float) -> np.ndarray:
    """Move the free multipliers to the solution of their equations, one bound at a time.

    If there are more of them than columns, only while that takes at most `budget` operations.
    """
    problem, beta, work = box.problem, beta.copy(), 0.0
    while work < TOGETHER:
        inside = (beta > box.low) & (beta < box.high)
        free = np.flatnonzero(inside & ((beta != 0) | (box.epsilon == 0)))
        size = problem.X.shape[1] + 1
        once = len(free) * min(len(free), size) ** 2.0 + 1e4
        work += once
        # Each round fixes one multiplier at a bound; if there are too many, the epochs move them.
        excess = len(free) - size
        if not len(free) or work > TOGETHER or max(excess, 1) * once > 20 * TOGETHER:
            break
        if excess > 0 and excess * once > budget:
            break
        A = problem.X[free] if isinstance(problem.X, np.ndarray) else problem.X[free].toarray()
        A = np.column_stack([A, np.full(len(free), problem.bias)])
        side = np.sign(beta[free])
        wanted = problem.targets[free] - box.epsilon * side - A @ problem.transposed(beta)
        move, most = towards(A, wanted)
        low = np.where((side > 0) & (box.epsilon > 0), 0.0, box.low[free])
        high = np.where((side < 0) & (box.epsilon > 0), 0.0, box.high[free])
        limit = np.where(move > 0, high, low)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(move != 0, (limit - beta[free]) / move, np.inf)
        first = int(np.argmin(share))
        step = min(most, float(share[first]))
        if not np.isfinite(step) or not np.isfinite(move).all():
            break
        beta[free] = np.clip(beta[free] + step * move, low, high)
        if step == most:
            break
        beta[free[first]] = limit[first]
    return beta


def towards(A: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, float]:
    """The move m with AA'm = wanted and the step 1; without a solution, a direction along which the
    objective falls without bound, and an infinite step.
    """
    U, S, _ = linalg.svd(A, full_matrices=False, check_finite=False)
    keep = 1e-11 * max(S[0], 1e-300) < S
    U, S = U[:, keep], S[keep]
    share = U.T @ wanted
    rest = wanted - U @ share
    rest -= U @ (U.T @ rest)
    if np.abs(rest).max() > 1e-9 * np.abs(wanted).max():
        return rest, np.inf
    return U @ (share / S**2), 1.0


def _note_gap(
    box: BoxDual,
    recorder: Recorder,
    epoch: int,
    beta: np.ndarray,
    v: np.ndarray,
    violation: float,
) -> None:
    problem, epsilon = box.problem, box.epsilon
    short = problem.targets - problem.scores(v)
    sides = np.maximum(box.high * (short - epsilon), box.low * (short + epsilon))
    half, cost = 0.5 * float(v @ v), float(np.maximum(sides, 0.0).sum())
    dual = float(problem.targets @ beta) - epsilon * float(np.abs(beta).sum()) - half
    gap = max(half + cost - dual, 0.0)  # negative only by rounding
    recorder.add(
        iteration=epoch, objective=half + cost, violation=violation, duality_gap=gap, state={"x": v}
    )
