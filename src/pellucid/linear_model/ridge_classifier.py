"""The least-squares classifier."""

from typing import Any, Self

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.data.class_weights import class_weighted
from pellucid.linear_model.linear_classifier import LinearClassifier
from pellucid.linear_model.standardize import penalised_evenly
from pellucid.parameters import (
    Boolean,
    Choice,
    ClassWeight,
    Either,
    Integer,
    Nothing,
    RandomState,
    Real,
)
from pellucid.records import Status

SOLVERS = ("auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga", "lbfgs")


class RidgeClassifier(LinearClassifier):
    """Least squares on the classes: for each class c, b and b0 minimise

        sum_i w_i (y_ic - b0 - x_i . b)^2 + alpha |b|^2,    y_ic = 1 if row i is of class c, else -1

    and a row belongs to the class of the largest value. Fast and exact, but rows far on the right
    side pull the plane as much as rows on the wrong one.

    Parameters
    ----------
    alpha : float >= 0, default=1.0
        Strength of the penalty; 0 is least squares.
    fit_intercept : bool, default=True
    copy_X : bool, default=True
        Kept for compatibility: X is never changed.
    max_iter : int or None
        Limit for very wide sparse tables.
    tol : float, default=1e-4
        Very wide sparse tables are solved to a relative accuracy of a millionth of it.
    class_weight : dict {label: weight}, "balanced" or None
    solver : scikit-learn's names; all find the same optimum, directly
    positive : bool, default=False
        Allow no negative coefficient.
    random_state : without effect, no solver draws
    standardize : bool, default=False, keyword-only
        Penalise the coefficients of numbers divided by their deviation (levels stay 0 and 1);
        `coef_` is told in the user's units.
    table : Table, optional

    Attributes
    ----------
    coef_ : (1, terms), or (classes, terms), in the order of `terms_`; intercept_
    n_iter_, solver_, status_, history_, classes_
    n_features_in_, feature_names_in_, schema_

    Examples
    --------
    >>> from pellucid.linear_model import RidgeClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["no", "no", "yes", "yes"]
    >>> RidgeClassifier().fit(X, y).predict([[0.5], [2.5]]).tolist()
    ['no', 'yes']
    """

    _parameters = {
        "alpha": Real(0, None),
        "fit_intercept": Boolean,
        "copy_X": Boolean,
        "max_iter": Either(Nothing, Integer(1)),
        "tol": Real(0, None),
        "class_weight": ClassWeight,
        "solver": Choice(*SOLVERS),
        "positive": Boolean,
        "random_state": RandomState,
        "standardize": Boolean,
    }

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        fit_intercept: bool = True,
        copy_X: bool = True,
        max_iter: int | None = None,
        tol: float = 1e-4,
        class_weight: Any = None,
        solver: str = "auto",
        positive: bool = False,
        random_state: Any = None,
        standardize: bool = False,
        table: Any = None,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.class_weight = class_weight
        self.solver = solver
        self.positive = positive
        self.random_state = random_state
        self.standardize = standardize
        self.table = table

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the coefficients."""
        return self._learn(X, y, weights=sample_weight)

    def _fit(self, problem: Problem) -> dict[str, Any]:
        return penalised_evenly(self, self.alpha > 0, problem, self._fit_columns)

    def _fit_columns(self, problem: Problem) -> dict[str, Any]:
        from pellucid.linear_model._ridge import solver as solvers
        from pellucid.linear_model.base import check_size

        assert problem.classes is not None
        K = len(problem.classes)
        Y = np.where(problem.y[:, None] == np.arange(K), 1.0, -1.0)
        Y = Y[:, 1:] if K == 2 else Y
        weights = class_weighted(self.class_weight, problem)
        alpha = np.full(Y.shape[1], float(self.alpha))
        given = (problem.X, np.ascontiguousarray(Y), weights, alpha, self.fit_intercept)
        status, n_iter = Status("ok", "Solved directly."), 1
        work = problem.n * problem.p * min(problem.n, problem.p)
        with parallel.one_blas_thread():
            if self.positive:
                found = solvers.ridge_positive(*given)
            elif not isinstance(problem.X, np.ndarray) and work > solvers.DIRECT_WORK:
                found, status, n_iter = solvers.ridge_iterative(*given, self.tol, self.max_iter)
            else:
                found = solvers.ridge(*given)
            value = solvers.objective(*given[:4], found)
        coef, intercept, means = found
        check_size(coef, intercept)
        return {
            "coef_": coef,
            "intercept_": intercept,
            "means_": means,
            "n_iter_": np.full(len(coef), n_iter, dtype=np.int32),
            "solver_": self.solver,
            "status_": status,
            "history_": {"iteration": np.array([float(n_iter)]), "objective": np.array([value])},
        }
