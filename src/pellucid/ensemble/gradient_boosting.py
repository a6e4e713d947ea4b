"""What scikit-learn's older boosting classes share here: parameters and settings of the rounds.

They run on the same histogram engine as the Hist classes; only names and defaults differ.
"""

from typing import Any

import numpy as np

from pellucid.data import Problem
from pellucid.ensemble.boosting import Boosting
from pellucid.errors import ParameterError
from pellucid.parameters import (
    Boolean,
    Choice,
    Either,
    Integer,
    Nothing,
    RandomState,
    Real,
    Verbose,
)
from pellucid.tree.limits import COUNT_OR_SHARE, MAX_FEATURES, number_of_features

_DEPTH = 2**31 - 1
GRADIENT_PARAMETERS = {
    "learning_rate": Real(0, None),
    "n_estimators": Integer(1),
    "subsample": Real(0, 1, "right"),
    "min_samples_split": COUNT_OR_SHARE["split"],
    "min_samples_leaf": COUNT_OR_SHARE["leaf"],
    "min_weight_fraction_leaf": Real(0, 0.5, "both"),
    "max_depth": Either(Integer(1), Nothing),
    "min_impurity_decrease": Real(0, None),
    "init": Nothing,
    "random_state": RandomState,
    "max_features": MAX_FEATURES,
    "verbose": Verbose,
    "max_leaf_nodes": Either(Integer(2), Nothing),
    "warm_start": Boolean,
    "validation_fraction": Real(0, 1, "neither"),
    "n_iter_no_change": Either(Integer(1), Nothing),
    "tol": Real(0, None),
    "ccp_alpha": Choice(0.0),
}


def _count(value: Any, total: float) -> float:
    """A number of samples, given as such or as a share of all."""
    return float(value) if isinstance(value, int | np.integer) else float(np.ceil(value * total))


class GradientBoosting(Boosting):
    """Family of the boosting models with scikit-learn's older names."""

    # The checks fit hundreds of times; a few rounds show the same faults as a hundred.
    _check_params = {"n_estimators": 5}
    _invariant = ("column scale",)

    def _settings(self, problem: Problem) -> Any:
        from pellucid.ensemble.boosting_rounds import Settings
        from pellucid.tree.histogram_grower import UNLIMITED, Limits

        columns = number_of_features(self.max_features, problem.p)
        limits = Limits(
            min_samples_leaf=_count(self.min_samples_leaf, problem.total),
            min_samples_split=max(2.0, _count(self.min_samples_split, problem.total)),
            min_curvature=1e-6, min_gain=float(self.min_impurity_decrease),
            share=columns / problem.p, max_leaves=self.max_leaf_nodes or UNLIMITED,
            max_depth=self.max_depth or UNLIMITED,
        )  # fmt: skip
        return Settings(
            rounds=int(self.n_estimators), rate=float(self.learning_rate), limits=limits,
            subsample=float(self.subsample), min_weight_share=float(self.min_weight_fraction_leaf),
            patience=None if self.n_iter_no_change is None else int(self.n_iter_no_change),
            tol=float(self.tol), seed=self._seed(self.subsample < 1 or columns < problem.p),
        )  # fmt: skip

    def _learn_rounds(self, problem: Problem, objective: Any) -> dict[str, Any]:
        settings = self._settings(problem)
        found = self._boosted(problem, objective, settings, self.validation_fraction)
        return {
            "trees_": found.trees,
            "baseline_": found.start,
            "n_iter_": found.trees.n_rounds,
            "n_estimators_": found.trees.n_rounds,
            "n_trees_per_iteration_": objective.outputs,
            "max_features_": number_of_features(self.max_features, problem.p),
            "history_": found.history,
            "train_score_": -found.train_scores[1:],
        }

    def _refuse_monitor(self, monitor: Any) -> None:
        if monitor is not None:
            raise ParameterError(
                "monitor is not called; watch the rounds with `pellucid.watching(progress=...)`."
            )

    def apply(self, X: Any) -> np.ndarray:
        """Leaf of each row in each tree, (n, rounds) or (n, rounds, outputs)."""
        from pellucid.tree import predict

        encoded = self._encoded(X)
        trees = self.trees_
        leaves = [predict.apply(trees.tree(t), encoded) for t in range(trees.n_trees)]
        shape = (len(encoded), trees.n_rounds, trees.n_outputs)
        return np.stack(leaves, axis=1).reshape(shape).astype(np.float64)

    @property
    def estimators_(self) -> np.ndarray:
        """The trees as regressors, (rounds, outputs); their values are shrunken already."""
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
