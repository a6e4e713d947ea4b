"""Blend of regressors: a weighted mean of their predictions."""

from typing import Any

import numpy as np

from pellucid.base import Regressor
from pellucid.data import Problem
from pellucid.ensemble.blend import base_models, selection
from pellucid.ensemble.blend.base import Blend
from pellucid.ensemble.boosting.hist_gradient_boosting import HistGradientBoostingRegressor
from pellucid.ensemble.forest.extra_trees import ExtraTreesRegressor
from pellucid.tree import DecisionTreeRegressor


class BlendRegressor(Blend, Regressor):
    """Weighted mean of the predictions of different regressors.

    f(x) = sum_m w_m f_m(x); w_m is the share of regressor m in at most `max_picks` greedy picks (with
    replacement), each of which gives the lowest squared error of the mean of out-of-fold predictions.
    Regressors that are never picked are not in the blend. With fewer than 4 different rows all weights
    are equal.

    Examples
    --------
    >>> from pellucid.ensemble import BlendRegressor
    >>> from pellucid.tree import DecisionTreeRegressor
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 5, [0.0, 1.0, 2.0, 3.0] * 5
    >>> stump, tree = DecisionTreeRegressor(max_depth=1), DecisionTreeRegressor()
    >>> BlendRegressor([("stump", stump), ("tree", tree)], weights=[1, 1]).fit(X, y).predict([[0.0]])
    array([0.25])
    """

    _loss = staticmethod(selection.root_mean_squared_error)
    # The checks fit hundreds of times; two small trees show the same faults.
    _check_params = {
        "estimators": [
            ("stump", DecisionTreeRegressor(max_depth=1)),
            ("tree", DecisionTreeRegressor(min_samples_leaf=3)),
        ],
        "n_folds": 3,
    }

    def _default(self) -> list[tuple[str, Any]]:
        return [
            ("tree", DecisionTreeRegressor(min_samples_leaf=10)),
            ("extra_trees", ExtraTreesRegressor()),
            ("gradient_boosting", HistGradientBoostingRegressor()),
        ]

    def _values(self, base: Any, problem: Problem, columns: np.ndarray) -> np.ndarray:
        return base_models.predictions(base, problem.table, problem.schema, columns)

    def _predictions(self, i: int, X: np.ndarray) -> np.ndarray:
        base, columns = self.estimators_[i], self.estimators_features_[i]
        return base_models.predictions(base, X, self.schema_, columns)[:, None]

    def _predict(self, X: np.ndarray) -> np.ndarray:
        return self._mean(X)[:, 0]
