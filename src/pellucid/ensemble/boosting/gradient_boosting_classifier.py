"""Gradient boosting of classes with scikit-learn's older names: the public class."""

from typing import Any, Self

from pellucid.data import Problem
from pellucid.ensemble.boosting.classification import ClassBoosting
from pellucid.ensemble.boosting.gradient_boosting import GRADIENT_PARAMETERS, GradientBoosting
from pellucid.parameters import Choice


class GradientBoostingClassifier(GradientBoosting, ClassBoosting):
    """Small trees added one after the other, each a step down the slope of the loss:

        f(x) = f_0 + sum_t learning_rate * tree_t(x)

    where f are log-odds for two classes, and softmax(f) the probabilities of more.

    The engine is that of `HistGradientBoostingClassifier`: columns are cut into at most 255 bins, and
    a division is judged by the drop of the loss's quadratic model. Categorical columns are divided
    into sets of levels, missing values are tried on both sides.

    Parameters
    ----------
    loss : {"log_loss", "exponential"}, default="log_loss"
        The exponential loss, for two classes, is AdaBoost's; f is half of the log-odds then.
    learning_rate : float >= 0, default=0.1
    n_estimators : int, default=100
        Rounds, one tree per output each.
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
    classes_, n_classes_, baseline_, history_, train_score_, feature_importances_, n_estimators_,
    init_, oob_improvement_, oob_scores_, oob_score_ (with `subsample`), n_iter_,
    n_trees_per_iteration_, max_features_, n_features_in_, feature_names_in_, schema_

    Examples
    --------
    >>> from pellucid.ensemble import GradientBoostingClassifier
    >>> X, y = [[float(i)] for i in range(20)], ["low"] * 10 + ["high"] * 10
    >>> GradientBoostingClassifier().fit(X, y).predict([[3.0], [15.0]]).tolist()
    ['low', 'high']
    """

    _parameters = GRADIENT_PARAMETERS | {
        "loss": Choice("log_loss", "exponential"),
    }

    def __init__(
        self,
        *,
        loss: str = "log_loss",
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
        """Run the rounds. `offset` is added to every row's log-odds."""
        self._refuse_monitor(monitor)
        return self._learn(X, y, weights=sample_weight, offset=offset)

    def _fit(self, problem: Problem) -> dict[str, Any]:
        assert problem.classes is not None
        K, problem = len(problem.classes), self._in_order(problem)
        return self._learn_rounds(problem, self._objective(problem)) | {"n_classes_": K}

    def _check_state(self) -> None:
        super()._check_state()
        self._check_first()
