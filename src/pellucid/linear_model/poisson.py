"""Poisson regression: counts whose mean is an exponential of a weighted sum."""

from typing import Any

from pellucid.linear_model._glm.base import PARAMETERS, GLMRegressor
from pellucid.numerics.objectives.families import POISSON, Family
from pellucid.parameters import Boolean


class PoissonRegressor(GLMRegressor):
    """Poisson regression: b and b0 minimise

        1/N sum_i w_i d(y_i, mu_i) / 2 + alpha/2 |b|^2,     N = sum_i w_i

    with mu = exp(b0 + x . b + offset) and the deviance d = 2 (y log(y / mu) - y + mu) of counts.
    The intercept is never penalised. Newton's method to the last digit.

    Parameters
    ----------
    alpha : float >= 0, default=1.0
        Strength of the penalty; 0 gives the most likely coefficients, and `summary()`.
    fit_intercept : bool, default=True
    solver : {"auto", "newton", "newton-cholesky", "lbfgs", "gd"}, default="auto"
        All but "gd" find the same optimum: by Newton's method, or L-BFGS for more than 1000
        columns. "gd" is plain gradient descent from 0, for watching.
    max_iter : int, default=100
    tol : float, default=1e-4
        L-BFGS stops when no slope of the mean objective exceeds it, "gd" when the coefficients
        move less than it; Newton's method always goes to the last digit.
    warm_start : bool, default=False
        Start from the coefficients of the last fit.
    verbose : without effect; see `pellucid.watching`
    step : float or None, keyword-only
        Step of "gd" along the gradient of the mean objective; None takes half of 1 / curvature
        at the start.
    standardize : bool, default=False, keyword-only
        Penalise the coefficients of numbers divided by their deviation (levels stay 0 and 1);
        `coef_` is told in the user's units.
    bound_predictions : bool, default=False, keyword-only
        Keep predictions within the range of y (of y / exposure) on the training rows, because an
        exponential of a row far outside the training table can be of any size. `explain` has the
        difference as a part "(bound)"; `linear_predictor` and intervals stay as they are.
    table : Table, optional

    Attributes
    ----------
    coef_ : (p,), in the order of `terms_`
    intercept_ : float
    bounds_ : (2,), smallest and largest prediction; with bound_predictions only
    n_iter_, history_, status_, n_features_in_, feature_names_in_, schema_

    Examples
    --------
    >>> from pellucid.linear_model import PoissonRegressor
    >>> model = PoissonRegressor(alpha=0).fit([[1.0], [2.0], [3.0], [4.0]], [1.0, 2.0, 4.0, 9.0])
    >>> model.coef_.round(6), round(model.intercept_, 6)
    (array([0.747759]), -0.808269)
    """

    _positive_target = True
    _exempt = {"score_is_the_coefficient_of_determination": "score is D2, as in scikit-learn"}
    _parameters = PARAMETERS | {"bound_predictions": Boolean}

    def __init__(
        self,
        *,
        alpha: float = 1.0,
        fit_intercept: bool = True,
        solver: str = "auto",
        max_iter: int = 100,
        tol: float = 1e-4,
        warm_start: bool = False,
        verbose: Any = 0,
        step: float | None = None,
        standardize: bool = False,
        bound_predictions: bool = False,
        table: Any = None,
    ) -> None:
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.verbose = verbose
        self.step = step
        self.standardize = standardize
        self.bound_predictions = bound_predictions
        self.table = table

    def _family(self) -> Family:
        return POISSON

    def _link(self) -> str:
        return "log"
