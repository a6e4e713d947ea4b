"""Forests that predict numbers: random forests and extra trees differ only in their defaults."""

from typing import Any

import numpy as np

from pellucid.base import Regressor
from pellucid.ensemble import stages
from pellucid.ensemble.averaging import OOB_PREDICTIONS
from pellucid.ensemble.forest.base import Forest
from pellucid.parameters import Choice, changed, learned, param
from pellucid.tree.criteria import NUMBER_CRITERIA, NUMBER_LOSS


class ForestRegressor(Forest, Regressor):
    """Mean of the predictions of the trees."""

    criterion: str = param(
        "squared_error", Choice(*NUMBER_CRITERIA), NUMBER_LOSS, after="n_estimators"
    )
    max_features: Any = changed(default=1.0)
    monotonic_cst: Any = changed(
        description="How the prediction of a single target may move with each column: 1 up, -1 down, "
        "0 either way. A list has one number for each column, a dict names columns."
    )

    oob_prediction_: np.ndarray = learned(OOB_PREDICTIONS)

    _target = "several"
    _several_targets = True

    def _predict(self, X: np.ndarray) -> np.ndarray:
        mean = self._mean(X)
        return mean[:, 0] if self.n_outputs_ == 1 else mean

    staged_predict = stages.staged_numbers
