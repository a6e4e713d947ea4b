"""The lasso: least squares that sets most coefficients to exactly 0."""

from typing import Any, Self

import numpy as np

from pellucid.data import Problem
from pellucid.linear_model._lasso.base import PARAMETERS, fit_sparse, sparse_rows
from pellucid.linear_model.base import LinearPredictor
from pellucid.linear_model.paths import enet_path
from pellucid.records import Status


class Lasso(LinearPredictor):
    """Least squares from few columns: b and b0 minimise

        1/(2N) sum_i w_i (y_i - b0 - x_i . b)^2 + alpha sum_j |b_j|,     N = sum_i w_i

    The intercept b0 is never penalised. Found by coordinate descent on working sets, then solved
    exactly for the columns that remain; the duality gap proves how near the optimum is.

    Parameters
    ----------
    alpha : float >= 0, default=1.0
        Strength of the penalty; 0 is least squares.
    fit_intercept : bool, default=True
    precompute, copy_X, random_state, selection : without effect; kept for compatibility
    max_iter : int or None, default=1000
        Most rounds of active sets and epochs of coordinate descent (or steps of "gd").
    tol : float, default=1e-4
        A gap above tol * y'y / N is reported; "gd" stops when coefficients move less than tol.
    warm_start : bool, default=False
        Start from the coefficients of the last fit.
    positive : bool, default=False
        Allow no negative coefficient.
    solver : {"cd", "gd"}, default="cd", keyword-only
        "gd" is plain proximal gradient descent, for watching.
    step : float or None, keyword-only
        Step of "gd"; None takes one that cannot overshoot.
    standardize : bool, default=False, keyword-only
        Penalise the coefficients of numbers divided by their deviation (levels stay 0 and 1);
        `coef_` is told in the user's units.
    table : Table, optional

    Attributes
    ----------
    coef_ : (p,), or (targets, p), in the order of `terms_`; exactly 0 outside the support
    intercept_ : float, or (targets,)
    dual_gap_ : by how much the objective can be above its minimum
    n_iter_ : rounds of active sets and epochs of coordinate descent
    sparse_coef_ : `coef_` as a sparse matrix
    history_, status_, n_features_in_, feature_names_in_, schema_

    Examples
    --------
    >>> from pellucid.linear_model import Lasso
    >>> model = Lasso(alpha=0.25).fit([[1.0], [2.0], [3.0], [4.0]], [2.0, 3.0, 5.0, 8.0])
    >>> model.coef_.round(12), round(model.intercept_, 12)
    (array([1.8]), 0.0)
    """

    _several_targets = True
    _target = "several"
    _parameters = PARAMETERS

    dual_gap_: Any
    n_iter_: Any
    history_: dict[str, np.ndarray]
    status_: Status

    path = staticmethod(enet_path)

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        fit_intercept: bool = True,
        precompute: Any = False,
        copy_X: bool = True,
        max_iter: int | None = 1000,
        tol: float = 1e-4,
        warm_start: bool = False,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
        solver: str = "cd",
        step: float | None = None,
        standardize: bool = False,
        table: Any = None,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.copy_X = copy_X
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.solver = solver
        self.step = step
        self.standardize = standardize
        self.table = table

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the coefficients."""
        return self._learn(X, y, weights=sample_weight)

    def _fit(self, problem: Problem) -> dict[str, Any]:
        return fit_sparse(self, problem, 1.0)

    @property
    def sparse_coef_(self) -> Any:
        """`coef_` as a CSR matrix."""
        self._check_fitted()
        return sparse_rows(self.coef_)
