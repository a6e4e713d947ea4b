"""The dual problem of support vector machines, solved on working sets.

    minimise 1/2 a'Qa + p'a   subject to   sum_i s_i a_i = constant,  0 <= a_i <= C_i

with Q_ij = s_i s_j K_ij. Invariant: the gradient Qa + p is kept for all rows; the solution is
accepted only if no pair of multipliers violates the optimality conditions by more than `tol`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.records import Recorder, Solution, Status
from pellucid.svm import _loops
from pellucid.svm.kernels import Kernel

WHOLE = 1500  # up to so many rows the whole kernel matrix is one working set
WORKING = 512  # rows of a working set otherwise
FEWEST_STEPS = 10_000_000  # without max_iter: the cap on steps, or 100 per row


@dataclass(frozen=True)
class Dual:
    """signs s (+1, -1), linear p, limits C, start a; row i of the problem is row base[i] of X."""

    X: Any
    kernel: Kernel
    signs: np.ndarray
    linear: np.ndarray
    limits: np.ndarray
    start: np.ndarray
    base: np.ndarray
    K: np.ndarray | None = None  # a kernel matrix that is given


class Rows:
    """Rows of the kernel matrix, the most recently used kept within `megabytes`."""

    def __init__(self, problem: Dual, megabytes: float, working: int) -> None:
        self.problem, n = problem, problem.X.shape[0]
        self.norms = problem.kernel.norms(problem.X) if problem.K is None else np.zeros(n)
        slots = int(min(max(megabytes * 2**20 / (8 * n), working), n))
        self.kept = np.empty((slots, n)) if problem.K is None else problem.K
        self.slot = np.full(n, -1)
        self.owner = np.full(slots, -1)
        self.used = np.zeros(slots, dtype=np.int64)
        self.clock = 0

    def diagonal(self) -> np.ndarray:
        problem = self.problem
        if problem.K is not None:
            return np.ascontiguousarray(np.diagonal(problem.K))
        return problem.kernel.diagonal(problem.X)

    def slots(self, rows: np.ndarray) -> np.ndarray:
        """Where in `kept` the kernel rows of distinct rows of X are; missing ones are computed."""
        if self.problem.K is not None:
            return rows
        self.clock += 1
        held = rows[self.slot[rows] >= 0]
        self.used[self.slot[held]] = self.clock
        missing = rows[self.slot[rows] < 0]
        if len(missing):
            free = np.argsort(self.used, kind="stable")[: len(missing)]
            gone = self.owner[free]
            self.slot[gone[gone >= 0]] = -1
            self.problem.kernel.rows(self.problem.X, missing, self.norms, self.kept, free)
            self.slot[missing], self.owner[free], self.used[free] = free, missing, self.clock
        return self.slot[rows]

    def pull(self, rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """sum_i weights[i] k(x_rows[i], .) for all rows of X, in parallel blocks."""
        slots = self.slots(rows)
        out = np.zeros(self.kept.shape[1])
        parallel.map(
            lambda b: _loops.add_rows(self.kept, slots, weights, b.start, b.stop, out),
            parallel.row_blocks(len(out), 64),
        )
        return out


def solve(
    problem: Dual, tol: float, max_iter: int, megabytes: float, recorder: Recorder, cap: float
) -> Solution:
    """Multipliers, gradient and offset by steps on working sets.

    1. Working set: the rows that violate the conditions most, and the half of the last set that
       moved last.
    2. Steps on pairs inside it, until its own violation is a tenth of the whole one.
    3. The gradient of all rows follows from the kernel rows of the multipliers that moved.
    """
    n = len(problem.signs)
    a, gradient = problem.start.copy(), problem.linear.copy()
    size = n if n <= WHOLE else WORKING
    rows, stop = Rows(problem, megabytes, size), parallel.StopFlag()
    diagonal = rows.diagonal()[problem.base]
    if a.any():
        gradient += _pull(problem, rows, np.flatnonzero(a), a, size)
    most = max(FEWEST_STEPS, 100 * n) if max_iter < 0 else max_iter
    taken, last, epoch = 0, np.zeros(0, dtype=np.int64), 0
    while True:
        upper, lower = _sides(problem, a)
        pull = -problem.signs * gradient
        gap = _violation(pull, upper, lower)
        recorder.add(iteration=taken, objective=_objective(problem, a, gradient), violation=gap)
        if gap <= tol or taken >= most or (epoch and a.max() > cap):
            break
        chosen = _working_set(pull, upper, lower, last, size)
        base, place = np.unique(problem.base[chosen], return_inverse=True)
        local = np.ascontiguousarray(
            rows.kept[np.ix_(rows.slots(base)[place], problem.base[chosen])]
        )
        own, slope = a[chosen], gradient[chosen]
        target = tol if size == n else max(0.1 * gap, 0.5 * tol)
        count, _ = _loops.steps(
            local, diagonal[chosen], problem.signs[chosen], problem.limits[chosen], own, slope,
            target, min(most - taken, 50 * size), cap, stop.array,
        )  # fmt: skip
        stop.check()
        moved = np.bincount(place, (own - a[chosen]) * problem.signs[chosen])
        gradient += problem.signs * rows.pull(base, moved)[problem.base]
        a[chosen] = own
        taken, epoch, last = taken + max(count, 1), epoch + 1, chosen
    status = _status(gap, tol, taken, most, a.max(initial=0.0) > cap)
    return Solution((a, gradient, _offset(problem, a, gradient)), status, {}, taken)


def _pull(problem: Dual, rows: Rows, free: np.ndarray, a: np.ndarray, size: int) -> np.ndarray:
    """Q a for a start that is not zero."""
    out = np.zeros(problem.X.shape[0])
    base, inverse = np.unique(problem.base[free], return_inverse=True)
    weight = np.bincount(inverse, a[free] * problem.signs[free])
    for i in range(0, len(base), size):
        out += rows.pull(base[i : i + size], weight[i : i + size])
    return problem.signs * out[problem.base]


def _sides(problem: Dual, a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which multipliers may move so that s_i a_i rises, and which so that it falls."""
    inside_low, inside_high, plus = a > 0, a < problem.limits, problem.signs > 0
    return np.where(plus, inside_high, inside_low), np.where(plus, inside_low, inside_high)


def _violation(pull: np.ndarray, upper: np.ndarray, lower: np.ndarray) -> float:
    if not upper.any() or not lower.any():
        return 0.0
    return float(pull[upper].max() - pull[lower].min())


def _working_set(
    pull: np.ndarray, upper: np.ndarray, lower: np.ndarray, last: np.ndarray, size: int
) -> np.ndarray:
    n = len(pull)
    if size >= n:
        return np.arange(n)
    kept = last[len(last) - size // 2 :] if len(last) else last
    taken = np.zeros(n, dtype=bool)
    taken[kept] = True
    parts = [kept]
    for values, side in ((-pull, upper), (pull, lower)):
        open_rows = np.flatnonzero(side & ~taken)
        count = min((size - len(kept)) // 2, len(open_rows))
        if count < len(open_rows):
            nearest = np.argpartition(values[open_rows], count)[:count]
            open_rows = np.sort(open_rows[nearest])
        taken[open_rows] = True
        parts.append(open_rows)
    return np.concatenate(parts)


def _objective(problem: Dual, a: np.ndarray, gradient: np.ndarray) -> float:
    """The dual objective as it is maximised: -(1/2 a'Qa + p'a)."""
    return -0.5 * float(a @ (gradient + problem.linear))


def _offset(problem: Dual, a: np.ndarray, gradient: np.ndarray) -> float:
    """rho: the mean of s_i g_i over free multipliers, or the middle of its bounds."""
    free = (a > 0) & (a < problem.limits)
    pull = problem.signs * gradient
    if free.any():
        return float(pull[free].mean())
    upper, lower = _sides(problem, a)
    above = pull[upper].min() if upper.any() else np.nan
    below = pull[lower].max() if lower.any() else np.nan
    ends = [end for end in (above, below) if np.isfinite(end)]
    return float(np.mean(ends)) if ends else 0.0


def _status(gap: float, tol: float, taken: int, most: int, beyond: bool) -> Status:
    if beyond:
        return Status("not_separable", "The classes cannot be separated.", "Give a finite C.")
    if gap <= tol:
        return Status("converged", f"No condition is violated by more than tol={tol:g}.")
    return Status(
        "max_iter",
        f"{taken} steps were not enough: conditions are violated by {gap:.2g}, tol={tol:g}.",
        "Scale the columns to comparable units, lower C or gamma, or raise max_iter.",
    )
