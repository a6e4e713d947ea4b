"""Ridge regression of the logarithm of a positive target, with predictions of its mean."""

from dataclasses import replace
from typing import Any

import numpy as np

from pellucid.data import Problem
from pellucid.errors import DataError
from pellucid.linear_model import target_range
from pellucid.linear_model.base import LinearPredictor
from pellucid.linear_model.ridge import Ridge
from pellucid.numerics.linear_scores import linear_scores
from pellucid.parameters import Real, learned, param, shared
from pellucid.persist.fitted_state import expect_array, expect_number, n_terms


class LogTargetRidge(LinearPredictor):
    """Least squares on the logarithm of y > 0: b and b0 minimise

        sum_i w_i (log y_i - b0 - x_i . b)^2 + alpha |b|^2

    for targets with a long right tail, such as prices and incomes, where effects are factors.
    exp(b0 + x . b) alone estimates a median. The predicted mean is

        s exp(b0 + x . b),     s = sum_i w_i y_i / sum_i w_i exp(b0 + x_i . b),

    so that predictions for the training rows have the mean of y. s is Duan's smearing factor with
    residuals weighted by exp(b0 + x . b): it does not assume errors of equal variance, and rows
    with a tiny exp(b0 + x . b) and a large y, which are often recorded wrongly, do not decide it.

    Examples
    --------
    >>> from pellucid.linear_model import LogTargetRidge
    >>> model = LogTargetRidge(alpha=0).fit([[0.0], [1.0], [2.0], [3.0]], [1.0, 2.0, 4.0, 8.0])
    >>> model.predict([[4.0]]).round(9)
    array([16.])
    """

    alpha: float = param(
        1.0, Real(0, None), "Strength of the penalty; 0 is least squares.", before="fit_intercept"
    )
    standardize: bool = shared.STANDARDIZE
    bound_predictions: bool = target_range.BOUND_PREDICTIONS.replace(
        description="Keep predictions within the range of y on the training rows, because the "
        "exponential of a row far outside the training table can be of any size. `explain` shows the "
        "difference as a part '(bound)'."
    )

    coef_: np.ndarray = learned(
        "Effect of each encoded column on log y, shape (n_terms,), in the order of `terms_`."
    )
    intercept_: float = learned("Intercept b0 on the scale of log y.")
    smearing_: float = learned("Factor s that turns exp(b0 + x . b) into a mean.")
    bounds_: np.ndarray = learned(target_range.BOUNDS)
    n_iter_: int = learned("Number of iterations: 1, as the solution is direct.")
    history_: dict[str, np.ndarray] = learned(shared.HISTORY)

    _positive_target = True
    _scale = "link"

    def _check_problem(self, problem: Problem) -> None:
        bad = np.flatnonzero(problem.y <= 0)
        if len(bad):
            first = problem.user_rows()[bad[0]]
            raise DataError(
                f"LogTargetRidge takes the logarithm of y, so y must be > 0, but {len(bad)} row(s) "
                f"are not (the first, row {first}, has {problem.y[bad[0]]:g}). Correct "
                "them, or use another model."
            )

    def _fit(self, problem: Problem) -> dict[str, Any]:
        ridge = Ridge(
            self.alpha, fit_intercept=self.fit_intercept, standardize=self.standardize
        )  # fmt: skip
        logs = np.log(problem.y)
        learned = ridge._fit(replace(problem, y=logs))
        del learned["solver_"]
        fitted = linear_scores(problem.X, learned["coef_"], learned["intercept_"])
        if self.bound_predictions:
            fitted = np.clip(fitted, logs.min(), logs.max())
        with np.errstate(over="ignore", under="ignore"):
            factor = np.exp(_log_sum(logs, problem.weights) - _log_sum(fitted, problem.weights))
        if not 0 < factor < np.inf:
            raise DataError(
                "The fitted values are so far from y that the factor between them overflows float64. "
                "Rescale the columns, or use fit_intercept=True."
            )
        return learned | {"smearing_": float(factor)} | target_range.learn_range(self, problem.y)

    def _check_state(self) -> None:
        """Refuse a model file whose arrays do not match its columns or each other."""
        super()._check_state()
        target_range.check_range(self)
        expect_array(self, "coef_", n_terms(self), finite=True)
        expect_number(self, "smearing_", 1e-320)

    # Using --------------------------------------------------------------------------------------

    def linear_predictor(self, X: Any) -> np.ndarray:
        """x . coef_ + intercept_ + log(smearing_): the logarithm of the predicted mean."""
        return self._answer(self._eta, X, direct=True)

    def _eta(self, X: Any) -> np.ndarray:
        return linear_scores(X, self.coef_, self.intercept_ + np.log(self.smearing_))

    def _predict(self, X: Any) -> np.ndarray:
        return target_range.clip_to_range(self, np.exp(self._eta(X)))

    def predict(self, X: Any) -> np.ndarray:
        """The predicted mean of each row."""
        eta = self.linear_predictor(X)
        with np.errstate(over="ignore"):
            return self._finite(target_range.clip_to_range(self, np.exp(eta)))

    def explain(self, X: Any) -> Any:
        """The logarithm of the predicted mean as base plus one part per column."""
        return target_range.with_bound(self, super().explain(X))

    def _explain(self, X: Any) -> dict[str, Any]:
        parts, shift = super()._explain(X), np.log(self.smearing_)
        return parts | {"base": parts["base"] + shift, "prediction": parts["prediction"] + shift}

    def _strengths_shown(self) -> dict[str, Any]:
        return {"alpha": float(self.alpha), "smearing": self.smearing_}


def _log_sum(logs: np.ndarray, weights: np.ndarray) -> float:
    """Logarithm of sum_i w_i exp(logs_i)."""
    top = float(logs.max())
    return top + float(np.log(weights @ np.exp(logs - top)))
