"""Newton's method for many parameters: the Hessian is used only in products with vectors.

Invariant: it ends where the step to the optimum promises almost no decrease. A small gradient alone does
not show that: along directions of little curvature it can lead far down.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from pellucid.numerics import optimise
from pellucid.parallel import StopFlag
from pellucid.records import Recorder, Solution, Status

ROUGH = 0.03  # share of the gradient that a step may leave
FAR = 0.3  # the same far from the optimum
LARGE = 0.1  # share of the objective that steps promise there
PRODUCTS = 1000  # with the curvature, at most, for one step

Array = np.ndarray
Product = Callable[[Array], Array]  # v -> H v


def truncated_newton(
    evaluate: optimise.Evaluate,
    curvature: Callable[[Array], Product],
    x0: Array,
    *,
    gain: float,
    max_iter: int,
    recorder: Recorder,
    done: int = 0,
    measure: Callable[[optimise.Point], dict[str, Any]] | None = None,
    stop: Callable[[optimise.Point], Status | None] | None = None,
) -> Solution:
    """From x0, after `done` iterations of another solver, whose history is continued.

    1. d = -H^-1 g, roughly, by conjugate gradients; more roughly far from the optimum.
    2. Go along d until the objective falls enough.
    3. Stop when d promised no more than the share `gain` of the objective.
    """
    flag, point, rough = StopFlag(), optimise.Point(x0, *evaluate(x0)), ROUGH
    for k in range(done + 1, max_iter + 1):
        d, settled = conjugate_gradients(curvature(point.x), point.gradient, flag, rough)
        promise = -0.5 * float(d @ point.gradient)
        enough = settled and rough == ROUGH and promise <= gain * abs(point.value)
        rough = FAR if promise > LARGE * abs(point.value) else ROUGH
        trial = optimise.line_search(evaluate, point, d) if promise > 0 else None
        if trial is None:  # differences are rounding
            return Solution(point.x, optimise.converged(k - 1), recorder.history(), k - 1)
        point = trial
        optimise.note(recorder, k, point, measure)
        verdict = stop(point) if stop is not None else None
        if enough or verdict is not None:
            return Solution(point.x, verdict or optimise.converged(k), recorder.history(), k)
    steepest = optimise.largest(point.gradient)
    status = optimise.out_of_iterations(
        max_iter, f"the largest gradient component is {steepest:.2g}"
    )
    return Solution(point.x, status, recorder.history(), max_iter)


def conjugate_gradients(
    product: Product, g: Array, flag: StopFlag, rough: float
) -> tuple[Array, bool]:
    """d near -H^-1 g, and whether no more than the share `rough` of g is left; flat directions are left
    alone."""
    d, left = np.zeros_like(g), -g
    way, size = left, float(left @ left)
    goal = rough**2 * size
    for _ in range(min(PRODUCTS, 20 * len(g))):
        flag.check()
        bent = product(way)
        curvature = float(way @ bent)
        if not curvature > 0:
            break
        d = d + (size / curvature) * way
        left = left - (size / curvature) * bent
        previous, size = size, float(left @ left)
        if size <= goal:
            return d, True
        way = left + (size / previous) * way
    return d, False
