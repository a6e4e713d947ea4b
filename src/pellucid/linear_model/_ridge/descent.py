"""Plain gradient descent on squared errors, on the original scale: the solver "gd", for watching.

Invariant: a step size that is given applies to the gradient of the mean of the half squared errors
(plus penalty), as in all models of the library; without one the step cannot overshoot.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from pellucid.data import Problem
from pellucid.errors import ParameterError
from pellucid.linear_model.base import shaped
from pellucid.numerics.optimise import gradient_descent
from pellucid.numerics.row_blocks import as_dense
from pellucid.records import converting

MAX_ITER = 1000

Evaluate = Callable[[np.ndarray, np.ndarray], tuple[float, np.ndarray]]


def descend_ridge(model: Any, problem: Problem, alpha: float) -> dict[str, Any]:
    """The learned attributes on the way to the minimum of half of sum w (y - b0 - x.b)^2 + alpha b.b"""
    weights = problem.weights
    total = float(weights.sum())
    strength = np.append(np.full(problem.p, alpha), 0.0)

    def evaluate(A: np.ndarray, b: np.ndarray) -> tuple[float, np.ndarray]:
        r = A @ b - problem.y
        weighted = weights * r
        return 0.5 * float(weighted @ r + strength @ b**2), A.T @ weighted + strength * b

    means = problem.table.T @ (weights / total)
    return descend_squares(model, problem, weights, means, alpha, None, evaluate, total)


def descend_squares(
    model: Any, problem: Problem, weights: np.ndarray, means: np.ndarray, alpha: float, penalty: Any,
    evaluate: Evaluate, total: float = 1.0,
) -> dict[str, Any]:  # fmt: skip
    """The learned attributes of a model that descends from 0.

    `evaluate` takes the table with a column for the intercept and b (p + 1,), the intercept last, and
    returns objective and gradient without `penalty`; `alpha` is added to the curvature of the squares.
    Its gradient divided by `total` is that of the mean of half squares. `means` are those of columns.
    """
    if problem.y.ndim == 2 or model.positive:
        raise ParameterError(
            "solver='gd' supports one target and no positive=True. Use another solver."
        )
    X = as_dense(problem.table)
    A = np.column_stack([X, np.full(len(X), float(model.fit_intercept))])
    if model.step is None:
        gram = A.T @ (A * weights[:, None])
        step = 1.0 / max(float(np.linalg.eigvalsh(gram)[-1]) + alpha, 1e-300)
    else:
        step = model.step / total

    def split(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return x[None, :-1].copy(), x[-1:] if model.fit_intercept else np.zeros(1)

    with converting(lambda state: shaped(*split(state["x"]), problem.y)):
        found = gradient_descent(
            lambda b: evaluate(A, b), np.zeros(A.shape[1]), step=step, tol=model.tol,
            max_iter=model.max_iter or MAX_ITER, penalty=penalty,
        )  # fmt: skip
    return model._finished(*split(found.x), problem.y) | {
        "means_": means if model.fit_intercept else np.zeros(problem.p),
        "n_iter_": found.n_iter,
        "history_": found.history,
        "status_": found.status,
    }
