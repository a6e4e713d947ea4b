"""Histogram gradient boosting: the classifier, the regressor and what they share."""

from dataclasses import replace
from typing import Any, Self

import numpy as np

from pellucid.base import Estimator
from pellucid.data import Problem, Table, prepare
from pellucid.data.opening import opened
from pellucid.ensemble.boosting import base, boosting_parameters
from pellucid.ensemble.boosting.classifier import BoostingClassifier
from pellucid.ensemble.boosting.regressor import BoostingRegressor
from pellucid.ensemble.boosting.trees import BoostedTrees
from pellucid.errors import DataError, ParameterError
from pellucid.parallel.shard import shard
from pellucid.parameters import (
    Boolean,
    Choice,
    Function,
    Integer,
    Predicate,
    Real,
    changed,
    learned,
    param,
    positional,
    shared,
)
from pellucid.protocol import copied
from pellucid.tree.growth_parameters import MAX_DEPTH, MAX_LEAF_NODES, MONOTONIC_CST, share

MANY_ROWS = 10_000  # samples above which early_stopping="auto" stops early
SEQUENCE = Predicate(
    lambda v: isinstance(v, list | tuple | set | np.ndarray) or hasattr(v, "__array__"),
    "a sequence",
)
GROUPS = Predicate(
    lambda v: isinstance(v, list | tuple) and all(isinstance(g, list | tuple | set) for g in v),
    "a list of groups of column numbers",
)
MAPPING = Predicate(lambda v: isinstance(v, dict), "a dict")
# Losses whose leaves need sums of their rows, not quantiles.
SHARED_LOSSES = ("log_loss", "squared_error", "poisson", "gamma")
Validation = tuple[Any, Any, Any, Any]  # X_val, y_val, sample_weight_val, offset_val


class HistGradientBoosting(Estimator):
    """Family of the histogram boosting models.

    `_objective` and `_validation_score` come from `BoostingClassifier` or `BoostingRegressor`, the
    second base of each public class.
    """

    learning_rate: float = boosting_parameters.LEARNING_RATE
    max_iter: int = boosting_parameters.ROUNDS
    max_leaf_nodes: int | None = MAX_LEAF_NODES.replace(default=31)
    max_depth: int | None = MAX_DEPTH
    min_samples_leaf: int = param(
        20,
        Integer(1),
        "Smallest number of samples in a leaf. Samples are sums of weights if all weights are "
        "integers, otherwise rows.",
    )
    l2_regularization: float = param(
        0.0, Real(0, None), "Strength of the L2 penalty on the values of the leaves."
    )
    max_features: float = param(
        1.0, Real(0, 1, "right"), "Share of the columns that is drawn at random at each node."
    )
    max_bins: int = param(
        255, Integer(2, 255), "Largest number of bins for the values of a column."
    )
    categorical_features: Any = param(
        "from_dtype",
        Choice("from_dtype") | SEQUENCE | None,
        "Columns that are categorical, by number or name, or as one bool per column. 'from_dtype' and "
        "None use the kinds of the table, which `table=Table(kinds={...})` changes for any model.",
    )
    monotonic_cst: Any = MONOTONIC_CST.replace(check=SEQUENCE | MAPPING | None)
    interaction_cst: Any = param(
        None,
        GROUPS | Choice("pairwise", "no_interactions") | None,
        "Groups of columns, by number, that may be split on the same path. 'pairwise' allows any two "
        "columns, 'no_interactions' a single one. None allows all.",
    )
    warm_start: bool = boosting_parameters.CONTINUE
    early_stopping: Any = param(
        "auto",
        Choice("auto") | Boolean,
        "Whether to stop when the score of the validation rows has not improved for "
        "`n_iter_no_change` rounds. 'auto' does so above 10,000 samples.",
    )
    scoring: Any = param(
        "loss",
        Choice("loss")
        | None
        | Predicate(lambda v: isinstance(v, str), "the name of a scorer", "str")
        | Function,
        "Score for early stopping: 'loss' is the loss of the model, None is accuracy for a classifier "
        "and R2 for a regressor; or the name of a scorer of scikit-learn, or a function (estimator, X, "
        "y) -> number. The estimator that a scorer gets answers for the X that comes with it alone.",
    )
    validation_fraction: Any = param(
        0.1,
        share(")") | Integer(1) | None,
        "Share, or number, of the samples that is held back for early stopping. None holds none back: "
        "the score of the training rows decides, unless `fit` gets X_val and y_val.",
    )
    n_iter_no_change: int = param(
        10, Integer(1), "Number of rounds without a better score after which boosting stops."
    )
    tol: float = boosting_parameters.TOL.replace(default=1e-7)
    verbose: int = shared.VERBOSE
    random_state: Any = shared.RANDOM_STATE
    subsample: float = boosting_parameters.SUBSAMPLE.replace(last=True)

    trees_: BoostedTrees = learned(boosting_parameters.TREES)
    baseline_: np.ndarray = learned(boosting_parameters.BASELINE)
    history_: dict[str, np.ndarray] = learned(boosting_parameters.LOSSES_BY_ROUND)
    n_iter_: int = learned(boosting_parameters.N_ROUNDS)
    n_trees_per_iteration_: int = learned(boosting_parameters.TREES_PER_ROUND)
    do_early_stopping_: bool = learned("Whether the rounds could stop early.")
    train_score_: np.ndarray = learned(
        "Score of the training rows before the first and after each round; empty without early "
        "stopping."
    )
    validation_score_: np.ndarray = learned(
        "Score of the validation rows before the first and after each round; empty without early "
        "stopping."
    )
    validation_seed_: np.ndarray = learned(boosting_parameters.VALIDATION_SEED)
    is_categorical_: np.ndarray | None = learned(
        "True for categorical columns, shape (n_features,); None if there is none."
    )

    _layout = "codes"
    _rows = "canonical_view"
    _reads_rows = True
    _shares_rows = property(
        lambda self: (
            self.loss in SHARED_LOSSES
            and self.subsample == 1
            and self.scoring == "loss"
            and not self.warm_start
        )
    )
    _invariant = ("column scale",)
    # The checks fit hundreds of times to a few dozen rows; leaves of 20 would allow hardly any split.
    _check_params = {"max_iter": 5, "min_samples_leaf": 5}

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
        """Run the rounds.

        `offset` is added to the raw prediction of each row, which for a classifier is the log-odds.
        `X_val` and `y_val` are the validation rows for early stopping, instead of a part of X, with
        the offsets `offset_val`.
        """
        validation = (X_val, y_val, sample_weight_val, offset_val)
        if all(part is None for part in validation):
            return self._learn(X, y, sample_weight, offset)
        if X_val is None or y_val is None:
            raise ParameterError("X_val and y_val must be given together.")
        if (offset is None) != (offset_val is None):
            raise ParameterError(
                "offset and offset_val must be given together, because validation rows are scored as "
                "training rows are fitted."
            )
        return self._learn(X, y, sample_weight, offset, validation=validation)

    def _working_copy(self) -> Self:
        """A copy for a fit, with `categorical_features` as kinds of its table."""
        work, given = super()._working_copy(), self.categorical_features
        if given is not None and not isinstance(given, str) and SEQUENCE.accepts(given):
            cells = list(given)
            mask = bool(cells) and Boolean.accepts(cells[0])
            columns = np.flatnonzero(cells).tolist() if mask else cells
            if not all(isinstance(column, str | int | np.integer) for column in columns):
                raise ParameterError(
                    f"categorical_features of {type(self).__name__} must be a mask, or the names or "
                    f"positions of columns. Got {given!r}."
                )
            table = self.table or Table()
            kinds = dict(table.kinds or {}) | dict.fromkeys(columns, "categorical")
            work.table = copied(table).set_params(kinds=kinds)
        return work

    def _fit(self, problem: Problem, validation: Validation | None = None) -> dict[str, Any]:
        from pellucid.ensemble.boosting import fit_boosting

        if problem.classes is not None and problem.n_classes > 2 and self.monotonic_cst is not None:
            raise ParameterError(
                "monotonic_cst needs two classes: with more, raising the probability of one class "
                "lowers others."
            )
        if validation is not None and shard() is not None:
            raise DataError(
                "X_val and y_val cannot be used by Dask workers. Use validation_fraction, which holds "
                "rows of the frame back."
            )
        if self.warm_start:  # the earlier trees need the rows, the rounds only their bins
            problem = problem.gathered()
        if vars(self).get("class_weight") is not None:
            problem = fit_boosting.with_class_weight(problem, self.class_weight)
        objective, stops = self._objective(problem), self._stops_early(problem, validation)
        settings = self._settings(problem, objective, stops)
        earlier = fit_boosting.earlier_fit(self, "max_iter")
        rows = held = self.validation_fraction
        if validation is not None:
            rows = self._prepared(problem, *validation)
        elif stops and held is None:
            rows = problem.gathered()
        spec = fit_boosting.BoostingSpec(
            objective, settings, rows, self.random_state, earlier=earlier
        )
        found, levels = fit_boosting.fit_boosting(problem, spec), problem.n_levels > 0

        def scores(name: str, latest: np.ndarray) -> np.ndarray:
            """The scores for early stopping, those of an earlier fit first; its last is our first."""
            before = earlier.get(name, ())
            return np.concatenate((before, latest[1:])) if len(before) else latest

        none, outcome = np.empty(0), found.outcome
        apart = stops and (held is not None or validation is not None)
        return found.learned(earlier) | {
            "do_early_stopping_": stops,
            "train_score_": scores("train_score_", outcome.train_scores) if stops else none,
            "validation_score_": (
                scores("validation_score_", outcome.validation_scores) if apart else none
            ),
            "is_categorical_": levels if levels.any() else None,
        }

    def _stops_early(self, problem: Problem, validation: Validation | None) -> bool:
        if validation is not None:
            if self.early_stopping is False:
                raise ParameterError(
                    "X_val and y_val are for early stopping, but early_stopping=False."
                )
            return True
        stops = self.early_stopping
        return problem.total > MANY_ROWS if stops == "auto" else bool(stops)

    def _prepared(self, problem: Problem, X: Any, y: Any, weights: Any, offset: Any) -> Problem:
        """Validation rows with the columns and classes of the training rows."""
        X, y, weights, offset = opened(X, y, weights, offset)
        spec = replace(
            self._input_spec(), schema=problem.schema, classes=problem.classes, rows="user"
        )
        validation = prepare(X, y, weights, offset, self.table, spec)[0]
        if validation.classes is None:
            self._check_target(validation)
        return validation

    def _settings(self, problem: Problem, objective: Any, stops: bool) -> Any:
        from pellucid.ensemble.boosting.interactions import interaction_groups
        from pellucid.ensemble.boosting.rounds import Settings
        from pellucid.tree.growth_parameters import monotone_signs
        from pellucid.tree.histogram_grower import UNLIMITED, HistogramLimits

        owner = type(self).__name__
        limits = HistogramLimits(
            l2=float(self.l2_regularization), min_samples_leaf=float(self.min_samples_leaf),
            share=float(self.max_features), max_leaves=self.max_leaf_nodes or UNLIMITED,
            max_depth=self.max_depth or UNLIMITED,
        )  # fmt: skip
        signs = monotone_signs(self.monotonic_cst, problem.schema, owner)
        if signs is not None and objective.renew is not None:
            raise ParameterError(
                f"monotonic_cst does not work with loss={self.loss!r}, because the quantiles of "
                "leaves need not keep their order. Use another loss."
            )
        return Settings(
            rounds=int(self.max_iter), rate=float(self.learning_rate), limits=limits,
            max_bins=int(self.max_bins), subsample=float(self.subsample), signs=signs,
            groups=interaction_groups(self.interaction_cst, problem.p, owner),
            patience=int(self.n_iter_no_change) if stops else None, tol=float(self.tol),
            score=self._score_to_stop(),
            seed=boosting_parameters.seed_if(
                self.subsample < 1 or self.max_features < 1, self.random_state
            ),
        )  # fmt: skip

    def _score_to_stop(self) -> Any:
        """A function (raw predictions, rows) -> number, or None for the loss."""
        from pellucid.ensemble.boosting.stopping_score import stopping_score

        if self.scoring is None:
            return self._validation_score
        is_loss = isinstance(self.scoring, str) and self.scoring == "loss"
        return None if is_loss else stopping_score(self)

    _watches_rows, _at_step = True, base.at_step
    feature_importances_ = property(base.importances)
    _check_state = base.check_trees


class HistGradientBoostingClassifier(HistGradientBoosting, BoostingClassifier):
    """Trees added one after the other, each a step along the negative gradient of the loss:

        f(x) = f_0 + sum_t learning_rate * tree_t(x)

    where f are log-odds for two classes, and softmax(f) the probabilities of more, with one tree
    per class and round. Tree t minimises sum_i w_i (g_i v + h_i v^2 / 2) + l2_regularization / 2 * v^2
    over the values v of its leaves, with gradient g and curvature h of the loss at the current
    predictions. The values of a column are put into `max_bins` bins; the best leaf is split first.

    Categorical columns are split into two sets of levels, in the order of their mean gradient;
    missing values are tried on both sides. A weight of k means k copies of the row.

    Examples
    --------
    >>> from pellucid.ensemble import HistGradientBoostingClassifier
    >>> X = [[float(i), "ab"[i % 2]] for i in range(40)]
    >>> y = ["low" if i < 20 else "ab"[i % 2] for i in range(40)]
    >>> model = HistGradientBoostingClassifier(min_samples_leaf=2).fit(X, y)
    >>> model.predict([[5.0, "a"], [30.0, "a"], [30.0, "b"]]).tolist()
    ['low', 'a', 'b']
    """

    loss: str = positional(
        default="log_loss",
        check=Choice("log_loss"),
        description="Loss that the rounds reduce.",
        kw_only=False,
    )
    class_weight: Any = shared.CLASS_WEIGHT.replace(
        description="Factors for the weights of the rows by class. 'balanced' gives every class the "
        "same total weight."
    )
    monotonic_cst: Any = changed(
        description="How the probability of the second of two classes may move with each column: "
        "1 up, -1 down, 0 either way. A list has one number for each column, a dict names columns."
    )


class HistGradientBoostingRegressor(HistGradientBoosting, BoostingRegressor):
    """Trees added one after the other, each a step along the negative gradient of the loss:

        f(x) = f_0 + sum_t learning_rate * tree_t(x) + offset

    Tree t minimises sum_i w_i (g_i v + h_i v^2 / 2) + l2_regularization / 2 * v^2 over the values v of
    its leaves, with gradient g and curvature h of the loss at the current predictions. The values of
    a column are put into `max_bins` bins; the best leaf is split first.

    Categorical columns are split into two sets of levels, in the order of their mean gradient;
    missing values are tried on both sides. A weight of k means k copies of the row.

    Examples
    --------
    >>> from pellucid.ensemble import HistGradientBoostingRegressor
    >>> X = [[float(i), "ab"[i % 2]] for i in range(40)]
    >>> y = [i / 10 + 5 * (i % 2) for i in range(40)]
    >>> model = HistGradientBoostingRegressor(min_samples_leaf=2).fit(X, y)
    >>> model.predict([[20.0, "a"], [20.0, "b"]]).round()
    array([2., 7.])
    """

    loss: str = positional(
        default="squared_error",
        check=Choice("squared_error", "absolute_error", "gamma", "poisson", "quantile"),
        description="Loss that the rounds reduce. 'gamma' and 'poisson' predict exp(f).",
        kw_only=False,
    )
    quantile: float | None = param(
        None, Real(0, 1, "both") | None, "Quantile that loss='quantile' predicts.", after="loss"
    )

    def _quantile(self) -> float | None:
        if self.loss == "quantile" and self.quantile is None:
            raise ParameterError(
                f"loss='quantile' of {type(self).__name__} needs the parameter 'quantile'."
            )
        return None if self.quantile is None else float(self.quantile)
