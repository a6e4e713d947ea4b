"""Plain gradient descent on squared errors, on the original scale: the solver "gd", for watching."""

from collections.abc import Callable
from typing import Any

import numpy as np

from pellucid.data import Problem
from pellucid.errors import ParameterError
from pellucid.numerics.optimise import gradient_descent
from pellucid.numerics.row_blocks import as_dense

MAX_ITER = 1000


def descend_squares(
    model: Any, problem: Problem, weights: np.ndarray, means: np.ndarray, alpha: float, penalty: Any,
    evaluate: Callable[[np.ndarray, np.ndarray], tuple[float, np.ndarray]],
) -> dict[str, Any]:  # fmt: skip
    """The learned attributes of a model that descends from 0.

    `evaluate` takes the table with a column for the intercept and b (p + 1,), the intercept last, and
    returns objective and gradient without `penalty`; `alpha` is added to the curvature of the squares.
    `means` are those of the columns.
    """
    if problem.y.ndim == 2 or model.positive:
        raise ParameterError(
            "solver='gd' supports one target and no positive=True. Use another solver."
        )
    X = as_dense(problem.table)
    A = np.column_stack([X, np.full(len(X), float(model.fit_intercept))])
    step = model.step
    if step is None:
        gram = A.T @ (A * weights[:, None])
        step = 1.0 / max(float(np.linalg.eigvalsh(gram)[-1]) + alpha, 1e-300)
    found = gradient_descent(
        lambda b: evaluate(A, b), np.zeros(A.shape[1]), step=step, tol=model.tol,
        max_iter=model.max_iter or MAX_ITER, penalty=penalty,
    )  # fmt: skip
    b0 = found.x[-1:] if model.fit_intercept else np.zeros(1)
    return model._finished(found.x[None, :-1].copy(), b0, problem.y) | {
        "means_": means if model.fit_intercept else np.zeros(problem.p),
        "n_iter_": found.n_iter,
        "history_": found.history,
        "status_": found.status,
    }
