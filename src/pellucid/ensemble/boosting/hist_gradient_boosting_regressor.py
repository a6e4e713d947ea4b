"""Histogram boosting that predicts numbers: the public class and its parameters."""

from typing import Any, Self

from pellucid.base import Regressor
from pellucid.data import Problem
from pellucid.ensemble.boosting.hist_gradient_boosting import HIST_PARAMETERS, HistBoosting
from pellucid.ensemble.boosting.regression import NumberBoosting
from pellucid.errors import ParameterError
from pellucid.parameters import Choice, Either, Nothing, Real

_LOSSES = ("squared_error", "absolute_error", "gamma", "poisson", "quantile")


class HistGradientBoostingRegressor(HistBoosting, NumberBoosting, Regressor):
    """Trees added one after the other, each a step down the slope of the loss:

        f(x) = f_0 + sum_t learning_rate * tree_t(x) + offset

    Tree t minimises sum_i w_i (g_i v + h_i v^2 / 2) + l2_regularization / 2 * v^2 over its leaves'
    values v, with slope g and curvature h of the loss at the present predictions. Columns are cut
    into `max_bins` bins; leaves are divided best first.

    Categorical columns are divided into two sets of levels, in the order of their mean slope;
    missing values are tried on both sides. A weight of k means k copies of the row.

    Parameters
    ----------
    loss : {"squared_error", "absolute_error", "gamma", "poisson", "quantile"}
        "gamma" and "poisson" predict exp(f).
    quantile : float in [0, 1], for loss="quantile"
    learning_rate : float > 0, default=0.1
    max_iter : int, default=100
        Rounds, one tree each.
    max_leaf_nodes : int or None, default=31
    max_depth : int or None
    min_samples_leaf : int, default=20
        Samples are sums of weights if all weights are integers, else rows.
    l2_regularization : float >= 0, default=0
    max_features : share of the columns drawn at each node, default=1.0
    max_bins : int up to 255
    categorical_features : "from_dtype" or None
        Both follow the table's own kinds; `table=Table(kinds={...})` changes them.
    monotonic_cst : by column 1 (up), -1 (down) or 0, or a dict {name: sign}
    interaction_cst : "pairwise", "no_interactions" or groups of column numbers
        Columns of different groups never meet on one path.
    warm_start : bool
        Keep the trees and add more.
    early_stopping : "auto" (above 10,000 samples) or bool
        Stop when the score of the validation rows has not improved for `n_iter_no_change` rounds.
    scoring : "loss" or None (R2): what early stopping looks at
    validation_fraction : share, or number, of the samples kept for validation
    n_iter_no_change : int, default=10
    tol : float, default=1e-7
    verbose : without effect; see `pellucid.watching`
    random_state : int, generator or None
    subsample : share of the samples that each tree is grown on, keyword-only, default=1.0
    table : Table, optional

    Attributes
    ----------
    trees_ : `BoostedTrees`, plain arrays of all trees
    baseline_ : (1,), f_0
    history_ : mean loss of the training (and validation) rows after each round
    feature_importances_ : share of the gain by column
    n_iter_, train_score_, validation_score_, do_early_stopping_, is_categorical_,
    n_trees_per_iteration_, n_features_in_, feature_names_in_, schema_

    Examples
    --------
    >>> from pellucid.ensemble import HistGradientBoostingRegressor
    >>> X = [[float(i), "ab"[i % 2]] for i in range(40)]
    >>> y = [i / 10 + 5 * (i % 2) for i in range(40)]
    >>> model = HistGradientBoostingRegressor(min_samples_leaf=2).fit(X, y)
    >>> model.predict([[20.0, "a"], [20.0, "b"]]).round()
    array([2., 7.])
    """

    _parameters = HIST_PARAMETERS | {
        "loss": Choice(*_LOSSES),
        "quantile": Either(Real(0, 1, "both"), Nothing),
    }

    def __init__(
        self,
        loss: str = "squared_error",
        *,
        quantile: float | None = None,
        learning_rate: float = 0.1,
        max_iter: int = 100,
        max_leaf_nodes: int | None = 31,
        max_depth: int | None = None,
        min_samples_leaf: int = 20,
        l2_regularization: float = 0.0,
        max_features: float = 1.0,
        max_bins: int = 255,
        categorical_features: Any = "from_dtype",
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        warm_start: bool = False,
        early_stopping: Any = "auto",
        scoring: Any = "loss",
        validation_fraction: Any = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-7,
        verbose: int = 0,
        random_state: Any = None,
        subsample: float = 1.0,
        table: Any = None,
    ) -> None:
        self.loss = loss
        self.quantile = quantile
        self.learning_rate = learning_rate
        self.max_iter = max_iter
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.max_features = max_features
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.warm_start = warm_start
        self.early_stopping = early_stopping
        self.scoring = scoring
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.subsample = subsample
        self.table = table

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
        offset: Any = None,
        offset_val: Any = None,
    ) -> Self:
        """Run the rounds. `offset` is added to every row's raw prediction; `X_val`, `y_val` are the
        rows that early stopping looks at, instead of a part of X, with offsets `offset_val`.
        """
        given = (X_val, y_val, sample_weight_val, offset_val)
        return self._fit_with(given, X, y, sample_weight, offset)

    def _loss_name(self) -> tuple[str, float | None]:
        if self.loss != "quantile":
            return self.loss, None
        if self.quantile is None:
            raise ParameterError(
                f"loss='quantile' of {type(self).__name__} needs the parameter 'quantile'."
            )
        return self.loss, float(self.quantile)

    def _fit(self, problem: Problem) -> dict[str, Any]:
        return self._learn_rounds(self._in_order(problem), self._objective())
