"""Bagging for regression: one base estimator on many bags of rows and columns."""

from typing import Any

import numpy as np

from pellucid.base import Regressor
from pellucid.ensemble import base_estimators, stages
from pellucid.ensemble.averaging import OOB_PREDICTIONS
from pellucid.ensemble.bagging.base import Bagging
from pellucid.parameters import learned
from pellucid.tree import DecisionTreeRegressor


class BaggingRegressor(Bagging, Regressor):
    """Mean of the predictions of base estimators fitted to random bags.

    f(x) = 1/B sum_b f_b(x); base estimator b sees `max_samples` samples drawn with replacement and
    `max_features` columns. y may have several columns if the base estimator accepts them.

    A row of weight k stands for k copies, each of which may be drawn. Results do not depend on
    `n_jobs`, because every base estimator has its own random stream.

    Examples
    --------
    >>> from pellucid.ensemble import BaggingRegressor
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 5, [0.0, 0.0, 1.0, 1.0] * 5
    >>> BaggingRegressor(n_estimators=20, random_state=0).fit(X, y).predict([[0.0], [3.0]])
    array([0., 1.])
    """

    n_outputs_: int = learned("Number of targets.")
    oob_prediction_: np.ndarray = learned(OOB_PREDICTIONS)

    def _base_estimator(self) -> Any:
        return DecisionTreeRegressor() if self.estimator is None else self.estimator

    def _predictions(self, base: Any, X: Any, columns: Any, schema: Any, K: int) -> np.ndarray:
        return base_estimators.predictions(base, X, columns, schema).reshape(X.shape[0], -1)

    def _predict(self, X: Any) -> np.ndarray:
        mean = self._mean(X)
        return mean[:, 0] if mean.shape[1] == 1 else mean

    staged_predict = stages.staged_numbers
