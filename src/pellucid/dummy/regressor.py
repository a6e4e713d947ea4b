"""Baseline regressors: the mean, the median, a quantile or a constant."""

from typing import Any

import numpy as np

from pellucid.base import Regressor
from pellucid.data import Problem
from pellucid.errors import ParameterError
from pellucid.numerics.moments import weighted_mean
from pellucid.numerics.quantiles import middle_quantile
from pellucid.parameters import Array, Choice, Real, learned, param


class DummyRegressor(Regressor):
    """Predicts one number without using X: a baseline that every useful model must beat.

    Examples
    --------
    >>> from pellucid.dummy import DummyRegressor
    >>> DummyRegressor().fit([[1], [2], [3]], [1.0, 2.0, 6.0]).predict([[9]])
    array([3.])
    """

    strategy: str = param(
        "mean",
        Choice("mean", "median", "quantile", "constant"),
        "Which number is predicted: a weighted statistic of the training targets, or `constant`.",
    )
    constant: Any = param(
        None,
        Real(None, None) | Array | None,
        "The number, or one number for each target, that strategy 'constant' predicts.",
    )
    quantile: Any = param(
        None, Real(0, 1, "both") | None, "The quantile that strategy 'quantile' predicts."
    )

    constant_: np.ndarray = learned("The predicted number of each target, shape (1, n_targets).")
    n_outputs_: int = learned("Number of targets.")
    several_: bool = learned("Whether y had several columns.")

    _min_rows = 1
    _shares_rows = property(lambda self: self.strategy in ("mean", "constant"))
    _several_targets = True
    _poor_score = True
    _target = "several"

    def _fit(self, problem: Problem) -> dict[str, Any]:
        Y = problem.y.reshape(problem.n, -1)
        return {
            "constant_": self._value(Y, problem.weights).reshape(1, -1),
            "n_outputs_": Y.shape[1],
            "several_": Y.shape[1] > 1,
        }

    def _value(self, Y: np.ndarray, weights: np.ndarray) -> np.ndarray:
        if self.strategy == "mean":
            return np.asarray(weighted_mean(Y, weights))
        if self.strategy == "median":
            return np.array([middle_quantile(column, weights, 0.5) for column in Y.T])
        if self.strategy == "quantile":
            if self.quantile is None:
                raise ParameterError(
                    "DummyRegressor(strategy='quantile') needs quantile= in [0, 1]."
                )
            return np.array([middle_quantile(column, weights, self.quantile) for column in Y.T])
        if self.constant is None:
            raise ParameterError("DummyRegressor(strategy='constant') needs constant=, a number.")
        constant = np.atleast_1d(np.asarray(self.constant, dtype=float)).ravel()
        if len(constant) != Y.shape[1]:
            raise ParameterError(
                f"Constant target value should have shape ({Y.shape[1]}, 1), not {len(constant)}."
            )
        return constant

    def _check_state(self) -> None:
        """Reject a model file whose constant has the wrong shape."""
        from pellucid.persist.fitted_state import expect_array

        expect_array(self, "constant_", 1, None if self.several_ else 1, finite=True)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The same number for each row; with `return_std` also its standard deviation, which is 0."""
        predicted = super().predict(X)
        return (predicted, np.zeros_like(predicted)) if return_std else predicted

    def _predict(self, X: Any) -> np.ndarray:
        predicted = np.repeat(self.constant_, X.shape[0], axis=0)
        return predicted if self.several_ else predicted.ravel()

    def _explain(self, X: Any) -> dict[str, Any]:
        base = self.constant_[0]
        return {
            "base": base,
            "contributions": np.zeros((X.shape[0], X.shape[1], len(base))),
            "prediction": np.repeat(self.constant_, X.shape[0], axis=0),
            "scale": "response",
            "method": "no column is used",
        }
