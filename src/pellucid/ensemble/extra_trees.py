"""Extremely randomised trees: thresholds are drawn too, rows are not."""

from typing import Any

from pellucid.ensemble.forest_classifier import ForestClassifier
from pellucid.ensemble.forest_regressor import ForestRegressor


class ExtraTreesClassifier(ForestClassifier):
    """Mean of the class shares of many trees whose thresholds are drawn.

    p(k | x) = 1/B sum_b p_b(k | x); a node draws `max_features` columns, one threshold (or set of
    levels) for each, and takes the best of these.

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
    bootstrap : bool, default=False
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
    >>> from pellucid.ensemble import ExtraTreesClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 5, [0, 0, 1, 1] * 5
    >>> ExtraTreesClassifier(20, random_state=0).fit(X, y).predict([[0.2], [2.8]])
    array([0, 1])
    """

    _splitter = "random"

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "gini",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = "sqrt",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = False,
        oob_score: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        class_weight: Any = None,
        ccp_alpha: float = 0.0,
        max_samples: Any = None,
        monotonic_cst: Any = None,
        oob_importances: bool = False,
        table: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.class_weight = class_weight
        self.ccp_alpha = ccp_alpha
        self.max_samples = max_samples
        self.monotonic_cst = monotonic_cst
        self.oob_importances = oob_importances
        self.table = table


class ExtraTreesRegressor(ForestRegressor):
    """Mean of the predictions of many trees whose thresholds are drawn.

    f(x) = 1/B sum_b f_b(x); a node draws `max_features` columns, one threshold (or set of levels)
    for each, and takes the best of these.

    Missing values, categories and weights are treated as by a single tree: sets of levels, a
    learned side, weight k = k copies. Each tree has its own random stream: results do not depend
    on `n_jobs`.

    Parameters
    ----------
    n_estimators : int, default=100
    criterion : {"squared_error", "absolute_error", "poisson", "gamma"}
    max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf, max_leaf_nodes,
        min_impurity_decrease, ccp_alpha : as in `DecisionTreeRegressor`
    max_features : int, share, "sqrt", "log2" or None, default=1.0
        Columns drawn at each node.
    bootstrap : bool, default=False
    oob_score : bool or function (y, predicted) -> number, default=False
        Score each row by the trees that did not see it.
    n_jobs : int or None
    random_state : int, generator or None
    verbose : int; nothing is printed, see `pellucid.watching`
    warm_start : bool, default=False
        Keep the trees and add more.
    max_samples : int, share or None (as many draws as samples)
    monotonic_cst : by column 1 (up), -1 (down) or 0, or a dict {name: sign}
    oob_importances : bool, default=False
        What each column is worth to the rows that a tree did not see.
    table : Table, optional

    Attributes
    ----------
    trees_ : list of `Nodes`; estimators_ : the same as fitted trees
    feature_importances_, oob_score_, oob_prediction_, oob_importances_, oob_importances_std_,
    n_features_in_, feature_names_in_, schema_

    Examples
    --------
    >>> from pellucid.ensemble import ExtraTreesRegressor
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]] * 5, [0.0, 0.0, 1.0, 1.0] * 5
    >>> ExtraTreesRegressor(20, random_state=0).fit(X, y).predict([[0.0], [3.0]])
    array([0., 1.])
    """

    _splitter = "random"

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = 1.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = False,
        oob_score: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        ccp_alpha: float = 0.0,
        max_samples: Any = None,
        monotonic_cst: Any = None,
        oob_importances: bool = False,
        table: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.ccp_alpha = ccp_alpha
        self.max_samples = max_samples
        self.monotonic_cst = monotonic_cst
        self.oob_importances = oob_importances
        self.table = table
