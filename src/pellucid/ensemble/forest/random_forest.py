"""Random forests: trees on bootstrap samples, the best of a few drawn columns at each node."""

from pellucid.ensemble.forest.classifier import ForestClassifier
from pellucid.ensemble.forest.regressor import ForestRegressor


class RandomForestClassifier(ForestClassifier):
    """Mean of the class shares of many trees, each on a bootstrap sample.

    p(k | x) = 1/B sum_b p_b(k | x); every node of tree b takes the best of `max_features` drawn
    columns. With all columns it is bagging.

    Missing values, categories and weights are treated as by a single tree: sets of levels, a
    learned side, weight k = k copies. Each tree has its own random stream: results do not depend
    on `n_jobs`.

    Parameters
    ----------
    n_estimators : int, default=100
    criterion : {"gini", "entropy", "log_loss", "error"}, default="gini"
    max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf, max_leaf_nodes,
        min_impurity_decrease, ccp_alpha : as in `DecisionTreeClassifier`
    max_features : int, share, "sqrt", "log2" or None, default="sqrt"
        Columns drawn at each node.
    bootstrap : bool, default=True
    oob_score : bool or function (y, predicted) -> number, default=False
        Score each row by the trees that did not see it.
    n_jobs : int or None
    random_state : int, generator or None
    verbose : int; nothing is printed, see `pellucid.watching`
    warm_start : bool, default=False
        Keep the trees and add more.
    class_weight : dict, "balanced", "balanced_subsample" or None
    max_samples : int, share or None (as many draws as samples)
    monotonic_cst : by column 1 (up), -1 (down) or 0, or a dict {name: sign}; two classes only
    oob_importances : bool, default=False
        What each column is worth to the rows that a tree did not see.
    table : Table, optional

    Attributes
    ----------
    trees_ : list of `Nodes`; estimators_ : the same as fitted trees
    feature_importances_, classes_, n_classes_, oob_score_, oob_decision_function_, oob_importances_,
    oob_importances_std_, n_features_in_, feature_names_in_, schema_

    Examples
    --------
    >>> from pellucid.ensemble import RandomForestClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 5, [0, 0, 1, 1] * 5
    >>> RandomForestClassifier(20, random_state=0).fit(X, y).predict([[0.2], [2.8]])
    array([0, 1])
    """

    _exempt = {
        "class_weights_and_weights_are_one_thing": "a weight says how often a row may be drawn, a "
        "class weight what it costs once drawn"
    }


class RandomForestRegressor(ForestRegressor):
    """Mean of the predictions of many trees, each on a bootstrap sample.

    f(x) = 1/B sum_b f_b(x); every node of tree b takes the best of `max_features` drawn columns.
    With all columns, the default, it is bagging. y may have several columns: every tree then
    predicts all of them, see `DecisionTreeRegressor`.

    Missing values, categories and weights are treated as by a single tree: sets of levels, a
    learned side, weight k = k copies. Each tree has its own random stream: results do not depend
    on `n_jobs`.

    Parameters
    ----------
    n_estimators : int, default=100
    criterion : {"squared_error", "absolute_error", "poisson", "gamma"}
        All but "absolute_error" take several targets.
    max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf, max_leaf_nodes,
        min_impurity_decrease, ccp_alpha : as in `DecisionTreeRegressor`
    max_features : int, share, "sqrt", "log2" or None, default=1.0
        Columns drawn at each node.
    bootstrap : bool, default=True
    oob_score : bool or function (y, predicted) -> number, default=False
        Score each row by the trees that did not see it.
    n_jobs : int or None
    random_state : int, generator or None
    verbose : int; nothing is printed, see `pellucid.watching`
    warm_start : bool, default=False
        Keep the trees and add more.
    max_samples : int, share or None (as many draws as samples)
    monotonic_cst : by column 1 (up), -1 (down) or 0, or a dict {name: sign}; one target only
    oob_importances : bool, default=False
        What each column is worth to the rows that a tree did not see.
    table : Table, optional

    Attributes
    ----------
    trees_ : list of `Nodes`; estimators_ : the same as fitted trees
    feature_importances_, oob_score_, oob_prediction_, oob_importances_, oob_importances_std_,
    n_outputs_, n_features_in_, feature_names_in_, schema_

    Examples
    --------
    >>> from pellucid.ensemble import RandomForestRegressor
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 5, [0.0, 0.0, 1.0, 1.0] * 5
    >>> RandomForestRegressor(20, random_state=0).fit(X, y).predict([[0.0], [3.0]])
    array([0., 1.])
    """
