"""What scikit-learn's older boosting classes share here: parameters and settings of the rounds.

They run on the same histogram engine as the Hist classes; only names and defaults differ.
"""

from typing import Any

import numpy as np

from pellucid.base import Estimator
from pellucid.data import Problem
from pellucid.ensemble.boosting.base import Boosting
from pellucid.errors import DataError, ParameterError
from pellucid.parameters import (
    Boolean,
    Choice,
    Either,
    Integer,
    Learner,
    Nothing,
    RandomState,
    Real,
    Verbose,
)
from pellucid.tree.growth_parameters import COUNT_OR_SHARE, MAX_FEATURES
from pellucid.tree.stopping import count_of, number_of_features

GRADIENT_PARAMETERS = {
    "learning_rate": Real(0, None),
    "n_estimators": Integer(1),
    "subsample": Real(0, 1, "right"),
    "min_samples_split": COUNT_OR_SHARE["split"],
    "min_samples_leaf": COUNT_OR_SHARE["leaf"],
    "min_weight_fraction_leaf": Real(0, 0.5, "both"),
    "max_depth": Either(Integer(1), Nothing),
    "min_impurity_decrease": Real(0, None),
    "init": Either(Learner, Choice("zero"), Nothing),
    "random_state": RandomState,
    "max_features": MAX_FEATURES.check,
    "verbose": Verbose,
    "max_leaf_nodes": Either(Integer(2), Nothing),
    "warm_start": Boolean,
    "validation_fraction": Real(0, 1, "neither"),
    "n_iter_no_change": Either(Integer(1), Nothing),
    "tol": Real(0, None),
    "ccp_alpha": Real(0, None),
}


class GradientBoosting(Boosting):
    """Family of the boosting models with scikit-learn's older names."""

    # The checks fit hundreds of times; a few rounds show the same faults as a hundred.
    _check_params = {"n_estimators": 5}
    _invariant = ("column scale",)

    def _settings(self, problem: Problem, outputs: int) -> Any:
        from pellucid.ensemble.boosting.rounds import Settings
        from pellucid.tree.histogram_grower import UNLIMITED, Limits

        columns = number_of_features(self.max_features, problem.p)
        limits = Limits(
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
            tol=float(self.tol), seed=self._seed(self.subsample < 1 or columns < problem.p),
            start=None if self.init is None else np.zeros(outputs), price=float(self.ccp_alpha),
        )  # fmt: skip

    def _learn_rounds(self, problem: Problem, objective: Any) -> dict[str, Any]:
        settings = self._settings(problem, objective.outputs)
        found, more = self._boosted(problem, objective, settings, self.validation_fraction)
        unit, rounds = self._reported(objective), found.trees.n_rounds
        more |= self._unseen(unit * found.out_of_bag, rounds)
        return more | {
            "trees_": found.trees,
            "baseline_": found.start,
            "n_iter_": rounds,
            "n_estimators_": rounds,
            "n_trees_per_iteration_": objective.outputs,
            "max_features_": number_of_features(self.max_features, problem.p),
            "history_": self._whole_history(found.history),
            "train_score_": self._by_round("train_score_", -unit * found.train_scores[1:], rounds),
        }

    def _reported(self, objective: Any) -> float:
        """Losses of a round are told in scikit-learn's units: whole squares, and twice the log loss
        of two classes; `history_` holds what is minimised."""
        two = self.loss == "log_loss" and objective.outputs == 1
        return 2.0 if two or self.loss == "squared_error" else 1.0

    def _by_round(self, name: str, latest: np.ndarray, rounds: int) -> np.ndarray:
        """One number per round, those of an earlier fit first; NaN for rounds that had none."""
        out, earlier = np.full(rounds, np.nan), self._earlier(name)
        if earlier is not None:
            out[: len(earlier)] = earlier
        out[rounds - len(latest) :] = latest
        return out

    def _unseen(self, losses: np.ndarray, rounds: int) -> dict[str, Any]:
        """With `subsample`: losses of the rows that a round did not draw."""
        if not len(losses) and self._earlier("oob_scores_") is None:
            return {}
        scores = self._by_round("oob_scores_", losses[:, 1], rounds)
        with np.errstate(invalid="ignore"):  # squares beyond all numbers
            latest = losses[:, 0] - losses[:, 1]
        gains = self._by_round("oob_improvement_", latest, rounds)
        return {"oob_improvement_": gains, "oob_scores_": scores, "oob_score_": float(scores[-1])}

    def _begun(self, problem: Problem) -> Any:
        from pellucid.ensemble.boosting.initial_model import fitted

        return None if self.init is None or self.init == "zero" else fitted(self.init, problem)

    def _initial(self, X: np.ndarray, model: Any, schema: Any) -> np.ndarray:
        from pellucid.ensemble.boosting.initial_model import raw_predictions

        return raw_predictions(model, X, schema, self.loss)

    def _parts(self, X: np.ndarray, scale: str) -> dict[str, Any]:
        parts = super()._parts(X, scale)
        base, contributions = self._with_first(X, parts["base"], parts["contributions"])
        return parts | {"base": base, "contributions": contributions}

    def _shap(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return self._with_first(X, *super()._shap(X))

    def _with_first(
        self, X: np.ndarray, base: np.ndarray, contributions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The parts with those of the model that boosting started from."""
        from pellucid.ensemble.boosting.initial_model import explained

        if vars(self).get("init_") is None:
            return base, contributions
        first, more = explained(self.init_, X, self.schema_, self.loss)
        return base + first, contributions + more

    def _check_first(self) -> None:
        """Refuse a start that does not belong to this model (model files)."""
        first, asked = vars(self).get("init_"), not (self.init is None or self.init == "zero")
        if (first is not None) != asked or (asked and type(first) is not type(self.init)):
            raise DataError(
                "the model that boosting started from is not the one that was asked for"
            )
        if asked and (
            not isinstance(first, Estimator)
            or first.schema_.columns != self.schema_.columns
            or not np.array_equal(first.schema_.n_levels, self.schema_.n_levels)
            or list(vars(first).get("classes_", ())) != list(vars(self).get("classes_", ()))
        ):
            raise DataError("the model that boosting started from has other columns or classes")

    def _refuse_monitor(self, monitor: Any) -> None:
        if monitor is not None:
            raise ParameterError(
                "monitor is not called; watch the rounds with `pellucid.watching(progress=...)`."
            )

    def apply(self, X: Any) -> np.ndarray:
        """Leaf of each row in each tree, (n, rounds) or (n, rounds, outputs)."""
        from pellucid.tree import prediction

        encoded = self._encoded(X)
        trees = self.trees_
        leaves = [prediction.apply(trees.tree(t), encoded) for t in range(trees.n_trees)]
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
