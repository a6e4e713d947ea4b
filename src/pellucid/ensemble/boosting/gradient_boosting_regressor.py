"""Gradient boosting of numbers with scikit-learn's older names: the public class."""

from typing import Any, Self

from pellucid.base import Regressor
from pellucid.data import Problem
from pellucid.ensemble.boosting.gradient_boosting import GRADIENT_PARAMETERS, GradientBoosting
from pellucid.ensemble.boosting.regression import NumberBoosting
from pellucid.parameters import Choice, Real


class GradientBoostingRegressor(GradientBoosting, NumberBoosting, Regressor):
    """Small trees added one after the other, each a step down the slope of the loss:

        f(x) = f_0 + sum_t learning_rate * tree_t(x) + offset

    The engine is that of `HistGradientBoostingRegressor`: columns are cut into at most 255 bins, and
    a division is judged by the drop of the loss's quadratic model. Categorical columns are divided
    into sets of levels, missing values are tried on both sides.

    Parameters
    ----------
    loss : {"squared_error", "absolute_error", "huber", "quantile"}
    learning_rate : float >= 0, default=0.1
    n_estimators : int, default=100
        Rounds, one tree each.
    subsample : share of the samples that each tree is grown on, default=1.0
    min_samples_split, min_samples_leaf : int, or share of the samples
    min_weight_fraction_leaf : share of the total weight that a leaf needs
    max_depth : int or None, default=3
    min_impurity_decrease : float >= 0
        Drop of the mean loss's quadratic model (twice) that a division needs.
    init : None (the best constant), "zero", or a model
        What boosting starts from; a model is fitted to the training rows first.
    random_state : int, generator or None
    max_features : int, share, "sqrt", "log2" or None (all): columns drawn at each node
    alpha : quantile of loss="quantile", or of the residuals that loss="huber" squares, default=0.9
    verbose : without effect; see `pellucid.watching`
    max_leaf_nodes : int or None
    warm_start : bool
    validation_fraction : share of the samples kept for early stopping
    n_iter_no_change : int or None
        Stop when the validation loss has not improved for so many rounds.
    tol : float, default=1e-4
    ccp_alpha : float >= 0, default=0.0
        Price of a leaf, in the unit of `min_impurity_decrease`; branches that gain less go.
    table : Table, optional

    Attributes
    ----------
    trees_ : `BoostedTrees`, plain arrays of all trees; estimators_ : the same as regressors
    baseline_, history_, train_score_, feature_importances_, n_estimators_, n_iter_,
    init_, oob_improvement_, oob_scores_, oob_score_ (with `subsample`), n_trees_per_iteration_,
    max_features_, n_features_in_, feature_names_in_, schema_

    Examples
    --------
    >>> from pellucid.ensemble import GradientBoostingRegressor
    >>> X, y = [[float(i)] for i in range(20)], [i // 10 * 5.0 for i in range(20)]
    >>> GradientBoostingRegressor().fit(X, y).predict([[3.0], [15.0]]).round(3)
    array([0., 5.])
    """

    _parameters = GRADIENT_PARAMETERS | {
        "loss": Choice("squared_error", "absolute_error", "huber", "quantile"),
        "alpha": Real(0, 1, "neither"),
    }

    def __init__(
        self,
        *,
        loss: str = "squared_error",
        learning_rate: float = 0.1,
        n_estimators: int = 100,
        subsample: float = 1.0,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_depth: int | None = 3,
        min_impurity_decrease: float = 0.0,
        init: Any = None,
        random_state: Any = None,
        max_features: Any = None,
        alpha: float = 0.9,
        verbose: int = 0,
        max_leaf_nodes: int | None = None,
        warm_start: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int | None = None,
        tol: float = 1e-4,
        ccp_alpha: float = 0.0,
        table: Any = None,
    ) -> None:
        self.loss = loss
        self.learning_rate = learning_rate
        self.n_estimators = n_estimators
        self.subsample = subsample
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_depth = max_depth
        self.min_impurity_decrease = min_impurity_decrease
        self.init = init
        self.random_state = random_state
        self.max_features = max_features
        self.alpha = alpha
        self.verbose = verbose
        self.max_leaf_nodes = max_leaf_nodes
        self.warm_start = warm_start
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.ccp_alpha = ccp_alpha
        self.table = table

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, monitor: Any = None, *, offset: Any = None
    ) -> Self:
        """Run the rounds. `offset` is added to every row's prediction."""
        self._refuse_monitor(monitor)
        return self._learn(X, y, weights=sample_weight, offset=offset)

    def _loss_name(self) -> tuple[str, float | None]:
        return self.loss, float(self.alpha) if self.loss in ("quantile", "huber") else None

    def _fit(self, problem: Problem) -> dict[str, Any]:
        return self._learn_rounds(self._in_order(problem), self._objective())

    def _check_state(self) -> None:
        super()._check_state()
        self._check_first()
