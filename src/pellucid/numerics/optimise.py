"""Minimising smooth convex functions: Newton, L-BFGS, gradient descent, proximal and stochastic.

Invariant: a solver takes functions of a flat parameter vector and returns a Solution whose Status
states how it ended; one row of history per iteration, the start included.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pellucid.errors import ParameterError, shown
from pellucid.numerics.objectives.penalties import Penalty
from pellucid.parallel import StopFlag
from pellucid.records import Recorder, Solution, Status

Array = np.ndarray
Evaluate = Callable[[Array], tuple[float, Array]]  # x -> value, gradient
Solve = Callable[[Array], Array]  # g -> H^-1 g

ARMIJO = 1e-4
FLAT = 1e-10  # relative change of the objective that may be rounding
STILL_FALLING = 1e-4  # of the first objective, saved by one more step of a descent
LOOSE = 1e-3  # a larger tol is not meant to reach the optimum
ROUNDING = 2.0**-51
MAX_HALVINGS = 50
PATIENCE = 20  # iterations without progress: L-BFGS only stirs rounding errors
UNSEEN = 1e-6  # relative length up to which the end of a last step need not be seen
LEAST_RATE = 1e-3  # at which steps of Newton's method are trusted to shrink
IDLE = 6  # steps of Newton's method that can only stir them


def _counted(iterations: int) -> str:
    return "1 iteration" if iterations == 1 else f"{iterations} iterations"


def converged(iterations: int) -> Status:
    return Status("converged", f"Converged after {_counted(iterations)}.")


def settled(iterations: int, change: float, tol: float, gain: float, start: float) -> Status:
    """The end of a descent whose last change was at most tol and lowered the objective by `gain`.

    With columns of large numbers even the first step is short. `start` is the first objective. A loose
    tol asks for an early end.
    """
    if tol > LOOSE or not gain > STILL_FALLING * abs(start):
        return converged(iterations)
    return Status(
        "stopped",
        f"Stopped after {_counted(iterations)} before convergence: the last change was {change:.2g}, "
        f"tol is {tol:.2g}, but each iteration still lowers the objective by about {gain:.2g} (it "
        f"started at {start:.4g}).",
        "Bring the columns to similar scales, or use a smaller tol.",
    )


def out_of_iterations(iterations: int, measure: str) -> Status:
    return Status(
        "max_iter",
        f"Stopped after {_counted(iterations)} (max_iter) before convergence; {measure}.",
        "Increase max_iter, bring the columns to similar scales, or accept a larger tol.",
    )


def diverged(iterations: int) -> Status:
    return Status(
        "diverged",
        f"The objective became infinite or undefined at iteration {iterations}.",
        "Use a smaller step, or bring the columns to similar scales.",
    )


@dataclass
class Curvature:
    """The current model of H^-1: a base (factor, or a multiple of 1) plus the last steps (BFGS)."""

    base: Solve | None = None
    memory: int = 10
    steps: list[tuple[Array, Array, float]] = field(default_factory=list)

    def restart(self, base: Solve | None) -> None:
        self.base = base
        self.steps.clear()

    def learn(self, s: Array, y: Array) -> None:
        """Remember that the gradient changed by y along s."""
        curvature = float(s @ y)
        with np.errstate(over="ignore"):  # a step that is too large to square is not used
            least = 1e-14 * math.sqrt(float(s @ s) * float(y @ y))
        if curvature > least:
            self.steps.append((s, y, curvature))
            del self.steps[: -self.memory]

    def solve(self, g: Array) -> Array:
        """The two-loop recursion."""
        q = g.copy()
        shares = []
        for s, y, curvature in reversed(self.steps):
            share = float(s @ q) / curvature
            q -= share * y
            shares.append(share)
        if self.base is not None:
            q = self.base(q)
        elif self.steps:
            _, y, curvature = self.steps[-1]
            q *= curvature / float(y @ y)
        for (s, y, curvature), share in zip(self.steps, reversed(shares)):
            q += (share - float(y @ q) / curvature) * s
        return q


@dataclass
class Point:
    """A point of the search; `step` is the step size that led here, NaN for a start."""

    x: Array
    value: float
    gradient: Array
    step: float = math.nan

    @property
    def finite(self) -> bool:
        return math.isfinite(self.value) and bool(np.isfinite(self.gradient).all())


def length(x: Array) -> float:
    """The Euclidean length of a flat x, whatever its size."""
    with np.errstate(over="ignore"):
        square = float(np.dot(x, x))
    if 1e-280 < square < 1e280:
        return math.sqrt(square)
    top = largest(x)
    return top * math.sqrt(float((x / top) @ (x / top))) if 0 < top < math.inf else top


def largest(x: Array) -> float:
    """max |x|, 0 for an empty x."""
    return float(np.maximum.reduce(np.abs(x))) if x.size else 0.0


def line_search(evaluate: Evaluate, start: Point, d: Array, t: float = 1.0) -> Point | None:
    """A point along d with enough decrease, or None if none was found.

    Near the optimum values differ by less than rounding; there the derivative along d decides. A step
    after which it is as steep as before was too short and is doubled.
    """
    slope = float(start.gradient @ d)
    best: Point | None = None
    for _ in range(MAX_HALVINGS):
        x = start.x + (d if t == 1.0 else t * d)
        trial = Point(x, *evaluate(x), t)
        if not trial.finite:
            if best is not None:
                return best
            t *= 0.1
            continue
        new_slope = float(trial.gradient @ d)
        lower = trial.value <= start.value + ARMIJO * t * slope
        flat = trial.value <= start.value + FLAT * abs(start.value)
        if not lower and not (flat and abs(new_slope) <= 0.9 * abs(slope)):
            if best is not None:
                return best
            curvature = (new_slope - slope) / t  # the minimum of the parabola through both slopes
            t = float(np.clip(-slope / curvature if curvature > 0 else 0.1 * t, 0.1 * t, 0.5 * t))
            continue
        if best is not None and trial.value >= best.value:
            return best
        best = trial
        if new_slope > 0.9 * slope or t > 1e6:
            return best
        t *= 4.0
    return best


def newton(
    evaluate: Evaluate,
    factor: Callable[[Array], Solve],
    x0: Array,
    *,
    max_iter: int = 100,
    scale: Array | float = 1.0,
    refresh: float = 0.1,
    accuracy: float = ROUNDING,
    recorder: Recorder | None = None,
    measure: Callable[[Point], dict[str, Any]] | None = None,
    stop: Callable[[Point], Status | None] | None = None,
) -> Solution:
    """Newton's method to the last digit, reusing the factored Hessian while it is good enough.

    1. d = -H^-1 g, H factored at an earlier point and corrected by the steps since then.
    2. Go along d until the objective falls enough.
    3. Factor H again if the step shrank by less than the factor `refresh`.
    4. Stop when the next step would not change scale * x by more than `accuracy` (relative to its
       largest entry); a step this short is taken without evaluating its end. Stop also when
       steps again and again promise less than the last digit of the objective.
    """
    recorder = recorder or Recorder("newton", max_iter)
    x0 = np.asarray(x0, dtype=float)
    point = Point(x0, *evaluate(x0))
    note(recorder, 0, point, measure)
    if not point.finite:
        return Solution(point.x, diverged(0), recorder.history(), 0)
    curvature, flag, idle, k = Curvature(factor(point.x)), StopFlag(), 0, 0
    fresh, previous, d = True, largest(scale * point.x), -curvature.solve(point.gradient)
    for k in range(1, max_iter + 1):
        flag.check()
        if not float(d @ point.gradient) < 0:
            if fresh:
                break
            curvature.restart(factor(point.x))
            fresh, d = True, -curvature.solve(point.gradient)
        idle = idle + 1 if -float(d @ point.gradient) <= ROUNDING * abs(point.value) else 0
        trial = line_search(evaluate, point, d) if idle <= IDLE else None
        if trial is None:
            if idle > IDLE or fresh or largest(scale * d) <= 1e-9 * largest(scale * point.x):
                break
            curvature.restart(factor(point.x))
            fresh, previous, d = True, 0.0, -curvature.solve(point.gradient)
            continue
        step = trial.x - point.x
        curvature.learn(step, trial.gradient - point.gradient)
        point = trial
        size, reach = largest(scale * point.x), largest(scale * step)
        full = reach > 0.9 * largest(scale * d)  # only such steps show how fast the steps shrink
        rate = reach / previous if full and reach < previous else 1.0
        finished = reach * rate <= accuracy * size or (rate > 0.5 and reach <= 1e-10 * size)
        fresh = rate > refresh and not finished
        d = -curvature.solve(point.gradient) if not (fresh or finished) else d
        if not (fresh or finished) and is_last(largest(scale * d), size, rate, accuracy):
            point, finished = replace(point, x=point.x + d), True
        note(recorder, k, point, measure)
        verdict = stop(point) if stop is not None else None
        if verdict is not None or finished:
            return Solution(point.x, verdict or converged(k), recorder.history(), k)
        if fresh:
            curvature.restart(factor(point.x))
            d = -curvature.solve(point.gradient)
        previous = reach
    else:
        said = f"the largest gradient component is {largest(point.gradient):.2g}"
        return Solution(point.x, out_of_iterations(max_iter, said), recorder.history(), max_iter)
    # No descent left although the model of H is fresh: the gradient is rounding error.
    return Solution(point.x, converged(max(k, 1)), recorder.history(), max(k, 1))


def is_last(step: float, size: float, rate: float, accuracy: float) -> bool:
    """Whether a step of this length, from x of this size, ends at the minimum up to `accuracy`."""
    return step <= UNSEEN * size and step * max(rate, LEAST_RATE) <= accuracy * size


def lbfgs(
    evaluate: Evaluate,
    x0: Array,
    *,
    tol: float = 1e-4,
    max_iter: int = 100,
    memory: int = 10,
    recorder: Recorder | None = None,
    measure: Callable[[Point], dict[str, Any]] | None = None,
    stop: Callable[[Point], Status | None] | None = None,
) -> Solution:
    """Limited-memory BFGS until every entry of the gradient is at most tol."""
    recorder = recorder or Recorder("lbfgs", max_iter)
    point = Point(np.array(x0, dtype=float), *evaluate(x0))
    note(recorder, 0, point, measure)
    if not point.finite:
        return Solution(point.x, diverged(0), recorder.history(), 0)
    curvature, flag = Curvature(memory=memory), StopFlag()
    gentlest, lowest, progress, k = np.inf, np.inf, 0, 0
    for k in range(1, max_iter + 1):
        steepest = largest(point.gradient)
        if steepest <= tol:
            return Solution(point.x, converged(k - 1), recorder.history(), k - 1)
        if steepest < gentlest or point.value < lowest - 1e-13 * abs(lowest):
            gentlest, lowest, progress = min(steepest, gentlest), min(point.value, lowest), k
        elif k - progress > PATIENCE:
            break
        flag.check()
        d = -curvature.solve(point.gradient)
        t = 1.0 if curvature.steps else 1.0 / max(float(np.linalg.norm(d)), 1e-300)
        trial = line_search(evaluate, point, d, t)
        if trial is None and curvature.steps:
            curvature.restart(None)
            continue
        if trial is None:
            break
        curvature.learn(trial.x - point.x, trial.gradient - point.gradient)
        point = trial
        note(recorder, k, point, measure)
        verdict = stop(point) if stop is not None else None
        if verdict is not None:
            return Solution(point.x, verdict, recorder.history(), k)
    steepest = largest(point.gradient)
    if steepest <= tol:
        return Solution(point.x, converged(max_iter), recorder.history(), max_iter)
    if k < max_iter:
        status = Status(
            "stalled",
            "Double precision allows no further decrease; the largest gradient component is "
            f"{steepest:.2g}.",
            "The solution cannot be improved in double precision. Increase tol to avoid this message.",
        )
        return Solution(point.x, status, recorder.history(), k)
    status = out_of_iterations(
        max_iter, f"the largest gradient component is {steepest:.2g}, tol is {tol:.2g}"
    )
    return Solution(point.x, status, recorder.history(), max_iter)


def gradient_descent(
    evaluate: Evaluate,
    x0: Array,
    *,
    step: float,
    tol: float = 0.0,
    max_iter: int = 1000,
    penalty: Penalty | None = None,
) -> Solution:
    """x <- x - step g, with the proximal map of `penalty` after each step if there is one.

    Stops when the Euclidean length of the change is at most tol.
    """
    recorder, flag = Recorder("gd", max_iter), StopFlag()
    x = np.array(x0, dtype=float)
    value, g = evaluate(x)

    def write_down(k: int) -> None:
        total = value + (penalty.value(x) if penalty else 0.0)
        recorder.add(
            iteration=k, objective=total, gradient_norm=length(g), parameter_norm=length(x),
            state=lambda: {"x": x},
        )  # fmt: skip

    write_down(0)
    change = np.inf
    for k in range(1, max_iter + 1):
        flag.check()
        new = x - step * g
        if penalty is not None:
            new = penalty.prox(new, step)
        change = float(np.linalg.norm(new - x))
        x = new
        value, g = evaluate(x)
        write_down(k)
        if not np.isfinite(value):
            return Solution(x, diverged(k), recorder.history(), k)
        if change <= tol:
            history = recorder.history()
            status = settled(k, change, tol, change**2 / (2 * step), history["objective"][0])
            return Solution(x, status, history, k)
    status = out_of_iterations(max_iter, f"the last change was {change:.2g}, tol is {tol:.2g}")
    return Solution(x, status, recorder.history(), max_iter)


def schedule(
    tau0: float, kappa: float, eta0: float = 1.0, most: float = np.inf
) -> Callable[[int], float]:
    """Step sizes eta_k = eta0 (tau0 + k)**-kappa, which sum to infinity with finite sum of squares.

    k counts from 0, or from 1 if tau0 is 0. No step is larger than `most`.

    >>> eta = schedule(10, 1.0)
    >>> eta(0), round(eta(99), 6)
    (0.1, 0.009174)
    """
    if not 0.5 < kappa <= 1:
        raise ParameterError(
            f"The 'kappa' parameter must be in (0.5, 1]. Got {shown(kappa)} instead."
        )
    if not tau0 >= 0:
        raise ParameterError(f"The 'tau0' parameter must be >= 0. Got {shown(tau0)} instead.")
    first = tau0 if tau0 > 0 else 1.0
    return lambda k: min(eta0 * (first + k) ** -kappa, most)


def note(
    recorder: Recorder,
    iteration: int,
    point: Point,
    measure: Callable[[Point], dict[str, Any]] | None,
) -> None:
    """One row of history: the objective, and what `measure` gives (gradient norm by default)."""
    more = measure(point) if measure else {"gradient_norm": length(point.gradient)}
    recorder.add(iteration=iteration, objective=point.value, state=lambda: {"x": point.x}, **more)
