"""Extremely randomized trees: thresholds are drawn at random, and each tree sees all rows."""

from pellucid.ensemble.forest.classifier import ForestClassifier
from pellucid.ensemble.forest.regressor import ForestRegressor
from pellucid.parameters import changed


class ExtraTreesClassifier(ForestClassifier):
    """Mean of the class frequencies of many trees whose thresholds are drawn.

    p(k | x) = 1/B sum_b p_b(k | x); a node draws `max_features` columns, one threshold (or set of
    levels) for each, and takes the best of these.

    A categorical column is split into two sets of levels. Missing values go to the side that was
    learned at each split. A weight of k means k copies of the row. Results do not depend on
    `n_jobs`.

    Examples
    --------
    >>> from pellucid.ensemble import ExtraTreesClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 5, [0, 0, 1, 1] * 5
    >>> ExtraTreesClassifier(20, random_state=0).fit(X, y).predict([[0.2], [2.8]])
    array([0, 1])
    """

    bootstrap: bool = changed(default=False)


class ExtraTreesRegressor(ForestRegressor):
    """Mean of the predictions of many trees whose thresholds are drawn.

    f(x) = 1/B sum_b f_b(x); a node draws `max_features` columns, one threshold (or set of levels)
    for each, and takes the best of these. y may have several columns; every tree then predicts
    all of them.

    A categorical column is split into two sets of levels. Missing values go to the side that was
    learned at each split. A weight of k means k copies of the row. Results do not depend on
    `n_jobs`.

    Examples
    --------
    >>> from pellucid.ensemble import ExtraTreesRegressor
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 5, [0.0, 0.0, 1.0, 1.0] * 5
    >>> ExtraTreesRegressor(20, random_state=0).fit(X, y).predict([[0.0], [3.0]])
    array([0., 1.])
    """

    bootstrap: bool = changed(default=False)
