"""Linear machines with plain errors, along the multipliers of the dual problem.

    minimise 1/2 |Z'beta|**2 - t'beta + epsilon |beta|   subject to   low <= beta <= high

with z_i = (x_i, bias) and the weights v = Z'beta. Invariant: accepted only if no multiplier violates the
conditions by more than `tol`; the duality gap of each batch of epochs is recorded.
"""

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from pellucid import parallel
from pellucid.numerics.optimise import out_of_iterations
from pellucid.records import Recorder, Solution, Status
from pellucid.svm import _loops, interior_point, primal

MOST_EPOCHS = 32  # between two looks at the conditions
TOGETHER = 1e8  # operations spent on the equations of the free multipliers, per batch of epochs
BEFORE = 2e6  # as many while the way from inside, which costs less, is still to come


@dataclass(frozen=True)
class Boxes:
    """The dual of errors: beta_i between low and high, with targets t and a tube epsilon around them."""

    line: primal.Line
    low: np.ndarray
    high: np.ndarray
    epsilon: float

    def slopes(self, beta: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Slopes of the objective upwards and downwards from beta; inf where the box ends."""
        slope = self.line.scores(v) - self.line.targets
        up = np.where(beta >= 0, slope + self.epsilon, slope - self.epsilon)
        down = np.where(beta > 0, slope + self.epsilon, slope - self.epsilon)
        return np.where(beta < self.high, up, np.inf), np.where(beta > self.low, down, -np.inf)

    def violation(self, beta: np.ndarray, v: np.ndarray) -> float:
        up, down = self.slopes(beta, v)
        return max(float(-up.min()), float(down.max()), 0.0)


def ridge_absolute(line: primal.Line, tol: float, max_iter: int, source: str) -> Solution:
    """|v|**2 / 2 and errors, with BLAS on one thread; costs beyond the largest float are inf."""
    with np.errstate(over="ignore", invalid="ignore"), parallel.one_blas_thread():
        return _along_the_dual(line, tol, max_iter, source)


def _along_the_dual(line: primal.Line, tol: float, max_iter: int, source: str) -> Solution:
    """|v|**2 / 2 and errors, by descent along the multipliers of the dual.

    1. beta_i of each row in a shuffled order: the minimum of 1/2 |X'beta|**2 - t'beta + epsilon |beta|
       along it, between its limits. Some epochs of this.
    2. If that takes long, as with columns of very different units: once, from inside the limits.
    3. All multipliers between their limits at once: the solution of their linear equations, or as far
       towards it as the limits allow.
    4. Stop when no condition is violated by more than `tol`, in units of targets below 1.
    """
    X, n = line.X, line.X.shape[0]
    tol *= 1.0 if line.margin else float(np.clip(np.abs(line.targets).max() or 1.0, 1e-60, 1.0))
    price = line.prices * line.targets if line.margin else line.prices
    boxes = Boxes(
        line, np.minimum(price, 0.0) if line.margin else -price, np.maximum(price, 0.0),
        0.0 if line.margin else line.epsilon,
    )  # fmt: skip
    cells, columns, starts, dense, curves = row_parts(line)
    beta, v = np.zeros(n), np.zeros(X.shape[1] + 1)
    rng, recorder, stop = np.random.default_rng(0), Recorder(source, max_iter), parallel.StopFlag()
    violation, epoch, batch = boxes.violation(beta, v), 0, 1
    options, inside = interior_point.for_line(line), False
    _note_gap(boxes, recorder, 0, beta, v, violation)
    while violation > tol and epoch < max_iter:
        for _ in range(min(batch, max_iter - epoch)):
            _loops.dual_epoch(
                cells, columns, starts, dense, line.targets, boxes.epsilon, boxes.low, boxes.high,
                curves, line.bias, rng.permutation(n), beta, v, stop.array,
            )  # fmt: skip  # 1
            stop.check()
            epoch += 1
        if not inside and options.due(epoch):
            beta, inside = options.moves(interior_point.solve(options, stop.array))[:, 0], True  # 2
            stop.check()
        # While the way from inside is still to come, many free multipliers are left to it.
        room = BEFORE if options.fits and not inside else np.inf
        beta = _solved_together(boxes, beta, room)  # 3
        v = line.pull(beta)  # without the rounding of many steps
        violation, batch = boxes.violation(beta, v), min(2 * batch, MOST_EPOCHS)
        _note_gap(boxes, recorder, epoch, beta, v, violation)
    if violation <= tol:  # 4
        status = Status("converged", f"No condition is violated by more than tol={tol:g}.")
    else:
        status = out_of_iterations(max_iter, f"conditions are violated by {violation:.2g}")
    return Solution(v, status, recorder.history(), max(epoch, 1))


def row_parts(line: primal.Line) -> tuple[np.ndarray, np.ndarray, np.ndarray, bool, np.ndarray]:
    """Cells, columns and starts of the rows, whether they are dense, and squared lengths."""
    X, n = line.X, line.X.shape[0]
    if isinstance(X, np.ndarray):
        squares = np.einsum("ij,ij->i", X, X)
        cells, columns = np.ascontiguousarray(X).reshape(-1), np.zeros(0, dtype=np.int32)
        starts = np.arange(n + 1) * X.shape[1]
    else:
        squares = np.asarray(X.multiply(X).sum(axis=1)).ravel()
        cells, columns, starts = X.data, X.indices.astype(np.int32), X.indptr.astype(np.int64)
    curves = np.maximum(squares + line.bias**2, 1e-300)
    return cells, columns, starts, isinstance(X, np.ndarray), curves


def _solved_together(boxes: Boxes, beta: np.ndarray, room: float) -> np.ndarray:
    """The free multipliers moved to the solution of their equations, limit by limit; where there are
    more of them than columns, only if that takes no more than so many operations.
    """
    line, beta, work = boxes.line, beta.copy(), 0.0
    while work < TOGETHER:
        inside = (beta > boxes.low) & (beta < boxes.high)
        free = np.flatnonzero(inside & ((beta != 0) | (boxes.epsilon == 0)))
        size = line.X.shape[1] + 1
        once = len(free) * min(len(free), size) ** 2.0 + 1e4
        work += once
        # Each round holds one multiplier at a limit; too many of them are left to the epochs.
        excess = len(free) - size
        if not len(free) or work > TOGETHER or max(excess, 1) * once > 20 * TOGETHER:
            break
        if excess > 0 and excess * once > room:
            break
        A = line.X[free] if isinstance(line.X, np.ndarray) else line.X[free].toarray()
        A = np.column_stack([A, np.full(len(free), line.bias)])
        side = np.sign(beta[free])
        wanted = line.targets[free] - boxes.epsilon * side - A @ line.pull(beta)
        move, most = towards(A, wanted)
        low = np.where((side > 0) & (boxes.epsilon > 0), 0.0, boxes.low[free])
        high = np.where((side < 0) & (boxes.epsilon > 0), 0.0, boxes.high[free])
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
    """The move m with AA'm = wanted and the step 1; without a solution, the way along which the
    objective falls for ever, and no end to the step.
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
    boxes: Boxes, recorder: Recorder, epoch: int, beta: np.ndarray, v: np.ndarray, violation: float
) -> None:
    line, epsilon = boxes.line, boxes.epsilon
    short = line.targets - line.scores(v)
    sides = np.maximum(boxes.high * (short - epsilon), boxes.low * (short + epsilon))
    half, cost = 0.5 * float(v @ v), float(np.maximum(sides, 0.0).sum())
    dual = float(line.targets @ beta) - epsilon * float(np.abs(beta).sum()) - half
    gap = max(half + cost - dual, 0.0)  # below 0 by rounding alone
    recorder.add(iteration=epoch, objective=half + cost, violation=violation, duality_gap=gap)
