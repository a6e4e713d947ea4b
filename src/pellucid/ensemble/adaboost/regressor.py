"""AdaBoost.R2: learners in turn, each on the rows that the earlier ones missed most; their median."""

from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np

from pellucid import parallel
from pellucid.base import Regressor
from pellucid.data import InputSpec, Problem
from pellucid.ensemble import base_estimators
from pellucid.ensemble.adaboost import weighted_median
from pellucid.ensemble.adaboost.base import NO_BETTER, by_samples, decisive, drawn, told
from pellucid.ensemble.bootstrap_samples import Bag
from pellucid.ensemble.shared_table import SharedTable, in_place
from pellucid.errors import DataError, ParameterError
from pellucid.parameters import Choice, Either, Integer, Learner, Nothing, RandomState, Real
from pellucid.tree import DecisionTreeRegressor, prediction
from pellucid.tree.base import TreeModel
from pellucid.tree.explaining import TreesExplained
from pellucid.tree.nodes import Nodes

LAST_BITS = 4 * float(np.finfo(float).eps)
LOSSES = {
    "linear": lambda e: e,
    "square": lambda e: e * e,
    "exponential": lambda e: -np.expm1(-e),
}


class AdaBoostRegressor(TreesExplained, Regressor):
    """Weighted median of learners, each fitted to the rows weighted by the misses before it.

    1. Learner t is fitted with row weights w, which sum to 1; e_i = |y_i - f_t(x_i)| / max.
    2. L_i = e_i, e_i^2 or 1 - exp(-e_i); m_t = sum w L; b_t = m_t / (1 - m_t).
    3. a_t = learning_rate * log(1 / b_t); log w_i -= a_t (1 - L_i). A perfect learner (m_t = 0)
       ends it with more weight than all before it, and decides alone; one with m_t >= 1/2 is dropped
       and ends it, unless it is the first: then it is the model, and `status_` says so.

    f(x) is the first of the learners' predictions, in ascending order, at which the sum of the a_t
    reaches half of them all. Weights live in logarithms, so that they neither vanish nor overflow.
    A learner that takes weights gets them, so nothing is drawn; any other gets rows drawn by weight.

    Parameters
    ----------
    estimator : regressor or None (a tree of depth 3)
    n_estimators : int, default=50
    learning_rate : number > 0, default=1.0
    loss : {"linear", "square", "exponential"}, default="linear"
    random_state : int, generator or None; for learners that draw
    table : Table, optional

    Attributes
    ----------
    estimators_ : fitted learners
    estimator_weights_, estimator_errors_ : a_t and m_t, 0 and 1 where boosting had ended
    status_ : how the turns ended
    estimator_, feature_importances_, n_features_in_, feature_names_in_, schema_

    Examples
    --------
    >>> from pellucid.ensemble import AdaBoostRegressor
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0]], [0.0, 0.0, 1.0, 1.0, 5.0]
    >>> AdaBoostRegressor(n_estimators=10).fit(X, y).predict([[0.0], [4.0]])
    array([0., 5.])
    """

    # The checks fit hundreds of times; a few learners show the same faults as fifty.
    _check_params = {"n_estimators": 5}
    _parameters = {
        "estimator": Either(Learner, Nothing),
        "n_estimators": Integer(1),
        "learning_rate": Real(0, None, "neither"),
        "loss": Choice(*LOSSES),
        "random_state": RandomState,
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 50,
        learning_rate: float = 1.0,
        loss: str = "linear",
        random_state: Any = None,
        table: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.loss = loss
        self.random_state = random_state
        self.table = table

    def _learner(self) -> Any:
        return DecisionTreeRegressor(max_depth=3) if self.estimator is None else self.estimator

    @property
    def _takes_sparse(self) -> bool:  # type: ignore[override]
        return base_estimators.takes_sparse(self._learner())

    @property
    def _rows(self) -> str:  # type: ignore[override]
        return base_estimators.rows_for(self._learner())

    def _input_spec(self) -> InputSpec:
        return base_estimators.input_spec_of(self._learner(), type(self).__name__, "regressor")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the learners one after the other."""
        return self._learn(X, y, weights=sample_weight)

    def _fit(self, problem: Problem) -> dict[str, Any]:
        problem = by_samples(in_place(problem, self._learner()), self._learner())
        fit_one = self._fitter(problem)
        log_w = np.log(problem.weights)
        found: list[Any] = []
        weights, errors = np.zeros(self.n_estimators), np.ones(self.n_estimators)
        for t in range(self.n_estimators):
            log_w -= log_w.max()
            w = np.exp(log_w)
            w /= w.sum()
            learner, predicted = fit_one(t, w)
            losses = self._losses(problem, predicted)
            error = float((w * losses).sum())
            useless = error >= 0.5 - NO_BETTER
            if useless and found:
                break
            found.append(learner)
            errors[t] = error
            if useless or error <= 0:
                weights[t] = decisive(weights[:t])
                break
            weights[t] = self.learning_rate * np.log((1 - error) / error)
            log_w -= weights[t] * (1.0 - losses)
        return {
            "estimators_": found,
            "estimator_weights_": weights,
            "estimator_errors_": errors,
            "estimator_": base_estimators.copied(self._learner()),
            "status_": told(errors, len(found), 0.5, False),
        }

    def _losses(self, problem: Problem, predicted: np.ndarray) -> np.ndarray:
        """Losses in [0, 1]; halves first, so that no difference overflows. Misses in the last bits
        of y are none."""
        missed = np.abs(0.5 * problem.y - 0.5 * predicted)
        largest = float(missed.max())
        if largest <= LAST_BITS * float(np.abs(0.5 * problem.y).max()):
            return np.zeros(problem.n)
        return LOSSES[self.loss](missed / largest)

    def _fitter(self, problem: Problem) -> Any:
        """A function (t, weights) -> learner t and what it says; trees share their sorted columns."""
        learner, seed = self._learner(), parallel.seed_sequence(self.random_state)
        weighted, table = (
            base_estimators.takes_weights(learner),
            SharedTable.of(problem, learner),
        )

        def fit_one(t: int, w: np.ndarray) -> tuple[Any, np.ndarray]:
            bag = Bag(w, None) if weighted else drawn(problem, w, seed, t)
            own = base_estimators.seeded(learner, seed, t)
            own = base_estimators.fit(own, table.problem, table.bag(bag), table.sorted)
            said = base_estimators.predictions(own, table.problem.X, None, problem.schema)
            return own, table.canonical(said)

        return fit_one

    # Using --------------------------------------------------------------------------------------

    def _all(self, X: Any) -> np.ndarray:
        """Predictions of all learners, (n, T)."""
        if all(isinstance(tree, TreeModel) for tree in self.estimators_):
            return prediction.each([tree.tree_ for tree in self.estimators_], X)
        return np.stack(
            [base_estimators.predictions(one, X, None, self.schema_) for one in self.estimators_],
            axis=1,
        )

    def _a(self) -> np.ndarray:
        return self.estimator_weights_[: len(self.estimators_)]

    def _predict(self, X: Any) -> np.ndarray:
        found = self._all(X)
        return found[np.arange(len(found)), weighted_median.weighted(found, self._a())]

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """`predict` after each learner."""
        found, a = self._all(self._encoded(X)), self._a()
        for t in range(1, len(a) + 1):
            yield found[np.arange(len(found)), weighted_median.weighted(found[:, :t], a[:t])]

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """R2 after each learner."""
        from pellucid.data.targets import as_vector, weights_or_ones

        y = as_vector(y)
        w = weights_or_ones(sample_weight, len(y))
        spread = float((w * (y - np.average(y, weights=w)) ** 2).sum())
        for predicted in self.staged_predict(X):
            residual = float((w * (y - predicted) ** 2).sum())
            yield 1 - residual / spread if spread > 0 else float(residual == 0)

    @property
    def feature_importances_(self) -> np.ndarray:
        """Mean importance of each column over the learners, weighted by a_t."""
        self._check_fitted()
        if not all(hasattr(learner, "feature_importances_") for learner in self.estimators_):
            raise AttributeError("the learners have no feature_importances_")
        parts = [learner.feature_importances_ for learner in self.estimators_]
        return np.average(parts, axis=0, weights=self._a())

    def _check_state(self) -> None:
        """Refuse learned parts that do not belong together (model files)."""
        a = self.estimator_weights_
        if not self.estimators_ or a.ndim != 1 or self.estimator_errors_.shape != a.shape:
            raise DataError("the ensemble's learners and their weights disagree")
        used = a[: len(self.estimators_)]
        if len(used) < len(self.estimators_) or not (np.isfinite(used) & (used > 0)).all():
            raise DataError("the ensemble's learners and their weights disagree")
        own = np.arange(self.n_features_in_)
        for learner in self.estimators_:
            base_estimators.check_fitted(learner, self._learner(), own, self.schema_, 0)

    _shap_method = (
        "Shapley values of the trees, each by its share of the weighted median's way while all "
        "trees go evenly from their mean to their leaf"
    )

    def _as_trees(self) -> tuple[list[Nodes], list[np.ndarray], np.ndarray]:
        if not all(isinstance(tree, TreeModel) for tree in self.estimators_):
            raise ParameterError(
                "explain of an AdaBoostRegressor needs a decision tree as its estimator: other "
                "learners do not say which column changed a prediction."
            )
        trees = [tree.tree_ for tree in self.estimators_]
        return trees, [tree.value for tree in trees], self._a()

    def _along_the_median(
        self, X: np.ndarray, roots: np.ndarray, parts: Callable[[Nodes], np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        """(base, contributions): of each tree's parts its share of the median's way."""
        shares = weighted_median.shares(roots, self._all(X), self._a())
        total = np.zeros((len(X), X.shape[1], 1))
        for t, tree in enumerate(self._as_trees()[0]):
            total += shares[:, t, None, None] * parts(tree)
        return roots[weighted_median.weighted(roots[None], self._a())], total

    def _shap(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        roots = np.array([prediction.leaf_mean(t, t.value)[0] for t in self._as_trees()[0]])
        one = np.ones(1)
        return self._along_the_median(
            X, roots, lambda tree: prediction.shap([tree], [tree.value], one, X)[1]
        )

    def _explain(self, X: Any) -> dict[str, Any]:
        """The way of the median from the trees' roots to their leaves."""
        roots = np.array([tree.value[0, 0] for tree in self._as_trees()[0]])
        base, total = self._along_the_median(
            X, roots, lambda tree: prediction.contributions(tree, X)
        )
        return {
            "base": base,
            "contributions": total,
            "prediction": self._predict(X)[:, None],
            "scale": "response",
            "method": "way of the weighted median while all trees go evenly from root to leaf",
        }
