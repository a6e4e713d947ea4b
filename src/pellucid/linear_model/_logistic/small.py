"""Newton's method for logistic regression on small tables, in one compiled call.

Invariant: it finds the same optimum as `numerics.optimise.newton`, or gives up.
"""

from collections.abc import Callable

import numpy as np

from pellucid.linear_model._logistic import _small
from pellucid.linear_model._logistic.objective import Likelihood
from pellucid.numerics.optimise import converged, length
from pellucid.records import Recorder, Solution

LARGEST = 64  # number of parameters up to which a plain Cholesky factor is as fast as LAPACK's
STEPS = 50  # more than full Newton steps ever need


def applies(F: Likelihood) -> bool:
    """Whether the table is so small that calls of NumPy would take longer than the arithmetic."""
    return F.small and F.size <= LARGEST


def solve_small(
    F: Likelihood, x0: np.ndarray, scale: np.ndarray, accuracy: float, max_iter: int,
    to_user: Callable[[np.ndarray], np.ndarray],
) -> Solution | None:  # fmt: skip
    """The optimum by full Newton steps from x0; None if one of them does not lower F enough.

    The history has the norm of the parameters on the original scale.
    """
    allowed, width = min(max_iter, STEPS), F.X.p + 1
    points = np.empty((allowed + 1, F.q, width))
    points[0] = x0.reshape(F.q, width)
    rows = np.empty((allowed + 1, 2))
    H, work = F.small_work()
    done = _small.newton(
        F.whole, F.y, F.weights, F.intercept, F.alpha, F.metric, scale, accuracy, points, rows,
        np.empty((F.X.n, F.q)), np.empty((F.q, width)), H, work[:2], work[2:],
        np.empty((2, F.size)),
    )  # fmt: skip
    if done < 0:
        return None
    recorder = Recorder("newton", max_iter)
    for k, (x, (value, gradient_norm)) in enumerate(zip(points[: done + 1], rows.tolist())):
        recorder.add(
            iteration=k, objective=value, state={"x": x.ravel()}, gradient_norm=gradient_norm,
            parameter_norm=length(to_user(x).ravel()), learning_rate=1.0 if k else None,
        )  # fmt: skip
    return Solution(points[done].ravel(), converged(done), recorder.history(), done)
