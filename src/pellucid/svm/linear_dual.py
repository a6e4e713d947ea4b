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
from pellucid.svm import _box_dual, interior_point, primal

MOST_EPOCHS = 32  # between two checks of the optimality conditions
LONGEST = 256  # the same where multipliers are passed over
FIRST = 1e5  # operations of the first epochs, of which there are at most 8
TOGETHER = 1e9  # operations spent on the equations of the free multipliers, per batch of epochs
ROUND = 1e5  # operations that take as long as the fixed costs of one round of it
# Epochs stall if a batch has not halved a violation of more than this multiple of `tol`.
STALLED = 100.0
SAFE = 1e-3  # smallest pivot of a Cholesky factor, as a share of the largest one


@dataclass(frozen=True)
class BoxDual:
    """The dual problem: low <= beta_i <= high, with targets t and errors up to epsilon free."""

    problem: primal.LinearProblem
    low: np.ndarray
    high: np.ndarray
    epsilon: float

    def violation_of(self, beta: np.ndarray) -> float:
        """The largest violation of the optimality conditions, from the multipliers alone."""
        return self.violation(beta, self.problem.scores(self.problem.transposed(beta)))

    def violation(self, beta: np.ndarray, scores: np.ndarray) -> float:
        """The largest violation of the optimality conditions."""
        rise = self.problem.targets - scores  # minus the derivative of the smooth part
        above, below = rise - self.epsilon, rise + self.epsilon
        up = above if not self.epsilon else np.where(beta >= 0, above, below)
        down = above if not self.epsilon else np.where(beta > 0, above, below)
        upward = float(np.where(beta < self.high, up, 0.0).max())
        return max(upward, -float(np.where(beta > self.low, down, 0.0).min()))


@np.errstate(over="ignore", invalid="ignore")  # overflowing costs are inf
@parallel.one_blas_thread()
def ridge_absolute(
    problem: primal.LinearProblem, tol: float, max_iter: int, source: str
) -> Solution:
    """|v|**2 / 2 and absolute errors, by coordinate descent on the multipliers of the dual.

    1. A batch of epochs. In each, the rows in shuffled order: beta_i moves to the minimum of
       1/2 |X'beta|**2 - t'beta + epsilon |beta| between its bounds. Multipliers that stay at a bound are
       passed over.
    2. All multipliers between their bounds at once, if they are few: to the solution of their linear
       equations, or as far towards it as the bounds allow.
    3. If that takes long, for example with columns of very different scales: one interior-point solve.
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
    beta, v, soft, order = np.zeros(n), np.zeros(X.shape[1] + 1), np.zeros(n), np.arange(n)
    (seed, progress), recorder, stop = (
        first_pass(n),
        Recorder(source, max_iter),
        parallel.StopFlag(),
    )
    epoch, batch = 0, int(np.clip(FIRST / max(len(cells), 1), 1, 8))
    options, inside = interior_point.single_score_options(problem), False
    violation, stalled = _note(box, recorder, 0, beta, v), False
    while violation > tol and epoch < max_iter:
        last = min(epoch + batch, max_iter)
        while epoch < last and not progress[2]:
            epoch += _box_dual.epochs(
                cells, columns, starts, dense, problem.targets, box.epsilon, box.low, box.high,
                soft, curves, problem.bias, order, seed, progress,
                1 if recorder.watched else last - epoch, tol, beta, v, stop.array,
            )  # fmt: skip  # 1
            stop.check()
            recorder.step(epoch, {"x": v}, {"epoch": epoch}, f"Epoch {epoch} is over.")
        # As much work as the epochs took, or the other solve would take: many free multipliers are
        # left to them.
        late = options.fits and epoch > max(max_iter // 2, interior_point.FEWEST)
        due = late or options.due(progress[3] / n, share=1 / 32 if stalled else 1.0)
        budget = progress[3] * (len(cells) / n + 1)
        budget = options.whole if due else max(10 * budget, 20 * ROUND) if progress[2] else budget
        few = inside or progress[2] or (progress[0] - len(v)) * ROUND <= budget
        moved = _solve_free(box, beta, np.inf if inside else budget) if few else beta  # 2
        many = progress[0] > 4 * len(v) or epoch == max_iter  # else the epochs will soon end
        if due and many and not inside and box.violation_of(moved) > tol:
            beta, inside = options.moves(interior_point.solve(options, stop.array))[:, 0], True  # 3
            stop.check()
            moved = _solve_free(box, beta, np.inf)
        if inside or progress[2] or moved is not beta:
            progress[:3] = n, np.inf, 0.0  # every multiplier may have moved
        beta, v = moved, problem.transposed(moved)  # without the rounding of many steps
        before, batch = violation, min(4 * batch, LONGEST)
        violation = _note(box, recorder, epoch, beta, v)
        stalled = violation > max(STALLED * tol, 0.5 * before)
    return Solution(v, ended(violation, tol, max_iter), recorder.history(), max(epoch, 1))  # 4


def first_pass(n: int) -> tuple[np.ndarray, np.ndarray]:
    """The seed of the order of n rows, and the progress before the first epoch."""
    seed = np.array([88172645463325252], dtype=np.uint64)
    return seed, np.array([n, np.inf, 0.0, 0.0])


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

    Only if that takes at most `budget` operations. The array that was given is returned if nothing
    moves.
    """
    problem, work, given = box.problem, 0.0, beta
    while work < TOGETHER:
        inside = (beta > box.low) & (beta < box.high)
        free = np.flatnonzero(inside & ((beta != 0) | (box.epsilon == 0)))
        size = problem.X.shape[1] + 1
        once = 10 * len(free) * min(len(free), size) ** 2.0 + ROUND
        work += once
        # Each round fixes one multiplier at a bound; if there are too many, the epochs move them.
        expected = max(len(free) - size, 1) * once
        if not len(free) or work > TOGETHER or expected > min(budget, 20 * TOGETHER):
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
        beta = beta.copy() if beta is given else beta
        beta[free] = np.clip(beta[free] + step * move, low, high)
        if step == most:
            break
        beta[free[first]] = limit[first]
    return beta


def towards(A: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, float]:
    """The move m with AA'm = wanted and the step 1; without a solution, a direction along which the
    objective falls without bound, and an infinite step.
    """
    wide = A.shape[0] <= A.shape[1]
    root, failed = linalg.lapack.dpotrf(A @ A.T if wide else A.T @ A)
    pivots = np.diagonal(root)
    if failed or not pivots.min() > SAFE * pivots.max():
        return _towards_by_values(A, wanted)
    if wide:
        move = linalg.lapack.dpotrs(root, wanted)[0]
        return move + linalg.lapack.dpotrs(root, wanted - A @ (move @ A))[0], 1.0
    share = linalg.lapack.dpotrs(root, A.T @ wanted)[0]
    rest = wanted - A @ share
    rest -= A @ linalg.lapack.dpotrs(root, A.T @ rest)[0]
    if np.abs(rest).max() > 1e-9 * np.abs(wanted).max():
        return rest, np.inf
    return A @ linalg.lapack.dpotrs(root, share)[0], 1.0


def _towards_by_values(A: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, float]:
    """The same by singular values, for rows that are nearly dependent."""
    U, S, _ = linalg.svd(A, full_matrices=False, check_finite=False)
    keep = 1e-11 * max(S[0], 1e-300) < S
    U, S = U[:, keep], S[keep]
    share = U.T @ wanted
    rest = wanted - U @ share
    rest -= U @ (U.T @ rest)
    if np.abs(rest).max() > 1e-9 * np.abs(wanted).max():
        return rest, np.inf
    return U @ (share / S**2), 1.0


def _note(box: BoxDual, recorder: Recorder, epoch: int, beta: np.ndarray, v: np.ndarray) -> float:
    """Record the objective, the violation and the duality gap; returns the violation."""
    problem, epsilon, scores = box.problem, box.epsilon, box.problem.scores(v)
    violation, short = box.violation(beta, scores), problem.targets - scores
    sides = np.maximum(box.high * (short - epsilon), box.low * (short + epsilon))
    half, cost = 0.5 * float(v @ v), float(np.maximum(sides, 0.0).sum())
    dual = float(problem.targets @ beta) - epsilon * float(np.abs(beta).sum()) - half
    gap = max(half + cost - dual, 0.0)  # negative only by rounding
    recorder.add(
        iteration=epoch, objective=half + cost, violation=violation, duality_gap=gap, state={"x": v}
    )
    return violation
