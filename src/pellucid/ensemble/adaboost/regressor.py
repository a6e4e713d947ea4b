"""AdaBoost.R2: base estimators in turn, each on the rows with the largest errors; their median."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from pellucid import parallel
from pellucid.base import Regressor
from pellucid.data import Problem
from pellucid.default_scores import r2_score
from pellucid.ensemble import base_estimators
from pellucid.ensemble.adaboost import weighted_median
from pellucid.ensemble.adaboost.base import AdaBoost, Rule, drawn, fit_rounds, one_row_per_sample
from pellucid.ensemble.bootstrap_samples import Bag
from pellucid.ensemble.shared_table import SharedTable, in_place
from pellucid.parameters import Choice, param
from pellucid.tree import DecisionTreeRegressor, explaining, prediction

MEDIANS = 2**24  # rows times squared rounds up to which a watched fit scores every round
LAST_BITS = 4 * float(np.finfo(float).eps)
LOSSES = {"linear": lambda e: e, "square": lambda e: e * e, "exponential": lambda e: -np.expm1(-e)}


class AdaBoostRegressor(AdaBoost, Regressor):
    """Weighted median of base estimators, each fitted to rows weighted by the earlier errors.

    1. Base estimator t is fitted with row weights w, which sum to 1; e_i = |y_i - f_t(x_i)| / max.
    2. L_i = e_i, e_i^2 or 1 - exp(-e_i); m_t = sum w L; b_t = m_t / (1 - m_t).
    3. a_t = learning_rate * log(1 / b_t); log w_i -= a_t (1 - L_i). A perfect base estimator
       (m_t = 0) is the last one and gets more weight than all before it together, so it decides
       alone. One with m_t >= 1/2 ends the rounds and is dropped, unless it is the first: then it is
       the model, and `status_` reports it.

    f(x) is the first of the predictions of the base estimators, in ascending order, at which the sum
    of the a_t reaches half of their total. A base estimator that takes weights is given them, so no
    rows are drawn; any other is fitted to rows drawn by weight.

    Examples
    --------
    >>> from pellucid.ensemble import AdaBoostRegressor
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0]], [0.0, 0.0, 1.0, 1.0, 5.0]
    >>> AdaBoostRegressor(n_estimators=10).fit(X, y).predict([[0.0], [4.0]])
    array([0., 5.])
    """

    loss: str = param(
        "linear",
        Choice(*LOSSES),
        "Loss of a row as a function of its error e, relative to the largest error: 'linear' is e, "
        "'square' is e^2, 'exponential' is 1 - exp(-e).",
        after="learning_rate",
    )

    def _base_estimator(self) -> Any:
        return DecisionTreeRegressor(max_depth=3) if self.estimator is None else self.estimator

    def _fit(self, problem: Problem) -> dict[str, Any]:
        base = self._base_estimator()
        given = in_place(problem, base)
        problem = one_row_per_sample(given, base)
        rule = Rule(self.n_estimators, self.learning_rate, 0.5, unchanged=1.0)
        few = problem.n * self.n_estimators**2 <= MEDIANS
        steps = self._steps(given, problem, _Medians(problem).score if few else None)
        return {"estimator_": base_estimators.copied(base)} | fit_rounds(
            problem, rule, self._fitter(problem),
            lambda found: self._losses(problem.y, found), steps,
        )  # fmt: skip

    def _losses(self, y: np.ndarray, predicted: np.ndarray) -> np.ndarray:
        """Losses in [0, 1]. Halves are subtracted, so that no difference overflows; errors in the
        last bits of y count as none."""
        errors = np.abs(0.5 * y - 0.5 * predicted)
        largest = float(errors.max())
        if largest <= LAST_BITS * float(np.abs(0.5 * y).max()):
            return np.zeros(len(y))
        return LOSSES[self.loss](errors / largest)

    def _fitter(self, problem: Problem) -> Any:
        """A function (t, weights) -> base estimator t and its predictions; trees share sorted
        columns."""
        base, seed = self._base_estimator(), parallel.seed_sequence(self.random_state)
        weighted, table = base_estimators.takes_weights(base), SharedTable.of(problem, base)

        def fit_one(t: int, w: np.ndarray) -> tuple[Any, np.ndarray]:
            bag = Bag(w, None) if weighted else drawn(problem, w, seed, t)
            own = base_estimators.seeded(base, seed, t)
            own = base_estimators.fit(own, table.problem, table.bag(bag), table.sorted)
            found = base_estimators.predictions(own, table.problem.X, None, problem.schema)
            return own, table.canonical(found)

        return fit_one

    # Using --------------------------------------------------------------------------------------

    def _all(self, X: Any) -> np.ndarray:
        """Predictions of all base estimators, (n, T)."""
        if all(base_estimators.is_tree(tree) for tree in self.estimators_):
            return prediction.each(self._trees(), X)
        return np.stack(
            [base_estimators.predictions(one, X, None, self.schema_) for one in self.estimators_],
            axis=1,
        )

    def _predict(self, X: Any) -> np.ndarray:
        found = self._all(X)
        return found[np.arange(len(found)), weighted_median.weighted(found, self._vote_weights())]

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """`predict` after each base estimator."""
        found, a = self._all(self._encoded(X)), self._vote_weights()
        for t in range(1, len(a) + 1):
            yield found[np.arange(len(found)), weighted_median.weighted(found[:, :t], a[:t])]

    def _explain(self, X: Any, method: str = "path") -> dict[str, Any]:
        """The path of the median while all trees move evenly from their base to their leaf. Each
        contribution of a tree counts by the share of the path on which this tree is the median."""
        trees = self._trees()
        if method == "shap":
            roots = np.array([prediction.leaf_mean(tree, tree.value)[0] for tree in trees])
        else:
            roots = np.array([tree.value[0, 0] for tree in trees])
        shares = weighted_median.shares(roots, self._all(X), self._vote_weights())
        total = np.zeros((len(X), X.shape[1], 1))
        for t, tree in enumerate(trees):
            own = explaining.contributions(method, [tree], [tree.value], np.ones(1), X)
            taken = shares[:, t] > 0
            total[taken] += shares[taken, t, None, None] * own["contributions"][taken]
        return {
            "base": roots[weighted_median.weighted(roots[None], self._vote_weights())],
            "contributions": total,
            "prediction": self._predict(X)[:, None],
            "scale": "response",
            "method": _METHODS[method],
        }


class _Medians:
    """Predictions of the base estimators so far for the training rows, while somebody watches."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        self._found: list[np.ndarray] = []
        self._weights: list[float] = []

    def score(self, predicted: np.ndarray, weight: float) -> float:
        """R2 after one more base estimator."""
        self._found.append(predicted)
        self._weights.append(weight)
        each = np.stack(self._found, axis=1)
        place = weighted_median.weighted(each, np.array(self._weights))
        median = each[np.arange(len(each)), place]
        return r2_score(self._problem.y, median, self._problem.weights)


_METHODS = {
    "path": "path of the weighted median while all trees move evenly from root to leaf",
    "shap": "Shapley values of the trees, each by its share of the path of the weighted median while "
    "all trees move evenly from their mean to their leaf",
}
