"""The elastic net: the lasso and ridge regression in one."""

from typing import Any, Self

import numpy as np

from pellucid.data import Problem
from pellucid.linear_model._lasso.base import (
    COEF,
    DUAL_GAP,
    ITERATIONS,
    POSITIVE,
    PRECOMPUTE,
    ROUNDS,
    SELECTION,
    SOLVER,
    TOL,
    fit_sparse,
    sparse_rows,
)
from pellucid.linear_model.base import LinearPredictor
from pellucid.linear_model.paths import enet_path
from pellucid.parameters import (
    COPY_X,
    FIT_INTERCEPT,
    HISTORY,
    NO_RANDOM_STATE,
    STANDARDIZE,
    STATUS,
    STEP,
    WARM_START,
    Real,
    learned,
    param,
    positional,
)
from pellucid.records import Status


class ElasticNet(LinearPredictor):
    """Least squares with few and small coefficients: b and b0 minimise

        1/(2N) sum_i w_i (y_i - b0 - x_i . b)^2
            + alpha (l1_ratio sum_j |b_j| + (1 - l1_ratio)/2 sum_j b_j^2),     N = sum_i w_i

    The intercept b0 is never penalised. Found by coordinate descent on working sets, then solved
    exactly for the columns that remain; the duality gap proves how near the optimum is.

    Examples
    --------
    >>> from pellucid.linear_model import ElasticNet
    >>> X, y = [[1.0, 0.0], [2.0, 1.0], [3.0, 1.0], [4.0, 0.0]], [2.0, 3.0, 5.0, 8.0]
    >>> ElasticNet(alpha=0.5, l1_ratio=0.5).fit(X, y).coef_.round(6)
    array([1.5, 0. ])
    """

    alpha: float = positional(
        default=1.0,
        check=Real(0, None),
        description="Strength of the penalty; 0 is ordinary least squares.",
        kw_only=False,
    )
    l1_ratio: float = param(
        0.5, Real(0, 1, "both"), "Share of the L1 penalty: 1 is the lasso, 0 is ridge regression."
    )
    fit_intercept: bool = FIT_INTERCEPT
    precompute: Any = PRECOMPUTE
    max_iter: int | None = ITERATIONS
    copy_X: bool = COPY_X
    tol: float = TOL
    warm_start: bool = WARM_START
    positive: bool = POSITIVE
    random_state: Any = NO_RANDOM_STATE
    selection: str = SELECTION
    solver: str = SOLVER
    step: float | None = STEP
    standardize: bool = STANDARDIZE

    coef_: np.ndarray = learned(COEF)
    dual_gap_: Any = learned(DUAL_GAP)
    n_iter_: Any = learned(ROUNDS)
    history_: dict[str, np.ndarray] = learned(HISTORY)
    status_: Status = learned(STATUS)

    _several_targets = True
    _target = "several"

    path = staticmethod(enet_path)

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
