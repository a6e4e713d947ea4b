"""The dual problem of support vector machines, solved on working sets.

    minimise 1/2 a'Qa + p'a   subject to   sum_i s_i a_i = constant,  0 <= a_i <= C_i

with Q_ij = s_i s_j K_ij. Invariant: the gradient Qa + p is kept for all rows; the solution is
accepted only if no pair of multipliers violates the optimality conditions by more than `tol`.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.numerics.optimise import largest
from pellucid.records import Recorder, Solution, Status
from pellucid.svm import _loops
from pellucid.svm.kernel_cache import KernelRows
from pellucid.svm.kernel_checks import several_minima
from pellucid.svm.kernels import Kernel

WHOLE = 1500  # largest number of rows for which all rows are one working set
WORKING = 512  # rows of a working set otherwise
# The conditions cannot be met more closely than this share of the largest gradient.
ROUNDING = 1e-14
NEGATIVE = 1e-10  # a curvature below minus this share of its terms is not due to rounding
FEWEST_STEPS = 10_000_000  # without max_iter at least this many steps are allowed, or 100 per row


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
    K: np.ndarray | None = None  # a precomputed kernel matrix

    @property
    def unit(self) -> float:
        """The size of p: 1 for classification, the largest target for regression."""
        return largest(self.linear)


@dataclass(frozen=True)
class StoppingRule:
    """Limits of the violation, the steps, the seconds and the largest multiplier."""

    tol: float
    max_iter: int = -1
    seconds: float | None = None
    cap: float = np.inf

    def steps(self, n: int) -> int:
        """Largest number of steps for n rows."""
        return max(FEWEST_STEPS, 100 * n) if self.max_iter < 0 else self.max_iter


@dataclass
class State:
    """What the iteration changes: multipliers a, gradient Qa + p, number of steps and working sets, the
    smallest curvature so far (as a share of its terms), the last working set.
    """

    a: np.ndarray
    gradient: np.ndarray
    taken: int = 0
    epochs: int = 0
    curvature: float = 1.0
    last: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


@parallel.one_blas_thread()  # sums do not depend on the number of threads
def solve(
    problem: Dual, rule: StoppingRule, megabytes: float, recorder: Recorder, first: int = 0,
    **facts: Any,
) -> Solution:  # fmt: skip
    """Multipliers, gradient and offset by steps on working sets.

    1. Working set: the rows that violate the conditions most, and half of the last working set.
    2. Steps on pairs inside it, until its violation is a tenth of the violation of all rows.
    3. The gradient of all rows is updated with the kernel rows of the multipliers that moved.

    For those who watch, `first` is the number of steps of the problems that were solved before, and
    `facts` are part of every event.
    """
    viewer, n = _Viewer(problem, recorder, first, facts), len(problem.signs)
    size = n if n <= WHOLE else WORKING
    rows = KernelRows(problem, megabytes, size, rule.tol)
    state = State(problem.start.copy(), problem.linear.copy())
    if state.a.any() and size == n:
        state.gradient = _whole_gradient(problem, rows.local(np.arange(n)), state.a)
    elif state.a.any():
        state.gradient = rows.gradient(state.a)
    viewer.show(0, state.a, state.gradient)
    most, began, diagonal = rule.steps(n), time.monotonic(), rows.diagonal()[problem.base]
    while True:
        violation, offset = _record(problem, state, viewer.recorder)
        tol = max(rule.tol, ROUNDING * largest(state.gradient))
        late = rule.seconds is not None and time.monotonic() - began > rule.seconds
        beyond = state.epochs > 0 and _without_margin(problem, state, rule.cap)
        if violation <= tol and rows.too_coarse(state.a, tol):
            rows.refine()
            state.gradient = rows.gradient(state.a)
            continue
        if violation <= tol or late or beyond or state.taken >= most:
            break
        _improve(problem, replace(rule, tol=tol), rows, diagonal, state, violation, size, viewer)
    status = _status(violation, replace(rule, tol=tol), state.taken, beyond, late)
    if rows.indefinite is not None and not beyond:
        status = rows.indefinite
    elif status.ok and problem.K is None and state.curvature < -NEGATIVE:
        status = several_minima(problem.kernel)
    viewer.show(state.taken, state.a, state.gradient)
    return Solution((state.a, state.gradient, offset), status, {}, state.taken)


def _without_margin(problem: Dual, state: State, cap: float) -> bool:
    """Whether the margin with C = inf is too narrow to distinguish from none: a multiplier exceeds the
    cap, or the lower bound -p'a / sqrt(a'Qa) of |w|, squared, does. Both are in units of p.
    """
    if not np.isfinite(cap):
        return False
    square, gain = state.a @ (state.gradient - problem.linear), -float(problem.linear @ state.a)
    steep = gain > 0 and square * cap * problem.unit**2 < gain * gain
    return bool(state.a.max(initial=0.0) > cap * problem.unit or steep)


def _improve(
    problem: Dual,
    rule: StoppingRule,
    rows: KernelRows,
    diagonal: np.ndarray,
    state: State,
    violation: float,
    size: int,
    viewer: "_Viewer",
) -> None:
    """One working set: choose it (1), solve it (2), and update the gradient of all rows (3)."""
    whole = size == len(problem.signs)
    chosen = np.arange(size) if whole else _working_set(problem, state, size)  # 1
    own, gradient = state.a[chosen], state.gradient[chosen]
    given = problem.signs, problem.limits, diagonal
    signs, limits, sizes = given if whole else (part[chosen] for part in given)
    target = rule.tol if whole else max(0.1 * violation, 0.5 * rule.tol)
    # If all rows are one working set, some steps at a time, so that the history has several entries.
    most = max(size // 4, state.taken // 2, 8) if whole else 50 * size
    allowed = min(rule.steps(len(problem.signs)) - state.taken, most)
    stop, local = parallel.StopFlag(), rows.local(chosen)
    cap = rule.cap * (problem.unit or 1.0)

    def run(most: int) -> tuple[int, float, float]:
        return _loops.steps(
            local, sizes, signs, limits, own, gradient, target, most, cap, stop.array
        )  # fmt: skip

    if whole and viewer.recorder.watched:  # all rows in their order
        count, curvature = viewer.steps(run, own, gradient, allowed, cap, state.taken)  # 2
    else:
        count, _, curvature = run(allowed)
    stop.check()
    state.curvature = min(state.curvature, curvature)
    if whole:  # 3; the steps kept the gradient up to date, apart from rounding
        ended = count < allowed
        state.gradient = _whole_gradient(problem, local, own) if ended else gradient
    else:
        base, place = np.unique(problem.base[chosen], return_inverse=True)
        moved = np.bincount(place, (own - state.a[chosen]) * signs)
        some = np.flatnonzero(moved)
        state.a[chosen] = own
        nonzero = np.bincount(problem.base, state.a, problem.X.shape[0]) > 0
        change = rows.weighted_sum(base[some], moved[some], nonzero)
        state.gradient += problem.signs * change[problem.base]
        viewer.show(state.taken + count, state.a, state.gradient)
    state.a[chosen] = own
    state.taken, state.epochs, state.last = state.taken + max(count, 1), state.epochs + 1, chosen


def _whole_gradient(problem: Dual, K: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Qa + p, from the kernel matrix of all rows."""
    return problem.linear + problem.signs * (K @ (problem.signs * a))


def _conditions(
    problem: Dual, a: np.ndarray, gradient: np.ndarray
) -> tuple[float, float, float, float]:
    """Objective, violation, duality gap, offset."""
    return _loops.conditions(problem.signs, problem.linear, problem.limits, a, gradient)


def _record(problem: Dual, state: State, recorder: Recorder) -> tuple[float, float]:
    """Record the objective, the violation and the duality gap; returns the violation and the offset."""
    objective, violation, gap, offset = _conditions(problem, state.a, state.gradient)
    recorder.add(
        iteration=state.taken, objective=objective, violation=violation, duality_gap=gap
    )  # fmt: skip
    return violation, offset


class _Viewer:
    """Multipliers and offset along the steps, for those who watch.

    If all rows are one working set, its steps are run in parts, which changes no bit.
    """

    def __init__(self, problem: Dual, recorder: Recorder, first: int, facts: dict) -> None:
        self.problem, self.recorder, self.first, self.facts = problem, recorder, first, facts
        self._last: tuple[int, float] | None = None

    def show(self, taken: int, a: np.ndarray, gradient: np.ndarray) -> None:
        """Record a state after `taken` steps."""
        if not self.recorder.watched:
            return
        problem = self.problem
        objective, violation, _, rho = _conditions(problem, a, gradient)
        if self._last == (taken, rho):
            return
        self._last = (taken, rho)
        count, full = int((a > 0).sum()), int(((a > 0) & (a >= problem.limits)).sum())
        kept = a.copy()
        self.recorder.derived_step(
            self.first + taken, partial(dict, a=kept, rho=rho),
            partial(dict, self.facts, multipliers=count, at_limit=full), _sentence,
            {"objective": objective, "violation": violation}, kept.nbytes,
        )  # fmt: skip

    def steps(
        self, run: Callable[[int], tuple[int, float, float]], a: np.ndarray, gradient: np.ndarray,
        allowed: int, cap: float, taken: int,
    ) -> tuple[int, float]:  # fmt: skip
        """Number of steps, and the smallest curvature. `run` makes a number of steps at most."""
        done, least = 0, 1.0
        while done < allowed:
            most = min(self.recorder.skip(), allowed - done)
            count, _, curvature = run(most)
            done, least = done + count, min(least, curvature)
            if count < most or a.max() > cap:  # the last state is shown with its final gradient
                break
            self.show(taken + done, a, gradient)
        return done, least


def _sentence(event: Mapping[str, Any], numbers: dict[str, float]) -> str:
    from pellucid.draw import number

    several = "multiplier is" if event["multipliers"] == 1 else "multipliers are"
    begin = "Step"
    if event.get("pairs", 1) > 1:
        begin = f"Binary problem {event['number']} of {event['pairs']}, step"
    return (
        f"{begin} {int(numbers['iteration'])}: {event['multipliers']} {several} above 0, "
        f"{event['at_limit']} of them at their limit; the dual objective is "
        f"{number(numbers['objective'], 5)}, and the optimality conditions are violated by "
        f"{number(max(numbers['violation'], 0.0), 3)}."
    )


def _working_set(problem: Dual, state: State, size: int) -> np.ndarray:
    """The rows that violate the conditions most, and half of the last working set."""
    # Which multipliers may move so that s_i a_i rises, and which so that it falls.
    inside_low, inside_high, plus = state.a > 0, state.a < problem.limits, problem.signs > 0
    upper, lower = np.where(plus, inside_high, inside_low), np.where(plus, inside_low, inside_high)
    descent, last = -problem.signs * state.gradient, state.last
    n = len(descent)
    kept = last[len(last) - size // 2 :] if len(last) else last
    taken = np.zeros(n, dtype=bool)
    taken[kept] = True
    parts = [kept]
    for values, side in ((-descent, upper), (descent, lower)):
        open_rows = np.flatnonzero(side & ~taken)
        count = min((size - len(kept)) // 2, len(open_rows))
        if count < len(open_rows):
            nearest = np.argpartition(values[open_rows], count)[:count]
            open_rows = np.sort(open_rows[nearest])
        taken[open_rows] = True
        parts.append(open_rows)
    return np.concatenate(parts)


def _status(violation: float, rule: StoppingRule, taken: int, beyond: bool, late: bool) -> Status:
    if beyond:
        return Status("not_separable", "The classes cannot be separated.", "Use a finite C.")
    if violation <= rule.tol:
        return Status("converged", f"The optimality conditions hold within tol={rule.tol:g}.")
    left = f"the optimality conditions are violated by {violation:.2g}, more than tol={rule.tol:g}."
    advice = "Use standardize=True, a smaller C or gamma, or a larger "
    if late:
        message = f"{rule.seconds:g} seconds ({taken} steps) were not enough: {left}"
        return Status("max_time", message, advice + "max_time.")
    return Status("max_iter", f"{taken} steps were not enough: {left}", advice + "max_iter.")
