"""What `Lasso` and `ElasticNet` share: parameters, and the way from a problem to a fit.

Invariant: both are one objective, the lasso with l1_ratio = 1.
"""

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.errors import ParameterError
from pellucid.linear_model.standardize import penalised_evenly
from pellucid.parameters import (
    Array,
    Boolean,
    Choice,
    Either,
    Ignored,
    Integer,
    Nothing,
    Real,
    param,
)

PRECOMPUTE = param(
    False, Ignored("the solver decides what it computes beforehand.", Either(Boolean, Array))
)
ITERATIONS = param(
    1000,
    Either(Nothing, Integer(1)),
    "Largest number of rounds of active sets and epochs of coordinate descent, or of steps of the "
    "solver 'gd'. None means 1000.",
)
TOL = param(
    1e-4,
    Real(0, None),
    "A duality gap above tol * y'y / N is reported as not converged. The solver 'gd' stops when the "
    "coefficients move less than tol.",
)
POSITIVE = param(False, Boolean, "Whether to allow no negative coefficient.")
SELECTION = param(
    "cyclic", Ignored("the solver chooses the order of the columns.", Choice("cyclic", "random"))
)
SOLVER = param(
    "cd",
    Choice("cd", "gd"),
    "'cd' is coordinate descent; 'gd' is plain proximal gradient descent, which is easy to watch.",
    last=True,
)
COEF = (
    "Coefficients of the encoded columns, shape (n_terms,) or (n_targets, n_terms), in the order of "
    "`terms_`; exactly 0 for the columns that are not used."
)
DUAL_GAP = "Upper bound on how far the objective is above its minimum, for each target."
ROUNDS = "Number of rounds of active sets and epochs of coordinate descent, for each target."
MAX_ITER = 1000


def sparse_rows(coef: np.ndarray) -> Any:
    """Coefficients as a CSR matrix."""
    from scipy.sparse import csr_matrix

    return csr_matrix(np.atleast_2d(coef))


def fit_sparse(model: Any, problem: Problem, l1_ratio: float) -> dict[str, Any]:
    """The learned attributes of a `Lasso` or `ElasticNet`."""
    return penalised_evenly(
        model, model.alpha > 0, problem, lambda seen: _fit_columns(model, seen, l1_ratio)
    )


def _fit_columns(model: Any, problem: Problem, l1_ratio: float) -> dict[str, Any]:
    from pellucid.linear_model._lasso.solver import Net, elastic_net

    if model.solver == "gd":
        return descend(model, problem, float(model.alpha), l1_ratio)
    l1, l2 = model.alpha * l1_ratio, model.alpha * (1 - l1_ratio)
    steps = model.max_iter or MAX_ITER
    net = Net(l1, l2, model.fit_intercept, model.positive, model.tol, steps)
    Y = problem.y.reshape(problem.n, -1)
    start = _last_state(model, Y.shape[1], problem.p)
    with parallel.one_blas_thread():
        found = elastic_net(problem.X, Y, problem.weights, net, start)
    several = problem.y.ndim == 2
    return model._finished(found.coef, found.intercept, problem.y) | {
        "means_": found.means,
        "dual_gap_": found.gap if several else float(found.gap[0]),
        "n_iter_": found.n_iter if several else int(found.n_iter[0]),
        "history_": found.history,
        "status_": found.status,
    }


def _last_state(model: Any, targets: int, p: int) -> np.ndarray | None:
    if not model.warm_start or not model.__sklearn_is_fitted__():
        return None
    last = np.atleast_2d(model.coef_)
    return last if last.shape == (targets, p) else None


def descend(model: Any, problem: Problem, alpha: float, l1_ratio: float) -> dict[str, Any]:
    """Proximal gradient descent in the user's units; the intercept is a column of ones."""
    from pellucid.numerics.objectives.penalties import Penalty
    from pellucid.numerics.optimise import gradient_descent

    if problem.y.ndim == 2 or model.positive:
        raise ParameterError("solver='gd' takes one target, and not positive=True.")
    X = problem.table if isinstance(problem.table, np.ndarray) else problem.table.toarray()
    share = problem.weights / problem.weights.sum()
    A = np.column_stack([X, np.full(len(X), float(model.fit_intercept))])
    step = model.step
    if step is None:
        step = 1.0 / max(float(np.linalg.eigvalsh(A.T @ (A * share[:, None]))[-1]), 1e-300)

    def evaluate(b: np.ndarray) -> tuple[float, np.ndarray]:
        r = A @ b - problem.y
        return 0.5 * float(share @ r**2), A.T @ (share * r)

    strength = np.append(np.full(problem.p, alpha), 0.0)
    found = gradient_descent(
        evaluate, np.zeros(A.shape[1]), step=step, tol=model.tol,
        max_iter=model.max_iter or MAX_ITER, penalty=Penalty(strength, l1_ratio),
    )  # fmt: skip
    b0 = found.x[-1:] if model.fit_intercept else np.zeros(1)
    return model._finished(found.x[None, :-1].copy(), b0, problem.y) | {
        "means_": share @ X if model.fit_intercept else np.zeros(problem.p),
        "dual_gap_": np.nan,
        "n_iter_": found.n_iter,
        "history_": found.history,
        "status_": found.status,
    }
