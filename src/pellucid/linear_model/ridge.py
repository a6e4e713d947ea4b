"""Ridge regression."""

from typing import Any, Self

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.errors import DataError, ParameterError
from pellucid.linear_model.base import LinearPredictor
from pellucid.linear_model.standardize import penalised_evenly
from pellucid.parameters import (
    Array,
    Boolean,
    Choice,
    Either,
    Integer,
    Nothing,
    RandomState,
    Real,
)
from pellucid.records import Status

# Every solver finds the same optimum; scikit-learn's names are understood.
SOLVERS = ("auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs", "gd")
DESCENT_STEPS = 1000


class Ridge(LinearPredictor):
    """Least squares with small coefficients: b and b0 minimise

        sum_i w_i (y_i - b0 - x_i . b)^2 + alpha |b|^2

    The intercept b0 is never penalised. Solved directly, and refined where columns are nearly
    dependent; tables with more columns than rows are solved in as many unknowns as rows.

    Parameters
    ----------
    alpha : float >= 0, or one per target, default=1.0
        Strength of the penalty; 0 is least squares.
    fit_intercept : bool, default=True
    copy_X : bool, default=True
        Kept for compatibility: X is never changed.
    max_iter : int or None
        Limit for "gd" (None: 1000) and for very wide sparse tables.
    tol : float, default=1e-4
        "gd" stops when the coefficients move less than it; very wide sparse tables are solved to
        a relative accuracy of a millionth of it.
    solver : {"auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs", "gd"}
        All but "gd" name the same direct solution. "gd" is plain gradient descent on half the
        objective, for watching.
    positive : bool, default=False
        Allow no negative coefficient.
    random_state : without effect, no solver draws
    step : float or None, keyword-only
        Step of "gd"; None takes one that cannot overshoot.
    standardize : bool, default=False, keyword-only
        Penalise the coefficients of numbers divided by their deviation (levels stay 0 and 1);
        `coef_` is told in the user's units.
    table : Table, optional

    Attributes
    ----------
    coef_ : (p,), or (targets, p), in the order of `terms_`
    intercept_ : float, or (targets,)
    n_iter_ : 1 for direct solutions
    solver_ : the name of the solver
    history_, status_, n_features_in_, feature_names_in_, schema_

    Examples
    --------
    >>> from pellucid.linear_model import Ridge
    >>> model = Ridge(alpha=5.0).fit([[1.0], [2.0], [3.0], [4.0]], [2.0, 3.0, 5.0, 8.0])
    >>> model.coef_.round(12), round(model.intercept_, 12)
    (array([1.]), 2.0)
    """

    _several_targets = True
    _target = "several"
    _parameters = {
        "alpha": Either(Real(0, None), Array),
        "fit_intercept": Boolean,
        "copy_X": Boolean,
        "max_iter": Either(Nothing, Integer(1)),
        "tol": Real(0, None),
        "solver": Choice(*SOLVERS),
        "positive": Boolean,
        "random_state": RandomState,
        "step": Either(Nothing, Real(0, None, "neither")),
        "standardize": Boolean,
    }

    n_iter_: Any
    solver_: str
    history_: dict[str, np.ndarray]
    status_: Status

    def __init__(
        self,
        alpha: Any = 1.0,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        max_iter: int | None = None,
        tol: float = 1e-4,
        solver: str = "auto",
        positive: bool = False,
        random_state: Any = None,
        step: float | None = None,
        standardize: bool = False,
        table: Any = None,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.solver = solver
        self.positive = positive
        self.random_state = random_state
        self.step = step
        self.standardize = standardize
        self.table = table

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the coefficients."""
        return self._learn(X, y, weights=sample_weight)

    def _fit(self, problem: Problem) -> dict[str, Any]:
        return penalised_evenly(self, bool(np.any(self.alpha)), problem, self._fit_columns)

    def _fit_columns(self, problem: Problem) -> dict[str, Any]:
        from pellucid.linear_model._ridge import solver as solvers

        Y = problem.y.reshape(problem.n, -1)
        alpha = self._strengths(Y.shape[1])
        if self.solver == "gd":
            return self._descend(problem, alpha)
        given = (problem.X, Y, problem.weights, alpha, self.fit_intercept)
        status, n_iter, made = Status("ok", "Solved directly."), 1, None
        work = problem.n * problem.p * min(problem.n, problem.p)
        with parallel.one_blas_thread():
            if self.positive:
                found = solvers.ridge_positive(*given)
                status = Status("ok", "Solved by active sets with coefficients >= 0.")
            elif not isinstance(problem.X, np.ndarray) and work > solvers.DIRECT_WORK:
                found, status, n_iter = solvers.ridge_iterative(*given, self.tol, self.max_iter)
            else:
                made = solvers.make_solver(problem.X, Y, problem.weights, self.fit_intercept)
                found = solvers.ridge(*given, made)
            value = solvers.objective(*given[:4], found, made)
        coef, intercept, means = found
        history = {"iteration": np.array([float(n_iter)]), "objective": np.array([value])}
        return self._finished(coef, intercept, problem.y) | {
            "means_": means,
            "n_iter_": n_iter,
            "solver_": self.solver,
            "history_": history,
            "status_": status,
        }

    def _strengths(self, targets: int) -> np.ndarray:
        alpha = np.asarray(self.alpha, dtype=float).ravel()
        if not (np.isfinite(alpha).all() and (alpha >= 0).all()):
            raise ParameterError(
                "The 'alpha' parameter of Ridge must be >= 0. Got "
                f"{np.asarray(self.alpha).tolist()} instead."
            )
        if alpha.size not in (1, targets):
            raise DataError(
                f"Number of targets and number of penalties do not correspond: {alpha.size} != "
                f"{targets}"
            )
        return np.broadcast_to(alpha, targets).copy()

    def _descend(self, problem: Problem, alpha: np.ndarray) -> dict[str, Any]:
        from pellucid.linear_model._ridge.solver import ridge_descent

        if problem.y.ndim == 2 or self.positive:
            raise ParameterError("solver='gd' takes one target, and not positive=True.")
        steps = self.max_iter or DESCENT_STEPS
        found = ridge_descent(
            problem.X, problem.y, problem.weights, float(alpha[0]), self.fit_intercept, self.tol,
            steps, self.step,
        )  # fmt: skip
        means = problem.table.T @ (problem.weights / problem.weights.sum())
        b0 = found.x[-1:] if self.fit_intercept else np.zeros(1)
        return self._finished(found.x[None, :-1].copy(), b0, problem.y) | {
            "means_": means if self.fit_intercept else np.zeros(problem.p),
            "n_iter_": found.n_iter,
            "solver_": "gd",
            "history_": found.history,
            "status_": found.status,
        }
