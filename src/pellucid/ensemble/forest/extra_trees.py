"""Extremely randomised trees: thresholds are drawn too, rows are not."""

from pellucid.ensemble.forest.classifier import ForestClassifier
from pellucid.ensemble.forest.regressor import ForestRegressor
from pellucid.parameters import changed


class ExtraTreesClassifier(ForestClassifier):
    """Mean of the class shares of many trees whose thresholds are drawn.

    p(k | x) = 1/B sum_b p_b(k | x); a node draws `max_features` columns, one threshold (or set of
    levels) for each, and takes the best of these.

    Missing values, categories and weights are treated as by a single tree: sets of levels, a
    learned side, weight k = k copies. Each tree has its own random stream: results do not depend
    on `n_jobs`.

    Examples
    --------
    >>> from pellucid.ensemble import ExtraTreesClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 5, [0, 0, 1, 1] * 5
    >>> ExtraTreesClassifier(20, random_state=0).fit(X, y).predict([[0.2], [2.8]])
    array([0, 1])
    """

    _splitter = "random"

    bootstrap: bool = changed(default=False)


class ExtraTreesRegressor(ForestRegressor):
    """Mean of the predictions of many trees whose thresholds are drawn.

    f(x) = 1/B sum_b f_b(x); a node draws `max_features` columns, one threshold (or set of levels)
    for each, and takes the best of these. y may have several columns, see `DecisionTreeRegressor`.

    Missing values, categories and weights are treated as by a single tree: sets of levels, a
    learned side, weight k = k copies. Each tree has its own random stream: results do not depend
    on `n_jobs`.

    Examples
    --------
    >>> from pellucid.ensemble import ExtraTreesRegressor
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 5, [0.0, 0.0, 1.0, 1.0] * 5
    >>> ExtraTreesRegressor(20, random_state=0).fit(X, y).predict([[0.0], [3.0]])
    array([0., 1.])
    """

    _splitter = "random"

    bootstrap: bool = changed(default=False)
