"""Ridge regression that finds its penalty, and the noise, from the evidence of the data."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.data import Problem
from pellucid.errors import DataError
from pellucid.linear_model._ridge.bayesian_base import BayesianPredictor, squared_length
from pellucid.linear_model.base import check_size, shaped
from pellucid.linear_model.standardize import Units
from pellucid.numerics.row_blocks import as_dense
from pellucid.parameters import Boolean, Integer, Real, changed, learned, param, shared
from pellucid.persist.fitted_state import expect_array, expect_number, n_terms
from pellucid.records import converting

GAMMA_PRIOR = param(1e-6, Real(0, None))
START = None | Real(0, None, "neither")


class BayesianRidge(BayesianPredictor):
    """Linear regression with b ~ N(0, 1/lambda) and noise N(0, 1/alpha): the posterior mean of b
    minimises

        alpha sum_i w_i (y_i - b0 - x_i . b)^2 + lambda |b|^2

    where alpha and lambda maximise the evidence (marginal likelihood). The intercept has a flat
    prior. The rows are read once; all else is computed in the principal directions of the table.

    Examples
    --------
    >>> from pellucid.linear_model import BayesianRidge
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.1, 0.9, 2.1, 2.9]
    >>> model = BayesianRidge().fit(X, y)
    >>> mean, sd = model.predict([[1.5], [9.0]], return_std=True)
    >>> bool(sd[0] < sd[1])
    True
    """

    max_iter: int = param(300, Integer(1), "Largest number of iterations.")
    tol: float = param(
        1e-3,
        Real(0, None, "neither"),
        "The coefficients must move less than tol; alpha and lambda are then iterated to ten digits.",
    )
    alpha_1: float = GAMMA_PRIOR.replace(
        description="Shape of the gamma prior of alpha, the precision of the noise."
    )
    alpha_2: float = GAMMA_PRIOR.replace(
        description="Rate of the gamma prior of alpha, the precision of the noise."
    )
    lambda_1: float = GAMMA_PRIOR.replace(
        description="Shape of the gamma prior of lambda, the precision of the coefficients."
    )
    lambda_2: float = GAMMA_PRIOR.replace(
        description="Rate of the gamma prior of lambda, the precision of the coefficients."
    )
    alpha_init: float | None = param(
        None, START, "Value of alpha at the start; None is 1 / variance of y."
    )
    lambda_init: float | None = param(None, START, "Value of lambda at the start; None is 1.")
    compute_score: bool = param(False, Boolean, "Whether to keep `scores_`.")
    fit_intercept: bool = changed(after="compute_score")
    copy_X: bool = shared.COPY_X
    verbose: Any = shared.VERBOSE.replace(default=False)
    standardize: bool = shared.STANDARDIZE.replace(
        description="The prior applies to the coefficients that numeric columns would have if they were "
        "divided by their standard deviations; columns of categories stay 0 and 1. `coef_` and `sigma_` "
        "are reported on the original scale."
    )

    alpha_: float = learned("Precision of the noise.")
    lambda_: float = learned("Precision of the coefficients.")
    sigma_: np.ndarray = learned("Covariance of the coefficients, shape (n_terms, n_terms).")
    root_: np.ndarray = learned("Matrix R for which R @ R.T is `sigma_`.")
    total_: float = learned("Sum of the weights of the training rows.")
    scores_: np.ndarray = learned(
        "Logarithm of the evidence by iteration; empty without compute_score."
    )
    X_offset_: np.ndarray = learned("Means of the encoded columns, as in `means_`.")
    X_scale_: np.ndarray = learned("Ones, for compatibility with scikit-learn.")
    n_iter_: int = learned(shared.N_ITER)
    history_: dict[str, np.ndarray] = learned(shared.HISTORY)

    def _fit(self, problem: Problem) -> dict[str, Any]:
        if not self.standardize:
            return self._fit_columns(problem)
        units = Units.learn(problem, bool(self.fit_intercept))

        def on_original_scale(state: Mapping[str, Any]) -> dict[str, Any]:
            out = units.state_to_original(state)
            out["sigma_"] = out["sigma_"] * units.scale * units.scale[:, None]
            out["root_"] = out["root_"] * units.scale[:, None]
            return out

        with converting(on_original_scale):
            learned = self._fit_columns(units.apply(problem))
        means = units.to_original(learned)["means_"]
        return on_original_scale(learned) | {"means_": means, "X_offset_": means}

    def _fit_columns(self, problem: Problem) -> dict[str, Any]:
        from pellucid.linear_model._ridge.bayes_evidence import Priors, maximise
        from pellucid.linear_model._ridge.eigen import complete, make_spectrum

        priors = Priors(
            self.alpha_1, self.alpha_2, self.lambda_1, self.lambda_2, self.alpha_init,
            self.lambda_init,
        )  # fmt: skip
        with parallel.one_blas_thread(), np.errstate(all="ignore"):
            made = make_spectrum(problem.X, problem.y[:, None], problem.weights, self.fit_intercept)
            share, y = problem.weights / problem.weights.sum(), np.ldexp(problem.y, -made.lift[0])
            variance = float(share @ (y - share @ y) ** 2)

            def posterior(alpha: float, lamb: float, coef: np.ndarray) -> dict[str, Any]:
                precision = np.full(problem.p, lamb)
                precision[: len(made.values)] += alpha * made.values
                root = complete(made.vectors) / np.sqrt(precision)
                intercept = np.ldexp(made.mean_y - made.mean @ coef, made.lift)
                intercept = intercept if self.fit_intercept else np.zeros(1)
                coef = np.ldexp(coef, made.lift[0])
                return shaped(coef[None], intercept, problem.y) | {
                    "alpha_": float(alpha), "lambda_": float(lamb), "sigma_": root @ root.T,
                    "root_": root,
                }  # fmt: skip

            with converting(lambda s: posterior(s["alpha"], s["lambda"], s["coef"])):
                found = maximise(made, problem.p, priors, self.tol, self.max_iter, variance)
            learned = posterior(found.alpha, found.lamb, found.coef)
            sigma = learned["sigma_"]
        if not (0 < found.alpha < np.inf and 0 < found.lamb < np.inf and np.isfinite(sigma).all()):
            raise DataError(
                "The precision of the noise or of the coefficients overflows or underflows float64. "
                "Rescale y and the columns."
            )
        check_size(learned["coef_"], np.array(learned["intercept_"]))
        learned["scores_"] = found.scores if self.compute_score else np.zeros(0)
        return learned | {
            "means_": made.mean, "total_": made.total, "X_offset_": made.mean,
            "X_scale_": np.ones(problem.p), "n_iter_": found.n_iter, "history_": found.history,
            "status_": found.status,
        }  # fmt: skip

    def _variances(self, X: Any) -> tuple[np.ndarray, float]:
        noise = 1.0 / self.alpha_
        spread = squared_length(as_dense(X) - self.means_, self.root_)
        return spread + (noise / self.total_ if self.fit_intercept else 0.0), noise

    def _deviations(self) -> np.ndarray:
        far = np.square(self.means_ @ self.root_).sum() + 1.0 / (self.alpha_ * self.total_)
        return np.append(np.linalg.norm(self.root_, axis=1), np.sqrt(far))

    def _strengths_shown(self) -> dict[str, Any]:
        return {"alpha": self.alpha_, "lambda": self.lambda_}

    def _check_state(self) -> None:
        super()._check_state()
        for name in ("sigma_", "root_"):
            expect_array(self, name, n_terms(self), n_terms(self), finite=True)
        for name in ("alpha_", "lambda_", "total_"):
            expect_number(self, name, 1e-320)
