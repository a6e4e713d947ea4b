"""Ridge regression that finds its penalty, and the noise, from the evidence of the data."""

from typing import Any, Self

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.errors import DataError
from pellucid.linear_model._ridge.base import BayesianPredictor, dense, squared_length
from pellucid.linear_model.standardize import Units
from pellucid.parameters import Boolean, Either, Integer, Nothing, Real, Verbose
from pellucid.records import Status


class BayesianRidge(BayesianPredictor):
    """Linear regression with b ~ N(0, 1/lambda) and noise N(0, 1/alpha): the posterior mean of b
    minimises

        alpha sum_i w_i (y_i - b0 - x_i . b)^2 + lambda |b|^2

    where alpha and lambda are the ones that make the data most probable. The intercept has a flat
    prior. One visit of the rows; the rest happens in the principal directions of the table.

    Parameters
    ----------
    max_iter : int, default=300
    tol : float, default=1e-3
        The coefficients must have settled to it; alpha and lambda then go on to ten digits.
    alpha_1, alpha_2, lambda_1, lambda_2 : float >= 0, default=1e-6
        Shape (_1) and rate (_2) of the gamma priors of alpha and lambda.
    alpha_init, lambda_init : float > 0 or None
        Where to start; None is 1 / variance of y, and 1.
    compute_score : bool, default=False
        Keep `scores_`.
    fit_intercept : bool, default=True
    copy_X, verbose : without effect
    standardize : bool, default=False, keyword-only
        The prior is for the coefficients of numbers divided by their deviation (levels stay 0
        and 1); `coef_` and `sigma_` are told in the user's units.
    table : Table, optional

    Attributes
    ----------
    coef_ : (p,), in the order of `terms_`; intercept_
    alpha_, lambda_ : precision of the noise and of the coefficients
    sigma_ : (p, p), covariance of the coefficients; root_ : (p, p), root_ root_' is sigma_
    scores_ : logarithm of the evidence by iteration; empty without compute_score
    X_offset_, X_scale_ : means of the columns, and ones
    n_iter_, history_, status_, n_features_in_, feature_names_in_, schema_

    Examples
    --------
    >>> from pellucid.linear_model import BayesianRidge
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.1, 0.9, 2.1, 2.9]
    >>> model = BayesianRidge().fit(X, y)
    >>> mean, sd = model.predict([[1.5], [9.0]], return_std=True)
    >>> bool(sd[0] < sd[1])
    True
    """

    _parameters = {
        "max_iter": Integer(1),
        "tol": Real(0, None, "neither"),
        "alpha_1": Real(0, None),
        "alpha_2": Real(0, None),
        "lambda_1": Real(0, None),
        "lambda_2": Real(0, None),
        "alpha_init": Either(Nothing, Real(0, None, "neither")),
        "lambda_init": Either(Nothing, Real(0, None, "neither")),
        "compute_score": Boolean,
        "fit_intercept": Boolean,
        "copy_X": Boolean,
        "verbose": Verbose,
        "standardize": Boolean,
    }

    alpha_: float
    lambda_: float
    sigma_: np.ndarray
    root_: np.ndarray
    total_: float
    status_: Status

    def __init__(
        self,
        *,
        max_iter: int = 300,
        tol: float = 1e-3,
        alpha_1: float = 1e-6,
        alpha_2: float = 1e-6,
        lambda_1: float = 1e-6,
        lambda_2: float = 1e-6,
        alpha_init: float | None = None,
        lambda_init: float | None = None,
        compute_score: bool = False,
        fit_intercept: bool = True,
        copy_X: bool = True,
        verbose: Any = False,
        standardize: bool = False,
        table: Any = None,
    ) -> None:
        self.max_iter = max_iter
        self.tol = tol
        self.alpha_1 = alpha_1
        self.alpha_2 = alpha_2
        self.lambda_1 = lambda_1
        self.lambda_2 = lambda_2
        self.alpha_init = alpha_init
        self.lambda_init = lambda_init
        self.compute_score = compute_score
        self.fit_intercept = fit_intercept
        self.copy_X = copy_X
        self.verbose = verbose
        self.standardize = standardize
        self.table = table

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the coefficients, their precision and that of the noise."""
        return self._learn(X, y, weights=sample_weight)

    def _fit(self, problem: Problem) -> dict[str, Any]:
        if not self.standardize:
            return self._fit_columns(problem)
        units = Units.learn(problem, bool(self.fit_intercept))
        learned = units.told(self._fit_columns(units.apply(problem)))
        learned["sigma_"] = learned["sigma_"] * units.scale * units.scale[:, None]
        learned["root_"] = learned["root_"] * units.scale[:, None]
        return learned | {"X_offset_": learned["means_"]}

    def _fit_columns(self, problem: Problem) -> dict[str, Any]:
        from pellucid.linear_model._ridge.bayes_evidence import Priors, maximise
        from pellucid.linear_model._ridge.eigen import complete, make_spectrum

        priors = Priors(
            self.alpha_1, self.alpha_2, self.lambda_1, self.lambda_2, self.alpha_init,
            self.lambda_init,
        )  # fmt: skip
        with (
            parallel.one_blas_thread(),
            np.errstate(all="ignore"),
        ):
            made = make_spectrum(problem.X, problem.y[:, None], problem.weights, self.fit_intercept)
            share, y = problem.weights / problem.weights.sum(), np.ldexp(problem.y, -made.lift[0])
            variance = float(share @ (y - share @ y) ** 2)
            found = maximise(made, problem.p, priors, self.tol, self.max_iter, variance)
            precision = np.full(problem.p, found.lamb)
            precision[: len(made.values)] += found.alpha * made.values
            root = complete(made.vectors) / np.sqrt(precision)
            sigma = root @ root.T
            coef = np.ldexp(found.coef, made.lift[0])
            intercept = np.ldexp(made.mean_y - made.mean @ found.coef, made.lift)
        if not (0 < found.alpha < np.inf and 0 < found.lamb < np.inf and np.isfinite(sigma).all()):
            raise DataError(
                "The precision of the noise or of the coefficients is larger than the largest float "
                "(or smaller than the smallest). Bring y and the columns to ordinary units."
            )
        learned = self._finished(
            coef[None], intercept if self.fit_intercept else np.zeros(1), problem.y
        )
        learned["scores_"] = found.scores if self.compute_score else np.zeros(0)
        return learned | {
            "means_": made.mean, "alpha_": float(found.alpha), "lambda_": float(found.lamb),
            "sigma_": sigma, "root_": root, "total_": made.total, "X_offset_": made.mean,
            "X_scale_": np.ones(problem.p), "n_iter_": found.n_iter, "history_": found.history,
            "status_": found.status,
        }  # fmt: skip

    def _variances(self, X: Any) -> tuple[np.ndarray, float]:
        noise = 1.0 / self.alpha_
        spread = squared_length(dense(X) - self.means_, self.root_)
        return spread + (noise / self.total_ if self.fit_intercept else 0.0), noise

    def _deviations(self) -> np.ndarray:
        far = np.square(self.means_ @ self.root_).sum() + 1.0 / (self.alpha_ * self.total_)
        return np.append(np.linalg.norm(self.root_, axis=1), np.sqrt(far))

    def _strengths_shown(self) -> dict[str, Any]:
        return {"alpha": self.alpha_, "lambda": self.lambda_}

    def _check_state(self) -> None:
        from pellucid.persist.fitted_state import expect_array, expect_number, n_terms

        super()._check_state()
        expect_array(self, "coef_", n_terms(self), finite=True)
        for name in ("sigma_", "root_"):
            expect_array(self, name, n_terms(self), n_terms(self), finite=True)
        for name in ("alpha_", "lambda_", "total_"):
            expect_number(self, name, 1e-320)
