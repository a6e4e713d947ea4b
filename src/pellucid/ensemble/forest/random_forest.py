"""Random forests: trees on bootstrap samples, the best of a few drawn columns at each node."""

from pellucid.ensemble.forest.classifier import ForestClassifier
from pellucid.ensemble.forest.regressor import ForestRegressor
from pellucid.parameters import Choice, param

SPLITTER = param(
    "best",
    Choice("best", "hist"),
    "How a split of a column is sought: 'best' compares all of them, 'hist' at most 254 thresholds, in "
    "bins that are made once for all trees. 'hist' also works beyond memory.",
    last=True,
)


class RandomForestClassifier(ForestClassifier):
    """Mean of the class frequencies of many trees, each on a bootstrap sample.

    p(k | x) = 1/B sum_b p_b(k | x); every node of tree b takes the best of `max_features` drawn
    columns. With all columns, this is bagging.

    A categorical column is split into two sets of levels. Missing values go to the side that was
    learned at each split. A weight of k means k copies of the row. Results do not depend on
    `n_jobs`.

    Examples
    --------
    >>> from pellucid.ensemble import RandomForestClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 5, [0, 0, 1, 1] * 5
    >>> RandomForestClassifier(20, random_state=0).fit(X, y).predict([[0.2], [2.8]])
    array([0, 1])
    """

    _exempt = {
        "class_weights_and_weights_are_one_thing": "integer weights set how many samples are drawn, "
        "class weights only which ones"
    }

    splitter: str = SPLITTER


class RandomForestRegressor(ForestRegressor):
    """Mean of the predictions of many trees, each on a bootstrap sample.

    f(x) = 1/B sum_b f_b(x); every node of tree b takes the best of `max_features` drawn columns.
    With all columns, the default, this is bagging. y may have several columns; every tree then
    predicts all of them.

    A categorical column is split into two sets of levels. Missing values go to the side that was
    learned at each split. A weight of k means k copies of the row. Results do not depend on
    `n_jobs`.

    Examples
    --------
    >>> from pellucid.ensemble import RandomForestRegressor
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 5, [0.0, 0.0, 1.0, 1.0] * 5
    >>> RandomForestRegressor(20, random_state=0).fit(X, y).predict([[0.0], [3.0]])
    array([0., 1.])
    """

    splitter: str = SPLITTER
