"""The elastic net with penalties chosen by cross validation."""

from typing import Any, Self

import numpy as np

from pellucid.data import Problem
from pellucid.errors import ParameterError
from pellucid.linear_model._lasso.cv_base import PARAMETERS, check_chosen, fit_by_folds
from pellucid.linear_model.base import LinearPredictor
from pellucid.linear_model.paths import enet_path
from pellucid.parameters import Array, Either, Real
from pellucid.records import Status


class ElasticNetCV(LinearPredictor):
    """The elastic net with the penalties that predict best: b and b0 minimise

        1/(2N) sum_i w_i (y_i - b0 - x_i . b)^2 + alpha (r |b|_1 + (1 - r) |b|^2 / 2)

    with N = sum_i w_i, for the alpha and l1_ratio r with the smallest mean squared error on left-out
    rows. Products of columns are made once for all; every penalty starts from the last one.

    Parameters
    ----------
    l1_ratio : float in [0, 1], or array of them, default=0.5
        Share of the penalty that is L1; of several the best is chosen.
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
    alpha_ : the chosen penalty; l1_ratio_ : the chosen share
    alphas_ : penalties tried, falling, a row for each of several l1_ratio
    mse_path_ : mean squared errors on left-out rows, (alphas, folds), or (l1_ratios, alphas, folds)
    coef_ : (p,), in the order of `terms_`; exactly 0 outside the support
    intercept_, dual_gap_, n_iter_, history_, status_ : of the last fit, on all rows
    n_features_in_, feature_names_in_, schema_

    Examples
    --------
    >>> import numpy as np
    >>> from pellucid.linear_model import ElasticNetCV
    >>> X = np.random.default_rng(0).normal(size=(60, 8))
    >>> y = 3 * X[:, 2] + np.random.default_rng(1).normal(size=60)
    >>> model = ElasticNetCV(l1_ratio=[0.1, 0.9]).fit(X, y)
    >>> model.l1_ratio_
    0.9
    """

    _min_rows = 2
    # A short path shows all that the checks look for.
    _check_params = {"alphas": 8}
    _exempt = {
        "order_of_rows_does_not_matter": "folds are contiguous, as in scikit-learn: they follow it"
    }
    _parameters = PARAMETERS | {"l1_ratio": Either(Real(0, 1, "both"), Array)}

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
        l1_ratio: Any = 0.5,
        eps: float = 1e-3,
        alphas: Any = 100,
        fit_intercept: bool = True,
        precompute: Any = "auto",
        max_iter: int = 1000,
        tol: float = 1e-4,
        cv: Any = None,
        copy_X: bool = True,
        verbose: Any = 0,
        n_jobs: int | None = None,
        positive: bool = False,
        random_state: Any = None,
        selection: str = "cyclic",
        solver: str = "cd",
        step: float | None = None,
        standardize: bool = False,
        table: Any = None,
    ) -> None:
        self.l1_ratio = l1_ratio
        self.eps = eps
        self.alphas = alphas
        self.fit_intercept = fit_intercept
        self.precompute = precompute
        self.max_iter = max_iter
        self.tol = tol
        self.cv = cv
        self.copy_X = copy_X
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
        return fit_by_folds(self, problem, self._ratios())

    def _check_state(self) -> None:
        super()._check_state()
        check_chosen(self)

    def _ratios(self) -> list[float]:
        ratios = np.asarray(self.l1_ratio, dtype=float).ravel()
        if not len(ratios) or not ((ratios >= 0) & (ratios <= 1)).all():
            raise ParameterError(
                "The 'l1_ratio' parameter of ElasticNetCV must be in the range [0, 1]. Got "
                f"{np.asarray(self.l1_ratio).tolist()} instead."
            )
        return ratios.tolist()
