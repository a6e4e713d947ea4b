"""Gradient boosting with the names and defaults of scikit-learn's older classes.

They run on the same histogram engine as the Hist classes; parameters, scores and the criterion of the
splits differ.
"""

from typing import Any, Self

import numpy as np

from pellucid.base import Estimator
from pellucid.data import Problem
from pellucid.ensemble import collection
from pellucid.ensemble.boosting import base, boosting_parameters
from pellucid.ensemble.boosting.classifier import BoostingClassifier
from pellucid.ensemble.boosting.regressor import BoostingRegressor
from pellucid.ensemble.boosting.trees import BoostedTrees
from pellucid.errors import DataError, ParameterError
from pellucid.parameters import (
    REQUIRED,
    Choice,
    EstimatorInstance,
    Integer,
    Real,
    changed,
    learned,
    param,
    shared,
)
from pellucid.tree import growth_parameters as growth
from pellucid.tree.tree_spec import count_of, number_of_features


class GradientBoosting(Estimator):
    """Family of the boosting models with scikit-learn's older names."""

    loss: str = param(REQUIRED, Choice("log_loss"), "Loss that the rounds reduce.")
    learning_rate: float = boosting_parameters.LEARNING_RATE.replace(check=Real(0, None))
    n_estimators: int = boosting_parameters.ROUNDS
    subsample: float = boosting_parameters.SUBSAMPLE
    min_samples_split: float = growth.MIN_SAMPLES_SPLIT
    min_samples_leaf: float = growth.MIN_SAMPLES_LEAF
    min_weight_fraction_leaf: float = growth.MIN_WEIGHT_FRACTION_LEAF
    max_depth: int | None = growth.MAX_DEPTH.replace(default=3)
    min_impurity_decrease: float = param(
        0.0,
        Real(0, None),
        "Smallest gain for which a node is split: the decrease of the variance of the gradients, times "
        "the share of the samples that reach the node.",
    )
    init: Any = param(
        None,
        EstimatorInstance | Choice("zero") | None,
        "What boosting starts from: None is the best constant, 'zero' is 0. An estimator is fitted to "
        "the training rows first, and the trees correct its predictions.",
    )
    random_state: Any = shared.RANDOM_STATE
    max_features: Any = growth.MAX_FEATURES
    verbose: int = shared.VERBOSE
    max_leaf_nodes: int | None = growth.MAX_LEAF_NODES
    warm_start: bool = boosting_parameters.CONTINUE
    validation_fraction: float = param(
        0.1,
        Real(0, 1, "neither"),
        "Share of the samples that is held back for early stopping, if `n_iter_no_change` is set.",
    )
    n_iter_no_change: int | None = param(
        None,
        Integer(1) | None,
        "Number of rounds without a lower validation loss after which boosting stops. None does not "
        "stop early.",
    )
    tol: float = boosting_parameters.TOL.replace(default=1e-4)
    ccp_alpha: float = param(
        0.0,
        Real(0, None),
        "Penalty for each leaf in cost-complexity pruning, in the unit of `min_impurity_decrease`: "
        "branches that gain less are removed. 0 does not prune.",
    )

    trees_: BoostedTrees = learned(boosting_parameters.TREES)
    baseline_: np.ndarray = learned(boosting_parameters.BASELINE)
    init_: Any = learned(
        "The fitted estimator that boosting started from; None if it started from a constant."
    )
    history_: dict[str, np.ndarray] = learned(boosting_parameters.LOSSES_BY_ROUND)
    n_iter_: int = learned(boosting_parameters.N_ROUNDS)
    n_estimators_: int = learned(boosting_parameters.N_ROUNDS)
    n_trees_per_iteration_: int = learned(boosting_parameters.TREES_PER_ROUND)
    max_features_: int = learned("Number of columns drawn at each node.")
    train_score_: np.ndarray = learned(
        "Loss of the training rows after each round, in scikit-learn's units, shape (n_iter_,)."
    )
    validation_seed_: np.ndarray = learned(boosting_parameters.VALIDATION_SEED)
    oob_improvement_: np.ndarray = learned(
        "Decrease of the loss of the rows that a round did not draw, shape (n_iter_,), if "
        "`subsample` is below 1."
    )
    oob_scores_: np.ndarray = learned(
        "Loss of the rows that a round did not draw, after this round, shape (n_iter_,), if "
        "`subsample` is below 1."
    )
    oob_score_: float = learned("Last of `oob_scores_`, if `subsample` is below 1.")

    _layout = "codes"
    _substitute = "HistGradientBoosting{kind}"
    _rows = "canonical_view"
    _reads_rows = True
    _invariant = ("column scale",)
    # The checks fit hundreds of times; a few rounds show the same faults as a hundred.
    _check_params = {"n_estimators": 5}

    __len__, __getitem__ = collection.length, collection.item
    __iter__, __bool__ = collection.iterate, collection.true

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, monitor: Any = None, *, offset: Any = None
    ) -> Self:
        """Run the rounds. `offset` is added to the raw prediction of each row, which for a
        classifier is the log-odds."""
        if monitor is not None:
            raise ParameterError(
                "monitor is not supported. Follow the rounds with `pellucid.watching(progress=...)`."
            )
        return self._learn(X, y, weights=sample_weight, offset=offset)

    def _fit(self, problem: Problem) -> dict[str, Any]:
        from pellucid.ensemble.boosting import fit_boosting

        if self.warm_start or self.init is not None:  # earlier trees and other models need the rows
            problem = problem.gathered()
        objective = self._objective(problem)
        settings = self._settings(problem, objective.outputs)
        earlier = fit_boosting.earlier_fit(self, "n_estimators")
        init = None if self.init is None or self.init == "zero" else self.init
        spec = fit_boosting.BoostingSpec(
            objective, settings, self.validation_fraction, self.random_state, init, earlier
        )
        found = fit_boosting.fit_boosting(problem, spec)
        learned, rounds = found.learned(earlier), found.outcome.trees.n_rounds
        if problem.classes is not None:
            learned["n_classes_"] = problem.n_classes
        return (
            learned
            | {
                "init_": found.init,
                "n_estimators_": rounds,
                "max_features_": number_of_features(self.max_features, problem.p),
            }
            | _scores(self.loss, found.outcome, earlier)
        )

    def _settings(self, problem: Problem, outputs: int) -> Any:
        from pellucid.ensemble.boosting.rounds import Settings
        from pellucid.tree.histogram_grower import UNLIMITED, HistogramLimits

        columns = number_of_features(self.max_features, problem.p)
        limits = HistogramLimits(
            min_samples_leaf=count_of(self.min_samples_leaf, problem.total),
            min_samples_split=max(2.0, count_of(self.min_samples_split, problem.total)),
            min_curvature=1e-6, min_gain=float(self.min_impurity_decrease),
            share=columns / problem.p, max_leaves=self.max_leaf_nodes or UNLIMITED,
            max_depth=self.max_depth or UNLIMITED,
        )  # fmt: skip
        return Settings(
            rounds=int(self.n_estimators), rate=float(self.learning_rate), limits=limits,
            subsample=float(self.subsample), min_weight_share=float(self.min_weight_fraction_leaf),
            patience=None if self.n_iter_no_change is None else int(self.n_iter_no_change),
            tol=float(self.tol),
            seed=boosting_parameters.seed_if(
                self.subsample < 1 or columns < problem.p, self.random_state
            ),
            start=None if self.init is None else np.zeros(outputs),
            by_variance=True, leaf_penalty=float(self.ccp_alpha), out_of_bag=True,
        )  # fmt: skip

    _watches_rows, _at_step = True, base.at_step
    feature_importances_ = property(base.importances)

    def _check_state(self) -> None:
        """Refuse learned parts that do not belong together (model files)."""
        base.check_trees(self)
        first, needed = vars(self).get("init_"), not (self.init is None or self.init == "zero")
        if (first is not None) != needed or (needed and type(first) is not type(self.init)):
            raise DataError("the initial model is not of the class of `init`")
        if needed and (
            not isinstance(first, Estimator)
            or first.schema_.columns != self.schema_.columns
            or not np.array_equal(first.schema_.n_levels, self.schema_.n_levels)
            or list(vars(first).get("classes_", ())) != list(vars(self).get("classes_", ()))
        ):
            raise DataError("the initial model has other columns or classes")

    def apply(self, X: Any) -> np.ndarray:
        """Leaf of each row in each tree: (n, rounds) for a regressor, else (n, rounds, outputs)."""
        from pellucid.tree import prediction

        encoded = self._encoded(X)
        trees = self.trees_
        leaves = [prediction.apply(trees.tree(t), encoded) for t in range(trees.n_trees)]
        outputs = () if self._kind == "regressor" else (trees.n_outputs,)
        shape = (len(encoded), trees.n_rounds, *outputs)
        return np.stack(leaves, axis=1).reshape(shape).astype(np.float64)

    @property
    def estimators_(self) -> np.ndarray:
        """The trees as regressors, shape (n_iter_, outputs). Their values include the learning rate."""
        from pellucid.tree import DecisionTreeRegressor

        self._check_fitted()
        trees = self.trees_
        out = np.empty((trees.n_rounds, trees.n_outputs), dtype=object)
        for t in range(trees.n_trees):
            one: Any = DecisionTreeRegressor()
            one.tree_, one.schema_, one.n_outputs_ = trees.tree(t), self.schema_, 1
            one.n_features_in_ = self.n_features_in_
            out[divmod(t, trees.n_outputs)] = one
        return out


def _scores(loss: str, found: Any, earlier: Any) -> dict[str, Any]:
    """Losses by round in scikit-learn's units: whole squares, and twice the log loss of two classes.
    `history_` holds the loss that is minimised."""
    trees = found.trees
    two = loss == "log_loss" and trees.n_outputs == 1
    unit, rounds = 2.0 if two or loss == "squared_error" else 1.0, trees.n_rounds

    def by_round(name: str, latest: np.ndarray) -> np.ndarray:
        """One number per round, those of an earlier fit first; NaN for rounds without one."""
        out = np.full(rounds, np.nan)
        if earlier.get(name) is not None:
            out[: len(earlier[name])] = earlier[name]
        out[rounds - len(latest) :] = latest
        return out

    scores: dict[str, Any] = {
        "train_score_": by_round("train_score_", -unit * found.train_scores[1:])
    }
    losses = unit * found.out_of_bag
    if len(losses) or earlier.get("oob_scores_") is not None:
        after = by_round("oob_scores_", losses[:, 1])
        with np.errstate(invalid="ignore"):  # squares may be infinite
            latest = losses[:, 0] - losses[:, 1]
        scores["oob_improvement_"] = by_round("oob_improvement_", latest)
        scores |= {"oob_scores_": after, "oob_score_": float(after[-1])}
    return scores


class GradientBoostingClassifier(GradientBoosting, BoostingClassifier):
    """Small trees added one after the other, each a step along the negative gradient of the loss:

        f(x) = f_0 + sum_t learning_rate * tree_t(x)

    where f are log-odds for two classes, and softmax(f) the probabilities of more.

    The engine is that of `HistGradientBoostingClassifier`: the values of a column are put into at
    most 255 bins. A split is scored by the decrease of the variance of the gradients, as Friedman
    proposed; the value of a leaf is a Newton step. Categorical columns are split into sets of
    levels, missing values are tried on both sides.

    Examples
    --------
    >>> from pellucid.ensemble import GradientBoostingClassifier
    >>> X, y = [[float(i)] for i in range(20)], ["low"] * 10 + ["high"] * 10
    >>> GradientBoostingClassifier().fit(X, y).predict([[3.0], [15.0]]).tolist()
    ['low', 'high']
    """

    loss: str = changed(
        default="log_loss",
        check=Choice("log_loss", "exponential"),
        description="Loss that the rounds reduce. 'exponential', for two classes, is that of AdaBoost; "
        "f is then half of the log-odds.",
    )

    n_classes_: int = learned("Number of classes.")


class GradientBoostingRegressor(GradientBoosting, BoostingRegressor):
    """Small trees added one after the other, each a step along the negative gradient of the loss:

        f(x) = f_0 + sum_t learning_rate * tree_t(x) + offset

    The engine is that of `HistGradientBoostingRegressor`: the values of a column are put into at
    most 255 bins. A split is scored by the decrease of the variance of the gradients, as Friedman
    proposed; the value of a leaf is a Newton step. Categorical columns are split into sets of
    levels, missing values are tried on both sides.

    Examples
    --------
    >>> from pellucid.ensemble import GradientBoostingRegressor
    >>> X, y = [[float(i)] for i in range(20)], [i // 10 * 5.0 for i in range(20)]
    >>> GradientBoostingRegressor().fit(X, y).predict([[3.0], [15.0]]).round(3)
    array([0., 5.])
    """

    loss: str = changed(
        default="squared_error",
        check=Choice("squared_error", "absolute_error", "huber", "quantile"),
        description="Loss that the rounds reduce. 'huber' is the squared error for small residuals and "
        "the absolute error for large ones.",
    )
    alpha: float = param(
        0.9,
        Real(0, 1, "neither"),
        "Quantile that loss='quantile' predicts. For loss='huber', the quantile of the absolute "
        "residuals up to which they are squared.",
        after="max_features",
    )

    def _quantile(self) -> float | None:
        return float(self.alpha)
