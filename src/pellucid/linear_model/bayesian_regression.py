"""Bayesian linear regression with known variances: the posterior in closed form."""

from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.errors import DataError
from pellucid.linear_model._ridge.bayesian_base import BayesianPredictor, squared_length
from pellucid.linear_model.base import check_size
from pellucid.numerics.row_blocks import as_dense
from pellucid.parameters import Real, learned, param, positional
from pellucid.persist.fitted_state import expect_array, n_terms
from pellucid.records import Recorder, Status, is_watched


class BayesianRegression(BayesianPredictor):
    """Linear regression with known noise and prior variances: the posterior of (b, b0) is normal,
    its mean minimises

        sum_i w_i (y_i - b0 - x_i . b)^2 / noise_variance + |b|^2 / prior_variance
            + b0^2 / intercept_variance

    and its covariance is the inverse of the curvature.

    Examples
    --------
    >>> from pellucid.linear_model import BayesianRegression
    >>> X, y = [[1.0], [2.0], [3.0], [4.0]], [2.0, 3.0, 5.0, 8.0]
    >>> model = BayesianRegression(
    ...     noise_variance=2.0, prior_variance=10.0, intercept_variance=10.0
    ... ).fit(X, y)
    >>> model.coef_.round(6), round(model.intercept_, 6)
    (array([1.900149]), np.float64(-0.23845))
    """

    noise_variance: float = positional(
        default=1.0,
        check=Real(0, None, "neither"),
        description="Variance of y around its mean. A row of weight k counts as k rows with that "
        "variance.",
        kw_only=False,
    )
    prior_variance: float = positional(
        default=1.0,
        check=Real(0, None, "right"),
        description="Prior variance of each coefficient around 0; `np.inf` is a flat prior.",
        kw_only=False,
    )
    intercept_variance: float = param(
        np.inf,
        Real(0, None, "right"),
        "Prior variance of the intercept around 0; `np.inf` leaves it free, as in ridge regression.",
    )

    covariance_: np.ndarray = learned(
        "Posterior covariance of (coef_, intercept_), shape (n_terms + 1, n_terms + 1)."
    )
    root_: np.ndarray = learned(
        "Matrix R for which R @ R.T is the posterior covariance of the coefficients and, with an "
        "intercept, of the prediction at `means_`."
    )

    _shares_rows = True

    def _fit(self, problem: Problem) -> dict[str, Any]:
        from pellucid.linear_model._ridge.posterior import Variances, known_variances

        with parallel.one_blas_thread(), np.errstate(all="ignore"):
            free = float(self.intercept_variance) if self.fit_intercept else None
            known = Variances(float(self.noise_variance), float(self.prior_variance), free)
            if is_watched():
                _record_arriving_rows(problem, known)
            found = known_variances(problem.X, problem.y, problem.weights, known)
        if not np.isfinite(found.covariance).all():
            raise DataError(
                "The posterior has no finite variance: with a flat prior (variance inf), columns must "
                "not be combinations of each other, and their squares must not overflow. Use a "
                "finite prior_variance, or rescale the columns."
            )
        check_size(found.coef, np.array(found.intercept))
        return _named(found) | {"status_": Status("ok", "The posterior was found directly.")}

    def _variances(self, X: Any) -> tuple[np.ndarray, float]:
        rows = as_dense(X) - self.means_
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
        super()._check_state()
        p = n_terms(self)
        expect_array(self, "covariance_", p + 1, p + 1, finite=True)
        expect_array(self, "root_", *[p + bool(self.fit_intercept)] * 2, finite=True)


def _named(found: Any) -> dict[str, Any]:
    """A posterior as learned attributes."""
    return {
        "coef_": found.coef, "intercept_": float(found.intercept), "means_": found.mean,
        "covariance_": found.covariance, "root_": found.root,
    }  # fmt: skip


def _record_arriving_rows(problem: Problem, known: Any) -> None:
    """One step per row: the posterior of the rows up to it, where it has finite variances."""
    from pellucid.linear_model._ridge.posterior import known_variances

    recorder, users, k = Recorder("rows", problem.n), problem.user_rows(), 1
    while True:
        found = known_variances(problem.X[:k], problem.y[:k], problem.weights[:k], known)
        if np.isfinite(found.covariance).all():
            sd = float(np.sqrt(np.diagonal(found.covariance)[:-1]).mean())
            recorder.step(
                k, _named(found), {"rows": k, "row": int(users[k - 1])}, mean_deviation=sd,
                sentence=f"The posterior after row {k}: the mean standard deviation of the "
                f"coefficients is {sd:.4g}.",
            )  # fmt: skip
        if k == problem.n:
            return
        k = min(k + recorder.skip(), problem.n)
