"""What the two histogram boosting classes share: parameters, early stopping, settings of the rounds."""

from typing import Any

import numpy as np

from pellucid.data import Problem
from pellucid.ensemble.boosting.base import Boosting
from pellucid.errors import ParameterError
from pellucid.parameters import (
    Boolean,
    Choice,
    Either,
    Integer,
    Nothing,
    RandomState,
    Real,
    Test,
    Verbose,
)

MANY_ROWS = 10_000  # samples above which early_stopping="auto" stops early
_open = Real(0, 1, "neither")
SHARE_OR_COUNT = Either(
    Test(
        lambda v: isinstance(v, float | np.floating) and _open.accepts(v),
        "a float in the range (0.0, 1.0)",
    ),
    Integer(1),
)
SEQUENCE = Test(
    lambda v: isinstance(v, list | tuple | set | np.ndarray) or hasattr(v, "__array__"),
    "a sequence",
)
GROUPS = Test(
    lambda v: isinstance(v, list | tuple) and all(isinstance(g, list | tuple | set) for g in v),
    "a list of groups of column numbers",
)
MAPPING = Test(lambda v: isinstance(v, dict), "a dict")
HIST_PARAMETERS = {
    "learning_rate": Real(0, None, "neither"),
    "max_iter": Integer(1),
    "max_leaf_nodes": Either(Integer(2), Nothing),
    "max_depth": Either(Integer(1), Nothing),
    "min_samples_leaf": Integer(1),
    "l2_regularization": Real(0, None),
    "max_features": Real(0, 1, "right"),
    "max_bins": Integer(2, 255),
    "categorical_features": Either(Choice("from_dtype"), Nothing),
    "monotonic_cst": Either(SEQUENCE, MAPPING, Nothing),
    "interaction_cst": Either(GROUPS, Choice("pairwise", "no_interactions"), Nothing),
    "warm_start": Boolean,
    "early_stopping": Either(Choice("auto"), Boolean),
    "scoring": Either(Choice("loss"), Nothing),
    "validation_fraction": Either(SHARE_OR_COUNT, Nothing),
    "n_iter_no_change": Integer(1),
    "tol": Real(0, None),
    "verbose": Verbose,
    "random_state": RandomState,
    "subsample": Real(0, 1, "right"),
}


class HistBoosting(Boosting):
    """Family of the histogram boosting models."""

    # The checks fit hundreds of times to a few dozen rows; leaves of 20 would divide hardly any.
    _check_params = {"max_iter": 5, "min_samples_leaf": 5}
    _invariant = ("column scale",)

    def _stops_early(self, problem: Problem) -> bool:
        if self._given is not None:
            if self.early_stopping is False:
                raise ParameterError(
                    "X_val and y_val are for early stopping, but early_stopping=False."
                )
            return True
        if self.early_stopping == "auto":
            return problem.total > MANY_ROWS
        return bool(self.early_stopping)

    def _settings(self, problem: Problem) -> Any:
        from pellucid.ensemble.boosting.interactions import interaction_groups
        from pellucid.ensemble.boosting.rounds import Settings
        from pellucid.tree.histogram_grower import UNLIMITED, Limits
        from pellucid.tree.monotonic import monotone_signs

        owner = type(self).__name__
        stops = self._stops_early(problem)
        if stops and self._given is None and self.validation_fraction is None:
            raise ParameterError(
                "Early stopping needs validation_fraction, or X_val and y_val in fit."
            )
        limits = Limits(
            l2=float(self.l2_regularization), min_samples_leaf=float(self.min_samples_leaf),
            share=float(self.max_features), max_leaves=self.max_leaf_nodes or UNLIMITED,
            max_depth=self.max_depth or UNLIMITED,
        )  # fmt: skip
        return Settings(
            rounds=int(self.max_iter), rate=float(self.learning_rate), limits=limits,
            max_bins=int(self.max_bins), subsample=float(self.subsample),
            signs=monotone_signs(self.monotonic_cst, problem.schema, owner),
            groups=interaction_groups(self.interaction_cst, problem.p, owner),
            patience=int(self.n_iter_no_change) if stops else None, tol=float(self.tol),
            score=None if self.scoring == "loss" else self._own_score,
            seed=self._seed(self.subsample < 1 or self.max_features < 1),
        )  # fmt: skip

    def _learn_rounds(self, problem: Problem, objective: Any) -> dict[str, Any]:
        settings = self._settings(problem)
        self._check_signs(settings)
        found, more = self._boosted(problem, objective, settings, self.validation_fraction)
        stops, levels = settings.patience is not None, problem.n_levels > 0
        del more["init_"]  # the best constant alone
        return more | {
            "trees_": found.trees,
            "baseline_": found.start,
            "n_iter_": found.trees.n_rounds,
            "n_trees_per_iteration_": objective.outputs,
            "history_": self._whole_history(found.history),
            "do_early_stopping_": stops,
            "train_score_": self._scores_so_far("train_score_", found.train_scores, stops),
            "validation_score_": self._scores_so_far(
                "validation_score_", found.validation_scores, stops
            ),
            "is_categorical_": levels if levels.any() else None,
        }

    def _scores_so_far(self, name: str, latest: np.ndarray, stops: bool) -> np.ndarray:
        """Scores that early stopping looked at, those of an earlier fit first; its last is our first."""
        earlier = self._earlier(name)
        if not stops or earlier is None or not len(earlier):
            return latest if stops else np.empty(0)
        return np.concatenate((earlier, latest[1:]))

    def _fit_with(
        self, given: tuple[Any, Any, Any, Any], X: Any, y: Any, weights: Any, offset: Any
    ) -> Any:
        """Fit with the user's validation rows, if there are any."""
        if any(part is not None for part in given):
            if given[0] is None or given[1] is None:
                raise ParameterError("X_val and y_val must be given together.")
            if (offset is None) != (given[3] is None):
                raise ParameterError(
                    "offset and offset_val must be given together: early stopping scores validation "
                    "rows as training rows are fitted."
                )
            self._given = given
        try:
            return self._learn(X, y, weights=weights, offset=offset)
        finally:
            vars(self).pop("_given", None)
