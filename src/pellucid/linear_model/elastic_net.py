"""The elastic net: the lasso and ridge regression in one."""

from typing import Any, Self

import numpy as np

from pellucid.data import Problem
from pellucid.linear_model._lasso.base import PARAMETERS, fit_sparse, sparse_rows
from pellucid.linear_model.base import LinearPredictor
from pellucid.linear_model.paths import enet_path
from pellucid.parameters import Real
from pellucid.records import Status


class ElasticNet(LinearPredictor):
    """Least squares with few and small coefficients: b and b0 minimise

        1/(2N) sum_i w_i (y_i - b0 - x_i . b)^2
            + alpha (l1_ratio sum_j |b_j| + (1 - l1_ratio)/2 sum_j b_j^2),     N = sum_i w_i

    The intercept b0 is never penalised. Found by coordinate descent on working sets, then solved
    exactly for the columns that remain; the duality gap proves how near the optimum is.

    Parameters
    ----------
    alpha : float >= 0, default=1.0
        Strength of the penalty; 0 is least squares.
    l1_ratio : float in [0, 1], default=0.5
        1 is the lasso, 0 is ridge regression.
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
    >>> from pellucid.linear_model import ElasticNet
    >>> X, y = [[1.0, 0.0], [2.0, 1.0], [3.0, 1.0], [4.0, 0.0]], [2.0, 3.0, 5.0, 8.0]
    >>> ElasticNet(alpha=0.5, l1_ratio=0.5).fit(X, y).coef_.round(6)
    array([1.5, 0. ])
    """

    _several_targets = True
    _target = "several"
    _parameters = PARAMETERS | {"l1_ratio": Real(0, 1, "both")}

    dual_gap_: Any
    n_iter_: Any
    history_: dict[str, np.ndarray]
    status_: Status

    path = staticmethod(enet_path)

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
        precompute: Any = False,
        max_iter: int | None = 1000,
        copy_X: bool = True,
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
        self.l1_ratio = l1_ratio
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.copy_X = copy_X
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
        return fit_sparse(self, problem, self.l1_ratio)

    @property
    def sparse_coef_(self) -> Any:
        """`coef_` as a CSR matrix."""
        self._check_fitted()
        return sparse_rows(self.coef_)
