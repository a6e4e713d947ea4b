"""Generalised linear models: Poisson, gamma and Tweedie regression, and any family with any link.

Invariant: a class only names its family and link; `_glm/base.py` derives the rest from them.
"""

import numpy as np

from pellucid.linear_model._glm.base import GLMRegressor
from pellucid.linear_model.target_range import BOUND_PREDICTIONS, BOUNDS
from pellucid.numerics.objectives import families
from pellucid.numerics.objectives.links import LINKS
from pellucid.parameters import Choice, Predicate, Real, changed, learned, param

POWER = Predicate(
    lambda value: Real().accepts(value) and not 0 < value < 1,
    "a float outside the open interval (0, 1)",
    "float outside (0, 1)",
)
D2 = {"score_is_the_coefficient_of_determination": "score is D2, as in scikit-learn"}


class PoissonRegressor(GLMRegressor):
    """Poisson regression: b and b0 minimise

        1/N sum_i w_i d(y_i, mu_i) / 2 + alpha/2 |b|^2,     N = sum_i w_i

    with mu = exp(b0 + x . b + offset) and the deviance d = 2 (y log(y / mu) - y + mu) of counts.
    The intercept is never penalised. Newton's method solves the problem to full precision.

    Examples
    --------
    >>> from pellucid.linear_model import PoissonRegressor
    >>> model = PoissonRegressor(alpha=0).fit([[1.0], [2.0], [3.0], [4.0]], [1.0, 2.0, 4.0, 9.0])
    >>> model.coef_.round(6), round(model.intercept_, 6)
    (array([0.747759]), np.float64(-0.808269))
    """

    bound_predictions: bool = BOUND_PREDICTIONS
    bounds_: np.ndarray = learned(BOUNDS)

    _positive_target = True
    _exempt = D2

    def _family(self) -> families.Family:
        return families.POISSON


class GammaRegressor(GLMRegressor):
    """Gamma regression: b and b0 minimise

        1/N sum_i w_i d(y_i, mu_i) / 2 + alpha/2 |b|^2,     N = sum_i w_i

    with mu = exp(b0 + x . b + offset) and d = 2 ((y - mu) / mu - log(y / mu)), for y > 0.
    The intercept is never penalised. Newton's method solves the problem to full precision.

    Examples
    --------
    >>> from pellucid.linear_model import GammaRegressor
    >>> model = GammaRegressor(alpha=0).fit([[1.0], [2.0], [3.0], [4.0]], [1.0, 2.0, 4.0, 9.0])
    >>> model.coef_.round(6), round(model.intercept_, 6)
    (array([0.728685]), np.float64(-0.752028))
    """

    bound_predictions: bool = BOUND_PREDICTIONS
    bounds_: np.ndarray = learned(BOUNDS)

    _positive_target = True
    _exempt = D2

    def _family(self) -> families.Family:
        return families.GAMMA


class TweedieRegressor(GLMRegressor):
    """Tweedie regression: b and b0 minimise

        1/N sum_i w_i d(y_i, mu_i) / 2 + alpha/2 |b|^2,     N = sum_i w_i

    with the deviance d of variance mu^power: 0 is normal, 1 Poisson, 2 gamma, 3 inverse Gaussian.
    The intercept is never penalised. Newton's method solves the problem to full precision.

    Examples
    --------
    >>> from pellucid.linear_model import TweedieRegressor
    >>> X, y = [[1.0], [2.0], [3.0], [4.0]], [1.0, 2.0, 4.0, 9.0]
    >>> model = TweedieRegressor(power=1, alpha=0).fit(X, y)
    >>> model.coef_.round(6), round(model.intercept_, 6)
    (array([0.747759]), np.float64(-0.808269))
    """

    power: float = param(
        0.0,
        POWER,
        "The variance is proportional to mu^power. Values between 1 and 2 suit amounts that can be "
        "exactly 0.",
        before="alpha",
    )
    link: str = param(
        "auto",
        Choice("auto", "identity", "log"),
        "Link function of the mean. 'auto' is the identity for power <= 0, else the logarithm.",
        after="fit_intercept",
    )

    @property
    def _positive_target(self) -> bool:
        return self.power >= 1

    def _family(self) -> families.Family:
        return families.tweedie(float(self.power))

    def _link(self) -> str:
        if self.link != "auto":
            return self.link
        return "identity" if self.power <= 0 else "log"


class GeneralizedLinearModel(GLMRegressor):
    """A generalised linear model: b and b0 minimise

        1/N sum_i w_i d(y_i, mu_i) / 2 + alpha (l1_ratio |b|_1 + (1 - l1_ratio) |b|^2 / 2)

    with N = sum_i w_i, the deviance d of a family, and link(mu) = b0 + x . b + offset.
    The intercept is never penalised. Newton's method solves the problem to full precision.

    Examples
    --------
    >>> from pellucid.linear_model import GeneralizedLinearModel
    >>> X, y = [[1.0], [2.0], [3.0], [4.0]], [1.0, 2.0, 4.0, 9.0]
    >>> model = GeneralizedLinearModel(family="poisson").fit(X, y)
    >>> model.coef_.round(6), round(model.intercept_, 6)
    (array([0.747759]), np.float64(-0.808269))
    """

    family: str = param(
        "normal",
        Choice(*families.FAMILIES),
        "Distribution of y. For 'binomial', y is a share of successes in [0, 1] and its weight is the "
        "number of trials.",
        before="alpha",
    )
    link: str = param(
        "auto",
        Choice("auto", *LINKS),
        "Link function of the mean. 'auto' is the canonical link of the family (the logarithm for "
        "'negative_binomial' and 'tweedie').",
        before="alpha",
    )
    alpha: float = changed(default=0.0)
    power: float = param(
        1.5, POWER, "For the family 'tweedie': the variance is proportional to mu^power."
    )
    dispersion: float = param(
        1.0,
        Real(0, None, "neither"),
        "For the family 'negative_binomial': the variance is mu + dispersion * mu^2.",
    )
    l1_ratio: float = param(
        0.0,
        Real(0, 1, "both"),
        "Share of the L1 penalty, which sets coefficients of useless columns to exactly 0.",
    )

    @property
    def _positive_target(self) -> bool:
        return self.family != "normal"

    def _family(self) -> families.Family:
        if self.family == "tweedie":
            return families.tweedie(float(self.power))
        if self.family == "negative_binomial":
            return families.negative_binomial(float(self.dispersion))
        return families.FAMILIES[self.family]()

    def _link(self) -> str:
        return self._family().canonical if self.link == "auto" else self.link
