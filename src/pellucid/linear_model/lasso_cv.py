"""The lasso with a penalty chosen by cross validation."""

from typing import Any, Self

import numpy as np

from pellucid.data import Problem
from pellucid.linear_model._lasso.cv_base import PARAMETERS, check_chosen, fit_by_folds
from pellucid.linear_model.base import LinearPredictor
from pellucid.linear_model.paths import enet_path
from pellucid.records import Status


class LassoCV(LinearPredictor):
    """The lasso with the penalty that predicts best: b and b0 minimise

        1/(2N) sum_i w_i (y_i - b0 - x_i . b)^2 + alpha sum_j |b_j|,     N = sum_i w_i

    for the alpha with the smallest mean squared error on left-out rows. Products of columns are made
    once, each fold's are those of all rows less its own; every penalty starts from the last one.

    Parameters
    ----------
    eps : float > 0, default=1e-3
        The smallest penalty tried, as a share of the largest.
    alphas : int or array of floats >= 0, default=100
        How many penalties to try, evenly spaced in logarithm from the smallest that leaves no
        column; or the penalties themselves.
    fit_intercept : bool, default=True
    max_iter : int, default=1000
        Most epochs of coordinate descent for one penalty.
    tol : float, default=1e-4
        A duality gap above tol * y'y / N of the last fit is reported.
    cv : None, int, splitter, or (train, test) row numbers
        None is 5; an int is a number of contiguous folds.
    n_jobs : int or None
        Folds at the same time; results do not depend on it.
    positive : bool, default=False
        Allow no negative coefficient.
    precompute, copy_X, verbose, random_state, selection : without effect
    solver : {"cd", "gd"}, default="cd", keyword-only
        "gd" makes the fit on all rows by plain proximal gradient descent, for watching; `max_iter`
        and `tol` are then those of its steps.
    step : float or None, keyword-only
        Step of "gd"; None takes one that cannot overshoot.
    standardize : bool, default=False, keyword-only
        Penalise the coefficients of numbers divided by their deviation in all rows (levels stay 0
        and 1); `coef_` is told in the user's units.
    table : Table, optional

    Attributes
    ----------
    alpha_ : the chosen penalty
    alphas_ : penalties tried, falling
    mse_path_ : mean squared errors on left-out rows, (alphas, folds)
    coef_ : (p,), in the order of `terms_`; exactly 0 outside the support
    intercept_, dual_gap_, n_iter_, history_, status_ : of the last fit, on all rows
    n_features_in_, feature_names_in_, schema_

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid.linear_model import LassoCV
    >>> X = np.random.default_rng(0).normal(size=(60, 8))
    >>> y = 3 * X[:, 2] + np.random.default_rng(1).normal(size=60)
    >>> int(np.abs(LassoCV().fit(X, y).coef_).argmax())
    2
    """

    _min_rows = 2
    # A short path shows all that the checks look for.
    _check_params = {"alphas": 8}
    _exempt = {
        "order_of_rows_does_not_matter": "folds are contiguous, as in scikit-learn: they follow it"
    }
    _parameters = PARAMETERS

    alpha_: float
    l1_ratio_: float
    mse_path_: np.ndarray
    dual_gap_: float
    n_iter_: int
    status_: Status

    path = staticmethod(enet_path)

    def __init__(
        self,
        *,
        eps: float = 1e-3,
        alphas: Any = 100,
        fit_intercept: bool = True,
        precompute: Any = "auto",
        max_iter: int = 1000,
        tol: float = 1e-4,
        copy_X: bool = True,
        cv: Any = None,
        verbose: Any = False,
        n_jobs: int | None = None,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
        solver: str = "cd",
        step: float | None = None,
        standardize: bool = False,
        table: Any = None,
    ) -> None:
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.tol = tol
        self.copy_X = copy_X
        self.cv = cv
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.positive = positive
        self.random_state = random_state
        self.selection = selection
        self.solver = solver
        self.step = step
        self.standardize = standardize
        self.table = table

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose the penalty by folds, then find the coefficients on all rows."""
        return self._learn(X, y, weights=sample_weight)

    def _fit(self, problem: Problem) -> dict[str, Any]:
        return fit_by_folds(self, problem, [1.0])

    def _check_state(self) -> None:
        super()._check_state()
        check_chosen(self)
