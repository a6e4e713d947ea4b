"""Tweedie regression: the variance is a power of the mean."""

from typing import Any

from pellucid.linear_model._glm.base import PARAMETERS, GLMRegressor
from pellucid.numerics.objectives.families import Family, tweedie
from pellucid.parameters import Choice, Real, Test


def _is_power(value: Any) -> bool:
    return Real().accepts(value) and not 0 < value < 1


class TweedieRegressor(GLMRegressor):
    """Tweedie regression: b and b0 minimise

        1/N sum_i w_i d(y_i, mu_i) / 2 + alpha/2 |b|^2,     N = sum_i w_i

    with the deviance d of variance mu^power: 0 is normal, 1 Poisson, 2 gamma, 3 inverse Gaussian.
    The intercept is never penalised. Newton's method to the last digit.

    Parameters
    ----------
    power : float outside (0, 1), default=0.0
        The variance is proportional to mu^power; between 1 and 2 for amounts with exact zeros.
    alpha : float >= 0, default=1.0
        Strength of the penalty; 0 gives the most likely coefficients, and `summary()`.
    fit_intercept : bool, default=True
    link : {"auto", "identity", "log"}, default="auto"
        "auto" is the identity for power <= 0, else the logarithm.
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
    table : Table, optional

    Attributes
    ----------
    coef_ : (p,), in the order of `terms_`
    intercept_ : float
    n_iter_, history_, status_, n_features_in_, feature_names_in_, schema_

    Examples
    --------
    >>> from pellucid.linear_model import TweedieRegressor
    >>> X, y = [[1.0], [2.0], [3.0], [4.0]], [1.0, 2.0, 4.0, 9.0]
    >>> model = TweedieRegressor(power=1, alpha=0).fit(X, y)
    >>> model.coef_.round(6), round(model.intercept_, 6)
    (array([0.747759]), -0.808269)
    """

    _parameters = PARAMETERS | {
        "power": Test(_is_power, "a float outside the open interval (0, 1)"),
        "link": Choice("auto", "identity", "log"),
    }

    def __init__(
        self,
        *,
        power: float = 0.0,
        alpha: float = 1.0,
        fit_intercept: bool = True,
        link: str = "auto",
        solver: str = "auto",
        max_iter: int = 100,
        tol: float = 1e-4,
        warm_start: bool = False,
        verbose: Any = 0,
        step: float | None = None,
        standardize: bool = False,
        table: Any = None,
    ) -> None:
        self.power = power
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.link = link
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.verbose = verbose
        self.step = step
        self.standardize = standardize
        self.table = table

    @property
    def _positive_target(self) -> bool:  # type: ignore[override]
        return self.power >= 1

    def _family(self) -> Family:
        return tweedie(float(self.power))

    def _link(self) -> str:
        if self.link != "auto":
            return self.link
        return "identity" if self.power <= 0 else "log"
