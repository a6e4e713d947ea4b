"""Bayesian linear regression with known variances: the posterior in closed form."""

from typing import Any, Self

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.errors import DataError
from pellucid.linear_model._ridge.base import BayesianPredictor, dense, squared_length
from pellucid.parameters import Boolean, Real
from pellucid.records import Status


class BayesianRegression(BayesianPredictor):
    """Linear regression with known noise and prior variances: the posterior of (b, b0) is normal,
    its mean minimises

        sum_i w_i (y_i - b0 - x_i . b)^2 / noise_variance + |b|^2 / prior_variance
            + b0^2 / intercept_variance

    and its covariance is the inverse of the curvature.

    Parameters
    ----------
    noise_variance : float > 0, default=1.0
        Of y around its mean; a weight k counts as k rows with that variance.
    prior_variance : float > 0, default=1.0
        Of each coefficient around 0, before the data are seen; inf is a flat prior.
    fit_intercept : bool, default=True
    intercept_variance : float > 0, default=inf
        Prior variance of the intercept; the default leaves it free, as in `Ridge`.
    table : Table, optional

    Attributes
    ----------
    coef_ : (p,), in the order of `terms_`, the posterior mean; intercept_
    covariance_ : (p + 1, p + 1), of the posterior of (coef_, intercept_)
    status_, n_features_in_, feature_names_in_, schema_

    Examples
    --------
    >>> from pellucid.linear_model import BayesianRegression
    >>> X, y = [[1.0], [2.0], [3.0], [4.0]], [2.0, 3.0, 5.0, 8.0]
    >>> model = BayesianRegression(
    ...     noise_variance=2.0, prior_variance=10.0, intercept_variance=10.0
    ... ).fit(X, y)
    >>> model.coef_.round(6), round(model.intercept_, 6)
    (array([1.900149]), -0.23845)
    """

    _parameters = {
        "noise_variance": Real(0, None, "neither"),
        "prior_variance": Real(0, None, "right"),
        "fit_intercept": Boolean,
        "intercept_variance": Real(0, None, "right"),
    }

    covariance_: np.ndarray
    root_: np.ndarray
    status_: Status

    def __init__(
        self,
        noise_variance: float = 1.0,
        prior_variance: float = 1.0,
        *,
        fit_intercept: bool = True,
        intercept_variance: float = np.inf,
        table: Any = None,
    ) -> None:
        self.noise_variance = noise_variance
        self.prior_variance = prior_variance
        self.fit_intercept = fit_intercept
        self.intercept_variance = intercept_variance
        self.table = table

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the posterior of the coefficients."""
        return self._learn(X, y, weights=sample_weight)

    def _fit(self, problem: Problem) -> dict[str, Any]:
        from pellucid.linear_model._ridge.posterior import Variances, known_variances

        with parallel.one_blas_thread(), np.errstate(all="ignore"):
            free = float(self.intercept_variance) if self.fit_intercept else None
            known = Variances(float(self.noise_variance), float(self.prior_variance), free)
            found = known_variances(problem.X, problem.y, problem.weights, known)
        if not np.isfinite(found.covariance).all():
            raise DataError(
                "The posterior has no finite variance: with a flat prior (variance inf) the columns "
                "must not be combinations of each other, and squares of columns must fit a float. "
                "Give a finite prior_variance, or bring the columns to ordinary units."
            )
        return self._finished(found.coef[None], np.array([found.intercept]), problem.y) | {
            "means_": found.mean, "covariance_": found.covariance, "root_": found.root,
            "status_": Status("ok", "The posterior was found directly."),
        }  # fmt: skip

    def _variances(self, X: Any) -> tuple[np.ndarray, float]:
        rows = dense(X) - self.means_
        if self.fit_intercept:
            rows = np.column_stack([rows, np.ones(len(rows))])
        return squared_length(rows, self.root_), float(self.noise_variance)

    def _deviations(self) -> np.ndarray:
        return np.sqrt(np.maximum(np.diagonal(self.covariance_), 0.0))

    def _strengths_shown(self) -> dict[str, Any]:
        return {
            "noise variance": float(self.noise_variance),
            "prior variance": float(self.prior_variance),
        }

    def _check_state(self) -> None:
        from pellucid.persist.fitted_state import expect_array, n_terms

        super()._check_state()
        p = n_terms(self)
        expect_array(self, "coef_", p, finite=True)
        expect_array(self, "covariance_", p + 1, p + 1, finite=True)
        expect_array(self, "root_", *[p + bool(self.fit_intercept)] * 2, finite=True)
