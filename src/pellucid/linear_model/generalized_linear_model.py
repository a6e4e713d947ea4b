"""Generalised linear models: any family with any link."""

from typing import Any

from pellucid.linear_model._glm.base import PARAMETERS, GLMRegressor
from pellucid.numerics.objectives.families import FAMILIES, Family, negative_binomial, tweedie
from pellucid.numerics.objectives.links import LINKS
from pellucid.parameters import Choice, Real, Test


def _is_power(value: Any) -> bool:
    return Real().accepts(value) and not 0 < value < 1


class GeneralizedLinearModel(GLMRegressor):
    """A generalised linear model: b and b0 minimise

        1/N sum_i w_i d(y_i, mu_i) / 2 + alpha (l1_ratio |b|_1 + (1 - l1_ratio) |b|^2 / 2)

    with N = sum_i w_i, the deviance d of a family, and link(mu) = b0 + x . b + offset.
    The intercept is never penalised. Newton's method to the last digit.

    Parameters
    ----------
    family : {"normal", "poisson", "binomial", "gamma", "inverse_gaussian", "tweedie",
        "negative_binomial"}, default="normal"
        A binomial y is a share of successes in [0, 1]; its weight is the number of trials.
    link : "auto" or one of pellucid.numerics.objectives.links.LINKS, default="auto"
        "auto" is the family's canonical link (the logarithm for negative binomial and Tweedie).
    alpha : float >= 0, default=0.0
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
    power : float outside (0, 1), default=1.5
        Of the Tweedie family.
    dispersion : float > 0, default=1.0
        Of the negative binomial family: the variance is mu + dispersion mu^2.
    l1_ratio : float in [0, 1], default=0.0
        Share of the penalty that is |b|_1, which makes coefficients exactly 0.
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
    >>> from pellucid.linear_model import GeneralizedLinearModel
    >>> X, y = [[1.0], [2.0], [3.0], [4.0]], [1.0, 2.0, 4.0, 9.0]
    >>> model = GeneralizedLinearModel(family="poisson").fit(X, y)
    >>> model.coef_.round(6), round(model.intercept_, 6)
    (array([0.747759]), -0.808269)
    """

    _parameters = PARAMETERS | {
        "family": Choice(*FAMILIES),
        "link": Choice("auto", *LINKS),
        "power": Test(_is_power, "a float outside the open interval (0, 1)"),
        "dispersion": Real(0, None, "neither"),
        "l1_ratio": Real(0, 1, "both"),
    }

    def __init__(
        self,
        *,
        family: str = "normal",
        link: str = "auto",
        alpha: float = 0.0,
        fit_intercept: bool = True,
        solver: str = "auto",
        max_iter: int = 100,
        tol: float = 1e-4,
        warm_start: bool = False,
        verbose: Any = 0,
        power: float = 1.5,
        dispersion: float = 1.0,
        l1_ratio: float = 0.0,
        step: float | None = None,
        standardize: bool = False,
        table: Any = None,
    ) -> None:
        self.family = family
        self.link = link
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.warm_start = warm_start
        self.verbose = verbose
        self.power = power
        self.dispersion = dispersion
        self.l1_ratio = l1_ratio
        self.step = step
        self.standardize = standardize
        self.table = table

    @property
    def _positive_target(self) -> bool:  # type: ignore[override]
        return self.family != "normal"

    def _family(self) -> Family:
        if self.family == "tweedie":
            return tweedie(float(self.power))
        if self.family == "negative_binomial":
            return negative_binomial(float(self.dispersion))
        return FAMILIES[self.family]()

    def _link(self) -> str:
        return self._family().canonical if self.link == "auto" else self.link
